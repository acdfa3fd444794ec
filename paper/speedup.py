"""Speedups over the library's call: t(CUB) / t, paired by round, with the interval that `reductio compare` gives.

The rule is the program's (src/measure/stats/ratio.h). In every round both calls ran within the same milliseconds, so
the ratio is the median over the rounds of log(t(CUB) / t). The rounds of one allocation are one cluster, and the
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

# What the samples of one point share.
KEY = ["run_id", "device", "variant", "settings", "operation", "element_type", "n", "seed", "timing_mode", "cache_state"]


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


@lru_cache(maxsize=4)
def _samples(path: Path, _changed: int) -> dict[tuple, pd.DataFrame]:
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values={"time_s": [""]}, dtype={"settings": str},
                            usecols=[*KEY, "offset_elements", "dataset", "round", "allocation", "time_s", "voided"])
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise rs.ResultsError(f"{path} cannot be read as raw samples ({error}): copy the results folder again")
    table = table[(table["voided"] != "yes") & (table["time_s"] > 0) & (table["offset_elements"] == 0)
                  & table["dataset"].isin(["random", ""])]
    return {key: rounds.set_index("round")[["allocation", "time_s"]].sort_index() for key, rounds in table.groupby(KEY)}


def samples_of(results: Results) -> dict[tuple, pd.DataFrame]:
    """The comparison's raw samples by point, by KEY; empty without the file."""
    path = results.folder / "comparison.samples.csv.gz"
    return _samples(path, path.stat().st_mtime_ns) if path.exists() else {}


def over(results: Results, series: Series, base: Series) -> pd.DataFrame:
    """n, ratio, low, high, enough: the speedup of a series over the base's at every size where both have samples.

    Where the folder holds no raw samples (see `are_paired`), the ratio of the medians, and the widest interval that
    theirs allow, which is conservative.
    """
    samples = samples_of(results)
    if not samples or series.mode not in rs.TIMED_MODES:
        return rs.ratio(series, base).assign(enough=True)
    found = []
    both = series.ok.merge(base.ok, on="n", suffixes=("", "_base"))
    for point in both.itertuples():
        rounds = [samples.get((run, "cuda", s.variant, s.settings, s.operation, s.element_type, int(point.n), s.seed,
                               s.mode, s.cache_state)) for s, run in ((base, point.run_id_base), (series, point.run_id))]
        if rounds[0] is None or rounds[1] is None or point.run_id != point.run_id_base:
            continue
        common = rounds[0].join(rounds[1], lsuffix="_base", how="inner")
        if len(common):
            found.append((point.n, *paired(common["time_s_base"].tolist(), common["time_s"].tolist(),
                                           common["allocation"].tolist(), point.resolution_base, point.resolution)))
    return pd.DataFrame(found, columns=COLUMNS)


def are_paired(results: Results) -> bool:
    return bool(samples_of(results))


def _fastest(found: list[Series], n: int) -> Series | None:
    return min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


def fastest_of_each(results: Results, element_type: str, n: int) -> list[tuple[str, Series, Series]]:
    """(group, series, base): of each document, of the user's own and of each other library the one that is fastest at
    n, timed on the device, or end to end where none of the group's calls ends there; over CUB's call, timed alike."""
    table, lines = results.comparison, []
    for group in [*rs.DOCUMENTS, rs.YOURS, "thrust", "cublas"]:
        own = rs.own_operation(table, group, results.catalog, element_type)
        for mode in WHOLE:
            found = rs.series(table, device="cuda", operation=own, element_type=element_type, mode=mode)
            base = rs.base_series(found, own)
            best = _fastest([s for s in found if rs.group_of(s.variant) == group], n)
            if best is not None and base is not None:
                lines.append((group, best, base))
                break
    return lines
