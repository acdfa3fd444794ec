"""The read ceiling and the launch floor, in every way of timing and state of the cache."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D

import results as rs
from figures import style
from figures.panels import L2_LOOK, LINE, PEAK_LOOK, draw_line, not_drawn
from results import Results


def draw(results: Results):
    """In every way of timing and state of the cache that limits.csv has: the throughput of only reading, its time beside
    that of an empty call, and how near to it the variant of that experiment comes."""
    table = results.limits
    assert table is not None
    types = sorted(set(table["element_type"]), key=lambda t: (t != "f32", t))
    which = dict(device="cuda", operation=str(table["operation"].iloc[0]), element_type=types[0])
    lines, others = [], []
    for j, mode in enumerate(("device", "graph")):
        for i, state in enumerate(("cold_clean", "cold_dirty", "warm")):
            others += rs.series(table, mode=mode, cache_state=state, **which)
            harness = rs.harness_calls(table, mode=mode, cache_state=state, **which)
            if harness["read"].notna().any():
                lines.append((mode, state, harness, style.line_style(i, j)))
    if not lines:
        return None
    sizes = np.concatenate([b["n"].to_numpy(float) for _, _, b, _ in lines])
    peak, l2 = results.machine.peak_bytes_per_s, results.machine.l2_bytes

    labels = [f"{rs.MODE_LABELS[mode]}, {rs.CACHE_LABELS[state]}" for mode, state, _, _ in lines]
    handles = [Line2D([], [], **look) for _, _, _, look in lines]
    handles.append(Line2D([], [], color="black", linewidth=0.6))
    labels.append("without marks: an empty call")
    if peak:
        handles.append(Line2D([], [], **PEAK_LOOK))
        labels.append(f"theoretical peak, {peak / 1e12:.2f} TB/s")
    if l2:
        handles.append(Line2D([], [], **L2_LOOK))
        labels.append(f"n that fills L2, {l2 / 2**20:.0f} MiB")
    per_line = style.legend_columns(labels, style.TEXT_WIDTH - 0.1)

    left, right, gap, top, height, ticks = 0.52, 0.06, 0.56, 0.46, 1.6, 0.4
    foot = ticks + LINE * -(-len(labels) // per_line) + 0.28
    total = top + height + foot
    width = (style.TEXT_WIDTH - left - right - 2 * gap) / 3
    figure = style.sheet(total)
    rate, time, share = (style.place(figure, left + k * (width + gap), foot, width, height, f"limits:{gid}")
                         for k, gid in enumerate(("rate", "time", "share")))
    variant = next((s.variant for s in others if s.is_base), others[0].variant)
    for mode, state, harness, look in lines:
        n, read = harness["n"].to_numpy(float), harness["read"].to_numpy(float)
        rate.plot(n, harness["bytes"] / read / 1e12, label=f"{mode} {state}", **look)
        time.plot(n, 1e6 * read, label=f"{mode} {state}", **look)
        time.plot(n, 1e6 * harness["floor"], label=f"{mode} {state} floor", color=look["color"],
                  linestyle=look["linestyle"], linewidth=0.6)
        for s in others:
            if (s.variant, s.mode, s.cache_state) != (variant, mode, state):
                continue
            p = s.points.merge(harness[["n", "read"]], on="n", how="left")
            # The program paired the share; its interval here is the time's, with the read ceiling's median as it is.
            value = p["share"].to_numpy(float)
            low, high = ((p["read"] / p[end]).to_numpy(float) for end in ("high", "low"))
            draw_line(share, p["n"].to_numpy(float), value, np.clip(value - low, 0, None),
                      np.clip(high - value, 0, None), label=f"{mode} {state}", **look)
    if peak:
        rate.axhline(peak / 1e12, **PEAK_LOOK)
    for axes in (rate, time, share):
        if l2 and min(sizes) <= l2 / rs.ELEMENT_BYTES[types[0]] <= max(sizes):
            axes.axvline(l2 / rs.ELEMENT_BYTES[types[0]], **L2_LOOK)
        axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
        style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes), every=8)
        axes.set_xlabel("n (elements)", labelpad=1)
    for axes in (rate, time):
        axes.set_yscale("log")
        style.decade_axis(axes.yaxis)
    share.set_ylim(0, max(1.05, 1.05 * np.nanmax([s.points["share"].max() for s in others])))
    share.axhline(1, color="black", linewidth=0.8, zorder=1.5)
    for axes, title, label in ((rate, "only reading: throughput", "throughput (TB/s)"),
                               (time, "only reading: time", "time of a call (µs)"),
                               (share, variant, "time of only reading / its own")):
        axes.set_title(title, loc="left", pad=4)
        axes.set_ylabel(label)
    style.legend(figure, handles, labels, foot - ticks, 0.1, "upper left", ncols=per_line)
    style.title(figure, f"{results.machine.gpu}: read ceiling and launch floor, {types[0]}", left=left)
    style.foot(figure, f"Marks: times; thin bars: 95 % confidence intervals of {variant}. {not_drawn(others)}", 0.1)
    return figure
