"""What says how far the numbers can be trusted: one call timed in several ways, times taken from outside, the
comparison run twice, another GPU, and what the harness itself costs: numbers for README and paper, and the paper's
sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

import results as rs
import speedup
from results import Results, Series
from text import latex
from text.findings import ABSENT, REPRODUCED, SIZES, TYPE

STATES = {"cold_clean": "clean", "cold_dirty": "dirty", "warm": "warm"}
# The call of the timing table, and two kernels that read the clock themselves: on one multiprocessor, and on many.
CALL, ONE_BLOCK, MANY_BLOCKS = "cub/sum", "squares/strided", "squares/multi-block"
WAYS = {CALL: ("graph", "device", "launch_to_idle", "end_to_end"),
        ONE_BLOCK: ("clock", "globaltimer", "launch_to_idle", "end_to_end"),
        MANY_BLOCKS: ("clock", "globaltimer", "launch_to_idle", "end_to_end")}
REPEATS = 0.93  # of the points, run twice, this share at least should have an interval that holds 1


# ------------------------------------------------------------------------------------------ ways of timing


class Timings:
    """Medians of timing.csv by variant, mode, state of the cache and n, in s; clock's cycles at the GPU's clock."""

    def __init__(self, results: Results):
        table, self.clock = results.timing, results.machine.number("gpu.sm_clock_hz")
        self.times: dict[tuple[str, str, str, int], float] = {}
        self.element_type = None
        if table is None:
            return
        rows = table[table["variant"].isin(WAYS) & (table["status"] == "ok") & ~table["page_locked"] & (table["caller"] == "")]
        # The first settings in the file are the variant's default.
        first = {v: of["settings"].iloc[0] for v, of in rows.groupby("variant", sort=False)}
        rows = rows[rows["settings"] == rows["variant"].map(first)]
        types = sorted(set(rows["element_type"]), key=lambda t: (t != TYPE, t))
        if not types:
            return
        of_call = rows[rows["variant"] == CALL]["element_type"]
        self.element_type = types[0] if not len(of_call) else min(of_call, key=types.index)
        for r in rows[rows["element_type"] == self.element_type].itertuples():
            seconds = r.cycles_median / self.clock if r.timing_mode == "clock" and self.clock else r.time_median_s
            if seconds > 0:
                self.times[r.variant, r.timing_mode, r.cache_state, int(r.n)] = float(seconds)

    def at(self, variant: str, mode: str, state: str, n: int) -> float | None:
        return self.times.get((variant, mode, state, n))


def timing(results: Results) -> str:
    """What each way of timing and state of the cache adds to one call, at two sizes."""
    t = Timings(results)
    small, medium = SIZES["Small"], SIZES["Medium"]
    device = {(s, n): t.at(CALL, "device", s, n) for s in STATES for n in (small, medium)}
    graph, host = t.at(CALL, "graph", "warm", small), t.at(CALL, "end_to_end", "warm", small)
    idle = t.at(CALL, "launch_to_idle", "warm", small)
    if None in (*device.values(), graph, host, idle):
        return ABSENT

    def more(state: str, than: str, n: int) -> str:
        difference = device[state, n] - device[than, n]
        return ("$-$" if difference < 0 else "") + latex.time(abs(difference))

    l2 = results.machine.l2_bytes
    too_large = l2 and medium * rs.ELEMENT_BYTES[t.element_type] > l2
    return (f"For {latex.power(small)} {t.element_type}, reading from memory what a warm L2 would have held adds "
            f"{more('cold_clean', 'warm', small)} to the device time of {latex.code(CALL)}, and writing back what the "
            f"flush left dirty another {more('cold_dirty', 'cold_clean', small)}; for {latex.power(medium)}"
            + (", which L2 cannot hold" if too_large else "") +
            f", it is {more('cold_clean', 'warm', medium)} and {more('cold_dirty', 'cold_clean', medium)}. On a warm "
            f"cache at {latex.power(small)}, a launch on its own takes {latex.time(device['warm', small] - graph)} "
            f"more than one inside a graph of many, and the host adds {latex.time(idle - device['warm', small])} until it sees the device idle and "
            f"{latex.time(host - device['warm', small])} until it has the result.")


# Whose first call in a while is told.
FIRST_OF = (("cub/sum", "device"), ("cub/sum", "end_to_end"), ("thrust/reduce", "end_to_end"))


def first_calls(results: Results) -> str:
    """How much longer a call takes that is the first in a while than one in a loop, from least to most over sizes."""
    said = []
    for variant, mode in FIRST_OF if results.timing is not None else ():
        found = []
        for types in (TYPE, *sorted(set(results.timing["element_type"]) - {TYPE})):
            pair = [[s for s in rs.series(results.timing, device="cuda", operation="sum", element_type=types, mode=mode,
                                          caller=caller) if s.variant == variant and s.settings != speedup.NOT_BY_DEFAULT]
                    for caller in ("first", "")]
            if all(pair):
                first, loop = (of[0] for of in pair)
                found = [(n, first.at(n), loop.at(n)) for n in loop.ok["n"] if first.at(n) is not None]
                break
        ratios = []
        for n, *both in found:
            ratio, low, high = speedup.apart(*((p["time"], p["low"], p["high"]) for p in both))
            ratios.append({"ratio": ratio, "low": low, "high": high, "enough": True, "n": n})
        if ratios:
            least, most = (of(ratios, key=lambda r: r["ratio"]) for of in (min, max))
            said.append(f"{latex.interval(least)} ({latex.power(least['n'])}) to {latex.interval(most)} "
                        f"({latex.power(most['n'])}) for {latex.code(variant)} "
                        f"{'end to end' if mode == 'end_to_end' else 'on the device'}")
    if not said:
        return ABSENT
    return ("All times of this paper are of calls in a loop: each comes after an untimed one of its own. The first call in "
            f"a while comes after those of all other variants, and takes so many times as long: {latex.listing(said)}.")


def clocks(results: Results) -> str:
    """Cycles counted in the kernel beside the GPU's one clock, on one multiprocessor and across many."""
    t, n = Timings(results), SIZES["Small"]
    pairs = [[t.at(v, mode, "cold_dirty", n) for mode in ("clock", "globaltimer")] for v in (ONE_BLOCK, MANY_BLOCKS)]
    if t.clock is None or None in (*pairs[0], *pairs[1]):
        return ABSENT
    one, many = (cycles / timer for cycles, timer in pairs)
    said = (rf"In one block, the cycles of \id{{clock()}} take {latex.digits(one)} times what \id{{globaltimer}} counts "
            f"({latex.code(ONE_BLOCK)}, {latex.power(n)}). ")
    if 0.5 < many < 2:
        return said + f"From the earliest start to the latest stop of many blocks it is {latex.digits(many)} times."
    return (said + f"Across blocks ({latex.code(MANY_BLOCKS)}), the latest stop less the earliest start comes to "
            f"{latex.count(round(pairs[1][0] * t.clock))} cycles, about {latex.count(int(float(f'{many:.2g}')))} times "
            f"the time by the GPU's one clock: every multiprocessor counts from a zero of its own, so that this difference "
            "(S5) is of the counters and not of the run.")


# ----------------------------------------------------------------------------------------- from outside


@dataclass
class Agreement:
    """Of one timing mode: published medians beside those taken from outside, by nvbench or by plain loops, each of
    these the median over several processes."""

    points: int
    inside: int             # within what is allowed
    outside: list[float]    # how far the others differ, ascending
    largest_outside_n: int  # the largest size of these; 0 if there are none
    largest_from: float     # the largest difference from LARGE_FROM elements on; NaN without any
    processes: str          # from outside, as "6" or, where points differ in it, "5 to 6"
    by_mean: int | None     # with nvbench's means for its medians: how many are inside; None of loops, which have none
    spread: float           # of the processes, largest over smallest less 1: the median below SMALL; NaN without any
    lower: int              # of how many points the published time is the lower
    median_small: float     # the difference at the median point below SMALL, signed; NaN without any
    median_large: float     # from there on

    LARGE_FROM = 2**23
    SMALL = 2**22


def agreements(results: Results) -> dict[str, Agreement]:
    """By timing mode; empty without the file."""
    if results.agreement is None:
        return {}

    def of(table: pd.DataFrame) -> Agreement:
        difference, n, processes = table["difference"].abs(), table["n"], table["outside_processes"]
        out = difference > table["allowed"]
        means = table[table["outside_mean_s"].notna()]
        by_mean = (means["reductio_s"] / means["outside_mean_s"] - 1).abs() <= means["allowed"]
        return Agreement(len(table), int((~out).sum()), sorted(difference[out]), int(n[out].max()) if out.any() else 0,
                         float(difference[n >= Agreement.LARGE_FROM].max()),
                         " to ".join(dict.fromkeys(str(int(end)) for end in (processes.min(), processes.max()))),
                         int(by_mean.sum()) if len(means) else None,
                         float(table["outside_spread"][n < Agreement.SMALL].median()), int((table["difference"] < 0).sum()),
                         *(float(table["difference"][which].median()) for which in (n < Agreement.SMALL, n >= Agreement.SMALL)))

    return {str(mode): of(table) for mode, table in results.agreement.groupby("mode")}


def nvbench(results: Results) -> str:
    """How near the published times of libraries' calls lie to those that nvbench and plain loops take."""
    def counted(a: Agreement, which: str, bound: str, whose: str) -> str:
        all_of_them = f"all {a.points} points ({which}) lie"
        said = ((f"of {a.points} points ({which}), {a.inside} lie" if a.outside else all_of_them) +
                f" within {bound} of {whose}, the median over {a.processes} " +
                ("process" if a.processes == "1" else "processes"))
        if a.outside:
            ends = " to ".join(dict.fromkeys(latex.digits(100 * d, 2) for d in (a.outside[0], a.outside[-1])))
            differ = "one differs" if len(a.outside) == 1 else f"{len(a.outside)} differ"
            fewer = " or fewer" if len(a.outside) > 1 else ""
            said += rf"; {differ} by {ends}\,\%, at {latex.power(a.largest_outside_n)} elements{fewer}"
        return said

    found, said = agreements(results), []
    if "device" in found:
        a = found["device"]
        one = counted(a, "types times sizes", r"3\,\% (below $2^{22}$ elements 6\,\%)", "nvbench's time")
        said.append(one[0].upper() + one[1:])
        said.append(bias(a, latex.power(a.SMALL)))
        if a.largest_from == a.largest_from:
            said.append(f"From {latex.power(a.LARGE_FROM)} on none differs by more than "
                        rf"{latex.digits(100 * a.largest_from, 2)}\,\%")
        if a.processes != "1" and not math.isnan(a.spread):
            said.append(rf"The processes of nvbench lie {latex.digits(100 * a.spread, 2)}\,\% apart at the median "
                        f"point below {latex.power(a.SMALL)}")
        if a.by_mean is not None:
            said.append(f"Of each process we take the median; with the mean, which nvbench shows first, {a.by_mean} "
                        "points lie within these bounds")
    for mode, words, which, bound in (("graph", "In a graph", "types times sizes", r"3\,\%"),
                                      ("end_to_end", "End to end", "calls times types times sizes", r"5\,\%")):
        if mode in found:
            said.append(f"{words}, " + counted(found[mode], which, bound, "the loops' time"))
    return ". ".join(said) + "." if said else ABSENT


def bias(a: Agreement, small: str) -> str:
    """In which direction the published times differ, and by how much at the median."""
    medians = [rf"{latex.signed(100 * m)}\,\% {where}" for m, where in
               ((a.median_small, f"below {small}"), (a.median_large, f"from {small} on")) if not math.isnan(m)]
    return (f"The harness's time is the lower at {a.lower} of {a.points}"
            + (", so the differences are a bias" if a.lower > 0.9 * a.points else "")
            + f": at the median it differs by {latex.listing(medians)}")


@dataclass
class Ratio:
    """t(CUB) / t(thrust::reduce) end to end: the published one with its interval, and that of the plain loops."""

    element_type: str
    n: int
    published: pd.Series  # a row of speedup.over
    outside: float

    @property
    def inside(self) -> bool:
        return self.published["low"] <= self.outside <= self.published["high"]


def ratios(results: Results) -> list[Ratio]:
    """Where the loops timed both calls; by type and size."""
    if results.agreement is None or results.comparison is None:
        return []
    table = results.agreement[results.agreement["mode"] == "end_to_end"]
    times = {key: float(of["outside_s"].iloc[0]) for key, of in table.groupby(["variant", "element_type", "n"])}
    found = []
    for (variant, element_type, n), time in times.items():
        cub = times.get(("cub/sum", element_type, n))
        if variant != "thrust/reduce" or cub is None:
            continue
        there = rs.series(results.comparison, device="cuda", operation="sum", element_type=element_type, mode="end_to_end")
        mine = next((s for s in there if s.variant == variant and s.settings != speedup.NOT_BY_DEFAULT), None)
        base = rs.base_series(there, "sum", mine)
        point = speedup.at(results, mine, base, int(n)) if mine is not None and base is not None else None
        if point is not None:
            found.append(Ratio(str(element_type), int(n), point, cub / time))
    return found


def outside_ratios(results: Results) -> str:
    """How often the loops' ratio of two calls end to end lies within the published ratio's interval."""
    found = ratios(results)
    if not found:
        return ABSENT
    off = [r for r in found if not r.inside]
    said = (rf"The loops' speedup of \id{{thrust/reduce}} over \id{{cub/sum}} end to end lies outside the harness's interval at "
            f"{len(off)} of {len(found)} points")
    small = [r for r in off if r.n < REPRODUCED]
    if not small:
        return said + "."
    worst = max(small, key=lambda r: abs(math.log(r.outside / r.published["ratio"])))
    return (said + f", {len(small)} of them below {latex.power(REPRODUCED)}, the farthest {latex.digits(worst.outside)} where the harness "
            f"has {latex.interval(worst.published)} ({worst.element_type}, {latex.power(worst.n)}). From there on they differ "
            rf"by at most {latex.digits(100 * furthest(found), 2)}\,\%. So a ratio of times end to end below "
            f"{latex.power(REPRODUCED)} holds for the harness's way of calling alone.")


def outside_ratios_markdown(results: Results) -> str:
    """The same for docs/."""
    found = ratios(results)
    off = [r for r in found if not r.inside]
    small = [r for r in off if r.n < REPRODUCED]
    return (f"Their speedup of `thrust/reduce` over `cub/sum` end to end lies outside reductio's interval at {len(off)} of "
            f"{len(found)} points, {len(small)} of them below 2^22; from there on the two differ by at most "
            f"{100 * furthest(found):.2g} %. So a ratio of times end to end below 2^22 holds for reductio's way of calling alone.")


def furthest(found: list[Ratio]) -> float:
    """The largest difference of the two ratios from REPRODUCED elements on; 0 without such."""
    return max((abs(r.published["ratio"] / r.outside - 1) for r in found if r.n >= REPRODUCED), default=0.0)


def caveat(results: Results) -> str:
    """For captions: "" where the loops give the same ratios."""
    if all(r.inside for r in ratios(results) if r.n < REPRODUCED):
        return ""
    return (f"End to end below {latex.power(REPRODUCED)}, plain loops give other ratios than the harness "
            r"(Section~\ref{sec:trust}).")


# -------------------------------------------------------------------------------------------- run twice


@dataclass
class Repeat:
    """Of one timing mode: how often the interval of the ratio of two runs of a point holds 1."""

    points: int
    share: float   # of the points
    median: float  # of the ratios: the first run's time over the second's
    width: float   # the median distance of an interval's ends, over its ratio
    near_large: float | None  # of the points from 2^22 elements on, the share that differs by at most 1 %
    near_small: float | None  # of those below, by at most 3 %


def repeats(table: pd.DataFrame | None) -> dict[str, Repeat]:
    """By timing mode; empty without the file."""
    if table is None:
        return {}
    rows = table[table["ratio"].notna() & table["ratio_low"].notna() & table["ratio_high"].notna()]
    def near(ratios: pd.Series, bound: float) -> float | None:
        return float((np.log(ratios).abs() <= bound).mean()) if len(ratios) else None

    return {str(mode): Repeat(len(of), float(((of["ratio_low"] <= 1) & (of["ratio_high"] >= 1)).mean()),
                              float(of["ratio"].median()),
                              float(((of["ratio_high"] - of["ratio_low"]) / of["ratio"]).median()),
                              near(of["ratio"][of["n"] >= Agreement.SMALL], 0.01),
                              near(of["ratio"][of["n"] < Agreement.SMALL], 0.03))
            for mode, of in rows.groupby("timing_mode")}


def run_twice(results: Results) -> str:
    """What was: the whole comparison, or its points of some types."""
    of = [set(t["element_type"]) for t in (results.comparison, results.repeat) if t is not None and "element_type" in t]
    whole = len(of) < 2 or of[1] >= of[0]
    return f"the {'whole ' if whole else ''}comparison{'' if whole else ' of ' + ', '.join(sorted(of[1]))} run twice"


def repeat(results: Results) -> str:
    """Both runs absolute, and each relative to CUB in its own rounds."""
    def told(found: dict[str, Repeat], with_points: bool) -> str:
        return latex.listing([rf"{latex.digits(100 * r.share)}\,\% of "
                             + (f"{latex.count(r.points)} points" if with_points else f"{latex.count(r.points)}")
                             + (" timed on the device" if mode == "device" else " timed end to end"
                                if mode == "end_to_end" else f" by {mode}")
                             for mode, r in found.items()])

    absolute, relative = repeats(results.repeat), repeats(results.repeat_relative)
    if not absolute:
        return ABSENT
    said = (rf"With {run_twice(results)}, the 95\,\% interval of the ratio of the two runs holds 1 at "
            f"{told(absolute, True)}")
    low = [rs.MODE_LABELS.get(m, m) for m, r in absolute.items() if r.share < REPEATS]
    if low:
        said += (f". {latex.listing(low).capitalize()} that is less than the {latex.percent(REPEATS)} that we ask for: "
                 f"these times drift from run to run by more than one run's intervals know")
    if relative:
        said += f". Of times relative to CUB's in the same rounds, it holds 1 at {told(relative, False)}"
    if "device" in absolute:
        r = absolute["device"]
        said += (rf". These unpaired intervals are wide: on the device {latex.digits(100 * r.width, 2)}\,\% of the "
                 rf"ratio at the median, around ratios whose median is {latex.digits(r.median, 4)}")
        if "device" in relative:
            said += rf", and relative to CUB's {latex.digits(100 * relative['device'].width, 2)}\,\%"
        large, small = (None if share is None else rf"{latex.digits(100 * share)}\,\%"
                        for share in (r.near_large, r.near_small))
        at = latex.power(Agreement.SMALL)
        if large and small:
            said += (rf". The two runs' times differ by at most 1\,\% at {large} of the points from {at} on and at most "
                     rf"3\,\% at {small} of those below, timed on the device")
        elif large or small:
            said += (rf". The two runs' times differ by at most {1 if large else 3}\,\% at {large or small} of the points "
                     f"{'from' if large else 'below'} {at}{' on' if large else ''} that are timed on the device")
    return said + ". So compare within one run."


# ------------------------------------------------------------------------------------------ another GPU


@dataclass
class Standing:
    """A document's fastest kernel at each size on one GPU, with its speedup over CUB, both timed alike."""

    group: str
    mode: str  # "device"; "end_to_end" for documents whose kernels all finish on the host
    best: dict[int, tuple[Series, float]]


def standings(results: Results) -> list[Standing]:
    found = []
    for group in rs.DOCUMENTS:
        operation = rs.own_operation(results.comparison, group, results.catalog, TYPE)
        for mode in ("device", "end_to_end"):
            there = rs.series(results.comparison, device="cuda", operation=operation, element_type=TYPE, mode=mode)
            best = {}
            for n in SIZES.values():
                s = speedup.fastest([s for s in there if rs.group_of(s.variant) == group], n)
                point = speedup.at(results, s, rs.base_series(there, operation, s), n) if s is not None else None
                if point is not None:
                    best[n] = (s, float(point["ratio"]))
            if best:
                found.append(Standing(group, mode, best))
                break
    return found


def same_order(here: Results, there: Results, n: int) -> tuple[int, int]:
    """Of the pairs of device-timed calls whose order at n is certain on both GPUs (disjoint intervals): how many stand
    in the same order, and how many there are."""
    which = dict(device="cuda", operation="sum", element_type=TYPE, mode="device")
    points = [{(s.variant, s.settings): p for s in rs.series(r.comparison, **which) if (p := s.at(n)) is not None}
              for r in (here, there)]
    both = sorted(set(points[0]) & set(points[1]))
    same = pairs = 0
    for i, a in enumerate(both):
        for b in both[:i]:
            orders = [1 if p[a]["high"] < p[b]["low"] else -1 if p[b]["high"] < p[a]["low"] else 0 for p in points]
            pairs += 0 not in orders
            same += 0 not in orders and orders[0] == orders[1]
    return same, pairs


def machines(results: Results) -> str:
    """What carries over to the other GPUs whose results lie beside."""
    if results.comparison is None or not results.beside:
        return ABSENT
    n, told = SIZES["Large"], []
    for other in results.beside:
        same, pairs = same_order(results, other, n)
        name = latex.escape(str(other.machine.get("gpu.name")))
        here, there = (max((s.best[n][1] for s in standings(r) if s.mode == "device" and n in s.best), default=None)
                       for r in (results, other))
        if pairs:
            alike = "all" if same == pairs else latex.count(same)
            told.append(f"Of {latex.count(pairs)} pairs of device-timed sums whose order at {latex.power(n)} is certain "
                        f"on both this GPU and an {name}, {alike} stand in the same order on both.")
        if here and there:
            told.append(f"The speedups differ more: at that size the largest speedup over CUB of the documents' "
                        f"kernels is {latex.digits(here)} on this GPU and {latex.digits(there)} on the {name}.")
    return " ".join(told) or ABSENT


# --------------------------------------------------------------------------------------------- overhead


@dataclass
class Spending:
    """Where the comparison's wall time went: seconds in all, and shares of it."""

    wall_s: float
    calls: float   # timed
    state: float   # untimed calls, setting the cache's state and restoring inputs
    around: float  # the rest of each sample
    waited: float  # until the memory was idle

    @property
    def outside(self) -> float:
        """Outside of samples."""
        return 1 - self.calls - self.state - self.around

    @property
    def own(self) -> float:
        """All that is neither in timed calls nor in the cache's state; first calls and pilots are not told from it."""
        return 1 - self.calls - self.state


def comparison_runs(results: Results) -> list[dict]:
    """What machine.json records of the runs that the comparison's rows are of."""
    ids = set(results.comparison["run_id"]) if results.comparison is not None else set()
    return [run for run in results.machine.get("runs", default=[]) if run.get("run_id") in ids]


def spending(results: Results) -> Spending | None:
    """As machine.json records it; None where it does not."""
    for run in comparison_runs(results):
        spent = run.get("time_spent") or {}
        parts = [spent.get(k) for k in ("wall_s", "timed_s", "cache_and_restoring_s", "around_samples_s", "memory_wait_s")]
        if None in parts or not parts[0] > 0:
            continue
        wall, *of = parts
        return Spending(wall, *(p / wall for p in of))
    return None


def overhead(results: Results) -> str:
    s = spending(results)
    if s is None:
        return ABSENT
    outside = ("allocating, inputs, references, first calls and pilots, files; "
               f"{latex.percent(s.waited)} until freed memory was overwritten")
    return (f"The comparison took {latex.time(s.wall_s)}: {latex.percent(s.calls)} in the timed calls, "
            f"{latex.percent(s.state)} in untimed calls, setting the cache's state and restoring inputs, {latex.percent(s.around)} in the "
            f"rest of each sample (launching, waiting, checking the result), and {latex.percent(s.outside)} outside of "
            f"samples ({outside}). So the harness itself, with first calls and pilots, takes {latex.percent(s.own)}.")
