import series as sr
from report import results as rs, style
from report.plot import busy_note
from figures.speedup import label_ends

HATCHES = ("", "////", "....", "xxxx")


def level_of(s: sr.Series) -> str:
    """The compiler's level, "-O2" or "-O3 -ffast-math", of a host loop; "" of other calls."""
    level, _, more = rs.parse_settings(s.settings).get("opt", "").partition("-")
    return level and "-" + level + (" -f" + more if more else "")


def largest_common_size(calls: list[sr.Series]) -> int:
    shared = set.intersection(*(set(s.ok["n"]) for s in calls))
    return max(rs.needed(shared, f"a size of all of {', '.join(s.variant for s in calls)}"))


def rates(points) -> tuple:
    """Throughputs in GB/s, and the ends of their intervals."""
    return tuple(points["bytes"] / points[c] / style.GIGA for c in ("time", "high", "low"))


def draw(results: rs.Results, element_type: str = "f32"):
    """The CPU's baselines: host loops by compiler level, and every reduction's throughput against n. On the left the
    loops are at the largest common size, on the right stands the call of each group that is fastest there."""
    # Every sum that ran on the CPU, end to end, in each state of the cache it was measured in.
    table = results.experiment("cpu")
    every = sorted((s for state in sorted(set(table["cache_state"])) for s in sr.series(
        table, device="cpu", operation="sum", element_type=element_type, mode="end_to_end", cache_state=state)),
        key=lambda s: s.variant)
    measured = rs.needed([s for s in every if len(s.ok)])
    machine = results.machine_of("cpu.csv")
    states = [s.cache_state for s in measured]
    usual = max(sorted(set(states)), key=states.count)  # others are marked where they are drawn
    groups = [[s for s in measured if s.group == group] for group in dict.fromkeys(s.group for s in measured)]
    lines = [sr.fastest(calls, largest_common_size(calls)) for calls in groups]

    def words(s: sr.Series) -> str:
        state = "" if s.cache_state == usual else f" ({sr.CPU_CACHE_LABELS[s.cache_state]})"
        return (f"{s.variant} {level_of(s)}" if level_of(s) else s.name) + state

    busy = busy_note(table[table["element_type"] == element_type])
    loops = [s for s in measured if level_of(s)]
    gids, widths = (["cpu:levels", "cpu:lines"], (2, 1)) if loops else (["cpu:lines"], (1,))
    figure, panels = style.sheet(2.9, gids, width_ratios=widths)
    if loops:
        draw_levels(panels[0], loops, usual)
    axes = panels[-1]
    ends = []
    for k, s in enumerate(lines):
        look = style.line_style(k, 0)
        value, *interval = rates(s.points)
        style.draw_points(axes, zip(s.points["n"], value, *interval), elinewidth=0.5, label=s.name, **look)
        last = value.last_valid_index()
        ends.append((s.points["n"][last], value[last], words(s), look["color"]))
    style.decade_axis(axes.yaxis)
    style.size_axis(axes, [n for s in lines for n in s.ok["n"]])
    label_ends(axes, ends, 0.1)
    axes.set_title("each library's fastest", loc="left", pad=4)
    where = machine.get("cpu.model", default=machine.name)
    style.title(figure, f"{where}: sum of {element_type}, {sr.MODE_LABELS['end_to_end']}, {sr.CPU_CACHE_LABELS[usual]}")
    refused = sum((s.points["status"] != "ok").sum() for s in every)
    intervals = f"Lines through bars and marks: 95 % intervals. Points without a time: {refused}."
    style.foot(figure, f"{busy}\n{intervals}".strip())
    return figure


def draw_levels(axes, loops: list[sr.Series], usual: str) -> None:
    """A bar for each host loop and compiler level at their largest common size."""
    names, n = sorted({s.variant for s in loops}), largest_common_size(loops)
    levels = sorted({level_of(s) for s in loops})
    thick = 0.8 / len(levels)
    looks = {level: dict(facecolor=style.LINE_COLORS[i], hatch=HATCHES[i % len(HATCHES)], edgecolor="white",
                         linewidth=0.3) for i, level in enumerate(levels)}
    for s in loops:
        value, *interval = rates(s.at(n))
        at = names.index(s.variant) + (levels.index(level_of(s)) - (len(levels) - 1) / 2) * thick
        axes.bar(at, value, width=thick * 0.92, **looks[level_of(s)])
        axes.plot([at, at], interval, color="black", linewidth=0.7)
    marks = {s.variant: "" if s.cache_state == usual else f"({sr.CPU_CACHE_LABELS[s.cache_state]})" for s in loops}
    axes.set_xticks(range(len(names)), [(name.split("/", 1)[1] + "\n" + marks[name]).strip() for name in names])
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_ylabel("throughput (GB/s)")
    axes.set_title(f"host loops by compiler level, n = {style.power_label(n)}", loc="left", pad=15)
    axes.legend(style.handles(looks), levels, ncols=len(levels), loc="lower left", bbox_to_anchor=(0, 1),
                borderaxespad=0.3, handlelength=1)
