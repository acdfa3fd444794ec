"""The CPU's baselines: host loops by compiler level, and every reduction's throughput against n."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

import results as rs
from figures import style
from figures.panels import GIGA, LINE, bandwidth, draw_line, not_drawn
from figures.speedup import LABEL_LEFT, label_ends
from results import Results, Series


def optimisation_of(settings: str) -> tuple[str, str] | None:
    """(key, level) of the setting that names a compiler optimisation level: "O2", "-O2", "o2", "O3-fast-math"."""
    for key, value in rs.parse_settings(settings).items():
        level, _, more = value.lstrip("-").partition("-")
        if level.lower() in ("o0", "o1", "o2", "o3", "os", "ofast") and more in ("", "fast-math"):
            return key, "-" + level[0].upper() + level[1:] + (" -f" + more if more else "")
    return None


def cpu_series(results: Results, element_type: str) -> list[Series]:
    """Every sum that ran on the CPU, end to end, in each state of the cache it was measured in."""
    table = results.cpu
    assert table is not None
    found = []
    for mode in ("end_to_end", "device"):
        have = {s.variant for s in found}
        for state in sorted(set(table["cache_state"])):
            which = dict(device="cpu", operation="sum", element_type=element_type, cache_state=state)
            found += [s for s in rs.series(table, mode=mode, **which) if s.variant not in have]
    return sorted(found, key=lambda s: s.variant)


def usual_state(series: list[Series]) -> str:
    """The cache state of most of them; the others are marked where they are drawn."""
    states = [s.cache_state for s in series]
    return max(sorted(set(states)), key=states.count)


def best_of(levels: list[Series]) -> Series:
    """The fastest at the largest n that all of them have; where they share none, of those that reach furthest."""
    shared = set.intersection(*(set(s.ok["n"]) for s in levels))
    if shared:
        return min(levels, key=lambda s: s.at(max(shared))["time"])
    return min(levels, key=lambda s: (-s.ok["n"].iloc[-1], s.ok["time"].iloc[-1]))


# A slow call over a fast one; the share of points at which that is told; only times of so many timer steps count.
BUSY, OFTEN, STEPS = 2, 0.1, 100


def busy_note(rows: pd.DataFrame) -> str:
    """What is said where calls of one point differ so much that other work must have run beside them; else nothing."""
    timed = rows[(rows["status"] == "ok") & (rows["time_min_s"] > STEPS * rows["timer_resolution_s"].fillna(0))]
    busy = timed["time_p95_s"] > BUSY * timed["time_min_s"]
    if not busy.mean() > OFTEN:
        return ""
    return (f"The machine was busy: at {busy.sum()} of {len(busy)} points the slowest 5 % of calls took over {BUSY} times as "
            "long as the fastest call.")


def level_look(i: int) -> dict:
    return {"facecolor": style.LINE_COLORS[i % len(style.LINE_COLORS)], "hatch": ("", "////", "....", "xxxx")[i % 4],
            "edgecolor": "white", "linewidth": 0.3}


def draw(results: Results, element_type: str):
    """CPU baselines: left the host loops by optimisation level at the largest common size, right by n the fastest call of
    each group."""
    series = [s for s in cpu_series(results, element_type) if len(s.ok)]
    if not series:
        return None
    loops = [s for s in series if optimisation_of(s.settings)]
    common = set.intersection(*(set(s.ok["n"]) for s in loops)) if loops else set()
    where = results.cpu_machine.get("cpu.model", default=results.cpu_machine.name)
    usual = usual_state(series)
    lines = [best_of([s for s in series if s.group == group]) for group in dict.fromkeys(s.group for s in series)]

    def words(s: Series) -> str:
        level = optimisation_of(s.settings)
        return (f"{s.variant} {level[1]}" if level else s.name) + ("" if s.cache_state == usual else
                                                                   f" ({rs.CPU_CACHE_LABELS[s.cache_state]})")

    busy = busy_note(results.cpu[results.cpu["element_type"] == element_type])
    left, gap, top, height, foot = 0.5, 0.5, 0.6, 1.7, 0.6 + (LINE if busy else 0)
    right = LABEL_LEFT + 0.04 + max(style.text_width(words(s)) for s in lines)
    figure = style.sheet(top + height + foot)
    half = 0.6 * (style.TEXT_WIDTH - left - gap - right) if common else 0
    x = left
    if common:
        draw_levels(style.place(figure, left, foot, half, height, "cpu:levels"), loops, max(common), usual)
        x += half + gap
    axes = style.place(figure, x, foot, style.TEXT_WIDTH - right - x, height, "cpu:lines")
    ends = []
    for k, s in enumerate(lines):
        n, value, down, up = bandwidth(s)
        draw_line(axes, n, value, down, up, label=s.name, **style.line_style(k, 0))
        last = np.flatnonzero(np.isfinite(value))[-1]
        ends.append((n[last], value[last], words(s), style.line_style(k, 0)["color"]))
    sizes = [n for s in lines for n in s.ok["n"]]
    axes.set_yscale("log")
    style.decade_axis(axes.yaxis)
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes))
    label_ends(axes, ends, height)
    axes.set_xlabel("n (elements)", labelpad=1)
    axes.set_title("the fastest call of each library", loc="left", pad=4)
    style.title(figure, f"{where}: sum of {element_type}, {rs.MODE_LABELS['end_to_end']}, {rs.CPU_CACHE_LABELS[usual]}", left=left)
    style.foot(figure, (busy + "\n" if busy else "") + "Lines through bars and marks: 95 % intervals. "
               + not_drawn(cpu_series(results, element_type)), left)
    return figure


def draw_levels(axes, loops: list[Series], n: int, usual: str) -> None:
    """A bar for each host loop and compiler level at n."""
    names = sorted({s.variant for s in loops})
    levels = sorted({optimisation_of(s.settings)[1] for s in loops})
    thick = 0.8 / len(levels)
    for s in loops:
        i, point = levels.index(optimisation_of(s.settings)[1]), s.at(n)
        value, low, high = (point["bytes"] / point[c] / GIGA for c in ("time", "high", "low"))
        at = names.index(s.variant) + (i - (len(levels) - 1) / 2) * thick
        axes.bar(at, value, width=thick * 0.92, **level_look(i))
        if np.isfinite(low):
            axes.plot([at, at], [low, high], color="black", linewidth=0.7)
    marks = {s.variant: "" if s.cache_state == usual else f"({rs.CPU_CACHE_LABELS[s.cache_state]})" for s in loops}
    axes.set_xticks(range(len(names)), [(name.split("/", 1)[1] + "\n" + marks[name]).strip() for name in names])
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_ylabel("throughput (GB/s)")
    axes.set_title(f"host loops by compiler level, n = {rs.power_label(n)}", loc="left", pad=14)
    axes.legend([Patch(**level_look(i)) for i in range(len(levels))], levels, ncols=len(levels), loc="lower left",
                bbox_to_anchor=(0, 1.01))
