#!/usr/bin/env python3
"""Says from autotune.csv which launch of tuned is the fastest for how many bytes, as rows of src/tuned/launch_table.h, and
what the table of the measured program loses to the fastest; and which policy of CUB's sum is the fastest of each element type, for
baselines/cub_tuned.cu.

    python experiments/autotune.py experiments/results/nvidia-h200

Cold calls and calls in a graph count alike: a launch's time at so many bytes is the geometric mean of its times in both,
and of all element types that share a table: i32 has one, since it finishes by a packed atomic, f32 and f64 the other. A
row of the table goes on as long as its launch loses no more than SLACK to the fastest. CUB has one policy for all n: the
one with the least geometric mean of times, over the sizes and ways that all policies were measured at.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from report import results as rs  # noqa: E402
from report import tables as tb  # noqa: E402
from report.command_line import Parser, one_line  # noqa: E402

VARIANT, CUB, CUB_TUNED = "tuned/sum", "cub/sum", "cub/sum-tuned"
TABLES = {"one_word_table": ("i32",), "words_table": ("f32", "f64")}
AUTO = "auto"    # the reading of the launch that the committed table chooses
SLACK = 0.005    # about what a time differs by from run to run
KEYS = ("reading", "vectors", "per-sm", "kept")  # in the order of a table's row
ALL = "all"      # of the input is to stay in L2


@dataclass(frozen=True)
class Launch:
    reading: str
    vectors: int
    per_sm: int
    kept: str = ALL  # or MiB

    def row(self, up_to: int | None) -> str:
        """As src/tuned/launch_table.h has it; without a size the last one."""
        size = "SIZE_MAX" if up_to is None else in_bytes(up_to, " * ")
        kept = "" if self.kept == ALL else ", 0" if self.kept == "0" else f", {self.kept} * MiB"
        return f"{{{size}, Reading::{self.reading}, {self.vectors}, {self.per_sm}{kept}}},"

    def words(self) -> str:
        kept = "" if self.kept == ALL else f", kept={self.kept} MiB"
        return f"{self.reading}, vectors={self.vectors}, per-sm={self.per_sm}{kept}"


@dataclass(frozen=True)
class Size:
    """What was measured at so many bytes."""

    bytes: int
    times: dict[Launch, float]  # geometric means, in seconds
    auto: float | None          # that of the launch that the table chooses

    @property
    def best(self) -> Launch:
        return min(self.times, key=self.times.get)

    def loss(self, time: float) -> float:
        """What a time loses to the fastest: 0.02 for 2 %."""
        return time / self.times[self.best] - 1


def in_bytes(size: int, times: str = " ") -> str:
    """"16 KiB", "2 MiB"; as C++ "16 * KiB"."""
    unit, name = (2**20, "MiB") if size >= 2**20 else (2**10, "KiB")
    return f"{size // unit}{times}{name}"


def points_of(folder: Path, types: tuple[str, ...]) -> tuple[Path, pd.DataFrame]:
    path = tb.stored(folder / "autotune.csv")
    if not path.exists():
        raise rs.ResultsError(f"{folder} has no autotune.csv: run `reductio run autotune` and name its folder")
    table = rs.read_points(path)
    return path, table[(table["status"] == "ok") & table["element_type"].isin(types)]


def policies(folder: Path, element_type: str) -> dict[str, float]:
    """Of an element type CUB's policies, the fastest first, each with the speedup of its call over cub/sum's: geometric
    means over the sizes and ways that all were measured at. Last `auto`, which is one of the others again: what the
    measured program passed. Empty where there is nothing to choose from, since the program was built without them."""
    _, table = points_of(folder, (element_type,))
    table = table[table["variant"].isin([CUB, CUB_TUNED])]
    names = table["settings"].map(lambda s: rs.parse_settings(s).get("policy", "")).where(table["variant"] == CUB_TUNED, CUB)
    times = table.assign(name=names).pivot_table("time_median_s", ["n", "timing_mode", "cache_state"], "name").dropna()
    if CUB not in times or not len(times) or not set(times) - {CUB, AUTO}:
        return {}
    gains = np.exp(np.log(times).rsub(np.log(times[CUB]), axis=0).mean()).drop(CUB)
    return gains.sort_values(ascending=False).sort_index(key=lambda names: names == AUTO, kind="stable").to_dict()


def sizes_of(folder: Path, types: tuple[str, ...]) -> list[Size]:
    """By bytes. Launches that were not measured in all ways in which others were are left out."""
    path, table = points_of(folder, types)
    table = table[table["variant"] == VARIANT]
    settings = table["settings"].map(rs.parse_settings)
    missing = [key for key in KEYS if not settings.map(lambda s: key in s).all()]
    if missing:
        raise rs.ResultsError(f"{path} has rows of {VARIANT} without the setting {missing[0]}: {tb.remedy(path)}")
    table = table.assign(**{key: settings.map(lambda s, key=key: s[key]) for key in KEYS})
    measured = []
    for size, at in table.groupby("bytes"):
        ways = at.groupby(["element_type", "timing_mode", "cache_state"]).ngroups
        means = {tuple(choice): float(np.exp(np.log(rows["time_median_s"]).mean()))
                 for choice, rows in at.groupby(list(KEYS)) if len(rows) == ways}
        times = {Launch(r, int(v), int(p), k): t for (r, v, p, k), t in means.items() if r != AUTO}
        if times:
            measured.append(Size(int(size), times, next((t for (r, *_), t in means.items() if r == AUTO), None)))
    if not measured:
        raise rs.ResultsError(f"{path} has no times of {VARIANT} in {' and '.join(types)}: {tb.remedy(path)}")
    return measured


def chosen(sizes: list[Size]) -> list[tuple[int, Launch]]:
    """The table's rows, each up to so many bytes: of the launches that lose no more than SLACK the one that does so for
    the most sizes to come, and of several such the fastest here."""
    rows: list[tuple[int, Launch]] = []
    at = 0
    while at < len(sizes):
        def reach(launch: Launch) -> int:
            end = at
            while end < len(sizes) and launch in sizes[end].times and sizes[end].loss(sizes[end].times[launch]) <= SLACK:
                end += 1
            return end

        here = sizes[at].times
        launch = max(here, key=lambda l: (reach(l), -here[l]))
        at = reach(launch)
        rows.append((sizes[at - 1].bytes, launch))
    return rows


def code(sizes: list[Size]) -> list[str]:
    rows = chosen(sizes)
    return [launch.row(up_to if k + 1 < len(rows) else None) for k, (up_to, launch) in enumerate(rows)]


def losses(sizes: list[Size]) -> list[tuple[str, str, str, str]]:
    """Of each size: the fastest launch, its time in us, and what the table of the measured program loses to it."""
    return [(in_bytes(s.bytes), s.best.words(), f"{1e6 * s.times[s.best]:.2f}",
             "" if s.auto is None else f"{100 * s.loss(s.auto):.1f} %") for s in sizes]


@one_line("autotune.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="autotune.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="results folder with autotune.csv")
    options = parser.parse_args(arguments)
    for name, types in TABLES.items():
        sizes = sizes_of(options.folder, types)
        print(f"inline constexpr LaunchRow {name}[] = {{")
        print("\n".join(f"    {row}" for row in code(sizes)))
        print("};\n")
        for fields in losses(sizes):
            print("  {:>9}  {:40} {:>10} us  {:>8}".format(*fields))
        print()
        for element_type in types:
            for policy, gain in policies(options.folder, element_type).items():
                print(f"  {element_type}: {CUB_TUNED} {policy:10} {gain:.3f} times as fast as {CUB}")


if __name__ == "__main__":
    sys.exit(main())
