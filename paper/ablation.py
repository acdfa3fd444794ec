"""What each choice at a reduction's three levels is worth: gains and interactions from ablation.csv.

Its variants are `ablation/<thread>+<block>+<between>`. A gain of a choice is over the base's choice at the same level, in
pairs of variants whose other two choices are alike; its main effect is the geometric mean over all such pairs that were
measured. The interaction of two choices is what they gain together over the product of what each gains alone. All are
products of powers of times of one group, so they are paired by round (speedup.product).
"""

from __future__ import annotations

from dataclasses import dataclass

import results as rs
import speedup
import verdicts as vd
from results import Series

# By level: its choices, as ids have them, plainest first.
LEVELS = {"thread": ("one-load", "grid-stride", "local-stride", "unrolled-4", "vectors", "vectors-4"),
          "block": ("neighbored", "neighbored-less", "interleaved", "last-warp", "shuffle"),
          "between": ("host", "second-launch", "atomic", "last-block-zeroed", "last-block", "fan-in")}
BASE = {"thread": "grid-stride", "block": "shuffle", "between": "last-block"}
# The first idea at each level, and the last.
FIRST = {"thread": "one-load", "block": "neighbored", "between": "second-launch"}
LAST = {"thread": "vectors-4", "block": "shuffle", "between": "fan-in"}
# Whole tables of two levels, the third at the base's choice.
TABLES = {("thread", "between"): (("one-load", "vectors-4"), ("second-launch", "atomic", "fan-in")),
          ("block", "between"): (("neighbored", "interleaved"), ("second-launch", "atomic", "fan-in"))}
# Of launching, in between, and of reading.
SIZES = {"small": 2**12, "middle": 2**20, "large": 2**28}
ON_HOST = "host"  # which alone has no time on the device


def variant(choices: dict[str, str]) -> str:
    return "ablation/" + "+".join(choices[level] for level in LEVELS)


def choices_of(variant: str) -> dict[str, str] | None:
    """The choices in an id; None of another variant's."""
    group, _, name = variant.partition("/")
    names = name.split("+")
    return dict(zip(LEVELS, names)) if group == "ablation" and len(names) == len(LEVELS) else None


@dataclass(frozen=True)
class Gain:
    ratio: float
    low: float
    high: float
    pairs: int = 1  # of variants that it is the mean over


class Ablation:
    """ablation.csv of one type."""

    def __init__(self, folder: vd.Folder, element_type: str = "f32"):
        if folder.experiment("ablation") is None:
            raise vd.Lacking("no ablation.csv")
        self.folder, self.element_type = folder, element_type
        self._series: dict[str, dict[str, Series]] = {}

    def series(self, mode: str) -> dict[str, Series]:
        """The composed variants' and CUB's, by variant."""
        if mode not in self._series:
            which = dict(device="cuda", operation="sum", element_type=self.element_type, cache_state="cold_dirty")
            self._series[mode] = {s.variant: s for s in self.folder.series("ablation", which, mode)
                                  if choices_of(s.variant) or s.variant == rs.BASE["sum"]}
        return self._series[mode]

    def sizes(self) -> list[int]:
        return sorted({int(n) for s in self.series("device").values() for n in s.ok["n"]})

    def at(self, choices: dict[str, str], n: int, mode: str) -> Series | None:
        """The variant of these choices, if it was measured at n."""
        found = self.series(mode).get(variant(choices))
        return found if found is not None and found.at(n) is not None else None

    def of(self, factors: list[tuple[float, Series]], n: int, pairs: int = 1) -> Gain:
        """A product of powers of times; what takes part more than once does with all its powers together."""
        powers: dict[str, float] = {}
        for power, s in factors:
            powers[s.variant] = powers.get(s.variant, 0) + power
        by_variant = {s.variant: s for _, s in factors}
        point = speedup.product(self.folder.results, [(p, by_variant[v]) for v, p in powers.items() if p], n)
        if point is None:
            raise vd.Unpaired.of(self.folder.results, list(powers), [by_variant[v] for v in powers], n)
        return Gain(float(point["ratio"]), float(point["low"]), float(point["high"]), pairs)

    def gain(self, base: dict[str, str], choices: dict[str, str], n: int, mode: str = "device") -> Gain:
        """The speedup of one variant over another."""
        sides = [self.at(base, n, mode), self.at(choices, n, mode)]
        if None in sides:
            lacking = [variant(c) for c, s in zip((base, choices), sides) if s is None]
            raise vd.Lacking(f"ablation.csv has no time of {' and '.join(lacking)} ({mode}, n = {n})")
        return self.of([(1, sides[0]), (-1, sides[1])], n)

    def main_effect(self, level: str, choice: str, n: int, base: str = "") -> Gain:
        """The mean gain of a choice over the base's, or over another, whatever the other two levels have; on the device,
        or end to end where a choice has no time there."""
        base = base or BASE[level]
        mode = "end_to_end" if ON_HOST in (choice, base) else "device"
        factors, pairs = [], []
        for name in self.series(mode):
            choices = choices_of(name)
            if choices and choices[level] == choice:
                both = [self.at(c, n, mode) for c in (choices | {level: base}, choices)]
                if None not in both:
                    pairs.append(both)
        for without, having in pairs:
            factors += [(1 / len(pairs), without), (-1 / len(pairs), having)]
        if not pairs:
            raise vd.Lacking(f"ablation.csv has no pair that tells {choice} from {base} at {n}")
        return self.of(factors, n, len(pairs))

    def interaction(self, first: tuple[str, str], second: tuple[str, str], n: int) -> Gain:
        """Of two choices, each (level, choice): the gain of both over the product of the gains of each, at the base's
        choices else."""
        one, other = dict([first]), dict([second])
        corners = [self.at(BASE | c, n, "device") for c in ({}, one, other, one | other)]
        if None in corners:
            raise vd.Lacking(f"ablation.csv lacks {first[1]} with {second[1]} at {n}")
        return self.of(list(zip((-1, 1, 1, -1), corners)), n)

    def documents(self, n: int) -> list[tuple[str, str, str, Gain]]:
        """Variant, the document's call that makes the same choices, what differs, and the variant's speedup over it; of
        those that were both measured at n."""
        catalog = rs.read_catalog(self.folder.path / "catalog.csv")
        if "embodies" not in catalog:
            return []
        which = dict(device="cuda", operation="sum", element_type=self.element_type, cache_state="cold_dirty")
        found = []
        for name, told in catalog[catalog["embodies"] != ""].iterrows():
            for mode in ("device", "end_to_end"):
                mine = self.series(mode).get(name)
                if mine is None or mine.at(n) is None:
                    continue
                try:
                    theirs = self.folder.at("ablation", which, told["embodies"], n, mode)
                    gain = self.of([(1, theirs), (-1, mine)], n)
                except vd.Lacking:  # not measured, or not in the same rounds
                    continue
                found.append((name, told["embodies"], told.get("differs", ""), gain))
                break
        return found


def read(folder: vd.Folder, element_type: str = "f32") -> Ablation | None:
    """None without ablation.csv, or without its times of this type."""
    try:
        found = Ablation(folder, element_type)
    except vd.Lacking:
        return None
    return found if found.sizes() else None
