"""What several figures share: which series stand in which panel, how they are named, and how lines are drawn.

No figure names a variant: a variant that appears in the CSV appears here, in the panel of its id's prefix. No panel
mixes timing modes without saying so in its title or legend. Only points with status ok are drawn; the others are
counted in the note at the foot.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

import results as rs
from figures import style
from results import Series

GIGA = 1e9
ABOVE = 1e6  # beyond every axis, in GB/s and in ratios
LINE = 0.135  # inches: the height of one line of text or legend


def not_drawn(all_series: list[Series]) -> str:
    """"Not drawn: 12 points refused, 1 wrong.", or nothing."""
    counts = Counter(status for s in all_series for status in s.points["status"] if status != "ok")
    if not counts:
        return ""
    words = [f"{counts[s]} {rs.STATUS_WORDS.get(s, s)}" for s in rs.ROWS.statuses if counts[s]]
    return f"Points not drawn: {', '.join(words)}."


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
L2_LOOK = dict(color=style.MARK_COLOR, linewidth=0.8, linestyle=(0, (1, 1.6)), zorder=1.2)
CEILING_LOOK = dict(facecolor=style.CEILING_COLOR, edgecolor=style.CEILING_EDGE, linewidth=0.7, zorder=0.6)


def shade_above(axes, n, value) -> None:
    """What is faster than the kernel that only reads. NaN where that is not known."""
    known = np.isfinite(value)
    axes.fill_between(n[known], value[known], ABOVE, color=style.CEILING_COLOR, linewidth=0, zorder=0.5)
    axes.plot(n[known], value[known], color=style.CEILING_EDGE, linewidth=0.7, zorder=0.6, gid="ceiling")


def draw_harness_calls(axes, harness) -> None:
    """Throughputs that no call passes: shaded from the kernel that only reads, and a line for the empty call."""
    n, size = harness["n"].to_numpy(float), harness["bytes"].to_numpy(float)
    shade_above(axes, n, size / harness["read"].to_numpy(float) / GIGA)
    axes.plot(n, size / harness["floor"].to_numpy(float) / GIGA, gid="floor", **FLOOR_LOOK)
