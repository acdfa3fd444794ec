"""What several figures share: the documents' own problems, looks with a meaning, and how points and lines are drawn.

No figure names a variant: a variant that appears in the CSV appears here, in the panel of its id's prefix. No panel
mixes timing modes without saying so in its title or legend. Only points with status ok are drawn; the others are
counted in the note at the foot.
"""

from collections import Counter

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

import series as sr
import claims
from report import results as rs
from report import tables as tb
from report import style

LINE = 0.135  # inches: the height of one line of text or legend

PARITY_LOOK = dict(color="black", linewidth=0.7, zorder=1.2)  # as fast as what it is compared with
DOTTED_LOOK = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)  # as each figure says


def of_document(document: str) -> dict:
    """Operation, type, timing mode and so on in which the document's claims are judged."""
    return {"device": "cuda", **claims.listed()["documents"][document]}


def sheet(gids: list[str], tall: float, left: float, right: float, head: float, foot: float, gap: float = 0,
          width: float = style.TEXT_WIDTH) -> tuple:
    """A figure and its panels, which stand side by side, in inches."""
    figure = style.sheet(head + tall + foot, width)
    return figure, style.row(figure, gids, foot, tall, left, right, gap)


def not_drawn(all_series: list[sr.Series]) -> str:
    """"Points not drawn: 12 refused, 1 wrong.", or nothing."""
    counts = Counter(status for s in all_series for status in s.points["status"] if status != "ok")
    words = [f"{counts[s]} {sr.STATUS_WORDS.get(s, s)}" for s in tb.ROWS.words["status"] if counts[s]]
    return f"Points not drawn: {', '.join(words)}." if words else ""


def draw_points(axes, points, vertical: bool = True, elinewidth: float = 0.7, **look) -> None:
    """Marks from (x, value, low, high), joined if the look has a line, each with its interval where it has one. A NaN
    value breaks the line, so that none goes across what was not measured."""
    if not (points := sorted(points)):
        return
    x, value, low, high = np.array(points, float).T
    errors = np.nan_to_num(np.clip([value - low, high - value], 0, None))
    if vertical:
        axes.errorbar(x, value, yerr=errors, elinewidth=elinewidth, **look)
    else:
        axes.errorbar(value, x, xerr=errors, elinewidth=elinewidth, **look)


def gain_rows(axes, names: list[str], marks: dict, label: str, apart: float) -> None:
    """A row for each name, from the top down, whose marks are gains; a line where these are 1. By their label in `marks`:
    a look, and (row, value, low, high). Labels stand so far apart in a row."""
    for i, (word, (look, points)) in enumerate(marks.items()):
        shift = apart * (i - (len(marks) - 1) / 2)
        draw_points(axes, [(row + shift, *gain) for row, *gain in points], vertical=False, label=word, **look)
    axes.axvline(1, **PARITY_LOOK)
    axes.set_xlabel(label, labelpad=1)
    name_rows(axes, names)


def gain_axis(axes, low: float, high: float, steps: tuple = (1, 2, 5)) -> None:
    """A logarithmic x between these ends, with plain numbers at these steps of each decade."""
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(LogLocator(10, subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def name_rows(axes, names: list[str]) -> None:
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")


def by_size(sizes, **look) -> dict[int, dict]:
    return {n: style.line_style(i, 0) | look for i, n in enumerate(sizes)}


def in_words(looks: dict[int, dict]) -> dict[str, dict]:
    """The same for a legend."""
    return {f"n = {style.power_label(n)}": look for n, look in looks.items()}


def mark_l2(axes, machine, element_type: str, sizes) -> None:
    """A line where L2 is full, if that is among the sizes."""
    n = (machine.l2_bytes or 0) / rs.ELEMENT_BYTES[element_type]
    if min(sizes) <= n <= max(sizes):
        axes.axvline(n, **DOTTED_LOOK)
