"""as_printed: what it cannot do is told in one line. The documents' programs: a simulated run shows each mistake that a
run can show, at its line, and nothing else."""

import json
import os
import re
import shlex
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from project import SOURCE

REDUCTIO = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
MEASURING = REDUCTIO.parent / "as_printed"
FOLDER = SOURCE / "baselines" / "as_printed"
DOCUMENTS = ("squares", "twopass", "unroll", "levels", "multiblock")
ID = "[a-z]+/[a-z0-9-]+"

RIGHT = [  # program and arguments; nothing is wrong with these
    ("squares", "strided 512"), ("squares", "multi-block"),
    ("twopass", "rolled 256"),
    ("unroll", "unroll2"), ("unroll", "unroll8"),
    ("levels", "reduce0"), ("levels", "naive"), ("levels", "global-stride"),
    ("multiblock", "two-launch"),
]


@pytest.mark.skipif(not MEASURING.exists(), reason="built without CUDA")
@pytest.mark.parametrize("arguments", [(), ("nowhere/at/all",), ("one", "too many")])
def test_bad_input_is_one_line(tmp_path, arguments):
    done = subprocess.run([MEASURING, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and not list(tmp_path.iterdir())
    assert done.stderr.startswith("as_printed: ") and done.stderr.count("\n") == 1


class Mistake(NamedTuple):
    name: str
    shown_by: str  # a finding's kind, "compile error" or "wrong result"; or "nothing: " and why
    runs: tuple[str, ...]  # the words behind `reductio simulate PROGRAM`
    lines: frozenset[int]  # those that end in a comment with the name
    wrong: str


@cache
def mistakes(document: str) -> tuple[Mistake, ...]:
    """The table in the program's head: id | what shows it | the runs that do | what is wrong."""
    lines = (FOLDER / f"{document}.cu").read_text().splitlines()
    rows = [m.groups() for line in lines if (m := re.fullmatch(rf"///   ({ID}) +\| (.+?) *\| (.*?) *\| (.+)", line))]
    tags: dict[str, set[int]] = {}
    for number, line in enumerate(lines, 1):
        if tag := re.search(rf"[^/]// ({ID}(?:, {ID})*)$", line):
            for name in tag.group(1).split(", "):
                tags.setdefault(name, set()).add(number)
    assert rows and not set(tags) - {row[0] for row in rows}, f"{document}.cu: lines name what its head does not"
    return tuple(Mistake(name, shown_by, tuple(runs.split("; ")) if runs != "-" else (), frozenset(tags.get(name, ())),
                         wrong) for name, shown_by, runs, wrong in rows)


def simulate(document: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([REDUCTIO, "simulate", FOLDER / f"{document}.cu", "--json", *words], capture_output=True,
                          text=True)


def explained(document: str, report: dict) -> set[str]:
    """The mistakes that the findings show; a finding that shows none of them fails."""
    shown = set()
    for finding in report["findings"]:
        here = {m.name for m in mistakes(document) if m.shown_by == finding["kind"] and finding["line"] in m.lines}
        assert here and Path(finding["file"]).name == f"{document}.cu", finding["message"]
        shown |= here
    return shown


RUNS = sorted({(document, run) for document in DOCUMENTS for m in mistakes(document) for run in m.runs})


@pytest.mark.parametrize(("document", "run"), RUNS, ids=[f"{document} {run}" for document, run in RUNS])
def test_mistakes_are_shown_at_their_lines(document, run):
    done = simulate(document, *shlex.split(run))
    here = [m for m in mistakes(document) if run in m.runs]
    if compile_errors := [m for m in here if m.shown_by == "compile error"]:
        assert done.returncode == 1 and not done.stdout
        lines = [int(line) for line in re.findall(rf"{document}\.cu:(\d+)(?::\d+)?: error:", done.stderr)]
        for m in compile_errors:  # the compiler tells what follows from the first, too
            assert lines[0] in m.lines and m.lines <= set(lines), done.stderr
        return
    report = json.loads(done.stdout)
    shown = explained(document, report)
    if report["output"].endswith(": wrong\n"):
        shown |= {m.name for m in here if m.shown_by == "wrong result" and m.lines}
    assert done.returncode == (2 if report["findings"] else 1)
    assert {m.name for m in here} <= shown, done.stderr


@pytest.mark.parametrize(("document", "arguments"), RIGHT, ids=[" ".join(run) for run in RIGHT])
def test_nothing_is_found_where_nothing_is_wrong(document, arguments):
    done = simulate(document, "--orders", "forward,random", "--", *arguments.split())
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["findings"] == [] and report["output"].endswith(": right\n")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_mistake_has_a_run_or_a_reason(document):
    for m in mistakes(document):
        if m.shown_by.startswith("nothing: "):
            assert not m.runs, m
        else:
            assert m.runs and m.lines, m


def test_the_page_counts_them():
    found = [m.shown_by.split(":")[0] for document in DOCUMENTS for m in mistakes(document)]
    page = " ".join((SOURCE / "docs" / "simulating.md").read_text().split())
    total, shown, hidden = re.search(r"the documents' (\d+) mistakes\..*?runs that show them: (.+?)\. "
                                     r"No run shows the other (\d+),", page).groups()
    counts = {kind: int(count) for kind, count in re.findall(r"([a-z ]+) (\d+)(?:, |$)", shown)}
    assert counts | {"nothing": int(hidden)} == Counter(found) and int(total) == len(found)
