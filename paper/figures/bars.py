"""A bar for each variant and settings at a few sizes."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import results as rs
from figures import style
from figures.panels import ABOVE, CEILING_LOOK, GIGA, LINE, PEAK_LOOK, header, panels_of, references
from results import Results, Series


def shortened(text: str, width: float) -> str:
    """The text, cut after a word to fit a width in inches."""
    words, shown = text.split(" "), text
    while len(words) > 1 and style.text_width(shown) > width:
        words.pop()
        shown = " ".join(words) + " …"
    return shown


def bars_title(n: int, harness) -> list[str]:
    """Lines: the size, and there the launch floor and the read ceiling."""
    lines = [f"n = {rs.power_label(n)}"]
    for word, column in (("empty call", "floor"), ("only reading", "read")):
        if n in harness.index and np.isfinite(harness[column][n]):
            lines.append(f"{word}: {1e6 * harness[column][n]:.3g} µs")
    return lines


def draw(results: Results, element_type: str, mode: str, sizes: tuple[int, ...] = (2**24, 2**28)):
    """A bar for each variant and settings at the given sizes; what was refused is a hatched stub with its reason."""
    groups: list[tuple[str, list[Series]]] = []
    operations = set()
    for group, operation, series in panels_of(results, element_type, mode):
        groups.append((group, series))
        operations.add(operation)
    library: list[Series] = []
    for operation in sorted(operations):
        library += [s for s in references(results, operation, element_type, mode) if s.mode == mode]
    if library:
        groups.append(("libraries", library))
    groups = [(g, [s for s in series if s.points["n"].isin(sizes).any()]) for g, series in groups]
    groups = [(g, series) for g, series in groups if series]
    if not groups:
        return None

    def fastest_first(s: Series):
        times = [p["time"] if (p := s.at(n)) is not None else np.inf for n in reversed(sizes)]
        return (*times, s.name)

    rows: list[tuple[float, str, Series]] = []
    y = 0.0
    for group, series in groups:
        for s in sorted(series, key=fastest_first):
            rows.append((y, group, s))
            y += 1
        y += 0.7
    names = [s.name + ("  ▹" if s.mode == "device_part" else "") for _, _, s in rows]

    # All operations read the same bytes, so the read ceiling is that of a plain sum.
    harness = rs.harness_calls(results.comparison, device="cuda", operation="sum", element_type=element_type,
                               mode=mode).set_index("n")
    titles = [bars_title(n, harness) for n in sizes]

    left = 0.15 + max(style.text_width(name) for name in names)
    right, gap, foot = 0.2, 0.25, 0.62
    top = 0.34 + LINE * max(map(len, titles))
    height = top + foot + y * 0.135
    width = (style.TEXT_WIDTH - left - right - gap * (len(sizes) - 1)) / len(sizes)
    figure = style.sheet(height)
    peak = results.machine.peak_bytes_per_s
    longest = max((p["bytes"] / p["time"] / GIGA for _, _, s in rows for n in sizes if (p := s.at(n)) is not None),
                  default=1.0)
    limit = max(1.15 * longest, 1.03 * peak / GIGA if peak else 0)

    on_white = dict(facecolor="white", edgecolor="none", pad=0.4)  # so that no line crosses text
    parts = read = False
    for k, n in enumerate(sizes):
        axes = style.place(figure, left + k * (width + gap), foot, width, height - top - foot, f"bars:{n}")
        for position, group, s in rows:
            color = style.color_of(group if group in style.GROUP_COLORS else s.group)
            point = s.at(n)
            if point is not None:
                value = point["bytes"] / point["time"] / GIGA
                part = s.mode == "device_part"
                parts |= part
                axes.barh(position, value, height=0.78, color="white" if part else color, edgecolor=color,
                          linewidth=0.8)
                high = value
                if np.isfinite(point["low"]) and np.isfinite(point["high"]):
                    low, high = point["bytes"] / point["high"] / GIGA, point["bytes"] / point["low"] / GIGA
                    axes.plot([low, high], [position, position], linewidth=1.6, color="white",
                              solid_capstyle="butt")
                    axes.plot([low, high], [position, position], linewidth=0.6, color="black",
                              solid_capstyle="butt")
                axes.text(max(value, high) + 0.015 * limit, position,
                          f"{value:.3g}" if value < 100 else f"{value:.0f}", va="center", color=style.MARK_COLOR,
                          bbox=on_white, zorder=3)
                continue
            missing = s.points[s.points["n"] == n]
            if not len(missing):
                axes.text(limit * 0.01, position, "not measured", va="center", color=style.MARK_COLOR)
                continue
            axes.barh(position, limit * 0.03, height=0.78, color="white", edgecolor=style.MARK_COLOR, hatch="//////",
                      linewidth=0.5)
            row = missing.iloc[0]
            axes.text(limit * 0.04, position, shortened(f"{rs.STATUS_WORDS.get(row['status'], row['status'])}: {row['reason']}", width * 0.88),
                      va="center", color=style.MARK_COLOR, bbox=on_white, zorder=3)
        if peak:
            axes.axvline(peak / GIGA, **PEAK_LOOK)
        if n in harness.index and np.isfinite(harness["read"][n]):
            read = True
            axes.axvspan(harness["bytes"][n] / harness["read"][n] / GIGA, ABOVE, **CEILING_LOOK)
        axes.set_xlim(0, limit)
        axes.set_ylim(rows[-1][0] + 0.7, -0.7)
        axes.set_yticks([position for position, _, _ in rows], names if k == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        axes.set_xlabel("throughput (GB/s)", labelpad=1)
        axes.set_title("\n".join(titles[k]), loc="left", pad=3)

    style.title(figure, header(results, element_type, mode))
    handles = []
    if peak:
        handles.append(Line2D([], [], **PEAK_LOOK, label=f"theoretical peak {peak / 1e12:.2f} TB/s"))
    if read:
        handles.append(Patch(**CEILING_LOOK, label="faster than only reading"))
    handles.append(Line2D([], [], color="black", linewidth=0.6, label="95 % interval"))
    if parts:
        handles.append(Patch(facecolor="white", edgecolor=style.MARK_COLOR,
                             label="▹ device part only, no host additions"))
    handles.append(Patch(facecolor="white", edgecolor=style.MARK_COLOR, hatch="//////", label="no time"))
    style.legend(figure, handles, [handle.get_label() for handle in handles], 0.07, ncols=len(handles))
    return figure
