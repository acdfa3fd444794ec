"""Each claim's verdict, and what a person says of it: claims_in_words.csv, for the table of docs/claims.md."""

import csv

import pandas as pd

import claims
from claims import AT_LARGE, CLAIM, with_tests
from report import results as rs

FILE = claims.FILE.with_name("claims_in_words.csv")


def judged(results: rs.Results) -> dict[str, tuple[pd.Series, pd.DataFrame, str]]:
    """Of each claim its row, those of its tests, and its verdict: "holds", or "holds; at 2^28: no effect"."""
    table, found = claims.verdicts(results), {}
    for claim in claims.listed()["claims"]:
        first, tests = with_tests(table, claim["id"], CLAIM)
        large, _ = with_tests(table, claim["id"], AT_LARGE)
        differs = large is not None and large["verdict"] != first["verdict"]
        at_large = [f"at 2^{int(large['n']).bit_length() - 1}: {large['verdict']}"] if differs else []
        found[claim["id"]] = first, tests, "; ".join([first["verdict"], *at_large])
    return found


def in_words() -> dict[str, dict[str, str]]:
    """By claim what a person says of it, and of which verdict."""
    with FILE.open(newline="", encoding="utf-8") as file:
        return {row["claim"]: row for row in csv.DictReader(file)}
