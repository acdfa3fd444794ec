"""How far float32 sums are from the exact one, against n, by the order in which each kernel adds, on each data set."""

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

import series as sr
from report import results as rs
from report import style
from figures.panels import DOTTED_LOOK
from figures.speedup import MARKERS

LOWEST = 1e-11  # of the axis: a single sum that happens to be nearly exact would take most of the height
EPSILON = 2.0**-24  # half a unit in the last place of a float32: what rounding the exact sum can cost
SETS = ("random", "normal", "ill-conditioned", "alternating")
LEFT, RIGHT, HEAD, TALL, GAP, BASE = 0.55, 0.08, 0.5, 1.7, 0.16, 0.78


def errors_of(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with `error`, relative to the sum of the magnitudes."""
    rows = rs.where_is(table, status="ok", device="cuda", operation="sum", element_type="f32")
    rows = rows[rows["sum_of_magnitudes"] > 0].astype({"n": "int64"})
    return rows.assign(error=rows["abs_error"] / rows["sum_of_magnitudes"]).dropna(subset=["error"])


def draw(results: rs.Results):
    """None without errors. They scatter from size to size, so marks are not joined."""
    errors = errors_of(results.experiment("accuracy"))
    if not len(errors):
        return None
    sets = [d for d in [*SETS, *sorted(set(errors["dataset"]) - set(SETS))] if d in set(errors["dataset"])]
    exact = [d for d in sets if not (errors.loc[errors["dataset"] == d, "error"] > 0).any()]
    drawn = [d for d in sets if d not in exact]
    groups = sr.groups(errors, *sr.KERNELS, "library")
    # Thrust's call is CUB's kernel.
    series = {g: errors[errors["group"] == g].set_index(["dataset", "n"])["error"].sort_index() for g in ("cub", "thrust")}
    alike = len(series["cub"]) > 0 and series["cub"].equals(series["thrust"])
    groups = [g for g in groups if g != "thrust"] if alike else groups
    names = style.LIBRARY_NAMES | ({"cub": "CUB and Thrust"} if alike else {})
    looks = {g: dict(color=style.color_of(g), marker=MARKERS.get(g, "h"), markersize=2.6, linestyle="") for g in groups}
    figure = style.sheet(HEAD + TALL + BASE)
    positive = errors.loc[errors["error"] > 0, "error"]
    panels = style.row(figure, [f"accuracy:{dataset}" for dataset in drawn], BASE, TALL, LEFT, RIGHT, GAP)
    for dataset, axes in zip(drawn, panels):
        here = errors[(errors["dataset"] == dataset) & (errors["error"] > 0)]
        axes.set_yscale("log")
        for i, group in enumerate(groups):
            rows = here[here["group"] == group]
            # The groups' columns of one n stand side by side.
            axes.plot(rows["n"] * 2 ** (0.22 * (i - (len(groups) - 1) / 2)), rows["error"], label=group, zorder=2, **looks[group])
        axes.axhline(EPSILON, **DOTTED_LOOK)
        style.size_axis(axes, errors["n"], 2.2)
        axes.tick_params(labelleft=axes is panels[0])
        axes.set_title(dataset, loc="left", pad=3)
        axes.set_ylim(LOWEST, 10 ** np.ceil(np.log10(max(positive.max(), EPSILON))))
        axes.yaxis.set_minor_locator(NullLocator())
    if drawn:
        panels[0].set_ylabel("|error| / sum of magnitudes", labelpad=2)
    style.legend(figure, {**{names.get(g, g): look for g, look in looks.items()}, "rounding once, at most": DOTTED_LOOK},
                 0.24)
    style.title(figure, f"Errors of float32 sums on one {results.machine.gpu}",
                "A mark for each kernel and finish: the largest error of a row's calls.")
    style.foot(figure, (f"Exact at every n and in every order: {', '.join(exact)}. " if exact else "")
                 + "What is exact, or below the axis, is not drawn.")
    return figure
