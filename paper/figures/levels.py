"""Document levels: the gain of several loads a thread over one, of a global stride over a local one, and of finishing by
atomics over a second launch and over the host, at each size."""

import series as sr
import contrasts
from report import results as rs
from report import style
from figures.panels import PARITY_LOOK, by_size, draw_points, in_words, of_document, sheet

BLOCK = 256
# By gid the contrasts' prefix, the title, and whether x is the number of blocks, rather than of loads.
PANELS = {"loads": ("levels.granularity.global.", "over one load,\nglobal stride", False),
          "strides": ("levels.strides.", "global stride\nover local", False),
          "relaunch": ("levels.atomic.relaunch.", "atomics over\nrelaunching, end to end", True),
          "host": ("levels.atomic.host.", "atomics over\nthe host, end to end", True)}
FINE, COARSE = (0.98, 0.99, 1, 1.01, 1.02, 1.03), (0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 3)  # ticks of narrow axes


def blocks_of(loads: int, n: int) -> int:
    return -(-n // (BLOCK * loads))


def draw(results: rs.Results):
    """None where contrasts.csv has none of it."""
    # The loads of a thread end a contrast's name.
    by_panel = {gid: gains for gid, (prefix, *_) in PANELS.items() if (gains := contrasts.like(results, prefix))}
    if not by_panel:
        return None
    looks = by_size(sorted({c.n for gains in by_panel.values() for _, c in gains}), markersize=2.8)
    count = results.machine.number("gpu.sm_count")
    figure, panels = sheet(list(by_panel), 1.35, left=0.44, right=0.08, head=0.8, foot=0.74, gap=0.36)
    for (gid, gains), axes in zip(by_panel.items(), panels):
        _, title, by_blocks = PANELS[gid]
        drawn = []
        for n in looks:
            points = [(int(loads), c.value, c.low, c.high) for loads, c in gains if c.n == n]
            if by_blocks:
                points = [(blocks_of(loads, n), *gain) for loads, *gain in points]
            elif gid == "loads" and points:
                points = [(1, 1.0, 1.0, 1.0), *points]
            draw_points(axes, points, label=str(n), **looks[n])
            if gid == "loads" and count:
                few = [(loads, gain) for loads, gain, *_ in points if blocks_of(loads, n) < count]
                axes.plot(*zip(*few), **looks[n] | dict(linestyle="", markerfacecolor="white", zorder=3))
            drawn += points
        axes.set_yscale("log")
        style.size_axis(axes, [x for x, *_ in drawn], 1.4, label="blocks to add up" if by_blocks else "loads a thread")
        axes.margins(y=0.08)
        style.decade_axis(axes.yaxis)
        ends = [1.0, *(end for *_, low, high in drawn for end in (low, high))]
        if max(ends) < 4 * min(ends):
            ticks = FINE if max(ends) < 1.1 else COARSE
            axes.set_yticks([t for t in ticks if min(ends) < 1.01 * t and t < 1.01 * max(ends)])
        axes.axhline(1, **PARITY_LOOK)
        axes.set_title(title, loc="left", pad=3)
    panels[0].set_ylabel("speedup", labelpad=2)
    style.legend(figure, in_words(looks), 0.21)
    document = of_document("levels")
    style.title(figure, f"Loads, strides and finishes of levels on one {results.machine.gpu}",
                f"{document['element_type']}, device time but where the title says, {sr.CACHE_LABELS[document['cache_state']]}")
    style.foot(figure, ("Hollow: fewer blocks than multiprocessors. " if count else "")
               + "Lines through marks: 95 % intervals, paired by context.")
    return figure
