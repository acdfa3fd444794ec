"""The project's own sum: its speedup over CUB against n, a row for each element type and a column for each way of timing, and
below them how near it comes to the read ceiling, where that is a bound: cold. Powers of two are joined; the sizes between,
which were drawn at random, stand by themselves, since neighbours among them need not be alike."""

from __future__ import annotations

from pathlib import Path

from matplotlib.lines import Line2D

import goals
import results as rs
from figures import studies, style
from figures.panels import draw_line
from figures.studies import PARITY_LOOK

# Each column: its gid, its title, the way of timing, where the data start, and which sizes.
COLUMNS = (("cold_dirty", "cold, dirty", goals.WAYS[0], "aligned", goals.not_ragged),
           ("cold_clean", "cold, clean", goals.WAYS[1], "aligned", goals.not_ragged),
           ("warm", "warm", goals.WAYS[2], "aligned", goals.not_ragged),
           ("graph", "in a graph, warm", goals.WAYS[3], "aligned", goals.not_ragged),
           ("off", "off by one; cold, dirty", goals.WAYS[0], "off by one", goals.not_ragged))
LEFT, RIGHT, GAP, HEAD, ROW, BETWEEN, LOWER, FOOT = 0.56, 0.06, 0.12, 0.58, 0.92, 0.1, 0.92, 0.64
DRAWN = "between powers of two"


def draw(path: Path):
    """None without tuned.csv, or where it has nothing of tuned beside CUB."""
    folder = goals.Folder(path)
    found = {gid: [goals.part(folder, t, way, starts, has=has) for t in goals.TYPES]
             for gid, _, way, starts, has in COLUMNS}
    found = {gid: [p for p in parts if len(p.points)] for gid, parts in found.items()}
    columns = [c for c in COLUMNS if found[c[0]]]
    if not columns:
        return None
    types = [t for t in goals.TYPES if any(p.element_type == t for parts in found.values() for p in parts)]
    points = [p.points for parts in found.values() for p in parts]
    sizes = [n for of in points for n in of["n"]]
    lowest, highest = (pick(float(v) for of in points for v in of[c].dropna())
                       for pick, c in ((min, "low"), (max, "high")))
    bounded = {gid for gid, _, way, *_ in columns if way in goals.COLD}
    shares = [float(v) for gid in bounded for p in found[gid] for v in p.points["share"].dropna()] or [1.0]
    lower_height = LOWER + BETWEEN + 0.08 if bounded else 0
    height = HEAD + len(types) * ROW + (len(types) - 1) * BETWEEN + lower_height + FOOT
    figure = studies.sheet(style.TEXT_WIDTH, height)
    width = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * (len(columns) - 1)) / len(columns)
    looks = {t: dict(style.line_style(k, 0), linewidth=0.8) for k, t in enumerate(goals.TYPES)}
    for k, (gid, title, *_) in enumerate(columns):
        x = LEFT + k * (width + GAP)
        rows = [studies.place(figure, x, FOOT + lower_height + (len(types) - 1 - i) * (ROW + BETWEEN), width, ROW,
                              f"speedup:{gid}:{t}") for i, t in enumerate(types)]
        lower = studies.place(figure, x, FOOT, width, LOWER, f"share:{gid}") if gid in bounded else None
        for p in found[gid]:
            draw_sizes(rows[types.index(p.element_type)], p, "ratio", looks[p.element_type])
            if lower:
                draw_sizes(lower, p, "share", looks[p.element_type])
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
    figure.legend(handles, [*(f"{t}, powers of two" for t in types), f"sizes {DRAWN}"], ncols=len(handles), loc="upper left",
                  bbox_to_anchor=(LEFT / style.TEXT_WIDTH, 1 - 0.25 / height))
    gpu = folder.machine.get("gpu.name", default=folder.machine.name)
    studies.title(figure, f"tuned/sum on one {gpu}", left=LEFT)
    studies.foot(figure, "Rows: CUB's time over its own, with 95 % intervals; the last row, cold: the read ceiling's time over its "
                 f"own.\n{below_parity(columns, found)}", left=LEFT)
    return figure


def is_power(n) -> bool:
    return int(n) & (int(n) - 1) == 0


def between_look(look: dict) -> dict:
    return dict(color=look["color"], marker=look["marker"], linestyle="", markersize=1.5, markerfacecolor="white",
                markeredgecolor=look["color"], markeredgewidth=0.4, alpha=0.75, zorder=1.8)


def draw_sizes(axes, p: goals.Part, column: str, look: dict) -> None:
    """Powers of two joined, other sizes apart; speedups with their intervals."""
    powers = p.points["n"].map(is_power)
    for of, label, how in ((p.points[powers], p.element_type, dict(look, markersize=2.2)),
                           (p.points[~powers], f"{p.element_type}, {DRAWN}", between_look(look))):
        if not len(of):
            continue
        n, value = of["n"].to_numpy(float), of[column].to_numpy(float)
        if column == "ratio":
            down, up = (abs(value - of[end].to_numpy(float)) for end in ("low", "high"))
            draw_line(axes, n, value, down, up, label=label, **how)
        else:
            axes.plot(n, value, label=label, **how)


def below_parity(columns, found) -> str:
    """How many of the intervals that are drawn reach below 1, and the one that does farthest."""
    below = [(float(point.low), f"{p.element_type}, {title}", int(point.n)) for gid, title, *_ in columns for p in found[gid]
             for point in p.points.itertuples() if point.low < 1]
    every = sum(len(p.points) for parts in found.values() for p in parts)
    if not below:
        return f"None of {every} intervals reaches below 1."
    low, where, n = min(below)
    size = rs.power_label(n)
    slower = sum(int((p.points["high"] < 1).sum()) for parts in found.values() for p in parts)
    reach = "reaches" if len(below) == 1 else "reach"
    lie = "none lies" if not slower else "1 lies" if slower == 1 else f"{slower} lie"
    return (f"{len(below)} of {every} intervals {reach} below 1, the farthest to {low:.4f} ({where}, n = {size}); {lie} below it "
            "as a whole.")
