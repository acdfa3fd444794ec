"""device/kernel.h can be installed alone: with the CUDA toolkit and the headers beside it, and nothing of the harness, a
CUDA program compiles that uses every name it lists, idioms.h and groups.h, whose kernels find themselves right where a GPU is.
What the simulated device takes of them, test_refused.py has."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from project import SOURCE, optimises_little

IDIOMS = [Path(__file__).with_name(name) for name in ("idioms.h", "groups.h")]
INSTALLED = ("kernel.h", "grid_sync.h", "cooperative_groups.h", "cuda/kernel.cuh")
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"

# Floats of 16 bits are widened by CUDA's names on both devices.
HALVES = """
__global__ void halves(const __half* in, const __nv_bfloat16* wide, float* out) {
  const __half h = in[threadIdx.x];
  out[threadIdx.x] = __half2float(h) + static_cast<float>(h) + __bfloat162float(wide[threadIdx.x]) +
                     __half2float(__float2half(1.5f)) + __bfloat162float(__float2bfloat16(1.5f));
}
"""

PROGRAM = r"""
#include <cstdio>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device/grid_sync.h"
#include "device/kernel.h"
#include "groups.h"
#include "idioms.h"

using namespace reductio::device;
""" + HALVES + r"""
template <class T, class Load, unsigned Threads>
__global__ void __launch_bounds__(Threads) every_name(Input<T, Load> in, T* out, unsigned* flag, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* const sums = reinterpret_cast<T*>(raw);
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  sums[threadIdx.x] = i < n ? in[i] : T(0);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sums[0]);
  if (load_acquire(flag) == 0) store_release(flag, static_cast<unsigned>(globaltimer()));
  grid_sync();
}

struct OfBlock {
  const float* in;
  float* out;
  unsigned* flag;
  cudaStream_t stream;
  std::size_t n;
  template <unsigned Threads>
  void operator()() const {
    const Launch shape{ceil_div(n, Threads), Threads, Threads * sizeof(float), stream};
    launch<every_name<float, Square, Threads>>(shape, {in}, out, flag, n);
    launch_cooperative<every_name<float, Identity, Threads>>(shape, {in}, out, flag, n);
  }
};

/// How many of the 64 threads find something wrong; the first of them says what.
int wrong(const idioms::Idiom& idiom) {
  unsigned words[128];
  for (unsigned i = 0; i < 128; ++i) words[i] = i < 64 ? 0 : i - 64;
  unsigned* on_gpu = nullptr;
  cudaMalloc(&on_gpu, sizeof words);
  cudaMemcpy(on_gpu, words, sizeof words, cudaMemcpyHostToDevice);
  const int grid = 1;
  const std::size_t block = 64;
  idiom.start({grid, block, idioms::shared_bytes, nullptr}, on_gpu);
  check_launch(cudaMemcpy(words, on_gpu, sizeof words, cudaMemcpyDeviceToHost), idiom.name);
  cudaFree(on_gpu);
  int faults = 0;
  for (unsigned t = 0; t < 64; ++t)
    if (words[t] && faults++ == 0) std::printf("%s: thread %u finds %08x wrong\n", idiom.name, t, words[t]);
  return faults;
}

int main() {
  try {
    for_block<32, 64>(48, OfBlock{nullptr, nullptr, nullptr, nullptr, blocks_for(0, 32)});
    return 2;
  } catch (const std::invalid_argument&) {
  } catch (const LaunchError&) {
    return 3;
  }
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) return 0;
  int faults = 0;
  for (const idioms::Idiom& idiom : idioms::kernels) faults += wrong(idiom);
  faults += wrong(idioms::groups_kernel);
  try {  // a number that does not fit is not cut to one that does
    launch<idioms::planted>({(std::size_t{1} << 32) + 1, (std::size_t{1} << 32) + 64, 0, nullptr}, nullptr);
    return 6;
  } catch (const LaunchError&) {
  }
  const bool planted = wrong({"planted", launch<idioms::planted>}) == 64;
  std::printf("%d idioms on a GPU\n", int(sizeof idioms::kernels / sizeof *idioms::kernels));
  return faults ? 4 : planted ? 0 : 5;
}
"""


def compile_with(folder: Path, *more: str) -> subprocess.CompletedProcess:
    (folder / "program.cu").write_text(PROGRAM)
    # __reduce_add_sync and its kin are there from compute capability 8.0 on.
    return subprocess.run([NVCC, "-std=c++17", "-arch=sm_80", "-Werror=all-warnings", "-I", folder / "include",
                           *optimises_little(NVCC), *more, folder / "program.cu"], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path):
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    for header in INSTALLED:
        target = tmp_path / "include" / "device" / header
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / "src" / "device" / header, target)
    for header in IDIOMS:
        shutil.copy(header, tmp_path / "include")
    return tmp_path


def test_a_cuda_program_needs_nothing_else(installed):
    done = compile_with(installed, "-o", "program")
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([installed / "program"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout  # a block size that was not compiled is refused


def test_an_include_of_the_harness_would_be_found(installed):
    header = installed / "include" / "device" / "kernel.h"
    header.write_text(header.read_text() + '#include "core/types.h"\n')
    done = compile_with(installed, "-E", "-o", "program.ii")
    assert done.returncode != 0 and "core/types.h" in done.stderr
