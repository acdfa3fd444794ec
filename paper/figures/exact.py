"""What the same bits everywhere cost: the speedup over CUB of exact sums, of CUB's own reproducible ones and of tuned,
against n, one call at a time and in a graph."""

from report import results as rs
from report import style
from figures.frontier import LIBRARY, OURS, TYPES, with_calls
from figures.panels import sheet

WAYS = {"device": "L2 cold", "graph": "in a graph"}
# Colours and marks are the frontier's.
CALLS = {"exact/sum": ("exact/sum", dict(color=OURS, marker="*", markersize=4.5)),
         "cub@ gpu_to_gpu": ("CUB, gpu_to_gpu", dict(color=LIBRARY, marker="D", markersize=2.6)),
         "tuned/sum": ("tuned/sum, one GPU's bits", dict(color=OURS, marker="o", linestyle=(0, (4, 1.5)),
                                                         markerfacecolor="white"))}


def draw(results: rs.Results):
    """None where frontier.csv has these sums at fewer than three sizes."""
    table = rs.where_is(with_calls(results.experiment("frontier")), status="ok", operation="sum", dataset="random",
                        call=list(CALLS)).dropna(subset=["speedup"])
    parts = {(kind, mode): rows for kind in TYPES for mode in WAYS
             if (rows := rs.where_is(table, element_type=kind, timing_mode=mode))["n"].nunique() > 2}
    if not parts:
        return None
    figure, panels = sheet([f"exact:{kind}:{mode}" for kind, mode in parts], 1.35, left=0.46, right=0.06, head=0.55,
                           foot=0.62, gap=0.16)
    for ((kind, mode), part), axes in zip(parts.items(), panels):
        axes.axhline(1, color="black", linewidth=1.1, zorder=1.5)
        for call, (_, look) in CALLS.items():
            rows = rs.where_is(part, call=call).sort_values("n")
            x, y, low, high = (rows[c].to_numpy(float) for c in ("n", "speedup", "speedup_ci_low", "speedup_ci_high"))
            axes.fill_between(x, low, high, color=look["color"], alpha=0.25, linewidth=0)
            axes.plot(x, y, label=call, **look)
        axes.set_yscale("log")
        axes.set_ylim(table["speedup_ci_low"].min() / 1.05, table["speedup_ci_high"].max() * 1.05)
        style.size_axis(axes, table["n"], 2, every=8)
        style.decade_axis(axes.yaxis)
        axes.tick_params(labelleft=axes is panels[0])
        axes.set_title(f"{kind}, {WAYS[mode]}", loc="left", pad=3)
    panels[0].set_ylabel("speedup over CUB", labelpad=2)
    style.legend(figure, dict(CALLS.values()), 0.04)
    style.title(figure, f"What the same bits on every GPU cost, on one {results.machine_of('frontier.csv').gpu}",
                "Random data; L2 cold and dirty, in a graph warm. Bands are 95 % intervals, paired by context.")
    return figure
