"""What carries over: the speedups that the claims speak of, on this machine and by other results, each at its document's
own n."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import verdicts as vd
from figures import studies, style
from figures.claims import rows_of
from figures.studies import Points
from text.agreement import CLAIMS

# Behind a test whose verdict is not the same everywhere.
BANDS = {vd.OTHERWISE: ("decided otherwise", dict(color="#F6D5C0", linewidth=0)),
         vd.ONE_ALONE: ("decided on one alone", dict(color="#E8E8E8", linewidth=0))}
ROW = 0.145


def band(row: dict, others: list[dict]) -> str | None:
    """The kind of difference between a test's verdicts, the worst if there are several."""
    kinds = {vd.agree(row["verdict"], other["verdict"]) for other in others}
    return next((kind for kind in BANDS if kind in kinds), None)


def draw(folder: vd.Folder):
    """None without agreement.csv, or where no speedup is in two folders."""
    agreements = vd.read_agreement(folder.path)
    if not agreements:
        return None
    here = rows_of(vd.sides(next(iter(agreements.values())))[0])[0]
    there = [rows_of(vd.sides(of)[1])[0] for of in agreements.values()]
    rows = [(row, others) for row, *others in zip(here, *there) if row["claim"] in CLAIMS and pd.notna(row["low"])
            and any(pd.notna(o["low"]) for o in others)]
    if not rows:
        return None
    names = [row["words"] for row, _ in rows]
    bands = [band(row, others) for row, others in rows]
    shown = [kind for kind in BANDS if kind in bands]
    keys = [f"here: {studies.gpu_of(folder)}", *(f"{name}: {of['gpu'].iloc[0]}" for name, of in agreements.items()),
            *(BANDS[kind][0] for kind in shown)]
    columns = style.legend_columns(keys, style.TEXT_WIDTH - 0.1)
    left, right, head, base = 0.42 + max(map(style.text_width, names)), 0.1, 0.3, 0.56 + 0.14 * -(-len(keys) // columns)
    height = head + ROW * len(rows) + base
    figure = studies.sheet(style.TEXT_WIDTH, height)
    axes = studies.place(figure, left, base, style.TEXT_WIDTH - left - right, ROW * len(rows), "agreement")
    axes.set_xscale("log")
    looks = [dict(style.line_style(k, 0), linestyle="", markersize=3.2) for k in range(1 + len(agreements))]
    for k, look in enumerate(looks):
        of = [(y, (row, *others)[k]) for y, (row, others) in enumerate(rows)]
        # Beside each other, so that intervals can be told apart.
        shift = (k - (len(looks) - 1) / 2) * 0.3
        studies.draw_points(axes, Points.of([(y + shift, r["ratio"], r["low"], r["high"]) for y, r in of if pd.notna(r["low"])]),
                            vertical=False, label=("here", *agreements)[k], **look)
    for y, kind in enumerate(bands):
        if kind:
            axes.axhspan(y - 0.5, y + 0.5, zorder=0.4, **BANDS[kind][1])
    ends = [v for row, others in rows for r in (row, *others) for v in (r["low"], r["high"]) if pd.notna(v)]
    axes.set_xlim(min([*ends, 0.8]) / 1.1, max([*ends, 2]) * 1.1)
    studies.speedup_rows(axes, names)
    claim = None
    for y, (row, _) in enumerate(rows):
        if row["claim"] != claim:
            claim = row["claim"]
            figure.text(0.06 / style.TEXT_WIDTH, (base + ROW * (len(rows) - y - 0.5)) / height, claim, va="center",
                        fontweight="bold")
    figure.legend([*(Line2D([], [], **look) for look in looks), *(Patch(**BANDS[kind][1]) for kind in shown)],
                  keys, ncols=columns, loc="lower left", bbox_to_anchor=(0.06 / style.TEXT_WIDTH, 0.2 / height))
    studies.title(figure, "What carries over")
    studies.foot(figure, "Lines through marks: 95 % intervals.")
    return figure
