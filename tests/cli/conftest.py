"""Runs the program as a person or a script would: by its command line, and by what it prints and leaves behind."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import BIN, SOURCE

# So long takes only what hangs, whatever the machine.
HANGS_S = 1200

# Every id of the documents and of the baselines that any build has, and those that only a build with nvcc has.
KERNELS = """
squares/chunked squares/strided squares/multi-block squares/multi-block-tree
twopass/rolled twopass/warp-unrolled twopass/template-unrolled twopass/multiple-of-32
unroll/neighbored unroll/neighbored-less unroll/interleaved unroll/unroll2 unroll/unroll4 unroll/unroll8
unroll/unroll8-warp unroll/unroll8-complete unroll/unroll8-template
levels/reduce0 levels/naive levels/divergence-free levels/completely-unrolled levels/global-stride levels/local-stride
multiblock/two-launch multiblock/last-block multiblock/last-block-warp
""".split()
CPU = """host/plain host/unroll2 host/unroll4 host/unroll8 host/recursive
eigen/sum eigen/squared-norm std/reduce openmp/sum""".split()
GPU_BASELINES = "thrust/reduce thrust/transform-reduce cub/sum cub/transform-reduce cub/moments cublas/dot".split()


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    def error(self, code: int = 1) -> str:
        """The one line of stderr, after checking that it is one and that the exit code is `code`."""
        assert self.code == code, f"exit code {self.code}, not {code}\nstdout: {self.out}\nstderr: {self.err}"
        assert self.err.endswith("\n") and self.err.count("\n") == 1, f"not one line on stderr: {self.err!r}"
        assert self.err.startswith("reductio: "), self.err
        return self.err.strip()

    def ok(self) -> str:
        assert self.code == 0, f"exit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"
        return self.out

    def rows(self) -> list[dict]:
        return list(csv.DictReader(io.StringIO(self.ok())))


def call(*arguments: object, cwd: Path | None = None, binary: Path = BIN, timeout: float = HANGS_S,
         **environment: str) -> Outcome:
    # Wide, so that a row of a table is a line.
    done = subprocess.run([binary, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "1000", **environment})
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def reductio(tmp_path):
    """The program, run in an empty folder."""
    def run(*arguments, **options):
        return call(*arguments, **{"cwd": tmp_path, **options})
    return run


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file under a folder and what it holds: to show that nothing was changed."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def sanitized() -> bool:
    """Whether the program carries AddressSanitizer, whose runtime is shared and whose times are slow."""
    return b"__asan_init" in BIN.read_bytes()


def pytest_configure(config):
    if not BIN.exists():
        sys.exit(f"{BIN} is not there: build it, or set REDUCTIO_BIN")
