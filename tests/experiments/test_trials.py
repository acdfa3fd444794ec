"""experiments/trials.csv has one row per trial, and every trial that code or pages name is one of them."""

import csv
import datetime
import re

import pytest
from project import SOURCE

FILE = SOURCE / "experiments" / "trials.csv"
COLUMNS = ["trial", "date", "idea", "prediction", "outcome", "verdict", "link"]
PLAIN = {"kept", "partly kept", "dropped", "open"}
NAMED = re.compile(r"\btrials? ((?:E?\d+(?:, | and | to )?)+)")
MENTIONS = [p for where in ("src", "docs", "experiments", "paper") for p in sorted((SOURCE / where).rglob("*"))
            if p.suffix in (".h", ".cuh", ".cu", ".cpp", ".py", ".md", ".tex")]


def table() -> list[dict]:
    with FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def wrong(rows: list[dict]) -> list[str]:
    ids, problems = [row["trial"] for row in rows], []
    expected = [f"{e}{k}" for e, last in (("", sum(i[0] != "E" for i in ids)), ("E", sum(i[0] == "E" for i in ids)))
                for k in range(1, last + 1)]
    if ids != expected:
        problems.append("trials are not numbered 1, 2, ... and then E1, E2, ..., each once")
    for row in rows:
        if list(row) != COLUMNS or not all(row.values()):
            problems.append(f"{row['trial']}: lacks a column, or has one too many")
            continue
        datetime.date.fromisoformat(row["date"])
        replaced = re.fullmatch(r"replaced by (E?\d+)", row["verdict"])
        if row["verdict"] not in PLAIN and not (replaced and replaced[1] in ids):
            problems.append(f"{row['trial']}: verdict '{row['verdict']}'")
        if not re.fullmatch("[0-9a-f]{8}", row["link"]) and not (SOURCE / row["link"]).is_file():
            problems.append(f"{row['trial']}: links to {row['link']}: neither a file nor a commit")
    return problems


def named(text: str) -> set[str]:
    return {i for listed in NAMED.findall(text) for i in re.findall(r"E?\d+", listed)}


def test_each_trial_is_a_row():
    assert wrong(table()) == []


@pytest.mark.parametrize("spoil", [dict(trial="7"), dict(verdict="good"), dict(verdict="replaced by 999"), dict(link=""),
                                   dict(link="src/none.h"), {None: ["one field more"]}])
def test_a_bad_row_is_named(spoil):
    rows = table()
    rows[4].update(spoil)
    assert wrong(rows)


def test_trials_that_are_named_are_rows():
    rows = {row["trial"] for row in table()}
    texts = {p.relative_to(SOURCE): named(p.read_text(encoding="utf-8")) for p in MENTIONS}
    assert {str(p): ids - rows for p, ids in texts.items() if ids - rows} == {}
    assert sum(map(len, texts.values())) > 10


def test_names_of_trials_are_found():
    assert named("(trial 21 of x), trials 14, 24 to 26, and trial E35; 300 trials") == {"14", "21", "24", "26", "E35"}
