"""Figures with a row for each name, whose marks are speedups."""

import numpy as np

import series as sr
import contrasts
from report import results as rs, style
from figures.panels import gain_axis, gain_rows, in_words, looks_of, name_rows

INDEXES = {"i64": "int64_t", "u32": "unsigned", "u64": "size_t"}


def speeds(d: rs.Results) -> dict[str, dict[tuple[str, int], contrasts.Contrast]]:
    """By kernel and (index, n) its speed over the same kernel's with int, on the device or of the device's part."""
    by_kernel: dict[str, dict] = {}
    for name, c in contrasts.like(d, "index."):
        kernel, _, index = name.rpartition(".")
        by_kernel.setdefault(kernel, {})[index, c.n] = c
    return rs.needed(by_kernel, "no contrasts of index")


def index(results: rs.Results):
    """The type of a loop's index: the speed of each kernel with another integer, over its speed with a signed one of 32
    bits. Absent where contrasts.csv has none of it."""
    by_kernel = speeds(results)
    every = [c for gains in by_kernel.values() for c in gains.values()]
    sizes = sorted({c.n for c in every})
    figure, panels = style.sheet(1.4 + 0.165 * len(by_kernel), [f"index:{n}" for n in sizes], sharey=True,
                                 width=style.COLUMN_WIDTH)
    looks = looks_of(INDEXES, linestyle="", markersize=3.2)
    for n, axes in zip(sizes, panels):
        marks = {index: [(row, *gains[index, n].interval) for row, gains in enumerate(by_kernel.values())
                         if (index, n) in gains] for index in INDEXES}
        gain_rows(axes, marks, looks, "speed", apart=0.22)
        name_rows(axes, list(by_kernel))
        axes.set_xlim(min(0.9, *(c.low for c in every)) - 0.06, 1.1)
        axes.grid(True, axis="y")
        axes.set_title(f"n = {style.power_label(n)}", loc="left", pad=3)
    style.title(figure, f"Speed by a loop's index, int = 1, {results.machine.gpu}",
                f"f32, device time or part, {sr.CACHE_LABELS['cold_dirty']}")
    style.legend(figure, {INDEXES[index]: look for index, look in looks.items()})
    few = not all(c.enough for c in every)
    style.foot(figure, "Lines: 95 % intervals, paired by context" + ("; of slow calls their range." if few else "."))
    return figure


PANELS = {"replay": "kernels alone: a captured call, replayed",
          "end_to_end": "the call, until its result is on the host"}
OURS = "tuned/sum"
SLOWEST = 1 / 40  # as fast as CUB; calls that are slower are named below rather than drawn


def peers(results: rs.Results):
    """What Python users call, and our own sum called from C++: how many times as fast as CUB called from C++ their
    kernels alone are, and their calls until the result is in host memory, at each n. Absent where peers.csv has no
    sums of floats by CUB."""
    table = results.rows("peers", element_type="f32", status="ok", cache_state="cold_dirty", timing_mode=list(PANELS))
    table = table[table["speedup"].notna() & (table["variant"] != "cub/sum")]
    slow = set(table.loc[table["speedup"] < SLOWEST, "variant"])
    drawn = rs.needed(table[~table["variant"].isin(slow)])
    # The fastest calls at the smallest size first, ours above all.
    first = drawn[drawn["timing_mode"] == "end_to_end"].sort_values("n").groupby("variant")["speedup"].first()
    names = sorted(set(drawn["variant"]), key=lambda v: (v != OURS, -first.get(v, 0), v))
    drawn = drawn.assign(row=drawn["variant"].map(names.index))
    looks = looks_of(sorted(set(drawn["n"])), linestyle="", markersize=3.2)
    figure, panels = style.sheet(1.34 + 0.2 * len(names), [f"peers:{mode}" for mode in PANELS], sharey=True)
    for axes, (mode, words) in zip(panels, PANELS.items()):
        timed = drawn[drawn["timing_mode"] == mode]
        marks = {n: timed.loc[timed["n"] == n, ["row", "speedup", "speedup_ci_low", "speedup_ci_high"]].values.tolist()
                 for n in looks}
        low = min(0.9, np.nanmin(timed["speedup_ci_low"])) / 1.1
        gain_axis(axes, low, max(1.1, np.nanmax(timed["speedup_ci_high"])) * 1.1, (1, 2, 5) if low < 0.2 else (1, 3, 4, 5, 7))
        gain_rows(axes, marks, looks, "speed, CUB called from C++ = 1", apart=0.13)
        name_rows(axes, names)
        for y, name in enumerate(names):
            if name not in set(timed["variant"]):
                axes.text(0.02, y, "cannot be captured", transform=axes.get_yaxis_transform(), va="center",
                          color=style.MARK_COLOR)
            axes.axhline(y + 0.5, color="#DDDDDD", linewidth=0.4, zorder=0.5)
        axes.set_title(words, loc="left", pad=3)
    style.title(figure, f"Sums that Python users call, on one {results.machine_of('peers.csv').gpu}",
                f"f32, {sr.CACHE_LABELS['cold_dirty']}. {OURS}, too, is called from C++.")
    style.legend(figure, in_words(looks))
    left_out = f" Not drawn, less than 1/40 as fast: {', '.join(sorted(slow))}." if slow else ""
    style.foot(figure, f"Lines: 95 % intervals, paired by context.{left_out}")
    return figure
