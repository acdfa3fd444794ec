"""What the simulated device does not carry, or cannot check, is one error of the compiler that says what to write."""

import shutil
import subprocess

import pytest
from project import SOURCE
from test_kernel_header import HALVES
from test_no_auto import FILE, FLAGS, RIGHT, TYPE, WRONG

HEADERS = '"device/device.h"', '"device/wide.h"', '"device/cooperative_groups.h"', "<array>", "<utility>"
POINTER = "__global__ void copy(%s in, GlobalPtr<float> out) { out[0] = in[0]; }\nauto* const start = launch<copy>;"
SUM = ('__global__ void sum(%s) {}\nconst Register registered = sum_kernel("mine/sum", {.block = 64}, launch<sum>);')
TILE = "namespace cg = cooperative_groups;\n__global__ void k() { cg::tiled_partition%s.sync(); }"

OF_SHARED = "no __shared__ here: write SharedPtr<T> x = shared_array<T, N>(), or shared_memory<T>() for dynamic memory"
TOO_SMALL = "shared elements are of 4 bytes or a multiple: write unsigned for bool or char"
OF_HALVES = "no arithmetic of floats of 16 bits here: widen each by static_cast<float>(x)"
OF_A_LAUNCH = "a launch takes whole numbers of blocks, threads and bytes, in one dimension: of a dim3 its x"
OF_A_SUM = "a sum_kernel takes (GlobalPtr<const T> in, GlobalPtr<T> out, std::int64_t n), or with"

REFUSED = [
    # A __shared__ array would be memory that nothing checks, one for all blocks.
    ("__global__ void k(float* out) { __shared__ float sums[32]; out[0] = sums[0]; }", OF_SHARED),
    ("__global__ void k(float* out) { static __shared__ float sum; out[0] = sum; }", OF_SHARED),
    ("__global__ void k(float* out) { extern __shared__ float all[]; out[0] = all[0]; }", OF_SHARED),
    ("__global__ void k() { shared_array<bool, 1>()[0] = 1; }", TOO_SMALL),
    ("__global__ void k() { shared_array<char, 1>()[0] = 1; }", TOO_SMALL),
    ("__global__ void k() { shared_array<short, 1>()[0] = 1; }", TOO_SMALL),
    ("__constant__ float w[4];\n__global__ void k(GlobalPtr<float> out) { out[0] = w[0]; }",
     "no __constant__ here: pass a struct by value as the kernel's parameter"),
    ("__managed__ int n;\n__global__ void k(GlobalPtr<int> out) { out[0] = n; }",
     "no __managed__ here: pass a GlobalPtr<T> to the kernel"),
    ("__device__ unsigned n;\n__global__ void k() { atomicInc(&n, 7u); }",
     "in place of a __device__ variable pass the kernel a pointer"),
    # Nothing would check what is read through a raw pointer.
    (POINTER % "const float*", "a kernel's parameter is a GlobalPtr<T>, not a raw pointer T*"),
    ("__global__ void k(GlobalPtr<const __half> in, GlobalPtr<float> out) { float s = 0; s += in[0]; out[0] = s; }", OF_HALVES),
    ("__global__ void k(GlobalPtr<const __half> in) { in[0] * in[0]; }", OF_HALVES),
    ("__global__ void k() {}\nvoid start(dim3 block) { launch<k>({4, block, 0, nullptr}); }", OF_A_LAUNCH),
    ("__global__ void k() {}\nvoid start(double grid) { launch<k>({grid, 32, 0, nullptr}); }", OF_A_LAUNCH),
    (TILE % "(cg::this_thread_block(), 32)", "a tile's size goes in brackets here: tiled_partition<32>(group)"),
    (TILE % "<64>(cg::this_thread_block())", "tiles are of 1, 2, 4, 8, 16 or 32 threads"),
    (TILE % "<8>(cg::tiled_partition<8>(cg::this_thread_block()))", "a tile's tiles are smaller than it"),
    (SUM % "GlobalPtr<const float> in, GlobalPtr<float> out", OF_A_SUM),
    (SUM % "GlobalPtr<const float> in, GlobalPtr<float> out, float n", OF_A_SUM),
    (SUM % "GlobalPtr<const double> in, GlobalPtr<float> out, int n", OF_A_SUM),
    (SUM % "GlobalPtr<const float> in, GlobalPtr<float> partials, GlobalPtr<unsigned> arrived, GlobalPtr<float> out, int n",
     OF_A_SUM),
    (FILE % WRONG[0][0], TYPE),
    (FILE % WRONG[-1][0], WRONG[-1][1]),
]
TAKEN = [FILE % RIGHT, POINTER % "GlobalPtr<const float>", HALVES,
         "__global__ void k(GlobalPtr<float> out) { out[0] = shared_array<float, 32>()[0] + shared_memory<float>()[0]; }"]


@pytest.mark.parametrize("compiler, flags", [("g++", []), ("clang++", ["-ferror-limit=0"])])
def test_what_is_not_carried_is_one_error_that_says_what_to_write(compiler, flags, tmp_path):
    """All in one compilation, which reads the device's headers once: each in a namespace and, to the compiler, a file of
    its own."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    kernels = [(f"refused{k}", text) for k, (text, _) in enumerate(REFUSED)] + [(f"taken{k}", text) for k, text in enumerate(TAKEN)]
    (tmp_path / "kernels.cpp").write_text("".join(f"#include {header}\n" for header in HEADERS) + "".join(
        f'namespace {name} {{\nusing namespace reductio::device;\n#line 1 "{name}.cu"\n{text}\n}}\n' for name, text in kernels))
    done = subprocess.run([compiler, *FLAGS, *flags, "-I", SOURCE / "src", tmp_path / "kernels.cpp"], capture_output=True,
                          text=True)
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    for _, message in REFUSED:
        assert sum(message in error for error in errors) == sum(message == m for _, m in REFUSED), done.stderr
    # clang++ then misses the constructor of the elements that are too small.
    more = [error for error in errors if not any(message in error for _, message in REFUSED)]
    assert all("no matching constructor for initialization of 'SharedPtr<" in error for error in more), done.stderr
    told = [name for name, _ in kernels if f"{name}.cu:" in done.stderr]
    assert told == [f"refused{k}" for k in range(len(REFUSED))], done.stderr
