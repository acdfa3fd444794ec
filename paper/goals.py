#!/usr/bin/env python3
"""Judges the goals that were set for the project's own reduction (goals-set.csv) by a results folder: goals.csv.

    python paper/goals.py experiments/results/nvidia-h200

A goal's points are an experiment's rows of one call, these types and ways of timing, and these sizes: "odd" are 2^k - 1
and 2^k + 1 elements and starts off alignment by one, "even" all others. Their speedup is the rows' own, over CUB, or, where
the goal names contrasts, theirs; which points are slower or undecided is said by the contrasts' verdicts. All else is
judged by estimates, as the goals were set. A quantity of which nothing is demanded is reported by type and way.
"""

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

import results as rs
from command_line import Parser, one_line

SET = Path(__file__).with_name("goals-set.csv")
MET, MISSED, ABSENT = "met", "missed", "not measured"
COLUMNS = ["goal", "what", "quantity", "element_type", "timing_mode", "cache_state", "demanded", "measured", "low", "high",
           "points", "at", "at_n", "verdict", "set"]
PART = ["element_type", "timing_mode", "cache_state"]
ODD = [2**k + d for k in range(10, 32) for d in (-1, 1)]


def mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values).mean()))


# Of each quantity the points' column, what is made of it, and whether at least so much is demanded, or at most.
QUANTITIES = {"slower": ("verdict", lambda v: float((v == "SLOWER").sum()), False),
              "undecided": ("verdict", lambda v: float((v == "UNDECIDED").mean()), False),
              "speedup": ("speedup", mean, True), "least_speedup": ("speedup", min, True),
              "ceiling": ("share", mean, True), "least_ceiling": ("share", min, True),
              "over_empty_s": ("over_empty", max, False)}


def points_of(results: rs.Results, goal: dict[str, str]) -> pd.DataFrame:
    """The goal's points: of each what its quantity is made of, and the ends. Absent where there is no such file."""
    where = dict(operation=goal["operation"], element_type=goal["element_types"].split())
    if goal["contrasts"]:
        rows = results.rows("contrasts", name=goal["contrasts"].split(), **where).rename(
            columns={"value": "speedup", "ci_low": "speedup_low", "ci_high": "speedup_high"}).dropna(subset=["speedup"])
        off = rows["name"].str.endswith("-start")
    else:
        rows = results.rows(goal["experiment"], goal["call"], status="ok", **where).rename(columns=rs.SHORT)
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
        column, of, at_least = QUANTITIES[goal["quantity"]]
        found = []
        for results in folders[goal["where"]]:
            with suppress(rs.Absent):
                found.append(points_of(results, goal))
        points = pd.concat([f for f in found if len(f)] or [pd.DataFrame(columns=[column, *PART])], ignore_index=True)
        if not goal["demanded"]:
            rows += [goal | dict(zip(PART, part), measured=of(p[column]), points=len(p))
                     for part, p in points.groupby(PART, sort=False)]
            continue
        row = goal | dict.fromkeys(PART, "all") | {"points": len(points), "verdict": ABSENT}
        if len(points):
            row["measured"] = measured = of(points[column])
            row["verdict"] = MET if (measured >= float(goal["demanded"]) if at_least else
                                     measured <= float(goal["demanded"])) else MISSED
        if len(points) and of in (min, max):  # beside an extreme stands the interval of its point
            at = points.loc[points[column].idxmin() if of is min else points[column].idxmax()]
            row |= {"low": at[f"{column}_low"], "high": at[f"{column}_high"], "at": " ".join(at[PART]), "at_n": at["n"]}
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"at_n": "Int64"})


def verdicts(rows: pd.DataFrame) -> pd.Series:
    """By goal: met if all is that it demands."""
    return rows[rows["verdict"].notna()].groupby("goal", sort=False)["verdict"].agg(
        lambda v: MISSED if MISSED in set(v) else MET if set(v) == {MET} else ABSENT)


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
