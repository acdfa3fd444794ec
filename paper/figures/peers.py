"""What Python users call, and our own sum called from C++: how many times as fast as CUB called from C++ their kernels
alone are, and their calls until the result is in host memory, at each n."""

import numpy as np
from matplotlib.ticker import LogLocator

import series as sr
from report import results as rs
from report import style
from figures.panels import by_size, draw_points, in_words, speedup_rows

PANELS = {"replay": "kernels alone: a captured call, replayed",
          "end_to_end": "the call, until its result is on the host"}
OURS = "tuned/sum"
SLOWEST = 1 / 40  # as fast as CUB; calls that are slower are named below rather than drawn
ROW, RIGHT, HEAD, FOOT, GAP = 0.2, 0.1, 0.6, 0.74, 0.14


def draw(results: rs.Results, element_type: str = "f32"):
    """None where peers.csv has no sums of this type by CUB."""
    table = rs.where_is(results.experiment("peers"), element_type=element_type, status="ok", cache_state="cold_dirty",
                        timing_mode=list(PANELS))
    table = table[table["speedup"].notna() & (table["variant"] != "cub/sum")]
    slow = set(table.loc[table["speedup"] < SLOWEST, "variant"])
    drawn = table[~table["variant"].isin(slow)]
    if drawn.empty:
        return None
    # The fastest calls at the smallest size first, ours above all.
    first = drawn[drawn["timing_mode"] == "end_to_end"].sort_values("n").groupby("variant")["speedup"].first()
    names = sorted(set(drawn["variant"]), key=lambda v: (v != OURS, -first.get(v, 0), v))
    looks = by_size(sorted(set(drawn["n"])), linestyle="", markersize=3.2)
    tall = ROW * len(names)
    figure = style.sheet(HEAD + tall + FOOT)
    left = 0.1 + max(map(style.text_width, names))
    panels = style.row(figure, [f"peers:{mode}" for mode in PANELS], FOOT, tall, left, RIGHT, GAP)
    for axes, (mode, words) in zip(panels, PANELS.items()):
        axes.set_xscale("log")
        timed = drawn[drawn["timing_mode"] == mode]
        for i, (n, look) in enumerate(looks.items()):
            rows = timed[timed["n"] == n]
            at = rows["variant"].map(names.index) + 0.13 * (i - (len(looks) - 1) / 2)
            points = zip(at, rows["speedup"], rows["speedup_ci_low"], rows["speedup_ci_high"])
            draw_points(axes, list(points), vertical=False, label=str(n), **look)
        for y, name in enumerate(names):
            if name not in set(timed["variant"]):
                axes.text(0.02, (len(names) - 0.5 - y) / len(names), "cannot be captured", transform=axes.transAxes,
                          va="center", color=style.MARK_COLOR)
            axes.axhline(y + 0.5, color="#DDDDDD", linewidth=0.4, zorder=0.5)
        axes.set_xlim(min(0.9, np.nanmin(timed["speedup_ci_low"])) / 1.1, max(1.1, np.nanmax(timed["speedup_ci_high"])) * 1.1)
        speedup_rows(axes, names if axes is panels[0] else [""] * len(names), "speed, CUB called from C++ = 1")
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5) if axes.get_xlim()[0] < 0.2 else (1, 3, 4, 5, 7)))
        axes.set_title(words, loc="left", pad=3)
    style.title(figure, f"Sums that Python users call, on one {results.machine_of('peers.csv').gpu}",
                f"{element_type}, {sr.CACHE_LABELS['cold_dirty']}. {OURS}, too, is called from C++.")
    style.legend(figure, in_words(looks), 0.24)
    largest = table.sort_values(["n", "time_median_s"], ascending=[False, True]).groupby("variant").first()
    left_out = "; ".join(f"{name}, {1e3 * r['time_median_s']:.0f} ms at {style.power_label(r['n'])}"
                         for name, r in largest.loc[sorted(slow)].iterrows())
    style.foot(figure, "Lines: 95 % intervals, paired by context." + (f" Not drawn: {left_out}." if left_out else ""))
    return figure
