"""The share of the read ceiling that every variant reaches on the device against n, a panel for each document, on a scale
that shows small n and slow kernels."""

from collections import Counter

import numpy as np

import series as sr
from report import results as rs
from report import style
from report.style import FLOOR_LOOK
from figures.panels import PARITY_LOOK, draw_line, l2_look, mark_l2, not_drawn
from figures.speedup import LABEL_LEFT, label_ends

COLUMNS, COLORS = 2, 4
LEAST = 0.02  # of the axis: the slowest kernels leave it, which keeps the others apart
LEFT, EDGE, HEAD, TITLE, PLOT, GAP, FOOT = 0.5, 0.04, 0.46, 0.24, 1.62, 0.14, 0.52
OWN_LOOK = dict(color=style.MARK_COLOR, linewidth=0.5, zorder=1.1)
OWN_MARKER = dict(color=style.MARK_COLOR, marker="v", markersize=4, linestyle="none")


class Panel:
    """A document, or what else has a panel of its own."""

    def __init__(self, results: rs.Results, group: str, element_type: str):
        table, self.group = results.comparison, group
        self.operation = sr.own_operation(table, group, element_type)
        which = dict(device="cuda", operation=self.operation, element_type=element_type)
        self.series = [s for s in sr.device_series(table, **which) if s.group == group]
        library = [s for s in sr.series(table, mode="device", **which) if s.kind == "library"]
        calls = sr.harness_calls(table, mode="device", **which)
        self.reading = dict(zip(calls["n"], calls["read"]))
        self.floor = calls["n"].to_numpy(float), (calls["read"] / calls["floor"]).to_numpy(float)
        self.lines = [(s, *shares) for s in [*library, *self.series] if np.isfinite((shares := self.shares(s))[1]).any()]
        sizes = results.catalog.loc[results.catalog["group"] == group, "document_n"]
        self.own_sizes = sorted({float(v) for v in sizes if v.isdigit() and int(v) > 0})
        self.modes = ", ".join(sr.MODE_LABELS[m] for m in sorted({s.mode for s in self.series if len(s.ok)}))
        several = Counter(s.variant for s, *_ in self.lines)
        self.names = {s.name: style.LIBRARY_NAMES.get(s.group, s.group) if s.kind == "library" else
                      sr.short_name(s.variant) + (f" [{s.words}]" if several[s.variant] > 1 and s.words else "")
                      for s, *_ in self.lines}
        # Neighbours by their speed at the end differ in colour, and a variant's settings in their dashes.
        words = sorted({s.words for s, *_ in self.lines if s.kind != "library" and several[s.variant] > 1} or {""})
        order = list(dict.fromkeys(s.variant for s, _, v, *_ in sorted(self.lines, key=lambda l: -l[2][np.isfinite(l[2])][-1])
                                   if s.kind != "library"))
        self.looks = {s.name: style.library_style(s.group, 0) if s.kind == "library" else
                      style.line_style(order.index(s.variant), words.index(s.words) if s.words in words else 0, COLORS) for s, *_ in self.lines}

    def shares(self, s: sr.Series) -> tuple:
        """n, and of the ceiling the value, low and high; NaN where a point is not ok, so that no line goes across it."""
        p = s.points
        read = np.array([self.reading.get(n, np.nan) for n in p["n"]], float)
        return p["n"].to_numpy(float), *(read / p[c].to_numpy(float) for c in ("time", "high", "low"))

    def draw(self, axes) -> None:
        axes.set_yscale("log")
        for s, n, value, low, high in self.lines:
            draw_line(axes, n, value, low, high, label=s.name, **self.looks[s.name] | dict(markersize=2.4))
        axes.plot(*self.floor, gid="floor", **FLOOR_LOOK)
        axes.axhline(1, **PARITY_LOOK)
        for n in self.own_sizes:
            axes.axvline(n, **OWN_LOOK)
            axes.plot([n], [1], clip_on=False, transform=axes.get_xaxis_transform(), **OWN_MARKER)
        axes.set_title(f"{self.group}: {sr.OPERATION_LABELS.get(self.operation, self.operation)}, {self.modes}", loc="left", pad=5)

    def ends(self, low: float) -> list:
        at = {s.name: (n[np.isfinite(v)][-1], v[np.isfinite(v)][-1]) for s, n, v, *_ in self.lines}
        return [(n, max(v, low), self.names[name], self.looks[name]["color"]) for name, (n, v) in at.items()]


def draw(results: rs.Results, element_type: str = "f32"):
    """None where the results hold nothing of this type."""
    panels = [Panel(results, group, element_type) for group in sr.groups(results.comparison, *sr.KERNELS)]
    panels = [p for p in panels if any(s.kind != "library" for s, *_ in p.lines)]
    if not panels:
        return None
    rows = [panels[k:k + COLUMNS] for k in range(0, len(panels), COLUMNS)]
    figure = style.sheet(HEAD + len(rows) * (TITLE + PLOT + GAP) - GAP + FOOT)
    names = [max(style.text_width(name) for p in panels[k::COLUMNS] for name in p.names.values()) for k in range(len(rows[0]))]
    width = (style.TEXT_WIDTH - EDGE - sum(LEFT + LABEL_LEFT + 0.04 + w for w in names)) / len(names)
    sizes = [n for p in panels for _, n, *_ in p.lines for n in n]
    values = np.concatenate([v[np.isfinite(v)] for p in panels for _, _, v, *_ in p.lines])
    low = max(0.7 * min(values), LEAST)
    for r, row in enumerate(rows):
        x, bottom = LEFT, FOOT + (len(rows) - 1 - r) * (TITLE + PLOT + GAP)
        for k, panel in enumerate(row):
            axes = style.place(figure, x, bottom, width, PLOT, f"throughput:{panel.group}")
            panel.draw(axes)
            below = r + 1 < len(rows) and k < len(rows[r + 1])
            style.size_axis(axes, sizes, label="" if below else "n (elements)")
            axes.tick_params(labelbottom=not below)
            axes.set_ylim(low, 1.4 * max(1.0, *values))
            style.decade_axis(axes.yaxis)
            mark_l2(axes, results.machine, element_type, sizes)
            label_ends(axes, panel.ends(low), PLOT)
            if not k:
                axes.set_ylabel("share of the read ceiling", labelpad=2)
            x += width + LABEL_LEFT + 0.04 + names[k] + LEFT
    marks = {"document's own n": OWN_MARKER} if any(p.own_sizes for p in panels) else {}
    marks |= l2_look(results.machine)
    if np.isfinite(np.concatenate([p.floor[1] for p in panels])).any():
        marks["an empty call"] = FLOOR_LOOK
    style.legend(figure, marks, figure.get_figheight() - 0.24, 0.06, "upper left")
    style.title(figure, f"{results.machine.gpu}: {element_type}, {sr.CACHE_LABELS['cold_dirty']}; a kernel that only reads = 1")
    everything = {(s.variant, s.settings, s.operation, s.mode): s for p in panels for s in p.series}.values()
    style.foot(figure, f"Bars: 95 % intervals. Lines that leave the axis are named at its edge. {not_drawn(list(everything))}")
    return figure
