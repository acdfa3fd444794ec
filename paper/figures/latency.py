"""One block of squares: what a thread takes for each of its elements, against the number of threads, beside the latency
of one load (S6)."""

import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import LINE, draw_points, of_document, sheet

INDEX = ("i32", "u64")  # nvcc unrolls a loop over the first, so that several loads are in flight, not over the other
LATENCIES = {"load_latency_memory": "memory", "load_latency_l2": "L2"}
HIDDEN_LOOK = dict(color=style.MARK_COLOR, linewidth=0.9, linestyle=(0, (4, 1.5)), zorder=1.2)


def draw(results: rs.Results):
    """None where contrasts.csv has none of it."""
    document = of_document("squares")
    n, lines, looks = document["n"][0], {}, {}
    for i, variant in enumerate(("strided", "chunked")):
        for j, index in enumerate(INDEX):
            points = [(int(threads), *(int(threads) / n * cycles for cycles in (c.value, c.low, c.high)))
                      for threads, c in contrasts.like(results, f"latency.{variant}.{index}.")]
            if points:
                lines[f"{variant} {index}"] = points
                looks[f"{variant}, index {index}"] = style.line_style(i, j) | dict(markersize=3.2)
    if not lines:
        return None
    means = results.table("means")
    means = {} if means is None else means.set_index("name")["value"]
    known = {q: float(means[name]) for q in LATENCIES if (name := f"probe.{q}.cycles") in means}
    memory = known.get("load_latency_memory")
    threads = sorted({x for points in lines.values() for x, *_ in points})
    foot = 0.62 + LINE * (-(-len(lines) // 2) + bool(memory) + bool(known))
    figure, (axes,) = sheet(["latency"], 1.7, left=0.5, right=0.1, head=0.6, foot=foot, width=style.COLUMN_WIDTH)
    for (call, points), look in zip(lines.items(), looks.values()):
        draw_points(axes, points, label=call, **look)
    for quantity, cycles in known.items():
        axes.axhline(cycles, color=style.MARK_COLOR, linewidth=0.7, zorder=1.1, gid=quantity)
    if memory:
        axes.plot(*zip(*[(t, memory - t) for t in threads if t < memory]), gid="hidden", **HIDDEN_LOOK)
        style.legend(figure, {"the text: a load less a cycle for each thread": HIDDEN_LOOK}, 0.2 + LINE)
    axes.set_yscale("log")
    style.size_axis(axes, threads, 1.15, label="threads of the block")
    axes.set_xticks(threads, [str(t) for t in threads])
    axes.tick_params(axis="x", labelsize=style.FONT_SIZE)
    axes.set_xticks([], minor=True)
    style.decade_axis(axes.yaxis)
    axes.set_ylabel("cycles a thread takes for an element", labelpad=2)
    style.legend(figure, looks, 0.2 + LINE * (bool(memory) + bool(known)), ncols=2)
    style.title(figure, f"Latency hidden by one block, {results.machine.gpu}",
                f"squares, {document['element_type']}, n = {style.power_label(n)}, clock(), "
                f"{sr.CACHE_LABELS[document['cache_state']]}")
    latencies = ", ".join(f"{LATENCIES[q]} {cycles:.0f}" for q, cycles in known.items())
    style.foot(figure, (f"Horizontal: cycles of one load, from {latencies}.\n" if known else "")
               + "Lines through marks: 95 % intervals.")
    return figure
