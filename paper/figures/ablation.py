"""What each choice at the three levels gains over the base's, and how choices of two levels go together."""

from __future__ import annotations

from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

import ablation
import results as rs
import verdicts as vd
from figures import studies, style
from figures.studies import Points

ROW = 0.2  # inches: of a choice
CELL = 0.72  # inches: the width of a cell of interactions
FIRST = 0.72  # inches: of the names before the cells


def rows_of() -> list[tuple[str, str]]:
    """(level, choice) of all choices but the base's."""
    return [(level, choice) for level, choices in ablation.LEVELS.items() for choice in choices
            if choice != ablation.BASE[level]]


def effects(found: ablation.Ablation, n: int, left: dict[str, str]) -> dict[int, ablation.Gain]:
    """Main effects by row; `left` gets those of which the folder has the times alone, and why."""
    gains = {}
    for k, (level, choice) in enumerate(rows_of()):
        try:
            gains[k] = found.main_effect(level, choice, n)
        except vd.Unpaired as why:
            left[f"{choice} at {rs.power_label(n)}"] = why.reason
        except vd.Lacking:
            continue
    return gains


def draw(folder: vd.Folder):
    """None without ablation.csv or any of its effects."""
    found = ablation.read(folder)
    if found is None:
        return None
    left: dict[str, str] = {}
    by_size = {name: (n, of) for name, n in ablation.SIZES.items() if n in found.sizes() and (of := effects(found, n, left))}
    if not by_size:
        return None
    rows = rows_of()
    pairs: dict[int, int] = {}
    for _, of in by_size.values():
        for k, gain in of.items():
            pairs[k] = max(pairs.get(k, 0), gain.pairs)
    more = studies.left_out(left, style.TEXT_WIDTH)
    names, head, base = 1.42, 0.46, 0.72 + studies.LINE * more.count("\n")
    tall = ROW * len(rows)
    height = head + tall + base
    figure = studies.sheet(style.TEXT_WIDTH, height)
    cells, between = FIRST + 3 * CELL, 0.3
    wide = style.TEXT_WIDTH - names - between - cells
    draw_effects(figure, by_size, rows, pairs, names, base, wide, tall)
    draw_interactions(figure, found, by_size, names + wide + between, base, cells, tall)
    choices = ", ".join(ablation.BASE.values())
    studies.title(figure, f"What each choice is worth on one {studies.gpu_of(folder)}",
                  f"sum of {found.element_type}, device time, {rs.CACHE_LABELS['cold_dirty']}; the base: {choices}")
    studies.foot(figure, "Left: the geometric mean over pairs of variants, as many as in brackets, that differ in nothing "
                         "else; host: end to end. Lines: 95 % intervals.\nRight: what two choices gain together over the "
                         "product of what each gains; bold where the interval excludes 1." + more)
    return figure


def draw_effects(figure, by_size, rows, pairs, left: float, base: float, wide: float, tall: float) -> None:
    axes = studies.place(figure, left, base, wide, tall, "effects")
    axes.set_xscale("log")
    looks = {name: dict(style.line_style(i, 0), linestyle="", markersize=3.4) for i, name in enumerate(by_size)}
    every = []
    for i, (name, (_, of)) in enumerate(by_size.items()):
        shift = (i - (len(by_size) - 1) / 2) * 0.24
        points = Points.of([(k + shift, g.ratio, g.low, g.high) for k, g in of.items()])
        studies.draw_points(axes, points, vertical=False, label=name, **looks[name])
        every += [v for g in of.values() for v in (g.low, g.high)]
    axes.set_xlim(min(0.8, min(every) / 1.1), max(1.25, max(every) * 1.1))
    studies.speedup_rows(axes, [choice + (f" ({pairs[k]})" if k in pairs else "") for k, (_, choice) in enumerate(rows)],
                         "gain over the base's choice")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    for k, (level, _) in enumerate(rows):
        if k and rows[k - 1][0] != level:
            axes.axhline(k - 0.5, color=style.MARK_COLOR, linewidth=0.4)
    width, height = figure.get_size_inches()
    figure.legend([Line2D([], [], **look) for look in looks.values()],
                  [f"n = {rs.power_label(n)}" for n, _ in by_size.values()], ncols=len(looks), loc="lower left",
                  bbox_to_anchor=(0.06 / width, (base - 0.42) / height))


def draw_interactions(figure, found, by_size, left: float, base: float, wide: float, tall: float) -> None:
    """A table for each size, of all tables of two levels: these have their columns in common."""
    columns = next(iter(ablation.TABLES.values()))[1]
    lines = [(one, mine, other) for (one, other), (of_one, _) in ablation.TABLES.items() for mine in of_one]
    gap = 0.2
    each = (tall - gap * (len(by_size) - 1)) / len(by_size)
    for i, (name, (n, _)) in enumerate(by_size.items()):
        axes = studies.place(figure, left, base + tall - (i + 1) * each - i * gap, wide, each, f"interactions:{name}")
        axes.set_axis_off()
        axes.set_xlim(0, wide)
        axes.set_ylim(len(lines) + 1, 0)
        axes.text(0, 0.4, f"n = {rs.power_label(n)}", va="center", fontweight="bold")
        for j, choice in enumerate(columns):
            axes.text(FIRST + (j + 0.5) * CELL, 0.4, choice, va="center", ha="center")
        for k, (one, mine, other) in enumerate(lines):
            axes.text(0, k + 1.4, mine, va="center")
            for j, choice in enumerate(columns):
                at = dict(x=FIRST + (j + 0.5) * CELL, y=k + 1.4, va="center", ha="center")
                try:
                    gain = found.interaction((one, mine), (other, choice), n)
                except vd.Lacking:
                    axes.text(s="–", color=style.MARK_COLOR, **at)
                    continue
                sure = not gain.low <= 1 <= gain.high
                axes.text(s=f"{gain.ratio:.2f}", fontweight="bold" if sure else "normal",
                          color="black" if sure else style.MARK_COLOR, **at)
        axes.axhline(0.9, color=style.MARK_COLOR, linewidth=0.4)
