"""The figure of a comparison."""

from __future__ import annotations

# Okabe and Ito's colours, which the colour-blind can tell apart, and the project's markers.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^Dv*PX"


def speedups(rows: list[dict], confidence: float):
    """Speedup over the base against n: a panel for each type and way of timing, a line for each variant, its interval
    shaded. Rows without a ratio are left out."""
    import matplotlib
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    rows = [row for row in rows if row["ratio"] is not None]
    if not rows:
        raise ValueError("nothing was compared, so there is nothing to draw; the table has the reasons")
    panel_of = lambda row: (row["operation"], row["element_type"], row["timing_mode"], row["cache_state"])
    panels = list(dict.fromkeys(map(panel_of, rows)))
    lines = list(dict.fromkeys((row["variant"], row["settings"]) for row in rows))
    figure, axes = plt.subplots(len(panels), 1, figsize=(6.5, 0.6 + 2.4 * len(panels)), layout="constrained",
                                sharex=True, squeeze=False)
    for panel, ax in zip(panels, axes[:, 0]):
        for i, line in enumerate(lines):
            mine = sorted((row for row in rows if panel_of(row) == panel and (row["variant"], row["settings"]) == line),
                          key=lambda row: row["n"])
            if not mine:
                continue
            n = [row["n"] for row in mine]
            color, label = COLORS[i % len(COLORS)], line[0] + (f" [{line[1]}]" if line[1] else "")
            ax.plot(n, [row["ratio"] for row in mine], color=color, marker=MARKERS[i % len(MARKERS)], markersize=3,
                    label=label)
            known = [row for row in mine if row["ratio_low"] is not None]
            ax.fill_between([row["n"] for row in known], [row["ratio_low"] for row in known],
                            [row["ratio_high"] for row in known], color=color, alpha=0.25, linewidth=0)
        ax.axhline(1, color="black", linewidth=1.3)
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(LogLocator(base=4))
        ax.set_yscale("log")
        for which in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            which(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_ylabel(f"times as fast as {rows[0]['base']}")
        ax.set_title(" ".join(panel) + f", {confidence:.0%} intervals", loc="left", fontsize="medium")
        ax.grid(True, color="0.9")
    axes[-1, 0].set_xlabel("n (elements)")
    axes[0, 0].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    if "inline" in matplotlib.get_backend():
        plt.close(figure)  # a notebook shows the value of a cell, and would show an open figure once more
    return figure
