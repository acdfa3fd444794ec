"""Document levels: the gain of finishing by atomics over a second launch and over the host, against the number of blocks
whose sums are left to add."""

from __future__ import annotations

import results as rs
from figures import studies, style
from figures.granularity import blocks_of, by_loads
from figures.studies import Points
from results import Results

VARIANT = "levels/global-stride"
OTHERS = {"relaunch": "over relaunching", "host": "over the host"}


def draw(results: Results):
    """None where contrasts.csv has none of it."""
    document = studies.of_document("levels")
    lines = [(other, n, Points.at({blocks_of(loads, n): c for loads, c in of.items()}))
             for other in OTHERS for n, of in by_loads(results, f"levels.atomic.{other}.").items()]
    if not lines:
        return None
    panels = [o for o in OTHERS if any(o == l[0] for l in lines)]
    left, right, head, tall, gap, base = 0.42, 0.08, 0.46, 1.3, 0.2, 0.72
    height = head + len(panels) * tall + (len(panels) - 1) * gap + base
    figure = style.sheet(height, style.COLUMN_WIDTH)
    sizes = sorted({n for _, n, _ in lines})
    looks = {n: dict(style.line_style(i, 0), markersize=3.2) for i, n in enumerate(sizes)}
    groups = [x for *_, p in lines for x in p.x]
    for k, other in enumerate(panels):
        axes = style.place(figure, left, height - head - tall - k * (tall + gap), style.COLUMN_WIDTH - left - right, tall,
                             f"finish:{other}")
        for of, n, points in lines:
            if of == other:
                studies.draw_points(axes, points, label=str(n), **looks[n])
        axes.set_yscale("log")
        axes.set_xlim(min(groups) / 1.4, max(groups) * 1.4)
        style.power_of_two_axis(axes.xaxis, min(groups), max(groups))
        axes.margins(y=0.08)
        style.decade_axis(axes.yaxis)
        values = [v for of, _, p in lines if of == other for v in p.low + p.high]
        if max(values) < 4 * min(values):
            ticks = [0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3]
            axes.set_yticks([t for t in ticks if 0.95 * min(values) <= t <= 1.05 * max(values)])
        axes.axhline(1, **studies.PARITY_LOOK)
        axes.set_ylabel("speedup " + OTHERS[other], labelpad=2)
        axes.tick_params(labelbottom=k == len(panels) - 1)
        if k == len(panels) - 1:
            axes.set_xlabel("blocks whose sums are added", labelpad=1)
    studies.legend_by_size(figure, looks)
    style.title(figure, f"Finishing by atomics on one {results.machine.gpu}",
                  f"{VARIANT}, {document['element_type']}, end to end, {rs.CACHE_LABELS[document['cache_state']]}")
    style.foot(figure, "Lines through marks: 95 % intervals, paired by context.")
    return figure
