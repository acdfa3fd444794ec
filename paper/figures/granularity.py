"""Document levels: the gain of several loads a thread over one, with a global and with a local stride, at each size;
below it, one stride over the other."""

from __future__ import annotations

from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

import results as rs
import verdicts as vd
from figures import studies, style
from figures.studies import Points
from results import Series

STRIDES = {"levels/global-stride": "global stride", "levels/local-stride": "local stride"}
BLOCK = 256  # the claims' own; `--full` measures others


def blocks_of(s: Series, n: int) -> int:
    """How many groups a call is divided into."""
    return -(-n // (studies.count(s, "block") * studies.count(s, "granularity")))


def ratios(folder: vd.Folder, found: dict[str, list[Series]], sizes: list[int]) -> list[tuple[int, Points]]:
    """By size, the speedup of the first stride over the other by loads a thread."""
    mine, other = ({studies.count(s, "granularity"): s for s in found[v]} for v in STRIDES)
    by_size = []
    for n in sizes:
        gains = {loads: studies.gain(folder, s, other[loads], n) for loads, s in mine.items() if loads in other}
        rows = [(loads, g["ratio"], g["low"], g["high"]) for loads, g in gains.items() if g is not None]
        by_size.append((n, Points.of(rows)))
    return [(n, points) for n, points in by_size if len(points)]


def draw(folder: vd.Folder):
    """None without levels.csv or with one granularity alone."""
    document = studies.of_document("levels")
    found = {v: studies.calls(folder, "levels", "levels", "device", v, finish="atomic", block=BLOCK) for v in STRIDES}
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
    strides = [] if len(STRIDES) > len({v for v, *_ in lines}) else ratios(folder, found, sizes)
    left, right, head, tall, gap, base = 0.5, 0.14, 0.46, 2.0, 0.2, 0.98
    below = 0.9 if strides else 0.0
    height = head + tall + (gap + below if strides else 0) + base
    figure = studies.sheet(style.COLUMN_WIDTH, height)
    width = style.COLUMN_WIDTH - left - right
    axes = studies.place(figure, left, height - head - tall, width, tall, "granularity")
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
    style.decade_axis(axes.yaxis)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.set_ylabel("speedup over one load", labelpad=2)
    if strides:
        lower = studies.place(figure, left, base, width, below, "strides")
        for i, (n, points) in enumerate(strides):
            studies.draw_points(lower, points, label=str(n), **dict(style.line_style(i, 0), markersize=3.2))
        lower.set_ylabel("global over local", labelpad=2)
        lower.margins(y=0.1)
        axes.tick_params(labelbottom=False)
    loads = [r[0] for *_, rows in lines for r in rows]
    for each in figure.axes:
        each.set_xlim(min(loads) / 1.2, max(loads) * 1.2)
        style.power_of_two_axis(each.xaxis, min(loads), max(loads), every=2)
        each.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
        each.tick_params(axis="x", labelsize=style.FONT_SIZE)
        each.axhline(1, **studies.PARITY_LOOK)
    figure.axes[-1].set_xlabel("loads a thread", labelpad=1)
    handles = [Line2D([], [], **look) for _, _, _, look, _ in lines]
    names = [f"n = {rs.power_label(n)}, {words}" for _, words, n, _, _ in lines]
    figure.legend(handles, names, ncols=2, loc="lower left", bbox_to_anchor=(0.06 / style.COLUMN_WIDTH, 0.21 / height))
    studies.title(figure, f"Loads a thread on one {studies.gpu_of(folder)}",
                  f"levels, {document['element_type']}, device time, {rs.CACHE_LABELS[document['cache_state']]}, finish atomic")
    studies.foot(figure, "Hollow: fewer blocks than multiprocessors. Lines: 95 % intervals."
                 if sms is not None else "Lines through marks: 95 % intervals.")
    return figure
