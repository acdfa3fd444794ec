"""What the documents' own experiments found, as sentences: squares, latency, twopass, unrolling, levels, multiblock,
accuracy, what Nsight Compute counted, what the compilers made of the loops, and the SMs' clocks.

Calls are looked up as verdicts.py looks them up. What a folder lacks makes the sentence read "not measured".
"""

from __future__ import annotations

import json
import math

import pandas as pd

import ablation
import results as rs
import speedup
import verdicts as vd
from results import Results, Series
from text import latex, machine_code, steps
from text.findings import ABSENT, REPRODUCED
from text.steps import LARGE

SMALL, MEDIUM = 2**20, 2**24
NEAR = 1.02  # settings within this factor of the fastest are as good
COMPILED_IN = (256, 512)  # numbers of threads for which squares has kernels of their own
EXPERIMENTS = ("squares", "latency", "twopass", "unrolling", "levels", "multiblock", "ablation", "accuracy")
TREES = ("neighbored", "neighbored-less", "interleaved")
UNROLLED = ("unroll2", "unroll4", "unroll8", "unroll8-warp", "unroll8-complete", "unroll8-template")
PLACES = {"thread": "inside a thread", "block": "inside a block", "between": "between blocks"}
JUDGED_LOADS = 4  # a thread, by which the claims of levels are judged
FEW_BLOCKS = 64  # the most loads with which the claims of levels were ever judged
GROUPS = (1, 64)  # loads a thread at which the ways to finish are compared: many blocks and few


def told(claim: str) -> list[str]:
    """The document's own gains of a claim's steps, as LaTeX."""
    return [rf"\documentfigure{{{gain}}}" for gain in steps.told(claim)]


def ids(names) -> str:
    return latex.listing([rf"\id{{{name}}}" for name in names])


def scientific(value: float) -> str:
    """Two digits and a power of ten: "3.4 x 10^-12" as LaTeX; 0 as "0"."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(float(f"{value:.1e}"))))
    return rf"${value / 10**exponent:.1f}\cdot10^{{{exponent}}}$"


class Study:
    """One document's experiment, looked up by call."""

    def __init__(self, folder: vd.Folder, document: str, **which):
        self.folder, self.which = folder, {"device": "cuda", **vd.read_claims()["documents"][document], **which}
        self.experiment = self.which["experiments"][0]
        self.n = self.which["n"][0]
        self.cub = rs.BASE[self.which["operation"]]

    def found(self, call: str, n: int, mode: str | None = None) -> Series:
        if self.folder.experiment(self.experiment) is None:
            raise vd.Lacking(f"no {self.experiment}.csv")
        return self.folder.at(self.experiment, self.which, call, n, mode or self.which["timing_mode"])

    def time(self, call: str, n: int, mode: str | None = None) -> float:
        return float(self.found(call, n, mode).at(n)["time"])

    def gain(self, base: str, variant: str, n: int, mode: str | None = None) -> pd.Series:
        """The speedup of one call over another, a row of speedup.over."""
        point = speedup.at(self.folder.results, self.found(variant, n, mode), self.found(base, n, mode), n)
        if point is None:
            raise vd.Lacking(f"{base} and {variant} are of different runs")
        return point

    def all(self, n: int, mode: str | None = None, variant: str = "") -> list[Series]:
        """The documents' calls that have a time at n, of one variant or of all."""
        if self.folder.experiment(self.experiment) is None:
            raise vd.Lacking(f"no {self.experiment}.csv")
        there = [s for s in self.folder.series(self.experiment, self.which, mode or self.which["timing_mode"])
                 if s.at(n) is not None and rs.is_handwritten(s.variant) and variant in ("", s.variant)]
        if not there:
            raise vd.Lacking(f"{self.experiment}.csv has no times at {n}")
        return there

    def fastest(self, n: int, mode: str | None = None, variant: str = "") -> Series:
        return min(self.all(n, mode, variant), key=lambda s: s.at(n)["time"])

    def beside_cub(self, n: int, mode: str, keys: tuple[str, ...]) -> str:
        """The study's fastest call at n against CUB's, timed alike, in the study's own rounds. Only of a whole reduction:
        other modes leave out what the host does afterwards."""
        if mode not in speedup.WHOLE:
            raise ValueError(f"{mode} times no whole reduction")
        best = self.fastest(n, mode)
        over = speedup.at(self.folder.results, best, self.found(self.cub, n, mode), n)
        how = f" ({settings_of(best, keys)})" if keys else ""
        timed = "end to end" if mode == "end_to_end" else "on the device"
        return (f"The study's fastest call at {latex.power(n)}, timed {timed}, is {latex.code(best.variant)}{how}, in "
                f"{latex.time(best.at(n)['time'])}, against {latex.time(self.time(self.cub, n, mode))} of CUB"
                + (f": a speedup over CUB of {latex.interval(over)}" if over is not None else "")
                + (r", by the harness's way of calling (Section~\ref{sec:trust})" if mode == "end_to_end" and n < REPRODUCED else "")
                + ".")


def settings_of(s: Series, keys: tuple[str, ...]) -> str:
    have = rs.parse_settings(s.settings)
    return latex.escape(", ".join(f"{k}={have[k]}" for k in keys if k in have))


def ends(gains: dict[str, pd.Series]) -> str:
    """The least and the greatest of several gains, each with what it is of."""
    least, most = (of(gains.items(), key=lambda g: g[1]["ratio"]) for of in (min, max))
    if least[0] == most[0]:
        return f"{latex.interval(least[1])} ({least[0]})"
    return f"{latex.interval(least[1])} ({least[0]}) to {latex.interval(most[1])} ({most[0]})"


def values_of(s: Study, variant: str, key: str, n: int, mode: str | None = None) -> list[int]:
    """The numbers that the study gave a setting of a variant, ascending."""
    found = {rs.parse_settings(x.settings).get(key, "") for x in s.all(n, mode, variant)}
    return sorted(int(v) for v in found if v.isdigit())


# ---------------------------------------------------------------------------------------------- squares


def squares(f: vd.Folder) -> str:
    s = Study(f, "squares")
    rungs = (("S1", "chunked:block=256", "strided:block=256", "strided access, of 256 threads, gains {} over a chunk for each"),
             ("S2", "strided:block=256", "strided:block=512", "512 threads gain {} over 256"),
             ("S3", "strided:block=512", "multi-block:block=256,grid=32", "32 blocks gain {} over one"))
    said = [words.format(latex.interval(s.gain(f"squares/{a}", f"squares/{b}", s.n))) +
            f" ({claim}; the document: {told(claim)[0]})" for claim, a, b, words in rungs]
    tree = s.gain("squares/multi-block:block=256,grid=32", "squares/multi-block-tree:block=256,grid=32", s.n, "end_to_end")
    return (f"At {latex.power(s.n)}, {'; '.join(said)}. Where each block adds up its own threads' results, 32 blocks gain "
            f"{latex.interval(tree)} end to end (S4). {s.beside_cub(s.n, 'end_to_end', ('block', 'grid'))}")


def clocks(f: vd.Folder) -> str:
    """How far the SMs' counters are apart, and the one clock of the GPU."""
    s = Study(f, "squares")
    offsets, timers = (f.values("probes.csv", "value", where, also=["sm"]).groupby("sm")["value"].median() for where in
                       ({"quantity": "sm_clock_offset", "unit": "cycles"}, {"quantity": "globaltimer_offset"}))
    rate = float(f.values("probes.csv", "value", {"quantity": "sm_clock_rate"})["value"].median())
    timer = timers.abs().max()
    trip = float(f.values("probes.csv", "value", {"quantity": "exchange_round_trip"})["value"].median())
    run = s.time("squares/multi-block:block=256,grid=32", s.n, "globaltimer")
    spread = float(offsets.max() - offsets.min())
    return (f"The counters of {len(offsets)} SMs that \\id{{clock()}} reads are up to {latex.count(round(spread))} cycles "
            f"({latex.time(spread / rate / 1e9)}) apart, where the run of 32 blocks takes {latex.time(run)}: latest stop "
            f"less earliest start is a difference of counters (S5, Figure~\\ref{{fig:clocks}}). By \\id{{globaltimer}} no "
            f"SM differs from the first by more than {latex.time(float(timer) / 1e9)}, which is less than the "
            f"{latex.time(trip / 1e9)} that asking it takes.{other_clocks(f)}")


def other_clocks(f: vd.Folder) -> str:
    """What the same difference comes to in experiments that ran on other cards; "" with fewer than two."""
    found = []
    for experiment in ("squares", "timing"):
        try:
            s = Study(f, "squares", experiments=[experiment])
            call = "squares/multi-block:block=256" + (",grid=32" if experiment == "squares" else "")
            found.append((experiment, s.time(call, s.n, "clock")))
        except vd.Lacking:
            continue
    if len(found) < 2:
        return ""
    cards = {r.get("machine_id") for r in runs_shown(f.results, f) if r["experiment"] in dict(found)} - {None}
    said = latex.listing([rf"{latex.count(round(c))} cycles in \id{{{e}}}" for e, c in found])
    return (f" By \\id{{clock()}} that run comes to {said}: how far the counters are apart differs from "
            f"{'card to card' if len(cards) == len(found) else 'run to run'} (Table~\\ref{{tab:provenance}}).")


def latency(f: vd.Folder) -> str:
    s = Study(f, "squares", experiments=["latency"], timing_mode="clock")
    cycles, ns = ([float(f.values("probes.csv", "value", {"quantity": f"load_latency_{level}", "unit": unit})["value"].median())
                   for level in ("l1", "l2", "memory")] for unit in ("cycles", "ns"))
    blocks = values_of(s, "squares/strided", "block", s.n)

    def each(block: int, index: str) -> float:
        return s.time(f"squares/strided:block={block},index={index}", s.n) * block / s.n

    own, compiled_in = each(256, "i32"), each(256, "u64")
    others = [each(b, "u64") for b in blocks if b not in COMPILED_IN]
    most = max(b for b in blocks if b not in COMPILED_IN)
    share = each(most, "u64") / most
    at_once = (f", about what a load takes: one is under way at a time. {most} such threads work at most {latex.digits(share)} cycles "
               f"each for an element, so 256 fill at most {latex.digits(256 * share)} cycles of the latency (S6)" if others and
               all(1 / vd.LATENCY_BOUND < o / cycles[2] < vd.LATENCY_BOUND for o in others) else "")
    return (f"A load takes {latex.digits(cycles[0])} cycles from L1, {latex.digits(cycles[1])} from L2 and "
            f"{latex.digits(cycles[2])} ({latex.digits(ns[2])}\\,ns) from memory. In one block of 256 threads, a number that "
            f"the document compiles in, a thread takes {latex.digits(own)} cycles for each element if it counts by \\id{{int}}, as there, "
            f"and {latex.digits(compiled_in)} if it counts by \\id{{size\\_t}}, with several loads under way. With other numbers of threads, by \\id{{size\\_t}}, it takes "
            f"{latex.digits(min(others))} to {latex.digits(max(others))} cycles{at_once}.")


# ---------------------------------------------------------------------------------------------- twopass


def twopass(f: vd.Folder) -> str:
    s = Study(f, "twopass")
    blocks = values_of(s, "twopass/rolled", "block", s.n)

    def gains(before: str, after: str, of, mode: str | None = None) -> str:
        return ends({f"{b} threads": s.gain(f"twopass/{before}:block={b},finish={of[0]}",
                                            f"twopass/{after}:block={b},finish={of[1]}", s.n, mode) for b in blocks})

    both = ("second-launch", "second-launch")
    return (f"Over blocks of {blocks[0]} to {blocks[-1]} threads at {latex.power(s.n)}, unrolling the last warp gains "
            f"{gains('rolled', 'warp-unrolled', both)} (T1), and unrolling every level by a template another "
            f"{gains('warp-unrolled', 'template-unrolled', both)} (T2). End to end, finishing on the CPU in place of a second launch "
            f"gains {gains('template-unrolled', 'template-unrolled', ('second-launch', 'host'), 'end_to_end')} (T3). "
            f"{s.beside_cub(s.n, 'device', ('block',))}")


# ---------------------------------------------------------------------------------------------- unrolling

CHAINED = ("unroll4", "unroll8")
INDEPENDENT = "unroll/unroll8:block=1024,load=independent"


def unroll_call(name: str, block: int = 1024) -> str:
    return f"unroll/{name}:block={block}" + (",load=chained" if name in CHAINED else "")


def unrolling(f: vd.Folder) -> str:
    s = Study(f, "unroll")
    ladder = [*TREES, *UNROLLED]
    gains = [latex.digits(s.gain(unroll_call(a), unroll_call(b), s.n)["ratio"]) for a, b in zip(ladder, ladder[1:])]
    whole = s.gain(unroll_call("neighbored"), unroll_call("unroll8-complete"), s.n)
    loads = s.gain("unroll/unroll8:block=1024,load=chained", INDEPENDENT, s.n)
    warp = s.gain(INDEPENDENT, unroll_call("unroll8-warp"), s.n)
    best = [(latex.code(v), settings_of(s.fastest(s.n, variant=f"unroll/{v}"), ("block",)).removeprefix("block="))
            for v in ("neighbored", "interleaved", "unroll8", "unroll8-complete")]
    return (f"From one kernel to the next at {latex.power(s.n)}, the steps gain {latex.listing(gains)}: "
            f"{latex.interval(whole)} from the first to \\id{{unroll8-complete}}, where the document has "
            f"{told('U9')[0]} (U9). Eight independent loads in place of eight additions in place gain "
            f"{latex.interval(loads)} (U10); they come with the last warp's step, to which they leave {latex.interval(warp)} (U2). The block of 1024 threads that the document runs is not always the best: the "
            f"fastest has {latex.grouped(best, 'in')}. {s.beside_cub(s.n, 'end_to_end', ('block', 'load'))}")


def counters(f: vd.Folder) -> str:
    """What Nsight Compute counted in unroll's kernels. In a sentence and not in a figure: the efficiency of loads has one step, after the
    two neighbored trees, and U5 compares two kernels' stalls alone; of all nine kernels the CSV has them."""
    s = Study(f, "unroll")
    n = Study(f, "unroll").n

    def of(metric: str, name: str) -> float:
        return f.counter("ncu.csv", unroll_call(name), metric, n)

    efficiency = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
    barrier = "smsp__warp_issue_stalled_barrier_per_warp_active.pct"
    each = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"
    trees = [f"{latex.digits(of(efficiency, v))}\\,\\% in {latex.code(v)}" for v in TREES]
    shares = [latex.digits(of(barrier, v), 2) for v in UNROLLED]
    stalls = [latex.digits(f.counter("ncu.csv", call, each, n), 3)
              for call in (unroll_call("unroll8"), INDEPENDENT, unroll_call("unroll8-warp"))]
    later = min(of(efficiency, v) for v in UNROLLED)
    rest = s.gain(unroll_call("interleaved"), unroll_call("unroll8-complete"), n)["ratio"]
    return (f"Nsight Compute finds {latex.listing(trees)} of the loaded bytes used, and at least {latex.digits(later)}\\,\\% in all "
            f"later kernels, though the last are {latex.digits(rest)} times as fast (U4). As all read the same bytes, their DRAM "
            f"throughput is the time again (U8). Barriers are {latex.listing(shares)}\\,\\% of a warp's stalls from "
            rf"\id{{unroll2}} to the template, where the document has \documentfigure{{51, 44, 26, 33, 24 and 24\,\%}}; for each "
            f"instruction there are {stalls[0]} such stalls in \\id{{unroll8}}, {stalls[1]} with independent loads, and {stalls[2]} with "
            f"the last warp unrolled as well (U5).")


# ----------------------------------------------------------------------------------------------- levels


def stride(granularity: int, finish: str, kind: str = "global") -> str:
    return f"levels/{kind}-stride:block=256,finish={finish},granularity={granularity}"


def granularity(f: vd.Folder) -> str:
    s = Study(f, "levels")
    said = []
    for n in (SMALL, MEDIUM, LARGE):
        loads = values_of(s, "levels/global-stride", "granularity", n)
        times = {g: s.time(stride(g, "atomic"), n) for g in loads}
        best = min(times, key=times.get)
        near = [g for g in loads if times[g] <= NEAR * times[best]]
        span = f" ({near[0]} to {near[-1]} are within {latex.percent(NEAR - 1)})" if len(near) > 1 else ""
        said.append(f"{best} loads a thread at {latex.power(n)}{span}, which gain "
                    f"{latex.interval(s.gain(stride(1, 'atomic'), stride(best, 'atomic'), n))} over one load")
    local = [latex.interval(s.gain(stride(JUDGED_LOADS, "atomic", "local"), stride(JUDGED_LOADS, "atomic"), n)) for n in (SMALL, LARGE)]
    return (f"With atomics the best granularity is {'; '.join(said)} (Figure~\\ref{{fig:levels}}). With {JUDGED_LOADS} loads, a "
            f"global stride gains {local[0]} over a local one at {latex.power(SMALL)} and {local[1]} at {latex.power(LARGE)} (L2).")


def loads(f: vd.Folder) -> str:
    """How the claims of levels depend on the number of loads a thread, which the text leaves open."""
    s = Study(f, "levels")
    over_tree = [(g, s.gain("levels/divergence-free:block=256,finish=atomic", stride(g, "atomic"), s.n)["ratio"])
                 for g in values_of(s, "levels/global-stride", "granularity", s.n) if 1 < g <= FEW_BLOCKS]
    return (f"What L1, L5, L8 and L9 say depends on the number of loads a thread, which the text leaves open: at {latex.power(s.n)} a "
            f"global stride gains over the divergence-free tree, both with atomics, "
            f"{latex.listing([f'{latex.digits(ratio)} by {g} loads' for g, ratio in over_tree])}.")


def finish(f: vd.Folder) -> str:
    """The three ways to finish, end to end, with many blocks and with few; and what the atomics cost."""
    s, said = Study(f, "levels"), []
    for n in (SMALL, LARGE):
        by_blocks = []
        for loads in GROUPS:
            times = [latex.time(s.time(stride(loads, how), n, "end_to_end")) for how in ("atomic", "relaunch", "host")]
            by_blocks.append(f"{latex.listing(times)} with {latex.count(-(-n // (256 * loads)))} blocks")
        said.append(f"at {latex.power(n)}, {', and '.join(by_blocks)}")

    def left(atomic: str, host: str, n: int) -> pd.Series:
        return speedup.at(f.results, s.found(atomic, n), s.found(host, n, "device_part"), n)

    tree = "levels/divergence-free:block=256,finish={}"
    alone = [latex.interval(left(tree.format("atomic"), tree.format("host"), n)) for n in (SMALL, LARGE)]
    by_loads = [latex.digits(left(stride(JUDGED_LOADS, "atomic"), stride(JUDGED_LOADS, "host"), n)["ratio"])
                for n in (SMALL, LARGE)]
    longer = s.time(tree.format("atomic"), SMALL) - s.time(tree.format("host"), SMALL, "device_part")
    # Where hardly a block is left to add, what atomics cost is the zeroing of the result.
    few = max(values_of(s, "levels/global-stride", "granularity", SMALL))
    zeroing = s.time(stride(few, "atomic"), SMALL) - s.time(stride(few, "host"), SMALL, "device_part")
    return (f"End to end an atomic, a relaunch and the CPU take, in this order, {'; '.join(said)} (L5, L8, L9). With one element a thread, finishing by "
            f"atomics leaves {alone[0]} of the speed of a kernel that only stores its partial sums at {latex.power(SMALL)}, and "
            f"{alone[1]} at {latex.power(LARGE)} (L7); with {JUDGED_LOADS} loads, {by_loads[0]} and {by_loads[1]}. Of the {latex.time(longer)} "
            f"that they take longer at {latex.power(SMALL)}, zeroing the result is about {latex.time(zeroing)}.")


def decomposition(f: vd.Folder) -> str:
    """Each level on its own, from the naive kernel with relaunches, and all together."""
    s, said = Study(f, "levels"), []
    naive = "levels/naive:block=256,finish=relaunch,test=bits"
    for n in (SMALL, LARGE):
        loads = min(values_of(s, "levels/global-stride", "granularity", n), key=lambda g: s.time(stride(g, "atomic"), n))
        thread = s.gain(stride(1, "relaunch"), stride(loads, "relaunch"), n)
        block = s.gain(naive, "levels/completely-unrolled:block=256,finish=relaunch", n)
        between = s.gain(naive, naive.replace("relaunch", "atomic"), n)
        whole = s.gain(naive, stride(loads, "atomic"), n)
        said.append(f"at {latex.power(n)} work in a thread ({loads} loads) gains {latex.interval(thread)}, the tree in a block "
                    f"{latex.interval(block)}, atomics between blocks {latex.interval(between)}, and all three, with the "
                    f"divergence-free tree, {latex.interval(whole)}")
    return (f"One level at a time, with relaunches, over the naive tree (work in a thread: over a global stride of one load): "
            f"{'; '.join(said)} (L1, L3, L4). "
            f"{s.beside_cub(LARGE, 'device', ('finish', 'granularity'))}")


def composed(f: vd.Folder) -> str:
    """L1 by variants that are composed of the levels: each level's gain from the first idea to the last, whatever the
    others have. "" without ablation.csv, or without what it compares at any size."""
    found, said, most = ablation.read(f), [], {}
    for n in found.sizes() if found else []:
        try:
            gains = {level: found.main_effect(level, ablation.LAST[level], n, ablation.FIRST[level])
                     for level in ablation.LEVELS}
            whole = found.gain(ablation.FIRST, ablation.LAST, n)
        except vd.Lacking:
            continue
        if n in ablation.SIZES.values():
            words = [f"{PLACES[level]} {latex.interval(vars(g))}" for level, g in gains.items()]
            said.append(f"at {latex.power(n)} {latex.listing(words)}, and all together {latex.interval(vars(whole))}")
        most.setdefault(max(gains, key=lambda level: gains[level].ratio), []).append(n)
    if not said:
        return ""
    sizes = [n for of in most.values() for n in of]
    decides = [f"{PLACES[level]} at {latex.runs_of_sizes(of, sizes)}" for level, of in most.items()]
    first, last = (", ".join(rf"\id{{{choices[level]}}}" for level in ablation.LEVELS)
                   for choices in (ablation.FIRST, ablation.LAST))
    return (f"Reductions composed of one choice at each level tell the levels apart. From {first} to {last}, each level gains, "
            f"the others alike: {'; '.join(said)}. Most is gained {latex.listing(decides)} (L1). {as_documents(found)}").rstrip()


def as_documents(found: ablation.Ablation) -> str:
    """Whether composed variants take as long as the documents' calls that make the same choices; "" without such."""
    n = max(found.sizes())
    pairs = found.documents(n)
    if not pairs:
        return ""
    near = [p for p in pairs if 1 / NEAR <= p[3].ratio <= NEAR]
    others = [f"{latex.interval(vars(gain))} over {latex.code(call.partition(':')[0])}"
              + (f" ({latex.escape(differs)})" if differs else "")
              for _, call, differs, gain in pairs if not 1 / NEAR <= gain.ratio <= NEAR]
    return (f"Of {latex.number_of(len(pairs), 'call', 'calls')} of the documents that make the same choices, "
            f"{latex.number_of(len(near), 'takes', 'take')} as long at {latex.power(n)}, to within "
            f"{latex.percent(NEAR - 1)}" + (f"; the speedup is {latex.listing(others)}" if others else "") + ".")


# -------------------------------------------------------------------------------------------- multiblock


def multiblock(f: vd.Folder) -> str:
    s = Study(f, "multiblock")
    two = "multiblock/two-launch"
    grids = values_of(s, two, "grid", s.n)
    times = {g: s.time(f"{two}:grid={g}", s.n) for g in grids}
    best, one_each = min(times, key=times.get), -(-s.n // 1024)
    near = [g for g in grids if times[g] <= NEAR * times[best]]
    each = s.gain(f"{two}:grid={one_each}", f"{two}:grid=auto", s.n)
    single = s.gain(f"{two}:grid=1", f"{two}:grid=auto", s.n)
    last, warp = (s.gain(f"multiblock/{a}:grid=auto", f"multiblock/{b}:grid=auto", s.n)
                  for a, b in (("two-launch", "last-block"), ("last-block", "last-block-warp")))
    like_it = f"those of {near[0]} to {near[-1]} blocks are" if len(near) > 1 else "no other is"
    return (f"At {latex.power(s.n)} two launches are fastest with {latex.number_of(best, 'block', 'blocks')}; of the grids that were "
            f"tried, {like_it} within {latex.percent(NEAR - 1)} of that. As many blocks as the GPU holds, the document's rule, gain {latex.interval(each)} over a "
            f"thread for each element and {latex.interval(single)} over one block (M1). A last-block guard in place of the second "
            f"launch gains {latex.interval(last)} (M2), and reduction by warps {latex.interval(warp)} (M3). "
            f"{s.beside_cub(s.n, 'device', ('grid',))}")


# --------------------------------------------------------------------------------------------- accuracy


def accuracy_rows(f: vd.Folder) -> pd.DataFrame:
    table = f.experiment("accuracy")
    if table is None:
        raise vd.Lacking("no accuracy.csv")
    return table[table["status"].isin(["ok", "wrong"]) & (table["device"] == "cuda")]


def accuracy(f: vd.Folder) -> str:
    rows = accuracy_rows(f)
    wrong = int((rows["status"] == "wrong").sum())
    rows = rows[(rows["dataset"] == "random") & rows["sum_of_magnitudes"].gt(0)]
    if not len(rows):
        raise vd.Lacking("accuracy.csv has no errors")
    n = int(rows["n"].max())
    rows = rows[rows["n"] == n].assign(relative=lambda r: r["abs_error"] / r["sum_of_magnitudes"])
    cub, hand = rows[rows["variant"] == "cub/sum"], rows[rows["variant"].map(rs.is_handwritten)]
    if not len(cub) or not len(hand):
        raise vd.Lacking("accuracy.csv lacks CUB or the documents' kernels")
    least, most = hand.loc[hand["relative"].idxmin()], hand.loc[hand["relative"].idxmax()]
    return (f"Of {latex.power(n)} uniform f32 the error of CUB's sum is {scientific(float(cub['relative'].iloc[0]))} of the sum "
            f"of magnitudes, and that of the documents' kernels {scientific(least['relative'])} ({latex.code(least['variant'])}, "
            f"finish={latex.escape(rs.parse_settings(least['settings']).get('finish', 'own'))}) to {scientific(most['relative'])} "
            f"({latex.code(most['variant'])}; Figure~\\ref{{fig:accuracy}}). {latex.number_of(wrong, 'result is', 'results are').capitalize()} "
            f"beyond the bound of its variant.")


def identity(f: vd.Folder) -> str:
    """Which variants give the same bits in every call."""
    rows = accuracy_rows(f)
    rows = rows[(rows["dataset"] == "random") & (rows["n"] == SMALL) & rows["distinct_results"].notna()]
    if not len(rows):
        raise vd.Lacking("accuracy.csv does not count distinct results")
    vary = rows[rows["distinct_results"] > 1]
    same = f"{len(rows) - len(vary)} of {len(rows)} choices of variant and finish give the same bits"
    if not len(vary):
        return f"In 1000 calls at {latex.power(SMALL)}, {same}."
    atomic = vary["settings"].str.contains("finish=atomic")
    who = ("all of which finish by atomics" if atomic.all() else
           "of " + latex.listing([latex.code(v) for v in dict.fromkeys(vary["variant"])]))
    low, high = int(vary["distinct_results"].min()), int(vary["distinct_results"].max())
    return (f"In 1000 calls at {latex.power(SMALL)}, {same}; the others, {who}, give "
            f"{low if low == high else f'{low} to {high}'} different results.")


# --------------------------------------------------------------------------------------------- compilers


def compiled(f: vd.Folder) -> pd.DataFrame:
    """compiler.csv: what the compilers made of each loop."""
    table = machine_code.read(f.results)
    if table is None:
        raise vd.Lacking("no compiler.csv")
    return table


def compiler(f: vd.Folder) -> str:
    """How many elements an iteration of nvcc's loops takes, by the type of the index."""
    gpu = machine_code.of(compiled(f), compiler="nvcc", loop="main")
    kinds: dict[tuple, list[str]] = {}
    for kernel in dict.fromkeys(gpu[gpu["index"].isin(machine_code.INDICES) & ~gpu["kernel"].str.startswith("halve-")]["kernel"]):
        by_index = tuple(machine_code.unrolled(machine_code.of(gpu, kernel=kernel, index=i)) for i in machine_code.INDICES)
        kinds.setdefault(by_index, []).append(kernel)
    if not kinds:
        raise vd.Lacking("compiler.csv has no loops of nvcc")
    said = []
    for numbers, kernels in kinds.items():
        documents = {k.split("/")[0] for k in kernels}
        all_of = {d: [k for ks in kinds.values() for k in ks if k.startswith(d + "/")] for d in documents}
        whole = all(set(v) <= set(kernels) for v in all_of.values())
        who = (ids([d for d in rs.DOCUMENTS if d in documents]) if whole else
               latex.listing([latex.code(k) for k in kernels]))
        said.append(f"{', '.join(numbers)} in {who}")
    return (f"Counting by {ids(machine_code.INDICES)}, an iteration takes so many elements: "
            f"{'; '.join(said)} (Table~\\ref{{tab:compiler}}).")


def halving(f: vd.Folder) -> str:
    """Shifts and divisions (T6), and whether the last steps of unroll differ in code (U3)."""
    gpu = machine_code.of(compiled(f), compiler="nvcc")
    same = [i for i in ("int", "unsigned") if machine_code.same_code(gpu, f"halve-{i}-shift", f"halve-{i}-divide")]
    counts = [int(machine_code.of(gpu, kernel=f"unroll/{v}", loop="kernel").iloc[0]["instructions"])
              for v in ("unroll8-warp", "unroll8-complete", "unroll8-template")
              if len(machine_code.of(gpu, kernel=f"unroll/{v}", loop="kernel"))]
    if len(counts) < 3:
        raise vd.Lacking("compiler.csv lacks kernels of unroll")
    shift = ("the same code" if len(same) == 2 else f"the same code for {same[0]} alone" if same else "different code")
    return (f"A loop that halves its index has {shift} in nvcc's hands whether it shifts or divides (T6). The three last kernels of "
            f"\\id{{unroll}} have {latex.listing([str(c) for c in counts])} instructions (U3).")


def host_loops(f: vd.Folder) -> str:
    """T5 and U7: the documents' own loop on the CPU."""
    which = {"device": "cpu", "operation": "vector_add", "element_type": "i32", "cache_state": "warm",
             "timing_mode": "end_to_end"}
    if f.experiment("cpu") is None:
        raise vd.Lacking("no cpu.csv")
    n, said = 2**10, []
    for level in ("O2", "O3"):
        gains = []
        for by in (2, 4):
            base, mine = (f.at("cpu", which, f"host/add-{v}:opt={level}", n, "end_to_end") for v in ("plain", f"unroll{by}"))
            point = speedup.at(f.results, mine, base, n)
            if point is None:
                raise vd.Lacking("cpu.csv has them from different runs")
            gains.append(f"{latex.interval(point)} by {by}")
        said.append(f"{latex.listing(gains)} at -{level}")
    return (f"The documents' example, adding two vectors, gains from unrolling by hand on the CPU at {latex.power(n)}: "
            f"{'; '.join(said)} (T5, U7).")


def host_code(f: vd.Folder) -> str:
    """What the compilers made of the plain loop of that example."""
    loops = dict(machine_code.host_loops(compiled(f)))
    if "host/add-plain" not in loops:
        raise vd.Lacking("compiler.csv lacks host/add-plain")
    columns = [(c, level) for c in machine_code.HOST for level in machine_code.LEVELS]
    found = {c: [(level, n) for (of, level), n in zip(columns, loops["host/add-plain"]) if of == c and level != "O0"]
             for c in machine_code.HOST}
    said = [", ".join(f"{n} at -{level}" for level, n in of) + rf" by \id{{{c}}}" for c, of in found.items()]
    return (f"An iteration of the plain loop takes so many elements in machine code: {'; '.join(said)} "
            r"(Table~\ref{tab:host-loops}).")


# ---------------------------------------------------------------------------- where the data come from


def runs_shown(results: Results, folder: vd.Folder) -> list[dict]:
    """The records in machine.json of the runs whose rows lie in the folder."""
    ids: dict[str, str] = {}
    for path in rs.experiments_in(results.folder):
        if path.stem != "cpu":
            ids |= {i: path.stem for i in folder.experiment(path.stem)["run_id"].unique()}
    return [{"experiment": ids[r["run_id"]], **r} for r in results.machine.get("runs", default=[]) if r.get("run_id") in ids]


def cards(results: Results, folder: vd.Folder) -> str:
    """Which experiments were measured on which card."""
    by_card: dict[str, list[str]] = {}
    for run in runs_shown(results, folder):
        of = by_card.setdefault(str(run.get("machine_id") or ""), [])
        if run["experiment"] not in of:
            of.append(run["experiment"])
    if not by_card or "" in by_card:
        return ABSENT
    if len(by_card) == 1:
        return "All experiments ran on one card."
    words = ["one", *"a second,a third,a fourth,a fifth,a sixth,a seventh,an eighth,a ninth,a tenth".split(",")]
    groups = sorted(by_card.values(), key=lambda g: "comparison" not in g)
    said = [f"{ids(g)} on {words[k] if k < len(words) else 'another'}" for k, g in enumerate(groups)]
    return (f"The experiments ran on {len(by_card)} cards of this model: {'; '.join(said)}. So no speedup is "
            f"taken from one experiment to another: each has CUB's call in its own rounds.")


def second_machine(results: Results) -> str:
    """What the folders beside hold, and by which method."""
    said = []
    for other in results.beside:
        have = [e for e in ("comparison", "limits", "timing", "index", *EXPERIMENTS) if (other.folder / f"{e}.csv").exists()]
        lack = [e for e in EXPERIMENTS if e not in have] + [f for f in ("probes", "ncu", "verdicts") if
                                                            not (other.folder / f"{f}.csv").exists()]
        dates = sorted({str(t)[:10] for t in other.comparison["timestamp_utc"] if t})
        name = latex.escape(str(other.machine.get("gpu.name")))
        said.append(f"On an {name} there are {ids(have)}, of {dates[-1] if dates else 'unknown date'}." + (f" Not measured there: {ids(lack)}; so there are no "
                                  f"verdicts for it." if "verdicts" in lack else
                                  f" Not measured there: {ids(lack)}." if lack else ""))
    return " ".join(said) or "Results of no other GPU lie beside these."


def selftest(results: Results) -> str:
    """How often the harness calls a call different from itself, and how many planted effects it tells."""
    path = results.folder / "selftest.json"
    if not path.exists():
        return ABSENT
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        said = [f"in {record[k]['false_positives']} of {record[k]['comparisons']} {words}" for k, words in
                (("together", "comparisons of a call with itself in the same rounds"), ("apart", "between two runs"))]
        level = record["confidence"]
        planted = record["planted"]
        told = sum(bool(p["found"]) for p in planted)
    except (KeyError, TypeError, ValueError) as error:
        raise rs.ResultsError(f"{path} is not what `reductio selftest --json` writes ({error}): run it again")
    return (f"Its self-test finds a difference where there is none {latex.listing(said)}, with intervals of "
            f"{latex.percent(level)}; of {len(planted)} planted effects, none among them, it tells "
            f"{'all' if told == len(planted) else told} as they are.")


def artifact(results: Results, folder: vd.Folder) -> str:
    """What the experiments took: time and memory."""
    runs = runs_shown(results, folder)
    spent = [(r["experiment"], (r.get("time_spent") or {}).get("wall_s")) for r in runs]
    spent = [(e, w) for e, w in spent if w]
    rows = results.comparison
    if not spent or rows is None:
        return ABSENT
    longest = max(spent, key=lambda s: s[1])
    return (f"On the machine of this paper the {len(spent)} experiments took {latex.digits(sum(w for _, w in spent) / 60)} "
            f"minutes in all, of which \\id{{{longest[0]}}} {latex.digits(longest[1] / 60)}. The largest input is "
            f"{latex.binary(float(rows['bytes'].max()))} in the GPU's memory; kernels that overwrite their input have a copy of it beside.")


SENTENCES = {"FindingSquares": squares, "FindingSmClocks": clocks, "FindingLatency": latency, "FindingTwopass": twopass,
             "FindingUnrolling": unrolling, "FindingCounters": counters, "FindingGranularity": granularity, "FindingLoads": loads,
             "FindingFinish": finish, "FindingDecomposition": decomposition, "FindingMultiblock": multiblock,
             "FindingAccuracy": accuracy, "FindingIdentity": identity, "FindingCompiler": compiler,
             "FindingHalving": halving, "FindingHostLoops": host_loops, "FindingHostCode": host_code}


def macros(results: Results) -> dict[str, str]:
    """All of them, by name."""
    folder = vd.Folder(results.folder, results.cpu_folder)
    made = {}
    for name, sentence in SENTENCES.items():
        try:
            made[name] = sentence(folder)
        except vd.Lacking:
            made[name] = ABSENT
    return made | {"FindingAblation": composed(folder), "FindingCards": cards(results, folder), "FindingSecondMachine": second_machine(results),
                   "FindingSelftest": selftest(results), "FindingArtifact": artifact(results, folder)}
