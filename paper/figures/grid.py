"""Document multiblock: throughput of its kernels against the number of blocks, from one to a thread for each element."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import results as rs
from figures import studies, style
from figures.panels import ABOVE, CEILING_LOOK
from figures.studies import Points
from results import Results

TERA = 1e12
USUAL = 2  # blocks for each multiprocessor, the text's "usually a good number"
USUAL_LOOK = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)


def rates(found, n: int) -> Points:
    """TB/s at n by the number of blocks."""
    rows = []
    for s in found:
        grid, p = studies.count(s, "grid"), s.at(n)
        if grid is not None and p is not None:
            rows.append((grid, *(p["bytes"] / p[c] / TERA for c in ("time", "high", "low"))))
    return Points.of(rows)


def draw(results: Results):
    """None without multiblock.csv."""
    document = studies.of_document("multiblock")
    found = studies.calls(results, "multiblock", "multiblock", "device", block=1024)
    variants = sorted({s.variant for s in found if studies.count(s, "grid") is not None},
                      key=lambda v: (v != "multiblock/two-launch", v))
    sizes = [n for n in studies.sizes_of(found) if any(len(rates([s for s in found if s.variant == v], n)) for v in variants)]
    if not sizes:
        return None
    left, right, head, tall, gap, base = 0.42, 0.08, 0.62, 1.5, 0.16, 0.62
    height = head + tall + base
    figure = style.sheet(height)
    width = (style.TEXT_WIDTH - left - right - gap * (len(sizes) - 1)) / len(sizes)
    harness = rs.harness_calls(results.experiment("multiblock"), device="cuda", operation=document["operation"],
                               element_type=document["element_type"], mode="device",
                               cache_state=document["cache_state"]).set_index("n")
    looks = {v: dict(style.line_style(i, 0), markersize=3.2) for i, v in enumerate(variants)}
    for v in variants[1:]:
        looks[v]["markerfacecolor"] = "white"  # the kernels lie upon each other
    top = 0.0
    for k, n in enumerate(sizes):
        axes = style.place(figure, left + k * (width + gap), base, width, tall, f"grid:{n}",
                             sharey=figure.axes[0] if k else None)
        xs = []
        for v in variants:
            points = rates([s for s in found if s.variant == v], n)
            studies.draw_points(axes, points, label=v, **looks[v])
            xs += points.x
            top = max([top, *points.high])
        if n in harness.index and np.isfinite(harness["read"][n]):
            ceiling = harness["bytes"][n] / harness["read"][n] / TERA
            axes.axhspan(ceiling, ABOVE, **CEILING_LOOK)
            top = max(top, ceiling)
        if results.sm_count:
            axes.axvline(USUAL * results.sm_count, **USUAL_LOOK)
        axes.set_xlim(min(xs) / 1.5, max(xs) * 1.5)
        style.power_of_two_axis(axes.xaxis, min(xs), max(xs))
        axes.tick_params(labelleft=k == 0)
        axes.set_title(f"n = {rs.power_label(n)}", loc="left", pad=3)
        axes.set_xlabel("blocks", labelpad=1)
    figure.axes[0].set_ylim(0, 1.08 * top)
    figure.axes[0].set_ylabel("throughput (TB/s)", labelpad=2)
    handles = [Line2D([], [], **looks[v]) for v in variants]
    names = [rs.short_name(v) for v in variants]
    if results.sm_count:
        handles.append(Line2D([], [], **USUAL_LOOK))
        names.append(f"{USUAL} blocks for each of {results.sm_count:.0f} multiprocessors")
    handles.append(Patch(**CEILING_LOOK))
    names.append("faster than only reading")
    style.legend(figure, handles, names, 0.06, ncols=len(handles))
    style.title(figure, f"Throughput by number of blocks on one {results.machine.gpu}",
                  f"multiblock, {document['element_type']}, blocks of 1024, device time, "
                  f"{rs.CACHE_LABELS[document['cache_state']]}. Lines through marks: 95 % intervals.")
    return figure
