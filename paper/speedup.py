"""Speedups of one call over another: t(base) / t, paired by round, with the interval that `reductio compare` gives. All
that figures and texts call a speedup is computed here.

The rule is the program's (src/measure/stats/ratio.h). In every round both calls ran within the same milliseconds, so
the ratio is the median over the rounds of log(t(base) / t). The rounds of one allocation are one cluster, and the
interval is made of the clusters' medians by order statistics. A test compares this file with the program.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache
from pathlib import Path
from statistics import median

import pandas as pd

import results as rs
from results import Results, Series

LEAST_CLUSTERS = 12
CONFIDENCE = 0.95
WHOLE = ("device", "end_to_end")  # ways of timing a whole reduction
COLUMNS = ["n", "ratio", "low", "high", "enough"]

# The rounds of two points are the same rounds if these agree: all but which call it is.
WHOSE = ("variant", "settings")
_GROUP = [i for i, column in enumerate(rs.SAMPLES_KEY) if column not in WHOSE]


def rank_of(count: int, confidence: float = CONFIDENCE) -> tuple[int, bool]:
    """k, such that the k-th smallest and the k-th largest of `count` values hold the median with this confidence, and
    whether they do: with too few values k is 1 and they do not."""
    def coverage(k: int) -> float:
        return 1 - 2 * sum(math.comb(count, i) for i in range(k)) * 0.5**count

    k = 1
    while 2 * (k + 1) <= count and coverage(k + 1) >= confidence:
        k += 1
    return k, coverage(k) >= confidence


def clusters_of(allocations: list[int], least: int = LEAST_CLUSTERS) -> list[slice]:
    """Rounds by cluster, of each round's allocation: a run of rounds on one allocation, cut into no more parts than it
    takes to come to `least` clusters."""
    runs: list[tuple[int, int]] = []
    start = 0
    for i in range(1, len(allocations) + 1):
        if i == len(allocations) or allocations[i] != allocations[start]:
            runs.append((start, i))
            start = i

    def cut(parts: int) -> list[slice]:
        out = []
        for low, high in runs:
            count = min(parts, high - low)
            out += [slice(low + p * (high - low) // count, low + (p + 1) * (high - low) // count) for p in range(count)]
        return out

    longest = max((high - low for low, high in runs), default=0)
    parts = 1
    while parts < longest and len(cut(parts)) < least:
        parts += 1
    return cut(parts)


def paired(base: list[float], times: list[float], allocations: list[int], base_resolution: float = 0,
           resolution: float = 0) -> tuple[float, float, float, bool]:
    """The ratio t(base) / t of times by round, its interval, and whether there are enough clusters for the confidence;
    without enough the interval is the clusters' range. No interval is narrower than the clocks' resolution."""
    logs = [math.log(b / t) for b, t in zip(base, times)]
    middles = sorted(median(logs[c]) for c in clusters_of(allocations))
    k, enough = rank_of(len(middles))
    middle = median(logs)
    low, high = min(middles[k - 1], middle), max(middles[-k], middle)
    least = base_resolution / median(base) + resolution / median(times)
    if high - low < least:
        low, high = min(low, middle - least / 2), max(high, middle + least / 2)
    return math.exp(middle), math.exp(low), math.exp(high), enough


@lru_cache(maxsize=8)
def _samples(path: Path, _changed: int) -> dict[tuple, pd.DataFrame]:
    wanted = {*rs.SAMPLES_KEY, "round", "allocation", "time_s", "device_part_s", "cycles", "voided"}
    words = {c: str for c in wanted - set(rs.SAMPLES.numbers)}
    empty = {c: [""] for c in wanted & set(rs.SAMPLES.numbers)}
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values=empty, dtype=words, usecols=lambda c: c in wanted)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise rs.ResultsError(f"{path} cannot be read as raw samples ({error}): copy the results folder again")
    missing = sorted(wanted - set(table) - set(rs.SAMPLES.optional))
    if missing:
        raise rs.ResultsError(f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: run the "
                              "experiment again with this revision")
    table = table.assign(**{c: "" for c in wanted - set(table)}).fillna({c: 0 for c in rs.SAMPLES.key if c in empty})
    # What is timed by cycles alone has no time.
    timed = (table["time_s"] > 0) | (table["time_s"].isna() & (table["cycles"] > 0))
    table = table[(table["voided"] != "yes") & timed].sort_values("round").set_index("round")
    return dict(iter(table.groupby(rs.SAMPLES_KEY, sort=False)[["allocation", "time_s", "device_part_s", "cycles"]]))


def samples_of(results: Results, experiment: str = "comparison") -> dict[tuple, pd.DataFrame]:
    """An experiment's raw samples by point, by rs.SAMPLES_KEY; empty without the file."""
    path = (results.cpu_folder if experiment == "cpu" else results.folder) / f"{experiment}.samples.csv.gz"
    return _samples(path, path.stat().st_mtime_ns) if path.exists() else {}


def over(results: Results, series: Series, base: Series) -> pd.DataFrame:
    """n, ratio, low, high, enough: the speedup of a series over the base's at every size where both were sampled in the
    same rounds.

    Where the folder holds no raw samples (see `are_paired`) or the two are timed in different ways, which are different
    rounds, the ratio of the medians, and the widest interval that theirs allow, which is conservative.
    """
    if series.measured_on != base.measured_on:
        return pd.DataFrame(columns=COLUMNS)
    both = series.ok.merge(base.ok, on="n", suffixes=("", "_base"))
    both = both[both["run_id"] == both["run_id_base"]]
    samples = samples_of(results, series.experiment)
    if not samples or series.mode != base.mode:
        return pd.DataFrame({"n": both["n"], "ratio": both["time_base"] / both["time"],
                             "low": both["low_base"] / both["high"], "high": both["high_base"] / both["low"],
                             "enough": True})
    time = {"device_part": "device_part_s", "clock": "cycles"}.get(series.mode, "time_s")
    found = []
    for point in both.itertuples():
        mine, theirs = samples.get(point.key), samples.get(point.key_base)
        if mine is None or theirs is None or any(point.key[i] != point.key_base[i] for i in _GROUP):
            continue
        common = theirs.join(mine, lsuffix="_base", how="inner").dropna(subset=[time, f"{time}_base"])
        if len(common):
            found.append((point.n, *paired(common[f"{time}_base"].tolist(), common[time].tolist(),
                                           common["allocation"].tolist(), point.resolution_base, point.resolution)))
    return pd.DataFrame(found, columns=COLUMNS)


def at(results: Results, series: Series, base: Series | None, n: int) -> pd.Series | None:
    """The speedup over the base's at one size, as a row of `over`; None where there is none."""
    found = over(results, series, base) if base is not None else pd.DataFrame(columns=COLUMNS)
    there = found[found["n"] == n]
    return there.iloc[0] if len(there) else None


def of_only_reading(base: Series) -> pd.DataFrame:
    """n, ratio: the speedup over the base's of only reading the same bytes, which the program paired by round."""
    known = base.ok[base.ok["share"] > 0]
    return pd.DataFrame({"n": known["n"], "ratio": 1 / known["share"]})


def are_paired(results: Results) -> bool:
    return bool(samples_of(results))


def fastest(found: list[Series], n: int) -> Series | None:
    return min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


def fastest_of_each(results: Results, element_type: str, n: int) -> list[tuple[str, Series, Series]]:
    """(group, series, base): of each document, of the user's own and of each other library the one that is fastest at
    n, timed on the device, or end to end where none of the group's calls ends there; over CUB's call, timed alike."""
    table, lines = results.comparison, []
    for group in [*rs.DOCUMENTS, rs.YOURS, "thrust", "cublas"]:
        own = rs.own_operation(table, group, results.catalog, element_type)
        for mode in WHOLE:
            found = rs.series(table, device="cuda", operation=own, element_type=element_type, mode=mode)
            best = fastest([s for s in found if rs.group_of(s.variant) == group], n)
            base = rs.base_series(found, own, best)
            if best is not None and base is not None:
                lines.append((group, best, base))
                break
    return lines
