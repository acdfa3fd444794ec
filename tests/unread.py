"""What a script prints where nobody reads: behind `| head`, once that has its lines."""

import os
import subprocess
import sys


def run(*command, at_once: bool = True) -> subprocess.CompletedProcess:
    """Runs a script whose standard output is a pipe that is closed at its other end; what it prints is written
    `at_once`, as where that is much, or when it ends."""
    reader, out = os.pipe()
    os.close(reader)
    try:
        return subprocess.run([sys.executable, *map(str, command)], stdout=out, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"PYTHONUNBUFFERED": "1" if at_once else ""})
    finally:
        os.close(out)
