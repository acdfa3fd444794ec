"""What the type of a loop's index costs: index.csv, each kernel with a loop of its own by the type that it counts with.

A signed index may not overflow, so nvcc knows the number of steps of a loop `for (i = tid; i < n; i += stride)` before it
begins, and unrolls it: several loads are in flight at once. An unsigned index may wrap round: in PTX the loop stays as
it stands, and in machine code it is unrolled only where the stride is a constant, and less.
tests/kernels/test_loops.py counts the loads that nvcc leaves in flight in each loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import results as rs
import speedup
from results import Results, Series
from text import latex
from text.findings import ABSENT, SIZES

ELEMENTS = "i32"
TYPES = ("i32", "i64", "u32", "u64")
SIGNED, UNSIGNED = "i32", "u64"  # the two that are compared: a document's int, and size_t
OWN = {"squares": "i32", "twopass": "u64", "levels": "i32", "multiblock": "i32"}  # what each document counts with

# Kernels of one block are slow on large inputs: they stand at their document's own size.
ONE_BLOCK = ("squares/chunked", "squares/strided")


def is_plain(variant: str) -> bool:
    """Whether the loop goes by one stride until one condition fails. A contiguous chunk's ++i is unrolled whatever the
    type, the loops of `levels`, which have two conditions, are not with any."""
    return rs.group_of(variant) != "levels" and variant != "squares/chunked"


@dataclass
class Counted:
    """One kernel at one size."""

    variant: str
    words: str                  # what tells its settings from others of the variant, beside the index
    n: int
    series: dict[str, Series]   # by the index's type; those that were measured
    gain: pd.Series | None      # the speedup of SIGNED over UNSIGNED, a row of speedup.over
    cub: Series | None          # CUB's call of the same operation, on the device

    @property
    def mode(self) -> str:
        return next(iter(self.series.values())).mode

    @property
    def name(self) -> str:
        return latex.code(self.variant) + (f" ({latex.escape(self.words)})" if self.words else "")


def counted(results: Results) -> list[Counted]:
    """Every kernel at the sizes that are shown, in the paper's order; empty without index.csv."""
    if results.index is None:
        return []
    found: list[Counted] = []
    for operation, cub in rs.BASE.items():
        there = rs.device_series(results.index, device="cuda", operation=operation, element_type=ELEMENTS)
        base = next((s for s in there if s.variant == cub and s.mode == "device"), None)
        by_kernel: dict[tuple, dict[str, Series]] = {}
        for s in there:
            settings = rs.parse_settings(s.settings)
            index = settings.pop("index", None)
            if index in TYPES:
                by_kernel.setdefault((s.variant, tuple(settings.items())), {})[index] = s
        for (variant, settings), of in by_kernel.items():
            others = [dict(o) for v, o in by_kernel if v == variant]
            words = ", ".join(f"{k}={v}" for k, v in settings if any(o.get(k) != v for o in others))
            for n in (SIZES["Small"],) if variant in ONE_BLOCK else (SIZES["Medium"], SIZES["Large"]):
                if any(s.at(n) is not None for s in of.values()):
                    gain = speedup.at(results, of[SIGNED], of.get(UNSIGNED), n) if SIGNED in of else None
                    found.append(Counted(variant, words, n, of, gain, base))
    return sorted(found, key=lambda c: (rs.DOCUMENTS.index(rs.group_of(c.variant))
                                        if rs.group_of(c.variant) in rs.DOCUMENTS else len(rs.DOCUMENTS),
                                        c.variant, c.words, c.n))


def at_largest(found: list[Counted]) -> list[Counted]:
    """Of each kernel the largest size that has a gain."""
    return list({(c.variant, c.words): c for c in found if c.gain is not None}.values())


def index(results: Results) -> str:
    """How far the gains of a signed index reach, where the loop is plain and where it is not."""
    found = at_largest(counted(results))

    def told(of: list[Counted]) -> str:
        ends = [pick(of, key=lambda c: c.gain["ratio"]) for pick in (min, max)]
        return " to ".join(f"{latex.interval(c.gain)} ({c.name}, {latex.power(c.n)})"
                           for c in ends[:1 + (ends[0] is not ends[1])])

    plain, other = ([c for c in found if is_plain(c.variant) == which] for which in (True, False))
    if not plain or not other:
        return ABSENT
    return f"The speedup of i32 over u64 is {told(plain)} in the plain loops, and {told(other)} in the others."


def blocks(results: Results) -> str:
    """The three kernels of multiblock, whose loops are one."""
    of = {rs.short_name(c.variant): c for c in at_largest(counted(results)) if rs.group_of(c.variant) == "multiblock"}
    names = ("last-block", "two-launch", "last-block-warp")
    if not set(names) <= set(of):
        return ABSENT
    said = latex.grouped([(latex.code(n), latex.digits(of[n].gain["ratio"])) for n in names], "in")
    return f"At {latex.power(of[names[0]].n)} it is {said}."


def over_cub(results: Results) -> tuple[Counted, pd.Series, pd.Series] | None:
    """A document's int kernel, and its speedup over CUB with SIGNED and with UNSIGNED."""
    for c in counted(results):
        if c.variant == "multiblock/last-block-warp" and c.n == SIZES["Large"]:
            over = [speedup.at(results, c.series[t], c.cub, c.n) for t in (SIGNED, UNSIGNED) if t in c.series]
            if len(over) == 2 and all(o is not None for o in over):
                return c, over[0], over[1]
    return None


def porting(results: Results) -> str:
    """What the documents' int kernels would be judged to be with a size_t index."""
    found = counted(results)
    said = []
    over = over_cub(results)
    if over:
        c, signed, unsigned = over
        said.append(f"{latex.code(c.variant)} would have a speedup over CUB of {latex.interval(unsigned)} in place of "
                    f"{latex.interval(signed)} at {latex.power(c.n)}")
    chunked = [c for c in found if c.variant == "squares/chunked"]
    strided = [c for c in found if c.variant == "squares/strided" and c.words in ("", "block=256")]
    if chunked and strided:
        gains = [speedup.at(results, strided[0].series[t], chunked[0].series[t], strided[0].n)
                 for t in (SIGNED, UNSIGNED) if t in strided[0].series and t in chunked[0].series]
        if len(gains) == 2 and all(g is not None for g in gains):
            said.append(f"the step from a chunk for each thread to a stride (S1) would gain {latex.interval(gains[1])} in "
                        f"place of {latex.interval(gains[0])}")
    return f"Counted by u64, {' and '.join(said)}." if said else ABSENT
