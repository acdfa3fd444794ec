"""The steps that the documents take from one kernel to the next, and what each gains in these results: those of the claims
(claims.json), by the very calls that the claims are judged by. And the kernels of the documents that report times of their
own, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import results as rs
import verdicts as vd
from results import Series

LARGE = 2**28
SAY_THEMSELVES = ("finish", "load", "test")  # settings whose values need no name beside them


@dataclass(frozen=True)
class Step:
    """A test of a claim that is one speedup on the GPU, of those that decide."""

    claim: str
    document: str
    test: dict  # as verdicts.test_of has it

    def words(self, side: str) -> tuple[str, str]:
        """The kernel before or after, and the settings in which it differs from the other: ("strided", "block=512"),
        ("naive", "bits")."""
        other = {"base": "variant", "variant": "base"}[side]
        (variant, mine), (_, theirs) = (_call(self.test[s]) for s in (side, other))
        return rs.short_name(variant), ", ".join(v if k in SAY_THEMSELVES else f"{k}={v}" for k, v in mine.items()
                                                if theirs.get(k) != v and k != "index")

    @property
    def modes(self) -> list[str]:
        """How the two are timed: one way, or two where they are timed apart."""
        mode = self.test["timing_mode"]
        return list(dict.fromkeys([self.test.get("base_timing_mode", mode), mode]))


@dataclass
class Gain:
    """What a step gains at one size: the speedup of the later kernel over the earlier."""

    n: int
    before: float  # the earlier kernel's time, s
    ratio: float
    low: float
    high: float


def _call(call: str) -> tuple[str, dict[str, str]]:
    variant, _, settings = call.partition(":")
    return variant, rs.parse_settings(settings.replace(",", ";"))


def steps() -> Iterator[Step]:
    claims = vd.read_claims()
    for claim in claims["claims"]:
        for told in claim["tests"]:
            test = vd.test_of(claims, claim, told)
            if test["kind"] == "ratio" and test["device"] == "cuda" and not test.get("beside"):
                yield Step(claim["id"], claim["document"], test)


def gain(folder: vd.Folder, step: Step, large: bool = False) -> Gain | None:
    """At the document's own size or the larger one; None where there is no such size, or where the folder does not have it."""
    sizes = step.test["n"]
    if large and len(sizes) < 2:
        return None
    n = sizes[1 if large else 0]
    try:
        found = folder.speedup(step.test, n)
        base = folder.at(found.experiment, step.test, step.test["base"], n, step.modes[0])
    except vd.Lacking:
        return None
    return Gain(n, float(base.at(n)["time"]), found.ratio, found.low, found.high)


def told(claim: str) -> list[str]:
    """The documents' own gains of a claim's steps."""
    return [f"{s.test['told']:g}" for s in steps() if s.claim == claim and "told" in s.test]


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


def pick(found: list[Series], variant: str, settings: dict) -> Series | None:
    """The first series of the variant with these settings: the first is the variant's default."""
    for s in found:
        have = rs.parse_settings(s.settings)
        if s.variant == variant and all(have.get(k) == v for k, v in settings.items()):
            return s
    return None
