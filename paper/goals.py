#!/usr/bin/env python3
"""Judges the goals that were set for the project's own reduction (goals-set.csv) by a results folder: goals.csv.

    python paper/goals.py experiments/results/nvidia-h200

A goal's points are an experiment's rows of one call, these types and ways of timing, and these sizes: "odd" are 2^k - 1
and 2^k + 1 elements and starts off alignment by one, "even" all others. Speedups over CUB are the rows', or those of the
contrasts that the goal names, whose verdicts say what is slower or undecided. All else is judged by estimates. A quantity
of which nothing is demanded is reported by type and way.
"""

import sys
from pathlib import Path
from statistics import geometric_mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import series as sr  # noqa: E402
from report import results as rs  # noqa: E402
from report import tables as tb  # noqa: E402
from report.command_line import Parser, one_line  # noqa: E402

SET = Path(__file__).with_name("goals-set.csv")
WORST_FIRST = MISSED, ABSENT, MET = "missed", "not measured", "met"
PART = ["element_type", "timing_mode", "cache_state"]
ODD = [2**k + d for k in range(10, 32) for d in (-1, 1)]

# Of each quantity the points' column, what is made of it, and whether at least so much is demanded, or at most.
QUANTITIES = {"slower": ("verdict", lambda v: float((v == "SLOWER").sum()), False),
              "undecided": ("verdict", lambda v: float((v == "UNDECIDED").mean()), False),
              "speedup": ("speedup", geometric_mean, True), "least_speedup": ("speedup", min, True),
              "ceiling": ("share", geometric_mean, True), "least_ceiling": ("share", min, True),
              "over_empty_s": ("over_empty", max, False)}


def points_of(results: rs.Results, goal: dict[str, str]) -> pd.DataFrame:
    """The goal's points: of each what its quantity is made of, and the ends. Empty without the file."""
    if results.table("contrasts" if goal["contrasts"] else goal["experiment"]) is None:
        return pd.DataFrame()
    where = dict(operation=goal["operation"], element_type=goal["element_types"].split())
    if goal["contrasts"]:
        rows = results.rows("contrasts", name=goal["contrasts"].split(), **where).rename(
            columns={"value": "speedup", "ci_low": "speedup_low", "ci_high": "speedup_high"}).dropna(subset=["speedup"])
        off = rows["name"].str.endswith("-start")
    else:
        rows = results.rows(goal["experiment"], goal["call"], status="ok", **where).rename(columns=sr.SHORT)
        ends = {"": rows["time"], "_low": rows["low"], "_high": rows["high"]}
        rows = rows.assign(share_low=rows["share"] * rows["time"] / rows["high"],
                           share_high=rows["share"] * rows["time"] / rows["low"],
                           **{f"over_empty{end}": time - rows["polled_launch_floor_s"] for end, time in ends.items()})
        off = rows["offset_elements"] > 0
    way = rows["timing_mode"] + "/" + rows["cache_state"]
    least, largest = float(goal["least_n"] or 0), float(goal["largest_n"] or np.inf)
    return rows[way.isin(goal["ways"].split()) & rows["n"].between(least, largest)
                & ((off | rows["n"].isin(ODD)) == (goal["sizes"] == "odd"))].dropna(subset=QUANTITIES[goal["quantity"]][0])


def judged(folder: Path) -> pd.DataFrame:
    """A row for each demand of each goal, and one for each part of what is reported alone."""
    folders = {"here": [rs.Results(folder)], "another GPU": [rs.Results(other) for other in rs.beside(folder)]}
    rows = []
    for goal in pd.read_csv(SET, keep_default_na=False, dtype=str).to_dict("records"):
        column, measure, at_least = QUANTITIES[goal["quantity"]]
        tables = [f for results in folders[goal["where"]] if len(f := points_of(results, goal))]
        points = pd.concat(tables or [pd.DataFrame(columns=[column, *PART])], ignore_index=True)
        if not goal["demanded"]:
            rows += [goal | dict(zip(PART, part), measured=measure(p[column]), points=len(p))
                     for part, p in points.groupby(PART, sort=False)]
            continue
        row = goal | dict.fromkeys(PART, "all") | {"points": len(points), "verdict": ABSENT}
        if len(points):
            measured, demanded = measure(points[column]), float(goal["demanded"])
            met = measured >= demanded if at_least else measured <= demanded
            row |= {"measured": measured, "verdict": MET if met else MISSED}
        if len(points) and measure in (min, max):  # beside an extreme stands the interval of its point
            at = points.loc[(points[column] == measured).idxmax()]
            row |= {"low": at[f"{column}_low"], "high": at[f"{column}_high"], "at": " ".join(at[PART]), "at_n": at["n"]}
        rows.append(row)
    return pd.DataFrame(rows, columns=tb.GOALS.names).astype({"at_n": "Int64"})


def verdicts(rows: pd.DataFrame) -> pd.Series:
    """By goal: met if all is that it demands."""
    return rows.dropna(subset=["verdict"]).groupby("goal", sort=False)["verdict"].agg(lambda v: min(v, key=WORST_FIRST.index))


@one_line("goals.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="goals.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="results folder to judge by; goals.csv is written into it")
    folder = parser.parse_args(arguments).folder
    if not rs.Results(folder).file("tuned.csv").exists():
        raise rs.ResultsError(f"{folder} has no tuned.csv: run `reductio run tuned` and name its folder")
    rows = judged(folder)
    rows.to_csv(folder / "goals.csv", index=False, float_format="%.6g")
    print("\n".join(f"{verdict:>13}  {goal}" for goal, verdict in verdicts(rows).items()))


if __name__ == "__main__":
    sys.exit(main())
