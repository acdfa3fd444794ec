"""Where the project that is tested lies."""

import functools
import json
import os
import subprocess
from pathlib import Path

SOURCE = Path(os.environ.get("REDUCTIO_SOURCE_DIR", Path(__file__).resolve().parents[1]))

BIN = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))


def judge(folder: Path, *options) -> Path:
    """Writes verdicts.csv and goals.csv, by the contrasts.csv that the folder has."""
    done = subprocess.run([BIN, "summarize", folder.resolve(), "--judge", "--quiet", *map(str, options)], cwd=SOURCE,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@functools.cache
def optimises_little(nvcc: str) -> tuple[str, ...]:
    """Flags with which this nvcc compiles in half of the time: warnings and errors are the same, the code is slower. None
    where a GPU runs what is compiled, which then is what users run, and none where nvcc has no such flag."""
    if Path("/dev/nvidiactl").exists():
        return ()
    known = subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout
    return ("--Ofast-compile=max",) if "--Ofast-compile" in known else ()


def forget_hashes(folder: Path) -> None:
    """Takes the SHA-256 of its files out of a results folder's machine.json: they may then be edited."""
    path = folder / "machine.json"
    machine = json.loads(path.read_text())
    for run in [*machine["runs"], *machine.get("tools", [])]:
        run.pop("sha256", None)
    path.write_text(json.dumps(machine))
