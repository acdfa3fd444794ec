"""The program that shows the fault of CUB's gpu_to_gpu stands by itself, and finds it where there is a GPU."""

import shutil
import subprocess

import pytest
from project import BIN, SOURCE

PROGRAM = SOURCE / "baselines" / "gpu_to_gpu.cu"
HEADERS = sorted((BIN.parents[1] / "cccl-headers").glob("*/nvidia/cu13/include/cccl"),
                 key=lambda path: [int(number) for number in path.parents[3].name.split(".")])


def has_gpu() -> bool:
    return bool(shutil.which("nvidia-smi")) and "GPU" in subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout


@pytest.mark.skipif(not (shutil.which("nvcc") and has_gpu() and HEADERS),
                    reason="there is no GPU or no nvcc, or no release of CCCL was fetched")
def test_it_finds_the_fault(tmp_path):
    program = tmp_path / "gpu_to_gpu"
    done = subprocess.run(["nvcc", "-std=c++17", "-arch=native", "-I", HEADERS[-1], PROGRAM, "-o", program],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = subprocess.run([program], capture_output=True, text=True)
    assert run.returncode == 1 and run.stdout.count("WRONG") >= 3, run.stdout


def test_it_holds_nothing_of_this_project():
    text = PROGRAM.read_text()
    assert "reductio" not in text and '#include "' not in text
