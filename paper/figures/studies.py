"""What the figures of the documents' own experiments share: finding their calls, naming them, and laying out panels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D

import results as rs
from figures import style
from results import Contrast, Results, Series

MICRO = 1e6
PARITY_LOOK = dict(color="black", linewidth=0.7, zorder=1.2)  # as fast as what it is compared with


def of_document(document: str, **other) -> dict:
    """Operation, type, timing mode and so on in which the document's claims are judged."""
    return {"device": "cuda", **rs.claims()["documents"][document], **other}


def settings_of(call: str) -> dict[str, str]:
    """The settings in a call's name as claims.json has it; of ceil(n/1024) blocks n/1024."""
    found = rs.parse_settings(call.partition(":")[2].replace(",", ";"))
    return {k: v.removeprefix("ceil(").removesuffix(")") for k, v in found.items()}


def calls(results: Results, experiment: str, document: str, mode: str, **settings) -> list[Series]:
    """The experiment's series of the document's kernels with these settings; [] without its CSV."""
    table, problem = results.experiment(experiment), of_document(document)
    if table is None:
        return []
    which = {k: problem[k] for k in ("device", "operation", "element_type", "cache_state")}
    wanted = {k: str(v) for k, v in settings.items()}.items()
    return [s for s in rs.series(table, mode=mode, **which) if s.variant.startswith(document + "/") and len(s.ok)
            and wanted <= rs.parse_settings(s.settings).items()]


def setting(s: Series, name: str) -> str:
    return rs.parse_settings(s.settings).get(name, "")


def count(s: Series, name: str) -> int | None:
    """A setting that is a number; None for "auto"."""
    value = setting(s, name)
    return int(value) if value.isdigit() else None


@dataclass
class Points:
    """Values with their intervals along x."""

    x: list[float]
    value: list[float]
    low: list[float]
    high: list[float]

    @staticmethod
    def of(rows: list[tuple[float, float, float, float]]) -> Points:
        rows = sorted(rows)
        return Points(*(list(column) for column in zip(*rows))) if rows else Points([], [], [], [])

    @staticmethod
    def at(contrasts: dict[float, Contrast]) -> Points:
        """Contrasts by x."""
        return Points.of([(x, c.value, c.low, c.high) for x, c in contrasts.items()])

    def rows(self) -> list[tuple[float, float, float, float]]:
        return list(zip(self.x, self.value, self.low, self.high))

    def __len__(self) -> int:
        return len(self.x)


def draw_points(axes, points: Points, vertical: bool = True, **look) -> None:
    """Marks, joined if the look has a line, each with its interval where it has one."""
    if not len(points):
        return
    value, low, high = (np.array(v, float) for v in (points.value, points.low, points.high))
    errors = [np.nan_to_num(np.clip(value - low, 0, None)), np.nan_to_num(np.clip(high - value, 0, None))]
    if vertical:
        axes.errorbar(points.x, value, yerr=errors, elinewidth=0.7, capsize=0, **look)
    else:
        axes.errorbar(value, points.x, xerr=errors, elinewidth=0.7, capsize=0, **look)


def speedup_rows(axes, names: list[str], label: str = "speedup") -> None:
    """A row for each name, from the top down, beside a logarithmic axis whose limits are set; a line where it is 1."""
    style.decade_axis(axes.xaxis)
    axes.axvline(1, **PARITY_LOOK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_xlabel(label, labelpad=1)


def sizes_of(found: list[Series]) -> list[int]:
    """The sizes that any of them was measured at."""
    return sorted({int(n) for s in found for n in s.ok["n"]})


def legend_by_size(figure, looks: dict[int, dict]) -> None:
    """Between the panels and the foot: the look of each n."""
    style.legend(figure, [Line2D([], [], **look) for look in looks.values()], [f"n = {rs.power_label(n)}" for n in looks],
                 0.21, ncols=len(looks))
