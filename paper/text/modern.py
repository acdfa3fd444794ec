"""What each idea of the variants for learners, modern/*, is worth, by modern.csv: for docs/modern.md."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import results as rs
import speedup
from results import Results, Series

FILE = "modern.csv"
SIZES = (2**12, 2**20, 2**28)
TYPES = ("f32", "i32")

# Each variant, with the setting that tells it apart, and the one that it is a step from.
FOUR = "modern/loads-in-flight loads=4"
STEPS = {
    "modern/shuffle": "",
    "modern/warp-reduce": "modern/shuffle",
    "modern/vector-loads": "modern/shuffle",
    **{f"modern/loads-in-flight loads={loads}": "modern/vector-loads" for loads in (1, 2, 4, 8)},
    "modern/cooperative": FOUR,
    "modern/fan-in": "modern/cooperative",
    "modern/packed-atomic": FOUR,
    "modern/cluster": FOUR,
    "modern/bulk-copy": FOUR,
    "tuned/sum": "cub/sum",
    "cub/sum": "",
}


@dataclass
class Step:
    series: Series
    setting: str                    # "loads=4"; "" where the variant has one launch
    before: str                     # its key in STEPS; "" where it is none
    gains: list[pd.Series | None]   # by SIZES: the speedup over what it is a step from, as a row of speedup.over()


def find(there: list[Series], name: str) -> Series | None:
    """The series of a key of STEPS, where any of its points was measured."""
    variant, _, setting = name.partition(" ")
    return next((s for s in there if s.variant == variant and len(s.ok) and
                 (not setting or setting in s.settings.split(";"))), None)


def steps(results: Results, element_type: str) -> list[Step]:
    """Those that were measured; none where the folder has no modern.csv."""
    path = results.folder / FILE
    if not path.exists():
        return []
    there = rs.series(rs.read_points(path), device="cuda", operation="sum", element_type=element_type, mode="device")
    found = []
    for name, before in STEPS.items():
        series, base = find(there, name), find(there, before) if before else None
        if series is not None:
            found.append(Step(series, name.partition(" ")[2], before,
                              [speedup.at(results, series, base, n) for n in SIZES]))
    return found
