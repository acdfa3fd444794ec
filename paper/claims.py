"""What the documents claim, and the tests of it: claims.json. The verdicts on it are in a results folder."""

import json
from functools import lru_cache
from pathlib import Path

import pandas as pd

from report import results as rs
from report import tables as tb

FILE = Path(__file__).resolve().parent / "claims.json"


@lru_cache(maxsize=1)
def listed() -> dict:
    """A test of a `range` is one test for each value, `at` which it is."""
    listing = json.loads(FILE.read_text(encoding="utf-8"))
    for claim in listing["claims"]:
        for holder, key in ((claim, "tests"), *((change, "before") for change in claim.get("changes", []))):
            holder[key] = [each for test in holder[key] for each in over_range(test)]
    return listing


def over_range(test: dict) -> list[dict]:
    if "range" not in test:
        return [test]
    (name, values), = test["range"].items()
    rest = {k: v for k, v in test.items() if k != "range"}
    return [{**rest, "contrast": test["contrast"].replace(f"{{{name}}}", str(v)), "at": v, "each": name} for v in values]


def verdicts(results: rs.Results) -> pd.DataFrame | None:
    """As verdicts.py wrote it, of each claim."""
    table, ids = results.table("verdicts"), [c["id"] for c in listed()["claims"]]
    if table is not None and table.loc[table["role"] == "claim", "claim"].tolist() != ids:
        raise rs.ResultsError(f"{results.file('verdicts.csv')} does not have each claim of claims.json once: "
                              f"{tb.MADE_BY['verdicts.csv']}")
    return table
