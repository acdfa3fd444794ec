"""What hand-written sentences say about the measurements: each with the check that holds it to the committed CSV.

    Fact("docs/results.md", "takes <607> us at 2^30", lambda d: d.us("cub/sum", 2**30))
    Fact("docs/claims.md", "S2 (<1.93> [<1.927>, <1.932>])", lambda d: d.contrast("S2", 2**28))
    Fact("README.md", "is the fastest of the documents' kernels", lambda d: d.us(ONE, N) < d.us(OTHER, N))

The words stand in the page, white space aside. A number in <...> is typed there without these marks; the check gives
the value of each, in order, and they have to agree as far as the typed digits go. A check of words without marks gives
True, or what holds instead. tests/paper/test_facts.py asks all of them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import results as rs
from goals import ODD, mean
from verdicts import OPEN, VERDICTS, counts

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<(-?[\d,]*\.?\d+)>")


@dataclass(frozen=True)
class Fact:
    page: str
    words: str
    of: Callable[[rs.Results], object]
    machine: str = "nvidia-h200"

    @property
    def sentence(self) -> str:
        return " ".join(MARK.sub(r"\1", self.words).split())

    def wrong(self, root: Path = ROOT, results: rs.Results | None = None) -> str:
        """What is wrong with it, in one line; "" if it is true: of the committed results, or of another folder's."""
        says = f'{self.page} says "{self.sentence}"'
        if self.sentence not in text_of(root / self.page):
            return f"{says} no longer: drop its fact, or mend its words"
        try:
            found = self.of(results or rs.opened(root / "experiments" / "results" / self.machine))
        except (LookupError, OSError, ValueError, rs.ResultsError) as error:
            return f"{says}: not in the data: {error.args[0]}"
        typed = MARK.findall(self.words)
        if not typed:
            return "" if isinstance(found, (bool, np.bool_)) and found else f"{says}; by the data it is {found}"
        if isinstance(found, rs.Contrast):
            found = found.value, found.low, found.high
        values = [float(v) for v in (found if isinstance(found, (tuple, list)) else (found,))][:len(typed)]
        same = len(values) == len(typed) and all(map(agrees, typed, values))
        return "" if same else f"{says}; by the data: {', '.join(f'{v:.6g}' for v in values)}"


def agrees(typed: str, value: float) -> bool:
    """Whether the value is the typed number, to the digits that are typed."""
    decimals = len(typed.partition(".")[2])
    return abs(float(typed.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-6)


@cache
def text_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


H100, SECOND, OF_PEERS, OF_FRONTIER, RELEASES = (
    f"nvidia-{name}" for name in ("h100-80gb-hbm3", "h200-second", "h100-peers", "h100-frontier", "h100-releases"))
README = "README.md"
CLAIMS, COMPARING, EXACT, MEASURING, MODERN, PEERS, PAGE, REPRODUCING, RESULTS, TUNED, TUNING, WHICH = (
    f"docs/{page}.md" for page in ("claims", "comparing", "exact", "measuring", "modern", "peers", "releases",
                                   "reproducing", "results", "tuned", "tuning", "which_sum"))
N = 2**28
BEST = "multiblock/last-block-warp"


def pairs(d: rs.Results, pair: str = "adjacent", to: str = "", **where) -> pd.DataFrame:
    """Rows of releases.csv: sums of CUB, unless `call` says otherwise."""
    rows = d.rows("releases", pair=pair, **{k: v for k, v in where.items() if k != "call"})
    return rows[rows["variant"].str.match(rf"{where.get('call', 'cub@[^/]*/sum')}( |$)")
                & rows["variant"].str.contains(f"@{to}" if to else "@", regex=False)]


def changed(d: rs.Results, to: str, **where) -> tuple[float, float]:
    """The least and the greatest speedup that has a verdict of a change, warm in a graph."""
    rows = pairs(d, to=to, timing_mode="graph", **where)
    found = rows.loc[rows["verdict"].isin(["FASTER", "SLOWER"]), "speedup"]
    return found.min(), found.max()


def of_determinism(d: rs.Results, value: str, kind: str, *exponents: int) -> tuple[float, ...]:
    rows = pairs(d, "determinism", "3.5.0", element_type=kind, timing_mode="device", cache_state="cold_dirty")
    rows = rows[rows["variant"].str.endswith("=" + value)].set_index("n")
    return tuple(rows.loc[2**k, "speedup"] for k in exponents)


def right_sums(d: rs.Results, *kernels: str) -> float:
    """Sums of the documents' code as printed; NaN, which no number agrees with, where one is wrong."""
    rows = pd.concat([d.rows("as-printed", kernel=kernel) for kernel in kernels])
    return rows["blocks"].sum() if not rows["wrong"].any() else np.nan


def peer(d: rs.Results, variant: str, n: int = 2**24, mode: str = "replay", element_type: str = "f32") -> float:
    """A time of peers.csv, cold, in us."""
    return d.us(variant, n, "peers", timing_mode=mode, element_type=element_type)


def peer_over_cub(d: rs.Results, variant: str, *args, **more) -> float:
    """How many times as long as CUB from C++."""
    return peer(d, variant, *args, **more) / peer(d, "cub/sum", *args, **more)


def of_ctypes(d: rs.Results, mode: str) -> tuple[float, float]:
    """The least and the greatest speedup of CUB by ctypes."""
    ratios = d.rows("ctypes-agreement", timing_mode=mode)["ratio"]
    return ratios.min(), ratios.max()


def call_costs(d: rs.Results, n: int, *variants: str) -> list[float]:
    """What a call takes longer than CUB's from C++, in us."""
    cub = peer(d, "cub/sum", n, "end_to_end")
    return [peer(d, v, n, "end_to_end") - cub for v in variants]


FROM_PYTHON = ("torch/sum", "cuda-compute/reduce", "cupy/sum", "torch/compile", "triton/atomic", "triton/two-launch",
               "numba/kernel")


def longer(d: rs.Results, call: str, base: str, kind: str = "f32", dataset: str = "random", n: int = 2**28) -> float:
    """How many times as long a sum takes as another, both named as `variant` or `variant wide_sum`."""
    def time(of: str) -> float:
        variant, _, operation = of.partition(" ")
        return d.us(variant, n, "frontier", element_type=kind, dataset=dataset, operation=operation or "sum")

    return time(call) / time(base)


def exact_over_cub(d: rs.Results, least: int = 2**14, **where) -> list[float]:
    """Speedups of exact sums of random floats and doubles over CUB's."""
    rows = d.rows("frontier", "exact/sum", operation="sum", dataset="random", **where)
    return rows[rows["n"] >= least]["speedup"].tolist()


def ulps(d: rs.Results, *calls: str, dataset: str = "random", **where) -> list[float]:
    """The errors of these sums at 2^28, of both types unless said."""
    from figures import frontier

    of = frontier.points_of(d.rows("frontier", n=2**28, dataset=dataset))
    return rs.where_is(of, call=calls, **where)["ulps"].tolist()


PAIRS = "compensated/neumaier", "compensated/double-double"
CAPTURED = FROM_PYTHON + ("cupy/sum-plain",)


def by_hand(d: rs.Results, mode: str = "device", experiment: str = "comparison", operation: str = "sum", least: int = 0,
            **where) -> pd.DataFrame:
    """The documents' calls, L2 cold and dirty, without page-locked memory, which no document uses."""
    rows = d.rows(experiment, device="cuda", timing_mode=mode, operation=operation, cache_state="cold_dirty",
                  status="ok", kind="document", **where)
    return rows[(rows["n"] >= least) & ~rows["settings"].str.contains("host-pinned")]


def fastest(d: rs.Results, n: int = N, **which) -> str:
    """Of these the one that is fastest at n: "levels/naive:block=256,finish=atomic"."""
    rows = by_hand(d, n=n, **which)
    best = rows.loc[rows["time_median_s"].idxmin()]
    return f"{best['variant']}:{best['settings'].replace(';', ',')}"


def us_of_sum(d: rs.Results, *calls: str) -> list[float]:
    return [d.us(call, N, operation="sum") for call in calls]


def of_tuned(d: rs.Results, way: str = "", call: str = "tuned/sum:reading=auto",
             element_type: str = "") -> pd.DataFrame:
    """tuned.csv at even sizes and starts."""
    rows = d.rows("tuned", call, offset_elements=0, status="ok")
    rows = rows[~rows["n"].isin(ODD) & (rows["element_type"].eq(element_type) | (element_type == ""))]
    return rows[(rows["timing_mode"] + " " + rows["cache_state"]).str.startswith(way)]


def by_type(d: rs.Results, way: str) -> list[float]:
    return [mean(of_tuned(d, way, element_type=t)["speedup"]) for t in ("i32", "f32", "f64")]


def ceiling_with(d: rs.Results, words: int) -> float:
    """The share of the read ceiling, in %, that cold sums would reach if launches of several blocks took the way of so
    many words beyond reading."""
    rows = of_tuned(d, "device cold").dropna(subset=["share_of_read_ceiling"])
    reading = rows["share_of_read_ceiling"] * rows["time_median_s"]
    finish = words * 0.5e-9 * d.probe("message_round_trip", "ns")
    return 100 * mean(rows["share_of_read_ceiling"].where(rows["grid_blocks"] == 1, reading / (reading + finish)))


def parts(d: rs.Results, n: int) -> list[float]:
    """Launch floor, reading, what tuned and CUB take beyond it, and their times, in us."""
    ours, cub = (d.measured(call, n, "tuned") for call in ("tuned/sum", "cub/sum"))
    floor, read = ours["launch_floor_s"], ours["read_time_s"]
    times = [of["time_median_s"] for of in (ours, cub)]
    return [1e6 * t for t in (floor, read - floor, *(t - read for t in times), *times)]


def verdict_counts(d: rs.Results) -> list[int]:
    return list(counts(d.rows("verdicts", role="claim")["verdict"]).values())


def differ(d: rs.Results, other: str, role: str) -> set[str]:
    """Claims that both folders decide, otherwise."""
    here, there = (of.rows("verdicts", role=role).set_index("claim")["verdict"] for of in (d, d.other(other)))
    decided = ~here.isin(OPEN) & ~there.reindex(here.index).isin(OPEN)
    return set(here.index[decided & (here != there.reindex(here.index))])


def fits(d: rs.Results, *calls: str) -> list[float]:
    """Latency in us and bandwidth in TB/s beyond L2, of f32 on the device."""
    found = []
    for call in calls:
        r = d.row("models", call, experiment="comparison", element_type="f32", operation="sum", timing_mode="device",
                  range="beyond", status="ok")
        found += [1e6 * r["latency_s"], 1e-12 * r["bandwidth_bytes_per_s"]]
    return found


def of_index(d: rs.Results, call: str, n: int = N) -> tuple[float, float, float]:
    """t(u64) / t(i32) on the device, and the speedups of i32 and u64 over CUB."""
    i32, u64 = (d.row("index", f"{call}:index={i}", n=n, element_type="i32", status="ok") for i in ("i32", "u64"))
    part = "time_median_s" if i32["timing_mode"] == "device" else "device_part_median_s"
    return u64[part] / i32[part], i32["speedup"], u64["speedup"]


def compiled(d: rs.Results, kernel: str, column: str = "unrolled_by", **where) -> float:
    """What the machine code of a kernel's loop has, alike in all of these."""
    value, = d.rows("compiler", kernel=kernel, loop="main", **where)[column].unique()
    return value


def same_code(d: rs.Results, **where) -> bool:
    """Whether loops that halve their index by a shift and by a division are the same instructions."""
    def opcodes(kernel: str) -> list[str]:
        return d.rows("compiler", kernel=kernel, **where)["opcodes"].tolist()

    return all(opcodes(f"halve-{t}-shift") == opcodes(f"halve-{t}-divide") != [] for t in ("int", "unsigned"))


def states(d: rs.Results) -> pd.DataFrame:
    """CUB's sum by n and state of the cache, in s."""
    return d.rows("limits", "cub/sum", timing_mode="device", element_type="f32").pivot(
        index="n", columns="cache_state", values="time_median_s")


def dirty(d: rs.Results) -> pd.Series:
    """How many times as long a dirty call takes as a clean one, by n."""
    times = states(d).dropna()
    return times["cold_dirty"] / times["cold_clean"]


def agreement(d: rs.Results, mode: str = "device", below: int = 2**40, least: int = 0) -> pd.DataFrame:
    rows = d.rows("nvbench-agreement", mode=mode)
    return rows[(rows["n"] < below) & (rows["n"] >= least)]


def runs(d: rs.Results, experiment: str) -> list[dict]:
    ids = set(d.rows(experiment)["run_id"])
    return [r for r in d.machine.get("runs") if r["run_id"] in ids]


def seconds(d: rs.Results, *experiments: str) -> float:
    return sum(r["time_spent"]["wall_s"] for e in experiments for r in runs(d, e))


OTHERS = ("ablation", "accuracy", "autotune", "index", "latency", "levels", "limits", "modern", "multiblock", "narrow",
          "squares", "timing", "twopass", "unrolling")


def over_to_host(d: rs.Results, variant: str) -> pd.Series:
    return d.rows("to-host", variant=variant).set_index("n")["ratio"]


def example(d: rs.Results, variant: str) -> list[float]:
    r = d.row("compare-example", variant=variant, n=N)
    return [1e6 * r["base_time_s"], r["ratio"], r["ratio_low"], r["ratio_high"]]


def over_sum_tuned(d: rs.Results) -> pd.Series:
    """The speedup of tuned over CUB with the type's best policy, of medians, where both have times."""
    key = ["operation", "element_type", "timing_mode", "cache_state", "offset_elements", "n"]
    base, ours = (d.rows("tuned", v).set_index(key)["time_median_s"] for v in ("cub/sum-tuned", "tuned/sum"))
    return (base / ours).dropna()


def of_row(d: rs.Results):
    """The row that measuring.md explains."""
    return d.measured("tuned/sum", N, operation="sum")


FACTS = [
    Fact(README, "CUB adds up 2^28 floats in **<251> us**", lambda d: us_of_sum(d, "cub/sum")),
    Fact(README, "The fastest of the documents' kernels, `multiblock/last-block-warp`, takes **<260> us**: <96> % of CUB's "
         "speed and <86> % of the memory's theoretical peak",
         lambda d: (us_of_sum(d, fastest(d, element_type="f32"))[0],
                    100 * d.measured(BEST, N, operation="sum")["speedup"],
                    100 * d.measured(BEST, N, operation="sum")["bandwidth_bytes_per_s"] / d.machine.peak_bytes_per_s)),
    Fact(README, "Of the documents' 36 claims <16> still hold and <4> are reversed",
         lambda d: (verdict_counts(d)[0], verdict_counts(d)[5])),
    Fact(README, "it is <1.25> times as fast as CUB over the figure's powers of two, and <1.31> times over mixed sizes",
         lambda d: (mean(d.rows("comparison", "tuned/sum", element_type="f32", timing_mode="device",
                                status="ok")["speedup"]), by_type(d, "device cold_dirty")[1])),
    Fact(README, "In a CUDA graph it is <1.50> times as fast", lambda d: by_type(d, "graph")[1]),
    Fact(README, "At 2^28 it gains <2> %",
         lambda d: 100 * (d.measured("tuned/sum", N, operation="sum")["speedup"] - 1)),
    Fact(README, "over it the means are <1.31> and <1.50>",
         lambda d: [by_type(d, way)[1] / mean(of_tuned(d, way, "cub/sum-tuned", "f32")["speedup"])
                    for way in ("device cold_dirty", "graph")]),

    *(Fact(RESULTS, f"| `{call}` | {numbers} TB/s |", lambda d, call=call + finish: fits(d, call))
      for call, finish, numbers in (
        ("cub/sum", "", "<13.6> us | <4.50>"), (BEST, "", "<13.8> us | <4.33>"),
        ("twopass/warp-unrolled", ":finish=second-launch", "<17.0> us | <2.65>"))),
    Fact(RESULTS, "Inside L2 it fits none of them", lambda d: not d.rows(
        "models", experiment="comparison", element_type="f32", timing_mode="device", range="inside",
        status="ok")["variant"].isin(["cub/sum", BEST, "twopass/warp-unrolled"]).any()),
    Fact(RESULTS, "`int` is <1.60> times as fast as `size_t` in `twopass/rolled` and <3.06> times in "
         "`squares/multi-block`",
         lambda d: [of_index(d, call)[0] for call in ("twopass/rolled", "squares/multi-block")]),
    Fact(RESULTS, "as in `levels`, and contiguous chunks gain about <1> %", lambda d: 100 * max(
        of_index(d, call)[0] - 1 for call in ("levels/global-stride", "levels/local-stride", "squares/chunked"))),
    Fact(RESULTS, "reaches <97.7> % of CUB's speed with `int` and <59.0> % with `size_t`",
         lambda d: [100 * v for v in of_index(d, BEST)[1:]]),
    Fact(RESULTS, "nvcc unrolls the plain loops <16> times over `int` and `long`. Over unsigned types it unrolls "
         "`squares/strided` <4> times and `twopass/rolled` not at all",
         lambda d: [compiled(d, "squares/strided", index=index) for index in ("int", "unsigned long")]),
    Fact(RESULTS, "and `twopass/rolled` not at all. It never unrolls the loops of `levels`",
         lambda d: compiled(d, "twopass/rolled", index="unsigned long")
         == compiled(d, "levels/global-stride", index="int") == 1),
    Fact(RESULTS, "has <12> instructions if it tests bits and <34> if it takes a remainder",
         lambda d: [d.row("compiler", kernel=f"levels/naive{test}", loop="tree")["instructions"]
                    for test in ("", "[test=modulo]")]),
    Fact(RESULTS, "by `>>= 1` and by `/= 2` gives the same code in nvcc, and in g++ and clang++ from `-O2` on",
         lambda d: all(same_code(d, level=level) for level in ("O2", "O3"))),
    Fact(RESULTS, "g++ unrolls `host/plain` from `-O3` on, to one vector of <4> elements. clang++ unrolls it at `-O2`, "
         "to <32>",
         lambda d: [compiled(d, "host/plain", compiler=compiler, level=level, element_type="i32")
                    for compiler, level in (("g++", "O3"), ("clang++", "O2"))]),
    Fact(RESULTS, "reductio's time is lower than nvbench's at <58> of <63> points. The median difference is <5.1> % "
         "below 2^22 elements and <0.4> % from there on. From 2^23 on none differs by more than <3.2> %. Each nvbench "
         "time is a median over <6> processes",
         lambda d: ((agreement(d)["difference"] < 0).sum(), len(agreement(d)), *(
             -100 * of["difference"].median() for of in (agreement(d, below=2**22), agreement(d, least=2**22))),
             100 * agreement(d, least=2**23)["difference"].abs().max(), agreement(d)["outside_processes"].median())),
    Fact(RESULTS, "Below 2^22 elements plain loops agree at <5> of <24> points",
         lambda d: ((of := agreement(d, "end_to_end", below=2**22))["difference"].abs().le(of["allowed"]).sum(),
                    len(of))),
    Fact(RESULTS, "on the host's clock, <15> % were taken while no core was quiet",
         lambda d: 100 * (of := runs(d, "comparison")[0]["host_cpu"])["on_busy_cpu"] / of["samples"]),
    Fact(RESULTS, "CUB adds up 2^28 floats in <358> us, `multiblock/last-block-warp` in <367> us and `tuned/sum`, "
         "which was tuned on H200s alone, in <349> us", lambda d: us_of_sum(d, "cub/sum", BEST, "tuned/sum"), H100),

    *(Fact(CLAIMS, f"| {verdict} | <{count}> |", lambda d, k=k: verdict_counts(d)[k])
      for k, (verdict, count) in enumerate(zip(VERDICTS, (16, 2, 7, 5, 1, 4, 1)))),
    Fact(CLAIMS, "An H100 and a second H200 reach the same verdict wherever they decide a claim at the document's own "
         "size, but for L7 on the second H200",
         lambda d: not differ(d, H100, "claim") and differ(d, SECOND, "claim") == {"L7"}),
    Fact(CLAIMS, "The last warp without barriers gave <301,989,888> sums in shared and global memory, all right",
         lambda d: right_sums(d, "volatile_tail", "global_tail")),
    Fact(CLAIMS, "At `-O3` unrolling gained in neither", lambda d: all(
        d.contrast(f"{claim}.{build}O3", n).low <= 1 for claim, n in (("T5", 2000), ("U7", 200))
        for build in ("", "gcc-", "clang-"))),
    Fact(CLAIMS, "32 loads leave <0.920> of the speed there",
         lambda d: d.other(SECOND).contrast("L7.32", 2**20).value),
    Fact(CLAIMS, "At 2^28 the H100 differs in one: U1 holds but weaker",
         lambda d: differ(d, H100, "large") | differ(d, SECOND, "large") == {"U1"}),

    *(Fact(COMPARING, f"| `{call}` | 2^28 | <251> us | {numbers} | SLOWER |", lambda d, call=call: example(d, call))
      for call, numbers in ((BEST, "<0.963> [<0.962>, <0.963>]"),
                            ("twopass/template-unrolled", "<0.590> [<0.589>, <0.590>]"),
                            ("levels/local-stride", "<0.571> [<0.571>, <0.571>]"))),

    Fact(MEASURING, "| <245.5> us [<245.2>, <245.7>] | the time of one call", lambda d: [
        1e6 * of_row(d)[f"time_{part}_s"] for part in ("median", "ci_low", "ci_high")]),
    Fact(MEASURING, "| `n_samples`, `n_rejected` | <96>, <0> |", lambda d: (
        of_row(d)["n_samples"], of_row(d)["n_rejected"])),
    Fact(MEASURING, "| `read_time_s` | <244.9> us |", lambda d: 1e6 * of_row(d)["read_time_s"]),
    Fact(MEASURING, "| `launch_floor_s` | <2.69> us |", lambda d: 1e6 * of_row(d)["launch_floor_s"]),
    Fact(MEASURING, "| <1.022> [<1.019>, <1.022>] | over `cub/sum`", lambda d: [
        of_row(d)[f"speedup{end}"] for end in ("", "_ci_low", "_ci_high")]),
    Fact(MEASURING, "takes <12> to <23> % less time than a cold, clean one up to 2^20 elements", lambda d: [
        100 * of(1 - (t := states(d).loc[:2**20])["warm"] / t["cold_clean"]) for of in (min, max)]),
    Fact(MEASURING, "make a cold call at most <7> % longer there, and <24> % longer at 2^24", lambda d: (
        100 * (dirty(d).loc[:2**20].max() - 1), 100 * (dirty(d)[2**24] - 1))),

    Fact(REPRODUCING, "`tuned` takes <716> s, `comparison` <473> s, all other experiments together <11> minutes",
         lambda d: (seconds(d, "tuned"), seconds(d, "comparison"), seconds(d, *OTHERS) / 60)),
    Fact(REPRODUCING, "has <8> GiB, and the program held at most <978> MiB on the host", lambda d: (
        d.rows("comparison")["bytes"].max() / 2**30,
        max(r.get("peak_memory_bytes") or 0 for r in d.machine.get("runs")) / 2**20)),

    *(Fact(MODERN, f"| `{call}`{setting} | {times} |", lambda d, call=call + setting.replace(" [", ":").strip("]"): [
        d.us(call, n, "modern") for n in (2**12, 2**20, N)])
      for call, setting, times in (
        ("modern/shuffle", "", "<6.53> | <9.53> | <313>"),
        ("modern/vector-loads", "", "<6.87> | <9.03> | <248>"),
        ("modern/loads-in-flight", " [loads=1]", "<6.70> | <8.84> | <293>"),
        ("modern/loads-in-flight", " [loads=4]", "<6.75> | <8.80> | <248>"),
        ("modern/cooperative", "", "<5.69> | <7.56> | <247>"),
        ("modern/fan-in", "", "<4.93> | <7.13> | <246>"),
        ("modern/cluster", "", "<5.03> | <9.79> | <270>"),
        ("modern/bulk-copy", "", "<6.97> | <8.89> | <267>"),
        ("tuned/sum", "", "<3.87> | <6.61> | <243>"),
        ("cub/sum", "", "<3.93> | <8.52> | <247>"))),
    Fact(MODERN, "For i32, `modern/packed-atomic` takes <4.34> us at 2^12 and <6.37> us at 2^20",
         lambda d: [d.us("modern/packed-atomic", n, "modern", element_type="i32") for n in (2**12, 2**20)]),

    *(Fact(TUNED, f"| {words} | {means} |", lambda d, way=way: by_type(d, way)) for words, way, means in (
        ("L2 cold and dirty", "device cold_dirty", "<1.327> | <1.312> | <1.272>"),
        ("L2 cold and clean", "device cold_clean", "<1.344> | <1.325> | <1.292>"),
        ("L2 warm", "device warm", "<1.304> | <1.283> | <1.269>"),
        ("in a graph, L2 warm", "graph", "<1.524> | <1.499> | <1.456>"))),
    Fact(TUNED, "Over `cub/sum-tuned` <5> of <972> points are more than 1 % slower, 32 KiB of `i32` on a warm L2 most: <0.960>",
         lambda d: ((of := over_sum_tuned(d)).lt(0.99).sum(), len(of), of.min())),
    Fact(TUNED, "Sums of CUB 3.5.0 are <0.97> to <1.04> times as fast", lambda d: ((of := d.rows("releases", pair="newest").query(
        "base.str.contains('cub@3.0.1/sum') and element_type in ('i32', 'f32', 'f64') and timing_mode != 'end_to_end'")[
            "speedup"]).min(), of.max()), RELEASES),
    Fact(TUNED, "The lowest of <960> speedups is <0.998>", lambda d: (len(of_tuned(d)), of_tuned(d)["speedup"].min())),
    Fact(TUNED, "Cold sums reach <91.9> % of the read ceiling", lambda d: 100 * mean(
        of_tuned(d, "device cold")["share_of_read_ceiling"])),
    Fact(TUNED, "At 16 KiB it gains at most <4> % outside graphs", lambda d: 100 * (
        (of := of_tuned(d, "device"))[of["bytes"] == 2**14]["speedup"].max() - 1)),
    Fact(TUNED, "From 2^28 elements on it gains <1> to <2> %", lambda d: [
        100 * (of_tuned(d).query("n >= 2**28")["speedup"].agg(of) - 1) for of in ("min", "max")]),
    Fact(TUNED, "`to_host` is <1.53> times as fast as `cub/sum-to-host`",
         lambda d: mean(over_to_host(d, "tuned/sum-to-host"))),
    Fact(TUNED, "At 2^10 it is <1.24> times as fast", lambda d: over_to_host(d, "tuned/sum-to-host").min()),
    Fact(TUNED, "Over `cub/sum-to-host`, sizes up to 2^12 miss it", lambda d:
         [n for n, ratio in over_to_host(d, "tuned/sum-to-host").items() if ratio < 1.4] == [2**10, 2**11, 2**12]),
    Fact(TUNED, "a memset before each call costs <1.05> us, or <17> to <29> %", lambda d: (
        1e6 * (more := d.rows("raw-workspace")).eval("base_time_s * (1 / ratio - 1)").median(),
        *(100 * of(1 / more["ratio"] - 1) for of in (min, max)))),
    Fact(TUNED, "an empty call takes <2.75> us and reading another <2.98> us. The rest takes <2.89> us in CUB "
         "and <0.76> us in `tuned`",
         lambda d: [parts(d, 2**20)[k] for k in (0, 1, 3, 2)]),
    *(Fact(TUNING, f"| {words} | {times} |", lambda d, n=n: parts(d, n)) for words, n, times in (
        ("2^12", 2**12, "<2.72> | <0.95> | <0.16> | <0.27> | <3.83> | <3.94>"),
        ("2^20", 2**20, "<2.75> | <2.98> | <0.76> | <2.89> | <6.50> | <8.63>"),
        ("2^28", N, "<2.75> | <238> | <1.3> | <5.8> | <242> | <247>"))),
    Fact(TUNING, "is under way for <287> ns, an atomic update takes <296> ns, and a load from L2 <142> ns", lambda d: (
        d.probe("message_round_trip", "ns") / 2, d.probe("atomic_latency_l2", "ns"), d.probe("load_latency_l2", "ns"))),
    Fact(TUNING, "cold sums would reach <96.2> % of the read ceiling; with two words, <93.2> %",
         lambda d: [ceiling_with(d, words) for words in (1, 2)]),
    *(Fact(PAGE, f"| {upgrade} | {sums} | {speedups} |", lambda d, to=to, where=where: changed(d, to, **where), RELEASES)
      for upgrade, sums, speedups, to, where in (
        ("1.15.1 to 2.0.1", "`i8` `f16` `bf16`, most of all at 2^12; `i32` at 2^12", "<1.04> to <1.75>", "2.0.1", {}),
        ("2.0.1 to 2.1.1", "`f16` `bf16` at 2^12 and 2^24; `i128` at 2^20 and 2^24", "<0.97> to <0.99>", "2.1.1", {}),
        ("3.0.1 to 3.1.2", "`f32` from 2^13 to 2^15, narrow types at 2^24", "<1.02> to <1.03>", "3.1.2", {}),
        ("3.2.0 to 3.3.3", "`i8` at 2^12 and 2^24", "<1.05> to <1.12>", "3.3.3", {}))),
    Fact(PAGE, "| 2.3.2 to 2.4.0 | sums of squares of `f32` from 2^27 on | <1.05> |", lambda d: changed(
        d, "2.4.0", call="cub@[^/]*/transform-reduce", element_type="f32")[1], RELEASES),
    Fact(PAGE, "no sum of any type became more than <3> % slower", lambda d: 100 * (1 - pairs(d).query(
        "verdict == 'SLOWER'")["speedup"].min()), RELEASES),
    Fact(PAGE, "No other sum has a verdict of a change", lambda d: {*pairs(d).query(
        "verdict in ('FASTER', 'SLOWER')")["variant"].map(rs.release_of)}
        == {"2.0.1", "2.1.1", "3.1.2", "3.3.3"}, RELEASES),
    Fact(PAGE, "All <12,670> intervals", lambda d: len(d.rows("releases")), RELEASES),
    Fact(PAGE, "At 2^28 all releases are within 1 % of each other in every type", lambda d: pairs(
        d, "newest", n=N)["speedup"].between(1 / 1.01, 1.01).all(), RELEASES),
    Fact(PAGE, "none of <1,394> pairs is FASTER or SLOWER", lambda d: len(pairs(
        d, timing_mode="end_to_end", verdict="UNDECIDED", call="thrust@[^/]*/reduce")), RELEASES),
    Fact(PAGE, "<2,016> of the pairs have the same machine code. They must not differ on the device, and none does",
         lambda d: len(d.rows("releases", pair="adjacent", same_code="yes").query(
             "timing_mode != 'end_to_end' and verdict in ('SAME', 'UNDECIDED')")), RELEASES),
    *(Fact(PAGE, words, lambda d, value=value: of_determinism(d, value, "f32", 12, 16, 20, 24, 28), RELEASES)
      for words, value in (
        ("one launch with atomics | <0.72> | <1.25> | <1.18> | <1.06> | <1.01> |", "not_guaranteed"),
        ("the same bits on every GPU | <0.36> | <0.61> | <0.63> | <0.69> | <0.88> |", "gpu_to_gpu"))),
    Fact(PAGE, "`f64` by `gpu_to_gpu` has <0.52> at 2^20, <0.55> at 2^24 and <0.93> at 2^28",
         lambda d: of_determinism(d, "gpu_to_gpu", "f64", 20, 24, 28), RELEASES),
    Fact(PEERS, "Measured were torch 2.11.0, Triton 3.6.0, CuPy 14.2.0, Numba 0.68.0 with numba-cuda 0.30.4, `cuda-cccl` 1.2.1 "
         "and JAX 0.11.2", lambda d: list(d.rows("packages").set_index("package")["version"][[
             "torch", "triton", "cupy-cuda13x", "numba", "numba-cuda", "cuda-cccl", "jax"]])
         == ["2.11.0", "3.6.0", "14.2.0", "0.68.0", "0.30.4", "1.2.1", "0.11.2"], OF_PEERS),
    Fact(PEERS, "A call from Python costs <2> to <60> us more than one from C++", lambda d: [
        pick(cost for k in (10, 16, 20) for cost in call_costs(d, 2**k, *FROM_PYTHON)) for pick in (min, max)]),
    Fact(PEERS, "`torch.sum` takes <1.9> us longer than CUB from C++, `cuda.compute` <12> us, CuPy <24> us and "
         "`torch.compile` <49> us", lambda d: call_costs(d, 2**10, "torch/sum", "cuda-compute/reduce", "cupy/sum",
                                                         "torch/compile")),
    Fact(PEERS, "it is <4> to <11> % for `torch.sum`, `cuda.compute`, CuPy and Triton", lambda d: [
        100 * (pick(peer_over_cub(d, v, N, "end_to_end") for v in (*FROM_PYTHON[:3], *FROM_PYTHON[4:6])) - 1)
        for pick in (min, max)]),
    Fact(PEERS, "At 2^16 its kernels take <2.8> times as long as CUB's, at 2^20 <1.3> times", lambda d: [
        peer_over_cub(d, "torch/sum", 2**k) for k in (16, 20)]),
    Fact(PEERS, "up to 2^24, where they are <1.14> times as fast as CUB's", lambda d: 1 / peer_over_cub(d, "torch/compile")),
    Fact(PEERS, "`torch.compile` makes the fastest kernels of all peers", lambda d: all(
        min(CAPTURED, key=lambda v: peer(d, v, 2**k)) == "torch/compile" for k in (10, 16, 20, 24))),
    Fact(PEERS, "it reduces in one block: <12> ms at 2^24", lambda d: peer(d, "cupy/sum-plain") / 1000),
    Fact(PEERS, "allocates and copies in each call: half a millisecond", lambda d: all(
        abs(peer(d, "numba/reduce", 2**k, "end_to_end") - 500) < 50 for k in (10, 16, 20, 24))),
    Fact(PEERS, "takes <5.0> times as long as CUB's. `torch.compile` takes <0.93> times as long as CUB", lambda d: [
        peer_over_cub(d, v, element_type="i8") for v in ("torch/sum", "torch/compile")]),
    Fact(PEERS, "CUB's kernels, and half the cost of a call by CuPy", lambda d: all(
        0.4 < ours / cupys < 0.6 for ours, cupys in (call_costs(d, 2**k, "cuda-compute/reduce", "cupy/sum")
                                                     for k in (10, 16)))),
    Fact(PEERS, "| replayed, cold | `cub/sum` | <0.999> to <1.004>; from 2^22 on all SAME |",
         lambda d: of_ctypes(d, "replay"), OF_PEERS),
    Fact(PEERS, "from 2^22 on all SAME", lambda d: set(d.rows("ctypes-agreement", timing_mode="replay").query(
        "n >= 2**22")["verdict"]) == {"SAME"}, OF_PEERS),
    Fact(PEERS, "| in a graph, warm | `cub/sum` | <0.999> to <1.003> |", lambda d: of_ctypes(d, "graph"), OF_PEERS),
    Fact(PEERS, "| the call, to 2^24 | CUB in a C plug-in | <0.92> to <1.00>: up to <3.0> us more |", lambda d: [
        *of_ctypes(d, "end_to_end"), 1e6 * max(r["base_time_s"] * (1 / r["ratio"] - 1) for _, r in d.rows(
            "ctypes-agreement", timing_mode="end_to_end").iterrows())], OF_PEERS),
    Fact(PEERS, "The <14> intervals of the kernels reach from <0.990> to <1.014>", lambda d: [
        len(rows := d.rows("ctypes-agreement").query("timing_mode != 'end_to_end'")), rows["ratio_low"].min(),
        rows["ratio_high"].max()], OF_PEERS),
    *(Fact(page, words, lambda d: [f(exact_over_cub(d)) for f in (min, max)], OF_FRONTIER) for page, words in (
        (README, "exact sums of 2^14 and more elements run at <0.99> to <1.5> times CUB's speed (H100)"),
        (EXACT, "an exact sum runs at <0.99> to <1.5> times the speed of CUB's rounded one"))),
    Fact(EXACT, "in a graph 2^12 floats\nhave <1.02> times CUB's speed", lambda d: exact_over_cub(
        d, 0, timing_mode="graph", n=2**12, element_type="f32"), OF_FRONTIER),
    Fact(EXACT, "At 2^28 it takes as long as `tuned`", lambda d: all(
        abs(longer(d, "exact/sum", "tuned/sum", kind) - 1) < 0.01 for kind in ("f32", "f64")), OF_FRONTIER),
    Fact(EXACT, "wide ones take <1.8> times as long as random ones", lambda d: d.us(
        "exact/sum", 2**20, "frontier", element_type="f32", dataset="spread", operation="sum") / d.us(
        "exact/sum", 2**20, "frontier", element_type="f32", dataset="random", operation="sum", timing_mode="device"),
         OF_FRONTIER),
    Fact(WHICH, "`tuned` and CUB take less than 1 % longer into a `double`", lambda d: max(
        longer(d, f"{v} wide_sum", v) for v in ("tuned/sum", "cub/sum")) < 1.01, OF_FRONTIER),
    Fact(WHICH, "Double-double takes <2> % longer than plain at 2^28", lambda d: 100 * (
        longer(d, "compensated/double-double", "compensated/plain") - 1), OF_FRONTIER),
    Fact(WHICH, "Pairwise takes <12> % longer", lambda d: 100 * (
        longer(d, "compensated/pairwise", "compensated/plain") - 1), OF_FRONTIER),
    Fact(WHICH, "double-double takes <0.4> % longer than plain.", lambda d: 100 * (
        longer(d, "compensated/double-double", "compensated/plain", "f64") - 1), OF_FRONTIER),
    Fact(WHICH, "At 2^28 random data take as long as with\n  `tuned`", lambda d: all(
        abs(longer(d, "exact/sum", "tuned/sum", kind) - 1) < 0.01 for kind in ("f32", "f64")), OF_FRONTIER),
    Fact(WHICH, "Spread data take <1.00> times as long in `float` and <1.8> times in `double`", lambda d: [
        longer(d, "exact/sum", "tuned/sum", kind, "spread") for kind in ("f32", "f64")], OF_FRONTIER),
    Fact(WHICH, "**Exact sums are right on any data.** Their error is rounding alone", lambda d: max(
        max(ulps(d, "exact/sum", dataset=s)) for s in ("random", "spread", "ill-conditioned")) <= 0.5, OF_FRONTIER),
    Fact(WHICH, "**Kahan's sum fails where terms cancel.**", lambda d: min(
        ulps(d, "compensated/kahan", dataset="ill-conditioned")) > 100 * max(
            ulps(d, *PAIRS, dataset="ill-conditioned")), OF_FRONTIER),
    Fact(WHICH, "Pairwise addition is as close as compensation on random data", lambda d: max(
        ulps(d, "compensated/pairwise")) < 1, OF_FRONTIER),
    Fact(WHICH, "On ill-conditioned data it is as far off as plain sums", lambda d: min(
        ulps(d, "compensated/pairwise", dataset="ill-conditioned")) > 1000, OF_FRONTIER),
    Fact(WHICH, "**Atomics have the worst order.**", lambda d: all(
        max(ulps(d, "levels/naive", dataset=s, element_type=t)) == max(
            ulps(d, "levels/naive", "compensated/plain", "multiblock/last-block-warp", "cub/sum", dataset=s, element_type=t))
        for s in ("random", "spread", "ill-conditioned") for t in ("f32", "f64")), OF_FRONTIER),
]
