"""Document levels: the gain of several loads a thread over one, with a global and with a local stride, at each size."""

from __future__ import annotations

from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

import results as rs
import verdicts as vd
from figures import studies, style
from figures.studies import Points
from results import Series

STRIDES = {"levels/global-stride": "global stride", "levels/local-stride": "local stride"}


def blocks_of(s: Series, n: int) -> int:
    """How many groups a call is divided into."""
    return -(-n // (studies.count(s, "block") * studies.count(s, "granularity")))


def draw(folder: vd.Folder):
    """None without levels.csv or with one granularity alone."""
    document = studies.of_document("levels")
    found = {v: studies.calls(folder, "levels", "levels", "device", v, finish="atomic") for v in STRIDES}
    sizes = studies.sizes_of([s for of in found.values() for s in of])
    lines = []
    for j, (variant, words) in enumerate(STRIDES.items()):
        base = next((s for s in found[variant] if studies.count(s, "granularity") == 1), None)
        for i, n in enumerate(sizes):
            gains = [] if base is None else [(s, studies.gain(folder, s, base, n)) for s in found[variant] if s is not base]
            rows = [(studies.count(s, "granularity"), g["ratio"], g["low"], g["high"], blocks_of(s, n))
                    for s, g in gains if g is not None]
            if rows:
                lines.append((variant, words, n, style.line_style(i, j), sorted([(1, 1.0, 1.0, 1.0, blocks_of(base, n)), *rows])))
    if not lines:
        return None
    left, right, head, tall, base = 0.42, 0.14, 0.46, 2.2, 0.98
    figure = studies.sheet(style.COLUMN_WIDTH, head + tall + base)
    axes = studies.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "granularity")
    sms = folder.sm_count
    for variant, words, n, look, rows in lines:
        look = dict(look, markersize=3.2)
        plain = dict(look, marker="")
        studies.draw_points(axes, Points.of([r[:4] for r in rows]), label=f"{variant} {n}", **plain)
        for few in (False, True):
            those = [r for r in rows if (sms is not None and r[4] < sms) == few]
            marks = dict(look, linestyle="", markerfacecolor="white" if few else look["color"])
            axes.plot([r[0] for r in those], [r[1] for r in those], **marks)
    axes.set_yscale("log")
    loads = [r[0] for *_, rows in lines for r in rows]
    axes.set_xlim(min(loads) / 1.2, max(loads) * 1.2)
    style.power_of_two_axis(axes.xaxis, min(loads), max(loads), every=2)
    axes.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    axes.tick_params(axis="x", labelsize=style.FONT_SIZE)
    style.decade_axis(axes.yaxis)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.axhline(1, **studies.PARITY_LOOK)
    axes.set_xlabel("loads a thread", labelpad=1)
    axes.set_ylabel("speedup over one load a thread", labelpad=2)
    handles = [Line2D([], [], **look) for _, _, _, look, _ in lines]
    names = [f"n = {rs.power_label(n)}, {words}" for _, words, n, _, _ in lines]
    figure.legend(handles, names, ncols=2, loc="lower left", bbox_to_anchor=(0.06 / style.COLUMN_WIDTH, 0.21 / (head + tall + base)))
    studies.title(figure, f"Loads a thread on one {studies.gpu_of(folder)}",
                  f"levels, {document['element_type']}, device time, {rs.CACHE_LABELS[document['cache_state']]}, finish atomic")
    studies.foot(figure, "Hollow: fewer blocks than multiprocessors. Lines: 95 % intervals."
                 if sms is not None else "Lines through marks: 95 % intervals.")
    return figure
