"""What several figures share: looks with a meaning, and how points and lines are drawn.

No figure names a variant: a variant that appears in the CSV appears here, in the panel of its id's prefix. No panel
mixes timing modes without saying so in its title or legend. Only points with status ok are drawn.
"""

from report import style

PARITY_LOOK = dict(color="black", linewidth=0.7, zorder=1.2)  # as fast as what it is compared with
DOTTED_LOOK = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)  # as each figure says


def gain_rows(axes, marks: dict, looks: dict, label: str, apart: float) -> None:
    """Marks in rows that are gains, (row, value, low, high); a line where these are 1. By what has a look, and so far
    apart in a row."""
    for i, (word, look) in enumerate(looks.items()):
        shift = apart * (i - (len(looks) - 1) / 2)
        shifted = [(row + shift, *gain) for row, *gain in marks[word]]
        style.draw_points(axes, shifted, vertical=False, label=str(word), **look)
    axes.axvline(1, **PARITY_LOOK)
    axes.set_xlabel(label, labelpad=1)


def gain_axis(axes, low: float, high: float, steps: tuple = (1, 2, 5)) -> None:
    """A logarithmic x between these ends, with plain numbers at these steps of each decade."""
    axes.set_xlim(low, high)
    style.decade_axis(axes.xaxis, steps)


def name_rows(axes, names: list[str]) -> None:
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")


def write_beside(axes, wide: float, head: list[str], lines: list[list[str]], bold: set = frozenset()) -> None:
    """Columns of words right of the axes, so many points wide: a line for each row, and a head above. At these places,
    (row, column), they are bold."""
    for row, words in enumerate([head, *lines], -1):
        for column, word in enumerate(words):
            axes.annotate(word, (1, row), (wide * (column + 1), 0), xycoords=axes.get_yaxis_transform(),
                          textcoords="offset points", ha="right", va="center",
                          fontweight="bold" if (row, column) in bold else "normal")


def looks_of(what, **look) -> dict:
    """A look for each."""
    return {key: style.line_style(i, 0) | look for i, key in enumerate(what)}


def in_words(looks: dict[int, dict]) -> dict[str, dict]:
    """Those of sizes for a legend."""
    return {f"n = {style.power_label(n)}": look for n, look in looks.items()}
