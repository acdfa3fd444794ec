"""The type of a loop's index: the speed of each kernel with another integer, over its speed with a signed one of 32
bits."""

import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import PARITY_LOOK, draw_points, name_rows

INDEXES = {"i64": "int64_t", "u32": "unsigned", "u64": "size_t"}
ROW, RIGHT, HEAD, GAP, FOOT = 0.165, 0.06, 0.55, 0.1, 0.85


def speeds(results: rs.Results) -> dict[str, dict[tuple[str, int], contrasts.Contrast]]:
    """By kernel and (index, n) its speed over the same kernel's with int, on the device or of the device's part."""
    by_kernel: dict[str, dict] = {}
    for name, c in contrasts.like(results, "index."):
        kernel, _, index = name.rpartition(".")
        by_kernel.setdefault(kernel, {})[index, c.n] = c
    return by_kernel


def draw(results: rs.Results):
    """None where contrasts.csv has none of it."""
    by_kernel = speeds(results)
    if not by_kernel:
        return None
    names, tall = list(by_kernel), ROW * len(by_kernel)
    figure = style.sheet(HEAD + tall + FOOT, style.COLUMN_WIDTH)
    sizes = sorted({n for gains in by_kernel.values() for _, n in gains})
    looks = {index: style.line_style(i, 0) | dict(linestyle="", markersize=3.2) for i, index in enumerate(INDEXES)}
    least = min(c.low for gains in by_kernel.values() for c in gains.values())
    left = 0.1 + max(map(style.text_width, names))
    for n, axes in zip(sizes, style.row(figure, [f"index:{n}" for n in sizes], FOOT, tall, left, RIGHT, GAP)):
        for i, index in enumerate(INDEXES):
            points = [(y + 0.22 * (i - 1), c.value, c.low, c.high) for y, gains in enumerate(by_kernel.values())
                      if (c := gains.get((index, n)))]
            draw_points(axes, points, vertical=False, label=index, **looks[index])
        axes.set_xlim(min(0.9, least) - 0.06, 1.1)
        name_rows(axes, names if n == sizes[0] else [""] * len(names))
        axes.grid(True, axis="y")
        axes.axvline(1, **PARITY_LOOK)
        axes.set_title(f"n = {style.power_label(n)}", loc="left", pad=3)
        axes.set_xlabel("speed", labelpad=1)
    style.title(figure, f"Speed by a loop's index, int = 1, {results.machine.gpu}",
                f"f32, device time or part, {sr.CACHE_LABELS['cold_dirty']}")
    style.legend(figure, {INDEXES[index]: look for index, look in looks.items()}, 0.33)
    few = not all(c.enough for gains in by_kernel.values() for c in gains.values())
    style.foot(figure, "Lines: 95 % intervals, paired by context" + ("; of slow calls their range." if few else "."))
    return figure
