"""as_printed: what it cannot do is told in one line."""

import os
import subprocess
from pathlib import Path

import pytest
from project import SOURCE

PROGRAM = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")).parent / "as_printed"


@pytest.mark.skipif(not PROGRAM.exists(), reason="built without CUDA")
@pytest.mark.parametrize("arguments", [(), ("nowhere/at/all",), ("one", "too many")])
def test_bad_input_is_one_line(tmp_path, arguments):
    done = subprocess.run([PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and not list(tmp_path.iterdir())
    assert done.stderr.startswith("as_printed: ") and done.stderr.count("\n") == 1
