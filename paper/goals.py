#!/usr/bin/env python3
"""Judges the goals that were set for the project's own reduction by a results folder: goals.csv.

    python paper/goals.py experiments/results/nvidia-h200

By the rows and raw samples of the experiments `tuned` and `narrow`. The speedup over CUB is that of paper/speedup.py. A
point is slower where its interval lies below 1 / (1 + EFFECT), undecided where the interval reaches across an end of what
lies within EFFECT of 1, as `reductio compare` says it; all intervals of one goal hold at once with 95 % (Bonferroni).

All other demands are judged by estimates, as the goals were set. An extreme has beside it the interval of the point that it
is of: where the goal is about slower points that by which they are judged, else 95 %, of a share or an excess that of the
call's own time. It says nothing of which point would be the extreme in another run.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "paper"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import results as rs  # noqa: E402
import speedup  # noqa: E402
from command_line import Parser  # noqa: E402

EFFECT = 0.01
TOGETHER = 0.95
SUM, TO_HOST = "tuned/sum", "tuned/sum-to-host"
CUB, CUB_TUNED, CUB_MOMENTS, THRUST = "cub/sum", "cub/sum-tuned", "cub/moments", "thrust/reduce"
TYPES = ("i32", "f32", "f64")
NARROW = ("i8", "f16", "bf16")
COLD = (("device", "cold_dirty"), ("device", "cold_clean"))
WAYS = (*COLD, ("device", "warm"), ("graph", "warm"))
# Numbers of elements of which tuned.csv asks whether one more or one less, than a power of two, is slower.
RAGGED = {2**k + d for k in range(10, 31) for d in (-1, 1)}

MET, MISSED, ABSENT = "met", "missed", "not measured"


@dataclass(frozen=True)
class Quantity:
    words: str
    of: Callable[[pd.DataFrame], tuple[float, int | None]]  # of points; also which of them it is of, where it is of one
    at_least: bool = True                                   # what is demanded of it; False: at most
    ends: tuple[str, str] | None = None                     # the points' columns that hold its interval, where it is of one


def geometric(column: str):
    def of(points: pd.DataFrame):
        known = points[column].dropna().astype(float)
        return (float(np.exp(np.log(known).mean())) if len(known) else math.nan), None
    return of


def extreme(column: str, greatest: bool = False):
    def of(points: pd.DataFrame):
        known = points[column].dropna().astype(float)
        if not len(known):
            return math.nan, None
        where = known.idxmax() if greatest else known.idxmin()
        return float(known[where]), where
    return of


def with_verdict(verdict: str, share: bool):
    """How many of the points, or which share; not known without verdicts (see parts_of)."""
    def of(points: pd.DataFrame):
        if "verdict" not in points:
            return math.nan, None
        having = points["verdict"] == verdict
        return float(having.mean() if share else having.sum()), None
    return of


def may_be_slower(points: pd.DataFrame):
    """Which share of the points may be slower: an interval that is undecided between as fast and faster shows that they
    are not."""
    if "verdict" not in points:
        return math.nan, None
    return float((~points["enough"].astype(bool) | (points["low"] < 1 / (1 + EFFECT))).mean()), None


QUANTITIES = {
    "speedup": Quantity("speedup, geometric mean", geometric("ratio")),
    "least_speedup": Quantity("least speedup", extreme("ratio"), ends=("low", "high")),
    "slower": Quantity("points slower", with_verdict("slower", share=False), at_least=False),
    "undecided": Quantity("share of points undecided", with_verdict("undecided", share=True), at_least=False),
    "may_be_slower": Quantity("share of points that may be slower", may_be_slower, at_least=False),
    "ceiling": Quantity("share of the read ceiling, geometric mean", geometric("share")),
    "least_ceiling": Quantity("least share of the read ceiling", extreme("share"), ends=("share_low", "share_high")),
    "over_empty_s": Quantity("most seconds above an empty call that is polled for", extreme("over_empty_s", greatest=True),
                             at_least=False, ends=("over_low_s", "over_high_s")),
}


@dataclass(frozen=True)
class Part:
    """Points of one element type, timed in one way."""

    element_type: str
    timing_mode: str
    cache_state: str
    starts: str           # "aligned", "off by one", of a number of elements near a power of two "2^k +- 1"
    points: pd.DataFrame  # n, ratio, low, high, enough, share with its ends; verdict once a goal has them


@dataclass(frozen=True)
class Goal:
    key: str
    words: str
    parts: Callable[[Folder, float], list[Part]]  # their intervals of that confidence
    demands: dict[str, float]                     # by quantity
    reported: tuple[str, ...] = ()                # quantities beside those
    each: bool = False                            # whether each part has rows of its own, in which nothing is demanded


@dataclass
class Row:
    """A line of goals.csv: one quantity of one goal, over all points or over those of a part."""

    goal: str
    quantity: str
    element_type: str
    timing_mode: str
    cache_state: str
    starts: str
    points: int
    demanded: float | None
    measured: float
    at_part: str = ""
    at_n: int | None = None
    verdict: str = ""  # empty where nothing is demanded
    low: float = math.nan  # the interval of the point that an extreme is of
    high: float = math.nan

    @property
    def reaches_across(self) -> bool:
        """Whether what is demanded lies inside that interval, so that the estimate alone decides."""
        return self.demanded is not None and self.low < self.demanded < self.high


class Folder:
    """The rows of a results folder that goals are judged by, each CSV read once."""

    def __init__(self, path: Path):
        self.path = path
        self.machine = rs.read_machine(path / "machine.json", path.resolve().name)
        self.results = rs.Results(path)
        self._series: dict[tuple, rs.Series | None] = {}
        self._over: dict[tuple, pd.DataFrame] = {}

    def table(self, experiment: str) -> pd.DataFrame | None:
        return self.results.experiment(experiment)

    def series(self, experiment: str, variant: str, element_type: str, way: tuple[str, str], offset: int = 0,
               operation: str = "sum", **settings: str) -> rs.Series | None:
        """The one series that was measured so; None without it."""
        key = (experiment, variant, element_type, way, offset, operation, *settings.items())
        if key not in self._series:
            self._series[key] = self._find(*key[:6], settings)
        return self._series[key]

    def _find(self, experiment: str, variant: str, element_type: str, way: tuple[str, str], offset: int, operation: str,
              settings: dict[str, str]) -> rs.Series | None:
        table = self.table(experiment)
        if table is None:
            return None
        found = [s for s in rs.series(table, device="cuda", operation=operation, element_type=element_type, mode=way[0],
                                      cache_state=way[1], offset_elements=offset)
                 if s.variant == variant and len(s.ok) and settings.items() <= rs.parse_settings(s.settings).items()]
        if len(found) > 1:
            raise rs.ResultsError(f"{self.path / experiment}.csv has {len(found)} series of {variant} in {element_type}, timed "
                                  f"{' '.join(way)}, where one is wanted: run {experiment} without other settings")
        return found[0] if found else None

    def over(self, mine: rs.Series | None, base: rs.Series | None, confidence: float) -> pd.DataFrame:
        """n, ratio, low, high, enough, share and its ends: of the points that both have."""
        if mine is None or base is None:
            return pd.DataFrame(columns=[*speedup.COLUMNS, "share", "share_low", "share_high"])
        key = (mine, base, confidence)
        if key not in self._over:
            shares = pd.DataFrame({"n": mine.ok["n"], "share": mine.ok["share"],
                                   "share_low": mine.ok["share"] * mine.ok["time"] / mine.ok["high"],
                                   "share_high": mine.ok["share"] * mine.ok["time"] / mine.ok["low"]})
            self._over[key] = speedup.over(self.results, mine, base, confidence).merge(shares, on="n")
        return self._over[key]

    def beside(self, experiment: str = "tuned") -> list[Folder]:
        """Other GPUs' folders that have that experiment."""
        others = [p for p in sorted(self.path.resolve().parent.iterdir()) if (p / f"{experiment}.csv").exists()]
        found = [Folder(p) for p in others if p != self.path.resolve()]
        return [f for f in found if f.machine.get("gpu.name") not in (None, self.machine.get("gpu.name"))]


def part(folder: Folder, element_type: str, way: tuple[str, str], starts: str, *, experiment: str = "tuned", base: str = CUB,
         operation: str = "sum", has=lambda n: True, confidence: float = TOGETHER) -> Part:
    """tuned/sum over CUB's call at those sizes of an experiment."""
    offset = 1 if starts == "off by one" else 0
    both = [folder.series(experiment, v, element_type, way, offset, operation, **s)
            for v, s in ((SUM, {"reading": "auto"}), (base, {}))]
    points = folder.over(*both, confidence)
    return Part(element_type, *way, starts, points[[bool(has(int(n))) for n in points["n"]]].reset_index(drop=True))


def not_ragged(n: int) -> bool:
    return n not in RAGGED


def sums(ways, least_n: int = 0, base: str = CUB):
    return lambda folder, confidence: [part(folder, t, way, "aligned", base=base, confidence=confidence,
                                            has=lambda n: not_ragged(n) and n >= least_n) for way in ways for t in TYPES]


def ragged(folder: Folder, confidence: float) -> list[Part]:
    return [part(folder, t, COLD[0], starts, has=has, confidence=confidence)
            for starts, has in (("2^k +- 1", lambda n: n in RAGGED), ("off by one", not_ragged)) for t in TYPES]


def narrow(least_n: int = 0, operation: str = "sum", types=NARROW, base: str = CUB):
    return lambda folder, confidence: [
        part(folder, t, COLD[0], "aligned", experiment="narrow", operation=operation, base=base, has=lambda n: n >= least_n,
             confidence=confidence) for t in types]


def to_host(low: int, high: int, bases):
    """tuned/sum-to-host end to end, over the quickest of the bases at each size."""
    def parts(folder: Folder, confidence: float) -> list[Part]:
        found = []
        for t in TYPES:
            way = ("end_to_end", COLD[0][1])
            mine = folder.series("tuned", TO_HOST, t, way)
            of = [folder.over(mine, folder.series("tuned", variant, t, way, **settings), confidence)
                  for variant, settings in bases]
            # Where one of them was not measured there is no quickest.
            sizes = {n for n in set.intersection(*(set(o["n"]) for o in of)) if low <= n <= high}
            each = [o[o["n"] == n] for n in sorted(sizes) for o in of]
            points = pd.concat(each, ignore_index=True) if each else of[0].iloc[:0]
            found.append(Part(t, *way, "aligned", points.loc[points.groupby("n")["ratio"].idxmin()].reset_index(drop=True)))
        return found
    return parts


def above_empty(folder: Folder, _confidence: float) -> list[Part]:
    """Below 2^14, how much longer tuned/sum-to-host takes than an empty call that the host polls for as it does. No points
    where that was not measured."""
    found = []
    for t in TYPES:
        way = ("end_to_end", COLD[0][1])
        mine, table = folder.series("tuned", TO_HOST, t, way), folder.table("tuned")
        points = pd.DataFrame(columns=["n", "over_empty_s"])
        if mine is not None:
            rows = table[(table["variant"] == TO_HOST) & (table["element_type"] == t) & (table["timing_mode"] == way[0])
                         & (table["cache_state"] == way[1]) & (table["offset_elements"] == 0) & (table["status"] == "ok")]
            both = mine.ok.merge(rows[["n", "polled_launch_floor_s"]].dropna(), on="n")
            both = both[both["n"] < 2**14].reset_index(drop=True)
            points = pd.DataFrame({"n": both["n"], **{column: both[of] - both["polled_launch_floor_s"] for column, of in (
                ("over_empty_s", "time"), ("over_low_s", "low"), ("over_high_s", "high"))}})
        found.append(Part(t, *way, "aligned", points))
    return found


def elsewhere(ways):
    return lambda folder, confidence: [p for other in folder.beside() for p in sums(ways)(other, confidence)]


DEFAULT_THRUST = ((THRUST, {"allocator": "default"}),)
LARGEST_TO_HOST = 2**18
OTHERS = ((THRUST, {"allocator": "caching"}), (CUB, {}))
NEVER_SLOWER = {"slower": 0, "least_speedup": 0.99, "undecided": 0.05}

GOALS = (
    Goal("sums", "i32, f32 and f64, 2^10 to 2^30, in every state of the cache and in graphs: no point slower than CUB",
         sums(WAYS), NEVER_SLOWER, ("may_be_slower", "speedup", "ceiling"), each=True),
    Goal("cold", "the same, cold: near the read ceiling", sums(COLD), {"ceiling": 0.95}, ("speedup",)),
    Goal("graph", "the same, in a graph: faster than CUB", sums(WAYS[3:]), {"speedup": 1.25}),
    Goal("ragged", "2^k + 1 and 2^k - 1 elements, and starts off alignment by one: faster than CUB", ragged,
         {**NEVER_SLOWER, "speedup": 1.35}, ("may_be_slower", "ceiling"), each=True),
    Goal("large", "from 2^28 elements on: at the read ceiling", sums(WAYS[:3], 2**28), {"least_ceiling": 0.99},
         ("ceiling",), each=True),
    Goal("narrow", "i8, f16 and bf16, 2^10 to 2^31: no point slower than CUB", narrow(), NEVER_SLOWER,
         ("may_be_slower", "speedup"), each=True),
    Goal("narrow-large", "the same from 2^30 on: near the read ceiling", narrow(2**30), {"least_ceiling": 0.95},
         ("ceiling",), each=True),
    Goal("moments", "moments from 2^26 on: faster than two calls of CUB",
         narrow(2**26, "moments", (*NARROW, "f32"), CUB_MOMENTS), {"least_speedup": 1.9}, ("speedup",), each=True),
    Goal("host-thrust", "to the host, 2^14 to 2^18: faster than thrust::reduce as users call it",
         to_host(2**14, LARGEST_TO_HOST, DEFAULT_THRUST), {"least_speedup": 3}, ("speedup",), each=True),
    Goal("host-others", "to the host, up to 2^18: faster than thrust::reduce with a caching allocator and CUB",
         to_host(0, LARGEST_TO_HOST, OTHERS), {"least_speedup": 1.4}, ("speedup",), each=True),
    Goal("host-empty", "to the host, below 2^14: near an empty launch that is awaited likewise", above_empty,
         {"over_empty_s": 1.5e-6}, each=True),
    Goal("elsewhere-cold", "on another GPU, untouched, cold: faster than CUB", elsewhere(COLD),
         {"speedup": 1.22, "least_speedup": 0.98}),
    Goal("elsewhere-graph", "on another GPU, untouched, in a graph: faster than CUB", elsewhere(WAYS[3:]),
         {"speedup": 1.15, "least_speedup": 0.98}),
)
# Nothing is demanded of it: the same over CUB by the policy of cub/sum-tuned.
OVER_CUB_TUNED = Goal("cub-tuned", "over cub/sum-tuned, CUB's sum by another policy than its own", sums(WAYS, base=CUB_TUNED), {},
                     ("speedup", "least_speedup"), each=True)


# ------------------------------------------------------------------------------------------------ judging


def verdict_on(point) -> str:
    """As `reductio compare`: faster, slower, same or undecided by EFFECT."""
    if not point.enough:
        return "undecided"
    if point.low > 1 + EFFECT:
        return "faster"
    if point.high < 1 / (1 + EFFECT):
        return "slower"
    return "same" if point.low >= 1 / (1 + EFFECT) and point.high <= 1 + EFFECT else "undecided"


def parts_of(folder: Folder, goal: Goal) -> list[Part]:
    """The goal's parts with points; where slower ones are asked for each point with its verdict, whose intervals hold all
    at once. Without raw samples there are no verdicts."""
    parts = [p for p in goal.parts(folder, TOGETHER) if len(p.points)]
    if "slower" not in goal.demands:
        return parts
    count = sum(len(p.points) for p in parts)
    wide = [p for p in goal.parts(folder, 1 - (1 - TOGETHER) / max(count, 1)) if len(p.points)]
    if not any(p.points["enough"].any() for p in wide):
        return parts
    for p in wide:
        p.points["verdict"] = [verdict_on(point) for point in p.points.itertuples()]
    return wide


def rows_of(folder: Folder, goal: Goal) -> list[Row]:
    """First those over all points, then of each part."""
    parts = parts_of(folder, goal)
    names = [" ".join((p.element_type, p.timing_mode, p.cache_state, *([p.starts] if p.starts != "aligned" else [])))
             for p in parts]
    whole = pd.concat([p.points.assign(part=name) for p, name in zip(parts, names)],
                      ignore_index=True) if parts else pd.DataFrame()
    rows = []
    for key in (*goal.demands, *goal.reported):
        quantity, demanded = QUANTITIES[key], goal.demands.get(key)
        value, where = quantity.of(whole) if parts else (math.nan, None)
        row = Row(goal.key, key, "all", "all", "all", "all", len(whole), demanded, value)
        if where is not None:
            row.at_part, row.at_n = whole["part"][where], int(whole["n"][where])
            row.low, row.high = ends_of(quantity, whole, where)
        if demanded is not None:
            row.verdict = (ABSENT if math.isnan(value) else
                           MET if (value >= demanded if quantity.at_least else value <= demanded) else MISSED)
        rows.append(row)
    if goal.each:
        for p in parts:
            for key in (*goal.demands, *goal.reported):
                value, where = QUANTITIES[key].of(p.points)
                ends = (math.nan, math.nan) if where is None else ends_of(QUANTITIES[key], p.points, where)
                rows.append(Row(goal.key, key, p.element_type, p.timing_mode, p.cache_state, p.starts, len(p.points), None,
                                value, "", None if where is None else int(p.points["n"][where]), "", *ends))
    return rows


def ends_of(quantity: Quantity, points: pd.DataFrame, where: int) -> tuple[float, float]:
    """The interval of the point that an extreme is of; NaN where it has none."""
    if quantity.ends is None or not points.get("enough", pd.Series(True, points.index))[where]:
        return math.nan, math.nan
    low, high = (float(points[column][where]) for column in quantity.ends)
    return low, high


def judged(path: Path) -> list[Row]:
    """All rows of a folder."""
    folder = Folder(path)
    if folder.table("tuned") is None:
        raise rs.ResultsError(f"{path} has no tuned.csv: run `reductio run tuned` and name the folder that it writes to")
    rows = [row for goal in GOALS for row in rows_of(folder, goal)]
    return rows + (rows_of(folder, OVER_CUB_TUNED) if (folder.table("tuned")["variant"] == CUB_TUNED).any() else [])


def read(folder: Path) -> list[Row]:
    """goals.csv as it was written; none without it, or without the rows that it is judged by."""
    path = folder / "goals.csv"
    if not path.exists() or not (folder / "tuned.csv").exists():
        return []
    table = rs.read_table(path, rs.Columns(list(Row.__dataclass_fields__), ["points", "demanded", "measured", "at_n", "low", "high"]))
    strange = (set(table["goal"]) - {OVER_CUB_TUNED.key}) ^ {goal.key for goal in GOALS} | set(table["quantity"]) - set(QUANTITIES)
    if strange:
        raise rs.ResultsError(f"{path} is of other goals ({', '.join(sorted(strange))}): {rs.remedy(path)}")
    return [Row(**{**row, "points": int(row["points"]), "demanded": None if pd.isna(row["demanded"]) else row["demanded"],
                   "at_n": None if pd.isna(row["at_n"]) else int(row["at_n"])})
            for row in table[list(Row.__dataclass_fields__)].to_dict("records")]


def verdict_of(rows, goal: Goal) -> str:
    """Met if all that the goal demands is."""
    found = [r.verdict for r in rows if r.goal == goal.key and r.verdict]
    return MISSED if MISSED in found else MET if found and set(found) == {MET} else ABSENT


def reach_of(rows, goal: Goal) -> bool:
    """Whether an interval reaches across what the goal demands and so leaves its verdict to the estimate: where it is met,
    that of some extreme; where it is missed, those of all that miss it."""
    found = [r for r in rows if r.goal == goal.key and r.verdict]
    missed = [r for r in found if r.verdict == MISSED]
    return all(r.reaches_across for r in missed) if missed else any(r.reaches_across for r in found)


def text_of(rows) -> list[list[str]]:
    def shown(value) -> str:
        if value is None or isinstance(value, float) and math.isnan(value):
            return ""
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    columns = list(Row.__dataclass_fields__)
    return [columns, *([shown(getattr(r, c)) for c in columns] for r in rows)]


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(prog="goals.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="results folder to judge by; goals.csv is written into it")
    options = parser.parse_args(arguments)
    try:
        if not options.folder.is_dir():
            raise rs.ResultsError(f"{options.folder} is not a folder: name a results folder")
        rows = judged(options.folder)
        with (options.folder / "goals.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(text_of(rows))
    except OSError as error:
        print(f"goals.py: error: {options.folder}/goals.csv cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    except rs.ResultsError as error:
        print(f"goals.py: error: {error}", file=sys.stderr)
        return 1
    for goal in GOALS:
        print(f"{verdict_of(rows, goal):>13}  {goal.words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
