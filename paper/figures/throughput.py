"""Throughput against n of every variant, a panel for each document, and under it the speedup over CUB; of kernels that
leave additions to the host CUB's median over the device part's."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import results as rs
from figures import style
from figures.panels import (CEILING_LOOK, FLOOR_LOOK, GIGA, LINE, PEAK_LOOK, bandwidth, document_sizes,
                            draw_harness_calls, draw_line, header, library_label, not_drawn, panels_of, references,
                            shade_above)
from results import Results, Series


class Looks:
    """Of one panel: a colour and marker for each variant, dashes for each choice of settings, and their legend."""

    def __init__(self, series: list[Series]):
        drawn = [s for s in series if len(s.ok)]
        self.variants = list(dict.fromkeys(s.variant for s in drawn))
        self.fastest: dict[str, float] = {}
        for s in drawn:
            rate = (s.ok["bytes"] / s.ok["time"]).max()
            self.fastest[s.variant] = max(rate, self.fastest.get(s.variant, 0.0))
        self.words = sorted(set(s.words for s in drawn), key=lambda w: (w != "", [s.words for s in drawn].index(w)))

    def of(self, s: Series) -> dict:
        return style.line_style(self.variants.index(s.variant), self.words.index(s.words))

    def legend(self) -> tuple[list[Line2D], list[str]]:
        # Colours follow the ids, so that they are the same in every figure; the legend reads as the lines end.
        order = sorted(range(len(self.variants)), key=lambda i: -self.fastest[self.variants[i]])
        handles = [Line2D([], [], **{**style.line_style(i, 0), "linestyle": "-"}) for i in order]
        labels = [rs.short_name(self.variants[i]) for i in order]
        for j, words in enumerate(self.words):
            if words:
                handles.append(Line2D([], [], color="black", linestyle=style.DASHES[j % len(style.DASHES)]))
                labels.append(f"[{words}]")
        return handles, labels


def draw(results: Results, element_type: str, mode: str):
    """Throughput against n: a panel for each document with the library references, and under it the ratio to CUB.

    Returns None where the results hold nothing of this type and mode.
    """
    panels = panels_of(results, element_type, mode)
    if not panels:
        return None
    peak, l2 = results.machine.peak_bytes_per_s, results.machine.l2_bytes
    bytes_each = rs.ELEMENT_BYTES[element_type]
    sizes = [n for _, _, series in panels for s in series for n in s.ok["n"]]

    # All in inches: rows of panels, each a title, the throughput, the ratio and its legend.
    columns = 3
    rows = -(-len(panels) // columns)
    left, right, gap = 0.55, 0.06, 0.2
    width = (style.TEXT_WIDTH - left - right - (columns - 1) * gap) / columns
    looks = [Looks(series) for _, _, series in panels]
    legends = [look.legend() for look in looks]
    per_line = [style.legend_columns(labels, width + 0.08 + right) for _, labels in legends]  # from 0.08 left of it
    lines = [-(-len(labels) // k) for (_, labels), k in zip(legends, per_line)]
    strips = [max(lines[r * columns:(r + 1) * columns]) * LINE for r in range(rows)]
    title_h, line_h, inner, ratio_h, ticks, below = 0.38, 1.15, 0.08, 1.15, 0.34, 0.08

    marks: dict[str, Line2D | Patch] = {}  # the figure's own legend: libraries, peak, L2, the document's n
    panel_libraries = []
    for _, operation, _ in panels:
        library = references(results, operation, element_type, mode)
        panel_libraries.append(library)
        for s in library:
            words = sorted({t.words for t in library if t.group == s.group})
            look = style.library_style(s.group, words.index(s.words))
            marks.setdefault(library_label(s, mode), Line2D([], [], **look))
    l2_look = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)
    own_look = dict(color=style.MARK_COLOR, linewidth=0.5, zorder=1.1)
    own_marker = dict(color=style.MARK_COLOR, marker="v", markersize=4, linestyle="none")
    if peak:
        marks[f"theoretical peak, {peak / 1e12:.2f} TB/s"] = Line2D([], [], **PEAK_LOOK)
    panel_calls = [rs.harness_calls(results.comparison, device="cuda", operation=operation, element_type=element_type,
                                    mode=mode) for _, operation, _ in panels]
    if any(b["read"].notna().any() for b in panel_calls):
        marks["faster than only reading the input"] = Patch(**CEILING_LOOK)
    if any(b["floor"].notna().any() for b in panel_calls):
        floor = np.nanmedian(np.concatenate([b["floor"].to_numpy(float) for b in panel_calls]))
        marks[f"as fast as an empty call, {1e6 * floor:.3g} µs"] = Line2D([], [], **FLOOR_LOOK)
    l2_n = l2 / bytes_each if l2 and min(sizes) <= l2 / bytes_each <= max(sizes) else None
    if l2_n:
        marks[f"n that fills L2, {l2 / 2**20:.0f} MiB"] = Line2D([], [], **l2_look)
    own_sizes = [[n for n in document_sizes(results, group) if min(sizes) <= n <= max(sizes)] for group, _, _ in panels]
    if any(own_sizes):
        marks["document's own n"] = Line2D([], [], **own_marker)
    marks_per_line = style.legend_columns(list(marks), style.TEXT_WIDTH - left - right)
    top = 0.28 + LINE * -(-len(marks) // marks_per_line) + 0.05

    foot = 0.2
    height = top + foot + sum(title_h + line_h + inner + ratio_h + ticks + s + below for s in strips)
    figure = plt.figure(figsize=(style.TEXT_WIDTH, height))

    def axes_at(x: float, y_top: float, h: float, **kwargs):
        return figure.add_axes((x / style.TEXT_WIDTH, 1 - (y_top + h) / height, width / style.TEXT_WIDTH, h / height),
                               **kwargs)

    everything: list[Series] = []
    fastest, leads = 0.0, 0.0  # of what is drawn: GB/s, and the greatest speedup over CUB
    first = first_ratio = None
    y_top = top
    for index, (group, operation, series) in enumerate(panels):
        row, column = divmod(index, columns)
        if column == 0 and row > 0:
            y_top += title_h + line_h + inner + ratio_h + ticks + strips[row - 1] + below
        x = left + column * (width + gap)
        upper = axes_at(x, y_top + title_h, line_h, sharex=first, sharey=first)
        first = first or upper
        lower = axes_at(x, y_top + title_h + line_h + inner, ratio_h, sharex=first, sharey=first_ratio)
        first_ratio = first_ratio or lower
        upper.set_gid(f"throughput:{group}")
        lower.set_gid(f"ratio:{group}")

        library = panel_libraries[index]
        base = rs.base_series([s for s in library if s.mode == mode])
        everything += series + library
        for s in library:
            look = marks[library_label(s, mode)]
            draw_line(upper, *bandwidth(s), label=library_label(s, mode), color=look.get_color(),
                      linestyle=look.get_linestyle(), linewidth=look.get_linewidth(), zorder=look.get_zorder())
        for s in series:
            if not len(s.ok):
                continue
            draw_line(upper, *bandwidth(s), label=s.name, **looks[index].of(s))
            rates = s.ok["bytes"] / s.ok["time"] / GIGA
            fastest = max(fastest, rates.max())
            own = rs.base_series([b for b in library if b.mode == mode], s)
            if own is not None:
                r = s.points[["n"]].merge(rs.over(s, own), on="n", how="left")
                leads = max(leads, np.nan_to_num(r["ratio"].max()))
                draw_line(lower, r["n"].to_numpy(float), r["ratio"].to_numpy(), (r["ratio"] - r["low"]).to_numpy(),
                          (r["high"] - r["ratio"]).to_numpy(), label=s.name, **looks[index].of(s))
        lower.axhline(1, color="black", linewidth=0.8, zorder=1.5)
        if base is None:
            lower.text(0.5, 0.5, "no time of CUB\nto compare with", transform=lower.transAxes, ha="center", va="center")
        if peak:
            upper.axhline(peak / GIGA, **PEAK_LOOK)
        draw_harness_calls(upper, panel_calls[index])
        if base is not None:
            reading = rs.of_only_reading(base)
            shade_above(lower, reading["n"].to_numpy(float), reading["ratio"].to_numpy(float))
        for axes in (upper, lower):
            if l2_n:
                axes.axvline(l2_n, **l2_look)
            for n in own_sizes[index]:
                axes.axvline(n, **own_look)
        if own_sizes[index]:
            upper.plot(own_sizes[index], [1] * len(own_sizes[index]), clip_on=False,
                       transform=upper.get_xaxis_transform(), **own_marker)

        modes = ", ".join(rs.MODE_LABELS[m] for m in sorted({s.mode for s in series if len(s.ok)}))
        upper.set_title(f"{group}: {rs.OPERATION_LABELS.get(operation, operation)},\n{modes}", loc="left", pad=6)
        upper.tick_params(labelbottom=False)
        parts = all(s.mode == "device_part" for s in series if len(s.ok))
        if parts and base is not None:  # of a part of a call there is no speedup
            lower.text(0.98, 0.96, "t(CUB) / t(device part)", transform=lower.transAxes, va="top", ha="right",
                       color=style.MARK_COLOR, bbox=dict(facecolor="white", edgecolor="none", alpha=0.8, pad=0.5))
        if column == 0:
            upper.set_ylabel("throughput (GB/s)")
            lower.set_ylabel("ratio to CUB" if parts else "speedup over CUB")
        else:
            upper.tick_params(labelleft=False)
            lower.tick_params(labelleft=False)
        lower.set_xlabel("n (elements)", labelpad=1)
        handles, labels = legends[index]
        y = y_top + title_h + line_h + inner + ratio_h + ticks
        lower.legend(handles, labels, ncols=per_line[index], loc="upper left", bbox_transform=figure.transFigure,
                     bbox_to_anchor=((x - 0.08) / style.TEXT_WIDTH, 1 - y / height))

    assert first is not None and first_ratio is not None
    first.set_ylim(0, 1.06 * max(peak / GIGA if peak else 0, fastest))
    first.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    style.power_of_two_axis(first.xaxis, min(sizes), max(sizes))
    first_ratio.set_ylim(0, max(1.25, 1.1 * leads))

    figure.text(left / style.TEXT_WIDTH, 1 - 0.03 / height, header(results, element_type, mode), va="top",
                fontsize=style.FONT_SIZE + 1.5, fontweight="bold")
    figure.legend(list(marks.values()), list(marks), ncols=marks_per_line, loc="upper left",
                  bbox_to_anchor=(left / style.TEXT_WIDTH, 1 - 0.24 / height))
    bare = any(s.mode == "device_part" and s.ok["low"].isna().all() for s in everything if len(s.ok))
    parts = " (device parts have none)" if bare else ""
    unique = list({(s.variant, s.settings, s.operation, s.mode): s for s in everything}.values())
    figure.text(left / style.TEXT_WIDTH, 0.04 / height,
                f"Marks: times; thin bars: their 95 % confidence intervals{parts}. {not_drawn(unique)}", va="bottom")
    return figure
