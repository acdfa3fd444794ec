"""What the simulated device does not carry, or cannot check, is one error of the compiler that says what to write."""

import os
import shutil
import subprocess

import pytest
from project import SOURCE
from test_kernel_header import HALVES

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-ignored-attributes", "-Wno-undefined-internal",
         "-fsyntax-only"]
HEADERS = '"device/device.h"', '"device/wide.h"', '"device/cooperative_groups.h"', "<array>", "<utility>"
SUM = ('__global__ void sum(%s) {}\nconst Register registered = sum_kernel("mine/sum", {.block = 64}, launch<sum>);')
TILE = "namespace cg = cooperative_groups;\n__global__ void k() { cg::tiled_partition%s.sync(); }"

OF_A_LAUNCH = "a launch takes whole numbers of blocks, threads and bytes; blocks and threads as a dim3, too"
OF_A_SUM = "a sum_kernel takes (const T* in, T* out, std::int64_t n), or with"

REFUSED = [
    ("__constant__ float w[4];\n__global__ void k(float* out) { out[0] = w[0]; }",
     "no __constant__ here: pass a struct by value as the kernel's parameter"),
    ("__managed__ int n;\n__global__ void k(int* out) { out[0] = n; }", "no __managed__ here: pass a pointer to the kernel"),
    ("__global__ void k(int* out) { out[0] = __shfl_down(out[0], 1); }", "write __shfl_down_sync, whose first argument"),
    ("__global__ void k(volatile int* out) { atomicAdd(out, 1); }", "no matching function for call to 'atomicAdd'"),
    ("__global__ void k() {}\nvoid start(dim3 bytes) { launch<k>({4, 32, bytes, nullptr}); }", OF_A_LAUNCH),
    ("__global__ void k() {}\nvoid start(double grid) { launch<k>({grid, 32, 0, nullptr}); }", OF_A_LAUNCH),
    (TILE % "<24>(cg::this_thread_block())", "a tile has a power of two of threads"),
    (TILE % "<8>(cg::tiled_partition<8>(cg::this_thread_block()))", "a tile's tiles are smaller than it"),
    (SUM % "const float* in, float* out", OF_A_SUM),
    (SUM % "const float* in, float* out, float n", OF_A_SUM),
    (SUM % "const double* in, float* out, int n", OF_A_SUM),
    (SUM % "const float* in, float* partials, unsigned* arrived, float* out, int n", OF_A_SUM),
]
SHARED = """
template <class T> __global__ void k(const T* __restrict__ in, T* __restrict__ out) {
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ T sums[32];
  static __shared__ bool is_last;
  __shared__ short small[2][3];
  auto x = in[0];
  auto& first = sums[0];
  first = x, is_last = true, small[1][2] = 1;
  T* const all = reinterpret_cast<T*>(raw);
  std::swap(sums[0], sums[1]);
  std::array a{sums[0], sums[1]};
  auto f = [&](int i) -> T& { return all[i]; };
  f(0) = is_last ? a[0] : sums[1];
  out[0] = all[0];
}
void start(const float* in, float* out) { launch<k<float>>({1, 32, 128, nullptr}, in, out); }
"""
SHAPES = """
__global__ void k() {}
void start(dim3 grid, uint3 block, short n) { launch<k>({grid, block, 0, nullptr}), launch<k>({n, 32u, 0, nullptr}); }
"""
TAKEN = [HALVES, SHARED, SHAPES]


def test_what_is_not_carried_is_one_error_that_says_what_to_write(tmp_path):
    """All in one compilation, which reads the device's headers once: each in a namespace and, to the compiler, a file of
    its own."""
    compiler = os.environ.get("REDUCTIO_CLANG") or shutil.which("clang++")
    if not compiler:
        pytest.skip("no clang++ here")
    kernels = [(f"refused{k}", text) for k, (text, _) in enumerate(REFUSED)] + [(f"taken{k}", text) for k, text in enumerate(TAKEN)]
    (tmp_path / "kernels.cpp").write_text("".join(f"#include {header}\n" for header in HEADERS) + "".join(
        f'namespace {name} {{\nusing namespace reductio::device;\n#line 1 "{name}.cu"\n{text}\n}}\n' for name, text in kernels))
    done = subprocess.run([compiler, *FLAGS, "-ferror-limit=0", "-I", SOURCE / "src", tmp_path / "kernels.cpp"],
                          capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    for _, message in REFUSED:
        assert sum(message in error for error in errors) == sum(message == m for _, m in REFUSED), done.stderr
    assert all(any(message in error for _, message in REFUSED) for error in errors), done.stderr
    refused = [name for name, _ in kernels if f"{name}.cu:" in done.stderr]
    assert refused == [f"refused{k}" for k in range(len(REFUSED))], done.stderr
