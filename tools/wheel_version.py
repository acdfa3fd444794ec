"""The wheel's version, which pyproject.toml asks for: CMakeLists.txt's, and "+cpu" without CUDA. CMake builds what it
names, so that the names of the two kinds of wheel differ. REDUCTIO_CUDA=OFF in the environment asks for the latter."""

import os
import re
import shutil
from pathlib import Path

FALSE = ("0", "OFF", "NO", "FALSE", "N")


def dynamic_metadata(field: str, settings=None) -> str:
    project = (Path(__file__).resolve().parents[1] / "CMakeLists.txt").read_text()
    number = re.search(r"project\(reductio VERSION (\S+)", project)[1]
    wanted = os.environ.get("REDUCTIO_CUDA", "ON").upper() not in FALSE
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    return number if wanted and nvcc else number + "+cpu"
