"""How many times as fast as CUB each document's fastest kernel, ours and the other libraries are;
below it the times that the speedups are over."""

from __future__ import annotations

import numpy as np

import results as rs
from figures import style
from figures.panels import FLOOR_LOOK, L2_LOOK, shade_above
from results import Results, Series

# Each line's marker, so that it can be told without colour.
MARKERS = {**dict(zip(rs.DOCUMENTS, "os^Dv")), rs.YOURS: "P", "tuned": "*", "cub": "p", "thrust": "X", "cublas": "<"}
WHOLE = ("device", "end_to_end")  # ways of timing a whole reduction
LABEL_GAP = 0.145  # inches between two labels' middles
LABEL_LEFT = 0.24  # inches between an axis' end and its labels


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, in their order, at least `gap` apart and within low..high where that is possible."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    at = [wanted[i] for i in order]
    for _ in range(200):
        for i in range(len(at) - 1):
            lacking = gap - (at[i + 1] - at[i])
            if lacking > 1e-9:
                at[i] -= lacking / 2
                at[i + 1] += lacking / 2
        at = [min(max(y, low + i * gap), high - (len(at) - 1 - i) * gap) for i, y in enumerate(at)]
    out = [0.0] * len(at)
    for i, y in zip(order, at):
        out[i] = y
    return out


def label_ends(axes, ends: list[tuple[float, float, str, str]], inches: float) -> None:
    """Each line's name right of its last point (x, y, text, colour), joined to it by a thin line."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    log = axes.get_yscale() == "log"
    scale = (lambda y: np.log(y)) if log else (lambda y: y)
    fraction = [float((scale(y) - scale(y0)) / (scale(y1) - scale(y0))) for _, y, _, _ in ends]
    placed = spread(fraction, LABEL_GAP / inches, 0.0, 1.0)
    width = axes.get_position().width * axes.figure.get_size_inches()[0]
    for (x, y, text, color), from_, to in zip(ends, fraction, placed):
        at = (np.log(x) - np.log(x0)) / (np.log(x1) - np.log(x0))
        axes.plot([at, 1 + 0.06 / width, 1 + 0.2 / width], [from_, from_, to], transform=axes.transAxes, color=color,
                  linewidth=0.5, clip_on=False, zorder=1)
        axes.text(1 + LABEL_LEFT / width, to, text, transform=axes.transAxes, va="center", color=color)


def fastest_of_each(results: Results, element_type: str, n: int) -> list[tuple[str, Series, Series]]:
    """(group, series, base): of each document, of the user's own, of ours and of each other library the one that is
    fastest at n, timed on the device, or end to end where none of the group's calls ends there; over CUB's call, timed
    alike."""
    table, lines = results.comparison, []
    for group in rs.groups(table, *rs.KERNELS, "library"):
        own = rs.own_operation(table, group, results.catalog, element_type)
        for mode in WHOLE:
            found = rs.series(table, device="cuda", operation=own, element_type=element_type, mode=mode)
            # Libraries as users call them without ado.
            there = [s for s in found if s.group == group and not s.is_base and (s.by_default or s.kind != "library")
                     and s.at(n) is not None]
            best = min(there, key=lambda s: s.at(n)["time"], default=None)
            base = rs.base_series(found, best)
            if best is not None and base is not None:
                lines.append((group, best, base))
                break
    return lines


def draw(results: Results, element_type: str, n: int = 2**28):
    """None where the results hold no times of CUB and another call of this type."""
    lines = fastest_of_each(results, element_type, n)
    if not lines:
        return None
    names = [s.variant + ("" if s.mode == "device" else ", end to end") for _, s, _ in lines]
    left, top, upper_h, gap, lower_h, foot = 0.55, 0.6, 2.7, 0.2, 1.0, 0.55
    right = LABEL_LEFT + 0.05 + max(map(style.text_width, [*names, "only reading the input"]))
    height = top + upper_h + gap + lower_h + foot
    width = style.TEXT_WIDTH - left - right
    figure = style.sheet(height)
    upper = style.place(figure, left, foot + lower_h + gap, width, upper_h, "speedup")
    lower = style.place(figure, left, foot, width, lower_h, "base", sharex=upper)

    ends, leads, few = [], 1.0, False
    for (group, s, base), name in zip(lines, names):
        color = style.color_of(group)
        r = rs.over(s, base)
        if not len(r):
            continue
        few |= not r["enough"].all()
        leads = max(leads, r["ratio"].max())
        x, y = r["n"].to_numpy(float), r["ratio"].to_numpy(float)
        whole = s.mode == "device"
        upper.fill_between(x, r["low"].to_numpy(float), r["high"].to_numpy(float), color=color, alpha=0.25, linewidth=0)
        upper.plot(x, y, color=color, marker=MARKERS.get(group, "h"), markersize=3, linestyle="-" if whole else (0, (4, 1.5)),
                   markerfacecolor=color if whole else "white", label=s.name, zorder=2)
        ends.append((x[-1], y[-1], name, style.MARK_COLOR if s.kind == "library" else color))
    upper.axhline(1, color="black", linewidth=1.3, zorder=1.5)
    bases = {(b.operation, b.mode): b for _, _, b in lines}
    cub = next((b for (_, mode), b in bases.items() if mode == "device" and b.operation == "sum"), lines[0][2])
    harness = rs.harness_calls(results.comparison, device="cuda", operation=cub.operation, element_type=element_type,
                               mode=cub.mode)
    reading = rs.of_only_reading(cub)
    if len(reading):
        leads = max(leads, reading["ratio"].max())
        shade_above(upper, reading["n"].to_numpy(float), reading["ratio"].to_numpy(float))
    sizes = sorted({m for _, s, _ in lines for m in s.ok["n"]})
    upper.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    upper.set_ylim(0, 1.15 * leads)
    if len(reading):
        upper.text(min(sizes), 1.13 * leads, "faster than only reading the input\n(on the device: bounds solid lines)", va="top",
                   color=style.MARK_COLOR)
    upper.set_ylabel("speedup over CUB, t(CUB) / t")
    upper.tick_params(labelbottom=False)
    label_ends(upper, [*ends, (sizes[-1], 1.0, "CUB", "black")], upper_h)

    ends = []
    for mode in WHOLE:
        for operation in rs.OPERATION_LABELS:
            base = bases.get((operation, mode))
            if base is None or (operation != "sum" and ("sum", mode) in bases):
                continue  # a sum of squares takes as long as a sum: one line says it
            x, y = base.ok["n"].to_numpy(float), 1e6 * base.ok["time"].to_numpy(float)
            lower.plot(x, y, color="black", linestyle="-" if mode == "device" else (0, (4, 1.5)), label=base.name)
            ends.append((x[-1], y[-1], "CUB" + ("" if mode == "device" else ", end to end"), "black"))
    for column, word, look in (("read", "only reading the input", dict(color=style.CEILING_EDGE, linewidth=0.9)),
                               ("floor", "an empty call", FLOOR_LOOK)):
        known = harness[harness[column].notna()]
        if len(known):
            x, y = known["n"].to_numpy(float), 1e6 * known[column].to_numpy(float)
            lower.plot(x, y, label=word, **look)
            ends.append((x[-1], y[-1], word, style.MARK_COLOR))
    lower.set_yscale("log")
    style.decade_axis(lower.yaxis)
    style.power_of_two_axis(upper.xaxis, min(sizes), max(sizes))
    label_ends(lower, ends, lower_h)
    lower.set_ylabel("time (µs)")
    lower.set_xlabel("n (elements)", labelpad=1)

    l2 = results.machine.l2_bytes
    l2_n = l2 / rs.ELEMENT_BYTES[element_type] if l2 else None
    if l2_n and min(sizes) <= l2_n <= max(sizes):
        for axes in (upper, lower):
            axes.axvline(l2_n, **L2_LOOK)
        upper.text(l2_n * 1.15, 1.13 * leads, f"L2 is full: {l2 / 2**20:.0f} MiB", va="top", color=style.MARK_COLOR)
    style.title(figure, f"Speedup over CUB on one {results.machine.gpu}",
                f"{element_type}, one call at a time, {rs.CACHE_LABELS['cold_dirty']}. Of each document the kernel that is "
                f"fastest at {rs.power_label(n)}.\nDashed, hollow marks: calls whose result arrives on the host, timed end "
                "to end, over CUB end to end.", left=0.1)
    bands = "Bands: 95 % intervals, paired by context" + ("; of slow calls their range" if few else "")
    squares = "" if all(s.operation == "sum" for _, s, _ in lines) else " Sums of squares are over CUB's sum of squares."
    style.foot(figure, f"{bands}.{squares}", 0.1)
    return figure
