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
FIRST = ["tuned", "cub", "thrust", "cublas"]
LEARNERS = "modern/"  # kernels of a few lines: without panels
SHARES = (0, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, math.inf)
WORDS = ("below 1 %", "1 to 3", "3 to 10", "10 to 30", "30 to 50", "50 to 70", "70 to 80", "80 to 90", "above 90 %")
# From dark to light, so that print without colour shows it, too.
COLORS = ("#1A0B3B", "#3B1C6B", "#6B2480", "#9C2E7F", "#CC3F71", "#EE605E", "#FA8D62", "#FDBB84", "#FCF3C6")
NO_TIME = "#D8D8D8"
PER_LINE = 6
LEFT, RIGHT, GAP, CELL, NAME, SECTION, TICKS, KINDS, HEAD, FOOT = 0.36, 0.06, 0.14, 0.12, 0.3, 0.15, 0.24, 0.84, 0.56, 0.52


def panels_of(table) -> list[str]:
    """The variants of one operation, in order."""
    def place(variant: str) -> tuple:
        group = variant.partition("/")[0].partition("@")[0]
        return FIRST.index(group) if group in FIRST else len(FIRST), variant
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
    if results.experiment("shapes") is None:
        raise rs.Absent("no shapes.csv")
    table, python = rs.where_is(results.experiment("shapes"), timing_mode="device", **same), results.experiment("shapes-python")
    if python is not None:
        called = rs.where_is(python, timing_mode="replay", **same)
        table = pd.concat([table, called[~called["variant"].isin(set(table["variant"]))]], ignore_index=True)
    table = table[table["pitch_elements"].isna()]
    table = table.assign(lengths=[dataset.partition("/")[2] for dataset in table["dataset"]])
    lines = [row[SECTIONS[row["operation"]][1]] for _, row in table.iterrows()]
    return table.assign(line=[line if isinstance(line, str) else int(line) for line in lines], size=table["n"].map(size_of))


def draw(results: rs.Results, element_type: str = "f32"):
    """None where shapes.csv has no times beside a ceiling, as of a CPU."""
    table = points_of(results, element_type)
    if not (table["share_of_read_ceiling"].notna() & (table["status"] == "ok")).any():
        return None
    sizes = sorted({size_of(n) for n in table["n"]})
    lines: list[list] = [[]]
    for operation, (what, _) in SECTIONS.items():
        part = table[table["operation"] == operation]
        ok = part[part["status"] == "ok"]
        best = ok.loc[ok.groupby([ok["n"].map(size_of), "line"])["time_median_s"].idxmin()]
        names = [name for name in panels_of(part) if not name.startswith(LEARNERS)]
        if len(lines[-1]) + len(names) > PER_LINE:
            lines.append([])
        for name in names:
            if len(lines[-1]) == PER_LINE:
                lines.append([])
            lines[-1].append((what, name, sorted(set(part["line"])), part[part["variant"] == name], best[best["variant"] == name]))
    lines = [line for line in lines if line]
    tall = CELL * len(sizes)
    below = [KINDS if any(what == "segments" for what, *_ in line) else TICKS for line in lines]
    figure = style.sheet(HEAD + FOOT + sum(SECTION + NAME + tall + under for under in below))
    top = figure.get_figheight() - HEAD
    for line, under in zip(lines, below):
        bottom = top - SECTION - NAME - tall
        row = style.row(figure, [""] * PER_LINE, bottom, tall, LEFT, RIGHT, GAP)
        for axes in row[len(line):]:
            axes.remove()
        for k, (axes, (what, name, lengths, part, best)) in enumerate(zip(row, line)):
            if not k or line[k - 1][0] != what:
                figure.text(axes.get_position().x0, (top - 0.02) / figure.get_figheight(), what.capitalize(), va="top",
                            fontweight="bold")
            axes.set_gid(f"shapes:{name}:{what}")
            draw_cells(axes, cells(part, lengths, sizes), cells(best, lengths, sizes) >= 0)
            axes.set_title(name.replace("/", "/\n"), loc="left", pad=2)
            marked = range(len(lengths)) if what == "segments" else range(0, len(lengths), 3)
            axes.set_xticks(marked, [length_label(lengths[i]) for i in marked], rotation=90 if what == "segments" else 0)
            axes.set_yticks(range(0, len(sizes), 2), [f"$2^{{{size}}}$" for size in sizes[::2]] if k == 0 else [""] * len(sizes[::2]))
        top = bottom - under
    patches = dict(zip(WORDS, ({"facecolor": c, "edgecolor": "#888888", "linewidth": 0.3} for c in COLORS)))
    style.legend(figure, patches | {"no time": {"facecolor": NO_TIME}}, 0.2, handlelength=1.2, ncols=5)
    style.title(figure, f"Which sum of rows, columns or segments is fast, on one {results.machine_of('shapes.csv').gpu}",
                f"{element_type}, {sr.CACHE_LABELS['cold_dirty']}. Up: all elements; across: elements of each row or column, kinds of "
                "segments. Colour: share of the speed of only reading and writing as much.")
    replayed = " Calls from Python: kernels alone." if (table["timing_mode"] == "replay").any() else ""
    style.foot(figure, f"Dots: the fastest; where there is none, a kernel for learners. White: not asked.{replayed}")
    return figure
