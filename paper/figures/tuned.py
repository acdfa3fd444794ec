import pandas as pd

import series as sr
from report import results as rs, style
from figures.panels import PARITY_LOOK

# By label the words, the way of timing, the state of the cache, and how many elements off alignment the data start.
WAYS = {"cold_dirty": ("L2 cold, dirty", "device", "cold_dirty", 0), "warm": ("L2 warm", "device", "warm", 0),
        "graph": ("in a graph, L2 warm", "graph", "warm", 0),
        "off": ("misaligned by one element, cold", "device", "cold_dirty", 1)}
SHARES = {"tuned": ("tuned/sum", style.GROUP_COLORS["tuned"], "o"), "CUB": ("cub/sum", "#000000", "p")}
DRAWN = "between powers of two"


def draw(results: rs.Results, element_type: str = "f32"):
    """The project's own sum: on the left its speedup over CUB against n in four situations, on the right how near it
    and CUB come to the read ceiling, cold. Powers of two are joined; the sizes between, which were drawn at random,
    stand by themselves, since neighbours among them need not be alike. Absent where tuned.csv has nothing of tuned
    beside CUB."""
    rows = results.rows("tuned", variant=["cub/sum", "tuned/sum"], dataset="random").dropna(subset=["speedup"])
    rows = rows.sort_values("n")
    rows = rows[~rows["n"].isin(sr.ODD) & ((rows["variant"] == "cub/sum") | rows["settings"].str.startswith("reading=auto"))]
    all_of_ours, rows = rows[rows["variant"] == "tuned/sum"], rows[rows["element_type"] == element_type]
    by_call = dict(iter(rows.groupby(["variant", "timing_mode", "cache_state", "offset_elements"])))
    rs.needed([call for call in by_call if call[0] == "tuned/sum"])
    figure, (speed, share) = style.sheet(2.8, ["speedup", "share"], width_ratios=(8, 7))
    ways, shares = {}, {}
    for k, (label, (words, *way)) in enumerate(WAYS.items()):
        if ("tuned/sum", *way) in by_call:
            ways[words] = dict(style.line_style(k, 0), linewidth=0.8)
            draw_sizes(speed, by_call["tuned/sum", *way], label, ways[words], "speedup", "speedup_ci_low", "speedup_ci_high")
    for label, (variant, color, marker) in SHARES.items():
        shares[label] = dict(color=color, marker=marker, linewidth=0.8)
        if (variant, "device", "cold_dirty", 0) in by_call:
            draw_sizes(share, by_call[variant, "device", "cold_dirty", 0], label, shares[label], *["share_of_read_ceiling"] * 3)
    shares["not a power of two"] = between_look(dict(color=style.MARK_COLOR, marker="o"))
    for axes, words, looks, columns in ((speed, "speedup over CUB", ways, 2),
                                        (share, "share of the read ceiling", shares, 3)):
        axes.axhline(1, **PARITY_LOOK)
        axes.set_ylabel(words, labelpad=2)
        style.size_axis(axes, rows.loc[rows["variant"] == "tuned/sum", "n"], 1.5)
        looks = {words: dict(markersize=3) | look for words, look in looks.items()}
        axes.legend(style.handles(looks), list(looks), loc="lower left", bbox_to_anchor=(0, 1), ncols=columns,
                    borderaxespad=0.3)
    style.title(figure, f"tuned/sum over CUB, and both below the read ceiling, on one {results.machine.gpu}",
                f"{element_type}. Left: CUB's time over its own, with 95 % intervals. Right: L2 cold and dirty.")
    below, wholly = ((all_of_ours[f"speedup_ci_{end}"] < 1).sum() for end in ("low", "high"))
    style.foot(figure, f"All types: {below} of {len(all_of_ours)} intervals reach below 1, {wholly} lie below it as a whole.")
    return figure


def between_look(look: dict) -> dict:
    return dict(color=look["color"], marker=look["marker"], linestyle="", markersize=2.8, markerfacecolor="white",
                markeredgecolor=look["color"], markeredgewidth=0.6, zorder=1.8)


def draw_sizes(axes, points: pd.DataFrame, label: str, look: dict, *columns: str) -> None:
    """Powers of two joined, other sizes apart: a value and the ends of its interval."""
    powers = points["n"] & (points["n"] - 1) == 0
    for part, name, how in ((points[powers], label, dict(look, markersize=2.4)),
                            (points[~powers], f"{label}, {DRAWN}", between_look(look))):
        style.draw_points(axes, part[["n", *columns]].astype(float).values.tolist(), elinewidth=0.5, label=name, **how)
