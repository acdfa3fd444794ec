"""A call that ends with a copy of its result to the host takes one of two times (text/copies.py), alone and in company: which,
and how often, from alone-samples.csv.gz."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import goals
import results as rs
from results import Results
from samples import Point
from text import latex

ALONE_SAMPLES = rs.Columns(["run_id", "variant", "timing_mode", "n", "round", "allocation", "time_s", "voided"], ["n"])
FEW = 0.1  # of the calls: where fewer take one of two times, they take the other


@dataclass
class TwoTimes:
    """A size at which a call takes one of two times. Of pairs, the first is alone, the second in company. By how much calls
    alone are longer is a difference of logarithms of means of all samples."""

    n: int
    middle_us: float
    us: tuple[float, float]         # the mean of the calls that took the shorter, and of those that took the longer
    shorter: tuple[float, float]    # the share of the calls that took the shorter
    longer_alone: float
    within: tuple[float, float]     # the same of those that took the shorter, and of those that took the longer
    with_like_shares: float         # the same, had both taken the shorter as often as the two together


@dataclass
class Explained:
    """How much more often calls in company took the shorter time, as shares of the calls, in the mean over sizes; and how
    much of that goes with how long it took them, by the line through all runs, each less the mean of its kind. With standard
    errors from runs drawn anew."""

    difference: float
    difference_error: float
    by_their_time: float
    by_their_time_error: float


@dataclass
class Samples:
    """Of calls in several runs, in microseconds."""

    in_company: dict[str, bool]              # by the run
    us: dict[int, dict[str, np.ndarray]]     # by n and the run

    def of_arm(self, n: int, in_company: bool) -> np.ndarray:
        return np.concatenate([[], *(us for run, us in self.us[n].items() if self.in_company[run] == in_company)])


def samples_of(results: Results) -> Samples:
    """alone-samples.csv.gz; empty without it."""
    path = results.folder / "alone-samples.csv.gz"
    if results.alone is None or not path.exists():
        return Samples({}, {})
    runs, read = results.alone, Samples({}, {})
    for run, source in (("base_run_id", "base_source"), ("run_id", "source")):
        read.in_company |= dict(zip(runs[run], runs[source].str.startswith("company/")))
    table = rs.read_table(path, ALONE_SAMPLES)
    if (table["variant"] != goals.CUB).any() or (table["timing_mode"] != "end_to_end").any():
        raise rs.ResultsError(f"{path} is not of {goals.CUB} end to end alone: {rs.remedy(path)}")
    if unknown := sorted(set(table["run_id"]) - set(read.in_company)):
        raise rs.ResultsError(f"{path} has samples of the run {unknown[0]}, which alone.csv.gz does not name: {rs.remedy(path)}")
    for record in table.to_dict("records"):
        read.us.setdefault(int(record["n"]), {})[record["run_id"]] = 1e6 * Point(path, [record]).times("time_s")
    return read


def middle_of_two(us: np.ndarray) -> float | None:
    """The middle between the medians of what lies on either side of it. None unless far fewer lie around it than around
    either of these."""
    middle = float(np.mean(np.percentile(us, (5, 95))))
    for _ in range(50):
        if not us.min() < middle <= us.max():
            return None
        shorter, longer = np.median(us[us < middle]), np.median(us[us >= middle])  # few late calls move no median
        middle = float((shorter + longer) / 2)
    around, at_shorter, at_longer = (np.mean(np.abs(us - at) <= (longer - shorter) / 8)
                                      for at in (middle, shorter, longer))
    return middle if 2 * around <= min(at_shorter, at_longer) else None


def split(n: int, alone: np.ndarray, company: np.ndarray) -> TwoTimes | None:
    """None where the calls take one time."""
    both = np.concatenate([alone, company])
    middle = middle_of_two(both)
    if middle is None:
        return None
    shares = [float(np.mean(us < middle)) for us in (alone, company)]
    if not all(FEW <= share <= 1 - FEW for share in shares):
        return None
    means = np.array([[us[us < middle].mean(), us[us >= middle].mean()] for us in (alone, company)])
    like = float(np.mean(shares))

    def longer(of_alone: float, of_company: float) -> float:
        return float(np.log(of_alone / of_company))

    return TwoTimes(n, middle, (float(both[both < middle].mean()), float(both[both >= middle].mean())), (shares[0], shares[1]),
                    longer(alone.mean(), company.mean()), (longer(*means[:, 0]), longer(*means[:, 1])),
                    longer(*(means @ [like, 1 - like])))


def of(samples: Samples) -> list[TwoTimes]:
    """The sizes at which the calls take two times, alone and in company."""
    found = []
    for n in sorted(samples.us):
        alone, company = samples.of_arm(n, False), samples.of_arm(n, True)
        if len(alone) and len(company) and (two := split(n, alone, company)) is not None:
            found.append(two)
    return found


def explained(samples: Samples, found: list[TwoTimes]) -> Explained | None:
    """Over the sizes found. None where runs of a kind do not differ in how long the shorter time took."""
    if not found:
        return None
    # Of each run, at each size and then over all, the share of the calls that took the shorter time and the mean of these
    # calls, less what all runs have in the mean. Of a run without such calls there is no mean.
    each = {run: [] for run in samples.in_company}
    for two in found:
        taken = {run: us[us < two.middle_us] for run, us in samples.us[two.n].items()}
        shares = {run: len(taken[run]) / len(us) for run, us in samples.us[two.n].items()}
        means = {run: float(us.mean()) for run, us in taken.items() if len(us)}
        share, mean = (float(np.mean(list(of_runs.values()))) for of_runs in (shares, means))
        for run in shares:
            each[run].append((shares[run] - share, means[run] - mean if run in means else np.nan))
    over_sizes = {run: np.ma.masked_invalid(of_run).mean(axis=0).filled(np.nan) for run, of_run in each.items() if of_run}
    kinds = [np.array([of_run for run, of_run in over_sizes.items() if samples.in_company[run] == which])
             for which in (False, True)]

    def split_up(alone: np.ndarray, company: np.ndarray) -> tuple[float, float]:
        more_often = float(company[:, 0].mean() - alone[:, 0].mean())
        timed = [kind[~np.isnan(kind[:, 1])] for kind in (alone, company)]
        if not all(map(len, timed)):
            return more_often, np.nan
        off_share, off_us = np.concatenate([kind - kind.mean(axis=0) for kind in timed]).T
        if not off_us @ off_us > 0:
            return more_often, np.nan
        longer = timed[1][:, 1].mean() - timed[0][:, 1].mean()
        return more_often, float(longer * (off_share @ off_us) / (off_us @ off_us))

    difference, by_their_time = split_up(*kinds)
    if np.isnan(by_their_time):
        return None
    generator = np.random.default_rng(1)
    drawn = [split_up(*(kind[generator.integers(len(kind), size=len(kind))] for kind in kinds)) for _ in range(400)]
    errors = np.nanstd(drawn, axis=0)
    return Explained(difference, float(errors[0]), by_their_time, float(errors[1]))


def plain(results: Results) -> list[str]:
    """For the documentation, in Markdown, a paragraph or a line of a table each; empty without such calls."""
    samples = samples_of(results)
    found = of(samples)
    if not found:
        return []

    def percent(log: float) -> str:
        return f"{100 * np.expm1(log):+.1f} %"

    lines = ["| n | two times, us | calls that take the shorter: alone, in company | longer alone: those that take the "
             "shorter | those that take the longer | all | all, had both taken the shorter as often |",
             "|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [f"| 2^{t.n.bit_length() - 1} | {latex.digits(t.us[0])}, {latex.digits(t.us[1])} | {100 * t.shorter[0]:.0f} %, "
              f"{100 * t.shorter[1]:.0f} % | {percent(t.within[0])} | {percent(t.within[1])} | {percent(t.longer_alone)} | "
              f"{percent(t.with_like_shares)} |" for t in found]
    said = f"{len(found)} of {len(samples.us)} sizes; by how much longer is in means of all these samples, none trimmed."
    if (why := explained(samples, found)) is not None:
        more, of_these = (f"{100 * points:.1f} ± {100 * error:.1f}" for points, error in (
            (why.difference, why.difference_error), (why.by_their_time, why.by_their_time_error)))
        said += (f" In the mean over these sizes calls in company take the shorter time more often by {more} percentage points. "
                 f"Of these {of_these} go with how much longer that time is there, by the line through the runs of either kind.")
    return [*lines, "", said]
