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
from functools import lru_cache
from statistics import median

import pandas as pd

import results as rs
import samples
from results import Results, Series

LEAST_CLUSTERS = 6
CONFIDENCE = 0.95
WHOLE = ("device", "end_to_end")  # ways of timing a whole reduction
COLUMNS = ["n", "ratio", "low", "high", "enough"]
TIME_COLUMNS = {"device_part": "device_part_s", "clock": "cycles"}  # of raw samples, by mode; else "time_s"
DIFFERENT_RUNS = "different runs"

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


@lru_cache(maxsize=64)
def students_t(freedom: int, confidence: float) -> float:
    """What Student's t of so many degrees of freedom exceeds, in size, with probability 1 - confidence."""
    def within(angle: float) -> float:  # P(|t| < sqrt(freedom) tan(angle)), a finite sum for whole degrees
        terms, term = 0.0, math.cos(angle) if freedom % 2 else 1.0
        for k in range(freedom % 2, freedom - 1, 2):
            terms += term
            term *= (k + 1) / (k + 2) * math.cos(angle) ** 2
        return 2 / math.pi * (angle + math.sin(angle) * terms) if freedom % 2 else math.sin(angle) * terms

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def centre_of(values: list[float], confidence: float = CONFIDENCE) -> tuple[float, float, float, bool]:
    """Hodges and Lehmann's estimate of where values are symmetric about, its interval, and whether there are enough
    values for the confidence. Where ranks cannot have it, the interval is the values' range, stretched as Student's t
    stretches; of fewer than LEAST_CLUSTERS it is their range, and they are not enough."""
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    k, enough = rank_of(len(values), confidence)
    middle, low, high = median(means), means[k - 1], means[-k]
    if not enough and len(values) >= LEAST_CLUSTERS:
        freedom = len(values) - 1
        stretch = students_t(freedom, confidence) / students_t(freedom, 1 - 2 * 0.5 ** len(values))
        low, high, enough = middle - stretch * (middle - low), middle + stretch * (high - middle), True
    return middle, low, high, enough


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
           resolution: float = 0, confidence: float = CONFIDENCE) -> tuple[float, float, float, bool]:
    """The ratio t(base) / t of times by round, its interval, and whether there are enough clusters for the confidence
    (see centre_of). No interval is narrower than the clocks' resolution."""
    return paired_product([(1, base, base_resolution), (-1, times, resolution)], allocations, confidence)


def paired_product(factors: list[tuple[float, list[float], float]], allocations: list[int],
                   confidence: float = CONFIDENCE) -> tuple[float, float, float, bool]:
    """The same of a product of powers of times: of each its power, the times by round, and their clock's resolution."""
    logs = [sum(power * math.log(t) for (power, *_), t in zip(factors, times))
            for times in zip(*(times for _, times, _ in factors))]
    middle, low, high, enough = centre_of([trimmed_mean(logs[c]) for c in clusters_of(allocations)], confidence)
    least = sum(abs(power) * resolution / median(times) for power, times, resolution in factors)
    if high - low < least:
        low, high = min(low, middle - least / 2), max(high, middle + least / 2)
    return math.exp(middle), math.exp(low), math.exp(high), enough


def apart(base: tuple[float, float, float], of: tuple[float, float, float]) -> tuple[float, float, float]:
    """The ratio of two times, each with its interval, and that of the ratio: from the logarithm of the ratio its ends are
    the root of the sum of squares of theirs (MOVER, as unpaired_ratio in ratio.h)."""
    return product_apart([(1, base), (-1, of)])


def product_apart(factors: list[tuple[float, tuple[float, float, float]]]) -> tuple[float, float, float]:
    """The same of a product of powers of times: of each its power, and the time with its interval."""
    def log(time: float) -> float:  # a clock coarser than what it times leaves the lower end open
        return -math.inf if time <= 0 else math.log(time)

    middle, below, above = 0.0, 0.0, 0.0
    for power, time in factors:
        t, low, high = map(log, time)
        down, up = power * (t - low), power * (high - t)
        middle += power * t
        below, above = math.hypot(below, down if power > 0 else up), math.hypot(above, up if power > 0 else down)
    return math.exp(middle), math.exp(middle - below), math.exp(middle + above)


def over(results: Results, series: Series, base: Series, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """n, ratio, low, high, enough: the speedup of a series over the base's at every size where both were sampled in the
    same rounds. Of another confidence than the rows' own it takes the raw samples; without them no interval is enough.

    Where the folder holds neither speedups over that base nor raw samples (see `are_paired`), or the two are timed in
    different ways, which are different rounds, the ratio of the medians, with their errors combined as independent ones
    (see `apart`).
    """
    found = [point for n in series.rows if (point := _at(results, series, base, n, confidence)) is not None]
    return pd.DataFrame(found, columns=COLUMNS).sort_values("n", ignore_index=True)


def at(results: Results, series: Series, base: Series | None, n: int) -> pd.Series | None:
    """The speedup over the base's at one size, as a row of `over`; None where there is none."""
    found = _at(results, series, base, n, CONFIDENCE) if base is not None else None
    return None if found is None else pd.Series(dict(zip(COLUMNS, found)))


def _at(results: Results, series: Series, base: Series, n: int, confidence: float) -> tuple | None:
    """The same as a tuple; found once for each pair of series, which several figures and texts show."""
    point, of_base = series.rows.get(n), base.rows.get(n)
    if series.measured_on != base.measured_on or point is None or of_base is None or point.run_id != of_base.run_id:
        return None
    # The reference's own row has a speedup of 1: which of the base's settings that was.
    if (series.mode == base.mode and confidence == CONFIDENCE and point.speedup_reference == base.variant
            and not math.isnan(point.speedup) and of_base.speedup_reference == base.variant and of_base.speedup == 1):
        return n, point.speedup, point.speedup_low, point.speedup_high, point.speedup_enough != "no"
    of_rounds = samples.of(results, series.experiment)
    key = (base, n, confidence, of_rounds)
    if key not in series.kept:
        series.kept[key] = _of_samples(of_rounds, series.mode, base.mode, point, of_base, confidence)
    return None if series.kept[key] is None else (n, *series.kept[key])


def _of_samples(of_rounds: samples.Samples, mode: str, base_mode: str, point, of_base, confidence: float) -> tuple | None:
    """ratio, low, high, enough where the rows tell no speedup."""
    if not of_rounds or mode != base_mode:
        return (*apart((of_base.time, of_base.low, of_base.high), (point.time, point.low, point.high)),
                confidence == CONFIDENCE)
    mine, theirs = of_rounds.get(point.key), of_rounds.get(of_base.key)
    if mine is None or theirs is None or any(point.key[i] != of_base.key[i] for i in _GROUP):
        return None
    (base_times, times), (_, allocations) = samples.paired(TIME_COLUMNS.get(mode, "time_s"), [theirs, mine])
    return paired(base_times, times, allocations, of_base.resolution, point.resolution, confidence) if times else None


def of_the_rest(results: Results, of: list[Series], base: list[Series], n: int) -> pd.Series | None:
    """The speedup over the base's of what is left of a call end to end without its device part, each given as both series:
    a row of `over`, paired by round where the folder holds raw samples, else with the errors of all four times combined as
    independent ones."""
    points = [s.rows.get(n) for s in (*base, *of)]
    if None in points or len({p.run_id for p in points}) != 1 or len({s.measured_on for s in (*base, *of)}) != 1:
        return None
    of_rounds = samples.of(results, of[0].experiment)
    if not of_rounds:
        found = (*apart(*(_difference(*points[k:k + 2]) for k in (0, 2))), True)
    else:
        both = [of_rounds.get(points[k].key) for k in (0, 2)]
        if None in both or any(points[0].key[i] != points[2].key[i] for i in _GROUP):
            return None
        whole, allocations = samples.paired("time_s", both)
        parts, _ = samples.paired("device_part_s", both)
        if not whole[0] or len(parts[0]) != len(whole[0]):
            return None
        rests = [[t - part for t, part in zip(*times)] for times in zip(whole, parts)]
        found = paired(*rests, allocations[0], points[0].resolution, points[2].resolution)
    return pd.Series(dict(zip(COLUMNS, (n, *found))))


def _difference(whole, part) -> tuple[float, float, float]:
    """What is left of a time without a part of it, with its interval."""
    rest = whole.time - part.time
    return (rest, rest - math.hypot(whole.time - whole.low, part.high - part.time),
            rest + math.hypot(whole.high - whole.time, part.time - part.low))


def product(results: Results, factors: list[tuple[float, Series]], n: int) -> pd.Series | None:
    """ratio, low, high, enough: a product of powers of these series' times at n, as a speedup is one: paired by round
    where the folder holds raw samples, else with the times' errors combined as independent ones. None where they were not
    measured in one way and one run."""
    points = [(power, s, s.at(n)) for power, s in factors]
    if any(p is None for *_, p in points) or len({(s.measured_on, s.mode, p["run_id"]) for _, s, p in points}) != 1:
        return None
    first = points[0][1]
    of_rounds = samples.of(results, first.experiment)
    if not of_rounds:
        found = (*product_apart([(power, (p["time"], p["low"], p["high"])) for power, _, p in points]), True)
    else:
        by_round = [of_rounds.get(p["key"]) for *_, p in points]
        if None in by_round:
            return None
        times, allocations = samples.paired(TIME_COLUMNS.get(first.mode, "time_s"), by_round)
        if not times[0]:
            return None
        found = paired_product([(power, t, p["resolution"]) for (power, _, p), t in zip(points, times)], allocations[0])
    return pd.Series(dict(zip(COLUMNS, (n, *found))))


def why_unpaired(results: Results, of: list[Series], n: int) -> str:
    """In few words: why these series, which were all measured at n, have no speedup or product there."""
    points = [s.rows[n] for s in of]
    if len({(s.measured_on, p.run_id) for s, p in zip(of, points)}) > 1:
        return DIFFERENT_RUNS
    of_rounds = samples.of(results, of[0].experiment)
    return "no raw samples" if None in [of_rounds.get(p.key) for p in points] else "no common round"


def of_only_reading(base: Series) -> pd.DataFrame:
    """n, ratio: the speedup over the base's of only reading the same bytes, which the program paired by round."""
    known = base.ok[base.ok["share"] > 0]
    return pd.DataFrame({"n": known["n"], "ratio": 1 / known["share"]})


def are_paired(results: Results) -> bool:
    """Whether speedups are those of the rounds."""
    table = results.comparison
    return bool(samples.of(results)) or (table is not None and bool(table["speedup"].notna().any()))


def fastest(found: list[Series], n: int) -> Series | None:
    return min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


# Not as users call Thrust without ado: it has rows of its own, and is no rival of the documents' kernels.
NOT_BY_DEFAULT = "allocator=caching"


def fastest_of_each(results: Results, element_type: str, n: int) -> list[tuple[str, Series, Series]]:
    """(group, series, base): of each document, of the user's own, of ours and of each other library the one that is
    fastest at n, timed on the device, or end to end where none of the group's calls ends there; over CUB's call, timed alike."""
    table, lines = results.comparison, []
    for group in (*rs.KERNEL_GROUPS, "thrust", "cublas"):
        own = rs.own_operation(table, group, results.catalog, element_type)
        for mode in WHOLE:
            found = rs.series(table, device="cuda", operation=own, element_type=element_type, mode=mode)
            best = fastest([s for s in found if rs.group_of(s.variant) == group and s.settings != NOT_BY_DEFAULT], n)
            base = rs.base_series(found, own, best)
            if best is not None and base is not None:
                lines.append((group, best, base))
                break
    return lines
