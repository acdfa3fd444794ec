"""Sums of every release of CUB, all compiled by one nvcc: above, of f32, the speedup of each release over the one before
it at each n; below, for each type, how each release compares with the newest at three sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.lines import Line2D

import results as rs
from figures import style
from figures.studies import PARITY_LOOK
from results import Columns, Results

PAIRS = Columns.of("releases")
WAYS = (("device/cold_dirty", "on the device, cold"), ("graph/warm", "in a graph, warm"))
TYPES = ("i8", "f16", "bf16", "i32", "f32", "i64", "f64", "i128")
SIZES = (2**16, 2**20, 2**28)
# Orange for slower and blue for faster, as far as a factor of 1.5; white between.
COLORS = LinearSegmentedColormap.from_list("speedup", ["#D55E00", "#F6C9A8", "#FFFFFF", "#A9CFE6", "#0072B2"])
WIDEST = 1.5
CHANGED = dict(color="#000000", linewidth=1.1, clip_on=False)
LEFT, RIGHT, GAP, HEAD, CELL, BETWEEN, SMALL, SMALL_GAP, FOOT = 0.52, 0.06, 0.2, 0.6, 0.13, 0.95, 0.85, 0.3, 0.86


def release(variant: str) -> str:
    """"3.0.1" of "cub@3.0.1/sum"."""
    return variant.partition("@")[2].partition("/")[0]


def number(of: str) -> tuple:
    return tuple(int(part) for part in of.split("."))


def read(results: Results) -> pd.DataFrame | None:
    """CUB's pairs, with the columns `way`, `from` and `to`; None without releases.csv."""
    table = results.table("releases.csv", PAIRS)
    if table is None:
        return None
    table = table[table["variant"].str.startswith("cub@") & table["base"].str.contains("/sum")
                  & table["speedup"].notna()].copy()
    table["way"] = table["timing_mode"] + "/" + table["cache_state"]
    table["from"], table["to"] = table["base"].map(release), table["variant"].map(release)
    return table


def draw(results: Results):
    """None without releases.csv, or where it has no pairs of f32 on the device."""
    pairs = read(results)
    if pairs is None:
        return None
    steps = pairs[(pairs["pair"] == "adjacent") & (pairs["element_type"] == "f32")]
    ways = [(way, title) for way, title in WAYS if (steps["way"] == way).any()]
    if not ways:
        return None
    releases = sorted({*steps["from"], *steps["to"]}, key=number)
    sizes = sorted(steps["n"].unique())
    to_newest = pairs[(pairs["pair"] == "newest") & (pairs["way"] == WAYS[0][0])]
    types = [t for t in TYPES if (to_newest["element_type"] == t).any()]
    rows = -(-len(types) // 4)
    tall = CELL * (len(releases) - 1)
    lower = rows * SMALL + (rows - 1) * SMALL_GAP
    height = HEAD + tall + BETWEEN + lower + FOOT
    figure = style.sheet(height)
    width = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * (len(ways) - 1)) / len(ways)
    for k, (way, title) in enumerate(ways):
        axes = style.place(figure, LEFT + k * (width + GAP), height - HEAD - tall, width, tall, f"steps:{way}")
        image = draw_steps(axes, steps[steps["way"] == way], releases, sizes)
        axes.set_title(f"f32, {title}", loc="left", pad=3)
        axes.set_xlabel("n (elements)", labelpad=1)
        if not k:
            axes.set_yticks(range(len(releases) - 1), releases[1:])
    bar = figure.add_axes([(LEFT + width / 2 + GAP) / style.TEXT_WIDTH, (height - HEAD - tall - 0.42) / height,
                           width / style.TEXT_WIDTH, 0.07 / height])
    figure.colorbar(image, cax=bar, orientation="horizontal", ticks=[1 / WIDEST, 0.8, 0.9, 1, 1.1, 1.25, WIDEST],
                    format=lambda v, _: f"{v:.2g}")
    bar.minorticks_off()
    bar.set_xlabel("speedup over the release before; a black line where f32's machine code changed", labelpad=1)
    small = (style.TEXT_WIDTH - LEFT - RIGHT - GAP * 3) / 4
    looks = {n: dict(style.line_style(i, 0), markersize=2.2) for i, n in enumerate(SIZES)}
    for i, t in enumerate(types):
        row, column = divmod(i, 4)
        axes = style.place(figure, LEFT + column * (small + GAP), FOOT + (rows - 1 - row) * (SMALL + SMALL_GAP), small,
                           SMALL, f"newest:{t}")
        draw_newest(axes, to_newest[to_newest["element_type"] == t], releases, looks)
        axes.set_title(t, loc="left", pad=2)
        if not column:
            axes.set_ylabel("newest = 1", labelpad=2)
        axes.tick_params(labelbottom=i + 4 >= len(types))
    handles = [Line2D([], [], **looks[n]) for n in SIZES]
    style.legend(figure, handles, [f"n = {rs.power_label(n)}" for n in SIZES], 0.28, LEFT, "upper left", ncols=len(SIZES))
    style.title(figure, f"Sums of CUB's releases on one {results.releases_machine.gpu}", left=LEFT)
    style.foot(figure, "Below: time of the newest release over each one's, on the device, cold; lines through marks are intervals "
               "that hold all at once. All by one nvcc.", left=LEFT)
    return figure


def draw_steps(axes, steps: pd.DataFrame, releases: list[str], sizes: list[int]):
    """A cell for each release and n. One that is neither FASTER nor SLOWER is white."""
    cells = np.ones((len(releases) - 1, len(sizes)))
    for _, p in steps.iterrows():
        if p["verdict"] in ("FASTER", "SLOWER"):
            cells[releases.index(p["to"]) - 1, sizes.index(p["n"])] = p["speedup"]
    image = axes.imshow(cells, aspect="auto", cmap=COLORS, norm=LogNorm(1 / WIDEST, WIDEST, clip=True), origin="upper")
    axes.grid(False)
    changed = set(steps.loc[steps["same_code"] == "no", "to"])
    for k, of in enumerate(releases[1:]):
        if of in changed:
            axes.plot([-0.5, len(sizes) - 0.5], [k - 0.5, k - 0.5], **CHANGED)
    marks = [k for k, n in enumerate(sizes) if round(np.log2(n)) % 4 == 2]
    axes.set_xticks(marks, [f"$2^{{{round(np.log2(sizes[k]))}}}$" for k in marks])
    axes.set_yticks([])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(len(releases) - 1.5, -0.5)
    return image


def draw_newest(axes, points: pd.DataFrame, releases: list[str], looks: dict) -> None:
    """A line for each size: time of the newest release over that of each, 1 for the newest itself."""
    lowest, highest = 0.95, 1.05
    for n, look in looks.items():
        of = points[points["n"] == n].assign(at=lambda t: t["from"].map(releases.index)).sort_values("at")
        if not len(of):
            continue
        # speedup is that of the newest over this release
        value, low, high = 1 / of["speedup"], 1 / of["ci_high"], 1 / of["ci_low"]
        axes.errorbar([*of["at"], len(releases) - 1], [*value, 1], [[*(value - low), 0], [*(high - value), 0]],
                      elinewidth=0.6, **dict(look, linewidth=0.8), label=rs.power_label(n))
        lowest, highest = min(lowest, low.min()), max(highest, high.max())
    axes.axhline(1, **PARITY_LOOK)
    marks = [k for k in range(len(releases)) if number(releases[k])[0] != number(releases[k - 1])[0] or not k]
    marks = sorted({*marks, len(releases) - 1})
    axes.set_xticks(marks, [".".join(releases[k].split(".")[:2]) for k in marks])
    axes.set_xlim(-0.6, len(releases) - 0.4)
    axes.set_ylim(lowest - 0.02 * (highest - lowest), highest + 0.05 * (highest - lowest))
