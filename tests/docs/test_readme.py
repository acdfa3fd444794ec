"""The README is short. CONTRIBUTING's variant is a kernel file that compiles as it stands and keeps the rules for kernel
files."""

import pathlib
import re
import shutil
import subprocess

import lint_kernels
import lint_variants
import pytest
from project import SOURCE


@pytest.fixture
def kernel(tmp_path) -> pathlib.Path:
    blocks = re.findall(r"^```cpp\n(.*?)^```", (SOURCE / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    path = tmp_path / "src" / "kernels" / "mine.cu"
    path.parent.mkdir(parents=True)
    path.write_text(blocks[0])
    return path


def test_it_keeps_the_rules(kernel, tmp_path):
    assert lint_kernels.violations(tmp_path) == []
    assert lint_variants.violations(tmp_path) == []


def test_it_compiles(kernel):
    if not shutil.which("clang++"):
        pytest.skip("no clang++ here")
    done = subprocess.run(["clang++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-fsyntax-only",
                           "-I", SOURCE / "src", "-x", "c++", kernel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_is_short():
    lines = (SOURCE / "README.md").read_text().splitlines()
    assert len(lines) <= 80
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []
