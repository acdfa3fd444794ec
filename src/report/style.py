"""The one look of all figures: sizes at final print width, fonts, colours that the colour-blind can tell apart."""

import math
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import _mathtext  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402

# Inches as printed: figures are included at natural size, so a font's points are the reader's points.
TEXT_WIDTH = 7.0
COLUMN_WIDTH = 3.35
MARGIN = 0.05
FONT_SIZE = 8
_mathtext.SHRINK_FACTOR = 0.75  # exponents have 6 points; matplotlib's 0.7 cannot be set otherwise

# Lines of one panel: Tol's "muted" scheme, dark ones first. Each colour has its own marker, so a line can be told
# without colour; settings of one variant share both and differ in the dashes.
LINE_COLORS = ("#332288", "#CC6677", "#117733", "#AA4499", "#88CCEE", "#882255", "#999933", "#44AA99", "#DDCC77")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))

# Groups, where one figure holds all: Okabe and Ito's scheme, and a dark violet for our own.
GROUP_COLORS = {"squares": "#E69F00", "twopass": "#56B4E9", "unroll": "#009E73", "levels": "#0072B2",
                "multiblock": "#D55E00", "your variants": "#CC79A7", "tuned": "#6A3D9A"}
LIBRARY_COLORS = {"cub": "#000000", "thrust": "#7F7F7F", "cublas": "#B0B0B0"}
MARK_COLOR = "#555555"
CEILING_COLOR, CEILING_EDGE = "#EFEFEF", "#A8A8A8"  # light enough for print, and for lines across it
FLOOR_LOOK = dict(color=MARK_COLOR, linewidth=0.7, linestyle=(0, (3, 2)), zorder=1.2)
CEILING_LOOK = dict(facecolor=CEILING_COLOR, edgecolor=CEILING_EDGE, linewidth=0.7, zorder=0.6)

GIGA, MICRO = 1e9, 1e6
ABOVE = 1e6  # beyond every axis, in GB/s and in ratios

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": FONT_SIZE, "axes.titlesize": FONT_SIZE,
    "axes.labelsize": FONT_SIZE, "xtick.labelsize": FONT_SIZE, "ytick.labelsize": FONT_SIZE,
    "legend.fontsize": FONT_SIZE, "figure.titlesize": FONT_SIZE + 1, "figure.labelsize": FONT_SIZE,
    "figure.constrained_layout.h_pad": 0.035, "mathtext.fontset": "dejavusans",
    "axes.linewidth": 0.5, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.grid": True, "grid.linewidth": 0.3, "grid.color": "#DDDDDD",
    "xtick.major.width": 0.5, "ytick.major.width": 0.5, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "lines.linewidth": 0.9, "lines.markersize": 3, "hatch.linewidth": 0.4, "legend.frameon": False,
    "legend.handlelength": 1.9, "legend.columnspacing": 0.6, "legend.handletextpad": 0.4, "legend.labelspacing": 0.25,
    "legend.borderaxespad": 72 * MARGIN / FONT_SIZE, "legend.borderpad": 0,
    "pdf.fonttype": 42, "svg.hashsalt": "reductio", "savefig.dpi": 200, "figure.dpi": 100,
})


def color_of(group: str) -> str:
    """That of a group where one figure holds all; grey of those that have none of their own."""
    return GROUP_COLORS.get(group) or LIBRARY_COLORS.get(group, MARK_COLOR)


def line_style(variant_index: int, settings_index: int) -> dict:
    """How the line of a panel's k-th variant with the panel's j-th choice of settings is drawn."""
    color = LINE_COLORS[variant_index % len(LINE_COLORS)]
    # Past nine variants markers come round again, hollow.
    hollow = (variant_index // len(MARKERS)) % 2 == 1
    return {"color": color, "marker": MARKERS[variant_index % len(MARKERS)],
            "linestyle": DASHES[settings_index % len(DASHES)], "markeredgewidth": 0.6, "markeredgecolor": color,
            "markerfacecolor": "white" if hollow else color}


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


def decade_axis(axis, steps: tuple = ()) -> None:
    """Makes an axis logarithmic, with plain numbers at these steps of each decade; if none are named, at 1, 10, 100,
    and at 2 and 5 between them where there are few."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    few = high < 100 * max(low, 1e-300)
    axis.set_major_locator(LogLocator(10, subs=steps or ((1, 2, 5) if few else (1,))))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_locator(NullLocator())


def shade_above(axes, n, value) -> None:
    """What is faster than the kernel that only reads. NaN where that is not known."""
    known = np.isfinite(value)
    axes.fill_between(n[known], value[known], ABOVE, color=CEILING_COLOR, linewidth=0, zorder=0.5)
    axes.plot(n[known], value[known], color=CEILING_EDGE, linewidth=0.7, zorder=0.6, gid="ceiling")


def draw_points(axes, points, vertical: bool = True, elinewidth: float = 0.7, **look) -> None:
    """Marks from (x, value, low, high), joined if the look has a line, each with its interval where it has one. A NaN
    value breaks the line, so that none goes across what was not measured."""
    if not (points := sorted(points)):
        return
    x, value, low, high = np.array(points, float).T
    errors = np.nan_to_num(np.clip([value - low, high - value], 0, None))
    where = dict(x=x, y=value, yerr=errors) if vertical else dict(x=value, y=x, xerr=errors)
    axes.errorbar(**where, elinewidth=elinewidth, **look)


def power_label(n: float) -> str:
    """2^24 for a power of two, 10^8 for one of ten, else the number."""
    for base, exponent in ((2, math.log2(n)), (10, math.log10(n))):
        if abs(exponent - round(exponent)) < 1e-9:
            return f"${base}^{{{round(exponent)}}}$"
    return f"{n:,.0f}"


def sheet(height: float, *rows: list[str], width: float = TEXT_WIDTH, **layout) -> tuple:
    """A figure and its panels in rows, each named by its gid; "." leaves a place empty. Constrained layout puts one
    thing at each edge. So the figure has the title and the foot, and a part inside of it what is said below the title,
    the panels and the legend."""
    figure = plt.figure(figsize=(width, height), layout="constrained")
    inside = figure.subfigures()
    panels = inside.subplot_mosaic([*rows], **layout) if rows else {}
    for gid, axes in panels.items():
        axes.set_gid(gid)
    return figure, list(panels.values())


def at_left(figure) -> dict:
    """How a text of the figure is set, in as many lines as it needs."""
    return dict(x=MARGIN / figure.get_figwidth(), ha="left", wrap=True)


def title(figure, text: str, below: str = "") -> None:
    """The figure's bold first line, and what is said below it."""
    figure.suptitle(text, fontweight="bold", **at_left(figure))
    if below:
        figure.subfigs[0].suptitle(below, fontsize=FONT_SIZE, **at_left(figure))


def handles(looks: dict[str, dict]) -> list:
    """For a legend: lines, or patches where the look has a face."""
    return [Patch(**look) if "facecolor" in look else Line2D([], [], **look) for look in looks.values()]


def legend(figure, looks: dict[str, dict], **more) -> None:
    """Below the panels."""
    figure.subfigs[0].legend(handles(looks), list(looks), loc="outside lower left",
                             **{"ncols": max(1, len(looks))} | more)


def foot(figure, text: str) -> None:
    figure.supxlabel(text, **at_left(figure))


# Kinds of file that a figure is written to, vectors and pixels, and what would stand inside of when and by what.
KINDS = {".pdf": ("CreationDate", "ModDate", "Producer", "Creator"), ".png": ("Software",), ".svg": ("Date",)}


def save(figure, out: Path, name: str, kinds=(".pdf", ".png")) -> list[Path]:
    """Writes these kinds of file, byte for byte the same for the same data: no dates inside."""
    paths = [out / (name + kind) for kind in kinds]
    for path in paths:
        figure.savefig(path, metadata=dict.fromkeys(KINDS[path.suffix]))
    plt.close(figure)
    return paths
