"""A __shared__ array would be memory that nothing checks, one for all blocks: on the simulated device it is an error of the
compiler, which says what to write."""

import shutil
import subprocess

import pytest
from project import SOURCE

KERNELS = """
#include "device/kernel.h"
using namespace reductio::device;
__global__ void right(GlobalPtr<float> out) { out[0] = shared_array<float, 32>()[0] + shared_memory<float>()[0]; }
__global__ void of_a_size(float* out) { __shared__ float sums[32]; out[0] = sums[0]; }
__global__ void of_one_function(float* out) { static __shared__ float sum; out[0] = sum; }
__global__ void of_the_launch(float* out) { extern __shared__ float all[]; out[0] = all[0]; }
__global__ void of_bools() { shared_array<bool, 1>()[0] = 1; }
__global__ void of_chars() { shared_array<char, 1>()[0] = 1; }
__global__ void of_shorts() { shared_array<short, 1>()[0] = 1; }
"""
SHARED = "write SharedPtr<T> x = shared_array<T, N>(), or shared_memory<T>() for dynamic memory"
SMALL = "shared elements are of 4 bytes or a multiple: write unsigned for bool or char"


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_shared_and_elements_that_are_too_small_are_errors_that_say_what_to_write(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    (tmp_path / "kernels.cpp").write_text(KERNELS)
    done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", "-I", SOURCE / "src",
                           tmp_path / "kernels.cpp"], capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    of_shared = [line for line in errors if SHARED in line]
    assert [line.split("kernels.cpp:")[1].split(":")[0] for line in of_shared] == ["5", "6", "7"], done.stderr
    # Where the element is too small, the compiler's error is the header's and the line is told with it.
    of_small = [line for line in errors if SMALL in line]
    assert len(of_small) == 3 and all(f"kernels.cpp:{line}:" in done.stderr for line in (8, 9, 10)), done.stderr
    assert done.returncode != 0 and "kernels.cpp:4:" not in done.stderr, done.stderr  # which is right
