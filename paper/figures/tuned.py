"""The project's own sum: its speedup over CUB against n, a row for each element type and a column for each way of timing, and
below them how near it comes to the read ceiling, where that is a bound: cold. Powers of two are joined; the sizes between,
which were drawn at random, stand by themselves, since neighbours among them need not be alike."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D

import goals
import results as rs
from figures import style
from figures.panels import draw_line
from figures.studies import PARITY_LOOK
from results import Results

TYPES = ("i32", "f32", "f64")
# Each column: its gid, its title, the way of timing, and how many elements off alignment the data start.
COLUMNS = (("cold_dirty", "cold, dirty", "device/cold_dirty", 0), ("cold_clean", "cold, clean", "device/cold_clean", 0),
           ("warm", "warm", "device/warm", 0), ("graph", "in a graph, warm", "graph/warm", 0),
           ("off", "off by one; cold, dirty", "device/cold_dirty", 1))
LEFT, RIGHT, GAP, HEAD, ROW, BETWEEN, LOWER, FOOT = 0.56, 0.06, 0.12, 0.58, 0.92, 0.1, 0.92, 0.64
DRAWN = "between powers of two"


def draw(results: Results):
    """None without tuned.csv, or where it has nothing of tuned beside CUB."""
    rows = results.experiment("tuned")
    if rows is None:
        return None
    rows = rows[(rows["variant"] == "tuned/sum") & rows["settings"].str.startswith("reading=auto") & rows["speedup"].notna()
                & ~rows["n"].isin(goals.ODD)].sort_values("n")
    of = {(f"{way}/{state}", start, t): points for (way, state, start, t), points in
          rows.groupby(["timing_mode", "cache_state", "offset_elements", "element_type"])}
    found = {gid: {t: of[way, start, t] for t in TYPES if (way, start, t) in of} for gid, _, way, start in COLUMNS}
    columns = [c for c in COLUMNS if found[c[0]]]
    if not columns:
        return None
    types = [t for t in TYPES if any(t in points for points in found.values())]
    drawn = pd.concat([points for column in found.values() for points in column.values()])
    sizes, lowest, highest = drawn["n"], drawn["speedup_ci_low"].min(), drawn["speedup_ci_high"].max()
    bounded = {gid for gid, _, way, _ in columns if "cold" in way}
    shares = list(drawn.loc[drawn["cache_state"] != "warm", "share_of_read_ceiling"].dropna()) or [1.0]
    lower_height = LOWER + BETWEEN + 0.08 if bounded else 0
    height = HEAD + len(types) * ROW + (len(types) - 1) * BETWEEN + lower_height + FOOT
    figure = style.sheet(height)
    width = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * (len(columns) - 1)) / len(columns)
    looks = {t: dict(style.line_style(k, 0), linewidth=0.8) for k, t in enumerate(TYPES)}
    for k, (gid, title, *_) in enumerate(columns):
        x = LEFT + k * (width + GAP)
        rows = [style.place(figure, x, FOOT + lower_height + (len(types) - 1 - i) * (ROW + BETWEEN), width, ROW,
                              f"speedup:{gid}:{t}") for i, t in enumerate(types)]
        lower = style.place(figure, x, FOOT, width, LOWER, f"share:{gid}") if gid in bounded else None
        for t, points in found[gid].items():
            draw_sizes(rows[types.index(t)], points, t, "speedup", looks[t])
            if lower:
                draw_sizes(lower, points, t, "share_of_read_ceiling", looks[t])
        for axes, ends in ((*((r, (min(0.9, lowest) - 0.03, max(1.1, highest) * 1.03)) for r in rows),
                            (lower, (min(shares) - 0.03, max(1.03, max(shares) + 0.02))))):
            if axes is None:
                continue
            axes.axhline(1, **PARITY_LOOK)
            axes.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
            style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes), every=8)
            axes.set_ylim(*ends)
            axes.tick_params(labelleft=not k, labelbottom=axes is (lower or rows[-1]))
        rows[0].set_title(title, loc="left", pad=3)
        (lower or rows[-1]).set_xlabel("n (elements)", labelpad=1)
        if not k:
            for t, axes in zip(types, rows):
                axes.set_ylabel(f"{t}: speedup")
            if lower:
                lower.set_ylabel("of the ceiling")
    handles = [*(Line2D([], [], markersize=2.6, **looks[t]) for t in types),
               Line2D([], [], **between_look(dict(looks[types[0]], color=style.MARK_COLOR)))]
    style.legend(figure, handles, [*(f"{t}, powers of two" for t in types), f"sizes {DRAWN}"], height - 0.25, LEFT, "upper left",
                 ncols=len(handles))
    style.title(figure, f"tuned/sum on one {results.machine.gpu}", left=LEFT)
    style.foot(figure, "Rows: CUB's time over its own, with 95 % intervals; the last row, cold: the read ceiling's time over its "
                 f"own.\n{below_parity(columns, found)}", left=LEFT)
    return figure


def is_power(n) -> bool:
    return int(n) & (int(n) - 1) == 0


def between_look(look: dict) -> dict:
    return dict(color=look["color"], marker=look["marker"], linestyle="", markersize=1.5, markerfacecolor="white",
                markeredgecolor=look["color"], markeredgewidth=0.4, alpha=0.75, zorder=1.8)


def draw_sizes(axes, points: pd.DataFrame, label: str, column: str, look: dict) -> None:
    """Powers of two joined, other sizes apart; speedups with their intervals."""
    powers = points["n"].map(is_power)
    for of, name, how in ((points[powers], label, dict(look, markersize=2.2)),
                          (points[~powers], f"{label}, {DRAWN}", between_look(look))):
        if not len(of):
            continue
        n, value = of["n"].to_numpy(float), of[column].to_numpy(float)
        if column == "speedup":
            down, up = (abs(value - of[f"speedup_ci_{end}"].to_numpy(float)) for end in ("low", "high"))
            draw_line(axes, n, value, down, up, label=name, **how)
        else:
            axes.plot(n, value, label=name, **how)


def below_parity(columns, found) -> str:
    """How many of the intervals that are drawn reach below 1, and the one that does farthest."""
    drawn = pd.concat([points.assign(where=f"{t}, {title}") for gid, title, *_ in columns for t, points in found[gid].items()])
    below = drawn[drawn["speedup_ci_low"] < 1]
    if below.empty:
        return f"None of {len(drawn)} intervals reaches below 1."
    farthest = below.loc[below["speedup_ci_low"] == below["speedup_ci_low"].min()].iloc[0]
    slower = int((drawn["speedup_ci_high"] < 1).sum())
    reach = "reaches" if len(below) == 1 else "reach"
    lie = "none lies" if not slower else "1 lies" if slower == 1 else f"{slower} lie"
    return (f"{len(below)} of {len(drawn)} intervals {reach} below 1, the farthest to {farthest['speedup_ci_low']:.4f} "
            f"({farthest['where']}, n = {rs.power_label(farthest['n'])}); {lie} below it as a whole.")
