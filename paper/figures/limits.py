"""The read ceiling and the launch floor, in every way of timing and state of the cache."""

import numpy as np

import series as sr
from report import results as rs
from report import style
from figures.panels import LINE, PEAK_LOOK, draw_line, l2_look, mark_l2, not_drawn

LEFT, RIGHT, GAP, HEAD, TALL, TICKS = 0.6, 0.06, 0.58, 0.46, 1.4, 0.42
COLUMNS = 3  # of the legend


def draw(results: rs.Results):
    """In every way of timing and state of the cache that limits.csv has: the throughput of only reading, its time beside
    that of an empty call, and how near to it the variant of that experiment comes."""
    table = results.experiment("limits")
    types = sorted(set(table["element_type"]), key=lambda t: (t != "f32", t))
    which = dict(device="cuda", operation=str(table["operation"].iloc[0]), element_type=types[0])
    lines, others = [], []
    for j, mode in enumerate(("device", "graph")):
        for i, state in enumerate(("cold_clean", "cold_dirty", "warm")):
            others += sr.series(table, mode=mode, cache_state=state, **which)
            harness = sr.harness_calls(table, mode=mode, cache_state=state, **which)
            if harness["read"].notna().any():
                lines.append((mode, state, harness, style.line_style(i, j)))
    if not lines:
        return None
    sizes = sorted({n for _, _, harness, _ in lines for n in harness["n"]})
    peak = results.machine.peak_bytes_per_s
    looks = {f"{sr.MODE_LABELS[mode]}, {sr.CACHE_LABELS[state]}": look for mode, state, _, look in lines}
    looks["without marks: an empty call"] = dict(color="black", linewidth=0.6)
    if peak:
        looks[f"theoretical peak, {peak / 1e12:.2f} TB/s"] = PEAK_LOOK
    looks |= l2_look(results.machine)
    foot = TICKS + LINE * -(-len(looks) // COLUMNS) + 0.28
    figure = style.sheet(HEAD + TALL + foot)
    rate, time, share = style.row(figure, ["limits:rate", "limits:time", "limits:share"], foot, TALL, LEFT, RIGHT, GAP)
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
            draw_line(share, p["n"], value, low, high, label=f"{mode} {state}", **look)
    if peak:
        rate.axhline(peak / 1e12, **PEAK_LOOK)
    for axes in (rate, time, share):
        mark_l2(axes, results.machine, types[0], sizes)
        style.size_axis(axes, sizes, every=8)
    for axes in (rate, time):
        axes.set_yscale("log")
        style.decade_axis(axes.yaxis)
    share.set_ylim(0, max(1.05, 1.05 * np.nanmax([s.points["share"].max() for s in others])))
    share.axhline(1, color="black", linewidth=0.8, zorder=1.5)
    for axes, title, label in ((rate, "only reading: throughput", "throughput (TB/s)"),
                               (time, "only reading: time", "time of a call (µs)"),
                               (share, variant, "share of the ceiling")):
        axes.set_title(title, loc="left", pad=4)
        axes.set_ylabel(label)
    style.legend(figure, looks, foot - TICKS, 0.1, "upper left", ncols=COLUMNS)
    style.title(figure, f"{results.machine.gpu}: read ceiling and launch floor, {types[0]}", left=LEFT)
    style.foot(figure, f"Thin bars: 95 % intervals of {variant}. {not_drawn(others)}", 0.1)
    return figure
