from dataclasses import dataclass

import series as sr
import claims
import contrasts
from report import results as rs, style
from figures.panels import gain_axis, name_rows, write_beside
from text.latex import digits

# The contrasts of claims that lead from one kernel of a document to the next, in the document's order. "ladder.S2" and the
# like are what they lead to over the first kernel, "ladder.S2.time" its time.
STEPS = {"squares": "S1 S2 S3 S4", "twopass": "T1 T2", "unroll": "U0a U0b U1a U1b U1c U2b U3a U3b", "levels": "L3c L4a",
         "multiblock": "M1a M2a M3"}
COLUMNS = (("squares", "twopass", "multiblock"), ("unroll", "levels"))
NOW = dict(linestyle="", marker="o", color=style.LINE_COLORS[0])
THEN = dict(linestyle="", marker="D", markerfacecolor="white", markeredgewidth=0.8, color=style.LINE_COLORS[1])
STEM_LOOK = dict(color="#C8C8C8", linewidth=2.2, solid_capstyle="butt", zorder=1.1)


@dataclass
class Rung:
    """One kernel of a ladder. Gains are over the rung that its step starts from, heights over the first rung."""

    call: str
    then: float | None           # the text's own height, where it gives every step until here
    claimed: float | None        # the text's own gain
    time: contrasts.Contrast
    height: contrasts.Contrast   # of the first, 1
    gain: contrasts.Contrast | None = None


def climb(results: rs.Results, document: str) -> list[Rung]:
    """The rungs with what the folder has of them."""
    claimed = {t["contrast"]: t["told"] for c in claims.LISTED["claims"] for t in c["tests"] if {"told", "contrast"} <= set(t)}
    steps = STEPS[document].split()
    first = contrasts.asked()[f"ladder.{document}"]
    call, = first.calls(1)
    rungs = {call: Rung(call, 1.0, None, contrasts.at(results, first.name), contrasts.Contrast("", 0, 1, 1, 1))}
    for step in steps:
        asked, gain = contrasts.asked()[step], claimed.get(step)
        base = rungs[asked.calls(1)[0]]
        call, = asked.calls(-1)
        # S4 is judged end to end, and a ladder is in one way of timing.
        of_step = contrasts.at(results, "ladder.S4.gain" if step == "S4" else step)
        height = of_step if step == steps[0] else contrasts.at(results, f"ladder.{step}")
        then = base.then * gain if base.then and gain else None
        rungs[call] = Rung(call, then, gain, contrasts.at(results, f"ladder.{step}.time"), height, of_step)
    return list(rungs.values())


def label(rung: Rung, rungs: list[Rung]) -> str:
    """The kernel's name, with the settings in which it differs from another rung of the same kernel."""
    variant, mine = rs.parse_call(rung.call)
    others = [settings for other, settings in (rs.parse_call(r.call) for r in rungs) if other == variant]
    differ = [f"{k}={v.removeprefix('ceil(').removesuffix(')')}" for k, v in mine.items()
              if any(o.get(k) != v for o in others)]
    return sr.short_name(variant) + (f" [{', '.join(differ)}]" if differ else "")


def heights(rungs: list[Rung]) -> dict[str, list[tuple]]:
    """(row, speed over the first kernel, low, high) of what was measured, and of the text's own gains."""
    return {"then": [(k, r.then, r.then, r.then) for k, r in enumerate(rungs) if k and r.then],
            "now": [(k, *r.height.interval) for k, r in enumerate(rungs) if r.height.known]}


def draw_ladder(axes, document: str, rungs: list[Rung], ends: tuple) -> None:
    shown = heights(rungs)
    gain_axis(axes, *ends, (1, 3))
    for k, now, *_ in shown["now"]:
        axes.plot([ends[0], now], [k, k], **STEM_LOOK)
    for word, look in (("then", THEN), ("now", NOW)):
        style.draw_points(axes, shown[word], vertical=False, label=word, **look)
    name_rows(axes, [label(r, rungs) for r in rungs])
    problem = claims.DOCUMENTS[document]
    axes.set_title(f"{document}: n = {style.power_label(problem['n'][0])}, {problem['element_type']}, "
                   f"{sr.MODE_LABELS[problem['timing_mode']]}", loc="right", pad=3)
    write_beside(axes, 28, ["µs", "gain", "text"], [
        [digits(style.MICRO * r.time.value), digits(r.gain.value) if r.gain and r.gain.known else "",
         f"{r.claimed:g}" if r.claimed else ""]
        if r.time.known else ["", "", "not measured"] for r in rungs])


def draw(results: rs.Results):
    """Each document's steps at its own n: how fast each kernel is over the first, and where the text's own gains would
    lead. Absent where the folder has none of the steps."""
    ladders = {document: rungs for document in rs.DOCUMENTS if (rungs := climb(results, document))[0].time.known}
    columns = rs.needed([kept for column in COLUMNS if (kept := [d for d in column if d in ladders])])
    values = [v for rungs in ladders.values() for points in heights(rungs).values() for _, *speeds in points for v in speeds]
    ends = min(values) / 1.3, 1.25 * max(values)
    figure, _ = style.sheet(3.7)
    for part, column in zip(figure.subfigs[0].subfigures(1, len(columns), squeeze=False)[0], columns):
        panels = part.subplots(len(column), squeeze=False, height_ratios=[len(ladders[d]) for d in column])[:, 0]
        for document, axes in zip(column, panels):
            axes.set_gid(f"ladder:{document}")
            draw_ladder(axes, document, ladders[document], ends)
        panels[-1].set_xlabel("speed, first kernel = 1", labelpad=1)
    style.title(figure, f"Do the documents' gains still come? On one {results.machine.gpu}",
                "gain: speedup over the kernel that the step starts from; text: the document's own.")
    style.legend(figure, {"measured": NOW, "where the text's gains lead": THEN})
    return figure
