"""Nothing unfinished and nothing of one machine is left in the project's text."""

import pathlib
import re

from source import files

FORBIDDEN = {
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b": "finish it, or file it where the project keeps its issues",
    r"(?<![\w.}~-])/(home|Users|root|work|tmp|mnt)/": "a path of one machine",
}


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    for path in files(root, "*"):
        if path.suffix in {".csv", ".gz", ".png", ".pdf"}:
            continue
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            problems.append(f"{path.relative_to(root)}: not UTF-8 text")
            continue
        for number, line in enumerate(lines, 1):
            for pattern, why in FORBIDDEN.items():
                if match := re.search(pattern, line):
                    problems.append(f"{path.relative_to(root)}:{number}: {match.group()}: {why}")
    return problems


# Written in two pieces, so that this file passes its own lint.
PLANTED = [
    {"src/core/a.h": "// TO" "DO later\n"},
    {"README.md": "FIX" "ME\n"},
    {"paper/main.tex": "see XX" "X\n"},
    {"check": "cd /wo" "rk/main\n"},
    {"experiments/results/x/machine.json": '{"argv": ["/ho' 'me/someone/x"]}\n'},
    {"src/core/a.h": b"\xff\xfe"},
]
CLEAN = [
    {"README.md": "/usr/local/cuda/bin/nvcc, https://example.org/work/tmp/x, out/work/x\n"},
    {"build/x.txt": "TO" "DO\n"},
]
