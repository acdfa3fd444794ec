"""One file that runs where nothing is installed."""

import re
import subprocess

import pytest

from conftest import BIN


def test_needs_nothing_but_the_c_library(sanitized):
    if sanitized:
        pytest.skip("the sanitizers' runtimes are shared")
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", BIN], check=True, text=True,
                                                                capture_output=True).stdout)
    assert needed
    allowed = r"lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux.*"
    # clang's OpenMP has no static form
    if b"__kmpc_fork_call" in BIN.read_bytes():
        allowed += r"|libomp\.so\.\d+"
    assert [n for n in needed if not re.fullmatch(allowed, n)] == []
