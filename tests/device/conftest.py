"""Precompiled headers: reading the simulated device's headers takes a compiler ten times as long as a kernel."""

import os
import subprocess

import pytest
from project import SOURCE

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fsyntax-only"]


# One precompiled header of all that these tests' kernels include.
HEADERS = ["<array>", "<utility>", '"device/device.h"', '"device/wide.h"', '"device/cooperative_groups.h"']


@pytest.fixture(scope="session")
def syntax_of(tmp_path_factory):
    """What g++, or $CXX, says of these lines behind the headers: the completed process of checking their syntax."""
    compiler, folder = os.environ.get("CXX", "g++"), tmp_path_factory.mktemp("prefix")
    prefix, source = folder / "prefix.h", folder / "kernels.cpp"
    prefix.write_text("".join(f"#include {header}\n" for header in HEADERS))
    # clang++ reads such a file by another name, and then the header itself.
    subprocess.run([compiler, *FLAGS[:-1], "-I", SOURCE / "src", "-x", "c++-header", prefix, "-o", f"{prefix}.gch"], check=True)

    def check(lines: str) -> subprocess.CompletedProcess:
        source.write_text('#include "prefix.h"\n' + lines)
        return subprocess.run([compiler, *FLAGS, "-I", SOURCE / "src", source], capture_output=True, text=True)

    return check
