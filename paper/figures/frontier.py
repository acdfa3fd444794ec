import numpy as np
import pandas as pd

from report import results as rs, style
from figures.panels import gain_axis, name_rows, write_beside

TYPES = {"f32": np.float32, "f64": np.float64}
# By kind of data its words, in short, and how its time is marked: hollow, if beside that of random data.
SETS = {"random": ("uniform", "uniform", dict(marker="o", markersize=3.4)),
        "spread": ("spread over $2^{120}$", "spread", dict(marker="o", markersize=5.4, markerfacecolor="none")),
        "ill-conditioned": ("ill-conditioned", "ill", dict(marker=""))}
ROUNDED_ONCE = 0.5  # units in the last place: what rounding the exact sum costs at most
# Calls as the rows have them, in their order; colour by what they do.
PLAIN, LIBRARY, PAIRS, OURS, PYTHON = "#0072B2", "#000000", "#D55E00", style.GROUP_COLORS["tuned"], "#009E73"
CALLS = {
    "compensated/plain": ("plain", PLAIN), "multiblock/last-block-warp": ("multiblock/last-block-warp", PLAIN),
    "levels/naive": ("levels/naive", PLAIN), "compensated/pairwise": ("pairwise", PLAIN),
    "cub/sum": ("CUB", LIBRARY), "cub/sum wide_sum": ("CUB, f32 into f64", LIBRARY),
    "cub@ not_guaranteed": ("CUB, not_guaranteed", LIBRARY), "cub@ run_to_run": ("CUB, run_to_run", LIBRARY),
    "cub@ gpu_to_gpu": ("CUB, gpu_to_gpu", LIBRARY),
    "compensated/kahan": ("Kahan", PAIRS), "compensated/neumaier": ("Neumaier", PAIRS),
    "compensated/double-double": ("double-double", PAIRS), "compensated/in-double": ("f32 in f64", PAIRS),
    "tuned/sum": ("tuned", OURS), "tuned/sum wide_sum": ("tuned, f32 into f64", OURS),
    "exact/sum": ("exact", OURS), "exact/sum wide_sum": ("exact, f32 into f64", OURS),
    "torch/sum": ("torch.sum", PYTHON), "torch/sum wide_sum": ("torch.sum, f32 into f64", PYTHON),
    "cupy/sum": ("cupy.sum", PYTHON), "jax/sum": ("jax.numpy.sum, its call", PYTHON)}
BESIDE = {"multiblock/last-block-warp", "levels/naive", "cub@ not_guaranteed", "cub@ run_to_run",
          "torch/sum wide_sum"}  # in tables alone


def with_calls(table: pd.DataFrame) -> pd.DataFrame:
    """With `call`, as CALLS has it; what CALLS does not have keeps its id."""
    call = (table["variant"] + " " + table["operation"]).str.removesuffix(" sum")
    of_cub = "cub@ " + table["settings"].str.extract("determinism=([^;]*)", expand=False).fillna("")
    return table.assign(call=call.mask(table["variant"].str.startswith("cub@"), of_cub))


def with_errors(table: pd.DataFrame, device: str = "cuda", **which) -> pd.DataFrame:
    """These rows with call and ulps: the error in units in the last place of the exact sum in the elements' type."""
    rows = rs.where_is(with_calls(table), status="ok", device=device, element_type=list(TYPES), **which)
    rows = rows.dropna(subset=["abs_error", "exact_result"])
    units = [np.spacing(np.abs(TYPES[t](exact))) for t, exact in zip(rows["element_type"], rows["exact_result"])]
    return rows.assign(ulps=rows["abs_error"] / units)


def points_of(results: rs.Results) -> pd.DataFrame:
    """The same of frontier.csv's device times, with `slower`, over only reading."""
    rows = with_errors(results.rows("frontier"), timing_mode="device").dropna(subset=["time_median_s"])
    rows["slower"] = rows["time_median_s"] / rows["read_time_s"]
    kinds = rows.groupby("n")["dataset"].transform("nunique")
    return rows[kinds == kinds.max()]  # at other sizes random data alone are timed


def points_from_python(results: rs.Results) -> pd.DataFrame:
    """The same of sums called from Python, of frontier-python.csv. They have no device time. Their kernels were replayed
    beside CUB's, or calls made beside calls where they cannot be captured: `slower` is that of CUB in frontier.csv,
    by what they take longer than CUB."""
    beside, table = points_of(results), results.experiment("frontier-python")
    if table is None:
        return beside.iloc[:0]
    rows = with_errors(table, timing_mode=["replay", "end_to_end"]).dropna(subset=["speedup"])
    rows = rows[~rows["variant"].isin(["cub/sum", "exact/sum"])]
    at = ["operation", "element_type", "dataset", "n"]
    rows = rows.sort_values("timing_mode").drop_duplicates([*at, "variant"], keep="last")  # "replay" is the last
    rows = rows.merge(beside[beside["variant"] == "cub/sum"].drop_duplicates(at)[[*at, "slower"]], on=at)
    return rows.assign(slower=rows["slower"] / rows["speedup"])


def draw(results: rs.Results):
    """What more digits cost: the time of each sum of 2^28 floats or doubles, and its error on three kinds of data, also
    of sums that Python users call, if they were measured. Absent without times."""
    points, python = rs.needed(points_of(results)), points_from_python(results)
    points = pd.concat([points, python]) if len(python) else points
    points = points[~points["call"].isin(BESIDE) & (points["n"] == points["n"].max())]
    types = [t for t in TYPES if (points["element_type"] == t).any()]
    calls = sorted(set(points["call"]), key=lambda call: ([*CALLS, call].index(call), call))
    names, colors = zip(*(CALLS.get(call, (call, style.MARK_COLOR)) for call in calls))
    figure, panels = style.sheet(1.3 + 0.15 * len(calls), [f"frontier:{kind}" for kind in types],
                                 sharey=True, gridspec_kw=dict(wspace=0.1))
    for kind, axes in zip(types, panels):
        gain_axis(axes, 0.95, points["slower"].max() * 1.15, (1, 2, 3, 5))
        here = points[points["element_type"] == kind]
        for dataset, (_, _, look) in SETS.items():
            for call, rows in here[here["dataset"] == dataset].groupby("call"):
                y = calls.index(call)
                axes.plot(rows["slower"], [y] * len(rows), label=f"{call} {dataset}", linestyle="", color=colors[y], **look)
        ulps = here.groupby(["call", "dataset"])["ulps"].max()
        write_beside(axes, 34, [short for _, short, _ in SETS.values()],
                     [[in_units(ulps[call, of]) if (call, of) in ulps else "" for of in SETS] for call in calls],
                     {(calls.index(call), [*SETS].index(of)) for (call, of), u in ulps.items() if u <= ROUNDED_ONCE})
        axes.set_xlabel("time, only reading = 1", labelpad=1)
        axes.set_title(kind, loc="left", pad=3)
        name_rows(axes, names)
        axes.grid(True, axis="y")
    marked = {words: look | dict(color="black", linestyle="") for words, _, look in SETS.values() if look["marker"]}
    style.legend(figure, marked)
    gpu, n = results.machine_of("frontier.csv").gpu, style.power_label(points["n"].iloc[0])
    style.title(figure, f"What more digits cost, and whose sums are right: {n} elements on one {gpu}",
                "Device time, L2 cold and dirty. Numbers: error in units in the last place of the exact sum; bold: at most half a unit."
                + (" Python's sums stand as far from CUB's as replayed beside it; JAX's as its whole call." if len(python) else ""))
    return figure


def in_units(ulps: float) -> str:
    """Few characters: 0.5, 81, $10^{6}$."""
    if ulps >= 1e4:
        return f"$10^{{{round(np.log10(ulps))}}}$"
    return f"{ulps:.1f}" if ulps < 9.95 else f"{ulps:.0f}"


WAYS = {"device": "L2 cold", "graph": "in a graph"}
# Of exact sums over n: by call its words, and how it is drawn.
REPRODUCIBLE = {"exact/sum": ("exact/sum", dict(color=OURS, marker="*", markersize=4.5)),
                "cub@ gpu_to_gpu": ("CUB, gpu_to_gpu", dict(color=LIBRARY, marker="D", markersize=2.6)),
                "tuned/sum": ("tuned/sum, one GPU's bits", dict(color=OURS, marker="o", linestyle=(0, (4, 1.5)),
                                                                markerfacecolor="white"))}


def exact(results: rs.Results):
    """What the same bits everywhere cost: the speedup over CUB of exact sums, of CUB's own reproducible ones and of
    tuned, against n, one call at a time and in a graph. Absent where frontier.csv has these sums at fewer than three
    sizes."""
    table = rs.where_is(with_calls(results.experiment("frontier")), status="ok", operation="sum", dataset="random",
                        call=list(REPRODUCIBLE)).dropna(subset=["speedup"])
    parts = rs.needed({(kind, mode): rows for kind in TYPES for mode in WAYS
                       if (rows := rs.where_is(table, element_type=kind, timing_mode=mode))["n"].nunique() > 2})
    figure, panels = style.sheet(2.5, [f"exact:{kind}:{mode}" for kind, mode in parts], sharey=True)
    for ((kind, mode), part), axes in zip(parts.items(), panels):
        axes.axhline(1, color="black", linewidth=1.1, zorder=1.5)
        for call, (_, look) in REPRODUCIBLE.items():
            rows = rs.where_is(part, call=call).sort_values("n")
            x, y, low, high = (rows[c].to_numpy(float) for c in ("n", "speedup", "speedup_ci_low", "speedup_ci_high"))
            axes.fill_between(x, low, high, color=look["color"], alpha=0.25, linewidth=0)
            axes.plot(x, y, label=call, **look)
        axes.set_ylim(table["speedup_ci_low"].min() / 1.05, table["speedup_ci_high"].max() * 1.05)
        style.size_axis(axes, table["n"], 2, every=8)
        style.decade_axis(axes.yaxis)
        axes.set_title(f"{kind}, {WAYS[mode]}", loc="left", pad=3)
    panels[0].set_ylabel("speedup over CUB", labelpad=2)
    style.legend(figure, dict(REPRODUCIBLE.values()))
    style.title(figure, f"What the same bits on every GPU cost, on one {results.machine_of('frontier.csv').gpu}",
                "Random data; L2 cold and dirty, in a graph warm. Bands are 95 % intervals, paired by context.")
    return figure
