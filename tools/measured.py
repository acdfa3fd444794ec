#!/usr/bin/env python3
"""Says what results folders hold: of each experiment how many points were measured, and what was left out and why.

    python tools/measured.py experiments/results/nvidia-h200
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "paper"))

from command_line import Parser, ResultsError, one_line  # noqa: E402


def count(points) -> str:
    return f"{len(points):,} point{'s' if len(points) != 1 else ''}"


def lines(folder: Path) -> list[str]:
    """A line for each experiment, and one for the sizes that were too large for it."""
    import results as rs

    out = []
    for name, path in rs.experiments_in(folder).items():
        points = rs.read_points(path)
        words = [f"{sum(points['status'] == status):,} {rs.STATUS_WORDS.get(status, status)}"
                 for status in rs.ROWS.words["status"] if status != "ok" and (points["status"] == status).any()]
        measured = points[points["status"] == "ok"]
        out.append(f"  {name}: {len(measured):,} of {count(points)} measured" + "".join(f", {w}" for w in words))
        lacking = points[points["status"] == "no_memory"]
        if len(lacking):
            largest = f", the largest measured has {int(measured['n'].max()):,}" if len(measured) else ""
            out.append(f"    too large for the memory here: {count(lacking)} of {int(lacking['n'].min()):,} elements and "
                       f"more{largest} ({lacking['reason'].iloc[0]})")
    return out or [f"  {folder} holds no experiment"]


@one_line("measured.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a results folder")
    for folder in dict.fromkeys(parser.parse_args(arguments).folders):
        if not folder.is_dir():
            raise ResultsError(f"{folder} is not a folder: name a results folder")
        print("\n".join([f"{folder}:", *lines(folder)]))


if __name__ == "__main__":
    sys.exit(main())
