"""Which upgrades of CUB changed a sum: the speedup of each release over the one before it, compiled by one nvcc."""

import pandas as pd
from matplotlib.ticker import FixedLocator, NullLocator

from report import results as rs
from report import style
from figures.panels import speedup_rows

TYPES = ("i8", "f16", "bf16", "i32", "f32", "i64", "f64", "i128")
CHANGED = ["FASTER", "SLOWER"]
UNCHANGED_LOOK = dict(color="#BBBBBB", linewidth=3, solid_capstyle="butt", zorder=1.1)
TICKS = (0.96, 0.98, 1, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75)
NAMES, RIGHT, HEAD, ROW, FOOT = 1.12, 0.08, 0.42, 0.15, 0.56


def number(release: str) -> tuple:
    return tuple(int(part) for part in release.split("."))


def pairs_of(results: rs.Results) -> pd.DataFrame:
    """Of CUB's plain sums in a graph, where calls vary least."""
    pairs = rs.where_is(results.table("releases"), pair="adjacent", timing_mode="graph", cache_state="warm")
    pairs = pairs[pairs["variant"].str.startswith("cub@") & pairs["base"].str.contains("/sum") & pairs["speedup"].notna()]
    return pairs.assign(upgrade=pairs["base"].map(rs.release_of) + " to " + pairs["variant"].map(rs.release_of),
                        to=pairs["variant"].map(rs.release_of))


def draw(results: rs.Results):
    """None where releases.csv has no pairs of CUB's in a graph."""
    pairs = pairs_of(results)
    if pairs.empty:
        return None
    upgrades = [upgrade for _, upgrade in sorted({(number(to), u) for to, u in zip(pairs["to"], pairs["upgrade"])})]
    changed = pairs["verdict"].isin(CHANGED)
    types = [t for t in TYPES if (pairs.loc[changed, "element_type"] == t).any()]
    figure = style.sheet(HEAD + ROW * len(upgrades) + FOOT)
    axes, = style.row(figure, ["upgrades"], FOOT, ROW * len(upgrades), NAMES, RIGHT, 0)
    axes.set_xscale("log")
    axes.set_xlim(pairs["speedup"].min() / 1.01, pairs["speedup"].max() * 1.02)
    for upgrade, alike in pairs[~changed].groupby("upgrade"):
        axes.plot([alike["speedup"].min(), alike["speedup"].max()], [upgrades.index(upgrade)] * 2, gid="unchanged", **UNCHANGED_LOOK)
    looks = {t: style.line_style(k, 0) | dict(linestyle="", markersize=3.2) for k, t in enumerate(types)}
    for k, t in enumerate(types):
        own = pairs[changed & (pairs["element_type"] == t)]
        y = own["upgrade"].map(upgrades.index) + 0.09 * (k - (len(types) - 1) / 2)
        axes.plot(own["speedup"], y, label=t, **looks[t])
    speedup_rows(axes, upgrades, "speedup over the release before")
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    style.legend(figure, looks | {"all that has no verdict": UNCHANGED_LOOK}, 0.05)
    style.title(figure, f"Which upgrades of CUB changed a sum, on one {results.machine_of('releases.csv').gpu}",
                "In a graph, L2 warm. A mark for each type and size that has a verdict, FASTER or SLOWER.")
    return figure
