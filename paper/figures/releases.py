"""Which upgrades of CUB changed a sum: the speedup of each release over the one before it, compiled by one nvcc."""

from report import results as rs
from report import style
from figures.panels import gain_axis, gain_rows, sheet

TYPES = ("i8", "f16", "bf16", "i32", "f32", "i64", "f64", "i128")
UNCHANGED_LOOK = dict(color="#BBBBBB", linewidth=3, solid_capstyle="butt", zorder=1.1)
TICKS = (1, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 9.6, 9.8)  # those below 1 are tenths of the last


def draw(results: rs.Results):
    """None where releases.csv has no pairs of CUB's plain sums in a graph, where calls vary least."""
    pairs = rs.where_is(results.table("releases"), pair="adjacent", timing_mode="graph", cache_state="warm")
    pairs = pairs[pairs["variant"].str.startswith("cub@") & pairs["base"].str.contains("/sum") & pairs["speedup"].notna()]
    if pairs.empty:
        return None
    upgrades = pairs["base"].map(rs.release_of) + " to " + pairs["variant"].map(rs.release_of)
    names = sorted(set(upgrades), key=lambda upgrade: [int(part) for part in upgrade.split(" ")[-1].split(".")])
    pairs = pairs.assign(row=upgrades.map(names.index))
    changed = pairs["verdict"].isin(["FASTER", "SLOWER"])
    looks = {t: style.line_style(k, 0) | dict(linestyle="", markersize=3.2) for k, t in enumerate(
        [t for t in TYPES if (pairs.loc[changed, "element_type"] == t).any()])}
    figure, (axes,) = sheet(["upgrades"], 0.15 * len(names), left=1.12, right=0.08, head=0.42, foot=0.56)
    gain_axis(axes, pairs["speedup"].min() / 1.01, pairs["speedup"].max() * 1.02, TICKS)
    for row, alike in pairs[~changed].groupby("row"):
        axes.plot([alike["speedup"].min(), alike["speedup"].max()], [row] * 2, gid="unchanged", **UNCHANGED_LOOK)
    for k, (t, look) in enumerate(looks.items()):
        own = pairs[changed & (pairs["element_type"] == t)]
        axes.plot(own["speedup"], own["row"] + 0.09 * (k - (len(looks) - 1) / 2), label=t, **look)
    gain_rows(axes, names, {}, "speedup over the release before", apart=0)
    style.legend(figure, looks | {"all that has no verdict": UNCHANGED_LOOK}, 0.05)
    style.title(figure, f"Which upgrades of CUB changed a sum, on one {results.machine_of('releases.csv').gpu}",
                "In a graph, L2 warm. A mark for each type and size that has a verdict, FASTER or SLOWER.")
    return figure
