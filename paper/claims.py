#!/usr/bin/env python3
"""What the documents claim (claims.json), and the verdicts that `reductio summarize` wrote into a results folder.

    python paper/claims.py experiments/results/nvidia-h100-80gb-hbm3 --beside experiments/results/nvidia-h200

This prints in which verdicts two folders differ.
"""

import json
import sys
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import pandas as pd  # noqa: E402

from report import results as rs  # noqa: E402
from report import tables as tb  # noqa: E402
from report.command_line import Parser, one_line  # noqa: E402

FILE = Path(__file__).resolve().parent / "claims.json"
VERDICTS = tb.VERDICTS.words["verdict"]  # as they are counted
OPEN = VERDICTS[-3], VERDICTS[-1]        # within 2 % of the threshold, not decidable here
CLAIM, AT_LARGE, STEP, BESIDE = tb.VERDICTS.words["role"]
NEXT_TEST = " | "          # between the reasons of a claim's tests


@lru_cache(maxsize=1)
def listed() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def verdicts(results: rs.Results) -> pd.DataFrame | None:
    """verdicts.csv, which has each claim."""
    table, ids = results.table("verdicts"), [c["id"] for c in listed()["claims"]]
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


def one_machine() -> set[str]:
    """Claims whose tests ran on one machine for all folders: these agree with themselves."""
    return {c["id"] for c in listed()["claims"] if "one_machine" in c}


def counts(verdicts) -> dict[str, int]:
    return pd.Series(verdicts).value_counts().reindex(VERDICTS, fill_value=0).to_dict()


def print_differences(here: Path, beside: Path) -> None:
    """All rows of two folders' verdicts.csv whose verdicts differ, single steps of claims included; and how many do."""
    mine, theirs = (verdicts(rs.Results(folder)) for folder in (here, beside))
    for folder, table in ((here, mine), (beside, theirs)):
        if table is None:
            raise rs.ResultsError(f"there is no {folder / 'verdicts.csv'}: {tb.MADE_BY['verdicts.csv']}")
    same, calls = ["claim", "role", "n"], ["base", "variant"]  # one that lacks data may name no calls
    other = (mine[calls] != theirs[calls]) & (mine[calls] != "") & (theirs[calls] != "")
    if not mine[same].equals(theirs[same]) or other.any(axis=None):
        raise rs.ResultsError(f"{here} and {beside} were judged by different tests: judge both again by "
                              f"`reductio summarize`")
    both = mine.join(theirs[["verdict", "ratio"]].add_suffix("_there"))
    differ = both["verdict"] != both["verdict_there"]
    if differ.any():
        changed = both.loc[differ, [*same, *calls, "verdict", "ratio", "verdict_there", "ratio_there"]]
        print(f"_there: {beside.resolve().name}\n" + changed.astype({"n": "Int64"}).to_string(index=False, na_rep="") + "\n")
    decided = ~both["verdict"].isin(OPEN) & ~both["verdict_there"].isin(OPEN) & ~both["claim"].isin(one_machine())
    for role, words in ((CLAIM, "the documents' own sizes"), (AT_LARGE, "2^28")):
        in_role = both["role"] == role
        otherwise = (in_role & decided & differ).sum()
        how = f"{(in_role & decided).sum() - otherwise} alike and {otherwise} otherwise" if otherwise else "all alike"
        print(f"at {words}: both decide {(in_role & decided).sum()} of {in_role.sum()} verdicts, {how}")


@one_line("claims.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="claims.py", description="Prints in which verdicts two results folders differ.")
    parser.add_argument("folder", type=Path, help="results folder with a verdicts.csv")
    parser.add_argument("--beside", type=Path, metavar="DIR", required=True, help="the other results folder")
    options = parser.parse_args(arguments)
    print_differences(options.folder, options.beside)


if __name__ == "__main__":
    sys.exit(main())
