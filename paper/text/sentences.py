"""What main.tex says about the committed results in words alone, each with its check. Numbers stand in its macros."""

import json

import pandas as pd

import contrasts
from facts import (BEST, H100, OTHERS, Fact, agreement, by_hand, compiled, differ, exact_over_cub, fastest, longer,
                   of_tuned, pairs, same_code, seconds)
from figures.index import speeds
from results import Results


def cub_ahead(d: Results) -> bool:
    """All of the documents' sums are slower than CUB on large inputs."""
    return (by_hand(d, element_type="f32", least=2**24)["speedup_ci_high"] < 1).all()


def most(d: Results) -> tuple[str, int]:
    """Which of the documents' calls gains most over CUB, and at which size."""
    rows = by_hand(d, element_type="f32")
    best = rows.loc[rows["speedup"].idxmax()]
    return best["variant"], best["n"]


def in_every_way(d: Results) -> pd.Series:
    """CUB's sum of 2^20 elements on a warm cache, by way of timing."""
    rows = d.rows("timing", "cub/sum", element_type="i32", cache_state="warm", n=2**20)
    return rows.set_index("timing_mode")["time_median_s"]


def agree_large(d: Results) -> bool:
    """Whether plain loops differ from the harness end to end only below 2^22 elements, and there at most points."""
    differing = off(d, "end_to_end")
    return differing["n"].max() < 2**22 and len(differing) > 0.5 * len(agreement(d, "end_to_end", below=2**22))


def repeats(d: Results, file: str) -> float:
    """The share of the points whose interval of two runs' ratio holds 1."""
    rows = d.rows(file, timing_mode="device").dropna(subset=["ratio"])
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


def grids(d: Results, variant: str) -> pd.Series:
    """Times by the number of blocks per SM."""
    rows = d.rows("multiblock", f"multiblock/{variant}", n=10**8, timing_mode="device", status="ok")
    grid = pd.to_numeric(rows["settings"].str.extract(r"grid=(\d+)")[0])
    return rows.assign(each=grid / d.machine.get("gpu.sm_count")).set_index("each")["time_median_s"]


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


def fits(d: Results, scope: str) -> float:
    """The share of the device-timed f32 calls whose times a latency and a bandwidth fit."""
    rows = d.rows("models", experiment="comparison", device="cuda", timing_mode="device", element_type="f32",
                  range=scope)
    return (rows["status"] == "ok").sum() / (rows["status"] != "too_few_sizes").sum()


def finishes(d: Results, n: int) -> float:
    """The slowest over the fastest way to finish, end to end, with 64 loads per thread."""
    times = gains(d, n, "finish-atomic-64", "finish-relaunch-64", "finish-host-64")
    return max(times) / min(times)


def by_size(d: Results) -> pd.Series:
    """tuned's speedup over CUB, f32, aligned, L2 cold and dirty."""
    return of_tuned(d, "device cold_dirty", element_type="f32").set_index("n")["speedup"]


def replay(d: Results, n: int) -> pd.Series:
    """Times of the kernels of Python's calls, CUB and tuned aside."""
    rows = d.rows("peers", element_type="f32", timing_mode="replay", n=n, status="ok")
    return rows[~rows["group"].isin(["cub", "tuned"])].set_index("variant")["time_median_s"]


def goals_missed(d: Results) -> int:
    rows = d.rows("goals")
    return rows.loc[rows["verdict"] == "missed", "goal"].nunique()


def said(words: str, of) -> Fact:
    return Fact("paper/main.tex", words, of)


SENTENCES = [
    said(r"the effect that counts, 2\,\% by the GPU's clock and 5\,\% by the host's",
         lambda d: (e := contrasts.effects())["device"] == e["clock"] == 0.02 and e["end_to_end"] == 0.05),
    said(r"Where the line misses a median by more than 5\,\%, the model does not fit", lambda d: (
        (m := d.rows("models").dropna(subset=["largest_residual"]))["largest_residual"].gt(0.05)
        == m["status"].eq("does_not_fit")).all()),
    said(r"a point within 1\,\% of CUB is not slower", lambda d: {
        a.group["effect"] for name, a in contrasts.asked().items() if name.startswith("tuned/")} == {0.01}),
    said("36 claims", lambda d: len(d.rows("verdicts", role="claim")) == 36),
    said("an unrolled tree gains only where each thread loads one element", lambda d: verdicts(d, "T1", "T2") == {"no effect"}
         and max(gains(d, 2**24, "T1", "T2", "U3b")) < 1.02 < min(gains(d, 2**28, "L4a"))),
    said(r"one launch comes within 1\,\% of the memory's limit on large inputs",
         lambda d: d.row("goals", goal="large", quantity="least_ceiling")["measured"] > 0.99),
    said("nowhere slower than CUB",
         lambda d: d.row("goals", goal="sums", quantity="slower", element_type="all")["measured"] == 0),
    said("On large inputs no kernel of the documents reaches CUB", cub_ahead),
    said("A point faster than the memory can be is marked impossible; there was none",
         lambda d: "impossible" not in set(d.rows("comparison")["status"])),
    said(r"Times by themselves repeat less well (\share{repeat}",
         lambda d: repeats(d, "repeat") < repeats(d, "repeat-relative")),
    said("It finds every planted effect", lambda d: all(
        p["found"] for p in json.loads((d.folder / "selftest.json").read_text())["planted"])),
    said("agree in graphs, and from $2^{22}$ elements end to end",
         lambda d: len(off(d, "graph")) == 0 and agree_large(d)),
    said("Every claim that both models decide at its document's size has the same verdict",
         lambda d: not differ(d, H100, "claim")),
    said(r"cycles from memory, where \id{squares} says over \documentfigure{500} (S6)", lambda d: verdicts(d, "S6") == {"holds"}),
    said(r"512 threads nearly double the speed of 256 (\gain{S2}, S2), and 32 blocks gain another \gain{S3} (S3)",
         lambda d: verdicts(d, "S1", "S2", "S3", "U10", "U0") == {"holds"}),
    said("That is why most claims of \\id{levels} are mixed (L1, L5, L7, L8)",
         lambda d: verdicts(d, "L1", "L5", "L7", "L8") == {"mixed"}),
    said(r"$2^{20}$ elements, and 512 gain", lambda d: [loads(d, n) for n in (2**20, 2**28)] == [4, 512]),
    said("the fastest kernel of the documents falls from",
         lambda d: fastest(d).startswith(BEST + ":")),
    said(r"\id{int64\_t} is nearly as fast as \id{int} in all but two kernels of \id{squares}", lambda d: {
        name for name, of in speeds(d, "f32").items() if min(of["i64", n][0] for n in (2**20, 2**28)) < 0.95} == {
            "squares/multi-block", "squares/multi-block-tree"}),
    said("Shifts in place of divisions compile to the same code (T6)", lambda d: same_code(d, compiler="nvcc")),
    said(r"that is as fast as two launches", lambda d: all(abs(g - 1) < 0.02 for g in gains(d, None, "M2a"))),
    said("Atomics finish fastest as long as few blocks contend",
         lambda d: min(gains(d, 2**28, "finish-relaunch-64", "finish-host-64")) > gains(d, 2**28, "finish-atomic-64")[0]
         and gains(d, 2**28, "finish-relaunch-1") < gains(d, 2**28, "finish-atomic-1")),
    said("from one block per SM to eight, times are within two percent of each other", lambda d: all(
        (t := grids(d, v).loc[1:8]).max() < 1.02 * t.min() for v in ("two-launch", "last-block", "last-block-warp"))),
    said("That has two values in effect", lambda d: (e := efficiency(d))[0] == e[1] < 0.3 * e[2] and min(e[2:]) > 0.97 * max(e)),
    said("throughput ranks the kernels nearly as their times do", lambda d: verdicts(d, "U8") == {"holds"}),
    said("On large inputs CUB is ahead of all of the documents' kernels", cub_ahead),
    said(r"At $2^{28}$ the fastest is \id{multiblock/last-block-warp}",
         lambda d: fastest(d).startswith(BEST + ":")),
    said(r"The largest gain is that of \id{levels/completely-unrolled} with atomics at $2^{13}$",
         lambda d: most(d) == ("levels/completely-unrolled", 2**13)
         and fastest(d, 2**13).startswith("levels/completely-unrolled:") and "finish=atomic" in fastest(d, 2**13)),
    said("No kernel gains as much over CUB", lambda d: (t := in_every_way(d))["end_to_end"] / t["graph"] > max(
        d.rows(file, status="ok")["speedup"].max() for file in ("comparison", "tuned"))),
    said("CUB launches twice from $2^{13}$ elements on. Saving the second launch gains most there, and less as "
         "reading takes longer", lambda d: (g := by_size(d))[2**12] < 1.1 < g[2**26] + 0.1 < g[2**20] < g[2**13]),
    said(r"A memset before each call would cost more than \id{tuned} gains at $2^{12}$ elements", lambda d: (
        (rows := d.rows("raw-workspace")).loc[rows["n"] == 2**12, "ratio"] * by_size(d)[2**12]).max() < 1),
    said("a float sum in a double accumulator takes no more time", lambda d: all(
        longer(d, f"{v} wide_sum", v) < 1.01 for v in ("tuned/sum", "cub/sum"))),
    said("where CUB's own reproducible sum reaches", lambda d: longer(
        d, "cub@3.5.0/sum:determinism=gpu_to_gpu", "exact/sum") > 1.1 and longer(d, "exact/sum", "tuned/sum") < 1.02),
    said(r"From there on random data take at most 2\,\% longer than CUB's sum at every size that we measured",
         lambda d: min(exact_over_cub(d)) > 0.98),
    said("The price is paid by doubles of such data", lambda d: longer(d, "exact/sum", "tuned/sum", "f32", "spread")
         < 1.1 < longer(d, "exact/sum", "tuned/sum", "f64", "spread")),
    said("Atomics have the worst order", lambda d: differing(d)["settings"].str.contains("finish=atomic").all()),
    said("None of them has a verdict of a change", lambda d: not set(d.rows(
        "releases", pair="adjacent", same_code="yes")["verdict"]) & {"FASTER", "SLOWER"}),
    said("No sum became much slower", lambda d: pairs(d, verdict="SLOWER")["speedup"].min() > 0.96),
    said("The fastest kernels come with a slow call", lambda d: replay(d, 2**24).idxmin() == "torch/compile"),
    said(r"with \id{g++} unrolling by hand gains up to -O2", lambda d: min(gains(
        d, 200, *(f"U7.{build}O{level}" for build in ("", "gcc-") for level in range(3)))) > 1.05),
    said("it makes vectors of the plain loop, and unrolling gains nothing", lambda d: all(
        d.contrast(f"U7.{build}O3", 200).high < 1.05 for build in ("", "gcc-"))
         and compiled(d, "host/add-plain", "elements_per_load", compiler="g++", level="O3", element_type="i32") == 4),
    said("makes vectors from -O2 on, and unrolling by four takes more than twice as long",
         lambda d: max(gains(d, 200, "U7.clang-O2", "U7.clang-O3")) < 0.5),
    said("Another build of the same loops gives other ratios", lambda d: d.contrast("U7.O3", 200).high
         < d.contrast("U7.gcc-O3", 200).low and d.contrast("U7.O2", 200).high < d.contrast("U7.gcc-O2", 200).low),
    said("The machine code has the additions in a straight line", lambda d: not d.rows("as-printed", kernel="volatile_tail")[
        "wrong"].any()),
    said("takes as long on the device", lambda d: all(abs(r - 1) < 0.05 for r in first(d, "cub/sum", "device"))),
    said(r"below $2^{22}$ elements most of their times differ", agree_large),
    said(r"Beyond L2 the model fits nearly every kernel within 5\,\%. Inside L2 it fits almost none",
         lambda d: fits(d, "beyond") > 0.9 and fits(d, "inside") < 0.2),
    said(r"\id{multi-block-tree} with two blocks per SM",
         lambda d: (call := fastest(d, 2**20, mode="end_to_end", experiment="squares", operation="sum_of_squares")
                    ).startswith("squares/multi-block-tree:")
         and f"grid={2 * d.machine.get('gpu.sm_count')}" in call.split(",")),
    said("(U1), less at each step",
         lambda d: (g := gains(d, 2**24, "U1a", "U1b", "U1c")) == sorted(g, reverse=True)),
    said("most of that is due to the independent loads",
         lambda d: (b := barriers(d))[0] - b[1] > 0.5 * (b[0] - b[2]) > 0),
    said("The document's 1024 threads are not always the best",
         lambda d: best_block(d, "unroll/neighbored") != "block=1024"),
    said("A global stride is hardly faster than a local one", lambda d: all(0.98 < g < 1.03 for n in (2**20, 2**28)
         for g in gains(d, n, *(f"levels.strides.{k}" for k in (2, 4, 8, 16, 32, 64))))),
    said("With few blocks all three ways to finish are close",
         lambda d: max(finishes(d, 2**20), finishes(d, 2**28)) < 1.1),
    said("small inputs are won between blocks, and large ones inside a thread",
         lambda d: [(c := composed(d, n)).index(max(c)) for n in (2**12, 2**20)] == [0, 1]),
    said("OpenMP reads fastest", lambda d: host(d).idxmin()[0] == "openmp/sum"),
    said("Unrolling the host's loop by hand gains nothing from -O0 to -O3",
         lambda d: all(abs(u - 1) < 0.05 for u in unrolled(d))),
    said("No result is beyond the error bound of its variant",
         lambda d: "wrong" not in set(d.rows("accuracy")["status"])),
    said("hundreds of times as exact as the long chains",
         lambda d: (e := errors(d, "cub/sum", "squares/strided"))[1] > 200 * e[0]),
    said("They finish by atomics", lambda d: differing(d)["settings"].str.contains("finish=atomic").all()),
    said("half an hour in all", lambda d: 25 * 60 < (
        s := seconds(d, "tuned", "comparison", *OTHERS)) < 35 * 60 and 0.3 < seconds(d, "tuned") / s < 0.45),
    said("None failed, was wrong, or came out faster than the memory",
         lambda d: set(d.rows("comparison")["status"]) <= {"ok", "over_limit", "refused", "no_memory"}),
    said("all but two of the goals that were set before", lambda d: goals_missed(d) == 2),
    said("vary too much to decide any pair", lambda d: set(pairs(
        d, timing_mode="end_to_end", call="thrust@[^/]*/reduce")["verdict"]) == {"UNDECIDED"}),
    said("torch.sum is slow at some sizes", lambda d: replay(d, 2**16)["torch/sum"] > 2 * replay(d, 2**16)["torch/compile"]),
]
