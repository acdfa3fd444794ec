"""Draws one chart of a results folder: `reductio plot FOLDER --out FILE` calls it, with the chart's rows as its input.

Throughput against n, a line for each variant; of one size a bar for each variant and its settings.
"""

import io
from pathlib import Path

from .command_line import Parser, needed_by, one_line, write_whole

with needed_by("reductio: a figure", ", or leave --out out to plot on the terminal"):
    import numpy as np

    from . import results as rs, style


# A slow call over a fast one; the share of points at which that is told; only times of so many timer steps count.
BUSY, OFTEN, STEPS = 2, 0.1, 100


def busy_note(rows) -> str:
    """What is said where calls of one point differ so much that other work must have run beside them; else nothing."""
    timed = rows[(rows["status"] == "ok") & (rows["time_min_s"] > STEPS * rows["timer_resolution_s"].fillna(0))]
    busy = timed["time_p95_s"] > BUSY * timed["time_min_s"]
    if not busy.sum() > OFTEN * len(busy):
        return ""
    return (f"The machine was busy: at {busy.sum()} of {len(busy)} points the slowest 5 % of calls took over {BUSY} times as "
            "long as the fastest call.")


def draw(table, title: str, where: str):
    """`table`: rows that differ in variant, settings and n alone, in the legend's order."""
    table = table.reset_index(drop=True)
    size = table["n"].astype(float) * table["element_type"].map(rs.ELEMENT_BYTES)
    table = table.assign(n=table["n"].astype("int64"), bytes=size,
                         **{name: size / table[f"time_{column}_s"] / style.GIGA for name, column in
                            (("rate", "median"), ("low", "ci_high"), ("high", "ci_low"))})
    one_size = table["n"].nunique() == 1
    variants = list(dict.fromkeys(table["variant"]))
    tall = 0.7 + 0.15 * len(table) if one_size else 3.2 + 0.14 * max(0, len(variants) - 20)
    figure, (axes,) = style.sheet(tall, ["plot"])
    style.title(figure, f"{where}, {title}" + (f", n = {style.power_label(table['n'].iloc[0])}" if one_size else ""))
    if (table["device"] == "cpu").all():
        style.foot(figure, busy_note(table))
    if one_size:
        rows = table.sort_values("rate", ascending=False).assign(row=range(len(table)))
        axes.barh(rows["row"], rows["rate"], color=style.LINE_COLORS[0], height=0.7)
        bars = rows[["row", "rate", "low", "high"]].values.tolist()
        style.draw_points(axes, bars, vertical=False, linestyle="", color="black")
        axes.set_yticks(range(len(rows)), [f"{v} [{s}]" if s else v for v, s in zip(rows["variant"], rows["settings"])])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(False, axis="y")
        axes.set_xlabel("throughput (GB/s)")
        return figure
    looks, libraries = {}, list(table.loc[table["kind"] == "library", "variant"].unique())
    for variant in variants:
        rows = table[table["variant"] == variant]
        looks[variant] = style.line_style(variants.index(variant), 0)
        if variant in libraries:  # no markers, black or grey, a little thicker
            dashes = style.DASHES[libraries.index(variant) % len(style.DASHES)]
            color = style.color_of(rows["group"].iloc[0])
            looks[variant] = dict(color=color, linestyle=dashes, linewidth=1.3, zorder=1.9)
        points = rows[["n", "rate", "low", "high"]].values.tolist()
        style.draw_points(axes, points, elinewidth=0.5, label=variant, **looks[variant])
    calls = table.groupby("n")[["bytes", "read_time_s", "launch_floor_s"]].first()
    # Throughputs that no call passes: shaded from the kernel that only reads, and a line for the empty call.
    reading, empty = (calls["bytes"] / calls[c] / style.GIGA for c in ("read_time_s", "launch_floor_s"))
    style.shade_above(axes, calls.index.to_numpy(float), reading.to_numpy(float))
    axes.plot(calls.index, empty, gid="floor", **style.FLOOR_LOOK)
    axes.set_ylim(table["rate"].min() / 1.3, np.nanmax([*table["rate"], *reading]) * 1.3)
    style.decade_axis(axes.yaxis)
    style.size_axis(axes, table["n"])
    axes.set_ylabel("throughput (GB/s)")
    looks |= {"faster than only reading": style.CEILING_LOOK} if reading.notna().any() else {}
    looks |= {"an empty call": style.FLOOR_LOOK} if empty.notna().any() else {}
    axes.legend(style.handles(looks), list(looks), loc="upper left", bbox_to_anchor=(1.02, 1))
    return figure


@one_line("reductio")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="report plot", description=__doc__.splitlines()[0])
    parser.add_argument("--title", required=True)
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="the results folder of the rows")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    table = rs.read_points(Path("/dev/stdin"), rs.read_catalog(options.folder / "catalog.csv"))
    where = table["machine"].iloc[0]
    drawn, kind = io.BytesIO(), options.out.suffix
    draw(table, options.title, where).savefig(drawn, format=kind[1:], metadata=dict.fromkeys(style.KINDS[kind]))
    write_whole(options.out, drawn.getvalue())
    print(f"{options.out}: {options.title}, {where}")

