"""Document levels: what the changes between blocks, inside a block and inside a thread gain, one at a time and together."""

from __future__ import annotations

from matplotlib.ticker import LogLocator

import results as rs
import verdicts as vd
from figures import studies, style
from figures.studies import Points

NAIVE, FREE, UNROLLED, STRIDE = (f"levels/{name}:block=256,finish={{}}{more}" for name, more in (
    ("naive", ",test=bits"), ("divergence-free", ""), ("completely-unrolled", ""),
    ("global-stride", ",granularity=32,index=document")))
# Each row: level, what changes, from, to. The first three lead one after the other from the first kernel to the last, so
# that their product is the fourth; the others take a level by itself or go further.
CHAIN = (("inside a block", "naive → divergence-free", NAIVE.format("relaunch"), FREE.format("relaunch")),
         ("inside a thread", "1 → 32 loads", FREE.format("relaunch"), STRIDE.format("relaunch")),
         ("between blocks", "relaunch → atomic", STRIDE.format("relaunch"), STRIDE.format("atomic")))
WHOLE = ("together", "", NAIVE.format("relaunch"), STRIDE.format("atomic"))
ALONE = (("inside a block", "free → unrolled", FREE.format("relaunch"), UNROLLED.format("relaunch")),
         ("between blocks", "relaunch → atomic, naive", NAIVE.format("relaunch"), NAIVE.format("atomic")))
ROWS = (*CHAIN, WHOLE, *ALONE)
ROW = 0.36


def gains(folder: vd.Folder, n: int, left: dict[str, str]) -> dict[int, vd.Calls]:
    """By row, what the folder has of them; `left` gets those of which it has the times alone, and why."""
    found = {}
    for k, (level, what, base, variant) in enumerate(ROWS):
        test = studies.of_document("levels", base=base, variant=variant, experiments=["levels"])
        try:
            found[k] = folder.speedup(test, n)
        except vd.Unpaired as why:
            left[f"{level}{what and f' ({what})'} at {rs.power_label(n)}"] = why.reason
        except vd.Lacking:
            continue
    return found


def draw(folder: vd.Folder):
    """None without levels.csv or all of these calls."""
    document = studies.of_document("levels")
    sizes = studies.sizes_of(studies.calls(folder, "levels", "levels", "device"))
    unpaired: dict[str, str] = {}
    found = {n: g for n in sizes if (g := gains(folder, n, unpaired))}
    if not found:
        return None
    more = studies.left_out(unpaired, style.COLUMN_WIDTH)
    lift = studies.LINE * more.count("\n")
    left, right, head, base = 1.4, 0.1, 0.46, 0.72 + lift
    tall = ROW * len(ROWS)
    height = head + tall + base
    figure = studies.sheet(style.COLUMN_WIDTH, height)
    axes = studies.place(figure, left, base, style.COLUMN_WIDTH - left - right, tall, "decomposition")
    axes.set_xscale("log")
    looks = {n: dict(style.line_style(i, 0), linestyle="", markersize=3.6) for i, n in enumerate(found)}
    for i, (n, of) in enumerate(found.items()):
        shift = (i - (len(found) - 1) / 2) * 0.24
        for k, c in of.items():
            axes.plot([1, c.ratio], [k + shift] * 2, color="#C8C8C8", linewidth=2, solid_capstyle="butt", zorder=1.1)
        studies.draw_points(axes, Points.of([(k + shift, c.ratio, c.low, c.high) for k, c in of.items()]), vertical=False,
                            label=str(n), **looks[n])
    every = [v for of in found.values() for c in of.values() for v in (c.low, c.high)]
    axes.set_xlim(min(0.8, min(every) / 1.1), max(1.5, max(every) * 1.15))
    studies.speedup_rows(axes, [f"{level}\n{what}".strip() for level, what, _, _ in ROWS])
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 1.5, 2, 3, 5, 7)))
    for y in (len(CHAIN) - 0.5, len(CHAIN) + 0.5):
        axes.axhline(y, color=style.MARK_COLOR, linewidth=0.4)
    studies.legend_by_size(figure, looks, lift)
    studies.title(figure, f"Gains by level on one {studies.gpu_of(folder)}",
                  f"levels, {document['element_type']}, blocks of 256, device time, {rs.CACHE_LABELS[document['cache_state']]}")
    studies.foot(figure, "The first three together make the fourth. Lines: 95 % intervals." + more)
    return figure
