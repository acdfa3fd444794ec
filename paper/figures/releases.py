"""Sums of every release of CUB, compiled by one nvcc: the speedup of each over the one before it, of f32 at each n and of
each type at five."""

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, LogNorm

from report import results as rs
from report import style

TYPES = ("i8", "f16", "bf16", "i32", "f32", "i64", "f64", "i128")
# Orange for slower and blue for faster, as far as a factor of WIDEST; white between.
COLORS = LinearSegmentedColormap.from_list("speedup", ["#D55E00", "#F6C9A8", "#FFFFFF", "#A9CFE6", "#0072B2"])
WIDEST = 1.15
DIFFERS = dict(color="#000000", marker=".", linestyle="", markersize=2.2)
CHANGED = dict(color="#000000", linewidth=1.1, clip_on=False)
LEFT, RIGHT, GAP, HEAD, CELL, FOOT = 0.52, 0.06, 0.16, 0.36, 0.13, 0.68


def number(release: str) -> tuple:
    return tuple(int(part) for part in release.split("."))


def draw(results: rs.Results):
    """None where releases.csv has no pairs of CUB's in a graph."""
    # Calls vary least so.
    steps = rs.where_is(results.table("releases"), pair="adjacent", timing_mode="graph", cache_state="warm")
    steps = steps[steps["variant"].str.startswith("cub@") & steps["base"].str.contains("/sum") & steps["speedup"].notna()]
    if steps.empty:
        return None
    steps = steps.assign(**{"from": steps["base"].map(rs.release_of), "to": steps["variant"].map(rs.release_of)})
    releases = sorted({*steps["from"], *steps["to"]}, key=number)
    types = [t for t in TYPES if (steps["element_type"] == t).any()]
    tall = CELL * (len(releases) - 1)
    figure = style.sheet(HEAD + tall + FOOT)
    few = sorted(set.intersection(*(set(steps.loc[steps["element_type"] == t, "n"]) for t in types)))
    of_f32 = [("f32", n) for n in sorted(steps.loc[steps["element_type"] == "f32", "n"].unique())]
    of_all = [(t, n) for t in types for n in few]
    room = style.TEXT_WIDTH - LEFT - RIGHT - GAP
    left = LEFT
    for gid, columns in (("f32", of_f32), ("types", of_all)):
        width = room * len(columns) / (len(of_f32) + len(of_all))
        axes = style.place(figure, left, FOOT, width, tall, f"steps:{gid}")
        image = draw_steps(axes, steps, releases, columns)
        if gid == "f32":
            marks = [k for k, (_, n) in enumerate(columns) if round(np.log2(n)) % 8 == 2]
            axes.set_xticks(marks, [f"$2^{{{round(np.log2(columns[k][1]))}}}$" for k in marks])
            axes.set_yticks(range(len(releases) - 1), releases[1:])
            axes.set_title("f32", loc="left", pad=3)
            axes.set_xlabel("n (elements)", labelpad=1)
        else:
            axes.set_xticks([len(few) * (k + 0.5) - 0.5 for k in range(len(types))], types)
            for k in range(1, len(types)):
                axes.axvline(len(few) * k - 0.5, color=style.MARK_COLOR, linewidth=0.4)
            axes.set_title(f"each type, n = {', '.join(style.power_label(n) for n in few)}", loc="left", pad=3)
        left += width + GAP
    wide = 3.0
    bar = style.place(figure, style.TEXT_WIDTH - RIGHT - 0.15 - wide, 0.32, wide, 0.07, "colours")
    figure.colorbar(image, cax=bar, orientation="horizontal", ticks=[0.87, 0.9, 0.95, 1, 1.05, 1.1, 1.15],
                    format=lambda v, _: f"{v:.2f}".rstrip("0").rstrip("."))
    bar.minorticks_off()
    bar.set_xlabel("speedup over the release before", labelpad=0)
    style.title(figure, f"Sums of CUB's releases on one {results.machine_of('releases.csv').gpu}, in a graph, warm", left=LEFT)
    style.foot(figure, "Dot: FASTER or SLOWER. Black line: other machine code.", left=LEFT)
    return figure


def draw_steps(axes, steps: pd.DataFrame, releases: list[str], columns: list[tuple]):
    """A cell for each release and each type and n; a black line above a release whose code of that type is new."""
    cells = np.ones((len(releases) - 1, len(columns)))
    for _, p in steps.iterrows():
        if (at := (p["element_type"], p["n"])) not in columns:
            continue
        row, column = releases.index(p["to"]) - 1, columns.index(at)
        cells[row, column] = p["speedup"]
        if p["verdict"] in ("FASTER", "SLOWER"):
            axes.plot(column, row, **DIFFERS)
        if p["same_code"] == "no":
            axes.plot([column - 0.5, column + 0.5], [row - 0.5, row - 0.5], **CHANGED)
    image = axes.imshow(cells, aspect="auto", cmap=COLORS, norm=LogNorm(1 / WIDEST, WIDEST, clip=True), origin="upper")
    axes.grid(False)
    axes.set_yticks([])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(releases) - 1.5, -0.5)
    return image
