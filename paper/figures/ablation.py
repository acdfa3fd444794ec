"""What each choice at the three levels gains over the base's, and how choices of two levels go together."""

from matplotlib.ticker import LogLocator

import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import draw_points, speedup_rows

BASE_CHOICES = ("grid-stride", "shuffle", "last-block")  # inside a thread, inside a block and between blocks
LEVELS = {"thread": "thread", "block": "block", "between": "between blocks"}
SIZES = {"small": 2**12, "middle": 2**20, "large": 2**28}
# Inches: a row; a cell of interactions, and the names before them; the effects' names; what is above and below.
ROW, CELL, FIRST, NAMES, HEAD, BASE = 0.2, 0.74, 0.8, 1.72, 0.62, 0.86


def rows_of() -> list[tuple[str, str]]:
    """(level, choice) of all choices but the base's."""
    return [(level, asked.name.removeprefix(f"ablation.{level}."))
            for level in LEVELS for asked in contrasts.named(f"ablation.{level}.")]


def draw(results: rs.Results):
    """None where contrasts.csv has none of the effects."""
    rows = rows_of()
    by_size = {}
    for name, n in SIZES.items():
        gains = {k: c for k, row in enumerate(rows) if (c := contrasts.at(results, "ablation." + ".".join(row), n)).known}
        if gains:
            by_size[name] = n, gains
    if not by_size:
        return None
    pairs = {k: max(gains[k].pairs for _, gains in by_size.values() if k in gains) for k in range(len(rows))
             if any(k in gains for _, gains in by_size.values())}
    tall, cells, between = ROW * len(rows), FIRST + 3 * CELL, 0.3
    figure = style.sheet(HEAD + tall + BASE)
    wide = style.TEXT_WIDTH - NAMES - between - cells
    right = NAMES + wide + between
    draw_effects(figure, by_size, rows, pairs, wide, tall)
    draw_interactions(figure, results, by_size, right, cells, tall)
    style.title(figure, f"What each choice is worth on one {results.machine.gpu}",
                f"sum of f32, device time, {sr.CACHE_LABELS['cold_dirty']}; the base: {', '.join(BASE_CHOICES)}")
    figure.text(right / style.TEXT_WIDTH, 1 - 0.55 / figure.get_figheight(),
                "gain of both choices / product of their gains", va="center")
    style.foot(figure, "Left: geometric means over pairs of variants, as many as in brackets; host: end to end. "
                         "Right: 1 if two choices do not affect each other; bold where the interval excludes 1.")
    return figure


def draw_effects(figure, by_size, rows, pairs, wide: float, tall: float) -> None:
    axes = style.place(figure, NAMES, BASE, wide, tall, "effects")
    axes.set_xscale("log")
    looks = {name: dict(style.line_style(i, 0), linestyle="", markersize=3.4) for i, name in enumerate(by_size)}
    every = []
    for i, (name, (_, gains)) in enumerate(by_size.items()):
        shift = (i - (len(by_size) - 1) / 2) * 0.24
        points = [(k + shift, g.value, g.low, g.high) for k, g in gains.items()]
        draw_points(axes, points, vertical=False, label=name, **looks[name])
        every += [v for g in gains.values() for v in (g.low, g.high)]
    axes.set_xlim(min(0.8, min(every) / 1.1), max(1.25, max(every) * 1.1))
    speedup_rows(axes, [choice + (f" ({pairs[k]})" if k in pairs else "") for k, (_, choice) in enumerate(rows)],
                 "gain over the base's choice")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    width, height = figure.get_size_inches()
    for level, words in LEVELS.items():
        rows_of_level = [k for k, row in enumerate(rows) if row[0] == level]
        if rows_of_level[0]:
            axes.axhline(rows_of_level[0] - 0.5, color=style.MARK_COLOR, linewidth=0.4)
        figure.text(0.12 / width, (BASE + tall - ROW * (sum(rows_of_level) / len(rows_of_level) + 0.5)) / height, words, rotation=90, va="center",
                    ha="center", fontweight="bold")
    legend = {f"n = {style.power_label(n)}": looks[name] for name, (n, _) in by_size.items()}
    style.legend(figure, legend | {"no gain": dict(color="black", linewidth=0.7)}, BASE - 0.47)


def draw_interactions(figure, results: rs.Results, by_size, left: float, wide: float, tall: float) -> None:
    """A table for each size, of all tables of two levels: these have their columns in common."""
    both = [name.name.removeprefix("ablation.both.").split(".") for name in contrasts.named("ablation.both.")]
    lines, columns = (list(dict.fromkeys(names)) for names in zip(*both))
    gap = 0.2
    each = (tall - gap * (len(by_size) - 1)) / len(by_size)
    for i, (name, (n, _)) in enumerate(by_size.items()):
        axes = style.place(figure, left, BASE + tall - (i + 1) * each - i * gap, wide, each, f"interactions:{name}")
        axes.set_axis_off()
        axes.set_xlim(0, wide)
        axes.set_ylim(len(lines) + 1, 0)
        axes.text(0, 0.4, f"n = {style.power_label(n)}", va="center", fontweight="bold")
        for j, choice in enumerate(columns):
            axes.text(FIRST + (j + 0.5) * CELL, 0.4, choice, va="center", ha="center")
        for k, mine in enumerate(lines):
            axes.text(0, k + 1.4, mine, va="center")
            for j, choice in enumerate(columns):
                at = dict(x=FIRST + (j + 0.5) * CELL, y=k + 1.4, va="center", ha="center")
                gain: contrasts.Contrast = contrasts.at(results, f"ablation.both.{mine}.{choice}", n)
                sure = gain.known and not gain.low <= 1 <= gain.high
                axes.text(s=f"{gain.value:.2f}" if gain.known else "–", fontweight="bold" if sure else "normal",
                          color="black" if sure else style.MARK_COLOR, **at)
        axes.axhline(0.9, color=style.MARK_COLOR, linewidth=0.4)
