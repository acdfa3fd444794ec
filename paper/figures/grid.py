"""Document multiblock: the share of the read ceiling that its fastest kernel reaches, against the number of blocks."""

from __future__ import annotations

from matplotlib.lines import Line2D

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Results, Series

USUAL = 2  # blocks for each multiprocessor, the text's "usually a good number"
USUAL_LOOK = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)


def shares(found: list[Series], n: int) -> Points:
    """Of the read ceiling, by the number of blocks."""
    rows = []
    for s in found:
        grid, p = studies.count(s, "grid"), s.at(n)
        if grid is not None and p is not None and p["share"] > 0:
            rows.append((grid, *(p["share"] * p["time"] / p[end] for end in ("time", "high", "low"))))
    return Points.of(rows)


def draw(results: Results):
    """None without multiblock.csv."""
    document = studies.of_document("multiblock")
    found = [s for s in studies.calls(results, "multiblock", "multiblock", "device", block=1024) if studies.count(s, "grid") is not None]
    n = document["n"][0]
    best = min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)
    found = [s for s in found if best is not None and s.variant == best.variant]
    lines = {n: points for n in studies.sizes_of(found) if len(points := shares(found, n))}
    if not lines:
        return None
    left, right, head, tall, base = 0.5, 0.1, 0.6, 1.5, 0.6
    figure = style.sheet(head + tall + base, style.COLUMN_WIDTH)
    axes = style.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "grid")
    looks = {n: dict(style.line_style(i, 0), markersize=3) for i, n in enumerate(lines)}
    for n, points in lines.items():
        near = Points.of([row for row in points.rows() if row[0] < n / 1024])
        studies.draw_points(axes, near, label=str(n), **looks[n])
        far = Points.of([row for row in points.rows() if row[0] >= n / 1024])  # a thread an element, far from the others
        studies.draw_points(axes, far, label=f"{n}, all threads", **dict(looks[n], linestyle="", markerfacecolor="white"))
    xs = [x for points in lines.values() for x in points.x]
    axes.set_xlim(min(xs) / 1.5, max(xs) * 1.5)
    style.power_of_two_axis(axes.xaxis, min(xs), max(xs))
    axes.set_ylim(0, 1.03)
    axes.axhline(1, **studies.PARITY_LOOK)
    axes.set_ylabel("share of the read ceiling", labelpad=2)
    axes.set_xlabel("blocks of 1024 threads", labelpad=1)
    handles, names = [Line2D([], [], **looks[n]) for n in lines], [rs.power_label(n) for n in lines]
    if results.sm_count:
        axes.axvline(USUAL * results.sm_count, **USUAL_LOOK)
        handles.append(Line2D([], [], **USUAL_LOOK))
        names.append(f"{USUAL} blocks an SM")
    style.legend(figure, handles, names, 0.06, ncols=len(handles))
    style.title(figure, f"How many blocks, on one {results.machine.gpu}",
                f"{best.variant}, {document['element_type']}, {rs.CACHE_LABELS[document['cache_state']]}.\nA line for each n; "
                "open: a thread for each element")
    return figure
