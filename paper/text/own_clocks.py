"""Two documents' steps by the documents' own clocks, beside the device part: `squares` reads clock() in its kernels,
`unroll` the host's clock from the launch until the device is idle. From timing.csv."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import results as rs
import speedup
from results import Results, Series
from text import latex
from text.findings import ABSENT
from text.steps import LADDERS, Ladder, Rung, pick, told
from text.trust import MANY_BLOCKS

COMPARED = ("globaltimer", "device_part")  # what stands beside a document's own clock


@dataclass
class Reading:
    """One kernel by one clock."""

    value: float             # s; of clock() cycles
    gain: pd.Series | None   # over the kernel before, a row of speedup.over


class Climbed:
    """A ladder looked up in timing.csv."""

    def __init__(self, results: Results, ladder: Ladder):
        self.results, self.ladder = results, ladder
        self._found: dict[str, list[Series | None]] = {}
        for mode in (ladder.clock, *COMPARED):
            there = [] if results.timing is None else rs.series(
                results.timing, device="cuda", operation=ladder.operation, element_type=ladder.element_type, mode=mode)
            self._found[mode] = [pick([s for s in there if s.at(ladder.n) is not None], r.variant, r.settings)
                                 for r in ladder.rungs]

    def gain(self, mode: str, before: int, after: int) -> pd.Series | None:
        """Of the rung `after` over the rung `before`; None for clock() of many blocks, which mixes their counters."""
        mine, base = self._found[mode][after], self._found[mode][before]
        if mine is None or (mode == "clock" and mine.variant == MANY_BLOCKS):
            return None
        return speedup.at(self.results, mine, base, self.ladder.n)

    def reading(self, mode: str, k: int) -> Reading | None:
        mine = self._found[mode][k]
        return None if mine is None else Reading(float(mine.at(self.ladder.n)["time"]),
                                                 self.gain(mode, k - 1, k) if k else None)

    def readings(self) -> list[tuple[Rung, list[Reading | None]]]:
        """Each kernel by the document's clock and by COMPARED."""
        return [(r, [self.reading(mode, k) for mode in (self.ladder.clock, *COMPARED)])
                for k, r in enumerate(self.ladder.rungs)]


def steps(results: Results) -> str:
    """Whether the documents' own clocks and the device part agree on the steps, and on unroll's in all."""
    climbed = [Climbed(results, ladder) for ladder in LADDERS]
    agreed = []
    for c in climbed:
        pairs = [(c.gain(c.ladder.clock, k - 1, k), c.gain("device_part", k - 1, k))
                 for k in range(1, len(c.ladder.rungs))]
        pairs = [[1 if g["low"] > 1 else -1 if g["high"] < 1 else 0 for g in pair]
                 for pair in pairs if all(g is not None for g in pair)]
        if not pairs:
            return ABSENT
        agreed.append(rf"{sum(a == b for a, b in pairs)} of {len(pairs)} steps of \id{{{c.ladder.document}}}")
    unroll = climbed[-1]
    last = next(k for k, r in enumerate(unroll.ladder.rungs) if r.variant.endswith("complete"))
    ends = [unroll.gain(mode, 0, last) for mode in (unroll.ladder.clock, "device_part")]
    if any(e is None for e in ends):
        return ABSENT
    return (f"The document's clock and the device part agree in {latex.listing(agreed)} on "
            f"which kernel is faster, or that neither surely is. From {latex.code('neighbored')} to {latex.code('unroll8-complete')}, launch to idle gains "
            f"{latex.interval(ends[0])} and the device part {latex.interval(ends[1])}, where the document found "
            rf"\documentfigure{{{told('U9')[0]}}} (U9).")
