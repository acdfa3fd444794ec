"""The type of a loop's index: the speed of each kernel with another integer, over its speed with a signed one of 32
bits."""

import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import gain_rows, sheet

INDEXES = {"i64": "int64_t", "u32": "unsigned", "u64": "size_t"}


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
    names, every = list(by_kernel), [c for gains in by_kernel.values() for c in gains.values()]
    sizes = sorted({c.n for c in every})
    figure, panels = sheet([f"index:{n}" for n in sizes], 0.165 * len(names), left=0.1 + max(map(style.text_width, names)),
                           right=0.06, head=0.55, foot=0.85, gap=0.1, width=style.COLUMN_WIDTH)
    looks = {index: style.line_style(i, 0) | dict(linestyle="", markersize=3.2) for i, index in enumerate(INDEXES)}
    for n, axes in zip(sizes, panels):
        marks = {index: (look, [(y, c.value, c.low, c.high) for y, gains in enumerate(by_kernel.values())
                                if (c := gains.get((index, n)))]) for index, look in looks.items()}
        gain_rows(axes, names if n == sizes[0] else [""] * len(names), marks, "speed", apart=0.22)
        axes.set_xlim(min(0.9, *(c.low for c in every)) - 0.06, 1.1)
        axes.grid(True, axis="y")
        axes.set_title(f"n = {style.power_label(n)}", loc="left", pad=3)
    style.title(figure, f"Speed by a loop's index, int = 1, {results.machine.gpu}",
                f"f32, device time or part, {sr.CACHE_LABELS['cold_dirty']}")
    style.legend(figure, {INDEXES[index]: look for index, look in looks.items()}, 0.33)
    few = not all(c.enough for c in every)
    style.foot(figure, "Lines: 95 % intervals, paired by context" + ("; of slow calls their range." if few else "."))
    return figure
