"""One block of squares: what a thread takes for each of its elements, against the number of threads, beside the latency
of one load (S6)."""

from __future__ import annotations

from matplotlib.lines import Line2D

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Results

INDEX = ("i32", "u64")  # nvcc unrolls a loop over the first, so that several loads are in flight, not over the other
LATENCIES = {"load_latency_memory": "memory", "load_latency_l2": "L2"}
HIDDEN_LOOK = dict(color=style.MARK_COLOR, linewidth=0.9, linestyle=(0, (4, 1.5)), zorder=1.2)


def draw(results: Results):
    """None where contrasts.csv has none of it."""
    document = studies.of_document("squares")
    n = document["n"][0]
    lines = []
    for i, variant in enumerate(("strided", "chunked")):
        for j, index in enumerate(INDEX):
            prefix = f"latency.{variant}.{index}."
            rows = [(threads, *(threads / n * cycles for cycles in (c.value, c.low, c.high)))
                    for c in results.contrasts_like(prefix) for threads in [int(c.name.removeprefix(prefix))]]
            if rows:
                look = dict(style.line_style(i, j), markersize=3.2)
                lines.append((variant, index, f"{variant}, index {index}", Points.of(rows), look))
    if not lines:
        return None
    probes = results.probes
    known = {} if probes is None else {
        q: float(v.median()) for q in LATENCIES
        if len(v := probes.loc[(probes["quantity"] == q) & (probes["unit"] == "cycles"), "value"])}
    threads = sorted({x for *_, p, _ in lines for x in p.x})
    left, right, head, tall = 0.5, 0.1, 0.46, 2.0
    hidden = "load_latency_memory" in known
    base = 0.57 + 0.135 * (-(-len(lines) // 2) + hidden + bool(known))
    height = head + tall + base
    figure = style.sheet(height, style.COLUMN_WIDTH)
    axes = style.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "latency")
    for variant, index, _, points, look in lines:
        studies.draw_points(axes, points, label=f"{variant} {index}", **look)
    for quantity, cycles in known.items():
        axes.axhline(cycles, color=style.MARK_COLOR, linewidth=0.7, zorder=1.1, gid=quantity)
    if hidden:
        left_over = [(t, known["load_latency_memory"] - t) for t in threads if t < known["load_latency_memory"]]
        axes.plot(*zip(*left_over), gid="hidden", **HIDDEN_LOOK)
    axes.set_yscale("log")
    axes.set_xlim(min(threads) / 1.15, max(threads) * 1.15)
    style.power_of_two_axis(axes.xaxis, min(threads), max(threads))
    axes.set_xticks(threads, [str(t) for t in threads])
    axes.tick_params(axis="x", labelsize=style.FONT_SIZE)
    axes.set_xticks([], minor=True)
    style.decade_axis(axes.yaxis)
    axes.set_xlabel("threads of the block", labelpad=1)
    axes.set_ylabel("cycles a thread takes for an element", labelpad=2)
    style.legend(figure, [Line2D([], [], **look) for *_, look in lines], [words for _, _, words, _, _ in lines],
                 0.2 + 0.135 * (hidden + bool(known)), ncols=2)
    if hidden:
        style.legend(figure, [Line2D([], [], **HIDDEN_LOOK)], ["the text: a load less a cycle for each thread"], 0.2 + 0.135)
    style.title(figure, f"Latency hidden by one block, {results.machine.gpu}",
                  f"squares, {document['element_type']}, n = {rs.power_label(n)}, clock(), "
                  f"{rs.CACHE_LABELS[document['cache_state']]}")
    lines_said = ", ".join(f"{LATENCIES[q]} {cycles:.0f}" for q, cycles in known.items())
    style.foot(figure, (f"Horizontal: cycles of one load, from {lines_said}.\n" if known else "")
                 + "Lines through marks: 95 % intervals.")
    return figure
