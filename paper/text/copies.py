"""What a copy of a result to the host is awaited for, by when it was queued, from probes.csv: a copy that is queued while
the kernel before it runs arrives at steps after its call, some microseconds apart, and not whenever the kernel ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

import verdicts as vd
from results import Results
from text import latex
from text.findings import ABSENT

CALL_TO_END = "copy_to_host_call_to_kernel_end"
QUEUED_BEFORE, QUEUED_AFTER, NO_COPY = "copy_to_host_queued_before_end", "copy_to_host_queued_after_end", "wait_without_copy"
CONCENTRATED = 0.75  # mean resultant length of the arrivals' phases from which on they come at steps
NEAR_US = 1.0       # so near its step is a copy that counts as arrived there


@dataclass
class Copies:
    """In microseconds. The first two have an entry for each copy that was queued while its kernel ran."""

    queued: np.ndarray   # from the copy's call to the kernel's end
    before: np.ndarray   # from the kernel's end until the result was there
    after: np.ndarray    # the same of copies called for after the end, from the call
    no_copy: np.ndarray  # from the kernel's end until the host had awaited it

    @property
    def usual(self) -> tuple[float, float]:
        """The 5th and the 95th percentile of `before`."""
        low, high = np.percentile(self.before, (5, 95))
        return float(low), float(high)

    @property
    def arrived(self) -> np.ndarray:
        """From the copy's call until the result was there."""
        return self.queued + self.before


@dataclass
class Steps:
    """At which times after its call, in microseconds, a copy that was queued before the kernel's end arrived."""

    period: float
    first: float    # the first of them at which any arrived
    near: float     # share of the copies that arrived within NEAR_US of one
    earlier: int    # copies that arrived more than half a period before the first: too few to be counted as a step


def read(folder: vd.Folder) -> Copies | None:
    """None where the folder lacks one of the probes, as older ones do."""
    def of(quantity: str) -> pd.Series:
        rows = folder.values("probes.csv", "value", {"quantity": quantity, "unit": "us"}, also=["repeat"])
        return rows.set_index("repeat")["value"]

    try:
        queued, before = of(CALL_TO_END).align(of(QUEUED_BEFORE), join="inner")
        after, no_copy = of(QUEUED_AFTER), of(NO_COPY)
    except vd.Lacking:
        return None
    return Copies(*(times.to_numpy() for times in (queued, before, after, no_copy))) if len(queued) else None


def steps(copies: Copies) -> Steps | None:
    """The longest period at which the arrivals' phases are alike (by their mean resultant length): at fractions of it they
    are, too. Of those that fit at least two and a half times into what the arrivals span, and that leave no step between the
    first and the last empty, as fractions of a longer one do. None where the phases are alike at no period: the copies come
    whenever the kernel ends."""
    arrived = copies.arrived
    if len(arrived) < 30:
        return None
    low, high = np.percentile(arrived, (5, 95))
    periods = np.arange(1.0, (high - low) / 2.5, 0.01)
    phases = np.exp(2j * np.pi * arrived[:, None] / periods).mean(axis=0)
    alike = np.abs(phases)
    peaks = [i for i in range(1, len(periods) - 1) if CONCENTRATED <= alike[i] >= max(alike[i - 1], alike[i + 1])]
    for best in reversed(peaks):
        period = float(periods[best])
        offset = float(np.angle(phases[best]) / (2 * np.pi) % 1 * period)
        step = np.round((arrived - offset) / period)
        near = np.abs(arrived - offset - step * period) <= NEAR_US
        taken = np.unique(step[near & (low <= arrived) & (arrived <= high)])  # without what waited for something else
        if len(taken) and len(taken) == taken[-1] - taken[0] + 1:
            first = offset + float(taken[0]) * period
            return Steps(period, first, float(near.mean()), int(np.sum(arrived < first - period / 2)))
    return None


def told_near(at: Steps, count: str, unit: str, percent: str) -> str:
    return (f"{100 * at.near:.0f}{percent} of {count} copies came within {latex.digits(NEAR_US)}{unit} of one of these times, "
            f"and {100 * 2 * NEAR_US / at.period:.0f}{percent} would by chance")


def plain(results: Results) -> str:
    """For the documentation, in Markdown."""
    copies = read(vd.Folder(results.folder))
    if copies is None:
        return "Neither was measured yet."
    us, (earliest, latest) = latex.digits, copies.usual
    gpu = results.machine.get("gpu.name", default=results.machine.name)
    low, high = (us(np.percentile(copies.after, q)) for q in (5, 95))
    said = (f"On one {gpu} a copy of 4 bytes that is queued after the kernel's end takes {us(np.median(copies.after))} us "
            f"(median of {len(copies.after)}; 5th to 95th percentile {low} to {high} us). Awaiting the kernel with no copy takes "
            f"{us(np.median(copies.no_copy))} us from its end on. A copy that is queued while the kernel runs takes "
            f"{us(earliest)} to {us(latest)} us from the kernel's end on")
    at = steps(copies)
    if at is None:
        return said + "; there is no period in when they arrive."
    return (f"{said}, and is there {us(at.first)} us after it was called for, or a multiple of {us(at.period)} us later: at the "
            f"first such time that is some {us(earliest)} us after the kernel's end. "
            f"{told_near(at, str(len(copies.before)), ' us', ' %')}."
            + (f" Of these copies {at.earlier} came about a period before the first." if at.earlier else ""))


def finding(results: Results) -> str:
    """For the paper, in LaTeX."""
    copies = read(vd.Folder(results.folder))
    if copies is None:
        return ABSENT
    earliest, latest = copies.usual
    time = lambda us: latex.time(1e-6 * us)  # noqa: E731
    said = (f"Awaiting a kernel takes {time(np.median(copies.no_copy))} from its end on, with a copy of 4 bytes that is called "
            f"for after the end {time(np.median(copies.after))} from the call on. A copy that is queued while the kernel runs, as "
            f"most calls that end with one do it, takes {time(earliest)} to {time(latest)} from the kernel's end on (5th to 95th "
            "percentile)")
    at = steps(copies)
    if at is None:
        return said + "."
    unit, percent = r"\,\textmu{}s", r"\,\%"
    return (f"{said}: it arrives {time(at.first)} after its call or a multiple of {time(at.period)} later, at the first such "
            f"time that is some {time(earliest)} after the kernel's end (Figure~\\ref{{fig:copies}}; "
            f"{told_near(at, latex.count(len(copies.before)), unit, percent)}). So a kernel that ends a little too late for such a "
            "time is a period later end to end, and a short call whose kernel ends near the last moment for one takes either of two "
            "times. That kernels which end soonest after the copy's call meet an earlier such time is "
            + (f"seen in {at.earlier} of them." if at.earlier else "inferred."))
