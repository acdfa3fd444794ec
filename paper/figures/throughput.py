"""Throughput against n of every variant, a panel for each document, and under it the speedup over CUB; of kernels that
leave additions to the host CUB's median over the device part's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import results as rs
from figures import style
from figures.panels import (CEILING_LOOK, FLOOR_LOOK, GIGA, L2_LOOK, LINE, PEAK_LOOK, bandwidth, document_sizes,
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


COLUMNS = 3
# In inches, from the left: the first column's labels, the columns with a gap between them, an edge.
LEFT, GAP, EDGE = 0.55, 0.2, 0.06
WIDTH = (style.TEXT_WIDTH - LEFT - EDGE - (COLUMNS - 1) * GAP) / COLUMNS
# From the top: the figure's head, for each row of panels its title, throughput, a gap, the ratio, n and its legend; the
# foot.
HEAD, TITLE, PLOT, BETWEEN, TICKS, BELOW, FOOT = 0.33, 0.38, 1.15, 0.08, 0.34, 0.08, 0.2
LEGEND_OUT = 0.08  # a legend begins so far left of its panel

OWN_LOOK = dict(color=style.MARK_COLOR, linewidth=0.5, zorder=1.1)
OWN_MARKER = dict(color=style.MARK_COLOR, marker="v", markersize=4, linestyle="none")


@dataclass
class Panel:
    """A document, or what else has a panel of its own."""

    group: str
    operation: str
    mode: str
    series: list[Series]
    library: list[Series]
    calls: pd.DataFrame      # the harness's own, by n
    own_sizes: list[float]   # the document's own n, as far as the figure shows them

    def __post_init__(self):
        self.looks = Looks(self.series)
        self.handles, self.labels = self.looks.legend()
        self.legend_columns = style.legend_columns(self.labels, WIDTH + LEGEND_OUT + EDGE)
        self.legend_lines = -(-len(self.labels) // self.legend_columns)

    @cached_property
    def in_mode(self) -> list[Series]:
        """Those library calls that a speedup can be over."""
        return [s for s in self.library if s.mode == self.mode]

    @cached_property
    def parts(self) -> bool:
        """Whether only the device's part of calls is shown, of which there is no speedup."""
        return all(s.mode == "device_part" for s in self.series if len(s.ok))

    def library_look(self, s: Series) -> dict:
        words = sorted({t.words for t in self.library if t.group == s.group})
        return style.library_style(s.group, words.index(s.words))


def panels_with_libraries(results: Results, element_type: str, mode: str) -> list[Panel]:
    found = panels_of(results, element_type, mode)
    sizes = [n for _, _, series in found for s in series for n in s.ok["n"]]
    return [Panel(group, operation, mode, series, references(results, operation, element_type, mode),
                  rs.harness_calls(results.comparison, device="cuda", operation=operation, element_type=element_type,
                                   mode=mode),
                  [n for n in document_sizes(results, group) if min(sizes) <= n <= max(sizes)])
            for group, operation, series in found]


def marks_of(panels: list[Panel], peak: float | None, l2: float | None,
             l2_n: float | None) -> dict[str, Line2D | Patch]:
    """The figure's own legend: libraries, peak, what the harness calls, L2, the document's n."""
    marks: dict[str, Line2D | Patch] = {}
    for panel in panels:
        for s in panel.library:
            marks.setdefault(library_label(s, panel.mode), Line2D([], [], **panel.library_look(s)))
    if peak:
        marks[f"theoretical peak, {peak / 1e12:.2f} TB/s"] = Line2D([], [], **PEAK_LOOK)
    if any(panel.calls["read"].notna().any() for panel in panels):
        marks["faster than only reading the input"] = Patch(**CEILING_LOOK)
    floors = np.concatenate([panel.calls["floor"].to_numpy(float) for panel in panels])
    if not np.isnan(floors).all():
        marks[f"as fast as an empty call, {1e6 * np.nanmedian(floors):.3g} µs"] = Line2D([], [], **FLOOR_LOOK)
    if l2_n:
        marks[f"n that fills L2, {l2 / 2**20:.0f} MiB"] = Line2D([], [], **L2_LOOK)
    if any(panel.own_sizes for panel in panels):
        marks["document's own n"] = Line2D([], [], **OWN_MARKER)
    return marks


def layout(panels: list[Panel], head: float):
    """The figure, and of each panel the axes of throughput and ratio, which all share theirs."""
    heights = [head]
    for k in range(0, len(panels), COLUMNS):
        legend = LINE * max(panel.legend_lines for panel in panels[k:k + COLUMNS])
        heights += [TITLE, PLOT, BETWEEN, PLOT, TICKS + legend + BELOW]
    heights.append(FOOT)
    figure = style.sheet(sum(heights))
    grid = figure.add_gridspec(len(heights), COLUMNS, height_ratios=heights, hspace=0, wspace=GAP / WIDTH, top=1,
                               bottom=0, left=LEFT / style.TEXT_WIDTH, right=1 - EDGE / style.TEXT_WIDTH)
    pairs = []
    for k, panel in enumerate(panels):
        row, column = divmod(k, COLUMNS)
        first, first_ratio = pairs[0] if pairs else (None, None)
        upper = figure.add_subplot(grid[5 * row + 2, column], sharex=first, sharey=first)
        lower = figure.add_subplot(grid[5 * row + 4, column], sharex=first or upper, sharey=first_ratio)
        upper.set_gid(f"throughput:{panel.group}")
        lower.set_gid(f"ratio:{panel.group}")
        upper.tick_params(labelbottom=False, labelleft=column == 0)
        lower.tick_params(labelleft=column == 0)
        if column == 0:
            upper.set_ylabel("throughput (GB/s)")
            lower.set_ylabel("ratio to CUB" if panel.parts else "speedup over CUB")
        lower.set_xlabel("n (elements)", labelpad=1)
        modes = ", ".join(rs.MODE_LABELS[m] for m in sorted({s.mode for s in panel.series if len(s.ok)}))
        operation = rs.OPERATION_LABELS.get(panel.operation, panel.operation)
        upper.set_title(f"{panel.group}: {operation},\n{modes}", loc="left", pad=6)
        lower.legend(panel.handles, panel.labels, ncols=panel.legend_columns, loc="upper left",
                     bbox_to_anchor=(-LEGEND_OUT / WIDTH, -TICKS / PLOT))
        pairs.append((upper, lower))
    return figure, pairs


def draw_throughput(axes, panel: Panel, peak: float | None) -> None:
    for s in panel.library:
        draw_line(axes, *bandwidth(s), label=library_label(s, panel.mode), **panel.library_look(s))
    for s in panel.series:
        if len(s.ok):
            draw_line(axes, *bandwidth(s), label=s.name, **panel.looks.of(s))
    if peak:
        axes.axhline(peak / GIGA, **PEAK_LOOK)
    draw_harness_calls(axes, panel.calls)
    if panel.own_sizes:
        axes.plot(panel.own_sizes, [1] * len(panel.own_sizes), clip_on=False, transform=axes.get_xaxis_transform(),
                  **OWN_MARKER)


def draw_ratio(axes, panel: Panel) -> float:
    """The greatest that is drawn."""
    most, base = 0.0, rs.base_series(panel.in_mode)
    for s in panel.series:
        own = rs.base_series(panel.in_mode, s)
        if own is None or not len(s.ok):
            continue
        r = s.points[["n"]].merge(rs.over(s, own), on="n", how="left")
        most = max(most, np.nan_to_num(r["ratio"].max()))
        draw_line(axes, r["n"].to_numpy(float), r["ratio"].to_numpy(), (r["ratio"] - r["low"]).to_numpy(),
                  (r["high"] - r["ratio"]).to_numpy(), label=s.name, **panel.looks.of(s))
    axes.axhline(1, color="black", linewidth=0.8, zorder=1.5)
    if base is None:
        axes.text(0.5, 0.5, "no time of CUB\nto compare with", transform=axes.transAxes, ha="center", va="center")
        return most
    reading = rs.of_only_reading(base)
    shade_above(axes, reading["n"].to_numpy(float), reading["ratio"].to_numpy(float))
    if panel.parts:
        axes.text(0.98, 0.96, "t(CUB) / t(device part)", transform=axes.transAxes, va="top", ha="right",
                  color=style.MARK_COLOR, bbox=dict(facecolor="white", edgecolor="none", alpha=0.8, pad=0.5))
    return most


def foot(panels: list[Panel]) -> str:
    everything = {(s.variant, s.settings, s.operation, s.mode): s
                  for p in panels for s in (*p.series, *p.library)}.values()
    bare = any(s.mode == "device_part" and s.ok["low"].isna().all() for s in everything if len(s.ok))
    return (f"Marks: times; thin bars: their 95 % confidence intervals{' (device parts have none)' if bare else ''}. "
            + not_drawn(list(everything)))


def draw(results: Results, element_type: str, mode: str):
    """Throughput against n: a panel for each document with the library references, and under it the ratio to CUB.

    Returns None where the results hold nothing of this type and mode.
    """
    panels = panels_with_libraries(results, element_type, mode)
    if not panels:
        return None
    drawn = [s for panel in panels for s in panel.series if len(s.ok)]
    sizes = [n for s in drawn for n in s.ok["n"]]
    peak, l2 = results.machine.peak_bytes_per_s, results.machine.l2_bytes
    l2_n = l2 / rs.ELEMENT_BYTES[element_type] if l2 else None
    l2_n = l2_n if l2_n and min(sizes) <= l2_n <= max(sizes) else None
    marks = marks_of(panels, peak, l2, l2_n)
    per_line = style.legend_columns(list(marks), style.TEXT_WIDTH - LEFT - EDGE)
    figure, pairs = layout(panels, HEAD + LINE * -(-len(marks) // per_line))

    leads = 0.0  # the greatest speedup over CUB
    for panel, (upper, lower) in zip(panels, pairs):
        draw_throughput(upper, panel, peak)
        leads = max(leads, draw_ratio(lower, panel))
        for axes in (upper, lower):
            if l2_n:
                axes.axvline(l2_n, **L2_LOOK)
            for n in panel.own_sizes:
                axes.axvline(n, **OWN_LOOK)
    upper, lower = pairs[0]
    upper.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    style.power_of_two_axis(upper.xaxis, min(sizes), max(sizes))
    fastest = max((s.ok["bytes"] / s.ok["time"]).max() for s in drawn)
    upper.set_ylim(0, 1.06 * max(peak or 0, fastest) / GIGA)
    lower.set_ylim(0, max(1.25, 1.1 * leads))

    style.title(figure, header(results, element_type, mode), left=LEFT)
    style.legend(figure, list(marks.values()), list(marks), figure.get_figheight() - 0.24, LEFT, "upper left",
                 ncols=per_line)
    style.foot(figure, foot(panels), LEFT)
    return figure
