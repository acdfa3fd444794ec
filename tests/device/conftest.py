"""Precompiled headers: reading the simulated device's headers takes a compiler ten times as long as a kernel."""

import os
import subprocess

import pytest
from project import SOURCE

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fsyntax-only"]


@pytest.fixture(scope="session")
def syntax_of(tmp_path_factory):
    """What g++, or $CXX, says of these lines behind these headers: the completed process of checking their syntax."""
    compiler, prefixes = os.environ.get("CXX", "g++"), {}

    def check(lines: str, *headers: str) -> subprocess.CompletedProcess:
        if headers not in prefixes:
            folder = prefixes[headers] = tmp_path_factory.mktemp("prefix")
            prefix = folder / "prefix.h"
            prefix.write_text("".join(f"#include {header}\n" for header in headers))
            # clang++ reads such a file by another name, and then the header itself.
            subprocess.run([compiler, *FLAGS[:-1], "-I", SOURCE / "src", "-x", "c++-header", prefix, "-o", f"{prefix}.gch"],
                           check=True)
        source = prefixes[headers] / "kernels.cpp"
        source.write_text('#include "prefix.h"\n' + lines)
        return subprocess.run([compiler, *FLAGS, "-I", SOURCE / "src", source], capture_output=True, text=True)

    return check
