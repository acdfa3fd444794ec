"""Figures of one experiment each, along the number of blocks, threads, loads or elements."""

import pandas as pd
from matplotlib.ticker import MaxNLocator

import series as sr
import contrasts
from claims import DOCUMENTS
from report import results as rs, style
from figures.panels import DOTTED_LOOK, PARITY_LOOK, in_words, looks_of

USUAL = 2  # blocks for each multiprocessor, the text's "usually a good number"
BLOCK = 1024


def grid(results: rs.Results):
    """Document multiblock: the share of the read ceiling that its fastest kernel reaches, against the number of blocks.
    Absent where multiblock.csv has nothing of the document's own size."""
    document = DOCUMENTS["multiblock"]
    same = {"device": "cuda"} | {k: document[k] for k in ("operation", "element_type", "cache_state")}
    rows = results.rows("multiblock", f":block={BLOCK}", **same, group="multiblock", timing_mode="device", status="ok")
    grids = pd.to_numeric([rs.parse_settings(s).get("grid") for s in rows["settings"]], errors="coerce")  # NaN of words
    rows = rows.assign(grid=grids).dropna(subset=["grid", "share_of_read_ceiling"])
    best = rs.fastest(rs.needed(rows[rows["n"] == document["n"][0]]))["variant"]
    rows = rows[rows["variant"] == best]
    reading = rows["share_of_read_ceiling"] * rows["time_median_s"]
    rows = rows.assign(low=reading / rows["time_ci_high_s"], high=reading / rows["time_ci_low_s"])
    lines = {int(n): group[["grid", "share_of_read_ceiling", "low", "high"]].values.tolist() for n, group in rows.groupby("n")}
    figure, (axes,) = style.sheet(2.7, ["grid"], width=style.COLUMN_WIDTH)
    looks = looks_of(lines, markersize=3)
    for n, points in lines.items():
        style.draw_points(axes, [p for p in points if p[0] < n / BLOCK], label=str(n), **looks[n])
        style.draw_points(axes, [p for p in points if p[0] >= n / BLOCK],  # a thread an element, far from the others
                    label=f"{n}, all threads", **looks[n] | dict(linestyle="", markerfacecolor="white"))
    style.size_axis(axes, [p[0] for points in lines.values() for p in points], 1.5, label=f"blocks of {BLOCK} threads")
    axes.set_ylim(0, 1.03)
    axes.axhline(1, **PARITY_LOOK)
    axes.set_ylabel("share of the read ceiling", labelpad=2)
    names = {style.power_label(n): look for n, look in looks.items()}
    if sms := results.machine.number("gpu.sm_count"):
        axes.axvline(USUAL * sms, **DOTTED_LOOK)
        names |= {f"{USUAL} blocks an SM": DOTTED_LOOK}
    style.legend(figure, names)
    style.title(figure, f"How many blocks, on one {results.machine.gpu}",
                f"{best}, {document['element_type']}, {sr.CACHE_LABELS[document['cache_state']]}. A line for each "
                "n; open: a thread for each element")
    return figure


INDEX = ("i32", "u64")  # nvcc unrolls a loop over the first, so that several loads are in flight, not over the other
HIDDEN_LOOK = dict(color=style.MARK_COLOR, linewidth=0.9, linestyle=(0, (4, 1.5)), zorder=1.2)


def latency(results: rs.Results):
    """One block of squares: what a thread takes for each of its elements, against the number of threads, beside the
    latency of one load (S6). Absent where contrasts.csv has none of it; without the latencies of `reductio probe`."""
    document = DOCUMENTS["squares"]
    n, lines, looks = document["n"][0], {}, {}
    for i, variant in enumerate(("strided", "chunked")):
        for j, index in enumerate(INDEX):
            call = f"{variant}, index {index}"
            looks[call] = style.line_style(i, j) | dict(markersize=3.2)
            lines[call] = [(int(threads), *(int(threads) / n * cycles for cycles in c.interval))
                           for threads, c in contrasts.like(results, f"latency.{variant}.{index}.")]
    threads = rs.needed(sorted({x for points in lines.values() for x, *_ in points}))
    cycles = {words: results.row("means", name=f"probe.load_latency_{words.lower()}.cycles")["value"]
              for words in ("memory", "L2")}
    figure, (axes,) = style.sheet(3.4, ["latency"], width=style.COLUMN_WIDTH)
    for call, points in lines.items():
        style.draw_points(axes, points, label=call, **looks[call])
    for words, of_load in cycles.items():
        axes.axhline(of_load, color=style.MARK_COLOR, linewidth=0.7, zorder=1.1, gid=words)
    axes.plot(*zip(*[(t, cycles["memory"] - t) for t in threads if t < cycles["memory"]]), gid="hidden", **HIDDEN_LOOK)
    style.size_axis(axes, threads, 1.15, label="threads of the block")
    axes.set_xticks(threads, threads)
    axes.set_xticks([], minor=True)
    style.decade_axis(axes.yaxis)
    axes.set_ylabel("cycles for an element", labelpad=2)
    style.legend(figure, looks | {"the text": HIDDEN_LOOK}, ncols=2)
    style.title(figure, f"Latency hidden by one block, {results.machine.gpu}",
                f"squares, {document['element_type']}, n = {style.power_label(n)}, clock(), "
                f"{sr.CACHE_LABELS[document['cache_state']]}")
    latencies = ", ".join(f"{words} {of_load:.0f}" for words, of_load in cycles.items())
    style.foot(figure, "The text: a load less a cycle for each thread. Horizontal: cycles of one load, from "
               f"{latencies}. Lines through marks: 95 % intervals.")
    return figure


THREADS = 256  # of a block of levels
# By gid the contrasts' prefix, the title, and whether x is the number of blocks, rather than of loads.
PANELS = {"loads": ("levels.granularity.global.", "over one load,\nglobal stride", False),
          "strides": ("levels.strides.", "global stride\nover local", False),
          "relaunch": ("levels.atomic.relaunch.", "atomics over\nrelaunching, end to end", True),
          "host": ("levels.atomic.host.", "atomics over\nthe host, end to end", True)}


def blocks_of(loads: int, n: int) -> int:
    return -(-n // (THREADS * loads))


def levels(results: rs.Results):
    """Document levels: the gain of several loads a thread over one, of a global stride over a local one, and of
    finishing by atomics over a second launch and over the host, at each size. Absent where contrasts.csv has none of
    it."""
    # The loads of a thread end a contrast's name.
    by_panel = rs.needed({gid: gains for gid, (prefix, *_) in PANELS.items()
                          if (gains := contrasts.like(results, prefix))})
    looks = looks_of(sorted({c.n for gains in by_panel.values() for _, c in gains}), markersize=2.8)
    sms = results.machine.number("gpu.sm_count") or 0
    figure, panels = style.sheet(2.8, list(by_panel))
    for (gid, gains), axes in zip(by_panel.items(), panels):
        _, title, by_blocks = PANELS[gid]
        over_itself = [(1, 1.0, 1.0, 1.0)] * (gid == "loads")
        drawn = {n: over_itself + [(blocks_of(int(loads), n) if by_blocks else int(loads), *c.interval)
                                   for loads, c in gains if c.n == n] for n in looks}
        for n, points in drawn.items():
            style.draw_points(axes, points, label=str(n), **looks[n])
            few = [(x, gain) for x, gain, *_ in points if (x if by_blocks else blocks_of(x, n)) < sms]
            axes.plot(*zip(*few), **looks[n] | dict(linestyle="", markerfacecolor="white", zorder=3))
        style.size_axis(axes, [x for points in drawn.values() for x, *_ in points], 1.4,
                        label="blocks to add up" if by_blocks else "loads a thread")
        axes.margins(y=0.08)
        style.decade_axis(axes.yaxis)
        axes.axhline(1, **PARITY_LOOK)
        low, high = axes.get_ylim()
        if high < 4 * low:
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.set_title(title, loc="left", pad=3)
    panels[0].set_ylabel("speedup", labelpad=2)
    style.legend(figure, in_words(looks))
    document = DOCUMENTS["levels"]
    style.title(figure, f"Loads, strides and finishes of levels on one {results.machine.gpu}",
                f"{document['element_type']}, device time but where the title says, {sr.CACHE_LABELS[document['cache_state']]}")
    style.foot(figure, "Hollow: fewer blocks than multiprocessors. Lines through marks: 95 % intervals, paired by context.")
    return figure
