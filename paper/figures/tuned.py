"""The project's own sum: its speedup over CUB against n, by element type and way of timing, and below it how near it
comes to the read ceiling, where that is a bound: cold."""

from __future__ import annotations

from pathlib import Path

from matplotlib.lines import Line2D

import goals
from figures import studies, style
from figures.panels import draw_line
from figures.studies import PARITY_LOOK

# Each column: its gid, its title, the way of timing, where the data start, and which sizes.
COLUMNS = (("cold_dirty", "cold, dirty", goals.WAYS[0], "aligned", goals.not_ragged),
           ("cold_clean", "cold, clean", goals.WAYS[1], "aligned", goals.not_ragged),
           ("warm", "warm", goals.WAYS[2], "aligned", goals.not_ragged),
           ("graph", "in a graph, warm", goals.WAYS[3], "aligned", goals.not_ragged),
           ("off", "off by one; cold, dirty", goals.WAYS[0], "off by one", goals.not_ragged))
LEFT, RIGHT, GAP, HEAD, UPPER, BETWEEN, LOWER, FOOT = 0.56, 0.06, 0.12, 0.55, 1.5, 0.12, 1.1, 0.52


def draw(path: Path):
    """None without tuned.csv, or where it has nothing of tuned beside CUB."""
    folder = goals.Folder(path)
    found = {gid: [goals.part(folder, t, way, starts, has=has) for t in goals.TYPES]
             for gid, _, way, starts, has in COLUMNS}
    found = {gid: [p for p in parts if len(p.points)] for gid, parts in found.items()}
    columns = [c for c in COLUMNS if found[c[0]]]
    if not columns:
        return None
    points = [p.points for parts in found.values() for p in parts]
    sizes = [n for of in points for n in of["n"]]
    lowest, highest = (pick(float(v) for of in points for v in of[c].dropna())
                       for pick, c in ((min, "low"), (max, "high")))
    bounded = {gid for gid, _, way, *_ in columns if way in goals.COLD}
    shares = [float(v) for gid in bounded for p in found[gid] for v in p.points["share"].dropna()] or [1.0]
    height = HEAD + UPPER + BETWEEN + LOWER + FOOT
    figure = studies.sheet(style.TEXT_WIDTH, height)
    width = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * (len(columns) - 1)) / len(columns)
    looks = {t: dict(style.line_style(k, 0), markersize=1.8, linewidth=0.7) for k, t in enumerate(goals.TYPES)}
    for k, (gid, title, *_) in enumerate(columns):
        x = LEFT + k * (width + GAP)
        upper = studies.place(figure, x, FOOT + LOWER + BETWEEN, width, UPPER, f"speedup:{gid}")
        lower = studies.place(figure, x, FOOT, width, LOWER, f"share:{gid}") if gid in bounded else None
        for p in found[gid]:
            n, ratio = p.points["n"].to_numpy(float), p.points["ratio"].to_numpy(float)
            down, up = (abs(ratio - p.points[end].to_numpy(float)) for end in ("low", "high"))
            draw_line(upper, n, ratio, down, up, label=p.element_type, **looks[p.element_type])
            if lower:
                lower.plot(n, p.points["share"].to_numpy(float), label=p.element_type, **looks[p.element_type])
        for axes, ends in ((upper, (min(0.9, lowest) - 0.03, max(1.1, highest) * 1.03)),
                           (lower, (min(shares) - 0.03, max(1.03, max(shares) + 0.02)))):
            if axes is None:
                continue
            axes.axhline(1, **PARITY_LOOK)
            axes.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
            style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes), every=8)
            axes.set_ylim(*ends)
            if k:
                axes.tick_params(labelleft=False)
        upper.tick_params(labelbottom=lower is None)
        upper.set_title(title, loc="left", pad=3)
        (lower or upper).set_xlabel("n (elements)", labelpad=1)
        if not k:
            upper.set_ylabel("speedup over CUB")
            if lower:
                lower.set_ylabel("share of ceiling")
    figure.legend([Line2D([], [], **looks[t]) for t in goals.TYPES], list(goals.TYPES), ncols=len(goals.TYPES),
                  loc="upper left", bbox_to_anchor=(LEFT / style.TEXT_WIDTH, 1 - 0.25 / height))
    gpu = folder.machine.get("gpu.name", default=folder.machine.name)
    studies.title(figure, f"tuned/sum on one {gpu}", left=LEFT)
    studies.foot(figure, "Above: CUB's time over its own, with 95 % intervals. Below, cold: the read ceiling's time "
                 "over its own.", left=LEFT)
    return figure
