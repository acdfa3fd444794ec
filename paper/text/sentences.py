"""What main.tex says about the committed results in words alone, each with its check. Numbers stand in its macros."""

from __future__ import annotations

import pandas as pd

from facts import H100, Fact, agreement, differ, same_code
from results import Results



def by_hand(d: Results, experiment: str, mode: str, operation: str = "sum", least: int = 0, **where) -> pd.DataFrame:
    """The documents' calls, L2 cold and dirty, without page-locked memory, which no document uses."""
    rows = d.rows(experiment, device="cuda", timing_mode=mode, operation=operation, cache_state="cold_dirty",
                  status="ok", kind="document", **where)
    return rows[(rows["n"] >= least) & ~rows["settings"].str.contains("host-pinned")]


def fastest(d: Results, experiment: str, n: int, call: str, mode: str = "device", operation: str = "sum") -> bool:
    """Whether a call is the fastest of its experiment."""
    rows = by_hand(d, experiment, mode, operation, n=n)
    best = rows.loc[rows["time_median_s"].idxmin()]
    variant, _, settings = call.partition(":")
    return best["variant"] == variant and set(settings.split(",")) <= {"", *best["settings"].split(";")}


def whole(d: Results, mode: str, **where) -> pd.DataFrame:
    return by_hand(d, "comparison", mode, element_type="f32", **where)


def most(d: Results, mode: str, least: int = 0) -> tuple[str, int]:
    """Which of the documents' calls gains most over CUB, and at which size."""
    rows = whole(d, mode, least=least)
    best = rows.loc[rows["speedup"].idxmax()]
    return best["variant"], best["n"]


def ends(d: Results) -> tuple[str, str]:
    """The slowest and the fastest of the documents' sums end to end at 2^24."""
    times = whole(d, "end_to_end", n=2**24).set_index("variant")["time_median_s"]
    return times.idxmax(), times.idxmin()


def in_every_way(d: Results) -> pd.Series:
    """CUB's sum of 2^20 elements on a warm cache, by way of timing."""
    rows = d.rows("timing", "cub/sum", element_type="i32", cache_state="warm", n=2**20)
    return rows.set_index("timing_mode")["time_median_s"]


def agree_large(d: Results) -> bool:
    """Whether plain loops differ from the harness end to end only below 2^22 elements, and there at most points."""
    differing = off(d, "end_to_end")
    return differing["n"].max() < 2**22 and len(differing) > 0.5 * len(agreement(d, "end_to_end", below=2**22))


def repeats(d: Results) -> float:
    """The share of the points whose interval of two runs' ratio holds 1."""
    rows = d.rows("repeat", timing_mode="device").dropna(subset=["ratio"])
    return rows.eval("ratio_low <= 1 <= ratio_high").mean()


def best_block(d: Results, variant: str) -> str:
    rows = d.rows("unrolling", variant, n=2**24, timing_mode="end_to_end")
    return rows.loc[rows["device_part_median_s"].idxmin(), "settings"].partition(";")[0]


def differing(d: Results) -> pd.DataFrame:
    """The calls that give other bits from time to time."""
    rows = d.rows("accuracy", dataset="random", n=2**20)
    return rows[rows["distinct_results"] > 1]


def loads(d: Results, n: int) -> int:
    """The number of loads a thread with which a global stride and atomics are fastest."""
    rows = d.rows("levels", "levels/global-stride:finish=atomic", n=n, timing_mode="device", status="ok")
    return int(rows.loc[rows["time_median_s"].idxmin(), "settings"].partition("granularity=")[2].partition(";")[0])


def verdicts(d: Results, *claims: str) -> set[str]:
    rows = d.rows("verdicts", role="claim")
    return set(rows[rows["claim"].isin(claims)]["verdict"])


def off(d: Results, mode: str) -> pd.DataFrame:
    """The points at which times from outside differ by more than is allowed."""
    rows = agreement(d, mode)
    return rows[rows["difference"].abs() > rows["allowed"]]


def counter(d: Results, call: str, metric: str) -> float:
    return d.row("ncu", call, n=2**24, metric=metric)["value"]


def efficiency(d: Results) -> list[float]:
    return [counter(d, f"unroll/{v}", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct") for v in
            ("neighbored", "neighbored-less", "interleaved", "unroll2", "unroll8:load=chained", "unroll8-complete")]


def barriers(d: Results) -> list[float]:
    return [counter(d, f"unroll/{v}", "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio") for v in
            ("unroll8:load=chained", "unroll8:load=independent", "unroll8-warp")]


def gains(d: Results, n: int | None, *names: str) -> list[float]:
    return [d.contrast(name, n).value for name in names]


def composed(d: Results, n: int) -> list[float]:
    return gains(d, n, "composed-between", "composed-thread", "composed-block")


def grids(d: Results) -> pd.Series:
    """Times of two launches by the number of blocks per SM."""
    rows = d.rows("multiblock", "multiblock/two-launch", n=10**8, timing_mode="device", status="ok")
    grid = pd.to_numeric(rows["settings"].str.extract(r"grid=(\d+)")[0])
    return rows.assign(each=grid / d.sm_count).set_index("each")["time_median_s"]


def first(d: Results, call: str, mode: str) -> list[float]:
    """The first call in a while over one in a loop, by size."""
    rows = d.rows("timing", call, element_type="i32", timing_mode=mode, cache_state="cold_dirty")
    times = rows.pivot(index="n", columns="caller", values="time_median_s").dropna()
    return (times["first"] / times[""]).tolist()


def errors(d: Results, *calls: str) -> list[float]:
    rows = d.rows("accuracy", device="cuda", dataset="random", n=2**28)
    return [rows[rows["variant"] == v]["abs_error"].max() for v in calls]


def host(d: Results, n: int = 2**24) -> pd.Series:
    rows = d.other("cpu-intel-xeon").rows("cpu", operation="sum", element_type="f32", cache_state="warm", n=n,
                                           status="ok")
    return rows.set_index(["variant", "settings"])["time_median_s"]


def unrolled(d: Results) -> list[float]:
    """The speedup of unrolling the host's loop, by the compiler's level."""
    times, levels = host(d), ("opt=O0", "opt=O1", "opt=O2", "opt=O3")
    return [times["host/plain", level] / times["host/unroll8", level] for level in levels]


def of_host(d: Results, level: str) -> float:
    """The elements of a vector in g++'s loop."""
    return d.row("compiler", compiler="g++", level=level, kernel="host/add-plain", element_type="i32",
                 loop="main")["elements_per_load"]


def fits(d: Results, scope: str) -> float:
    """The share of the device-timed f32 calls whose times a latency and a bandwidth fit."""
    rows = d.rows("models", experiment="comparison", device="cuda", timing_mode="device", element_type="f32",
                  range=scope)
    return (rows["status"] == "ok").sum() / (rows["status"] != "too_few_sizes").sum()


def minutes(d: Results, *experiments: str) -> float:
    runs = [run for run in d.machine.get("runs") if not experiments or run["experiment"] in experiments]
    return sum(run["time_spent"]["wall_s"] for run in runs) / 60


def finishes(d: Results, n: int) -> float:
    """The slowest over the fastest way to finish, end to end, with 64 loads per thread."""
    times = gains(d, n, "finish-atomic-64", "finish-relaunch-64", "finish-host-64")
    return max(times) / min(times)


def said(words: str, of) -> Fact:
    return Fact("paper/main.tex", words, of)


SENTENCES = [
    said("36 claims", lambda d: len(d.rows("verdicts", role="claim")) == 36),
    said("On large inputs CUB is ahead of all of the documents' kernels",
         lambda d: (whole(d, "device", least=2**24)["speedup_ci_high"] < 1).all()),
    said(r"On large inputs no hand-written kernel reaches CUB. At $2^{28}$ the fastest is "
         r"\id{multiblock/last-block-warp}",
         lambda d: fastest(d, "comparison", 2**28, "multiblock/last-block-warp")),
    said(r"The largest gain is that of \id{levels/completely-unrolled} with atomics at $2^{13}$",
         lambda d: most(d, "device") == ("levels/completely-unrolled", 2**13)
         and fastest(d, "comparison", 2**13, "levels/completely-unrolled:finish=atomic")),
    said("nowhere slower than CUB",
         lambda d: d.row("goals", goal="sums", quantity="slower", element_type="all")["measured"] == 0),
    said("None failed, was wrong, or came out faster than the memory",
         lambda d: set(d.rows("comparison")["status"]) <= {"ok", "over_limit", "refused", "no_memory"}),
    said(r"from $2^{22}$ on the most that any of them gains is",
         lambda d: most(d, "end_to_end", 2**22) == ("multiblock/last-block-warp", 2**22)),
    said("the slowest hand-written sum takes", lambda d: ends(d) == ("unroll/neighbored", "multiblock/last-block")),
    said("So small sums are a matter of how one calls", lambda d: (t := in_every_way(d))["end_to_end"] > 3 * t["device"]
         and t["device"] > 2 * t["graph"]),
    said("takes as long on the device", lambda d: all(abs(r - 1) < 0.05 for r in first(d, "cub/sum", "device"))),
    said("agree in a graph", lambda d: len(off(d, "graph")) == 0),
    said("End to end they agree on large inputs alone: below $2^{22}$ elements most of their times differ",
         agree_large),
    said(r"less than the \confidence{} that the intervals promise", lambda d: repeats(d) < 0.95),
    said(r"\id{multi-block-tree} with two blocks per SM",
         lambda d: fastest(d, "squares", 2**20, f"squares/multi-block-tree:grid={2 * d.machine.get('gpu.sm_count')}",
                           "end_to_end", "sum_of_squares")),
    said("makes the same code of a loop that halves its index", lambda d: same_code(d, compiler="nvcc")),
    said("leaves the plain loop as it is at -O2, and makes vectors of it at -O3",
         lambda d: (of_host(d, "O2"), of_host(d, "O3")) == (1, 4)),
    said("Unrolling the tree no longer pays", lambda d: verdicts(d, "T1", "T2") == {"reversed", "no effect"}),
    said("(U1), less at each step",
         lambda d: (g := gains(d, 2**24, "U1a", "U1b", "U1c")) == sorted(g, reverse=True)),
    said("the document's 1024 threads are not always the best",
         lambda d: best_block(d, "unroll/neighbored") != "block=1024"),
    said("That efficiency has one step",
         lambda d: (e := efficiency(d))[0] == e[1] < 0.3 * e[2] and min(e[2:]) > 0.97 * max(e)),
    said("most of that is due to the independent loads",
         lambda d: (b := barriers(d))[0] - b[1] > 0.5 * (b[0] - b[2]) > 0),
    said("Work inside a thread decides on large inputs", lambda d: gains(d, None, "levels-thread-large")[0] > max(
        gains(d, 2**28, "levels-block", "decomposition.atomic-naive"))),
    said("So small inputs are won between blocks, and large ones inside a thread",
         lambda d: [(c := composed(d, n)).index(max(c)) for n in (2**12, 2**20)] == [0, 1]),
    said(r"grows with the input: 4 at $2^{20}$",
         lambda d: [loads(d, n) for n in (2**20, 2**24, 2**28)] == [4, 32, 512]),
    said("A global stride is hardly faster than a local one", lambda d: all(
        0.98 < g < 1.03 for n in (2**20, 2**28) for g in gains(d, n, *(f"levels.strides.{k}" for k in (2, 4, 8, 16, 32, 64))))),
    said("With few blocks all three ways to finish are close",
         lambda d: max(finishes(d, 2**20), finishes(d, 2**28)) < 1.1),
    said("one block per SM and sixteen are within two percent of each other",
         lambda d: (t := grids(d).loc[1:16]).max() < 1.02 * t.min()),
    said("more than any other document's on the device",
         lambda d: gains(d, None, "multiblock-over-cub") > gains(d, None, "twopass-over-cub")
         and gains(d, None, "multiblock-over-cub") > gains(d, None, "levels-over-cub")),
    said("No result is beyond the error bound of its variant",
         lambda d: "wrong" not in set(d.rows("accuracy")["status"])),
    said("hundreds of times as exact as the long chains",
         lambda d: (e := errors(d, "cub/sum", "squares/strided"))[1] > 200 * e[0]),
    said("The others finish by atomics", lambda d: differing(d)["settings"].str.contains("finish=atomic").all()),
    said(r"Beyond L2 the model fits nearly every kernel within 5\,\%. Inside L2 it fits almost none",
         lambda d: fits(d, "beyond") > 0.9 and fits(d, "inside") < 0.2),
    said("OpenMP reads fastest", lambda d: host(d).idxmin()[0] == "openmp/sum"),
    said("Unrolling the host's loop by hand gains nothing from -O0 to -O3",
         lambda d: all(abs(u - 1) < 0.05 for u in unrolled(d))),
    said("Every claim that both decide at its document's size has the same verdict", lambda d: not differ(d, H100, "claim")),
    said("coalescing (S1), more threads and blocks (S2, S3), independent loads (U10), a "
         "grid that fills the GPU (M1), one launch in place of two (M2)",
         lambda d: verdicts(d, "S1", "S2", "S3", "U10", "M1", "M2") == {"holds"}),
    said("unrolled trees (T2) and shifts in place of divisions (T6)",
         lambda d: verdicts(d, "T2", "T6") == {"no effect"}),
    said("lanes in lock-step (T1) and the clock of one SM (S5)", lambda d: verdicts(d, "T1", "S5") == {"reversed"}),
    said("half an hour in all", lambda d: 25 < minutes(d) < 35 and 0.3 < minutes(d, "tuned") / minutes(d) < 0.45),
]
