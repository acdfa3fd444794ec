import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import gain_axis, gain_rows

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
    """What each choice at the three levels gains over the base's, and how choices of two levels go together. None where
    contrasts.csv has none of the effects."""
    rows = rows_of()
    by_size = {name: {k: c for k, row in enumerate(rows) if (c := contrasts.at(results, "ablation." + ".".join(row), n)).known}
               for name, n in SIZES.items()}
    by_size = {name: gains for name, gains in by_size.items() if gains}
    if not by_size:
        return None
    tall, cells, between = ROW * len(rows), FIRST + 3 * CELL, 0.3
    figure = style.sheet(HEAD + tall + BASE)
    wide = style.TEXT_WIDTH - NAMES - between - cells
    right = NAMES + wide + between
    draw_effects(figure, by_size, rows, wide, tall)
    draw_interactions(figure, results, list(by_size), right, cells, tall)
    style.title(figure, f"What each choice is worth on one {results.machine.gpu}",
                f"sum of f32, device time, {sr.CACHE_LABELS['cold_dirty']}; the base: {', '.join(BASE_CHOICES)}")
    figure.text(right / style.TEXT_WIDTH, 1 - 0.55 / figure.get_figheight(),
                "gain of both choices / product of their gains", va="center")
    style.foot(figure, "Left: geometric means over pairs of variants, as many as in brackets; host: end to end. "
                         "Right: 1 if two choices do not affect each other; bold where the interval excludes 1.")
    return figure


def draw_effects(figure, by_size: dict[str, dict[int, contrasts.Contrast]], rows, wide: float, tall: float) -> None:
    axes = style.place(figure, NAMES, BASE, wide, tall, "effects")
    looks = {name: dict(style.line_style(i, 0), linestyle="", markersize=3.4) for i, name in enumerate(by_size)}
    every = [(k, g) for gains in by_size.values() for k, g in gains.items()]
    gain_axis(axes, min(0.8, *(g.low / 1.1 for _, g in every)), max(1.25, *(g.high * 1.1 for _, g in every)))
    marks = {name: (looks[name], [(k, g.value, g.low, g.high) for k, g in gains.items()]) for name, gains in by_size.items()}
    pairs = {k: f" ({max(g.pairs for j, g in every if j == k)})" for k, _ in every}
    gain_rows(axes, [choice + pairs.get(k, "") for k, (_, choice) in enumerate(rows)], marks, "gain over the base's choice", 0.24)
    width, height = figure.get_size_inches()
    for level, words in LEVELS.items():
        of_level = [k for k, row in enumerate(rows) if row[0] == level]
        if of_level[0]:
            axes.axhline(of_level[0] - 0.5, color=style.MARK_COLOR, linewidth=0.4)
        middle = BASE + tall - ROW * (sum(of_level) / len(of_level) + 0.5)
        figure.text(0.12 / width, middle / height, words, rotation=90, va="center", ha="center", fontweight="bold")
    legend = {f"n = {style.power_label(SIZES[name])}": look for name, look in looks.items()}
    style.legend(figure, legend | {"no gain": dict(color="black", linewidth=0.7)}, BASE - 0.47)


def draw_interactions(figure, results: rs.Results, sizes: list[str], left: float, wide: float, tall: float) -> None:
    """A table for each size, of all tables of two levels: these have their columns in common."""
    both = [name.name.removeprefix("ablation.both.").split(".") for name in contrasts.named("ablation.both.")]
    lines, columns = (list(dict.fromkeys(names)) for names in zip(*both))
    gap = 0.2
    each = (tall - gap * (len(sizes) - 1)) / len(sizes)
    for i, name in enumerate(sizes):
        axes = style.place(figure, left, BASE + tall - (i + 1) * each - i * gap, wide, each, f"interactions:{name}")
        axes.set_axis_off()
        axes.set_xlim(0, wide)
        axes.set_ylim(len(lines) + 1, 0)
        axes.text(0, 0.4, f"n = {style.power_label(SIZES[name])}", va="center", fontweight="bold")
        for j, choice in enumerate(columns):
            axes.text(FIRST + (j + 0.5) * CELL, 0.4, choice, va="center", ha="center")
        for k, mine in enumerate(lines):
            axes.text(0, k + 1.4, mine, va="center")
            for j, choice in enumerate(columns):
                gain = contrasts.at(results, f"ablation.both.{mine}.{choice}", SIZES[name])
                sure = gain.known and not gain.low <= 1 <= gain.high
                axes.text(FIRST + (j + 0.5) * CELL, k + 1.4, f"{gain.value:.2f}" if gain.known else "–", va="center",
                          ha="center", fontweight="bold" if sure else "normal", color="black" if sure else style.MARK_COLOR)
        axes.axhline(0.9, color=style.MARK_COLOR, linewidth=0.4)
