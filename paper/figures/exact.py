"""What the same bits everywhere cost: the speedup over CUB of exact sums, of CUB's own reproducible ones and of tuned,
against n, one call at a time and in a graph."""

from report import results as rs
from report import style
from figures import frontier
from figures.frontier import TYPES, key_of

WAYS = {"device": "L2 cold", "graph": "in a graph"}
# Colours and marks are the frontier's.
CALLS = {"exact/sum": ("exact/sum", dict(color=frontier.OURS, marker="*", markersize=4.5)),
         "cub@ gpu_to_gpu": ("CUB, gpu_to_gpu", dict(color=frontier.LIBRARY, marker="D", markersize=2.6)),
         "tuned/sum": ("tuned/sum, one GPU's bits", dict(color=frontier.OURS, marker="o", linestyle=(0, (4, 1.5)),
                                                         markerfacecolor="white"))}
LEFT, RIGHT, HEAD, TALL, GAP, FOOT = 0.46, 0.06, 0.55, 1.35, 0.16, 0.62


def draw(results: rs.Results):
    """None where frontier.csv has these sums at fewer than three sizes."""
    table = results.experiment("frontier")
    table = rs.where_is(table, status="ok", operation="sum", dataset="random").dropna(subset=["speedup"])
    table = rs.where_is(table.assign(call=[key_of(row) for _, row in table.iterrows()]), call=list(CALLS))
    panels = [(kind, mode) for kind in TYPES for mode in WAYS
              if rs.where_is(table, element_type=kind, timing_mode=mode)["n"].nunique() > 2]
    if not panels:
        return None
    figure = style.sheet(HEAD + TALL + FOOT)
    ends = table["speedup_ci_low"].min(), table["speedup_ci_high"].max()
    gids = [f"exact:{kind}:{mode}" for kind, mode in panels]
    for (kind, mode), axes in zip(panels, style.row(figure, gids, FOOT, TALL, LEFT, RIGHT, GAP)):
        axes.axhline(1, color="black", linewidth=1.1, zorder=1.5)
        for call, (_, look) in CALLS.items():
            rows = rs.where_is(table, call=call, element_type=kind, timing_mode=mode).sort_values("n")
            x, y, low, high = (rows[c].to_numpy(float) for c in ("n", "speedup", "speedup_ci_low", "speedup_ci_high"))
            axes.fill_between(x, low, high, color=look["color"], alpha=0.25, linewidth=0)
            axes.plot(x, y, label=call, **look)
        axes.set_yscale("log")
        axes.set_ylim(ends[0] / 1.05, ends[1] * 1.05)
        style.size_axis(axes, table["n"], 2, every=8)
        style.decade_axis(axes.yaxis)
        axes.tick_params(labelleft=axes is figure.axes[0])
        axes.set_title(f"{kind}, {WAYS[mode]}", loc="left", pad=3)
    figure.axes[0].set_ylabel("speedup over CUB", labelpad=2)
    style.legend(figure, dict(CALLS.values()), 0.04)
    style.title(figure, f"What the same bits on every GPU cost, on one {results.machine_of('frontier.csv').gpu}",
                "Random data; L2 cold and dirty, in a graph warm. Bands are 95 % intervals, paired by context.")
    return figure
