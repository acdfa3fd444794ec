"""Where clang++ is missing, configuring says what to do: one way is a program without the simulated device, which says how
it was built to whoever asks for that device."""

import os
import subprocess
from pathlib import Path

import pytest
from project import SOURCE

PROGRAM = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(options LANGUAGES NONE)
set(REDUCTIO_CUDA OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
include({SOURCE}/cmake/Options.cmake)
"""


def configured(folder, *options):
    (folder / "CMakeLists.txt").write_text(PROJECT)
    return subprocess.run(["cmake", "-S", folder, "-B", folder / "build", *options], capture_output=True, text=True)


def test_without_clang_configuring_says_what_to_do(tmp_path):
    done = configured(tmp_path, "-DREDUCTIO_SIM=ON")
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert ("kernels for the simulated device need clang++ 14 or newer: on Debian and Ubuntu, apt-get install clang; or "
            "name one, -DREDUCTIO_CLANG=/path/to/clang++; or build without that device, -DREDUCTIO_SIM=OFF") in said


def test_without_the_simulated_device_no_clang_is_needed(tmp_path):
    done = configured(tmp_path, "-DREDUCTIO_SIM=OFF")
    assert done.returncode == 0, done.stderr


def test_a_program_without_it_says_how_it_was_built():
    """Only such a build can show it: cmake --preset sim-only -DREDUCTIO_SIM=OFF."""
    def call(*arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)

    if not PROGRAM.exists() or "built without the simulated device" not in call("info").stdout:
        pytest.skip("a program with the simulated device, or none")
    for command in (["verify"], ["verify", "--variants", "^host/plain$"], ["run", "comparison"], ["compare", "host/plain"]):
        done = call(*command, "--device", "sim")
        assert done.returncode == 77
        assert done.stderr == (
            "reductio: this program was built without the simulated device (-DREDUCTIO_SIM=OFF); rebuild it with "
            "-DREDUCTIO_SIM=ON, which needs clang++ 14 or newer (Debian and Ubuntu: apt-get install clang)\n")
    assert call("list").returncode == 0
    assert call("verify", "--variants", "^host/plain$", "--tier", "quick", "--quiet").returncode == 0
