"""Document levels: the gain of finishing by atomics over a second launch and over the host, against the number of blocks
whose sums are left to add."""

from __future__ import annotations

import results as rs
import verdicts as vd
from figures import studies, style
from figures.granularity import BLOCK, blocks_of
from figures.studies import Points

VARIANT = "levels/global-stride"
OTHERS = {"relaunch": "over relaunching", "host": "over the host"}


def draw(folder: vd.Folder):
    """None without levels.csv or with one finish alone."""
    document = studies.of_document("levels")
    found = {(studies.setting(s, "finish"), studies.setting(s, "granularity")): s
             for s in studies.calls(folder, "levels", "levels", "end_to_end", VARIANT, block=BLOCK)}
    lines = []
    for other in OTHERS:
        for n in studies.sizes_of(list(found.values())):
            rows = []
            for (finish, loads), s in found.items():
                base = found.get((other, loads))
                g = studies.gain(folder, s, base, n) if finish == "atomic" and base is not None else None
                if g is not None:
                    rows.append((blocks_of(s, n), g["ratio"], g["low"], g["high"]))
            if rows:
                lines.append((other, n, Points.of(rows)))
    if not lines:
        return None
    panels = [o for o in OTHERS if any(o == l[0] for l in lines)]
    left, right, head, tall, gap, base = 0.42, 0.08, 0.46, 1.3, 0.2, 0.72
    height = head + len(panels) * tall + (len(panels) - 1) * gap + base
    figure = studies.sheet(style.COLUMN_WIDTH, height)
    sizes = sorted({n for _, n, _ in lines})
    looks = {n: dict(style.line_style(i, 0), markersize=3.2) for i, n in enumerate(sizes)}
    groups = [x for *_, p in lines for x in p.x]
    for k, other in enumerate(panels):
        axes = studies.place(figure, left, height - head - tall - k * (tall + gap), style.COLUMN_WIDTH - left - right, tall,
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
    studies.title(figure, f"Finishing by atomics on one {studies.gpu_of(folder)}",
                  f"{VARIANT}, {document['element_type']}, end to end, {rs.CACHE_LABELS[document['cache_state']]}")
    studies.foot(figure, "Lines through marks: 95 % intervals, paired by round.")
    return figure
