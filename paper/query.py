"""The language in which texts ask a results folder for numbers: facts.txt, \\ask of main.tex, tables.

    us("cub/sum", 2**28), row("goals", goal="cold", quantity="ceiling")["measured"]

A query is an expression in Python's syntax. It looks up: its words are the functions that this file has, without their
`d`, the folder, and a few of Python's own. Medians and means are lines of means.csv, mean("to-host").
"""

import ast
from contextlib import suppress
from functools import partial
from inspect import isfunction
from pathlib import Path
from statistics import geometric_mean

import pandas as pd

import contrasts
from claims import OPEN, beside, judged_elsewhere
from figures import shapes, speedup
from figures.frontier import points_of
from figures.gains import speeds
from report import results as rs
from series import ODD

COMMITTED = Path(__file__).resolve().parents[1] / "experiments" / "results"
PYTHONS = {f.__name__: f for f in (abs, all, any, len, list, max, min, range, set, sorted)}
# Of samples and rows the program computes these, and checks them against the samples.
STATISTICS = {"corr", "cov", "describe", "kurt", "mad", "mean", "median", "mode", "quantile", "rank", "sem", "skew", "std", "var"}


class Mistake(Exception):
    """A query that no results could answer."""


def ask(d: rs.Results, query: str):
    """A query's answer; rs.Absent where the folder lacks what it asks for."""
    tree = ast.parse(f"({query})", mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (node.attr in STATISTICS or node.attr.startswith("_")):
            raise Mistake(f".{node.attr} is nothing that a query asks; summarize computes, by `means` of contrasts.json")
    of_folder = {name: partial(meaning, d) for name, meaning in WORDS.items()} | dict(rows=d.rows, row=d.row, other=d.other)
    return eval(compile(tree, query, "eval"), {"__builtins__": PYTHONS, **CONSTANTS, **of_folder})


def folders(results: Path = COMMITTED) -> list[rs.Results]:
    """All whose machine is recorded, each without the files of others."""
    return [rs.opened(record.parent, alone=True) for record in sorted(results.glob("*/machine.json"))]


def everywhere(d: rs.Results | None, query: str) -> list:
    """A query's answers in all committed folders that have what it asks for."""
    answers = []
    for folder in folders():
        with suppress(LookupError, rs.ResultsError):
            answers.append(ask(folder, query))
    return answers


# ------------------------------------------------------------------------------------------------ single numbers


def mean(d: rs.Results, name: str) -> float:
    """A median or mean of means.csv, which `reductio summarize` writes."""
    if name.partition(".")[0] not in contrasts.LISTED["means"]:
        raise Mistake(f"contrasts.json has no mean {name}")
    return d.row("means", name=name)["value"]


def contrast(d: rs.Results, name: str, n: int | None = None) -> contrasts.Contrast:
    """A ratio with its interval, or a time in s or cycles; at n, or at the first of its sizes."""
    if (asked := contrasts.asked().get(name)) is None:
        raise Mistake(f"contrasts.json has no {name}")
    if isinstance(asked.group["element_type"], list):
        raise Mistake(f"{name} is of several types")
    if n and asked.group["n"] != "all" and n not in asked.group["n"]:
        raise Mistake(f"{name} has no size {n}")
    if not (found := contrasts.at(d, name, n)).known:
        raise rs.Absent(f"{name}: {found.reason}")
    return found


def gain(d: rs.Results, name: str, n: int | None = None) -> float:
    """The same without the interval."""
    return contrast(d, name, n).value


def gains(d: rs.Results, n: int | None, *names: str) -> list[float]:
    return [gain(d, name, n) for name in names]


def measured(d: rs.Results, call: str, n: int, experiment: str = "comparison", **where) -> pd.Series:
    """An experiment's row of a sum, or of "variant wide_sum": random f32, on the device, L2 cold and dirty, unless said."""
    call, _, operation = call.partition(" ")
    usual = dict(n=n, operation=operation or "sum", dataset="random", device="cuda", element_type="f32", timing_mode="device",
                 cache_state="cold_dirty", offset_elements=0, status="ok")
    return d.row(experiment, call, **(usual | where))


def us(d: rs.Results, call: str, n: int, experiment: str = "comparison", **where) -> float:
    return 1e6 * measured(d, call, n, experiment, **where)["time_median_s"]


def over(d: rs.Results, call: str, base: str, *args, **where) -> float:
    """How many times as long a call takes as another."""
    return us(d, call, *args, **where) / us(d, base, *args, **where)


def ratios(d: rs.Results, experiment: str, base: str, call: str, key: list[str], **where) -> pd.Series:
    """A base's times over a call's, by key, where both have some."""
    above, below = (d.rows(experiment, c, **where).set_index(key)["time_median_s"] for c in (base, call))
    return (above / below).dropna()


def record(d: rs.Results, name: str):
    """What NAME.json holds."""
    if not (path := d.folder / f"{name}.json").exists():
        raise rs.Absent(f"no {path.name}")
    return rs.read_record(path)


def machine(d: rs.Results, path: str, of: str = "machine.json"):
    """What machine.json says at a dotted path, of the machine that a file is of."""
    if (value := d.machine_of(of).get(path)) is None:
        raise rs.Absent(path)
    return value


def dates(d: rs.Results, *experiments: str) -> str:
    """The first and the last day on which these, or all, were measured."""
    days = rs.needed({t[:10] for name in rs.experiments_in(d.folder) if name in experiments or not experiments
                      for t in d.rows(name)["timestamp_utc"] if t}, f"no dates of {experiments}")
    return " to ".join(dict.fromkeys((min(days), max(days))))


def repeated(d: rs.Results, file: str, **where) -> float:
    """The share of points that two runs agree at: the interval of their ratio includes 1."""
    points = rs.needed(d.rows(file, **where).query("ratio > 0"), f"no points of {file}")
    return len(points.query("ratio_low <= 1 <= ratio_high")) / len(points)


# ------------------------------------------------------------------------------------------- words of single facts


def ends(values) -> tuple[float, float]:
    return min(values), max(values)


def call_of(row: pd.Series) -> str:
    """"levels/naive:block=256,finish=atomic"."""
    return f"{row['variant']}:{row['settings'].replace(';', ',')}"


def by_hand(d: rs.Results, mode: str = "device", experiment: str = "comparison", operation: str = "sum", least: int = 0,
            **where) -> pd.DataFrame:
    """The documents' calls, L2 cold and dirty."""
    rows = d.rows(experiment, device="cuda", timing_mode=mode, operation=operation, cache_state="cold_dirty",
                  status="ok", kind="document", **where)
    return as_documented(rows, least)


def as_documented(rows: pd.DataFrame, least: int) -> pd.DataFrame:
    """Those of so many elements or more, without page-locked memory, which no document uses."""
    return rows[(rows["n"] >= least) & ~rows["settings"].str.contains("host-pinned")]


def other_libraries(d: rs.Results, n: int = 2**28) -> dict[str, float]:
    """The speedups over CUB of the calls of libraries that the figure of the comparison draws, newer CUBs among them."""
    rs.needed(d.rows("comparison", kind="library"), "no library in comparison.csv")
    return {s.name: s.at(n)["speedup"] for _, s, _ in speedup.fastest_of_each(d, "f32", n) if s.kind == "library"}


def fastest(d: rs.Results, n: int = 2**28, **which) -> str:
    """Of these the one that is fastest at n."""
    return call_of(rs.fastest(by_hand(d, n=n, **which)))


def differ(d: rs.Results, other: str, role: str) -> set[str]:
    """Claims that both folders decide, otherwise."""
    try:
        both = beside(d, d.other(other))
    except rs.ResultsError as error:  # one has no verdicts, or they were judged by different tests
        raise rs.Absent(error.args[0])
    return set(both[(both["role"] == role) & both["decided"] & both["differ"]]["claim"])


def compiled(d: rs.Results, kernel: str, column: str = "unrolled_by", **where) -> float:
    """What the machine code of a kernel's loop has, alike in all of these."""
    value, = d.rows("compiler", kernel=kernel, loop="main", **where)[column].unique()
    return value


def runs(d: rs.Results, *experiments: str) -> list[dict]:
    ids = {run_id for experiment in experiments for run_id in d.rows(experiment)["run_id"]}
    return [r for r in d.machine.get("runs") if r["run_id"] in ids]


def seconds(d: rs.Results, *experiments: str) -> float:
    return sum(r["time_spent"]["wall_s"] for r in runs(d, *experiments))


def fits(d: rs.Results, call: str) -> list[float]:
    """Latency in us and bandwidth in TB/s beyond L2, of f32 on the device."""
    r = d.row("models", call, experiment="comparison", element_type="f32", operation="sum", timing_mode="device",
              range="beyond", status="ok")
    return [1e6 * r["latency_s"], 1e-12 * r["bandwidth_bytes_per_s"]]


def of_index(d: rs.Results, call: str, index: str = "u64") -> tuple[float, float, float]:
    """t(u64) / t(i32) on the device at 2^28, and the speedups of i32 and u64 over CUB."""
    i32, u64 = (d.row("index", f"{call}:index={i}", n=2**28, element_type="i32", status="ok") for i in ("i32", index))
    part = "time_median_s" if i32["timing_mode"] == "device" else "device_part_median_s"
    return u64[part] / i32[part], i32["speedup"], u64["speedup"]


def second_over_first(d: rs.Results, experiment: str, n: int) -> pd.Series:
    """How many times as long each call took on the device of the second H200."""
    key = ["variant", "settings", "operation", "element_type", "cache_state", "offset_elements"]
    ours, theirs = (of.rows(experiment, n=n, timing_mode="device", status="ok").set_index(key)["time_median_s"]
                    for of in (d, d.other("nvidia-h200-second")))
    return (theirs / ours).dropna()


def of_tuned(d: rs.Results, way: str = "", **where) -> pd.DataFrame:
    """tuned.csv's rows of random data, which also has some of other magnitudes, at even sizes and starts."""
    rows = d.rows("tuned", "tuned/sum:reading=auto", dataset="random", offset_elements=0, status="ok", **where)
    return rows[~rows["n"].isin(ODD) & (rows["timing_mode"] + " " + rows["cache_state"]).str.startswith(way)]


def by_type(d: rs.Results, mode: str, cache: str = "warm") -> list[float]:
    return [d.row("goals", goal="sums", quantity="speedup", element_type=t, timing_mode=mode, cache_state=cache)["measured"]
            for t in ("i32", "f32", "f64")]


def over_sum_tuned(d: rs.Results) -> pd.Series:
    """The speedup of tuned over CUB with the type's best policy, of medians, where both have times."""
    return ratios(d, "tuned", "cub/sum-tuned", "tuned/sum",
                  ["operation", "element_type", "timing_mode", "cache_state", "offset_elements", "n"], dataset="random")


def cost_of_keeping(d: rs.Results) -> pd.Series:
    """How many times as long calls on a cold, dirty L2 take that keep 32 MiB of their input there, by autotune."""
    rows = d.rows("autotune", "tuned/sum", timing_mode="device", cache_state="cold_dirty", status="ok")
    kept = rows["settings"].str.extract(r"kept=(\w+)", expand=False)
    rows = rows.assign(kept=kept, settings=rows["settings"].str.replace(r"kept=\w+", "", regex=True))
    times = {k: of.set_index(["element_type", "n", "settings"])["time_median_s"] for k, of in rows.groupby("kept")}
    return (times["32"] / times["0"]).dropna()


def ceiling_with(d: rs.Results, words: int) -> float:
    """The share of the read ceiling, in %, that cold sums would reach if launches of several blocks took the way of so
    many words beyond reading."""
    rows = of_tuned(d, "device cold").dropna(subset=["share_of_read_ceiling"])
    reading = rows["share_of_read_ceiling"] * rows["time_median_s"]
    finish = words * 0.5e-9 * mean(d, "probe.message_round_trip.ns")
    return 100 * geometric_mean(rows["share_of_read_ceiling"].where(rows["grid_blocks"] == 1, reading / (reading + finish)))


def parts(d: rs.Results, n: int) -> list[float]:
    """Launch floor, reading, what tuned and CUB take beyond it, and their times, in us."""
    ours, cub = (measured(d, call, n, "tuned") for call in ("tuned/sum", "cub/sum"))
    floor, read = ours["launch_floor_s"], ours["read_time_s"]
    times = [row["time_median_s"] for row in (ours, cub)]
    return [1e6 * t for t in (floor, read - floor, *(t - read for t in times), *times)]


def exact_over_tuned(d: rs.Results, n: int = 2**28) -> pd.Series:
    """How many times as long as plain sums exact ones take, of random floats and doubles."""
    return ratios(d, "exact", "exact/sum", "tuned/sum", ["element_type", "timing_mode"], n=n, dataset="random",
                  element_type=["f32", "f64"])


def of_data(d: rs.Results, data: str, kind: str, mode: str, least: int = 2**16, most: int = 2**30,
            program: str = "5daa7851") -> pd.DataFrame:
    """Exact sums of such data by `compare`: their speedups over CUB, times in us, and those over random data's."""
    rows = d.rows("magnitudes", program=program, variant="exact/sum", element_type=kind, timing_mode=mode)
    rows = rows[rows["n"].between(least, most)].set_index(["dataset", "n"])[["time_s", "ratio"]]
    times, random = 1e6 * rows["time_s"][data], 1e6 * rows["time_s"]["random"]
    return pd.DataFrame(dict(us=times, longer=times / random, beyond=times - random, speedup=rows["ratio"][data]))


def of_shapes(d: rs.Results, **where) -> pd.DataFrame:
    """The map's times of these rows, columns and segments."""
    return rs.where_is(shapes.points_of(d), status="ok", **where)


def ahead_of_ours(d: rs.Results, *operations: str) -> pd.DataFrame:
    """The fastest call at each shape of rows, columns or segments, of all if not named, where tuned's takes more than 5 %
    longer."""
    table, shape = of_shapes(d, operation=operations or tuple(shapes.SECTIONS)), ["operation", "line", "n"]
    ours = table[table["variant"].str.startswith("tuned/")].set_index(shape)["time_median_s"]
    best = shapes.fastest_at(table).set_index(shape, drop=False)
    best = best.assign(ratio=ours.reindex(best.index) / best["time_median_s"])
    return best[best["ratio"] > 1.05]


def at_shape(d: rs.Results, operation: str, line, variant: str, size: int = 26) -> float:
    """The share of the ceiling that a call reaches at a shape."""
    share, = of_shapes(d, operation=operation, line=line, variant=variant, size=size)["share_of_read_ceiling"]
    return share


def fastest_at_shapes(d: rs.Results, calls: str) -> list[str]:
    """The fastest call at each shape and size, if it begins so."""
    return [variant for variant in shapes.fastest_at(of_shapes(d))["variant"] if variant.startswith(calls)]


def ulps(d: rs.Results, *calls: str, dataset: str = "random", **where) -> list[float]:
    """The errors of these sums at 2^28, of both types unless said."""
    return rs.where_is(points_of(d), n=2**28, dataset=dataset, call=calls, **where)["ulps"].tolist()


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


def peer(d: rs.Results, variant: str, n: int = 2**24, mode: str = "replay", element_type: str = "f32") -> float:
    """A time of peers.csv, cold, in us."""
    return us(d, variant, n, "peers", timing_mode=mode, element_type=element_type)


def of_all_runs(d: rs.Results | None, call: str, *modes: str, **where) -> pd.DataFrame:
    """Rows that have a speedup, timed so, of a call, or of all calls if it is "", in all committed experiments. autotune
    has settings that no caller gets."""
    where |= {"timing_mode": modes} if modes else {}
    return pd.concat(folder.rows(file, call, status="ok", **where) for folder in folders()
                     for file in sorted(rs.experiments_in(folder.folder).keys() - {"autotune"})
                     if "result" in folder.table(file)).dropna(subset=["speedup"])


def of_documents(d: rs.Results | None, *modes: str, least: int = 2**24) -> pd.DataFrame:
    """Their calls for many floats or integers, L2 cold and dirty, in all committed experiments."""
    rows = of_all_runs(d, "", *modes, kind="document", device="cuda", cache_state="cold_dirty")
    return as_documented(rows[rows["element_type"] != "f64"], least)


def same_bits(d: rs.Results | None, call: str) -> tuple[int, int]:
    """Of the inputs that two models of GPU added up: at how many all sums have the same bits, and how many there are."""
    same = ["operation", "element_type", "accumulator_type", "dataset", "n", "seed", "offset_elements"]
    sums = of_all_runs(d, call).dropna(subset=["result"]).groupby(same, dropna=False)[["machine", "result"]].nunique()
    of_two = sums[sums["machine"] > 1]
    return (of_two["result"] == 1).sum(), len(of_two)


def suite(d: rs.Results, name: str, fault: str = "", **where) -> pd.DataFrame:
    """What was found in a peer's suite; of Indigo the programs with a race, with accesses out of bounds alone, or none."""
    planted = {"": "", "race": ".*(atomic|guard|race|sync)", "bounds": "bounds$", "none": "$"}
    rows = rs.opened(COMMITTED / "suites").rows(name, **where)
    return rows[rows["planted"].str.match(planted[fault])]


WORDS = {name: f for name, f in globals().items() if isfunction(f) and f.__module__ == __name__
         and f.__code__.co_varnames[:1] == ("d",)} | {"speeds": speeds, "judged_elsewhere": judged_elsewhere}
CONSTANTS = dict(
    H100="nvidia-h100-80gb-hbm3", SECOND="nvidia-h200-second", BEST="multiblock/last-block-warp", DOCUMENTS=rs.DOCUMENTS, OPEN=OPEN,
    PLUGGED_IN=("torch/sum", "cuda-compute/reduce", "cupy/sum"), TRITON=("triton/atomic", "triton/two-launch"),
    OTHERS=("ablation", "accuracy", "autotune", "index", "latency", "levels", "limits", "modern", "multiblock", "narrow",
            "squares", "timing", "twopass", "unrolling"),  # beside tuned and comparison
    asked=contrasts.LISTED, named=contrasts.named, ends=ends, call_of=call_of, release_of=rs.release_of)
