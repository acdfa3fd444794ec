#!/usr/bin/env python3
"""What the documents claim (claims.json), and the verdicts that `reductio summarize` wrote into a results folder.

    python paper/claims.py experiments/results/nvidia-h100-80gb-hbm3 --beside experiments/results/nvidia-h200

This prints in which verdicts two folders differ.
"""

import csv
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import pandas as pd  # noqa: E402

import contrasts  # noqa: E402
from report import results as rs  # noqa: E402
from report import tables as tb  # noqa: E402
from report.command_line import Parser, one_line  # noqa: E402

FILE = Path(__file__).with_name("claims.json")
LISTED = json.loads(FILE.read_text(encoding="utf-8"))
DOCUMENTS = LISTED["documents"]  # in which operation, type, timing mode and so on the claims of each are judged
VERDICTS = tb.VERDICTS.words["verdict"]  # as they are counted
OPEN = VERDICTS[-3], VERDICTS[-1]        # within 2 % of the threshold, not decidable here
CLAIM, AT_LARGE, STEP, BESIDE = tb.VERDICTS.words["role"]
NEXT_TEST = " | "          # between the reasons of a claim's tests
TEST, CALLS = ["claim", "role", "n"], ["base", "variant"]


def verdicts(results: rs.Results) -> pd.DataFrame | None:
    """verdicts.csv, which has each claim."""
    table, ids = results.table("verdicts"), [c["id"] for c in LISTED["claims"]]
    if table is not None and table.loc[table["role"] == CLAIM, "claim"].tolist() != ids:
        raise rs.ResultsError(f"{results.file('verdicts.csv')} does not have each claim of claims.json once: "
                              f"{tb.MADE_BY['verdicts.csv']}")
    return table


def with_tests(table: pd.DataFrame, claim: str, role: str) -> tuple[pd.Series | None, pd.DataFrame]:
    """A claim's verdict, that counts or at 2^28, and the rows of its tests, which follow it where it has several."""
    rows = table[table["claim"] == claim]
    for _, group in rows.groupby((rows["role"] != STEP).cumsum()):
        if group["role"].iloc[0] == role:
            return group.iloc[0], group[1:] if len(group) > 1 else group
    return None, rows[:0]


def judged(results: rs.Results) -> dict[str, tuple[pd.Series, pd.DataFrame, str]]:
    """Of each claim its row, those of its tests, and its verdict: "holds", or "holds; at 2^28: no effect"."""
    table, found = verdicts(results), {}
    for claim in LISTED["claims"]:
        first, tests = with_tests(table, claim["id"], CLAIM)
        large, _ = with_tests(table, claim["id"], AT_LARGE)
        verdict = first["verdict"]
        if large is not None and large["verdict"] != verdict:
            verdict += f"; at 2^{int(large['n']).bit_length() - 1}: {large['verdict']}"
        found[claim["id"]] = first, tests, verdict
    return found


def in_words() -> dict[str, dict[str, str]]:
    """By claim what a person says of it, and of which verdict."""
    with FILE.with_name("claims_in_words.csv").open(newline="", encoding="utf-8") as file:
        return {row["claim"]: row for row in csv.DictReader(file)}


def judged_elsewhere(d: rs.Results) -> set[str]:
    """Claims that are judged by what ran on no GPU of this folder: by a CPU's times, or a table of another GPU."""

    def is_elsewhere(test: dict) -> bool:
        if "file" not in test:
            return any(a.group.get("device") == "cpu" for a in contrasts.named(test["contrast"].partition("{")[0]))
        table = d.table(test["file"].partition(".")[0])
        return table is None or "gpu" in table and set(table["gpu"]) != {d.machine.gpu}

    return {c["id"] for c in LISTED["claims"] if any(map(is_elsewhere, c["tests"]))}


def beside(here: rs.Results, there: rs.Results) -> pd.DataFrame:
    """The rows of two folders' verdicts.csv, of the other's also verdict and ratio; whether verdicts `differ`, and
    whether both folders have `decided` them by data of their own."""
    mine, theirs = map(verdicts, (here, there))
    for results, table in ((here, mine), (there, theirs)):
        if table is None:
            raise rs.ResultsError(f"there is no {results.folder / 'verdicts.csv'}: {tb.MADE_BY['verdicts.csv']}")
    # One that lacks data may name no calls.
    other = (mine[CALLS] != theirs[CALLS]) & (mine[CALLS] != "") & (theirs[CALLS] != "")
    if not mine[TEST].equals(theirs[TEST]) or other.any(axis=None):
        raise rs.ResultsError(f"{here.folder} and {there.folder} were judged by different tests: judge both again by "
                              f"`reductio summarize`")
    both = mine.join(theirs[["verdict", "ratio"]].add_suffix("_there"))
    elsewhere = judged_elsewhere(here) | judged_elsewhere(there)  # a table agrees with itself
    undecided = both["verdict"].isin(OPEN) | both["verdict_there"].isin(OPEN) | both["claim"].isin(elsewhere)
    return both.assign(differ=both["verdict"] != both["verdict_there"], decided=~undecided)


@one_line("claims.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="claims.py", description="Prints in which verdicts two results folders differ.")
    parser.add_argument("folder", type=Path, help="results folder with a verdicts.csv")
    parser.add_argument("--beside", type=Path, metavar="DIR", required=True, help="the other results folder")
    options = parser.parse_args(arguments)
    # All rows whose verdicts differ, single steps of claims included; and how many do.
    both = beside(rs.Results(options.folder), rs.Results(options.beside))
    if both["differ"].any():
        changed = both.loc[both["differ"], [*TEST, *CALLS, "verdict", "ratio", "verdict_there", "ratio_there"]]
        rows = changed.astype({"n": "Int64"}).to_string(index=False, na_rep="")
        print(f"_there: {options.beside.resolve().name}\n{rows}\n")
    for role, words in ((CLAIM, "the documents' own sizes"), (AT_LARGE, "2^28")):
        asked = both[both["role"] == role]
        decided = asked[asked["decided"]]
        otherwise = decided["differ"].sum()
        how = f"{len(decided) - otherwise} alike and {otherwise} otherwise" if otherwise else "all alike"
        print(f"at {words}: both decide {len(decided)} of {len(asked)} verdicts, {how}")


if __name__ == "__main__":
    sys.exit(main())
