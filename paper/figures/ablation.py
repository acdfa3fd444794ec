import series as sr
import contrasts
from report import results as rs, style
from figures.panels import gain_axis, gain_rows, in_words, looks_of, name_rows

BASE_CHOICES = ("grid-stride", "shuffle", "last-block")  # inside a thread, inside a block and between blocks
LEVELS = {"thread": "thread", "block": "block", "between": "between blocks"}
ROWS = [(level, asked.name.removeprefix(f"ablation.{level}."))  # all choices but the base's
        for level in LEVELS for asked in contrasts.named(f"ablation.{level}.")]
SIZES = (2**12, 2**20, 2**28)
LOOKS = looks_of(SIZES, linestyle="", markersize=3.4)


def draw(results: rs.Results):
    """What each choice at the three levels gains over the base's, and how choices of two levels go together. Absent
    where contrasts.csv has none of the effects."""
    effects = rs.needed({(k, n): c for k, (level, choice) in enumerate(ROWS) for n in SIZES
                         if (c := contrasts.at(results, f"ablation.{level}.{choice}", n)).known})
    figure, (left, right) = style.sheet(1.5 + 0.2 * len(ROWS), ["effects", "interactions"], width_ratios=(2, 3))
    draw_effects(left, effects)
    draw_interactions(right, results)
    style.title(figure, f"What each choice is worth on one {results.machine.gpu}",
                f"sum of f32, device time, {sr.CACHE_LABELS['cold_dirty']}; the base: {', '.join(BASE_CHOICES)}")
    style.legend(figure, in_words(LOOKS) | {"no gain": dict(color="black", linewidth=0.7)})
    style.foot(figure, "Left: geometric means over pairs of variants, as many as in brackets; host: end to end. "
                         "Right: 1 if two choices do not affect each other; bold where the interval excludes 1.")
    return figure


def draw_effects(axes, effects: dict[tuple[int, int], contrasts.Contrast]) -> None:
    gain_axis(axes, min(0.8, *(c.low / 1.1 for c in effects.values())), max(1.25, *(c.high * 1.1 for c in effects.values())))
    gain_rows(axes, {n: [(k, *c.interval) for (k, of), c in effects.items() if of == n] for n in SIZES}, LOOKS,
              "gain over the base's choice", 0.24)
    pairs = {k: f" ({c.pairs})" for (k, _), c in sorted(effects.items(), key=lambda effect: effect[1].pairs)}  # the most last
    name_rows(axes, [choice + pairs.get(k, "") for k, (_, choice) in enumerate(ROWS)])
    for level, words in LEVELS.items():
        of_level = [k for k, row in enumerate(ROWS) if row[0] == level]
        if of_level[0]:
            axes.axhline(of_level[0] - 0.5, color=style.MARK_COLOR, linewidth=0.4)
        axes.text(-0.6, sum(of_level) / len(of_level), words, transform=axes.get_yaxis_transform(), rotation=90,
                  ha="right", va="center", fontweight="bold")


def draw_interactions(axes, results: rs.Results) -> None:
    """A table, of each size the tables of two levels: these have their columns in common."""
    both = [name.name.removeprefix("ablation.both.").split(".") for name in contrasts.named("ablation.both.")]
    lines, columns = (list(dict.fromkeys(names)) for names in zip(*both))
    words, bold = [], set()
    for n in SIZES:
        bold.add((len(words), 0))
        words.append([f"n = {style.power_label(n)}", *columns])
        for mine in lines:
            gains = [contrasts.at(results, f"ablation.both.{mine}.{choice}", n) for choice in columns]
            bold |= {(len(words), k) for k, g in enumerate(gains, 1) if g.known and not g.low <= 1 <= g.high}
            words.append([mine, *(f"{g.value:.2f}" if g.known else "–" for g in gains)])
    axes.set_axis_off()
    axes.set_title("gain of both choices / product of their gains", loc="left", pad=3)
    table = axes.table(words, edges="open", cellLoc="center", bbox=(0, 0, 1, 1))
    table.auto_set_font_size(False)
    for place, cell in table.get_celld().items():
        cell.PAD = 0
        cell.set_text_props(fontsize=style.FONT_SIZE, fontweight="bold" if place in bold else "normal")
