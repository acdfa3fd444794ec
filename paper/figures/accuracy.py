"""How the error of float32 sums grows with n, by whose kernel adds: the largest of its kernels, finishes and calls."""

from matplotlib.ticker import NullLocator

import series as sr
from report import results as rs
from report import style
from figures.panels import DOTTED_LOOK, sheet
from figures.speedup import MARKERS

EPSILON = 2.0**-24  # half a unit in the last place of a float32: what rounding the exact sum can cost


def draw(results: rs.Results):
    """None without errors, which are relative to the sum of the magnitudes."""
    rows = rs.where_is(results.experiment("accuracy"), status="ok", device="cuda", operation="sum", element_type="f32",
                       dataset="random")
    rows = rows[rows["sum_of_magnitudes"] > 0].astype({"n": "int64"})
    errors = rows.assign(error=rows["abs_error"] / rows["sum_of_magnitudes"]).dropna(subset=["error"])
    if errors.empty:
        return None
    largest = errors.groupby(["group", "n"])["error"].max()
    series = {group: largest[group][largest[group] > 0] for group in sr.groups(errors, *sr.KERNELS, "library")}
    names = dict(style.LIBRARY_NAMES)
    if "cub" in series and "thrust" in series and series["cub"].equals(series["thrust"]):  # Thrust's call is CUB's kernel
        del series["thrust"]
        names["cub"] = "CUB, Thrust"
    looks = {g: dict(color=style.color_of(g), marker=MARKERS.get(g, "h"), markersize=3) for g in series}
    figure, (axes,) = sheet(["accuracy"], 1.6, left=0.62, right=0.08, head=0.55, foot=0.82, width=style.COLUMN_WIDTH)
    axes.set_yscale("log")
    for group, line in series.items():
        axes.plot(line.index, line, label=group, **looks[group])
    axes.axhline(EPSILON, **DOTTED_LOOK)
    style.size_axis(axes, errors["n"], 1.5)
    axes.set_ylim(min(s.min() for s in series.values()) / 2, 2 * max(EPSILON, *(s.max() for s in series.values())))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel("|error| / sum of magnitudes", labelpad=2)
    style.legend(figure, {**{names.get(g, g): look for g, look in looks.items()}, "rounding once": DOTTED_LOOK}, 0.04, ncols=3)
    style.title(figure, f"How errors grow, on one {results.machine.gpu}", "f32, uniform data; of each source the largest error.")
    return figure
