"""The type of a loop's index: the speed of each kernel with another integer, over its speed with a signed one of 32
bits."""

from __future__ import annotations

from matplotlib.lines import Line2D

import results as rs
from figures import studies, style
from figures.studies import Points
from results import Results

BASE, OTHERS = "i32", {"i64": "int64_t", "u32": "unsigned", "u64": "size_t"}
SIZES = (2**20, 2**28)
ROW = 0.19


def speeds(results: Results, element_type: str) -> dict[str, dict[tuple[str, int], tuple[float, float, float]]]:
    """By call and (index, n): the time with BASE over the time with this index, and the interval that both times' intervals
    allow. Times are on the device, or the device's part."""
    table, times = results.experiment("index"), {}
    for operation in rs.OPERATION_LABELS if table is not None else ():
        for s in rs.device_series(table, device="cuda", operation=operation, element_type=element_type):
            settings = rs.parse_settings(s.settings)
            index = settings.pop("index", None)
            if index not in (BASE, *OTHERS):
                continue
            block = f" [{settings['block']}]" if s.variant.startswith("squares/strided") else ""  # measured at two
            for n in SIZES:
                if (p := s.at(n)) is not None:
                    times.setdefault(s.variant + block, {})[index, n] = p["time"], p["low"], p["high"]
    found = {}
    for name, of in times.items():
        found[name] = {}
        for (index, n), (t, low, high) in of.items():
            if index != BASE and (BASE, n) in of:
                base, base_low, base_high = of[BASE, n]
                found[name][index, n] = base / t, base_low / high, base_high / low
    return found


def draw(results: Results, element_type: str = "f32"):
    """None without index.csv."""
    found = {name: of for name, of in speeds(results, element_type).items() if of}
    if not found:
        return None
    names = list(found)
    left, right, head, gap, base = 0.1 + max(map(style.text_width, names)), 0.08, 0.62, 0.12, 0.62
    tall = ROW * len(names)
    figure = style.sheet(head + tall + base, style.COLUMN_WIDTH)
    sizes = [n for n in SIZES if any(k[1] == n for of in found.values() for k in of)]
    width = (style.COLUMN_WIDTH - left - right - gap * (len(sizes) - 1)) / len(sizes)
    looks = {index: dict(style.line_style(i, 0), linestyle="", markersize=3.2) for i, index in enumerate(OTHERS)}
    least = min(v for of in found.values() for _, v, _ in of.values())
    for k, n in enumerate(sizes):
        axes = style.place(figure, left + k * (width + gap), base, width, tall, f"index:{n}")
        for i, index in enumerate(OTHERS):
            points = [(y + 0.22 * (i - 1), *of[index, n]) for y, of in enumerate(found.values()) if (index, n) in of]
            studies.draw_points(axes, Points.of(points), vertical=False, label=index, **looks[index])
        axes.set_xlim(min(0.9, least) - 0.06, 1.1)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names if k == 0 else [])
        axes.tick_params(axis="y", length=0)
        axes.axvline(1, **studies.PARITY_LOOK)
        axes.set_title(f"n = {rs.power_label(n)}", loc="left", pad=3)
        axes.set_xlabel("speed, int = 1", labelpad=1)
    style.title(figure, f"The type of a loop's index, {results.machine.gpu}",
                f"{element_type}, device time or part, {rs.CACHE_LABELS['cold_dirty']}")
    style.legend(figure, [Line2D([], [], **looks[i]) for i in OTHERS], list(OTHERS.values()), 0.21, ncols=len(OTHERS))
    style.foot(figure, "Lines: as far as both times' 95 % intervals allow.")
    return figure
