"""The figures, each a function from results to a matplotlib figure.

No figure names a variant: a variant that appears in the CSV appears here, in the panel of its id's prefix. No panel
mixes timing modes without saying so in its title or legend. Only points with status ok are drawn; the others are
counted in the note at the foot.
"""

from __future__ import annotations

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import results as rs
from figures import style
from results import Results, Series

GIGA = 1e9
LIBRARY_NAMES = {"cub": "CUB", "thrust": "Thrust", "cublas": "cuBLAS"}
ABOVE = 1e6  # beyond every axis, in GB/s and in ratios
LINE = 0.135  # inches: the height of one line of text or legend


# -------------------------------------------------------------------------------------------- selecting


def panels_of(results: Results, element_type: str, mode: str) -> list[tuple[str, str, list[Series]]]:
    """(group, operation, series) of each panel that has something to draw, documents first, the user's own last."""
    table = results.comparison
    assert table is not None
    panels = []
    for group in [*rs.DOCUMENTS, rs.YOURS]:
        operation = rs.own_operation(table, group, results.catalog, element_type)
        which = dict(device="cuda", operation=operation, element_type=element_type)
        found = rs.device_series(table, **which) if mode == "device" else rs.series(table, mode=mode, **which)
        found = [s for s in found if rs.group_of(s.variant) == group]
        if any(len(s.ok) for s in found):
            panels.append((group, operation, found))
    return panels


def references(results: Results, operation: str, element_type: str, mode: str) -> list[Series]:
    """Library series for a panel, in its mode; a library that has no such times comes with its end-to-end times."""
    table = results.comparison
    assert table is not None
    which = dict(device="cuda", operation=operation, element_type=element_type)
    found = [s for s in rs.series(table, mode=mode, **which)
             if rs.group_of(s.variant) in rs.LIBRARIES and len(s.ok)]
    have = {rs.group_of(s.variant) for s in found}
    if mode != "end_to_end":
        found += [s for s in rs.series(table, mode="end_to_end", **which)
                  if rs.group_of(s.variant) in rs.LIBRARIES and len(s.ok) and rs.group_of(s.variant) not in have]
    return sorted(found, key=lambda s: (rs.LIBRARIES.index(rs.group_of(s.variant)), s.variant))


def library_label(series: Series, panel_mode: str) -> str:
    notes = [series.words] if series.words else []
    notes += [rs.MODE_LABELS[series.mode]] if series.mode != panel_mode else []
    return LIBRARY_NAMES[rs.group_of(series.variant)] + (f" ({', '.join(notes)})" if notes else "")


def not_drawn(all_series: list[Series]) -> str:
    """"Not drawn: 12 points refused, 1 wrong.", or nothing."""
    counts = Counter(status for s in all_series for status in s.points["status"] if status != "ok")
    if not counts:
        return ""
    words = [f"{counts[s]} {s}" for s in rs.STATUSES if counts[s]]
    return f"Points not drawn: {', '.join(words)}."


def header(results: Results, element_type: str, mode: str) -> str:
    where = results.machine.get("gpu.name", default=results.machine.name)
    return f"{where}: {element_type}, {rs.MODE_LABELS[mode]}, {rs.CACHE_LABELS['cold_dirty']}"


def document_sizes(results: Results, group: str) -> list[float]:
    """The problem sizes that the group's document names."""
    catalog = results.catalog
    mine = [i for i in catalog.index if rs.group_of(str(i)) == group]
    sizes = {float(v) for v in catalog.loc[mine, "document_n"] if str(v).strip().isdigit() and int(v) > 0}
    return sorted(sizes)


# ------------------------------------------------------------------------------------------- throughput


def bandwidth(series: Series) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """n, GB/s, and the distances down and up to the confidence interval's ends. NaN where a point is not ok, so
    that no line is drawn across what was not measured."""
    p = series.points
    value = (p["bytes"] / p["time"] / GIGA).to_numpy()
    down = value - (p["bytes"] / p["high"] / GIGA).to_numpy()
    up = (p["bytes"] / p["low"] / GIGA).to_numpy() - value
    return p["n"].to_numpy(dtype=float), value, np.clip(down, 0, None), np.clip(up, 0, None)


def draw_line(axes, x, y, down, up, **look) -> None:
    if np.isfinite(down).any():
        axes.errorbar(x, y, yerr=[np.nan_to_num(down), np.nan_to_num(up)], elinewidth=0.5, capsize=0, **look)
    else:
        axes.plot(x, y, **look)


PEAK_LOOK = dict(color=style.MARK_COLOR, linewidth=0.7, linestyle=(0, (6, 1.5, 1, 1.5)), zorder=1.2)
FLOOR_LOOK = dict(color=style.MARK_COLOR, linewidth=0.7, linestyle=(0, (3, 2)), zorder=1.2)
CEILING_LOOK = dict(facecolor=style.CEILING_COLOR, edgecolor=style.CEILING_EDGE, linewidth=0.7, zorder=0.6)


def shade_above(axes, n, value) -> None:
    """What is faster than the kernel that only reads. NaN where that is not known."""
    known = np.isfinite(value)
    axes.fill_between(n[known], value[known], ABOVE, color=style.CEILING_COLOR, linewidth=0, zorder=0.5)
    axes.plot(n[known], value[known], color=style.CEILING_EDGE, linewidth=0.7, zorder=0.6, gid="ceiling")


def draw_bounds(axes, bounds) -> None:
    """Throughputs that no call passes: shaded from the kernel that only reads, and a line for the empty call."""
    n, size = bounds["n"].to_numpy(float), bounds["bytes"].to_numpy(float)
    shade_above(axes, n, size / bounds["read"].to_numpy(float) / GIGA)
    axes.plot(n, size / bounds["floor"].to_numpy(float) / GIGA, gid="floor", **FLOOR_LOOK)


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


def throughput(results: Results, element_type: str, mode: str):
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
    title_h, line_h, inner, ratio_h, ticks, below = 0.38, 1.45, 0.08, 0.8, 0.34, 0.08

    marks: dict[str, Line2D | Patch] = {}  # the figure's own legend: libraries, peak, L2, the document's n
    panel_libraries = []
    for _, operation, _ in panels:
        library = references(results, operation, element_type, mode)
        panel_libraries.append(library)
        for s in library:
            words = sorted({t.words for t in library if rs.group_of(t.variant) == rs.group_of(s.variant)})
            look = style.library_style(rs.group_of(s.variant), words.index(s.words))
            marks.setdefault(library_label(s, mode), Line2D([], [], **look))
    l2_look = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)
    own_look = dict(color=style.MARK_COLOR, linewidth=0.5, zorder=1.1)
    own_marker = dict(color=style.MARK_COLOR, marker="v", markersize=4, linestyle="none")
    if peak:
        marks[f"paper peak, {peak / 1e12:.2f} TB/s"] = Line2D([], [], **PEAK_LOOK)
    panel_bounds = [rs.bounds(results.comparison, device="cuda", operation=operation, element_type=element_type,
                              mode=mode) for _, operation, _ in panels]
    if any(b["read"].notna().any() for b in panel_bounds):
        marks["faster than only reading the input"] = Patch(**CEILING_LOOK)
    if any(b["floor"].notna().any() for b in panel_bounds):
        floor = np.nanmedian(np.concatenate([b["floor"].to_numpy(float) for b in panel_bounds]))
        marks[f"as fast as an empty call, {1e6 * floor:.3g} µs"] = Line2D([], [], **FLOOR_LOOK)
    l2_n = l2 / bytes_each if l2 and min(sizes) <= l2 / bytes_each <= max(sizes) else None
    if l2_n:
        marks[f"n that fills L2, {l2 / 2**20:.0f} MiB"] = Line2D([], [], **l2_look)
    own_sizes = [[n for n in document_sizes(results, group) if min(sizes) <= n <= max(sizes)] for group, _, _ in panels]
    if any(own_sizes):
        marks["document's own n"] = Line2D([], [], **own_marker)
    marks_per_line = style.legend_columns(list(marks), style.TEXT_WIDTH - left)
    top = 0.28 + LINE * -(-len(marks) // marks_per_line) + 0.05

    foot = 0.2
    height = top + foot + sum(title_h + line_h + inner + ratio_h + ticks + s + below for s in strips)
    figure = plt.figure(figsize=(style.TEXT_WIDTH, height))

    def axes_at(x: float, y_top: float, h: float, **kwargs):
        return figure.add_axes((x / style.TEXT_WIDTH, 1 - (y_top + h) / height, width / style.TEXT_WIDTH, h / height),
                               **kwargs)

    everything: list[Series] = []
    slowest, fastest, leads = np.inf, 0.0, 0.0  # of what is drawn: GB/s, and the greatest speed relative to CUB's
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
        base = rs.base_series([s for s in library if s.mode == mode], operation)
        everything += series + library
        for s in library:
            look = marks[library_label(s, mode)]
            slowest = min(slowest, (s.ok["bytes"] / s.ok["time"] / GIGA).min())
            draw_line(upper, *bandwidth(s), label=library_label(s, mode), color=look.get_color(),
                      linestyle=look.get_linestyle(), linewidth=look.get_linewidth(), zorder=look.get_zorder())
        for s in series:
            if not len(s.ok):
                continue
            draw_line(upper, *bandwidth(s), label=s.name, **looks[index].of(s))
            rates = s.ok["bytes"] / s.ok["time"] / GIGA
            slowest, fastest = min(slowest, rates.min()), max(fastest, rates.max())
            if base is not None:
                r = s.points[["n"]].merge(rs.ratio(s, base), on="n", how="left")
                leads = max(leads, np.nan_to_num(r["ratio"].max()))
                draw_line(lower, r["n"].to_numpy(float), r["ratio"].to_numpy(), (r["ratio"] - r["low"]).to_numpy(),
                          (r["high"] - r["ratio"]).to_numpy(), label=s.name, **looks[index].of(s))
        lower.axhline(1, color="black", linewidth=0.8, zorder=1.5)
        if base is None:
            lower.text(0.5, 0.5, "no time of CUB\nto compare with", transform=lower.transAxes, ha="center", va="center")
        if peak:
            upper.axhline(peak / GIGA, **PEAK_LOOK)
        draw_bounds(upper, panel_bounds[index])
        if base is not None:
            limit = panel_bounds[index].merge(base.ok[["n", "time"]], on="n")
            shade_above(lower, limit["n"].to_numpy(float), (limit["time"] / limit["read"]).to_numpy(float))
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
        if column == 0:
            upper.set_ylabel("throughput (GB/s)")
            lower.set_ylabel("speed / CUB's")
        else:
            upper.tick_params(labelleft=False)
            lower.tick_params(labelleft=False)
        lower.set_xlabel("n (elements)", labelpad=1)
        handles, labels = legends[index]
        y = y_top + title_h + line_h + inner + ratio_h + ticks
        lower.legend(handles, labels, ncols=per_line[index], loc="upper left", bbox_transform=figure.transFigure,
                     bbox_to_anchor=((x - 0.08) / style.TEXT_WIDTH, 1 - y / height))

    assert first is not None and first_ratio is not None
    first.set_yscale("log")
    first.set_ylim(0.7 * slowest, 2 * (peak / GIGA if peak else fastest))
    style.decade_axis(first.yaxis)
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
                f"Marks: medians; thin bars: their 95 % confidence intervals{parts}. {not_drawn(unique)}", va="bottom")
    return figure


# ------------------------------------------------------------------------------------------------- bars


def shortened(text: str, width: float) -> str:
    """The text, cut after a word to fit a width in inches."""
    words, shown = text.split(" "), text
    while len(words) > 1 and style.text_width(shown) > width:
        words.pop()
        shown = " ".join(words) + " …"
    return shown


def bars_title(n: int, bounds) -> list[str]:
    """Lines: the size, and what bounds a call there."""
    lines = [f"n = {rs.power_label(n)}"]
    for word, column in (("empty call", "floor"), ("only reading", "read")):
        if n in bounds.index and np.isfinite(bounds[column][n]):
            lines.append(f"{word}: {1e6 * bounds[column][n]:.3g} µs")
    return lines


def bars(results: Results, element_type: str, mode: str, sizes: tuple[int, ...] = (2**24, 2**28)):
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

    # All operations read the same bytes: the ceiling is that of a plain sum.
    bounds = rs.bounds(results.comparison, device="cuda", operation="sum", element_type=element_type,
                       mode=mode).set_index("n")
    titles = [bars_title(n, bounds) for n in sizes]

    left = 0.15 + max(style.text_width(name) for name in names)
    right, gap, foot = 0.2, 0.25, 0.62
    top = 0.34 + LINE * max(map(len, titles))
    height = top + foot + y * 0.135
    width = (style.TEXT_WIDTH - left - right - gap * (len(sizes) - 1)) / len(sizes)
    figure = plt.figure(figsize=(style.TEXT_WIDTH, height))
    peak = results.machine.peak_bytes_per_s
    longest = max((p["bytes"] / p["time"] / GIGA for _, _, s in rows for n in sizes if (p := s.at(n)) is not None),
                  default=1.0)
    limit = max(1.15 * longest, 1.03 * peak / GIGA if peak else 0)

    on_white = dict(facecolor="white", edgecolor="none", pad=0.4)  # so that the lines of the bounds do not cross text
    parts = read = False
    for k, n in enumerate(sizes):
        axes = figure.add_axes(((left + k * (width + gap)) / style.TEXT_WIDTH, foot / height,
                                width / style.TEXT_WIDTH, (height - top - foot) / height))
        axes.set_gid(f"bars:{n}")
        for position, group, s in rows:
            library_group = rs.group_of(s.variant)
            color = style.LIBRARY_COLORS.get(library_group) or style.GROUP_COLORS.get(group)
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
            axes.text(limit * 0.04, position, shortened(f"{row['status']}: {row['reason']}", width * 0.88),
                      va="center", color=style.MARK_COLOR, bbox=on_white, zorder=3)
        if peak:
            axes.axvline(peak / GIGA, **PEAK_LOOK)
        if n in bounds.index and np.isfinite(bounds["read"][n]):
            read = True
            axes.axvspan(bounds["bytes"][n] / bounds["read"][n] / GIGA, ABOVE, **CEILING_LOOK)
        axes.set_xlim(0, limit)
        axes.set_ylim(rows[-1][0] + 0.7, -0.7)
        axes.set_yticks([position for position, _, _ in rows], names if k == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        axes.set_xlabel("throughput (GB/s)", labelpad=1)
        axes.set_title("\n".join(titles[k]), loc="left", pad=3)

    figure.text(0.1 / style.TEXT_WIDTH, 1 - 0.05 / height, header(results, element_type, mode), va="top",
                fontsize=style.FONT_SIZE + 1.5, fontweight="bold")
    handles = []
    if peak:
        handles.append(Line2D([], [], **PEAK_LOOK, label=f"paper peak {peak / 1e12:.2f} TB/s"))
    if read:
        handles.append(Patch(**CEILING_LOOK, label="faster than only reading"))
    handles.append(Line2D([], [], color="black", linewidth=0.6, label="95 % interval"))
    if parts:
        handles.append(Patch(facecolor="white", edgecolor=style.MARK_COLOR,
                             label="▹ device part only, no host additions"))
    handles.append(Patch(facecolor="white", edgecolor=style.MARK_COLOR, hatch="//////", label="no time"))
    figure.legend(handles=handles, ncols=len(handles), loc="lower left",
                  bbox_to_anchor=(0.1 / style.TEXT_WIDTH, 0.07 / height))
    return figure


# ----------------------------------------------------------------------------------------------- limits


def limits(results: Results):
    """What bounds a call, in every way of timing and state of the cache that limits.csv has: the throughput of only
    reading, its time beside that of an empty call, and how near to it the variant of that experiment comes."""
    table = results.limits
    assert table is not None
    types = sorted(set(table["element_type"]), key=lambda t: (t != "f32", t))
    which = dict(device="cuda", operation=str(table["operation"].iloc[0]), element_type=types[0])
    lines, others = [], []
    for j, mode in enumerate(("device", "graph")):
        for i, state in enumerate(("cold_clean", "cold_dirty", "warm")):
            others += rs.series(table, mode=mode, cache_state=state, **which)
            bounds = rs.bounds(table, mode=mode, cache_state=state, **which)
            if bounds["read"].notna().any():
                lines.append((mode, state, bounds, style.line_style(i, j)))
    if not lines:
        return None
    sizes = np.concatenate([b["n"].to_numpy(float) for _, _, b, _ in lines])
    peak, l2 = results.machine.peak_bytes_per_s, results.machine.l2_bytes

    labels = [f"{rs.MODE_LABELS[mode]}, {rs.CACHE_LABELS[state]}" for mode, state, _, _ in lines]
    handles = [Line2D([], [], **look) for _, _, _, look in lines]
    handles.append(Line2D([], [], color="black", linewidth=0.6))
    labels.append("without marks: an empty call")
    l2_look = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)
    if peak:
        handles.append(Line2D([], [], **PEAK_LOOK))
        labels.append(f"paper peak, {peak / 1e12:.2f} TB/s")
    if l2:
        handles.append(Line2D([], [], **l2_look))
        labels.append(f"n that fills L2, {l2 / 2**20:.0f} MiB")
    per_line = style.legend_columns(labels, style.TEXT_WIDTH - 0.1)

    left, right, gap, top, height, ticks = 0.42, 0.06, 0.56, 0.46, 2.0, 0.4
    foot = ticks + LINE * -(-len(labels) // per_line) + 0.28
    total = top + height + foot
    width = (style.TEXT_WIDTH - left - right - 2 * gap) / 3
    figure = plt.figure(figsize=(style.TEXT_WIDTH, total))
    rate, time, share = (figure.add_axes(((left + k * (width + gap)) / style.TEXT_WIDTH, foot / total,
                                          width / style.TEXT_WIDTH, height / total)) for k in range(3))
    variant = next((s.variant for s in others if s.variant == rs.BASE.get(s.operation)), others[0].variant)
    for mode, state, bounds, look in lines:
        n, read = bounds["n"].to_numpy(float), bounds["read"].to_numpy(float)
        rate.plot(n, bounds["bytes"] / read / 1e12, label=f"{mode} {state}", **look)
        time.plot(n, 1e6 * read, label=f"{mode} {state}", **look)
        time.plot(n, 1e6 * bounds["floor"], label=f"{mode} {state} floor", color=look["color"],
                  linestyle=look["linestyle"], linewidth=0.6)
        for s in others:
            if (s.variant, s.mode, s.cache_state) != (variant, mode, state):
                continue
            p = s.points.merge(bounds[["n", "read"]], on="n", how="left")
            # The share is paired by round; its interval here is the time's, with the ceiling taken as it is.
            value = p["share"].to_numpy(float)
            low, high = ((p["read"] / p[end]).to_numpy(float) for end in ("high", "low"))
            draw_line(share, p["n"].to_numpy(float), value, np.clip(value - low, 0, None),
                      np.clip(high - value, 0, None), label=f"{mode} {state}", **look)
    if peak:
        rate.axhline(peak / 1e12, **PEAK_LOOK)
    for axes in (rate, time, share):
        if l2 and min(sizes) <= l2 / rs.ELEMENT_BYTES[types[0]] <= max(sizes):
            axes.axvline(l2 / rs.ELEMENT_BYTES[types[0]], **l2_look)
        axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
        style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes), every=8)
        axes.set_xlabel("n (elements)", labelpad=1)
    rate.set_ylim(0, None)
    time.set_yscale("log")
    style.decade_axis(time.yaxis)
    share.set_ylim(0, max(1.05, 1.05 * np.nanmax([s.points["share"].max() for s in others])))
    share.axhline(1, color="black", linewidth=0.8, zorder=1.5)
    for axes, gid, title, label in ((rate, "rate", "only reading: throughput", "throughput (TB/s)"),
                                    (time, "time", "only reading: time", "time of a call (µs)"),
                                    (share, "share", f"{variant}", "time of only reading / its own")):
        axes.set_gid(f"limits:{gid}")
        axes.set_title(title, loc="left", pad=4)
        axes.set_ylabel(label)
    figure.legend(handles, labels, ncols=per_line, loc="upper left",
                  bbox_to_anchor=(0.1 / style.TEXT_WIDTH, (foot - ticks) / total))
    where = results.machine.get("gpu.name", default=results.machine.name)
    figure.text(left / style.TEXT_WIDTH, 1 - 0.05 / total, f"{where}: what bounds a call, {types[0]}", va="top",
                fontsize=style.FONT_SIZE + 1.5, fontweight="bold")
    figure.text(0.1 / style.TEXT_WIDTH, 0.04 / total,
                f"Marks: medians; thin bars: 95 % confidence intervals of {variant}. {not_drawn(others)}", va="bottom")
    return figure


# -------------------------------------------------------------------------------------------------- CPU


def optimisation_of(settings: str) -> tuple[str, str] | None:
    """(key, level) of the setting that names a compiler optimisation level: "O2", "-O2", "o2"."""
    for key, value in rs.parse_settings(settings).items():
        if value.lstrip("-").lower() in ("o0", "o1", "o2", "o3", "os", "ofast"):
            return key, "-" + value.lstrip("-")[0].upper() + value.lstrip("-")[1:]
    return None


def cpu_series(results: Results, element_type: str) -> list[Series]:
    """Everything that ran on the CPU, end to end, in each operation it was measured in."""
    table = results.cpu
    assert table is not None
    found = []
    for operation in sorted(set(table["operation"])):
        for mode in ("end_to_end", "device"):
            have = {s.variant for s in found if s.operation == operation}
            for state in sorted(set(table["cache_state"])):
                which = dict(device="cpu", operation=operation, element_type=element_type, cache_state=state)
                found += [s for s in rs.series(table, mode=mode, **which) if s.variant not in have]
    return sorted(found, key=lambda s: (s.operation, s.variant))


def usual_state(series: list[Series]) -> str:
    """The cache state of most of them; the others are marked where they are drawn."""
    states = [s.cache_state for s in series]
    return max(sorted(set(states)), key=states.count)


def level_look(i: int) -> dict:
    return {"facecolor": style.LINE_COLORS[i % len(style.LINE_COLORS)], "hatch": ("", "////", "....", "xxxx")[i % 4],
            "edgecolor": "white", "linewidth": 0.3}


def cpu(results: Results, element_type: str):
    """CPU baselines: left the host loops by optimisation level at the largest common size, right everything by n."""
    series = [s for s in cpu_series(results, element_type) if len(s.ok)]
    if not series:
        return None
    loops = [s for s in series if s.operation == "sum" and optimisation_of(s.settings)]
    common = set.intersection(*(set(s.ok["n"]) for s in loops)) if loops else set()

    where = results.cpu_machine.get("cpu.model", default=results.cpu_machine.name)
    usual = usual_state(series)

    def state_mark(s: Series) -> str:
        return "" if s.cache_state == usual else f" ({rs.CPU_CACHE_LABELS[s.cache_state]})"

    best = {}  # on the right each loop comes once, at its best level at the largest n
    for s in series:
        last = s.ok.iloc[-1]
        key = (s.variant, s.operation, "" if optimisation_of(s.settings) else s.settings)
        rank = (-last["n"], last["time"])
        if key not in best or rank < best[key][0]:
            best[key] = (rank, s)
    lines = [s for _, s in best.values()]

    labels = [(f"{s.variant} {level[1]}" if (level := optimisation_of(s.settings)) else s.name)
              + ("" if s.operation == "sum" else " (squares)") + state_mark(s) for s in lines]
    left, gap, top, height, ticks = 0.4, 0.5, 0.6, 1.9, 0.4
    per_line = style.legend_columns(labels, style.TEXT_WIDTH - left)
    foot = ticks + LINE * -(-len(labels) // per_line) + 0.28
    total = top + height + foot
    figure = plt.figure(figsize=(style.TEXT_WIDTH, total))
    half = (style.TEXT_WIDTH - left - gap - 0.08) / 2

    def axes_at(x: float, w: float):
        return figure.add_axes((x / style.TEXT_WIDTH, foot / total, w / style.TEXT_WIDTH, height / total))

    x = left
    if common:
        n = max(common)
        axes = axes_at(left, half)
        axes.set_gid("cpu:levels")
        names = sorted({s.variant for s in loops})
        levels = sorted({optimisation_of(s.settings)[1] for s in loops})
        thick = 0.8 / len(levels)
        for i, level in enumerate(levels):
            for s in loops:
                if optimisation_of(s.settings)[1] != level:
                    continue
                point = s.at(n)
                value = point["bytes"] / point["time"] / GIGA
                at = names.index(s.variant) + (i - (len(levels) - 1) / 2) * thick
                axes.bar(at, value, width=thick * 0.92, **level_look(i))
                if np.isfinite(point["low"]):
                    axes.plot([at, at], [point["bytes"] / point["high"] / GIGA, point["bytes"] / point["low"] / GIGA],
                              color="black", linewidth=0.7)
        mark = {s.variant: state_mark(s).strip() for s in loops}
        axes.set_xticks(range(len(names)), [(name.split("/", 1)[1] + "\n" + mark[name]).strip() for name in names])
        axes.set_xlabel("host loops", labelpad=1)
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        axes.set_ylabel("throughput (GB/s)")
        axes.set_title(f"host loops by compiler level, n = {rs.power_label(n)}", loc="left", pad=14)
        axes.legend([Patch(**level_look(i)) for i in range(len(levels))], levels, ncols=len(levels), loc="lower left",
                    bbox_to_anchor=(0, 1.01))
        x = left + half + gap

    axes = axes_at(x, style.TEXT_WIDTH - 0.08 - x)
    axes.set_gid("cpu:lines")
    handles = []
    for k, s in enumerate(lines):  # a colour and marker each, and dashes for the settings of one variant
        of_variant = [t for t in lines if t.variant == s.variant]
        look = style.line_style(k, of_variant.index(s))
        draw_line(axes, *bandwidth(s), **look)
        handles.append(Line2D([], [], **look))
    sizes = [n for s in lines for n in s.ok["n"]]
    axes.set_yscale("log")
    style.decade_axis(axes.yaxis)
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.3)
    style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes))
    axes.set_ylabel("throughput (GB/s)")
    axes.set_xlabel("n (elements)", labelpad=1)
    axes.set_title("against n, host loops at their best level", loc="left", pad=4)
    figure.legend(handles, labels, ncols=per_line, loc="upper left",
                  bbox_to_anchor=(left / style.TEXT_WIDTH, (foot - ticks) / total))
    figure.text(left / style.TEXT_WIDTH, 1 - 0.05 / total,
                f"{where}: {element_type}, {rs.MODE_LABELS['end_to_end']}, {rs.CPU_CACHE_LABELS[usual]}", va="top",
                fontsize=style.FONT_SIZE + 1.5, fontweight="bold")
    figure.text(left / style.TEXT_WIDTH, 0.04 / total,
                "Bars and marks: medians; thin lines: 95 % confidence intervals. "
                + not_drawn(cpu_series(results, element_type)), va="bottom")
    return figure
