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
#ifdef WRONG
__global__ void of_a_size(float* out) { __shared__ float sums[32]; out[0] = sums[0]; }
__global__ void of_one_function(float* out) { static __shared__ float sum; out[0] = sum; }
__global__ void of_the_launch(float* out) { extern __shared__ float all[]; out[0] = all[0]; }
#endif
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_shared_is_an_error_that_says_what_to_write(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")

    def errors(*more):
        done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only", "-I", SOURCE / "src", *more,
                               tmp_path / "kernels.cpp"], capture_output=True, text=True)
        return done.returncode, [line for line in done.stderr.splitlines() if "error:" in line]

    (tmp_path / "kernels.cpp").write_text(KERNELS)
    assert errors() == (0, [])
    code, lines = errors("-DWRONG")
    assert code != 0 and len(lines) == 3, lines
    for number, line in zip((6, 7, 8), lines):
        assert f"kernels.cpp:{number}:" in line, line
        assert "write SharedPtr<T> x = shared_array<T, N>(), or shared_memory<T>() for dynamic memory" in line


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("small", ["bool", "char", "short"])
def test_a_shared_element_that_is_too_small_says_what_to_write(compiler, small, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    (tmp_path / "kernel.cpp").write_text(
        '#include "device/kernel.h"\nusing namespace reductio::device;\n'
        f"__global__ void last() {{ shared_array<{small}, 1>()[0] = 1; }}\n")
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", SOURCE / "src", tmp_path / "kernel.cpp"],
                          capture_output=True, text=True)
    assert done.returncode != 0
    assert "shared elements are of 4 bytes or a multiple: write unsigned for bool or char" in done.stderr
