"""What contrasts.json asks of a results folder; `reductio summarize FOLDER` answers by FOLDER/contrasts.csv."""

import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from report import results as rs

FILE = Path(__file__).resolve().parent / "contrasts.json"


@dataclass(frozen=True)
class Asked:
    """One contrast of the list."""

    name: str
    group: dict          # what it has in common with others: operation, timing_mode and so on
    points: list[list]   # power, call and, where it is not the group's, way of timing

    def calls(self, power: int) -> list[str]:
        """Those above the line, power 1, or below it, -1."""
        return [point[1] for point in self.points if point[0] * power > 0]


@lru_cache(maxsize=1)
def listed() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def effects() -> dict[str, float]:
    """By way of timing: the smallest speedup or slowdown that counts."""
    return listed()["effects"]


@lru_cache(maxsize=1)
def asked() -> dict[str, Asked]:
    """All contrasts by name, in the order of the list."""
    found = {}
    for group in listed()["groups"]:
        keys = group.get("for", {})
        text = json.dumps(group["contrasts"])
        for values in product(*keys.values()):
            one = text
            for key, value in zip(keys, values):
                one = one.replace(f"{{{key}}}", str(value))
            found |= {name: Asked(name, group, points) for name, points in json.loads(one).items()}
    return found


def named(prefix: str) -> list[Asked]:
    """Those whose names begin so; an error where there is none."""
    found = [a for name, a in asked().items() if name.startswith(prefix)]
    if not found:
        raise KeyError(f"{FILE.name} has no contrast {prefix}*")
    return found


def at(results: rs.Results, name: str, n: int | None = None, element_type: str | None = None) -> rs.Contrast:
    """A contrast at n, or at the first of its sizes; where contrasts.csv lacks it, one without a value."""
    if name not in asked():
        raise KeyError(f"{FILE.name} has no contrast {name}")
    of = [c for c in results.contrasts.get(name, []) if n in (None, c.n) and element_type in (None, c.element_type)]
    why = "contrasts.csv has no such row" if results.contrasts else "no contrasts.csv"
    return of[0] if of else rs.Contrast(name, n or 0, reason=f"{why}: {rs.MADE_BY['contrasts.csv']}")


def like(results: rs.Results, prefix: str) -> list[tuple[str, rs.Contrast]]:
    """All that have a value, of those whose names begin so, each with the rest of its name."""
    return [(one.name.removeprefix(prefix), c) for one in named(prefix)
            for c in results.contrasts.get(one.name, []) if c.known]
