"""simulate: programs of anybody's on the simulated device, what is found in them, and what is refused."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BIN, call
from project import SOURCE

# What a launch may look like, and most of the runtime. The program checks for itself.
FORMS = r"""
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include "other.h"
namespace cg = cooperative_groups;
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) return printf("line %d: %s\n", __LINE__, cudaGetErrorName(e)), 1; } while (0)
#define EXPECT(x) do { if (!(x)) return printf("line %d: %s\n", __LINE__, #x), 1; } while (0)
#define LAUNCH(k, n, ...) k<<<(n), 64>>>(__VA_ARGS__)
__constant__ int scale[2];
__device__ int total;
__managed__ int shown;
namespace deep { template <class T, int more> __global__ void __launch_bounds__(64) put(T* p, T v) { p[blockIdx.x * 64 + threadIdx.x] = v + more; } }
template <class T> __global__ void deduced(T* p, T v) { *p = v; }
__global__ void plain(int* p, int v) { static int calls; if (p && threadIdx.x == 0) { atomicAdd(&calls, 1); p[blockIdx.x] = v; } }
__global__ void none() { if (threadIdx.x == 0 && blockIdx.x == 0) total = 5; }
template <class F> __global__ void each(int n, F f) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) f(i); }
struct Pair { float4 a; int b; };
__global__ void by_value(Pair pair, float* out) { out[0] = pair.a.z + pair.b; }
template <class T> __global__ void dynamic(T* out) { extern __shared__ __align__(16) unsigned char raw[]; T* s = reinterpret_cast<T*>(raw); s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }
__global__ void plane(int* p) { int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y; p[y * 8 + x] = 10 * y + x; }
__global__ void together(int* p) { p[blockIdx.x] = blockIdx.x; cg::this_grid().sync(); if (blockIdx.x == 0) { int sum = 0; for (int i = 0; i < 4; ++i) sum += p[i]; p[4] = sum; } }
__global__ void heap(int* p) { int* a = (int*)malloc(8); a[1] = threadIdx.x; atomicAdd(p, a[1]); free(a); int* b = new int[2]; b[0] = 1; atomicAdd(p, b[0]); delete[] b; }
__global__ void speak() { printf("thread %d\n", threadIdx.x); }
__global__ void scaled(int* p) { p[0] = scale[1] * 2; shown = 7; }
struct Owner { int* p; void run(int v) { plain<<<1, 32>>>(this->p, v); } };
void host_work(void* p) { ++*(int*)p; }
int main(int argc, char** argv) {
  int *p, h[128] = {}, value = 0; float *f, g = 0;
  CHECK(cudaMalloc(&p, 128 * sizeof(int))); CHECK(cudaMalloc((void**)&f, 64 * sizeof(float)));
  CHECK(cudaMemset(p, 0, 128 * sizeof(int)));
  deep::put<int, 3><<<2, 64>>>(p, 4);
  CHECK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost)); EXPECT(h[127] == 7);
  ::deep::put<int, (2 > 1 ? 8 : 9)>
      <<<dim3(2), dim3(64, 1, 1),
         0, 0>>>(p,
                 4);
  CHECK(cudaMemcpy(h, p, 4, cudaMemcpyDefault)); EXPECT(h[0] == 12);
  deduced<<<1, 1>>>(p, 21); LAUNCH(plain, 1, p + 1, 22); none<<<1, 1>>>();
  plain<<<1, 1>>>(NULL, 3);
  void (*kernels[])(int*, int) = {plain, plain}; kernels[1]<<<1, 1>>>(p + 2, 23); (argc > 99 ? kernels[0] : plain)<<<1, 1>>>(p + 3, 24);
  Owner owner{p + 4}; owner.run(25);
  each<<<1, 8>>>(3, [=] __device__(int i) { p[5 + i] = 26 + i; });
  CHECK(cudaDeviceSynchronize()); CHECK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i) EXPECT(h[i] == (i < 5 ? 21 + i : 21 + i));
  by_value<<<1, 1>>>(Pair{make_float4(1, 2, 3, 4), 5}, f); CHECK(cudaMemcpy(&g, f, 4, cudaMemcpyDeviceToHost)); EXPECT(g == 8);
  dynamic<float><<<1, 64, 64 * sizeof(float)>>>(f); dynamic<int><<<1, 32, 32 * sizeof(int)>>>(p);
  CHECK(cudaMemcpy(h, p, 4, cudaMemcpyDeviceToHost)); EXPECT(h[0] == 31);
  plane<<<dim3(2, 2), dim3(4, 2)>>>(p); CHECK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost)); EXPECT(h[3 * 8 + 7] == 37);
  void* arguments[] = {&p}; CHECK(cudaLaunchCooperativeKernel((void*)together, dim3(4), dim3(1), arguments));
  CHECK(cudaMemcpy(&value, p + 4, 4, cudaMemcpyDeviceToHost)); EXPECT(value == 6);
  int v = 9; void* two[] = {&p, &v}; CHECK(cudaLaunchKernel((const void*)plain, 2, 32, two, 0, nullptr));
  cudaLaunchConfig_t config = {}; config.gridDim = 1; config.blockDim = 32; CHECK(cudaLaunchKernelEx(&config, plain, p + 2, 10));
  CHECK(cudaMemcpy(h, p, 12, cudaMemcpyDeviceToHost)); EXPECT(h[1] == 9 && h[2] == 10);
  int two_scales[] = {3, 4}; CHECK(cudaMemcpyToSymbol(scale, two_scales, sizeof two_scales)); scaled<<<1, 1>>>(p);
  CHECK(cudaMemcpyFromSymbol(&value, total, sizeof value)); EXPECT(value == 5); EXPECT(shown == 7);
  CHECK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost)); EXPECT(value == 8);
  cudaStream_t a, b; CHECK(cudaStreamCreate(&a)); CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t start, stop; CHECK(cudaEventCreate(&start)); CHECK(cudaEventCreate(&stop)); CHECK(cudaEventRecord(start, a));
  CHECK(cudaMemsetAsync(p, 0, 4, a)); heap<<<1, 32, 0, a>>>(p); CHECK(cudaLaunchHostFunc(a, host_work, &h[9])); CHECK(cudaEventRecord(stop, a));
  CHECK(cudaStreamWaitEvent(b, stop)); CHECK(cudaMemcpyAsync(&value, p, 4, cudaMemcpyDeviceToHost, b)); CHECK(cudaStreamSynchronize(b));
  EXPECT(value == 31 * 16 + 32); float ms = 1; CHECK(cudaEventElapsedTime(&ms, start, stop)); EXPECT(ms == 0);
  static int held[] = {41, 42}, came[2]; CHECK(cudaMemcpyAsync(p, held, 8, cudaMemcpyHostToDevice)); held[1] = 0;
  CHECK(cudaMemcpy(came, p, 8, cudaMemcpyDeviceToHost)); EXPECT(came[0] == 41 && came[1] == 42);
  int* managed; CHECK(cudaMallocManaged(&managed, 64)); managed[0] = 3; plain<<<1, 1>>>(managed + 1, 4); CHECK(cudaDeviceSynchronize());
  EXPECT(managed[0] + managed[1] == 7); CHECK(cudaFree(managed));
  int rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, back[2][2]; size_t pitch; int* pitched; CHECK(cudaMallocPitch(&pitched, &pitch, 12, 2));
  CHECK(cudaMemcpy2D(pitched, pitch, rows, 12, 12, 2, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy2D(back, 8, pitched, pitch, 8, 2, cudaMemcpyDeviceToHost));
  EXPECT(back[1][1] == 5 && pitch >= 12);
  plain<<<1, 2048>>>(p, 1); EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration);
  plain<<<1, 32, 1 << 20>>>(p, 1); EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  EXPECT(cudaLaunchCooperativeKernel((void*)together, dim3(99), dim3(1024), arguments) == cudaErrorCooperativeLaunchTooLarge); cudaGetLastError();
  cudaEvent_t bare; CHECK(cudaEventCreateWithFlags(&bare, cudaEventDisableTiming)); CHECK(cudaEventRecord(bare)); CHECK(cudaDeviceSynchronize());
  EXPECT(cudaEventElapsedTime(&ms, start, bare) == cudaErrorInvalidResourceHandle);
  plain<<<1, 1, 0, a>>>(p, 1); CHECK(cudaEventRecord(stop, a)); EXPECT(cudaEventElapsedTime(&ms, start, stop) == cudaErrorNotReady); cudaGetLastError();
  EXPECT(cudaGetLastError() == cudaSuccess && cudaFree(h) == cudaErrorInvalidValue && cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cudaMemcpy(p, h, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue); cudaGetLastError();
  int blocks = 0, sms = 0; CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1024, 0)); EXPECT(blocks == 2);
  CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0)); cudaDeviceProp prop; CHECK(cudaGetDeviceProperties(&prop, 0)); EXPECT(prop.multiProcessorCount == sms);
  EXPECT(of_other(p) == 41 && VALUE == 5);
  speak<<<1, 3>>>(); CHECK(cudaDeviceSynchronize()); CHECK(cudaStreamDestroy(a)); CHECK(cudaFree(p));
  printf("all is well, %s %s\n", argv[0], argv[1]);
  return 7;
}
"""
OTHER = r"""
#include "other.h"
__global__ void there(int* p) { *p = 41; }
int of_other(int* p) { int h; there<<<1, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); return h; }
"""

# A fault for each number, in the line that names it.
FAULTS = r"""
#include <cooperative_groups.h>
#include <cstdio>
__global__ void beyond(int* p) { p[threadIdx.x] = 1; }                       // fault 0
__global__ void spin(volatile int* f) { while (*f == 0); }                   // fault 1
__global__ void race(int* p) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x; if (s[63 - threadIdx.x] == 99) *p = 1;       // fault 2
}
__global__ void nested(int* p) { beyond<<<1, 1>>>(p); }                      // fault 3
__global__ void of_host(const int* h, int* p) { *p = *h; }                   // fault 4
__global__ void twice(int* p) { int* a = (int*)malloc(8); free(a); *p = a[0]; }  // fault 5
__global__ void misaligned(char* p) { *(int*)(p + 1) = 3; }                  // fault 6
__global__ void unwritten(int* p) { if (p[0] == 5) p[1] = 2; }               // fault 7
__global__ void fence(int* p, int* n) {
  if (threadIdx.x) return;
  p[blockIdx.x] = 1;                                                         // unfenced
  if (atomicAdd(n, 1) == 1) p[2] = p[0] + p[1];                              // fault 8
}
__global__ void stop(int* p) { assert(p == nullptr); }                       // fault 9
__global__ void never(int* p) { for (;;) if (*p == 77) *p = 3; }             // fault 10
__global__ void bounds(int* p) { int a[4] = {}, i = *p + 4; a[i] = 1; *p = a[3]; }  // fault 11
__global__ void both(int* p) { if (threadIdx.x == 0) p[10] = 1; p[1] = threadIdx.x; }
__device__ int depth(int* p, int n) { volatile int a[64] = {n}; return n ? depth(p, n - 1) + a[n % 64] + *p : 0; }  // fault 22
__global__ void deep(int* p, int n) { *p = depth(p, n); }
__global__ void groups(int* p) {
  auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  for (int x = 1; x;) x = tile.shfl(x, 0);                                   // fault 23
}
int hosts = 3;
__global__ void of_hosts(int* p) { *p = hosts; }                             // fault 25
// Thread 0 of all blocks but two leaves its array; more blocks have such a thread than fit at once.
__global__ void crowd(int* p) {
  if (blockIdx.x % 399 == 0) p[1] = blockIdx.x;                              // fault 20
  else if (threadIdx.x == 0) p[10] = 1;
  else __syncthreads();
}
__global__ void meet(int* p) {
  if (blockIdx.x == 0) p[10] = 1;
  cooperative_groups::this_grid().sync();
  p[1] = blockIdx.x;                                                         // fault 21
}
__global__ void lanes(int* p) { p[threadIdx.x] = __shfl_down_sync(~0u, 5, 8); }  // fault 19
int main(int c, char** v) {
  int k = atoi(v[1]), *p, *n, *h = new int[20]();
  cudaMalloc(&p, 40); cudaMalloc(&n, 4); cudaMemset(n, 0, 4);
  if (k != 7) cudaMemset(p, 0, 40);
  if (k == 0) beyond<<<1, 32>>>(p);
  if (k == 1) spin<<<1, 1>>>(p);
  if (k == 2) race<<<1, 64>>>(p);
  if (k == 3) nested<<<1, 1>>>(p);
  if (k == 4) of_host<<<1, 1>>>(h, p);
  if (k == 5) twice<<<1, 1>>>(p);
  if (k == 6) misaligned<<<1, 1>>>((char*)p);
  if (k == 7) unwritten<<<1, 1>>>(p);
  if (k == 8) fence<<<2, 32>>>(p, n);
  if (k == 9) stop<<<1, 1>>>(p);
  if (k == 10) never<<<1, 1>>>(p);
  if (k == 11) bounds<<<1, 1>>>(p);
  if (k == 12) h[0] = *p;                                                    // fault 12
  if (k == 13) cudaMemcpy(h, p, 80, cudaMemcpyDeviceToHost);                 // fault 13
  if (k == 14) *(volatile int*)8 = 1;
  if (k == 15) for (volatile int i = 0;; i = 1);
  if (k == 16) { cudaFree(p); beyond<<<1, 1>>>(p); }
  if (k == 17) { race<<<1, 64>>>(p); beyond<<<1, 32>>>(p); cudaDeviceSynchronize(); cudaMemset(p, 0, 4); }
  if (k == 18) both<<<1, 64>>>(p);
  if (k == 19) lanes<<<1, 4>>>(p);
  if (k == 20) crowd<<<400, 64>>>(p);
  if (k == 21) { void* arguments[] = {&p}; cudaLaunchCooperativeKernel((void*)meet, dim3(3), dim3(1), arguments); }
  if (k == 22) deep<<<1, 1>>>(p, 1 << 20);
  if (k == 23) groups<<<1, 32>>>(p);
  if (k == 24) cudaMemcpy(nullptr, p, 4, cudaMemcpyDeviceToHost);            // fault 24
  if (k == 25) { hosts = c; of_hosts<<<1, 1>>>(p); }
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
"""


ATOMICS = r"""
#include <cuda/atomic>
#include <cstdio>
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets{0};
__global__ void count(int* n, float* f, unsigned long long* most) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> here;
  if (threadIdx.x == 0) here.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  here.fetch_add(1, cuda::std::memory_order_relaxed);
  ++here;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_device> all(*n);
  if (threadIdx.x == 0) all += here.load();
  cuda::atomic_ref<float> sum(*f);
  sum.fetch_add(0.5f, cuda::memory_order_relaxed);
  cuda::atomic_ref{*most}.fetch_max(threadIdx.x);
  if (threadIdx.x == 0) tickets.fetch_add(1);
}
__global__ void lock(int* l, int* v) {
  cuda::atomic_ref<int, cuda::thread_scope_device> lock(*l);
  for (int free = 0; !lock.compare_exchange_weak(free, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed); free = 0) {}
  *v += 1;
  lock.store(0, ORDER);
}
__global__ void pass(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) { *data = 42; f.store(1, ORDER); }
  else { while (f.load(cuda::memory_order_acquire) == 0) {} *out = *data; }
}
int main() {
  int *p, h[6] = {}; float *f, g; unsigned long long *m, k; unsigned t;
  cudaMalloc(&p, sizeof h); cudaMemset(p, 0, sizeof h); cudaMalloc(&f, 4); cudaMemset(f, 0, 4); cudaMalloc(&m, 8); cudaMemset(m, 0, 8);
  count<<<3, 64>>>(p, f, m); lock<<<8, 1>>>(p + 1, p + 2); pass<<<2, 1>>>(p + 3, p + 4, p + 5);
  cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost); cudaMemcpy(&g, f, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&k, m, 8, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&t, tickets, 4);
  printf("%d %d %d %g %llu %u\n", h[0], h[2], h[5], g, k, t);
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("simulate")
    (made / "include").mkdir()
    (made / "include" / "other.h").write_text("#pragma once\nint of_other(int*);\n")
    (made / "forms.cu").write_text(FORMS)
    (made / "other.cu").write_text(OTHER)
    (made / "faults.cu").write_text(FAULTS)
    return made


@pytest.fixture
def simulate(folder):
    return lambda *arguments, **options: call("simulate", *arguments, cwd=folder, XDG_CACHE_HOME=str(folder / "cache"), **options)


def line_of(mark: str) -> int:
    return next(i for i, line in enumerate(FAULTS.splitlines(), 1) if line.endswith(f"// {mark}"))


def test_readmes_program_has_the_race_that_readme_shows(simulate, folder):
    program, shown = re.findall(r"^```(?:cuda)?\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)[:2]
    build, command, race = shown.split("\n", 2)
    assert build.endswith(" --target simulate") and command.endswith("/bin/simulate sum.cu") and program.count("\n") == 10
    (folder / "sum.cu").write_text(program)
    done = simulate("sum.cu")
    assert done.code == 2 and " ".join(race.split()) in done.err


@pytest.mark.parametrize("page, line, mend", [("README.md", r"(    if .*;)\n", r"{ __syncthreads(); \1 }\n"),
                                              ("docs/simulating.md", r"(  s\[t\] = .*;)\n", r"\1\n  __syncthreads();\n")])
def test_the_programs_of_pages_are_mended_as_the_pages_say(simulate, folder, page, line, mend):
    program = re.search(r"^```cuda\n(.*?)^```", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)[1]
    mended, count = re.subn(line, mend, program, count=1)
    (folder / "mended.cu").write_text(mended)
    done = simulate("mended.cu")
    assert count == 1 and (done.code, done.out) == (0, "256\n") and "no finding in 8 runs" in done.err


def test_the_page_shows_what_its_program_says(simulate, folder):
    page = (SOURCE / "docs" / "simulating.md").read_text()
    program, shown = (re.search(rf"^```{begin}.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
                      for begin in (r"cuda\n(", r"\n(reductio: "))
    (folder / "prog.cu").write_text(program)
    done = simulate("prog.cu")
    race, last = " ".join(shown.split()).split(" [forward -O0, ...] ")
    assert done.code == 2 and race in done.err and last in done.err


def test_the_program_that_readme_builds_says_the_same_and_takes_the_same_options(simulate, folder):
    alone = BIN.with_name("simulate")
    if not alone.exists():
        pytest.skip("it is not built: cmake --build build --target simulate")

    def both(*arguments):
        outcomes = simulate(*arguments), call(*arguments, binary=alone, cwd=folder, XDG_CACHE_HOME=str(folder / "cache"))
        assert outcomes[0] == outcomes[1]
        return outcomes[1]

    assert "reductio: simulated device: race in kernel " in both("faults.cu", "--orders", "forward@O1", "--", "2").err
    assert both("forms.cu", "other.cu", "--orders", "forward@O1", "-I", "include", "-D", "VALUE=5", "--", "one two").code == 7
    assert "unknown option '--sarf'; did you mean '--sarif'?" in both("forms.cu", "--sarf", "x").error()
    assert "--keep-going" in both("--help").ok()
    assert f"unknown option '--zzzzzz'; see '{alone} --help'" in call("--zzzzzz", binary=alone).error()
    assert f"unknown option '--zzzzzz'; see '{BIN} simulate --help'" in call("simulate", "--zzzzzz").error()


def test_a_program_runs_as_on_a_gpu(simulate):
    done = simulate("forms.cu", "other.cu", "-I", "include", "-D", "VALUE=5", "--", "one two")
    assert done.code == 7, done.out + done.err
    assert done.out.endswith("thread 0\nthread 1\nthread 2\nall is well, forms one two\n")
    notes = done.err.splitlines()
    assert notes[-1] == "reductio: no finding in 8 runs (orders forward, reverse, starve, random; -O0 and -O1)"
    assert sum("elapsed times are 0" in note for note in notes) == 1
    assert any(re.search(r"forms\.cu:\d+: the launch: cudaErrorInvalidConfiguration, blocks of 2048 threads", n) for n in notes)


@pytest.mark.parametrize("number, kind, says", [
    (0, "out of bounds", "writes element 10 of 10 elements of 4 bytes"),
    (1, "endless wait", "has read the same word"),
    (2, "race", "of shared array s, which thread"),
    (3, "broken contract", "dynamic parallelism"),
    (4, "out of bounds", "not memory of the device"),
    (5, "use after free", "global memory that was released"),
    (6, "misaligned", "not aligned to the 4 bytes"),
    (7, "read of unwritten memory", "which nobody has written since its allocation; cudaMalloc does not zero it: cudaMemset does$"),
    (8, "race", "has passed no __threadfence()"),
    (9, "stopped by the kernel", r"assert\(p == nullptr\) does not hold"),
    (10, "endless wait|timeout", "has read the same word|kernel never, block 0, thread 0 is running, last at"),
    (11, "out of bounds", "index 4 is outside the array"),
    (12, "device code on the host", "host code reads device memory"),
    (13, "out of bounds", "80 bytes asked for, 40 left"),
    (14, "crash", "SIGSEGV"),
    (15, "timeout", "timeout after 1 s: host code is running"),
    (25, "out of bounds", "reads 4 bytes of variable hosts, which is the host's"),
    (22, "out of bounds", r"kernel deep, block 0, thread 0, faults\.cu.* its stack of \d+ KiB overflowed"),
    (23, "timeout", r"kernel groups, block 0, thread \d+ is running, last at faults\.cu:%d" % line_of("fault 23")),
    (16, "use after free", "global memory that was released"),
])
def test_a_fault_is_one_line_with_its_place(simulate, number, kind, says):
    endless = number in (10, 15, 23)
    done = simulate("faults.cu", "--json", "--orders", "forward" if endless else "forward,random",
                    "--timeout", "1" if endless else "60", "--", str(number))
    assert done.code == 2, done.out + done.err
    findings = json.loads(done.out)["findings"]
    assert re.fullmatch(kind, findings[0]["kind"]) and re.search(says, findings[0]["message"]), findings
    assert "\n" not in findings[0]["message"]
    # A race that is seen from its other side, in another order, is a finding of its own.
    assert len(findings) == 1 or {f["kind"] for f in findings} == {"race"}, findings
    if f"// fault {number}\n" in FAULTS and not endless:
        assert (findings[0]["file"], findings[0]["line"]) == ("faults.cu", line_of(f"fault {number}")), findings


def test_going_on_finds_what_comes_after(simulate):
    first = simulate("faults.cu", "--orders", "forward", "--", "17")
    assert first.code == 2 and first.out == "" and "1 finding in" in first.err
    all_of_it = simulate("faults.cu", "--orders", "forward", "--keep-going", "--json", "--", "17")
    kinds = [f["kind"] for f in json.loads(all_of_it.out)["findings"]]
    assert "race" in kinds and "out of bounds" in kinds
    assert json.loads(all_of_it.out)["output"] == "cudaSuccess\n"
    # One thread leaves its array, the others race: without --keep-going the launch ends before.
    for options, expected in ((["--keep-going"], {"out of bounds", "race"}), ([], {"out of bounds"})):
        both = simulate("faults.cu", "--orders", "forward", *options, "--json", "--", "18")
        assert {f["kind"] for f in json.loads(both.out)["findings"]} == expected


@pytest.mark.parametrize("order", ["forward", "reverse", "starve", "random"])
@pytest.mark.parametrize("number", [20, 21])
def test_threads_that_leave_their_array_hide_no_race(simulate, order, number):
    done = simulate("faults.cu", "--orders", order, "--keep-going", "--json", "--", str(number))
    findings = {(f["kind"], f["line"]) for f in json.loads(done.out)["findings"]}
    assert ("race", line_of(f"fault {number}")) in findings and {kind for kind, _ in findings} == {"race", "out of bounds"}


def test_a_shuffle_from_a_lane_that_is_not_there_is_noted(simulate):
    done = simulate("faults.cu", "--orders", "forward", "--", "19")
    note = f"in kernel lanes the shuffle at faults.cu:{line_of('fault 19')}"
    assert done.code == 0 and sum(note in line and "lane 8 is not in the block" in line for line in done.err.splitlines()) == 1


def test_of_libcudacxx_atomics_are_there(simulate, folder):
    (folder / "atomics.cu").write_text(ATOMICS)
    done = simulate("atomics.cu", "-D", "ORDER=cuda::memory_order_release")
    assert (done.code, done.out) == (0, "384 8 42 96 63 3\n"), done.out + done.err
    # A release that is none: neither the lock's nor the flag's.
    bad = simulate("atomics.cu", "-D", "ORDER=cuda::memory_order_relaxed", "--keep-going", "--json")
    lines = ATOMICS.splitlines()
    raced = {lines[f["line"] - 1].strip() for f in json.loads(bad.out)["findings"] if f["kind"] == "race"}
    assert any("*v += 1;" in line for line in raced) and any("*out = *data;" in line for line in raced), bad.out


def test_findings_are_written_for_pull_requests(simulate, folder):
    simulate("faults.cu", "--orders", "forward", "--sarif", "found.sarif", "--", "0")
    run = json.loads((folder / "found.sarif").read_text())["runs"][0]
    assert run["results"][0]["ruleId"] == "out-of-bounds"
    where = run["results"][0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] == "faults.cu" and where["region"]["startLine"] == line_of("fault 0")


# In each line that ends in a number, the access or call that the last `^` before it points at; none: it is a macro's.
COLUMNS = r"""
#define N 4
#define HALF(n) ((n) / 2)
#define PUT(i) p[i] = 1
#define CHECK(x) do { if ((x) != cudaSuccess) failed = true; } while (0)
const char* usage = R"(
# 9 "elsewhere.cu"
   two lines)";
//                                                            ^
/* of
two lines */    __device__   void store(int* p) { p[HALF(N)]  =   1; }        // 0
__global__ void a(int* p) {
//                    ^
  store(p); int x =   p[N];  /*  c  */  if (x) p[0] = x;                      // 1
}
__global__ void b(int* p) {
  PUT(N);                                                                     // none 2
}
__global__ void c(int* p) {
//                                       ^
  /* a */ static __shared__ int s[4]   ; s[4 + p[0]] = 3;                     // 3
}
__global__ void d(int* p) {
//                ^
TAB if (N > 2)TAB p[N]  =  1;                                                 // 4
}
int main(int, char** v) {
  int k = v[1][0] - '0', *p; bool failed = false; CHECK(cudaMalloc(&p,
    N * sizeof *p));
  cudaMemset(p, 0, (k ? N : 2) * sizeof *p);
  if (k < 2) a<<<1, 1>>>(p + (k ? 0 : 2));
  if (k == 2) b<<<1, 1>>>(p);
  if (k == 3) c<<<1, N / N>>>(p);
  if (k == 4) d<<<1, 1>>>(p);
//                               ^
  if (k == 5) { b<<<0, N>>>(p);  cudaMemset(p, 0, 99); }                      // 5
  if (k == 6) CHECK(cudaMemset(p, 0, 99));                                    // none 6
  return cudaDeviceSynchronize();
}
""".replace("TAB ", "\t")


@pytest.mark.parametrize("number", range(7))
def test_columns_are_those_of_the_users_file(simulate, folder, number):
    (folder / "columns.cu").write_text(COLUMNS)
    done = simulate("columns.cu", "--orders", "forward", "--json", "--", str(number))
    document = json.loads(done.out)
    (found,) = document["findings"] + [f for f in document["failed_calls"] if "launch" not in f["message"]]
    lines = COLUMNS.splitlines()
    line = next(i for i, text in enumerate(lines) if re.search(rf"// (none )?{number}$", text))
    pointed = [text.index("^") + 1 for text in lines[:line] if re.fullmatch(r"// *\^", text)]
    assert (found["line"], found["column"]) == (line + 1, 0 if "// none" in lines[line] else pointed[-1]), found


def test_an_error_of_the_compiler_in_a_macro_has_no_column(simulate, folder):
    (folder / "macro.cu").write_text("#define BAD missing\nint main() { return BAD; }\n")
    done = simulate("macro.cu")
    assert done.code == 1 and "macro.cu:2: error: use of undeclared identifier 'missing'" in done.err, done.err


STUDENTS = r"""
#include <chrono>
#include <optional>
#include <random>
#include <span>
#include <vector>
#include <iostream>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
template <typename T> struct Buffer {
  T* p = nullptr;
  explicit Buffer(size_t n) { if (auto e = cudaMalloc(&p, n * sizeof(T)); e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
  ~Buffer() { cudaFree(p); }
};
template <class T> __global__ void sum(const T* in, size_t n, T* out) {
  namespace cg = cooperative_groups;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  T v{};
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
  if constexpr (sizeof(T) == 4) v = cg::reduce(warp, v, cg::plus<T>());
  if (warp.thread_rank() == 0) atomicAdd(out, v);
}
std::optional<float> total(std::span<const float> xs) {
  if (xs.empty()) return std::nullopt;
  Buffer<float> in(xs.size()), out(1); float r;
  cudaMemcpy(in.p, xs.data(), xs.size_bytes(), cudaMemcpyHostToDevice); cudaMemset(out.p, 0, sizeof r);
  sum<<<4, 128>>>(in.p, xs.size(), out.p); cudaMemcpy(&r, out.p, sizeof r, cudaMemcpyDeviceToHost);
  return r;
}
int main() {
  std::mt19937 random(42); std::vector<float> h(1000);
  for (float& x : h) x = float(random() % 8);
  const auto begin = std::chrono::steady_clock::now();
  double expected = 0; for (float x : h) expected += x;
  std::cout << (total(h) == expected) << total({}).has_value() << "\n" << (std::chrono::steady_clock::now() - begin).count() << " ns\n";
}
"""


def test_a_program_of_cpp_20_with_a_toolkits_folder_among_its_options(simulate, folder):
    (folder / "students.cu").write_text(STUDENTS)
    toolkit = folder / "cuda" / "include"
    toolkit.mkdir(parents=True)
    for name in ("cuda_runtime.h", "cuda_runtime_api.h", "cuda_fp16.h"):
        (toolkit / name).write_text("#error a GPU's header\n")
    for standard in ("c++17", "c++23"):
        done = simulate("students.cu", "-I", "cuda/include", "--std", standard, "--orders", "forward,random")
        assert done.code == 0 and done.out.startswith("10\n"), done.out + done.err


MEMORY = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define EACH size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x
template <class T> __global__ void put(T* p, size_t n) { for (EACH) p[i] = 1; }
template <class T> __global__ void twice(T* p, size_t n) { for (EACH) p[i] = p[i] + p[i]; }
__global__ void count(int* p, size_t n) { for (EACH) atomicAdd(p + i, 1); }
__global__ void touch(int* p) { *p = 1; }
long resident() {
  char line[256]; long kib = 0; FILE* f = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, f)) if (!strncmp(line, "VmRSS:", 6)) kib = atol(line + 6);
  fclose(f); return kib * 1024;
}
template <class T> void measure(const char* name, size_t mib, void (*more)(T*, size_t) = nullptr) {
  const size_t bytes = mib << 20, n = bytes / sizeof(T);
  const long before = resident(); T* p; cudaMalloc(&p, bytes);
  put<T><<<8, 256>>>(p, n); twice<T><<<8, 256>>>(p, n);
  if (more) more<<<8, 256>>>(p, n), twice<T><<<8, 256>>>(p, n);
  cudaDeviceSynchronize();
  if (resident() - before > 6 * long(bytes)) printf("%s takes %.2f times its size\n", name, (resident() - before) / double(bytes));
}
int main(int, char** v) {
  if (v[1][0] == 'b') { int* p; cudaMalloc(&p, 256 << 20); touch<<<1, 1>>>(p); return cudaDeviceSynchronize(); }
  int* c; cudaMalloc(&c, 4 << 16);  // what does not grow with data: threads' stacks, and the last values that order random keeps
  put<<<8, 256>>>(c, 1 << 16), twice<<<8, 256>>>(c, 1 << 16), count<<<8, 256>>>(c, 1 << 16), twice<<<8, 256>>>(c, 1 << 16);
  cudaDeviceSynchronize();
  if (v[1][0] == 'm') measure<char>("i8", 1), measure<short>("i16", 1), measure<float>("f32", 2), measure<double>("f64", 2), measure<int>("i32", 2, count);
}
"""


@pytest.mark.parametrize("order", ["forward", "random"])
def test_memory_takes_at_most_six_times_its_size(simulate, folder, order):
    (folder / "memory.cu").write_text(MEMORY)
    done = simulate("memory.cu", "--orders", order, "--", "measure")
    assert done.code == 0 and done.out == "", done.out + done.err


def test_more_memory_than_there_is_is_refused_in_one_line(simulate, folder):
    (folder / "memory.cu").write_text(MEMORY)
    simulate("memory.cu", "--orders", "forward", "--", "nothing")  # compiles it
    limited = ["-c", 'ulimit -v 700000; exec "$@"', "bash", BIN, "simulate", "memory.cu", "--orders", "forward", "--", "big"]
    done = call(*limited, cwd=folder, binary=Path("/bin/bash"), XDG_CACHE_HOME=str(folder / "cache"))
    assert done.code == 2, done.out + done.err
    lines = [line for line in done.err.splitlines() if "out of memory" in line]
    assert len(lines) == 1 and re.search(
        r"the records of who accesses an allocation of 0\.3 GiB take 0\.5 GiB of this machine's memory, and 0\.\d GiB are "
        r"free: use smaller arrays, or give it more; this program runs under 'ulimit -v 700000': raise it", lines[0]), done.err


REFUSED = r"""
#include <cstdio>
#include <ctime>
#include <sys/resource.h>
__global__ void first(int* p) { atomicCAS(p, 0, int(blockIdx.x) + 1); }
__global__ void touch(int* p) { *p = 1; }
size_t free_bytes() {
  rlimit most; getrlimit(RLIMIT_AS, &most);
  size_t pages = 0; FILE* f = fopen("/proc/self/statm", "r"); if (fscanf(f, "%zu", &pages) != 1) return 0;
  fclose(f); return most.rlim_cur - 4096 * pages;
}
int main(int, char** v) {
  int *p, h = 0;
  if (v[1][0] == 'o') {  // more in the order reverse
    cudaMalloc(&p, 4); cudaMemset(p, 0, 4); first<<<8, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost);
    return cudaMalloc(&p, size_t(h) << 27) != cudaSuccess;
  }
  timespec t; clock_gettime(CLOCK_MONOTONIC, &t); printf("%ld ns\n", t.tv_nsec);
  cudaMalloc(&p, free_bytes() / 4); touch<<<1, 1>>>(p);  // with its records more than half
  cudaDeviceSynchronize(); printf("all is well\n");
}
"""


def with_little_memory(folder, *arguments):
    (folder / "refused.cu").write_text(REFUSED)
    limited = ["-c", 'ulimit -v 700000; exec "$@"', "bash", BIN, "simulate", "refused.cu", *arguments]
    return call(*limited, cwd=folder, binary=Path("/bin/bash"), XDG_CACHE_HOME=str(folder / "cache"))


def test_memory_that_this_machine_lacks_in_one_order_is_no_difference(simulate, folder):
    done = with_little_memory(folder, "--orders", "forward,reverse", "--", "order")
    assert done.code == 2 and "output differs" not in done.err, done.out + done.err
    lines = [line for line in done.err.splitlines() if "simulated device" in line]
    assert len(lines) == 1 and re.search(r"out of memory, refused\.cu:16:\d+: 1073741824 bytes of the simulated GPU's memory "
                                        r"take 1\.[23] GiB of this machine's memory, and 0\.\d GiB are free", lines[0]), done.err


def test_what_runs_out_of_memory_beside_others_is_shown_as_it_is_alone(simulate, folder):
    done = with_little_memory(folder, "--orders", "forward", "--", "alone")
    assert done.code == 0 and done.out.endswith(" ns\nall is well\n"), done.out + done.err


IN_HANDLER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
extern void* __libc_malloc(size_t);
void* malloc(size_t bytes) {
  stack_t now;
  if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_ONSTACK) _exit(99);
  return __libc_malloc(bytes);
}
"""


# A thread that allocates when the signal comes would wait for itself.
@pytest.mark.parametrize("number, kind, says", [(22, "out of bounds", "overflowed"), (23, "timeout", "kernel groups, block 0")])
def test_handlers_of_signals_allocate_nothing(simulate, folder, number, kind, says):
    (folder / "handler.c").write_text(IN_HANDLER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "handler.so", "handler.c"], cwd=folder, check=True)
    arguments = ["faults.cu", "--json", "--orders", "forward", "--timeout", "1", "--", str(number)]
    simulate(*arguments)  # compiles it
    done = simulate(*arguments, LD_PRELOAD=str(folder / "handler.so"))
    findings = json.loads(done.out)["findings"]
    assert [f["kind"] for f in findings] == [kind] and says in findings[0]["message"], done.out


ORDERS = r"""
#include <cstdio>
#include <ctime>
__global__ void first(int* p) { atomicCAS(p, 0, int(blockIdx.x) + 1); }
__global__ void add(float* p) { atomicAdd(p, 1.0f / (3 + blockIdx.x)); }
int main(int, char** v) {
  int *p, h; float *f, g; cudaMalloc(&p, 4); cudaMalloc(&f, 4); cudaMemset(p, 0, 4); cudaMemset(f, 0, 4);
  if (v[1][0] == 'o') { first<<<8, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("first: %d\n", h); }
  if (v[1][0] == 'r') { add<<<99, 1>>>(f); cudaMemcpy(&g, f, 4, cudaMemcpyDeviceToHost); printf("sum: %.9g\n", g); }
  if (v[1][0] == 't') { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); printf("%ld ns\n", t.tv_nsec); }
}
"""


@pytest.mark.parametrize("what, differs", [("order", True), ("rounding", False), ("time", False)])
def test_output_that_depends_on_the_order_is_a_finding(simulate, folder, what, differs):
    (folder / "orders.cu").write_text(ORDERS)
    done = simulate("orders.cu", "--", what)
    assert done.code == (2 if differs else 0), done.err
    if differs:
        assert "output differs: it prints 'first: 8' where the order of blocks and threads is 'reverse'" in done.err


@pytest.mark.parametrize("text, says", [
    ("int main() { int x = y; }", "prog.cu:1:22: error: use of undeclared identifier 'y'"),
    ("#include <cuda.h>\nint main() { cudaFoo(3); }", "prog.cu:2:14: error: use of undeclared identifier 'cudaFoo'"),
    ("#include <cub/cub.cuh>\nint main() {}", "prog.cu:1: <cub/cub.cuh> is not simulated"),
    ("#include <thrust/device_vector.h>\nint main() {}", "prog.cu:1: <thrust/device_vector.h> is not simulated"),
    ("#include <cstdio>\n#include <cuda/std/span>\nint main() {}", "prog.cu:2: <cuda/std/span> is not simulated"),
    ("#include <cooperative_groups/memcpy_async.h>\nint main() {}",
     "prog.cu:1: <cooperative_groups/memcpy_async.h> is not simulated"),
    ("#include <cuda_pipeline.h>\nint main() {}", "prog.cu:1: <cuda_pipeline.h> is not simulated"),
    ("#include <cstdio>\n#include <mma.h>\nint main() {}", "prog.cu:2: <mma.h> is not simulated"),
    ('__device__ int f() { int l;\nasm volatile("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }\nint main() {}',
     'prog.cu:2: inline PTX is not simulated: "mov.u32 %0, %%laneid;"'),
    ("int main() {\n#ifdef X\n  asm(\"bar.sync 0;\");\n#endif\n}", None),
    ('int main() { asm volatile("nop"); }', None),
    ("template <class T> void f(T) {}\nint main() { f(3);\ntex1Dfetch(0, 3); }", "prog.cu:3: tex1Dfetch: textures and surfaces are not"),
    ("void f();\nint main() { f(); }", "cannot start 'prog': f() is declared and nowhere defined"),
    ("int f() { return 3; }", "cannot start 'prog': it has no main()"),
    ("__global__ void k() {}\nint main() { k<<<1>>>(); }", "prog.cu:2:"),
])
def test_what_does_not_compile_is_told_by_its_line(simulate, folder, text, says):
    (folder / "prog.cu").write_text(text + "\n")
    done = simulate("prog.cu", "--orders", "forward", "--std", "c++17")
    if says is None:
        assert done.code == 0, done.err
        return
    assert done.code == 1 and says in done.err, done.err
    assert done.out == ""


@pytest.mark.parametrize("arguments, says", [
    ((), "name the program's source"),
    (("nowhere.cu",), "cannot compile 'nowhere.cu': there is no such file"),
    (("faults.cu", "0"), "'0' is not a source file"),
    (("faults.cu", "--orders", "sideways"), "unknown order 'sideways'"),
    (("faults.cu", "--orders", "forward@O7"), "unknown order 'forward@O7'"),
    (("faults.cu", "--timeout", "0"), "--timeout takes"),
    (("faults.cu", "--sarif", "no/where.sarif"), "no/where.sarif"),
])
def test_bad_usage_is_one_line(simulate, arguments, says):
    done = simulate(*arguments)
    assert done.code == 1 and says in done.err and done.err.count("\n") == 1, done.err


def test_a_program_with_side_effects_runs_once(simulate, folder):
    (folder / "once.cu").write_text("""#include <cstdio>
int main() { FILE* f = fopen("once.txt", "a"); fprintf(f, "x"); fclose(f); int n = 0; scanf("%d", &n); printf("%d\\n", n); }
""")
    done = call("-c", 'echo 5 | "$@"', "bash", BIN, "simulate", "once.cu", "--orders", "forward@O1", cwd=folder,
                binary=Path("/bin/bash"), XDG_CACHE_HOME=str(folder / "cache"))
    assert (done.code, done.out) == (0, "5\n") and (folder / "once.txt").read_text() == "x"
    assert done.err.splitlines()[-1] == "reductio: no finding in 1 run (orders forward; -O1)"


def test_a_failed_call_is_told_beside_the_findings(simulate):
    done = simulate("faults.cu", "--json", "--orders", "forward", "--", "24")
    assert json.loads(done.out)["findings"] == []
    (failed,) = json.loads(done.out)["failed_calls"]
    assert (failed["file"], failed["line"]) == ("faults.cu", line_of("fault 24"))
    assert failed["message"] == "cudaMemcpy: cudaErrorInvalidValue, a null pointer"


def test_the_compiler_may_be_several_words(simulate, folder):
    (folder / "words.cu").write_text("int main() { return WORDS; }\n")
    done = simulate("words.cu", "--orders", "forward", REDUCTIO_CLANG=f"{shutil.which('env')} clang++ -DWORDS=3")
    assert done.code == 3, done.err


def test_without_clang_the_package_is_named(simulate):
    done = simulate("faults.cu", REDUCTIO_CLANG="/no/clang++")
    assert done.code == 1 and done.err == "reductio: $REDUCTIO_CLANG is '/no/clang++', which is not a program\n"


PLUGIN = r"""
#include <reductio/plugin.h>
__global__ void add(const float* in, size_t n, float* out) {
  __shared__ float s[256];
  unsigned t = threadIdx.x;
  float v = 0;
  for (size_t i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  s[t] = v;
  __syncthreads();
  for (unsigned k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    BARRIER;
  }
  if (t == 0) atomicAdd(out, s[0]);
}
static void my_sum(const float* in, size_t n, float* out, void* workspace, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof(float), stream);
  add<<<8, 256, 0, stream>>>(in, n, out);
}
REDUCTIO_SUM_F32("mine/sum", my_sum)
"""


def test_a_plugin_runs_on_the_simulated_device(folder):
    (folder / "mine.cu").write_text(PLUGIN.replace("BARRIER", "__syncthreads()"))
    (folder / "bad.cu").write_text(PLUGIN.replace("BARRIER", ""))

    def verify(file):
        return call("verify", file, "--device", "sim", "--tier", "quick", cwd=folder, XDG_CACHE_HOME=str(folder / "cache"))
    good = verify("./mine.cu")
    assert good.code == 0, good.out + good.err
    assert re.search(r"ok +sim +mine/sum +\d+ passed", good.out) and re.search(r"ok +sim +mine/sum@O0 +\d+ passed", good.out)
    bad = verify("./bad.cu")
    assert bad.code == 2
    assert "simulated device: race in kernel add, block" in bad.out and "bad.cu:11:" in bad.out
