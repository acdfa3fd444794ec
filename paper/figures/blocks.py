"""Documents unroll and twopass: time against the size of a block, for each way of unrolling."""

from __future__ import annotations

import results as rs
from figures import studies, style
from figures.speedup import label_ends
from figures.studies import Points
from results import Results

# Experiment, document, timing mode, settings held.
PANELS = (("unrolling", "unroll", "device_part", {"finish": "host"}),
          ("twopass", "twopass", "device", {"finish": "second-launch"}))


def lines_of(results: Results, experiment: str, document: str, mode: str, held: dict) -> list[tuple[str, Points]]:
    """Each kernel's times by block at the document's n, the slowest at its last block first."""
    n = studies.of_document(document)["n"][0]
    named: dict[str, list] = {}
    for s in studies.calls(results, experiment, document, mode, **held):
        load = studies.setting(s, "load")
        named.setdefault(rs.short_name(s.variant) + (f", {load}" if load else ""), []).append(s)
    lines = [(name, studies.times_by(of, "block", n)) for name, of in named.items()]
    return sorted((l for l in lines if len(l[1]) > 1), key=lambda l: -l[1].value[-1])


def draw(results: Results):
    """None where neither experiment has several sizes of blocks."""
    panels = [(p, lines) for p in PANELS if (lines := lines_of(results, *p))]
    if not panels:
        return None
    left, head, tall, base, gap = 0.42, 0.62, 2.2, 0.52, 0.5
    height = head + tall + base
    names_width = [0.3 + max(style.text_width(name) for name, _ in lines) for _, lines in panels]
    width = (style.TEXT_WIDTH - left - gap * (len(panels) - 1) - sum(names_width) - 0.04) / len(panels)
    figure = style.sheet(height)
    x = left
    for ((experiment, document, mode, _), lines), names in zip(panels, names_width):
        problem = studies.of_document(document)
        axes = style.place(figure, x, base, width, tall, f"blocks:{document}")
        for k, (name, points) in enumerate(lines):
            studies.draw_points(axes, points, label=name, **style.line_style(k, 0))
        blocks = [b for _, p in lines for b in p.x]
        axes.set_yscale("log")
        axes.set_xlim(min(blocks) / 1.15, max(blocks) * 1.15)
        style.power_of_two_axis(axes.xaxis, min(blocks), max(blocks))
        axes.set_xticks(sorted(set(blocks)), [str(b) for b in sorted(set(blocks))])
        axes.set_xticks([], minor=True)
        axes.tick_params(axis="x", labelsize=style.FONT_SIZE)
        style.decade_axis(axes.yaxis)
        axes.set_yticks([t for t in (10, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1000)
                         if axes.get_ylim()[0] <= t <= axes.get_ylim()[1]] or axes.get_yticks())
        axes.set_xlabel("threads of a block", labelpad=1)
        if x == left:
            axes.set_ylabel("time (µs)", labelpad=2)
        what = {"device_part": "device part", "device": "device time"}[mode]
        axes.set_title(f"{document}: n = {rs.power_label(problem['n'][0])}, {problem['element_type']}, {what}", loc="left", pad=4)
        label_ends(axes, [(p.x[-1], p.value[-1], name, style.MARK_COLOR) for name, p in lines], tall)
        x += width + names + gap
    style.title(figure, f"Size of a block and unrolling on one {results.machine.gpu}",
                  f"{rs.CACHE_LABELS[studies.of_document('unroll')['cache_state']]}. Lines through marks: 95 % intervals.")
    return figure
