"""Sums of rows, columns and segments, a panel for each call: at each length and number of elements, how near a call comes
to a kernel that reads and writes as much."""

import math

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap

import series as sr
from report import results as rs
from report import style

# What is summed, and in which column stands how many elements one output has.
SECTIONS = {"row_sums": ("rows", "shape_columns"), "column_sums": ("columns", "shape_rows"),
            "segment_sums": ("segments", "lengths")}
FIRST = ["tuned", "cub", "thrust", "cublas"]  # `modern`, for learners, comes last
SHARES = (0, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, math.inf)
WORDS = ("below 1 %", "1 to 3", "3 to 10", "10 to 30", "30 to 50", "50 to 70", "70 to 80", "80 to 90", "above 90 %")
# From dark to light, so that print without colour shows it, too.
COLORS = ("#1A0B3B", "#3B1C6B", "#6B2480", "#9C2E7F", "#CC3F71", "#EE605E", "#FA8D62", "#FDBB84", "#FCF3C6")
NO_TIME = "#D8D8D8"
PER_LINE = 4
LEFT, RIGHT, GAP, CELL, NAME, SECTION, TICKS, KINDS, HEAD, FOOT = 0.4, 0.06, 0.12, 0.125, 0.16, 0.17, 0.22, 0.7, 0.42, 0.42


def panels_of(table) -> list[str]:
    """The variants of one operation, in order."""
    def place(variant: str) -> tuple:
        group = variant.partition("/")[0].partition("@")[0]
        return (group == "modern", FIRST.index(group) if group in FIRST else len(FIRST), variant)
    return sorted(set(table["variant"]), key=place)


def size_of(n: float) -> int:
    """The power of two that n is about: 1000 rows hold a little less."""
    return round(math.log2(n))


def cells(table, lengths: list, sizes: list[int]) -> np.ndarray:
    """Of one variant the share of the ceiling at each size and length: -1 where it has no time, NaN where it is not asked."""
    out = np.full((len(sizes), len(lengths)), np.nan)
    for row in table.itertuples():
        at = sizes.index(size_of(row.n)), lengths.index(row.line)
        share = row.share_of_read_ceiling if row.status == "ok" else np.nan
        out[at] = np.nanmax([out[at], -1 if np.isnan(share) else share])
    return out


def draw_cells(axes, shares: np.ndarray, fastest: np.ndarray) -> None:
    high, wide = shares.shape
    edges = np.arange(wide + 1) - 0.5, np.arange(high + 1) - 0.5
    mesh = dict(edgecolors="white", linewidth=0.3)
    axes.pcolormesh(*edges, np.ma.masked_where(~(shares < 0), shares), cmap=ListedColormap([NO_TIME]), **mesh)
    axes.pcolormesh(*edges, np.ma.masked_where(~(shares >= 0), shares), cmap=ListedColormap(COLORS),
                    norm=BoundaryNorm([*SHARES[:-1], 1e9], len(COLORS)), gid="shares", **mesh)
    for y, x in np.argwhere(fastest):
        axes.plot(x, y, "o", markersize=1.6, color="black" if shares[y, x] >= 0.5 else "white")
    axes.grid(False)
    axes.tick_params(length=1.5, pad=1)


def length_label(line) -> str:
    return line.replace(":", " ") if isinstance(line, str) else style.power_label(line) if line > 2 else "2"


def points_of(results: rs.Results, element_type: str = "f32"):
    """The rows of the map, with `line`: how many elements one output has, or how long segments are. Of calls from Python
    their kernels alone, replayed."""
    same = dict(device="cuda", element_type=element_type, cache_state="cold_dirty", operation=list(SECTIONS))
    table, python = rs.where_is(results.experiment("shapes"), timing_mode="device", **same), results.experiment("shapes-python")
    if python is not None:
        called = rs.where_is(python, timing_mode="replay", **same)
        table = pd.concat([table, called[~called["variant"].isin(set(table["variant"]))]], ignore_index=True)
    table = table[table["pitch_elements"].isna()]
    table = table.assign(lengths=[dataset.partition("/")[2] for dataset in table["dataset"]])
    lines = [row[SECTIONS[row["operation"]][1]] for _, row in table.iterrows()]
    return table.assign(line=[line if isinstance(line, str) else int(line) for line in lines])


def draw(results: rs.Results, element_type: str = "f32"):
    """None where shapes.csv has no times beside a ceiling, as of a CPU."""
    table = points_of(results, element_type)
    if not (table["share_of_read_ceiling"].notna() & (table["status"] == "ok")).any():
        return None
    sizes = sorted({size_of(n) for n in table["n"]})
    sections = []
    for operation, (what, _) in SECTIONS.items():
        part = table[table["operation"] == operation]
        if not part.empty:
            sections.append((what, part, sorted(set(part["line"])), panels_of(part)))
    tall = CELL * len(sizes)
    below = [KINDS if what == "segments" else TICKS for what, *_ in sections]
    lines = [-(-len(names) // PER_LINE) for *_, names in sections]
    figure = style.sheet(HEAD + FOOT + sum(SECTION + k * (NAME + tall + under) for k, under in zip(lines, below)))
    top = figure.get_figheight() - HEAD
    for (what, part, lengths, names), under in zip(sections, below):
        across = "how long they are" if what == "segments" else "elements of each"
        figure.text(0.06 / style.TEXT_WIDTH, (top - 0.02) / figure.get_figheight(), f"Sums of {what}; across: {across}",
                    va="top", fontweight="bold")
        top -= SECTION
        ok = part[part["status"] == "ok"]
        best = ok.loc[ok.groupby([ok["n"].map(size_of), "line"])["time_median_s"].idxmin()]
        for first in range(0, len(names), PER_LINE):
            bottom = top - NAME - tall
            axes_of_line = style.row(figure, [f"shapes:{what}:{k}" for k in range(PER_LINE)], bottom, tall, LEFT, RIGHT, GAP)
            for k, axes in enumerate(axes_of_line):
                if first + k >= len(names):
                    axes.remove()
                    continue
                name = names[first + k]
                axes.set_gid(f"shapes:{name}:{what}")
                of_best = cells(best[best["variant"] == name], lengths, sizes)
                draw_cells(axes, cells(part[part["variant"] == name], lengths, sizes), of_best >= 0)
                axes.set_title(name, loc="left", pad=2, fontsize=style.FONT_SIZE)
                marked = range(len(lengths)) if what == "segments" else range(0, len(lengths), 3)
                axes.set_xticks(marked, [length_label(lengths[i]) for i in marked],
                                rotation=90 if what == "segments" else 0)
                axes.set_yticks(range(0, len(sizes), 2),
                                [f"$2^{{{size}}}$" for size in sizes[::2]] if k == 0 else [""] * len(sizes[::2]))
            top = bottom - under
    patches = dict(zip(WORDS, ({"facecolor": c, "edgecolor": "#888888", "linewidth": 0.3} for c in COLORS)))
    style.legend(figure, patches | {"no time": {"facecolor": NO_TIME}}, 0.2, handlelength=1.2)
    style.title(figure, f"Which sum of rows, columns or segments is fast, on one {results.machine_of('shapes.csv').gpu}",
                f"{element_type}, {sr.CACHE_LABELS['cold_dirty']}. Up: all elements. Colour: share of the speed of a kernel "
                "that only reads and writes as much.")
    replayed = " Calls from Python: kernels alone." if (table["timing_mode"] == "replay").any() else ""
    style.foot(figure, f"Dots: the fastest. White: not asked. No time: refused, over the experiment's limit, or impossible.{replayed}")
    return figure
