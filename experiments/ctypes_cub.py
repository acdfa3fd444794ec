#!/usr/bin/env python3
"""Does Python change a kernel's time? CUB called by ctypes beside cub/sum, and its calls beside those from C.

    PYTHONPATH=build/python python3 experiments/ctypes_cub.py FOLDER [--library build/bin/cub_by_c.so] [--gpu INDEX|UUID]

FOLDER/ctypes-agreement.csv gets three comparisons: kernels replayed, kernels in graphs, and calls until the result is on
the host. The library (baselines/cub_by_c.cu) is also the plug-in plug/cub. To `python -m reductio` this file is a
plug-in with ctypes/cub, which docs/peers.md names.
Exit code: 0 compared, 1 not.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
from report.command_line import Parser  # noqa: E402

LIBRARY = "REDUCTIO_CUB_BY_C"  # the environment's name for its path


def comparisons(library: str) -> list:
    kernels = ["cub/sum", __file__, "--sizes", "2^10,2^14,2^18,2^20,2^22,2^24,2^26"]
    return [[*kernels, "--modes", "replay", "--contexts", "120"],
            [*kernels, "--modes", "graph", "--cache", "warm", "--contexts", "80"],
            ["plug/cub", __file__, "--plugin", library, "--sizes", "2^10,2^16,2^20,2^24", "--modes", "end_to_end",
             "--contexts", "60"]]


def main() -> int:
    parser = Parser(prog="ctypes_cub.py", description="CUB called by ctypes beside CUB called from C++")
    parser.add_argument("folder", type=Path, help="a machine's results folder")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "bin" / "cub_by_c.so")
    parser.add_argument("--gpu", default="", help="as in reductio --gpu")
    options = parser.parse_args()
    library = str(options.library.resolve())
    os.environ[LIBRARY] = library
    reductio, gpu = [sys.executable, "-m", "reductio"], ["--gpu", options.gpu] if options.gpu else []
    lines = []
    try:
        for words in comparisons(library):
            table = subprocess.run([*reductio, "compare", *words, "--types", "f32", "--csv", *gpu], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.splitlines(keepends=True)
            lines += table[1:] if lines else table
        path = options.folder / "ctypes-agreement.csv"
        path.write_text("".join(lines))
        subprocess.run([*reductio, "record", path, "--tool", "compare", *gpu], check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as failed:
        print(f"ctypes_cub.py: {failed}", file=sys.stderr)
        return 1
    print(f"{len(lines) - 1} comparisons; {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

import reductio  # noqa: E402

cub_sum = ctypes.CDLL(os.environ[LIBRARY]).cub_sum
cub_sum.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int, ctypes.c_void_p]


def room(problem):
    size = ctypes.c_size_t()
    cub_sum(None, ctypes.byref(size), None, None, problem.n, None)
    return size.value


@reductio.variant("ctypes/cub", types=["f32"], arrays="reductio", prepared=True, workspace=room)
def by_ctypes(problem):
    size = ctypes.c_size_t(len(problem.workspace))

    def call(x, out, stream):
        if error := cub_sum(problem.workspace.pointer, ctypes.byref(size), x.pointer, out.pointer, problem.n, stream):
            raise RuntimeError(f"CUB's sum: CUDA error {error}")
    return call
