from matplotlib.patheffects import withStroke

import series as sr
from report import results as rs, style
from figures.panels import DOTTED_LOOK

# Each line's marker, so that it can be told without colour.
MARKERS = {**dict(zip(rs.DOCUMENTS, "os^Dv")), rs.YOURS: "P", "tuned": "*", "cub": "p", "thrust": "X", "cublas": "<"}
# Dashes of other releases of CUB.
RELEASES = ((0, (5, 1, 1, 1)), (0, (2, 1)), *style.DASHES[1:3])
# Ways of timing a whole reduction: each is over CUB timed alike.
WHOLE = {"device": "Device time, over CUB's device time", "end_to_end": "End to end, over CUB end to end"}
TILE = 2**14  # bytes: CUB sums up to this much by one block in one launch, and more by two kernels


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
    return [at[order.index(i)] for i in range(len(at))]


def label_ends(axes, ends: list[tuple], gap: float) -> None:
    """Each line's name right of its last point (x, y, text, colour), joined to it by a thin line, or by its dashes if
    they follow: apart by at least so much of the axes' height."""
    points = axes.transAxes.inverted().transform(axes.transData.transform([end[:2] for end in ends]))
    for (_, _, text, color, *dashes), (x, y), to in zip(ends, points, spread(points[:, 1], gap, 0, 1)):
        look = dict(linestyle=dashes[0], linewidth=1) if dashes else dict(linewidth=0.5)
        axes.plot([x, 1.035, 1.12], [y, y, to], transform=axes.transAxes, color=color, clip_on=False, zorder=1, **look)
        axes.text(1.14, to, text, transform=axes.transAxes, va="center", color=color)


def fastest_of_each(results: rs.Results, element_type: str, n: int) -> list[tuple[str, sr.Series, sr.Series]]:
    """(group, series, base): of each document, of the user's own, of ours and of each other library the one that is
    fastest at n, and each of another release of CUB, its default first; timed on the device, or end to end where none
    of the group's calls ends there; over CUB's call, timed alike."""
    lines = []
    for group in sr.groups(results.comparison, *sr.KERNELS, "library"):
        for mode in WHOLE:
            calls = [s for s in sr.of_group(results, group, element_type, mode) if not s.is_base]
            if rs.release_of(f"{group}/"):
                best = sorted((s for s in calls if s.at(n) is not None), key=lambda s: not s.by_default)
            else:  # libraries as users call them without ado
                best = [sr.fastest([s for s in calls if s.by_default or s.kind != "library"], n)]
            base = best and best[0] and sr.base_series(sr.series(
                results.comparison, mode, device="cuda", operation=best[0].operation, element_type=element_type))
            if base:
                lines += [(group, s, base) for s in best]
                break
    return lines


def label_of(s: sr.Series) -> str:
    """"last-block-warp", "thrust/reduce"; of another release of CUB "CUB 3.5.0", "3.5.0 not_guaranteed"."""
    if not (release := rs.release_of(s.variant)):
        return sr.short_name(s.variant)
    return f"CUB {release}" if s.by_default else " ".join([release, *rs.parse_settings(s.settings).values()])


def draw_speedups(axes, lines: list[tuple[str, sr.Series, sr.Series]]) -> list[tuple]:
    """The lines with their bands; their ends' labels."""
    ends, releases = [], [s for _, s, _ in lines if rs.release_of(s.variant)]
    for group, s, _ in lines:
        r, color = s.ok.dropna(subset=["speedup"]), style.color_of(group)
        dashes, look = [], dict(marker=MARKERS.get(group, "h"), markersize=3, zorder=2)
        if s in releases:  # which may lie on CUB's line
            dashes = [RELEASES[releases.index(s) % len(RELEASES)]]
            look = dict(linestyle=dashes[0], zorder=1.8, linewidth=1.1,
                        path_effects=[withStroke(linewidth=2.2, foreground="white")])
        axes.fill_between(r["n"], r["speedup_low"], r["speedup_high"], color=color, alpha=0.25, linewidth=0)
        axes.plot(r["n"], r["speedup"], color=color, label=s.name, **look)
        label = label_of(s), style.MARK_COLOR if s.kind == "library" else color, *dashes
        ends += [(*end, *label) for end in r[["n", "speedup"]].values[-1:]]
    axes.axhline(1, color="black", linewidth=1.3, zorder=1.5)
    return ends


def draw_times(axes, base: sr.Series, harness, mode: str) -> list[tuple]:
    """CUB's time, and on the device those of the harness's calls; their ends' labels."""
    drawn = [(base.ok["n"], base.ok["time"], "CUB", "black", dict(color="black", label=base.name))]
    if mode == "device":
        ceiling = dict(color=style.CEILING_EDGE, linewidth=0.9, label="read ceiling")
        empty = style.FLOOR_LOOK | dict(label="an empty call")
        drawn += [(harness["n"], harness["read_time_s"], "read ceiling", style.MARK_COLOR, ceiling),
                  (harness["n"], harness["launch_floor_s"], "an empty call", style.MARK_COLOR, empty)]
    ends = []
    for n, time, word, color, look in drawn:
        n, time = n[time.notna()], 1e6 * time.dropna()
        if len(n):
            axes.plot(n, time, **look)
            ends.append((n.iloc[-1], time.iloc[-1], word, color))
    return ends


def draw(results: rs.Results, element_type: str = "f32", n: int = 2**28):
    """How many times as fast as CUB each document's fastest kernel, ours and the other libraries are: whole calls on
    the device on the left, calls until the result is on the host on the right; below them the times that the
    speedups are over. Absent where the results hold no times of CUB and another call of this type."""
    lines = fastest_of_each(results, element_type, n)
    by_mode = rs.needed({mode: drawn for mode in WHOLE if (drawn := [line for line in lines if line[1].mode == mode])})
    figure, panels = style.sheet(3.57, [f"speedup:{mode}" for mode in by_mode],
                                 [f"base:{mode}" for mode in by_mode], height_ratios=(3, 1))
    uppers, lowers = panels[:len(by_mode)], panels[len(by_mode):]
    most, ends = max(1.0, *(s.ok["speedup"].max() for _, s, _ in lines)), {}
    fills_l2 = (results.machine.number("gpu.l2_bytes") or 0) / rs.ELEMENT_BYTES[element_type]
    for (mode, drawn), upper, lower in zip(by_mode.items(), uppers, lowers):
        upper.sharey(uppers[0])
        lower.sharey(lowers[0])
        # A sum of squares takes as long as a sum: one line says it.
        base = next((b for _, _, b in drawn if b.operation == "sum"), drawn[0][2])
        harness = sr.harness_calls(results.comparison, mode, device="cuda", operation=base.operation, element_type=element_type)
        reading = base.ok.dropna(subset=["share"])
        if mode == "device" and len(reading):
            most = max(most, 1 / reading["share"].min())
            style.shade_above(upper, reading["n"].to_numpy(float), 1 / reading["share"].to_numpy(float))
        sizes = sorted({m for _, s, _ in drawn for m in s.ok["n"]})
        ends[upper] = [*draw_speedups(upper, drawn), (sizes[-1], 1.0, "CUB", "black")]
        ends[lower] = draw_times(lower, base, harness, mode)
        for axes, label in ((upper, ""), (lower, "n (elements)")):
            style.size_axis(axes, sizes, label=label)
            if sizes[0] <= fills_l2 <= sizes[-1]:
                axes.axvline(fills_l2, **DOTTED_LOOK)
        upper.set_title(WHOLE[mode], loc="left", pad=3)
        upper.tick_params(labelbottom=False)
    uppers[0].set_ylim(0, 1.35 * most)  # of all that share it
    style.decade_axis(lowers[0].yaxis)
    for axes in (*uppers, *lowers):
        label_ends(axes, ends[axes], 0.09 if axes in uppers else 0.27)
    uppers[0].set_ylabel("speedup over CUB")
    lowers[0].set_ylabel("time (µs)")
    if "device" in by_mode:
        mark_ceiling_and_tile(uppers[0], most, element_type)
    style.title(figure, f"Speedup over CUB on one {results.machine.gpu}",
                f"{element_type}, {sr.CACHE_LABELS['cold_dirty']}. Each document's kernel that is fastest at {style.power_label(n)}; "
                "on the right, if its calls finish on the host.")
    few = any((s.ok["speedup_enough"] == "no").any() for _, s, _ in lines)
    squares = "" if all(s.operation == "sum" for _, s, _ in lines) else " Sums of squares are over CUB's sum of squares."
    style.foot(figure, "Bands: 95 % intervals, paired by context" + ("; of slow calls their range." if few else ".")
               + " Dotted: L2 is full." * bool(fills_l2) + squares)
    return figure


def mark_ceiling_and_tile(axes, most: float, element_type: str) -> None:
    """What the shade is, and why all lines dip where CUB launches one kernel for the last time."""
    low, high = axes.get_xlim()
    axes.text(low * 1.4, 1.32 * most, "faster than only reading", va="top", color=style.MARK_COLOR)
    n = TILE / rs.ELEMENT_BYTES[element_type]
    if low < n < high:
        axes.text(low * 1.4, 0.02 * most, f"to {style.power_label(n)} CUB is one launch", va="bottom", color=style.MARK_COLOR)
