"""What hand-written sentences say about the measurements: each with the check that holds it to the committed CSV.

    Fact("docs/results.md", "takes <607> us at 2^30", lambda d: d.us("cub/sum", 2**30))
    Fact("docs/claims.md", "S2 (<1.93> [<1.927>, <1.932>])", lambda d: d.contrast("S2", 2**28))
    Fact("README.md", "is the fastest of the documents' kernels", lambda d: d.us(ONE, N) < d.us(OTHER, N))

The words stand in the page, white space aside. A number in <...> is typed there without these marks; the check gives the
value of each, in order, and they have to agree as far as the typed digits go. A check of words without marks gives True,
or what holds instead. tests/paper/test_facts.py asks all of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
MARK = re.compile(r"<(-?[\d,]*\.?\d+)>")


@dataclass(frozen=True)
class Fact:
    page: str
    words: str
    of: Callable[[Folder], object]
    machine: str = "nvidia-h200"

    @property
    def sentence(self) -> str:
        return " ".join(MARK.sub(r"\1", self.words).split())

    def wrong(self, root: Path = ROOT) -> str:
        """What is wrong with it, in one line; "" if it is true."""
        says = f'{self.page} says "{self.sentence}"'
        if self.sentence not in text_of(root / self.page):
            return f"{says} no longer: drop its fact, or mend its words"
        try:
            found = self.of(folder(root / "experiments" / "results" / self.machine))
        except LookupError as error:
            return f"{says}: not in the data: {error.args[0]}"
        typed = MARK.findall(self.words)
        if not typed:
            return "" if isinstance(found, (bool, np.bool_)) and found else f"{says}; by the data it is {found}"
        values = [float(v) for v in (found if isinstance(found, (tuple, list)) else (found,))][:len(typed)]
        same = len(values) == len(typed) and all(map(agrees, typed, values))
        return "" if same else f"{says}; by the data: {', '.join(f'{v:.6g}' for v in values)}"


def agrees(typed: str, value: float) -> bool:
    """Whether the value is the typed number, to the digits that are typed."""
    decimals = len(typed.partition(".")[2])
    return abs(float(typed.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-6)


@cache
def text_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


@cache
def folder(path: Path) -> Folder:
    return Folder(path)


class Folder:
    """The committed CSV of one machine, and of those beside it."""

    def __init__(self, path: Path):
        self.path = path

    def beside(self, machine: str) -> Folder:
        return folder(self.path.parent / machine)

    @cache
    def table(self, name: str) -> pd.DataFrame:
        """contrasts.csv by "contrasts", an experiment's rows by its name; other names as they are."""
        return pd.read_csv(self.path / (name if "." in name else f"{name}.csv"), low_memory=False)

    @cached_property
    def machine(self) -> dict:
        return json.loads((self.path / "machine.json").read_text())

    def rows(self, table: str, call: str = "", **where) -> pd.DataFrame:
        """A table's rows with these values, of a call `variant:name=value,name=value`: settings that are not named may have
        any value."""
        found = self.table(table)
        variant, _, settings = call.partition(":")
        for column, value in ({"variant": variant} if variant else {}).items() | where.items():
            found = found[found[column] == value]
        for pair in filter(None, settings.split(",")):
            found = found[(";" + found["settings"].fillna("") + ";").str.contains(f";{pair};", regex=False)]
        return found

    def row(self, table: str, call: str = "", **where) -> pd.Series:
        """The one such row."""
        found = self.rows(table, call, **where)
        if len(found) != 1:
            raise LookupError(f"{table} has {len(found)} rows of {call} {where}, where one is wanted")
        return found.iloc[0]

    def measured(self, call: str, n: int, experiment: str = "comparison", **where) -> pd.Series:
        """An experiment's row: f32, on the device, L2 cold and dirty, unless said."""
        usual = dict(n=n, device="cuda", element_type="f32", timing_mode="device", cache_state="cold_dirty",
                     offset_elements=0, status="ok")
        return self.row(experiment, call, **(usual | where))

    def us(self, call: str, n: int, experiment: str = "comparison", **where) -> float:
        return 1e6 * self.measured(call, n, experiment, **where)["time_median_s"]

    def speedup(self, call: str, n: int, experiment: str = "comparison", **where) -> tuple[float, float, float]:
        """Over CUB, with its interval."""
        r = self.measured(call, n, experiment, **where)
        return r["speedup"], r["speedup_ci_low"], r["speedup_ci_high"]

    def contrast(self, name: str, n: int | None = None, **where) -> tuple[float, float, float]:
        """Of contrasts.csv, with its interval; where it is of several sizes or types, of that one."""
        r = self.row("contrasts", name=name, **(where | ({} if n is None else {"n": n})))
        if math.isnan(r["value"]):
            raise LookupError(f"{name}: {r['reason']}")
        return r["value"], r["ci_low"], r["ci_high"]

    def probe(self, quantity: str) -> float:
        """The median over its repeats."""
        found = self.rows("probes", quantity=quantity)["value"]
        if not len(found):
            raise LookupError(f"probes.csv has no {quantity}")
        return float(found.median())


FACTS = [
    # README.md
    # docs/results.md
    # paper/main.tex
]
