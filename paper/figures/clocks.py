"""How far the clocks of the multiprocessors are apart: clock() in each, and the GPU's one %globaltimer read in each."""

from __future__ import annotations

import numpy as np
import pandas as pd

from figures import studies, style
from figures.studies import Points
from results import Results

QUANTITIES = {"sm_clock_offset": "clock()", "globaltimer_offset": "%globaltimer"}


def by_sm(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Median, least and most of the repeats, by multiprocessor."""
    rows = table[(table["quantity"] == quantity) & table["sm"].notna()]
    return rows.groupby("sm")["value"].agg(["median", "min", "max"])


def apart(table: pd.DataFrame, quantity: str) -> float:
    """From the first to the last multiprocessor's clock: the median over the repeats."""
    rows = table[(table["quantity"] == quantity) & table["sm"].notna()].groupby("repeat")["value"]
    return float((rows.max() - rows.min()).median())


def shown(value: float) -> str:
    """Three digits, and no exponent: "70.5", "5,457"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(results: Results):
    """None without probes.csv or its offsets."""
    table = results.probes
    if table is None or not any(len(by_sm(table, q)) for q in QUANTITIES):
        return None
    quantities = [q for q in QUANTITIES if len(by_sm(table, q))]
    rate = table.loc[table["quantity"] == "sm_clock_rate", "value"].median()  # cycles/ns
    left, right, head, tall, gap, base = 0.5, 0.08, 0.6, 1.05, 0.42, 0.5
    height = head + len(quantities) * tall + (len(quantities) - 1) * gap + base
    figure = style.sheet(height, style.COLUMN_WIDTH)
    for k, quantity in enumerate(quantities):
        axes = style.place(figure, left, height - head - tall - k * (tall + gap), style.COLUMN_WIDTH - left - right, tall,
                             f"clocks:{quantity}")
        of = by_sm(table, quantity)
        cycles = quantity == "sm_clock_offset"
        scale = 1e6 if cycles else 1.0
        points = Points.of([(sm, r["median"] / scale, r["min"] / scale, r["max"] / scale) for sm, r in of.iterrows()])
        studies.draw_points(axes, points, label=quantity, linestyle="", marker=style.MARKERS[k], markersize=2,
                            color=style.LINE_COLORS[k])
        most = apart(table, quantity)
        said = f"{shown(most / 1e6)} million cycles apart" if cycles else f"{shown(most)} ns apart"
        if cycles and rate > 0:
            ms = most / rate / 1e6
            said += f", {shown(ms)} ms" if ms < 1e3 else f", {shown(ms / 1e3)} s"
        axes.set_title(f"{QUANTITIES[quantity]}: {said}", loc="left", pad=3)
        axes.set_ylabel("offset (million cycles)" if cycles else "offset (ns)", labelpad=2)
        axes.margins(x=0.02, y=0.1)
        if k == len(quantities) - 1:
            axes.set_xlabel("multiprocessor", labelpad=1)
    repeats = int(np.nanmax(table.loc[table["quantity"].isin(quantities), "repeat"])) + 1
    style.title(figure, f"Clocks of one {results.machine.gpu}", "offset from the clock of multiprocessor 0")
    style.foot(figure, f"Marks: median; lines: least and most of {repeats} repeats.")
    return figure
