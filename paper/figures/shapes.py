import math

import numpy as np
import pandas as pd
from matplotlib.colors import BoundaryNorm, ListedColormap

import series as sr
from report import results as rs, style

# What is summed, and in which column stands how many elements one output has.
SECTIONS = {"row_sums": ("rows", "shape_columns"), "column_sums": ("columns", "shape_rows"),
            "segment_sums": ("segments", "lengths")}
FIRST = ["tuned", "cub", "thrust", "cublas"]
LEARNERS = "modern/"  # kernels of a few lines: without panels
# By words a share's lower end and colour: from dark to light, so that print without colour shows it, too.
SHARES = {"below 1 %": (0, "#1A0B3B"), "1 to 3": (0.01, "#3B1C6B"), "3 to 10": (0.03, "#6B2480"),
          "10 to 30": (0.1, "#9C2E7F"), "30 to 50": (0.3, "#CC3F71"), "50 to 70": (0.5, "#EE605E"),
          "70 to 80": (0.7, "#FA8D62"), "80 to 90": (0.8, "#FDBB84"), "above 90 %": (0.9, "#FCF3C6")}
NO_TIME = "#D8D8D8"
PER_LINE = 6


def length_label(line) -> str:
    return line.replace(":", " ") if isinstance(line, str) else style.power_label(line) if line > 2 else "2"


def place(variant: str) -> tuple:
    """What sorts the panels of an operation."""
    group = variant.partition("/")[0].partition("@")[0]
    return FIRST.index(group) if group in FIRST else len(FIRST), variant


def cells(table, lengths: list, sizes: list[int]) -> np.ndarray:
    """Of one variant the share of the ceiling at each size and length: -1 where it has no time, NaN where it is not asked."""
    share = table["share_of_read_ceiling"].where(table["status"] == "ok").fillna(-1)
    by_shape = share.groupby([table["size"], table["line"]]).max().unstack()
    return by_shape.reindex(index=sizes, columns=lengths).to_numpy(float)


def draw_cells(axes, shares: np.ndarray, fastest: np.ndarray) -> None:
    """A field for each share, and a dot in those where the call is the fastest, which have no NaN in `fastest`."""
    ends, colors = zip(*SHARES.values())
    edges = (np.arange(count + 1) - 0.5 for count in reversed(shares.shape))
    axes.pcolormesh(*edges, np.ma.masked_invalid(shares), cmap=ListedColormap(colors).with_extremes(under=NO_TIME),
                    norm=BoundaryNorm([*ends, 1e9], len(colors)), edgecolors="white", linewidth=0.3, gid="shares")
    for y, x in np.argwhere(fastest >= 0):
        axes.plot(x, y, "o", markersize=1.6, color="black" if shares[y, x] >= 0.5 else "white")
    axes.grid(False)
    axes.tick_params(length=1.5, pad=1)


def points_of(results: rs.Results):
    """The map's rows of floats, with `line`, how many elements one output has, or how long segments are, and `size`, the
    power of two that n is about: 1000 rows hold a little less. Of calls from Python their kernels alone, replayed."""
    same = dict(device="cuda", element_type="f32", cache_state="cold_dirty", operation=list(SECTIONS))
    table, python = results.rows("shapes", timing_mode="device", **same), results.experiment("shapes-python")
    if python is not None:
        called = rs.where_is(python, timing_mode="replay", **same)
        table = pd.concat([table, called[~called["variant"].isin(set(table["variant"]))]], ignore_index=True)
    table = table[table["pitch_elements"].isna()]
    table = table.assign(lengths=[dataset.partition("/")[2] for dataset in table["dataset"]])
    lines = [row[SECTIONS[row["operation"]][1]] for row in table.to_dict("records")]
    return table.assign(line=[line if isinstance(line, str) else int(line) for line in lines],
                        size=[round(math.log2(n)) for n in table["n"]])


def fastest_at(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the fastest call at each shape and size."""
    return table.loc[table.groupby([table["operation"], table["line"].astype(str), "n"])["time_median_s"].idxmin()]


def draw(results: rs.Results):
    """Sums of rows, columns and segments, a panel for each call: at each length and number of elements, how near a call
    comes to a kernel that reads and writes as much. Absent where shapes.csv has no times beside a ceiling, as of a
    CPU."""
    table = points_of(results)
    rs.needed(table[table["share_of_read_ceiling"].notna() & (table["status"] == "ok")])
    sizes, lines = sorted(set(table["size"])), []
    for operation, (what, _) in SECTIONS.items():
        part = table[table["operation"] == operation]
        best = fastest_at(part[part["status"] == "ok"])
        names = [name for name in sorted(set(part["variant"]), key=place) if not name.startswith(LEARNERS)]
        lines += [(what, part, best, names[k:k + PER_LINE]) for k in range(0, len(names), PER_LINE)]
    gids = [[f"shapes:{name}:{what}" for name in names] + ["."] * (PER_LINE - len(names))
            for what, _, _, names in lines]
    figure, panels = style.sheet(2 + len(lines) * (0.5 + 0.12 * len(sizes)), *gids, sharey=True)
    for what, part, best, names in lines:
        lengths = sorted(set(part["line"]))
        row, panels = panels[:len(names)], panels[len(names):]
        row[0].set_ylabel(what.capitalize(), fontweight="bold")
        for axes, name in zip(row, names):
            draw_cells(axes, *(cells(of[of["variant"] == name], lengths, sizes) for of in (part, best)))
            axes.set_title(name.replace("/", "/\n"), loc="left", pad=2)
            step, rotation = (1, 90) if what == "segments" else (3, 0)
            axes.set_xticks(range(0, len(lengths), step), map(length_label, lengths[::step]), rotation=rotation)
            axes.set_yticks(range(0, len(sizes), 2), [f"$2^{{{size}}}$" for size in sizes[::2]])
    patches = {words: dict(facecolor=color, edgecolor="#888888", linewidth=0.3) for words, (_, color) in SHARES.items()}
    style.legend(figure, patches | {"no time": {"facecolor": NO_TIME}}, handlelength=1.2, ncols=5)
    style.title(figure, f"Which sum of rows, columns or segments is fast, on one {results.machine_of('shapes.csv').gpu}",
                f"f32, {sr.CACHE_LABELS['cold_dirty']}. Up: all elements; across: elements of each row or column, kinds of "
                "segments. Colour: share of the speed of only reading and writing as much.")
    replayed = " Calls from Python: kernels alone." if (table["timing_mode"] == "replay").any() else ""
    style.foot(figure, f"Dots: the fastest; where there is none, a kernel for learners. White: not asked.{replayed}")
    return figure
