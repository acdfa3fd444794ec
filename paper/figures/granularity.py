"""Document levels: the gain of several loads a thread over one, with a global stride, at each size; below it, that stride
over a local one."""

from __future__ import annotations

from matplotlib.ticker import LogLocator

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Contrast, Results

BLOCK = 256


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
    document = studies.of_document("levels")
    found = by_loads(results, "levels.granularity.global.")
    lines = [(n, style.line_style(i, 0), [(1, 1.0, 1.0, 1.0, blocks_of(1, n)),
                                          *((k, c.value, c.low, c.high, blocks_of(k, n)) for k, c in sorted(of.items()))])
             for i, (n, of) in enumerate(found.items())]
    if not lines:
        return None
    strides = [(n, Points.at(of)) for n, of in by_loads(results, "levels.strides.").items()]
    left, right, head, tall, gap, base = 0.5, 0.14, 0.46, 1.6, 0.15, 0.72
    below = 0.8 if strides else 0.0
    height = head + tall + (gap + below if strides else 0) + base
    figure = style.sheet(height, style.COLUMN_WIDTH)
    width = style.COLUMN_WIDTH - left - right
    axes = style.place(figure, left, height - head - tall, width, tall, "granularity")
    sms = results.sm_count
    for n, look, rows in lines:
        look = dict(look, markersize=3.2)
        plain = dict(look, marker="")
        studies.draw_points(axes, Points.of([r[:4] for r in rows]), label=str(n), **plain)
        for few in (False, True):
            those = [r for r in rows if (sms is not None and r[4] < sms) == few]
            marks = dict(look, linestyle="", markerfacecolor="white" if few else look["color"])
            axes.plot([r[0] for r in those], [r[1] for r in those], **marks)
    axes.set_yscale("log")
    style.decade_axis(axes.yaxis)
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.set_ylabel("speedup over one load", labelpad=2)
    if strides:
        lower = style.place(figure, left, base, width, below, "strides")
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
    studies.legend_by_size(figure, {n: look for n, look, _ in lines})
    style.title(figure, f"Loads a thread on one {results.machine.gpu}",
                  f"levels, {document['element_type']}, device time, {rs.CACHE_LABELS[document['cache_state']]}, atomics")
    style.foot(figure, "Hollow: fewer blocks than multiprocessors. Lines: 95 % intervals."
                 if sms is not None else "Lines through marks: 95 % intervals.")
    return figure
