"""The steps that the documents take from one kernel to the next, and what each gains in these results.

Each step is measured at the document's own size and element type, and at 2^28. A step between kernels that leave
additions to the host is measured by their device part; a step that changes how the
result is finished is measured end to end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import results as rs
import speedup
from results import Results, Series

LARGE = 2**28


@dataclass(frozen=True)
class Step:
    claim: str       # id in claims.py
    before: str
    after: str
    n: int           # the document's own size; 2^24 where it names none
    element_type: str
    operation: str
    told: str        # the document's own figure, as LaTeX; "" where it gives none
    settings_before: dict = field(default_factory=dict)
    settings_after: dict = field(default_factory=dict)
    end_to_end: bool = False


def _squares(*step, **settings) -> Step:
    return Step(step[0], f"squares/{step[1]}", f"squares/{step[2]}", 2**20, "i32", "sum_of_squares", step[3],
                **settings)


def _twopass(*step, **settings) -> Step:
    return Step(step[0], f"twopass/{step[1]}", f"twopass/{step[2]}", 2**24, "i32", "sum", "", **settings)


def _unroll(*step) -> Step:
    return Step(step[0], f"unroll/{step[1]}", f"unroll/{step[2]}", 2**24, "i32", "sum", step[3])


def _levels(*step, **settings) -> Step:
    return Step(step[0], f"levels/{step[1]}", f"levels/{step[2]}", 2**20, "f32", "sum", "", **settings)


def _multiblock(*step) -> Step:
    return Step(step[0], f"multiblock/{step[1]}", f"multiblock/{step[2]}", 10**8, "i32", "sum", "")


_FINISH = {finish: {"finish": finish} for finish in ("host", "second-launch", "relaunch", "atomic")}

STEPS = (
    _squares("S1", "chunked", "strided", "3", settings_before={"block": "256"}, settings_after={"block": "256"}),
    _squares("S2", "strided", "strided", "1.3", settings_before={"block": "256"}, settings_after={"block": "512"}),
    _squares("S3", "strided", "multi-block", "13", settings_before={"block": "512"}),
    _squares("S4", "multi-block", "multi-block-tree", "", end_to_end=True),
    _twopass("T1", "rolled", "warp-unrolled", settings_before=_FINISH["second-launch"],
             settings_after=_FINISH["second-launch"]),
    _twopass("T2", "warp-unrolled", "template-unrolled", settings_before=_FINISH["second-launch"],
             settings_after=_FINISH["second-launch"]),
    _twopass("T3", "template-unrolled", "template-unrolled", settings_before=_FINISH["second-launch"],
             settings_after=_FINISH["host"], end_to_end=True),
    _unroll("U0", "neighbored", "neighbored-less", "1.76"),
    _unroll("U0", "neighbored-less", "interleaved", "1.20"),
    _unroll("U1", "interleaved", "unroll2", "1.82--1.83"),
    _unroll("U1", "unroll2", "unroll4", "1.44--1.46"),
    _unroll("U1", "unroll4", "unroll8", "1.44--1.45"),
    _unroll("U2", "unroll8", "unroll8-warp", "1.28--1.31"),
    _unroll("U3", "unroll8-warp", "unroll8-complete", "0.97--1.01"),
    _unroll("U3", "unroll8-complete", "unroll8-template", "0.99--1.04"),
    _unroll("U9", "neighbored", "unroll8-complete", "10"),
    _levels("L1", "divergence-free", "global-stride", settings_before=_FINISH["atomic"],
            settings_after=_FINISH["atomic"]),
    _levels("L2", "local-stride", "global-stride", settings_before=_FINISH["atomic"], settings_after=_FINISH["atomic"]),
    _levels("L3", "naive", "divergence-free", settings_before=_FINISH["atomic"], settings_after=_FINISH["atomic"]),
    _levels("L4", "divergence-free", "completely-unrolled", settings_before=_FINISH["atomic"],
            settings_after=_FINISH["atomic"]),
    _levels("L5", "global-stride", "global-stride", settings_before=_FINISH["relaunch"],
            settings_after=_FINISH["atomic"], end_to_end=True),
    _levels("L5", "global-stride", "global-stride", settings_before=_FINISH["host"], settings_after=_FINISH["atomic"],
            end_to_end=True),
    _multiblock("M2", "two-launch", "last-block"),
    _multiblock("M3", "last-block", "last-block-warp"),
)


@dataclass(frozen=True)
class Rung:
    """One kernel of a document that reports times of its own."""

    claim: str  # the step that leads here from the kernel before; "" for the first
    variant: str
    told: str   # the document's own time, as LaTeX; "" where it gives none
    settings: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Ladder:
    """A document's kernels in its order, with the times that it took by its own clock."""

    document: str
    clock: str  # the timing mode that is the document's
    n: int
    operation: str
    element_type: str
    rungs: tuple[Rung, ...]


LADDERS = (
    Ladder("squares", "clock", 2**20, "sum_of_squares", "i32", (
        Rung("", "squares/chunked", "", {"block": "256"}),
        Rung("S1", "squares/strided", r"2.6\,M cycles", {"block": "256"}),
        Rung("S2", "squares/strided", r"1.95\,M cycles", {"block": "512"}),
        Rung("S3", "squares/multi-block", r"150\,K cycles", {"block": "256"}))),
    Ladder("unroll", "launch_to_idle", 2**24, "sum", "i32", (
        Rung("", "unroll/neighbored", r"10.49\,ms"),
        Rung("U0", "unroll/neighbored-less", r"5.97\,ms"),
        Rung("U0", "unroll/interleaved", r"4.96\,ms"),
        Rung("U1", "unroll/unroll2", r"2.710--2.721\,ms"),
        Rung("U1", "unroll/unroll4", r"1.870--1.883\,ms"),
        Rung("U1", "unroll/unroll8", r"1.294--1.305\,ms"),
        Rung("U2", "unroll/unroll8-warp", r"0.992--1.010\,ms"),
        Rung("U3", "unroll/unroll8-complete", r"1.001--1.023\,ms"),
        Rung("U3", "unroll/unroll8-template", r"0.980--1.008\,ms"))),
)


@dataclass
class Gain:
    """What a step gains at one size: the speedup of the later kernel over the earlier."""

    n: int
    mode: str
    ratio: float
    low: float   # NaN for device parts without samples or an interval
    high: float

    @property
    def certain(self) -> bool:
        return self.low > 1 or self.high < 1


def pick(found: list[Series], variant: str, settings: dict) -> Series | None:
    """The first series of the variant with these settings: the first is the variant's default."""
    for s in found:
        have = rs.parse_settings(s.settings)
        if s.variant == variant and all(have.get(k) == v for k, v in settings.items()):
            return s
    return None


class Measured:
    """Steps looked up in results; what was not measured is None."""

    def __init__(self, results: Results):
        self._results, self._table = results, results.comparison

    def gain(self, step: Step, n: int, reach: float = 1.5) -> Gain | None:
        """At the measured size nearest to n, if it is within a factor of `reach`."""
        if self._table is None:
            return None
        for mode in ("end_to_end",) if step.end_to_end else ("device", "device_part", "end_to_end"):
            found = rs.series(self._table, device="cuda", operation=step.operation, element_type=step.element_type,
                              mode=mode)
            before = pick(found, step.before, step.settings_before)
            after = pick(found, step.after, step.settings_after)
            if before is None or after is None or before is after:
                continue
            both = sorted(set(before.ok["n"]) & set(after.ok["n"]), key=lambda m: abs(math.log(m / n)))
            if not both or abs(math.log(both[0] / n)) > math.log(reach):
                continue
            point = speedup.at(self._results, after, before, both[0])
            if point is not None:
                return Gain(both[0], mode, point["ratio"], point["low"], point["high"])
        return None
