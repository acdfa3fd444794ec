"""What hand-written sentences say about the measurements: facts.txt holds each to the committed CSV.

    [docs/results.md]

    takes <607> us at 2^30
        us("cub/sum", 2**30)

The words stand in the page, white space aside. A number in <...> is typed there without these marks; the query below
gives the value of each, in order, and they have to agree as far as the typed digits go. A query of words without marks
gives True, or what holds instead. `[PAGE of MACHINE]` asks another results folder than the H200's. A query is Python: it
calls functions of this file, without their `d`, and of Results, and `d` is the folder's Results.
tests/paper/test_facts.py asks all of them.
"""

import json
import re
from dataclasses import dataclass
from functools import cache, partial
from inspect import isfunction
from pathlib import Path
from statistics import geometric_mean

import numpy as np
import pandas as pd

import contrasts  # for queries, as speeds()
from claims import CLAIM, OPEN, counts, one_machine, with_tests
from report import results as rs
from figures import shapes
from figures.frontier import points_of
from figures.index import speeds
from series import ODD

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".txt")
PAPER = "paper/main.tex"
MARK = re.compile(r"<(-?[\d,]*\.?\d+)>")


@dataclass(frozen=True)
class Fact:
    page: str
    words: str
    query: str
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
            folder = results or rs.opened(root / "experiments" / "results" / self.machine)
            answer = eval(f"({self.query})", vocabulary(folder))
        except (LookupError, OSError, ValueError, rs.ResultsError) as error:
            return f"{says}: not in the data: {error.args[0]}"
        typed = MARK.findall(self.words)
        if not typed:
            return "" if isinstance(answer, (bool, np.bool_)) and answer else f"{says}; by the data it is {answer}"
        if isinstance(answer, contrasts.Contrast):
            answer = answer.value, answer.low, answer.high
        values = [float(v) for v in (answer if isinstance(answer, (tuple, list)) else (answer,))][:len(typed)]
        same = len(values) == len(typed) and all(map(agrees, typed, values))
        return "" if same else f"{says}; by the data: {', '.join(f'{v:.6g}' for v in values)}"


def agrees(typed: str, value: float) -> bool:
    """Whether the value is the typed number, to the digits that are typed."""
    decimals = len(typed.partition(".")[2])
    return abs(float(typed.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-6)


@cache
def text_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


def vocabulary(d: rs.Results) -> dict:
    """By name what a query may use."""
    known = {name: partial(meaning, d) if isfunction(meaning) and meaning.__code__.co_varnames[:1] == ("d",) else meaning
             for name, meaning in globals().items()}
    asked = ("rows", "row", "other")
    return known | {name: getattr(d, name) for name in asked} | {"contrast": partial(contrasts.at, d), "d": d}


@cache
def facts() -> list[Fact]:
    """Those of facts.txt: words begin a line, and the query below them is indented."""
    listed, page = [], ("", "nvidia-h200")
    for block in re.split(r"\n\s*\n", TABLE.read_text(encoding="utf-8").strip()):
        if head := re.fullmatch(r"\[(\S+?)(?: of (\S+))?\]", block):
            page = head[1], head[2] or "nvidia-h200"
            continue
        words, _, query = block.partition("\n    ")
        listed.append(Fact(page[0], words, " ".join(query.split()), page[1]))
    return listed


# ------------------------------------------------------------------------------------- what queries are made of

H100, SECOND = "nvidia-h100-80gb-hbm3", "nvidia-h200-second"
BEST = "multiblock/last-block-warp"
PLUGGED_IN = "torch/sum", "cuda-compute/reduce", "cupy/sum"
TRITON = "triton/atomic", "triton/two-launch"
FROM_PYTHON = (*PLUGGED_IN, "torch/compile", *TRITON, "numba/kernel")
OTHERS = ("ablation", "accuracy", "autotune", "index", "latency", "levels", "limits", "modern", "multiblock", "narrow",
          "squares", "timing", "twopass", "unrolling")  # beside tuned and comparison


def ends(values) -> tuple[float, float]:
    return min(values), max(values)


def mean(ratios: pd.Series) -> float:
    return geometric_mean(ratios.dropna())


def call_of(row: pd.Series) -> str:
    """"levels/naive:block=256,finish=atomic"."""
    return f"{row['variant']}:{row['settings'].replace(';', ',')}"


def measured(d: rs.Results, call: str, n: int, experiment: str = "comparison", **where) -> pd.Series:
    """An experiment's row: f32, on the device, L2 cold and dirty, unless said."""
    usual = dict(n=n, device="cuda", element_type="f32", timing_mode="device", cache_state="cold_dirty",
                 offset_elements=0, status="ok")
    return d.row(experiment, call, **(usual | where))


def us(d: rs.Results, call: str, n: int, experiment: str = "comparison", **where) -> float:
    return 1e6 * measured(d, call, n, experiment, **where)["time_median_s"]


def probe(d: rs.Results, quantity: str, unit: str) -> float:
    """The median over its repeats."""
    return float(d.rows("probes", quantity=quantity, unit=unit)["value"].median())


def us_of_sum(d: rs.Results, *calls: str) -> list[float]:
    return [us(d, call, 2**28, operation="sum") for call in calls]


def by_hand(d: rs.Results, mode: str = "device", experiment: str = "comparison", operation: str = "sum", least: int = 0,
            **where) -> pd.DataFrame:
    """The documents' calls, L2 cold and dirty, without page-locked memory, which no document uses."""
    rows = d.rows(experiment, device="cuda", timing_mode=mode, operation=operation, cache_state="cold_dirty",
                  status="ok", kind="document", **where)
    return rows[(rows["n"] >= least) & ~rows["settings"].str.contains("host-pinned")]


def fastest(d: rs.Results, n: int = 2**28, **which) -> str:
    """Of these the one that is fastest at n."""
    rows = by_hand(d, n=n, **which)
    return call_of(rows.loc[rows["time_median_s"].idxmin()])


def cub_ahead(d: rs.Results) -> bool:
    """All of the documents' sums are slower than CUB on large inputs."""
    return (by_hand(d, element_type="f32", least=2**24)["speedup_ci_high"] < 1).all()


def verdict_counts(d: rs.Results) -> list[int]:
    return list(counts(d.rows("verdicts", role="claim")["verdict"]).values())


def verdicts(d: rs.Results, *claims: str) -> set[str]:
    return set(d.rows("verdicts", role="claim", claim=claims)["verdict"])


def steps(d: rs.Results, claim: str) -> list[str]:
    """The verdicts of its tests at the document's own size."""
    return with_tests(d.table("verdicts"), claim, CLAIM)[1]["verdict"].tolist()


def differ(d: rs.Results, other: str, role: str) -> set[str]:
    """Claims that both folders decide, otherwise."""
    here, theirs = (folder.rows("verdicts", role=role).set_index("claim")["verdict"] for folder in (d, d.other(other)))
    decided = ~here.isin(OPEN) & ~theirs.reindex(here.index).isin(OPEN) & ~here.index.isin(list(one_machine()))
    return set(here.index[decided & (here != theirs.reindex(here.index))])


def gains(d: rs.Results, n: int | None, *names: str) -> list[float]:
    return [contrasts.at(d, name, n).value for name in names]


def range_of_finishes(d: rs.Results, n: int) -> float:
    """The slowest over the fastest way to finish, end to end, with 64 loads per thread."""
    least, most = ends(gains(d, n, *(f"finish-{way}-64" for way in ("atomic", "relaunch", "host"))))
    return most / least


def right_sums(d: rs.Results, *kernels: str) -> float:
    """Sums of the documents' code as printed; NaN, which no number agrees with, where one is wrong."""
    rows = d.rows("as-printed", kernel=kernels)
    return rows["blocks"].sum() if not rows["wrong"].any() else np.nan


def compiled(d: rs.Results, kernel: str, column: str = "unrolled_by", **where) -> float:
    """What the machine code of a kernel's loop has, alike in all of these."""
    value, = d.rows("compiler", kernel=kernel, loop="main", **where)[column].unique()
    return value


def same_code(d: rs.Results, **where) -> bool:
    """Whether loops that halve their index by a shift and by a division are the same instructions."""
    def opcodes(kernel: str) -> list[str]:
        return d.rows("compiler", kernel=kernel, **where)["opcodes"].tolist()

    return all(opcodes(f"halve-{t}-shift") == opcodes(f"halve-{t}-divide") != [] for t in ("int", "unsigned"))


def counters(d: rs.Results, metric: str, *variants: str) -> list[float]:
    """Of Nsight Compute, for kernels of unroll."""
    return [d.row("ncu", f"unroll/{v}", n=2**24, metric=metric)["value"] for v in variants]


# How the harness's own times agree and repeat.


def agreement(d: rs.Results, mode: str = "device", below: int = 2**40, least: int = 0) -> pd.DataFrame:
    rows = d.rows("nvbench-agreement", mode=mode)
    return rows[(rows["n"] < below) & (rows["n"] >= least)]


def off(d: rs.Results, mode: str) -> pd.DataFrame:
    """The points at which times from outside differ by more than is allowed."""
    rows = agreement(d, mode)
    return rows[rows["difference"].abs() > rows["allowed"]]


def agree_large(d: rs.Results) -> bool:
    """Whether plain loops differ from the harness end to end only below 2^22 elements, and there at most points."""
    differing = off(d, "end_to_end")
    return differing["n"].max() < 2**22 and len(differing) > 0.5 * len(agreement(d, "end_to_end", below=2**22))


def repeats(d: rs.Results, file: str) -> float:
    """The share of the points whose interval of two runs' ratio holds 1."""
    rows = d.rows(file, timing_mode="device").dropna(subset=["ratio"])
    return rows.eval("ratio_low <= 1 <= ratio_high").mean()


def of_row(d: rs.Results) -> pd.Series:
    """The row that measuring.md explains."""
    return measured(d, "tuned/sum", 2**28, operation="sum")


def example(d: rs.Results, variant: str) -> list[float]:
    """The time of CUB and the speedup, of the example of `compare`."""
    r = d.row("compare-example", variant=variant, n=2**28)
    return [1e6 * r["base_time_s"], r["ratio"], r["ratio_low"], r["ratio_high"]]


def selftest(d: rs.Results) -> dict:
    return json.loads((d.folder / "selftest.json").read_text(encoding="utf-8"))


def runs(d: rs.Results, experiment: str) -> list[dict]:
    ids = set(d.rows(experiment)["run_id"])
    return [r for r in d.machine.get("runs") if r["run_id"] in ids]


def seconds(d: rs.Results, *experiments: str) -> float:
    return sum(r["time_spent"]["wall_s"] for e in experiments for r in runs(d, e))


def states(d: rs.Results) -> pd.DataFrame:
    """CUB's sum by n and state of the cache, in s."""
    return d.rows("limits", "cub/sum", timing_mode="device", element_type="f32").pivot(
        index="n", columns="cache_state", values="time_median_s")


def first_calls(d: rs.Results, call: str) -> pd.Series:
    """The first call in a while over one in a loop, by size."""
    rows = d.rows("timing", call, element_type="i32", timing_mode="device", cache_state="cold_dirty")
    times = rows.pivot(index="n", columns="caller", values="time_median_s").dropna()
    return times["first"] / times[""]


# Experiments of their own.


def fits(d: rs.Results, call: str) -> list[float]:
    """Latency in us and bandwidth in TB/s beyond L2, of f32 on the device."""
    r = d.row("models", call, experiment="comparison", element_type="f32", operation="sum", timing_mode="device",
              range="beyond", status="ok")
    return [1e6 * r["latency_s"], 1e-12 * r["bandwidth_bytes_per_s"]]


def share_that_fits(d: rs.Results, scope: str) -> float:
    """The share of the device-timed f32 calls whose times a latency and a bandwidth fit."""
    rows = d.rows("models", experiment="comparison", device="cuda", timing_mode="device", element_type="f32",
                  range=scope)
    return (rows["status"] == "ok").sum() / (rows["status"] != "too_few_sizes").sum()


def of_index(d: rs.Results, call: str) -> tuple[float, float, float]:
    """t(u64) / t(i32) on the device at 2^28, and the speedups of i32 and u64 over CUB."""
    i32, u64 = (d.row("index", f"{call}:index={i}", n=2**28, element_type="i32", status="ok") for i in ("i32", "u64"))
    part = "time_median_s" if i32["timing_mode"] == "device" else "device_part_median_s"
    return u64[part] / i32[part], i32["speedup"], u64["speedup"]


def grids(d: rs.Results, variant: str) -> pd.Series:
    """Times by the number of blocks per SM."""
    rows = d.rows("multiblock", f"multiblock/{variant}", n=10**8, timing_mode="device", status="ok")
    return rows.assign(each=rs.setting(rows, "grid") / d.machine.get("gpu.sm_count")).set_index("each")["time_median_s"]


def loads(d: rs.Results, n: int) -> str:
    """The call of a global stride and atomics that is fastest, by the number of loads a thread."""
    rows = d.rows("levels", "levels/global-stride:finish=atomic", n=n, timing_mode="device", status="ok")
    return rs.parse_settings(rows.loc[rows["time_median_s"].idxmin(), "settings"])["granularity"]


def host(d: rs.Results) -> pd.Series:
    """Times of the CPU's sums by variant and settings."""
    rows = d.other("cpu-intel-xeon").rows("cpu", operation="sum", element_type="f32", cache_state="warm", n=2**24,
                                          status="ok")
    return rows.set_index(["variant", "settings"])["time_median_s"]


def of_tuned(d: rs.Results, way: str = "", call: str = "tuned/sum:reading=auto",
             element_type: str = "") -> pd.DataFrame:
    """tuned.csv at even sizes and starts."""
    rows = d.rows("tuned", call, offset_elements=0, status="ok")
    rows = rows[~rows["n"].isin(ODD) & (rows["element_type"].eq(element_type) | (element_type == ""))]
    return rows[(rows["timing_mode"] + " " + rows["cache_state"]).str.startswith(way)]


def by_type(d: rs.Results, way: str) -> list[float]:
    return [mean(of_tuned(d, way, element_type=t)["speedup"]) for t in ("i32", "f32", "f64")]


def by_size(d: rs.Results) -> pd.Series:
    """tuned's speedup over CUB, f32, aligned, L2 cold and dirty."""
    return of_tuned(d, "device cold_dirty", element_type="f32").set_index("n")["speedup"]


def over_sum_tuned(d: rs.Results) -> pd.Series:
    """The speedup of tuned over CUB with the type's best policy, of medians, where both have times."""
    key = ["operation", "element_type", "timing_mode", "cache_state", "offset_elements", "n"]
    base, ours = (d.rows("tuned", v).set_index(key)["time_median_s"] for v in ("cub/sum-tuned", "tuned/sum"))
    return (base / ours).dropna()


def ceiling_with(d: rs.Results, words: int) -> float:
    """The share of the read ceiling, in %, that cold sums would reach if launches of several blocks took the way of so
    many words beyond reading."""
    rows = of_tuned(d, "device cold").dropna(subset=["share_of_read_ceiling"])
    reading = rows["share_of_read_ceiling"] * rows["time_median_s"]
    finish = words * 0.5e-9 * probe(d, "message_round_trip", "ns")
    return 100 * mean(rows["share_of_read_ceiling"].where(rows["grid_blocks"] == 1, reading / (reading + finish)))


def parts(d: rs.Results, n: int) -> list[float]:
    """Launch floor, reading, what tuned and CUB take beyond it, and their times, in us."""
    ours, cub = (measured(d, call, n, "tuned") for call in ("tuned/sum", "cub/sum"))
    floor, read = ours["launch_floor_s"], ours["read_time_s"]
    times = [row["time_median_s"] for row in (ours, cub)]
    return [1e6 * t for t in (floor, read - floor, *(t - read for t in times), *times)]


# Accuracy, and error against time.


def differing(d: rs.Results) -> pd.DataFrame:
    """The calls that give other bits from time to time."""
    rows = d.rows("accuracy", dataset="random", n=2**20)
    return rows[rows["distinct_results"] > 1]


def largest_error(d: rs.Results, variant: str) -> float:
    return d.rows("accuracy", variant, device="cuda", dataset="random", n=2**28)["abs_error"].max()


def longer(d: rs.Results, call: str, base: str, kind: str = "f32", dataset: str = "random") -> float:
    """How many times as long a sum of 2^28 elements takes as another, both named `variant` or `variant wide_sum`."""
    def time(call: str) -> float:
        variant, _, operation = call.partition(" ")
        return us(d, variant, 2**28, "frontier", element_type=kind, dataset=dataset, operation=operation or "sum")

    return time(call) / time(base)


def exact_over_cub(d: rs.Results) -> list[float]:
    """Speedups of exact sums over CUB's, of 2^14 and more random floats and doubles."""
    rows = d.rows("frontier", "exact/sum", operation="sum", dataset="random")
    return rows[rows["n"] >= 2**14]["speedup"].tolist()


def compared_with_cub(d: rs.Results) -> list[float]:
    """Speedups of exact sums over CUB's by `compare`, cold and in a graph, of 2^14 and more elements."""
    rows = d.rows("exact", base="cub/sum")
    return rows[(rows["n"] >= 2**14) & (rows["timing_mode"] + rows["cache_state"] != "devicewarm")]["ratio"].tolist()


def random_over_cub(d: rs.Results, *kinds: str) -> list[float]:
    """Speedups over CUB of the exact sums of today's kernels, of 2^14 and more random elements of these types."""
    rows = d.rows("magnitudes", program="5daa7851", variant="exact/sum", dataset="random")
    return [v for kind in kinds for v in rows[(rows["element_type"] == kind) & (rows["n"] >= 2**14)]["ratio"]]


def slower_than_cub(d: rs.Results) -> pd.DataFrame:
    """The points at which exact sums are, of all kinds of data."""
    rows = d.rows("exact", "exact/sum")
    return rows[rows["speedup_ci_high"] < 1]


def exact_over_tuned(d: rs.Results, n: int = 2**28) -> pd.Series:
    """How many times as long as plain sums exact ones take, of random floats and doubles."""
    key = ["element_type", "timing_mode"]
    exact, tuned = (d.rows("exact", v, n=n, dataset="random", element_type=["f32", "f64"]).set_index(key)["time_median_s"]
                    for v in ("exact/sum", "tuned/sum"))
    return exact / tuned


def with_bank_conflicts() -> set[str]:
    """The variants that have some, as the simulated device counts them."""
    counts = pd.read_csv(ROOT / "experiments" / "results" / "counts.csv.gz")
    return set(counts[counts["counter"].str.endswith("conflicts") & (counts["simulated"] > 0)]["variant"])


def beyond_random(d: rs.Results, variant: str) -> list[float]:
    """How much longer sums of other data take than those of random data, in us."""
    times = d.rows("exact", variant).pivot(index=["element_type", "timing_mode", "n"], columns="dataset", values="time_median_s")
    return (1e6 * times.sub(times["random"], axis=0)).max().tolist()


def of_data(d: rs.Results, data: str, kind: str, mode: str, least: int = 2**16, most: int = 2**30,
            program: str = "5daa7851") -> pd.DataFrame:
    """Exact sums of such data by `compare`: their speedups over CUB, times in us, and those over random data's."""
    rows = d.rows("magnitudes", program=program, variant="exact/sum", element_type=kind, timing_mode=mode)
    rows = rows[rows["n"].between(least, most)].set_index(["dataset", "n"])[["time_s", "ratio"]]
    times, random = 1e6 * rows["time_s"][data], 1e6 * rows["time_s"]["random"]
    return pd.DataFrame(dict(us=times, longer=times / random, beyond=times - random, speedup=rows["ratio"][data]))


def ahead_of_ours(d: rs.Results, operation: str, *lines) -> pd.DataFrame:
    """The fastest call at each shape of these rows, columns or segments where tuned's takes more than 5 % longer."""
    table = rs.where_is(shapes.points_of(d), operation=operation, status="ok", **({"line": lines} if lines else {}))
    table = table.assign(size=table["n"].map(shapes.size_of), at=table["line"].astype(str) + " " + table["n"].astype(str))
    ours = table[table["variant"].str.startswith("tuned/")].set_index("at")["time_median_s"]
    best = table.loc[table.groupby("at")["time_median_s"].idxmin()]
    best = best.assign(ratio=best["at"].map(ours) / best["time_median_s"])
    return best[best["ratio"] > 1.05]


def at_most(ahead: pd.DataFrame, calls: str) -> tuple[float, float]:
    """The largest of these sizes, as a power of two, and the largest ratio, if all are of such calls."""
    own = ahead["variant"].str.match(calls).all()
    return (ahead["size"].max(), ahead["ratio"].max()) if own else (np.nan, np.nan)


def ulps(d: rs.Results, *calls: str, dataset: str = "random", **where) -> list[float]:
    """The errors of these sums at 2^28, of both types unless said."""
    points = points_of(d.rows("frontier", n=2**28, dataset=dataset))
    return rs.where_is(points, call=calls, **where)["ulps"].tolist()


# CUB's releases.


def pairs(d: rs.Results, pair: str = "adjacent", to: str = "", call: str = "cub@[^/]*/sum", **where) -> pd.DataFrame:
    """Rows of releases.csv: sums of CUB, unless `call` says otherwise."""
    rows = d.rows("releases", pair=pair, **where)
    return rows[rows["variant"].str.match(rf"{call}( |$)")
                & rows["variant"].str.contains(f"@{to}" if to else "@", regex=False)]


def changed(d: rs.Results, to: str, **where) -> tuple[float, float]:
    """The least and the greatest speedup that has a verdict of a change, warm in a graph."""
    return ends(pairs(d, to=to, timing_mode="graph", verdict=["FASTER", "SLOWER"], **where)["speedup"])


def of_determinism(d: rs.Results, value: str, kind: str, *exponents: int) -> list[float]:
    rows = pairs(d, "determinism", "3.5.0", element_type=kind, timing_mode="device", cache_state="cold_dirty")
    speedups = rows[rows["variant"].str.endswith("=" + value)].set_index("n")["speedup"]
    return [speedups[2**k] for k in exponents]


# Calls from Python.


def peer(d: rs.Results, variant: str, n: int = 2**24, mode: str = "replay", element_type: str = "f32") -> float:
    """A time of peers.csv, cold, in us."""
    return us(d, variant, n, "peers", timing_mode=mode, element_type=element_type)


def peer_over_cub(d: rs.Results, variant: str, *args, **more) -> float:
    """How many times as long as CUB from C++."""
    return peer(d, variant, *args, **more) / peer(d, "cub/sum", *args, **more)


def call_costs(d: rs.Results, n: int, *variants: str) -> list[float]:
    """What a call takes longer than CUB's from C++, in us."""
    cub = peer(d, "cub/sum", n, "end_to_end")
    return [peer(d, v, n, "end_to_end") - cub for v in variants]


def fastest_kernels(d: rs.Results, n: int) -> str:
    """Whose they are, of what is called from Python, at n."""
    rows = d.rows("peers", element_type="f32", timing_mode="replay", n=n, status="ok")
    rows = rows[~rows["variant"].isin(["cub/sum", "tuned/sum"])]
    return rows.loc[rows["time_median_s"].idxmin(), "variant"]
