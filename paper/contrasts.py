"""What contrasts.json asks of a results folder; `reductio summarize FOLDER` answers by FOLDER/contrasts.csv."""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from report import results as rs, tables as tb

FILE = Path(__file__).with_name("contrasts.json")
LISTED = json.loads(FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Asked:
    """One contrast of the list."""

    name: str
    group: dict          # what it has in common with others: operation, timing_mode and so on
    points: list[list]   # power, call and, where it is not the group's, way of timing

    def calls(self, power: int) -> list[str]:
        """Those above the line, power 1, or below it, -1."""
        return [point[1] for point in self.points if point[0] * power > 0]


class Contrast(NamedTuple):
    """A line of contrasts.csv; `value` is NaN where something lacks, as `reason` says."""

    name: str
    n: int
    value: float = math.nan  # a speedup or another ratio; of one call a time in s, by clock() in cycles
    low: float = math.nan
    high: float = math.nan
    enough: bool = False     # contexts for the interval
    reason: str = ""
    pairs: int = 0           # that it is a mean over

    @property
    def interval(self) -> tuple[float, float, float]:
        """The value, and the ends of its interval."""
        return self.value, self.low, self.high

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


@lru_cache(maxsize=1)
def asked() -> dict[str, Asked]:
    """All contrasts by name, in the order of the list."""
    contrasts = {}
    for group in LISTED["groups"]:
        keys = group.get("for", {})
        for values in product(*keys.values()):
            filled = json.dumps(group["contrasts"])
            for key, value in zip(keys, values):
                filled = filled.replace(f"{{{key}}}", str(value))
            contrasts |= {name: Asked(name, group, points) for name, points in json.loads(filled).items()}
    return contrasts


def named(prefix: str) -> list[Asked]:
    """Those whose names begin so; an error where there is none."""
    matching = [a for name, a in asked().items() if name.startswith(prefix)]
    if not matching:
        raise KeyError(f"{FILE.name} has no contrast {prefix}*")
    return matching


@lru_cache
def measured(results: rs.Results) -> dict[str, list[Contrast]]:
    """By name what a folder has; empty without contrasts.csv."""
    table, contrasts = results.table("contrasts"), {}
    if table is not None:
        table = table.assign(low=table["ci_low"], high=table["ci_high"], enough=table["enough"] == "yes",
                             pairs=table["pairs"].fillna(0).astype(int))
        for row in table[list(Contrast._fields)].itertuples(index=False):
            contrasts.setdefault(row.name, []).append(Contrast(*row))
    return contrasts


def at(results: rs.Results, name: str, n: int | None = None) -> Contrast:
    """A contrast at n, or at the first of its sizes; where contrasts.csv lacks it, one without a value."""
    if name not in asked():
        raise KeyError(f"{FILE.name} has no contrast {name}")
    rows = [c for c in measured(results).get(name, []) if n in (None, c.n)]
    why = "contrasts.csv has no such row" if measured(results) else "no contrasts.csv"
    return rows[0] if rows else Contrast(name, n or 0, reason=f"{why}: {tb.MADE_BY['contrasts.csv']}")


def like(results: rs.Results, prefix: str) -> list[tuple[str, Contrast]]:
    """All that have a value, of those whose names begin so, each with the rest of its name."""
    return [(asked_for.name.removeprefix(prefix), c) for asked_for in named(prefix)
            for c in measured(results).get(asked_for.name, []) if c.known]
