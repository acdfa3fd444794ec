"""The one look of all figures: sizes at final print width, fonts, colours that the colour-blind can tell apart."""

import math
import re
from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import _mathtext  # noqa: E402
from matplotlib.font_manager import FontProperties  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.textpath import text_to_path  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

# Inches as printed: figures are included at natural size, so a font's points are the reader's points.
TEXT_WIDTH = 7.0
COLUMN_WIDTH = 3.35
FONT_SIZE = 8
_mathtext.SHRINK_FACTOR = 0.75  # exponents have 6 points; matplotlib's 0.7 cannot be set otherwise
PNG_DPI = 200

# Lines of one panel: Tol's "muted" scheme, dark ones first. Each colour has its own marker, so a line can be told
# without colour; settings of one variant share both and differ in the dashes.
LINE_COLORS = ("#332288", "#CC6677", "#117733", "#AA4499", "#88CCEE", "#882255", "#999933", "#44AA99", "#DDCC77")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))

# Groups, where one figure holds all: Okabe and Ito's scheme, and a dark violet for our own.
GROUP_COLORS = {"squares": "#E69F00", "twopass": "#56B4E9", "unroll": "#009E73", "levels": "#0072B2",
                "multiblock": "#D55E00", "your variants": "#CC79A7", "tuned": "#6A3D9A",
                "host": "#E69F00", "eigen": "#009E73", "openmp": "#0072B2", "std": "#D55E00"}
LIBRARY_COLORS = {"cub": "#000000", "thrust": "#7F7F7F", "cublas": "#B0B0B0"}
LIBRARY_NAMES = {"cub": "CUB", "thrust": "Thrust", "cublas": "cuBLAS"}
MARK_COLOR = "#555555"
CEILING_COLOR, CEILING_EDGE = "#EFEFEF", "#A8A8A8"  # light enough for print, and for lines across it
FLOOR_LOOK = dict(color=MARK_COLOR, linewidth=0.7, linestyle=(0, (3, 2)), zorder=1.2)
CEILING_LOOK = dict(facecolor=CEILING_COLOR, edgecolor=CEILING_EDGE, linewidth=0.7, zorder=0.6)

GIGA, MICRO = 1e9, 1e6
ABOVE = 1e6  # beyond every axis, in GB/s and in ratios

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": FONT_SIZE, "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE, "xtick.labelsize": FONT_SIZE, "ytick.labelsize": FONT_SIZE,
    "legend.fontsize": FONT_SIZE, "figure.titlesize": FONT_SIZE + 1, "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.5, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "grid.linewidth": 0.3, "grid.color": "#DDDDDD",
    "xtick.major.width": 0.5, "ytick.major.width": 0.5, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "lines.linewidth": 0.9, "lines.markersize": 3, "hatch.linewidth": 0.4, "legend.frameon": False,
    "legend.handlelength": 1.9, "legend.columnspacing": 0.6, "legend.handletextpad": 0.4, "legend.labelspacing": 0.25,
    "legend.borderaxespad": 0, "legend.borderpad": 0,
    "pdf.fonttype": 42, "savefig.dpi": PNG_DPI, "figure.dpi": 100,
})


def color_of(group: str) -> str:
    """That of a group where one figure holds all; grey of those that have none of their own."""
    return GROUP_COLORS.get(group) or LIBRARY_COLORS.get(group, MARK_COLOR)


def line_style(variant_index: int, settings_index: int, colors: int = len(LINE_COLORS)) -> dict:
    """How the line of a panel's k-th variant with the panel's j-th choice of settings is drawn, in so many colours."""
    color = LINE_COLORS[variant_index % colors]
    # Past nine variants markers come round again, hollow.
    hollow = (variant_index // len(MARKERS)) % 2 == 1
    return {"color": color, "marker": MARKERS[variant_index % len(MARKERS)],
            "linestyle": DASHES[settings_index % len(DASHES)], "markeredgewidth": 0.6, "markeredgecolor": color,
            "markerfacecolor": "white" if hollow else color}


def library_style(group: str, index: int) -> dict:
    """Reference lines: no markers, black or grey, a little thicker than variants."""
    return {"color": color_of(group), "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.3, "zorder": 1.9}


def size_axis(axes, sizes, beyond: float = 1.3, every: int = 4, label: str = "n (elements)") -> None:
    """A logarithmic x that ends so many times beyond these sizes, with labels 2^10, 2^14, ... and a tick at every
    second power."""
    low, high, axis = min(sizes), max(sizes), axes.xaxis
    axes.set_xlabel(label, labelpad=1)
    axes.set_xlim(low / beyond, high * beyond)
    axes.set_xscale("log", base=2)
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    start = first + (-first) % 2
    axis.set_major_locator(FixedLocator([2.0**k for k in range(start, last + 1, every)]))
    axis.set_minor_locator(FixedLocator([2.0**k for k in range(start, last + 1, 2)]))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"$2^{{{round(math.log2(v))}}}$"))
    axis.set_minor_formatter(NullFormatter())


def decade_axis(axis) -> None:
    """A logarithmic value axis with plain numbers: 1, 10, 100, and 2 and 5 between them where there are few."""
    low, high = axis.get_view_interval()
    few = high < 100 * max(low, 1e-300)
    axis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_locator(NullLocator())


def shade_above(axes, n, value) -> None:
    """What is faster than the kernel that only reads. NaN where that is not known."""
    known = np.isfinite(value)
    axes.fill_between(n[known], value[known], ABOVE, color=CEILING_COLOR, linewidth=0, zorder=0.5)
    axes.plot(n[known], value[known], color=CEILING_EDGE, linewidth=0.7, zorder=0.6, gid="ceiling")


def power_label(n: float) -> str:
    """2^24 for a power of two, 10^8 for one of ten, else the number."""
    for base, exponent in ((2, math.log2(n)), (10, math.log10(n))):
        if abs(exponent - round(exponent)) < 1e-9:
            return f"${base}^{{{round(exponent)}}}$"
    return f"{n:,.0f}"


@lru_cache(maxsize=None)
def text_width(text: str) -> float:
    """Inches that a text takes in the figures' font."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=FONT_SIZE), ismath=False)
    return width / 72


def wrapped(text: str, width: float) -> str:
    """In lines of so many inches."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], longer] if text_width(re.sub(r"[${}^]", "", longer)) < width - 0.1 else [*lines, word]
    return "\n".join(lines)


def sheet(height: float, width: float = TEXT_WIDTH):
    return plt.figure(figsize=(width, height))


def place(figure, left: float, bottom: float, width: float, height: float, gid: str, **more):
    """Axes at inches from the lower left corner."""
    whole, high = figure.get_size_inches()
    axes = figure.add_axes((left / whole, bottom / high, width / whole, height / high), **more)
    axes.set_gid(gid)
    return axes


def row(figure, gids: list[str], bottom: float, height: float, left: float, right: float, gap: float) -> list:
    """Axes of one width side by side, at inches from the figure's edges."""
    width = (figure.get_figwidth() - left - right - gap * (len(gids) - 1)) / max(1, len(gids))
    return [place(figure, left + k * (width + gap), bottom, width, height, gid) for k, gid in enumerate(gids)]


def title(figure, text: str, below: str = "", left: float = 0.06) -> None:
    """The figure's bold first line, smaller where a long name would reach beyond the edge, and what is said below it."""
    width, height = figure.get_size_inches()
    line = figure.text(left / width, 1 - 0.04 / height, text, va="top", fontsize=FONT_SIZE + 1, fontweight="bold")
    room, taken = (width - left - 0.06) * figure.dpi, line.get_window_extent(figure.canvas.get_renderer()).width
    if taken > room:
        line.set_fontsize(line.get_fontsize() * room / taken)
    if below:
        figure.text(left / width, 1 - 0.21 / height, wrapped(below, width - left), va="top", linespacing=1.25)


def handles(looks: dict[str, dict]) -> list:
    """For a legend: lines, or patches where the look has a face."""
    return [Patch(**look) if "facecolor" in look else Line2D([], [], **look) for look in looks.values()]


def legend(figure, looks: dict[str, dict], bottom: float, left: float = 0.06, loc: str = "lower left", **more) -> None:
    """The figure's own, at inches from the lower left corner."""
    width, height = figure.get_size_inches()
    figure.legend(handles(looks), list(looks), loc=loc, bbox_to_anchor=(left / width, bottom / height),
                  **{"ncols": max(1, len(looks))} | more)


def foot(figure, text: str, left: float = 0.06) -> None:
    width, height = figure.get_size_inches()
    figure.text(left / width, 0.04 / height, wrapped(text, width - left), va="bottom", linespacing=1.25)


# Kinds of file that a figure is written to, vectors and pixels, and what would stand inside of when and by what.
KINDS = {".pdf": ("CreationDate", "ModDate", "Producer", "Creator"), ".png": ("Software",), ".svg": ("Date",)}


def save(figure, out: Path, name: str, kinds=(".pdf", ".png")) -> list[Path]:
    """Writes these kinds of file, byte for byte the same for the same data: no dates inside."""
    paths = [out / (name + kind) for kind in kinds]
    for path in paths:
        figure.savefig(path, metadata=dict.fromkeys(KINDS[path.suffix]))
    plt.close(figure)
    return paths
