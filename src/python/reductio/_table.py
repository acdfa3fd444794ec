"""The table of a comparison."""

from __future__ import annotations

import json
import sys
from typing import Any

try:
    import pandas
    _Rows = pandas.DataFrame
except ImportError:  # a table is then a list of dictionaries
    pandas = None
    _Rows = list


class Table(_Rows):
    """A comparison: a row for each variant, type, size and way of timing, beside the base.

    A pandas DataFrame if pandas is installed, else a list of dictionaries. Columns, among others: `variant`,
    `element_type`, `n` (elements), `timing_mode`, `base_time_s` and `time_s` (medians, in seconds), `ratio` (how many times
    as fast as the base) with its interval `ratio_low` and `ratio_high`, `verdict`, and `reason` where there is no ratio.
    Printed, it is what the command line prints."""

    _metadata = ["text", "comparison", "shown_in"]
    text, comparison, shown_in = None, None, None  # of one that was made by hand

    @property
    def _constructor(self):
        return pandas.DataFrame  # a part of it, or what is computed from it, is printed by pandas

    @classmethod
    def of(cls, comparison: dict[str, Any], text: str, shown: bool) -> "Table":
        table = cls(comparison["rows"])
        table.text = text
        table.shown_in = _cell() if shown else None
        table.comparison = comparison
        return table

    def __str__(self) -> str:
        return super().__repr__() if self.text is None else self.text

    def __repr__(self) -> str:
        """In one line where the cell of a notebook has printed it."""
        if self.text is None or not self.shown_in or self.shown_in != _cell():
            return str(self)
        return f"<reductio.Table of {len(self.rows())} rows over {self.rows()[0]['base']}>"

    def _repr_html_(self) -> str:
        import html
        return f"<pre>{html.escape(repr(self))}</pre>"

    def rows(self) -> list[dict]:
        """The rows as dictionaries, with or without pandas."""
        return self.comparison["rows"]

    def plot(self, file: str | None = None):
        """Draws the speedups over the base against n, with their intervals: a panel for each type and way of timing, a line
        for each variant. Writes `file` if it is named. Returns matplotlib's figure."""
        from ._plot import speedups
        figure = speedups(self.rows(), self.comparison["confidence"])
        if file is not None:
            figure.savefig(file)
        return figure


def _cell() -> int | None:
    """Which input of IPython runs, as a cell of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell.execution_count if shell else None


def read(file: str, text: str, shown: bool) -> Table:
    with open(file) as comparison:
        return Table.of(json.load(comparison), text, shown)
