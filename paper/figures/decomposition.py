"""Document levels: what the changes between blocks, inside a block and inside a thread gain, one at a time and together."""

from __future__ import annotations

from matplotlib.ticker import LogLocator

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Contrast, Results

# Each row: level, what changes, the contrast. The first three lead one after the other from the first kernel to the last,
# so that their product is the fourth; the others take a level by itself or go further.
CHAIN = (("inside a block", "naive → divergence-free", "tree"), ("inside a thread", "1 → 32 loads", "loads"),
         ("between blocks", "relaunch → atomic", "atomic"))
ROWS = (*CHAIN, ("together", "", "together"), ("inside a block", "free → unrolled", "unrolled"),
        ("between blocks", "relaunch → atomic, naive", "atomic-naive"))
ROW = 0.36


def draw(results: Results):
    """None where contrasts.csv has none of it."""
    document = studies.of_document("levels")
    rows = {f"decomposition.{name}": k for k, (*_, name) in enumerate(ROWS)}
    found: dict[int, dict[int, Contrast]] = {}
    for c in results.contrasts_like("decomposition."):
        found.setdefault(c.n, {})[rows[c.name]] = c
    if not found:
        return None
    found = dict(sorted(found.items()))
    left, right, head, base = 1.4, 0.1, 0.46, 0.72
    tall = ROW * len(ROWS)
    height = head + tall + base
    figure = style.sheet(height, style.COLUMN_WIDTH)
    axes = style.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "decomposition")
    axes.set_xscale("log")
    looks = {n: dict(style.line_style(i, 0), linestyle="", markersize=3.6) for i, n in enumerate(found)}
    for i, (n, of) in enumerate(found.items()):
        shift = (i - (len(found) - 1) / 2) * 0.24
        for k, c in of.items():
            axes.plot([1, c.value], [k + shift] * 2, color="#C8C8C8", linewidth=2, solid_capstyle="butt", zorder=1.1)
        studies.draw_points(axes, Points.of([(k + shift, c.value, c.low, c.high) for k, c in of.items()]), vertical=False,
                            label=str(n), **looks[n])
    every = [v for of in found.values() for c in of.values() for v in (c.low, c.high)]
    axes.set_xlim(min(0.8, min(every) / 1.1), max(1.5, max(every) * 1.15))
    studies.speedup_rows(axes, [f"{level}\n{what}".strip() for level, what, _ in ROWS])
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 5, 7)))
    for y in (len(CHAIN) - 0.5, len(CHAIN) + 0.5):
        axes.axhline(y, color=style.MARK_COLOR, linewidth=0.4)
    studies.legend_by_size(figure, looks)
    style.title(figure, f"Gains by level on one {results.machine.gpu}",
                  f"levels, {document['element_type']}, blocks of 256, device time, {rs.CACHE_LABELS[document['cache_state']]}")
    style.foot(figure, "The first three together make the fourth. Lines: 95 % intervals.")
    return figure
