"""The project's own sum: on the left its speedup over CUB against n in four situations, on the right how
near it and CUB come to the read ceiling, cold. Powers of two are joined; the sizes between, which were drawn at random,
stand by themselves, since neighbours among them need not be alike."""

import numpy as np
import pandas as pd

import series as sr
from report import results as rs
from report import style
from figures.panels import PARITY_LOOK

# gid, words, the way of timing, how many elements off alignment the data start, the place in the line styles.
WAYS = (("cold_dirty", "L2 cold, dirty", "device/cold_dirty", 0, 0), ("warm", "L2 warm", "device/warm", 0, 1),
        ("graph", "in a graph, L2 warm", "graph/warm", 0, 2), ("off", "misaligned by one element, cold", "device/cold_dirty", 1, 3))
SHARES = (("tuned/sum", "tuned", style.GROUP_COLORS["tuned"], "o"), ("cub/sum", "CUB", "#000000", "p"))
LEFT, RIGHT, GAP, HEAD, TALL, FOOT = 0.46, 0.08, 0.5, 0.76, 1.5, 0.7
DRAWN = "between powers of two"


def draw(results: rs.Results, element_type: str = "f32"):
    """None where tuned.csv has nothing of tuned beside CUB."""
    rows = results.experiment("tuned")
    rows = rows[rows["speedup"].notna() & ~rows["n"].isin(sr.ODD)
                & ((rows["variant"] == "cub/sum") | ((rows["variant"] == "tuned/sum")
                                                     & rows["settings"].str.startswith("reading=auto")))].sort_values("n")
    all_of_ours, rows = rows[rows["variant"] == "tuned/sum"], rows[rows["element_type"] == element_type]
    ours = rows[rows["variant"] == "tuned/sum"]
    if ours.empty:
        return None
    by_call = {(variant, f"{way}/{state}", start): points for (variant, way, state, start), points in
               rows.groupby(["variant", "timing_mode", "cache_state", "offset_elements"])}
    figure = style.sheet(HEAD + TALL + FOOT)
    speed, share = style.row(figure, ["speedup", "share"], FOOT, TALL, LEFT, RIGHT, GAP)
    for gid, _, way, start, k in WAYS:
        draw_sizes(speed, by_call.get(("tuned/sum", way, start)), gid, "speedup", look_of(k))
    for variant, label, color, marker in SHARES:
        draw_sizes(share, by_call.get((variant, "device/cold_dirty", 0)), label, "share_of_read_ceiling",
                   dict(color=color, marker=marker, linewidth=0.8))
    speed.set_ylabel("speedup over CUB", labelpad=2)
    share.set_ylabel("share of the read ceiling", labelpad=2)
    for axes in (speed, share):
        axes.axhline(1, **PARITY_LOOK)
        style.size_axis(axes, ours["n"], 1.5)
    ways = {words: dict(look_of(k), markersize=3) for _, words, way, start, k in WAYS if ("tuned/sum", way, start) in by_call}
    top, right = figure.get_figheight() - 0.43, (style.TEXT_WIDTH - RIGHT + LEFT + GAP) / 2
    style.legend(figure, ways, top, LEFT, "upper left", ncols=2)
    shares = {label: dict(color=c, marker=m, markersize=3, linewidth=0.8) for _, label, c, m in SHARES}
    between = between_look(dict(color=style.MARK_COLOR, marker="o"))
    style.legend(figure, shares | {"not a power of two": between}, top, right, "upper left")
    style.title(figure, f"tuned/sum over CUB, and both below the read ceiling, on one {results.machine.gpu}",
                f"{element_type}. Left: CUB's time over its own, with 95 % intervals. Right: L2 cold and dirty.")
    style.foot(figure, f"All types: {below_parity(all_of_ours)}")
    return figure


def look_of(k: int) -> dict:
    return dict(style.line_style(k, 0), linewidth=0.8)


def is_power(n) -> bool:
    return int(n) & (int(n) - 1) == 0


def between_look(look: dict) -> dict:
    return dict(color=look["color"], marker=look["marker"], linestyle="", markersize=2.8, markerfacecolor="white",
                markeredgecolor=look["color"], markeredgewidth=0.6, zorder=1.8)


def draw_sizes(axes, points: pd.DataFrame | None, label: str, column: str, look: dict) -> None:
    """Powers of two joined, other sizes apart; speedups with their intervals."""
    if points is None:
        return
    powers = points["n"].map(is_power)
    for part, name, how in ((points[powers], label, dict(look, markersize=2.4)),
                            (points[~powers], f"{label}, {DRAWN}", between_look(look))):
        n, value = part["n"].to_numpy(float), part[column].to_numpy(float)
        down, up = ((abs(value - part[f"speedup_ci_{end}"].to_numpy(float)) for end in ("low", "high"))
                    if column == "speedup" else (np.zeros(len(n)),) * 2)
        if len(part):
            axes.errorbar(n, value, yerr=[down, up], elinewidth=0.5, label=name, **how)


def below_parity(drawn: pd.DataFrame) -> str:
    """How many of tuned's intervals reach below 1, and the one that does farthest."""
    below = drawn[drawn["speedup_ci_low"] < 1]
    if below.empty:
        return f"None of {len(drawn)} intervals reaches below 1."
    farthest = below.loc[below["speedup_ci_low"].idxmin()]
    slower = int((drawn["speedup_ci_high"] < 1).sum())
    return (f"{len(below)} of {len(drawn)} intervals reach{'es' if len(below) == 1 else ''} below 1, the farthest to "
            f"{farthest['speedup_ci_low']:.4f} ({farthest['element_type']}, "
            f"{sr.MODE_LABELS[farthest['timing_mode']]}, {sr.CACHE_LABELS[farthest['cache_state']]}, "
            f"n = {style.power_label(farthest['n'])}); {slower or 'none'} lie{'s' if slower < 2 else ''} below it as a whole.")
