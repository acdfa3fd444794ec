"""What a bit costs: the error of each sum of 2^28 floats or doubles against its time, on three kinds of data, also of
sums that Python users call, if they were measured. The line is the frontier: what is left of it is faster, what is below
it closer to the exact sum, and nothing is both."""

import numpy as np
import pandas as pd
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from report import results as rs
from report import style
from figures.panels import DOTTED_LOOK

TYPES = {"f32": np.float32, "f64": np.float64}
SETS = {"random": "uniform", "spread": "spread over $2^{120}$",
        "ill-conditioned": "ill-conditioned"}
ROUNDED_ONCE = 0.5  # units in the last place: what rounding the exact sum costs at most
FLOOR = 0.03        # of the axis; what is closer stands on it
# Calls as the legend has them, in its order: colour by what they do, marker by which it is.
PLAIN, LIBRARY, PAIRS, OURS, PYTHON = "#0072B2", "#000000", "#D55E00", style.GROUP_COLORS["tuned"], "#009E73"
CALLS = {
    "compensated/plain": ("plain", PLAIN, "o"), "multiblock/last-block-warp": ("multiblock/last-block-warp", PLAIN, "v"),
    "levels/naive": ("levels/naive", PLAIN, "^"), "compensated/pairwise": ("pairwise", PLAIN, "s"),
    "cub/sum": ("CUB", LIBRARY, "o"), "cub/sum wide_sum": ("CUB, f32 into f64", LIBRARY, "s"),
    "cub@ not_guaranteed": ("CUB, not_guaranteed", LIBRARY, "v"), "cub@ run_to_run": ("CUB, run_to_run", LIBRARY, "^"),
    "cub@ gpu_to_gpu": ("CUB, gpu_to_gpu", LIBRARY, "D"),
    "compensated/kahan": ("Kahan", PAIRS, "o"), "compensated/neumaier": ("Neumaier", PAIRS, "v"),
    "compensated/double-double": ("double-double", PAIRS, "s"), "compensated/in-double": ("f32 in f64", PAIRS, "D"),
    "tuned/sum": ("tuned", OURS, "o"), "tuned/sum wide_sum": ("tuned, f32 into f64", OURS, "s"),
    "exact/sum": ("exact", OURS, "*"), "exact/sum wide_sum": ("exact, f32 into f64", OURS, "P"),
    "torch/sum": ("torch.sum", PYTHON, "o"), "torch/sum wide_sum": ("torch.sum, f32 into f64", PYTHON, "s"),
    "cupy/sum": ("cupy.sum", PYTHON, "v"), "jax/sum": ("jax.numpy.sum, its call", PYTHON, "^")}
BESIDE = {"multiblock/last-block-warp", "levels/naive", "cub@ not_guaranteed", "cub@ run_to_run",
          "torch/sum wide_sum"}  # in tables alone
LINE = dict(color=style.MARK_COLOR, linewidth=0.7, drawstyle="steps-post", zorder=1.5)
LEFT, RIGHT, HEAD, TALL, GAP, BETWEEN, FOOT = 0.46, 0.08, 0.56, 1.3, 0.45, 0.3, 0.92


def look(color: str, marker: str) -> dict:
    """Of a call's mark."""
    return dict(linestyle="", color=color, marker=marker, markersize=5.5 if marker == "*" else 3.4, markerfacecolor="none",
                markeredgewidth=0.8)


def key_of(row: pd.Series) -> str:
    """A call as CALLS has it; what CALLS does not have keeps its id."""
    if str(row["variant"]).startswith("cub@"):
        return f"cub@ {str(row['settings']).partition('determinism=')[2].partition(';')[0]}"
    return f"{row['variant']} {row['operation']}".removesuffix(" sum")


def points_of(table: pd.DataFrame) -> pd.DataFrame:
    """call, element_type, dataset, n, slower (than only reading) and ulps: the error in units in the last place that the
    exact sum has in the elements' type."""
    rows = with_errors(table, timing_mode="device").dropna(subset=["time_median_s"])
    rows["slower"] = rows["time_median_s"] / rows["read_time_s"]
    kinds = rows.groupby("n")["dataset"].transform("nunique")
    return rows[kinds == kinds.max()]  # at other sizes random data alone are timed


def with_errors(table: pd.DataFrame, device: str = "cuda", **which) -> pd.DataFrame:
    """These rows with call and ulps: the error in units in the last place of the exact sum in the elements' type."""
    rows = rs.where_is(table, status="ok", device=device, element_type=list(TYPES), **which)
    rows = rows.dropna(subset=["abs_error", "exact_result"])
    units = [np.spacing(np.abs(TYPES[t](exact))) for t, exact in zip(rows["element_type"], rows["exact_result"])]
    return rows.assign(call=[key_of(row) for _, row in rows.iterrows()], ulps=rows["abs_error"] / units)


def points_from_python(table: pd.DataFrame | None, beside: pd.DataFrame) -> pd.DataFrame:
    """The same of sums called from Python, of frontier-python.csv. They have no device time. Their kernels were replayed
    beside CUB's, or calls made beside calls where they cannot be captured: `slower` is that of CUB in `beside`, by what
    they take longer than CUB."""
    if table is None:
        return beside.iloc[:0]
    rows = with_errors(table, timing_mode=["replay", "end_to_end"]).dropna(subset=["speedup"])
    rows = rows[~rows["variant"].isin(["cub/sum", "exact/sum"])]
    at = ["operation", "element_type", "dataset", "n"]
    rows = rows.sort_values("timing_mode").drop_duplicates([*at, "variant"], keep="last")  # "replay" is the last
    cub = beside[beside["variant"] == "cub/sum"].drop_duplicates(at)[[*at, "slower"]]
    rows = rows.merge(cub, on=at)
    return rows.assign(slower=rows["slower"] / rows["speedup"])


def frontier_of(points: pd.DataFrame) -> pd.DataFrame:
    """Those that no other is faster and closer than, from the fastest on."""
    ranked = points.sort_values(["slower", "ulps"])
    return ranked[ranked["ulps"] < ranked["ulps"].cummin().shift(fill_value=np.inf)]


def draw(results: rs.Results):
    """None without times."""
    points = points_of(results.experiment("frontier"))
    if not len(points):
        return None
    python = points_from_python(results.experiment("frontier-python"), points)
    points = pd.concat([points, python]) if len(python) else points
    points = points[~points["call"].isin(BESIDE)]
    largest = points[points["n"] == points["n"].max()]
    types = [t for t in TYPES if (largest["element_type"] == t).any()]
    sets = [d for d in SETS if (largest["dataset"] == d).any()]
    head = HEAD + 0.12 * (len(python) > 0)  # a line more
    figure = style.sheet(head + len(types) * TALL + (len(types) - 1) * BETWEEN + FOOT)
    looks = {call: CALLS.get(call, (call, style.MARK_COLOR, "x")) for call in
             [*(c for c in CALLS if (points["call"] == c).any()), *sorted(set(points["call"]) - set(CALLS))]}
    for i, kind in enumerate(types):
        bottom, last = FOOT + (len(types) - 1 - i) * (TALL + BETWEEN), i == len(types) - 1
        panels = style.row(figure, [f"frontier:{kind}:{dataset}" for dataset in sets], bottom, TALL, LEFT, RIGHT, GAP)
        for dataset, axes in zip(sets, panels):
            here = largest[(largest["element_type"] == kind) & (largest["dataset"] == dataset)]
            draw_errors(axes, here, looks, largest["slower"].max(), last)
            axes.set_title(f"{kind}, {SETS[dataset]}", loc="left", pad=3)
        panels[0].set_ylabel("error (ulp of the exact sum)", labelpad=1)
    names = {name: look(color, marker) for name, color, marker in looks.values()}
    names |= {"frontier": LINE, "half a unit: rounded once": DOTTED_LOOK}
    style.legend(figure, names, 0.06, ncols=6)
    gpu, n = results.machine_of("frontier.csv").gpu, style.power_label(largest["n"].iloc[0])
    style.title(figure, f"What a bit costs on one {gpu}, n = {n}",
                "Device time, L2 cold and dirty. Left is faster, below is closer to the exact sum; what is closer than the axis goes "
                "stands on it." + ("\nPython's sums stand as far from CUB's as their kernels do, replayed beside CUB's; JAX's as its "
                                   "whole call." if len(python) else ""))
    return figure


def draw_errors(axes, here: pd.DataFrame, looks: dict, slowest: float, last: bool) -> None:
    decades = int(np.ceil(np.log10(max(here["ulps"].max(), 10) * 1.5)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    line = frontier_of(here)
    axes.plot([*line["slower"], slowest * 1.3],
              [*line["ulps"].clip(lower=FLOOR), max(line["ulps"].min(), FLOOR)] if len(line) else [], **LINE)
    for call, (_, color, marker) in looks.items():
        rows = here[here["call"] == call]
        axes.plot(rows["slower"], rows["ulps"].clip(lower=FLOOR), clip_on=False, zorder=2, label=call, **look(color, marker))
    axes.axhline(ROUNDED_ONCE, **DOTTED_LOOK)
    axes.set_xlim(0.97, slowest * 1.1)
    axes.set_ylim(FLOOR, 10.0**decades)
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator([10.0**e for e in range(0, decades + 1, 1 + decades // 5)]))
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel("time, read ceiling = 1", labelpad=1)
