import numpy as np

import series as sr
from report import results as rs
from report import style
from figures.panels import LINE, PEAK_LOOK, draw_points, l2_look, mark_l2, not_drawn, sheet

LEFT, TICKS = 0.6, 0.42
COLUMNS = 3  # of the legend


def draw(results: rs.Results):
    """The read ceiling and the launch floor, in every way of timing and state of the cache. The throughput of only
    reading, its time beside that of an empty call, and how near to it the experiment's variant comes."""
    table = results.experiment("limits")
    types = sorted(set(table["element_type"]), key=lambda t: (t != "f32", t))
    which = dict(device="cuda", operation=str(table["operation"].iloc[0]), element_type=types[0])
    lines, others = [], []
    for j, mode in enumerate(("device", "graph")):
        for i, state in enumerate(("cold_clean", "cold_dirty", "warm")):
            here = sr.series(table, mode=mode, cache_state=state, **which)
            others += here
            harness = sr.harness_calls(table, mode=mode, cache_state=state, **which)
            if harness["read"].notna().any():
                lines.append((f"{mode} {state}", here, harness, style.line_style(i, j)))
    if not lines:
        return None
    sizes = sorted({n for _, _, harness, _ in lines for n in harness["n"]})
    peak = results.machine.peak_bytes_per_s
    looks = {}
    for label, _, _, look in lines:
        mode, state = label.split()
        looks[f"{sr.MODE_LABELS[mode]}, {sr.CACHE_LABELS[state]}"] = look
    looks["without marks: an empty call"] = dict(color="black", linewidth=0.6)
    if peak:
        looks[f"theoretical peak, {peak / 1e12:.2f} TB/s"] = PEAK_LOOK
    looks |= l2_look(results.machine)
    foot = TICKS + LINE * -(-len(looks) // COLUMNS) + 0.28
    figure, (rate, time, share) = sheet(["limits:rate", "limits:time", "limits:share"], 1.4, left=LEFT, right=0.06, head=0.46,
                                        foot=foot, gap=0.58)
    variant = next((s.variant for s in others if s.is_base), others[0].variant)
    for label, here, harness, look in lines:
        n, read = harness["n"].to_numpy(float), harness["read"].to_numpy(float)
        rate.plot(n, harness["bytes"] / read / 1e12, label=label, **look)
        time.plot(n, 1e6 * read, label=label, **look)
        time.plot(n, 1e6 * harness["floor"], label=f"{label} floor", color=look["color"], linestyle=look["linestyle"],
                  linewidth=0.6)
        for s in here:
            if s.variant == variant:
                p = s.points.merge(harness[["n", "read"]], on="n", how="left")
                # The program paired the share; its interval here is the time's, with the read ceiling's median as it is.
                points = zip(p["n"], p["share"], p["read"] / p["high"], p["read"] / p["low"])
                draw_points(share, points, elinewidth=0.5, label=label, **look)
    if peak:
        rate.axhline(peak / 1e12, **PEAK_LOOK)
    for axes, title, words in ((rate, "only reading: throughput", "throughput (TB/s)"),
                               (time, "only reading: time", "time of a call (µs)"),
                               (share, variant, "share of the ceiling")):
        mark_l2(axes, results.machine, types[0], sizes)
        style.size_axis(axes, sizes, every=8)
        axes.set_title(title, loc="left", pad=4)
        axes.set_ylabel(words)
    for axes in (rate, time):
        axes.set_yscale("log")
        style.decade_axis(axes.yaxis)
    share.set_ylim(0, max(1.05, 1.05 * np.nanmax([s.points["share"].max() for s in others])))
    share.axhline(1, color="black", linewidth=0.8, zorder=1.5)
    style.legend(figure, looks, foot - TICKS, 0.1, "upper left", ncols=COLUMNS)
    style.title(figure, f"{results.machine.gpu}: read ceiling and launch floor, {types[0]}", left=LEFT)
    style.foot(figure, f"Thin bars: 95 % intervals of {variant}. {not_drawn(others)}", 0.1)
    return figure
