"""Each document's steps at its own n: how far each kernel is above the document's first, here and in the text."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

import contrasts
import results as rs
from figures import studies, style
from figures.studies import MICRO, Points
from results import Contrast, Results

# The contrasts of claims that lead from one kernel of a document to the next, in the document's order. "ladder.S2" and the
# like are what they lead to over the first kernel, "ladder.S2.time" its time.
STEPS = {"squares": "S1 S2 S3 S4", "twopass": "T1 T2", "unroll": "U0a U0b U1a U1b U1c U2b U3a U3b", "levels": "L3a L4a",
         "multiblock": "M1a M2a M3"}
COLUMNS = (("squares", "twopass", "multiblock"), ("unroll", "levels"))
NOW = dict(linestyle="", marker="o", color=style.LINE_COLORS[0])
THEN = dict(linestyle="", marker="D", markerfacecolor="white", markeredgewidth=0.8, color=style.LINE_COLORS[1])
STEM_LOOK = dict(color="#C8C8C8", linewidth=2.2, solid_capstyle="butt", zorder=1.1)
ROW = 0.165  # inches


@dataclass
class Rung:
    """One kernel of a ladder. Gains are over the rung that its step starts from, heights over the first rung."""

    call: str
    then: float | None           # the text's own height, where it gives every step until here
    told: float | None           # the text's own gain
    time: Contrast
    height: Contrast | None = None  # None of the first
    gain: Contrast | None = None


def climb(results: Results, document: str) -> list[Rung]:
    """The rungs with what the folder has of them; [] if it has none."""
    told = {t["contrast"]: t["told"] for c in rs.claims()["claims"] for t in c["tests"] if {"told", "contrast"} <= set(t)}
    steps = STEPS[document].split()
    first = contrasts.asked()[f"ladder.{document}"]
    rungs = {first.calls(1)[0]: Rung(first.calls(1)[0], 1.0, None, results.contrast(first.name))}
    for step in steps:
        asked, gain = contrasts.asked()[step], told.get(step)
        base = rungs[asked.calls(1)[0]]
        call, = asked.calls(-1)
        # S4 is judged end to end, and a ladder is in one way of timing.
        of_step = results.contrast("ladder.S4.gain" if step == "S4" else step)
        height = of_step if step == steps[0] else results.contrast(f"ladder.{step}")
        then = base.then * gain if base.then and gain else None
        rungs[call] = Rung(call, then, gain, results.contrast(f"ladder.{step}.time"), height, of_step)
    return list(rungs.values()) if any(r.time.known for r in rungs.values()) else []


def label(rung: Rung, rungs: list[Rung]) -> str:
    """The kernel's name, with the settings in which it differs from another rung of the same kernel."""
    variant, mine = rung.call.partition(":")[0], studies.settings_of(rung.call)
    others = [studies.settings_of(r.call) for r in rungs if r.call.partition(":")[0] == variant]
    differ = [f"{k}={v}" for k, v in mine.items() if any(o.get(k) != v for o in others)]
    return rs.short_name(variant) + (f" [{', '.join(differ)}]" if differ else "")


def digits(value: float | None) -> str:
    """Three digits, zeros at the end included: gains of 1.00 and 1.01 stand below each other."""
    return "" if value is None else f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def draw_ladder(figure, left: float, bottom: float, width: float, names_width: float, document: str,
                rungs: list[Rung]) -> None:
    names, numbers = [label(r, rungs) for r in rungs], 1.15
    axes = style.place(figure, left + names_width, bottom, width - names_width - numbers, ROW * len(rungs),
                         f"ladder:{document}")
    at = list(range(len(rungs)))
    measured = [(k, 1.0, 1.0, 1.0) if r.height is None else (k, r.height.value, r.height.low, r.height.high)
                for k, r in zip(at, rungs) if (r.height or r.time).known]
    told = [(k, r.then, r.then, r.then) for k, r in zip(at, rungs) if r.then and len(rungs) > 1 and rungs[1].told]
    axes.set_xscale("log")
    for k, (_, now, *_) in zip([m[0] for m in measured], measured):
        axes.plot([1, now], [k, k], **STEM_LOOK)
    studies.draw_points(axes, Points.of(told), vertical=False, label="then", **THEN)
    studies.draw_points(axes, Points.of(measured), vertical=False, label="now", **NOW)
    every = [v for row in measured + told for v in row[1:]]
    axes.set_xlim(min(0.9, min(every) / 1.15), max(2.2, max(every) * 1.25))
    style.decade_axis(axes.xaxis)
    if max(every) > 15:
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 3)))
    axes.axvline(1, **studies.PARITY_LOOK)
    axes.set_ylim(len(rungs) - 0.5, -0.5)
    axes.set_yticks(at, names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    problem = studies.of_document(document)
    whole = figure.get_size_inches()[0]
    above = bottom + ROW * len(rungs) + 0.05
    high = figure.get_size_inches()[1]
    mode = {"device_part": "device part"}.get(problem["timing_mode"], rs.MODE_LABELS.get(problem["timing_mode"]))
    figure.text(left / whole, above / high, f"{document}: n = {rs.power_label(problem['n'][0])}, {problem['element_type']}, "
                f"{mode}", va="bottom", fontsize=style.FONT_SIZE + 0.5)
    right = left + width
    heads = (("µs", 0.72), ("gain", 0.35), ("text", 0))
    for word, back in heads:
        figure.text((right - back) / whole, above / high, word, va="bottom", ha="right", color=style.MARK_COLOR)
    for k, r in zip(at, rungs):
        y = (bottom + ROW * (len(rungs) - k - 0.5)) / high
        if not r.time.known:
            figure.text(right / whole, y, "not measured", va="center", ha="right", color=style.MARK_COLOR)
            continue
        gain = digits(r.gain.value if r.gain and r.gain.known else None)
        for words, back in ((digits(MICRO * r.time.value), 0.72), (gain, 0.35), ("" if r.told is None else f"{r.told:g}", 0)):
            figure.text((right - back) / whole, y, words, va="center", ha="right")


def draw(results: Results):
    """None where the folder has none of the steps."""
    found = {document: climb(results, document) for document in rs.DOCUMENTS}
    columns = [[d for d in column if found[d]] for column in COLUMNS]
    if not any(columns):
        return None
    head, ticks, legend, gap = 0.4, 0.24, 0.35, 0.22

    def needs(column: list[str]) -> float:
        return sum(0.2 + ROW * len(found[d]) + ticks for d in column)

    height = head + max(map(needs, columns)) + legend
    figure = style.sheet(height)
    width = (style.TEXT_WIDTH - gap - 0.12) / 2
    for c, column in enumerate(columns):
        # Panels of the shorter column are spread over the height of the longer.
        names_width = 0.1 + max((style.text_width(label(r, found[d])) for d in column for r in found[d]), default=0)
        spare = (max(map(needs, columns)) - needs(column)) / max(1, len(column) - 1)
        top = height - head
        for document in column:
            bottom = top - 0.2 - ROW * len(found[document])
            draw_ladder(figure, 0.06 + c * (width + gap), bottom, width, names_width, document,
                        found[document])
            top = bottom - ticks - spare
        if column:
            figure.axes[-1].set_xlabel("speedup over the first kernel", labelpad=1)
    style.title(figure, f"The documents' steps on one {results.machine.gpu}",
                  "gain: speedup over the kernel that the step starts from; text: the document's own.")
    style.legend(figure, [Line2D([], [], **NOW), Line2D([], [], **THEN), Line2D([], [], color=style.LINE_COLORS[0], linewidth=0.7)],
                 ["now", "the text's own", "95 % interval, where it is wider than the mark"], 0.05, ncols=3)
    return figure
