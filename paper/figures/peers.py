"""What Python users call, and our own sum called from C++: how many times as fast as CUB called from C++ their kernels
alone are, and their calls until the result is in host memory, against n."""

from __future__ import annotations

import results as rs
from figures import style
from figures.speedup import LABEL_LEFT, label_ends
from results import Results

PANELS = (("replay", "kernels alone: a captured call, replayed"), ("end_to_end", "the call, until its result is on the host"))
TUNED = dict(color=style.GROUP_COLORS["tuned"], marker="*", linewidth=1.3)
SLOWEST = 1 / 40  # as fast as CUB; calls that are slower are named below rather than drawn


def draw(results: Results, element_type: str = "f32"):
    """None without peers.csv, or where it has no sums of this type by CUB."""
    table = results.experiment("peers")
    if table is None:
        return None
    table = table[(table["element_type"] == element_type) & (table["status"] == "ok") & table["speedup"].notna()
                  & (table["cache_state"] == "cold_dirty") & table["timing_mode"].isin([mode for mode, _ in PANELS])
                  & (table["variant"] != "cub/sum")]
    slow = set(table.loc[table["speedup"] < SLOWEST, "variant"])
    names = sorted(set(table["variant"]) - slow, key=lambda v: (v != "tuned/sum", v))
    if not names:
        return None
    left, top, height, foot, gap = 0.5, 0.62, 2.7, 0.62, 0.4
    right = LABEL_LEFT + 0.05 + max(map(style.text_width, [*names, "CUB"]))
    width = (style.TEXT_WIDTH - left - right - gap) / 2
    figure = style.sheet(top + height + foot)
    sizes = sorted(set(table["n"]))
    for k, (mode, words) in enumerate(PANELS):
        axes = style.place(figure, left + k * (width + gap), foot, width, height, f"peers:{mode}")
        ends = [(sizes[-1], 1.0, "CUB", "black")]
        for i, name in enumerate(names):
            of = table[(table["variant"] == name) & (table["timing_mode"] == mode)].sort_values("n")
            if not len(of):
                continue
            look = TUNED if name == "tuned/sum" else style.line_style(i, 0)
            x, y, low, high = (of[c].to_numpy(float) for c in ("n", "speedup", "speedup_ci_low", "speedup_ci_high"))
            axes.fill_between(x, low, high, color=look["color"], alpha=0.25, linewidth=0)
            axes.plot(x, y, label=name, **look)
            ends.append((x[-1], y[-1], name, look["color"]))
        axes.axhline(1, color="black", linewidth=1.3, zorder=1.5)
        axes.set_yscale("log")
        axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)
        style.power_of_two_axis(axes.xaxis, min(sizes), max(sizes))
        style.decade_axis(axes.yaxis)
        axes.set_xlabel("n (elements)", labelpad=1)
        axes.set_title(words, loc="left", pad=3)
        if k == 0:
            axes.set_ylabel("speedup over CUB called from C++, t(CUB) / t")
    label_ends(axes, ends, height)
    style.title(figure, f"Sums that Python users call, on one {results.machine_of('peers.csv').gpu}",
                f"{element_type}, {rs.CACHE_LABELS['cold_dirty']}. tuned/sum, too, is called from C++.\nWhat cannot be captured "
                "is on the right alone.", left=0.1)
    largest = table.sort_values(["n", "time_median_s"], ascending=[False, True]).groupby("variant").first()
    told = "; ".join(f"{name}, {1e3 * r['time_median_s']:.0f} ms at {rs.power_label(r['n'])}"
                     for name, r in largest.loc[sorted(slow)].iterrows())
    style.foot(figure, "Bands: 95 % intervals, paired by context." + (f" Not drawn: {told}." if told else ""), 0.1)
    return figure
