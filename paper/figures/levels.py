"""Document levels: the gain of several loads a thread over one, of a global stride over a local one, and of finishing by
atomics over a second launch and over the host, at each size."""

from __future__ import annotations

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Contrast, Results

BLOCK = 256
# gid, the contrasts' prefix, title, and whether x is the number of blocks, rather than of loads.
PANELS = (("loads", "levels.granularity.global.", "over one load,\nglobal stride", False),
          ("strides", "levels.strides.", "global stride\nover local", False),
          ("relaunch", "levels.atomic.relaunch.", "atomics over\nrelaunching, end to end", True),
          ("host", "levels.atomic.host.", "atomics over\nthe host, end to end", True))
FINE, COARSE = (0.98, 0.99, 1, 1.01, 1.02, 1.03), (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3)  # ticks of narrow axes
LEFT, RIGHT, HEAD, TALL, GAP, FOOT = 0.42, 0.08, 0.76, 1.45, 0.36, 0.72


def blocks_of(loads: int, n: int) -> int:
    """How many blocks a call has."""
    return -(-n // (BLOCK * loads))


def by_loads(results: Results, prefix: str) -> dict[int, dict[int, Contrast]]:
    """By size and loads a thread, which end a contrast's name."""
    found: dict[int, dict[int, Contrast]] = {}
    for c in results.contrasts_like(prefix):
        found.setdefault(c.n, {})[int(c.name.removeprefix(prefix))] = c
    return dict(sorted(found.items()))


def draw(results: Results):
    """None where contrasts.csv has none of it."""
    found = {gid: lines for gid, prefix, *_ in PANELS if (lines := by_loads(results, prefix))}
    if not found:
        return None
    panels = [p for p in PANELS if p[0] in found]
    sizes = sorted({n for lines in found.values() for n in lines})
    looks = {n: dict(style.line_style(i, 0), markersize=2.8) for i, n in enumerate(sizes)}
    figure = style.sheet(HEAD + TALL + FOOT)
    width = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * (len(panels) - 1)) / len(panels)
    for k, (gid, _, title, by_blocks) in enumerate(panels):
        axes = style.place(figure, LEFT + k * (width + GAP), FOOT, width, TALL, gid)
        xs, values = [], [1.0]
        for n, of in found[gid].items():
            at = {blocks_of(loads, n) if by_blocks else loads: c for loads, c in of.items()}
            points = Points.at(at)
            if gid == "loads":
                points = Points.of([(1, 1.0, 1.0, 1.0), *points.rows()])
            studies.draw_points(axes, points, label=str(n), **looks[n])
            if gid == "loads" and results.sm_count:
                few = [row for row in points.rows() if blocks_of(int(row[0]), n) < results.sm_count]
                axes.plot([r[0] for r in few], [r[1] for r in few], **dict(looks[n], linestyle="", markerfacecolor="white"), zorder=3)
            xs += points.x
            values += points.low + points.high
        axes.set_yscale("log")
        axes.set_xlim(min(xs) / 1.4, max(xs) * 1.4)
        style.power_of_two_axis(axes.xaxis, min(xs), max(xs))
        axes.margins(y=0.08)
        style.decade_axis(axes.yaxis)
        if max(values) < 4 * min(values):
            ticks = FINE if max(values) < 1.1 else COARSE
            axes.set_yticks([t for t in ticks if min(values) < 1.01 * t and t < 1.01 * max(values)])
        axes.axhline(1, **studies.PARITY_LOOK)
        axes.set_title(title, loc="left", pad=3)
        axes.set_xlabel("blocks to add up" if by_blocks else "loads a thread", labelpad=1)
        if not k:
            axes.set_ylabel("speedup", labelpad=2)
    studies.legend_by_size(figure, looks)
    document = studies.of_document("levels")
    style.title(figure, f"Loads, strides and finishes of levels on one {results.machine.gpu}",
                f"{document['element_type']}, device time but where the title says, {rs.CACHE_LABELS[document['cache_state']]}")
    style.foot(figure, ("Hollow: fewer blocks than multiprocessors. " if results.sm_count else "")
               + "Lines through marks: 95 % intervals, paired by context.")
    return figure
