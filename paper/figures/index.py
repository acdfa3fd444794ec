"""The type of a loop's index: the speed of each kernel with another integer, over its speed with a signed one of 32
bits."""

import results as rs
from figures import style
from figures.panels import PARITY_LOOK, draw_points, name_rows

BASE, OTHERS = "i32", {"i64": "int64_t", "u32": "unsigned", "u64": "size_t"}
SIZES = (2**20, 2**28)
ROW, RIGHT, HEAD, GAP, FOOT = 0.19, 0.08, 0.62, 0.12, 0.62


def speeds(results: rs.Results, element_type: str) -> dict[str, dict[tuple[str, int], tuple[float, float, float]]]:
    """By call and (index, n): the time with BASE over the time with this index, and the interval that both times' intervals
    allow. Times are on the device, or the device's part."""
    table, times = results.experiment("index"), {}
    for operation in rs.OPERATION_LABELS:
        for s in rs.device_series(table, device="cuda", operation=operation, element_type=element_type):
            settings = rs.parse_settings(s.settings)
            block = f" [{settings['block']}]" if s.variant.startswith("squares/strided") else ""  # measured at two
            for n in SIZES:
                if (p := s.at(n)) is not None:
                    times.setdefault(s.variant + block, {})[settings.get("index"), n] = p["time"], p["low"], p["high"]
    found: dict[str, dict] = {}
    for name, of in times.items():
        for (index, n), (t, low, high) in of.items():
            if index in OTHERS and (BASE, n) in of:
                base, base_low, base_high = of[BASE, n]
                found.setdefault(name, {})[index, n] = base / t, base_low / high, base_high / low
    return found


def draw(results: rs.Results, element_type: str = "f32"):
    """None where index.csv has no two types of one call."""
    found = speeds(results, element_type)
    if not found:
        return None
    names, tall = list(found), ROW * len(found)
    figure = style.sheet(HEAD + tall + FOOT, style.COLUMN_WIDTH)
    sizes = sorted({n for of in found.values() for _, n in of})
    looks = {index: style.line_style(i, 0) | dict(linestyle="", markersize=3.2) for i, index in enumerate(OTHERS)}
    least = min(v for of in found.values() for _, v, _ in of.values())
    left = 0.1 + max(map(style.text_width, names))
    for n, axes in zip(sizes, style.row(figure, [f"index:{n}" for n in sizes], FOOT, tall, left, RIGHT, GAP)):
        for i, index in enumerate(OTHERS):
            points = [(y + 0.22 * (i - 1), *of[index, n]) for y, of in enumerate(found.values()) if (index, n) in of]
            draw_points(axes, points, vertical=False, label=index, **looks[index])
        axes.set_xlim(min(0.9, least) - 0.06, 1.1)
        name_rows(axes, names if n == sizes[0] else [""] * len(names))
        axes.grid(True, axis="y")
        axes.axvline(1, **PARITY_LOOK)
        axes.set_title(f"n = {rs.power_label(n)}", loc="left", pad=3)
        axes.set_xlabel("speed, int = 1", labelpad=1)
    style.title(figure, f"The type of a loop's index, {results.machine.gpu}",
                f"{element_type}, device time or part, {rs.CACHE_LABELS['cold_dirty']}")
    style.legend(figure, {OTHERS[index]: look for index, look in looks.items()}, 0.21)
    style.foot(figure, "Lines: as far as both times' 95 % intervals allow.")
    return figure
