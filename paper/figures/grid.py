"""Document multiblock: the share of the read ceiling that its fastest kernel reaches, against the number of blocks."""

import series as sr
from report import results as rs
from report import style
from figures.panels import DOTTED_LOOK, PARITY_LOOK, by_size, draw_points, of_document, sheet

USUAL = 2  # blocks for each multiprocessor, the text's "usually a good number"
BLOCK = 1024


def draw(results: rs.Results):
    """None where multiblock.csv has nothing of the document's own size."""
    document = of_document("multiblock")
    same = {k: document[k] for k in ("device", "operation", "element_type", "cache_state")}
    rows = results.rows("multiblock", f":block={BLOCK}", **same, group="multiblock", timing_mode="device", status="ok")
    rows = rows.assign(grid=rs.setting(rows, "grid")).dropna(subset=["grid"])
    rows = rows[rows["share_of_read_ceiling"] > 0]
    own = rows[rows["n"] == document["n"][0]]
    if own.empty:
        return None
    best = rs.fastest(own)["variant"]
    reading = rows["share_of_read_ceiling"] * rows["time_median_s"]
    rows = rows.assign(**{end: reading / rows[f"time_{end}_s"] for end in ("median", "ci_high", "ci_low")})
    lines = {int(n): group[["grid", "median", "ci_high", "ci_low"]].values.tolist()
             for n, group in rows[rows["variant"] == best].groupby("n")}
    figure, (axes,) = sheet(["grid"], 1.4, left=0.5, right=0.1, head=0.68, foot=0.62, width=style.COLUMN_WIDTH)
    looks = by_size(lines, markersize=3)
    for n, points in lines.items():
        draw_points(axes, [p for p in points if p[0] < n / BLOCK], label=str(n), **looks[n])
        draw_points(axes, [p for p in points if p[0] >= n / BLOCK],  # a thread an element, far from the others
                    label=f"{n}, all threads", **looks[n] | dict(linestyle="", markerfacecolor="white"))
    style.size_axis(axes, [p[0] for points in lines.values() for p in points], 1.5, label=f"blocks of {BLOCK} threads")
    axes.set_ylim(0, 1.03)
    axes.axhline(1, **PARITY_LOOK)
    axes.set_ylabel("share of the read ceiling", labelpad=2)
    names = {style.power_label(n): look for n, look in looks.items()}
    if count := results.machine.number("gpu.sm_count"):
        axes.axvline(USUAL * count, **DOTTED_LOOK)
        names[f"{USUAL} blocks an SM"] = DOTTED_LOOK
    style.legend(figure, names, 0.06)
    style.title(figure, f"How many blocks, on one {results.machine.gpu}",
                f"{best}, {document['element_type']}, {sr.CACHE_LABELS[document['cache_state']]}. A line for each "
                "n; open: a thread for each element")
    return figure
