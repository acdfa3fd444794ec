"""Speedups of one call over another: t(base) / t, paired by round, with the interval that `reductio compare` gives. All
that figures and texts call a speedup is found here.

Over CUB the program's rows have it, in their own columns. What they lack is computed here from the raw samples, by the
program's rule (src/measure/stats/ratio.h): in every round both calls ran within the same milliseconds. The rounds of one
allocation are one cluster, and each cluster gives one number, the mean of its log(t(base) / t) without a tenth at either
end. The ratio is the centre of these numbers by Hodges and Lehmann, with its interval by signed ranks. A test compares
this file with the program.
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

LEAST_CLUSTERS = 6
CONFIDENCE = 0.95
WHOLE = ("device", "end_to_end")  # ways of timing a whole reduction
COLUMNS = ["n", "ratio", "low", "high", "enough"]
TOO_FEW = "the speedup's interval is min..max"  # in a row's reason

# The rounds of two points are the same rounds if these agree: all but which call it is.
WHOSE = ("variant", "settings")
_GROUP = [i for i, column in enumerate(rs.SAMPLES_KEY) if column not in WHOSE]


@lru_cache(maxsize=64)
def rank_of(count: int, confidence: float = CONFIDENCE) -> tuple[int, bool]:
    """k, such that of the means of all pairs of `count` values the k-th smallest and the k-th largest hold the values'
    centre with this confidence by the signed-rank test, and whether they do: with too few values k is 1 and they do
    not."""
    sums = [1.0]  # of the ranks 1 ... count, each positive with probability one half: the probability of each sum
    for rank in range(1, count + 1):
        sums = [((sums[s] if s < len(sums) else 0) + (sums[s - rank] if s >= rank else 0)) / 2
                for s in range(len(sums) + rank)]
    k, covered = 1, 1 - 2 * sums[0]
    while 2 * (k + 1) <= len(sums) - 1 and covered - 2 * sums[k] >= confidence:
        covered -= 2 * sums[k]
        k += 1
    return k, covered >= confidence


def trimmed_mean(values: list[float]) -> float:
    """Without the least and the greatest tenth; of a value that the cut falls into, the part that is left counts."""
    n, cut = len(values), len(values) / 10
    weights = [max(0.0, min(i + 1, n - cut) - max(i, cut)) for i in range(n)]
    return sum(w * v for w, v in zip(weights, sorted(values))) / (n - 2 * cut)


def centre_of(values: list[float]) -> tuple[float, float, float, bool]:
    """Hodges and Lehmann's estimate of where values are symmetric about, its interval, and whether there are enough
    values for the confidence; without enough the interval is their range."""
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    k, enough = rank_of(len(values))
    return median(means), means[k - 1], means[-k], enough


def clusters_of(allocations: list[int], least: int = LEAST_CLUSTERS) -> list[slice]:
    """Rounds by cluster, of each round's allocation: a run of rounds on one allocation. Where all are on one, `least`
    equal parts of it; a few stay what they are, and too few."""
    starts = [i for i in range(len(allocations)) if i == 0 or allocations[i] != allocations[i - 1]]
    if len(starts) == 1:
        rounds = len(allocations)
        parts = min(least, rounds)
        return [slice(p * rounds // parts, (p + 1) * rounds // parts) for p in range(parts)]
    return [slice(low, high) for low, high in zip(starts, [*starts[1:], len(allocations)])]


def paired(base: list[float], times: list[float], allocations: list[int], base_resolution: float = 0,
           resolution: float = 0) -> tuple[float, float, float, bool]:
    """The ratio t(base) / t of times by round, its interval, and whether there are enough clusters for the confidence;
    without enough the interval is the clusters' range. No interval is narrower than the clocks' resolution."""
    logs = [math.log(b / t) for b, t in zip(base, times)]
    middle, low, high, enough = centre_of([trimmed_mean(logs[c]) for c in clusters_of(allocations)])
    least = base_resolution / median(base) + resolution / median(times)
    if high - low < least:
        low, high = min(low, middle - least / 2), max(high, middle + least / 2)
    return math.exp(middle), math.exp(low), math.exp(high), enough


def apart(base: tuple[float, float, float], of: tuple[float, float, float]) -> tuple[float, float, float]:
    """The ratio of two times, each with its interval, and that of the ratio: from the logarithm of the ratio its ends are
    the root of the sum of squares of theirs (MOVER, as unpaired_ratio in ratio.h)."""
    def log(time: float) -> float:  # a clock coarser than what it times leaves the lower end open
        return -math.inf if time <= 0 else math.log(time)

    (b, b_low, b_high), (t, low, high) = (map(log, side) for side in (base, of))
    return (math.exp(b - t), math.exp(b - t - math.hypot(b - b_low, high - t)),
            math.exp(b - t + math.hypot(b_high - b, t - low)))


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

    Where the folder holds neither speedups over that base nor raw samples (see `are_paired`), or the two are timed in
    different ways, which are different rounds, the ratio of the medians, with their errors combined as independent ones
    (see `apart`).
    """
    if series.measured_on != base.measured_on:
        return pd.DataFrame(columns=COLUMNS)
    both = series.ok.merge(base.ok, on="n", suffixes=("", "_base"))
    both = both[both["run_id"] == both["run_id_base"]]
    # The reference's own row has a speedup of 1: which of the base's settings that was.
    told = ((series.mode == base.mode) & (both["speedup_reference"] == base.variant) & both["speedup"].notna()
            & (both["speedup_reference_base"] == base.variant) & (both["speedup_base"] == 1))
    known = both[told]
    of_rows = pd.DataFrame({"n": known["n"], "ratio": known["speedup"], "low": known["speedup_low"],
                            "high": known["speedup_high"], "enough": ~known["reason"].str.contains(TOO_FEW, regex=False)})
    rest = _over_of_samples(results, series, base, both[~told])
    return pd.concat([t for t in (of_rows, rest) if len(t)] or [rest]).sort_values("n", ignore_index=True)


def _over_of_samples(results: Results, series: Series, base: Series, both: pd.DataFrame) -> pd.DataFrame:
    """The same where the rows tell no speedup."""
    samples = samples_of(results, series.experiment) if len(both) else {}
    if not samples or series.mode != base.mode:
        found = [(p.n, *apart((p.time_base, p.low_base, p.high_base), (p.time, p.low, p.high)), True)
                 for p in both.itertuples()]
        return pd.DataFrame(found, columns=COLUMNS)
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
    """Whether speedups are those of the rounds."""
    table = results.comparison
    return bool(samples_of(results)) or (table is not None and bool(table["speedup"].notna().any()))


def fastest(found: list[Series], n: int) -> Series | None:
    return min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


# Not as users call Thrust without ado: it has rows of its own, and is no rival of the documents' kernels.
NOT_BY_DEFAULT = "allocator=caching"


def fastest_of_each(results: Results, element_type: str, n: int) -> list[tuple[str, Series, Series]]:
    """(group, series, base): of each document, of the user's own and of each other library the one that is fastest at
    n, timed on the device, or end to end where none of the group's calls ends there; over CUB's call, timed alike."""
    table, lines = results.comparison, []
    for group in [*rs.DOCUMENTS, rs.YOURS, "thrust", "cublas"]:
        own = rs.own_operation(table, group, results.catalog, element_type)
        for mode in WHOLE:
            found = rs.series(table, device="cuda", operation=own, element_type=element_type, mode=mode)
            best = fastest([s for s in found if rs.group_of(s.variant) == group and s.settings != NOT_BY_DEFAULT], n)
            base = rs.base_series(found, own, best)
            if best is not None and base is not None:
                lines.append((group, best, base))
                break
    return lines
