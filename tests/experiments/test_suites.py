"""experiments/suites.py: what simulate says of a suite's programs becomes a table; and what the committed tables hold."""

import csv
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "suites.py"
TABLES = SOURCE / "experiments" / "results" / "suites"
spec = importlib.util.spec_from_file_location("suites", SCRIPT)
suites = importlib.util.module_from_spec(spec)
sys.modules["suites"] = suites
spec.loader.exec_module(suites)

# Plays simulate: says what `// says:` in the program tells it to, and writes down how it was called.
FAKE = """#!/usr/bin/env python3
import json, pathlib, sys, time
here = pathlib.Path(__file__)
with here.with_name("calls").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
text = pathlib.Path(sys.argv[2]).read_text()
said = [line.split("says: ", 1)[1] for line in text.splitlines() if "says: " in line]
document = {"program_exit_code": 0, "output": "", "runs": [{"order": "forward", "optimization": 0, "exit_code": 0,
                                                    "seconds": 0.0}], "findings": []}
for what in said:
    if what.startswith("refuses "):
        print(sys.argv[2] + what[8:], file=sys.stderr)
        sys.exit(1)
    elif what.startswith("prints "):
        document["output"] = what[7:]
    elif what == "sleeps":
        time.sleep(600)
    else:
        document["findings"].append({"kind": what, "kernel": "k", "block": 0, "threads": [3], "file": sys.argv[2],
                                     "line": 7, "column": 3, "message": "simulated device: " + what + " in kernel k: does " + what, "order": "forward",
                                     "optimization": 0})
print(json.dumps(document))
"""


def call(folder: Path, suite: str, *arguments: str, reductio=None):
    fake = folder / "reductio"
    if not fake.exists():
        fake.write_text(FAKE)
        fake.chmod(0o755)
    out = folder / f"{suite}.csv"
    done = subprocess.run([sys.executable, SCRIPT, suite, folder / "suite", "--reductio", reductio or fake, "--out", out,
                           "--commit", "0123456789abcdef", *arguments], capture_output=True, text=True)
    return done, list(csv.DictReader(out.open(newline=""))) if out.exists() else None


def calls(folder: Path) -> list[list[str]]:
    path = folder / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def files(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / "suite" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def an_indigo(folder: Path, **programs: str) -> None:
    files(folder, **{f"indigo/indigo_sources/sum/{name}.cu": text for name, text in programs.items()},
          **{f"indigo/input/{graph}.egr": "" for graph in ("small", "large")})


def test_names_of_indigo_tell_what_is_planted_and_kinds_whether_it_was_found(tmp_path):
    an_indigo(tmp_path, sum="// says: prints result matches serial code", sum_wrong="// says: prints result differs",
              sum_atomicBug="// says: out of bounds\n// says: race", sum_boundsBug="// says: race",
              sum_boundsBug_guardBug="// says: out of bounds", sum_noisy="// says: race",
              sum_syncBug="// says: refuses :9:1: error: no such thing")
    done, rows = call(tmp_path, "indigo", "--graphs", "small")
    assert done.returncode == 0, done.stderr
    assert {r["program"]: (r["planted"], r["kind"], r["verdict"]) for r in rows} == {
        "sum": ("", "", "right"),
        "sum_wrong": ("", "", "false alarm"),
        "sum_noisy": ("", "race", "false alarm"),
        "sum_atomicBug": ("atomic", "out of bounds; race", "right"),
        "sum_boundsBug": ("bounds", "race", "missed"),
        "sum_boundsBug_guardBug": ("bounds guard", "out of bounds", "missed"),
        "sum_syncBug": ("sync", "", "refused")}
    by_name = {r["program"]: r for r in rows}
    assert by_name["sum_atomicBug"]["message"] == "does race"  # of what is planted, not the first
    assert by_name["sum_atomicBug"]["line"] == "7"
    assert by_name["sum_syncBug"]["message"]== "line 9:1: error: no such thing"
    assert by_name["sum_wrong"]["message"] == "exit code 0: result differs"
    assert {(r["suite"], r["input"]) for r in rows} == {("01234567", "small")}
    assert calls(tmp_path)[0][-3:] == [str(tmp_path / "suite/indigo/input/small.egr"), "256", "1024"]


def test_a_call_continues_and_runs_again_what_is_named(tmp_path):
    an_indigo(tmp_path, sum="// says: prints matches", sum_raceBug="")
    assert len(call(tmp_path, "indigo", "--filter", "large")[1]) == 2
    done, rows = call(tmp_path, "indigo")
    assert [(r["program"], r["input"]) for r in rows] == [("sum", "large"), ("sum", "small"), ("sum_raceBug", "large"),
                                                          ("sum_raceBug", "small")]
    assert len(calls(tmp_path)) == 4
    call(tmp_path, "indigo", "--again", "missed")
    assert len(calls(tmp_path)) == 6
    an_indigo(tmp_path, sum_raceBug="// says: race")
    rows = call(tmp_path, "indigo", "--again", "^sum_raceBug")[1]
    assert Counter(r["verdict"] for r in rows) == {"right": 4} and len(calls(tmp_path)) == 8


def test_barracudas_scripts_are_read_and_not_run(tmp_path):
    files(tmp_path, **{"race/x.cu": "// says: race", "heap/y.cu": "// says: use after free", "heap/z.cu": "",
                       "runTests.py": "import nothing_of_this_name", "some.py": """
from elsewhere import *
raise SystemExit
tests = [
    ARaceTestProgram("race/x.cu", macros={'GLOBAL': None, 'THREADS': '2'}, testCases=[Case(Error.GLB_WAW)]),
    ARaceTestProgram("race/x.cu", macros={'SHARED': None}, testCases=[Case(Error.NO_RACE)]),
    ATestProgram("heap/y.cu", testCases=[Case(Error.GLB_W, '-o', '-1'), Case([Error.GLB_RAW, Error.GLB_WAR], '-o', '1')]),
    ATestProgram("heap/z.cu", testCases=[Case(Error.OOM)]),
]
"""})
    done, rows = call(tmp_path, "barracuda")
    assert done.returncode == 0, done.stderr
    assert [(r["program"], r["input"], r["planted"], r["verdict"]) for r in rows] == [
        ("race/x.cu", "-DGLOBAL -DTHREADS=2", "GLB_WAW", "right"),
        ("race/x.cu", "-DSHARED", "", "false alarm"),
        ("heap/y.cu", "-o -1", "GLB_W", "right"),
        ("heap/y.cu", "-o 1", "GLB_RAW GLB_WAR", "missed"),
        ("heap/z.cu", "", "OOM", "missed")]
    assert ["-DGLOBAL", "-DTHREADS=2"] in [[a for a in c if a.startswith("-D")] for c in calls(tmp_path)]


def test_a_sample_must_print_and_its_constants_are_replaced_in_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "SAMPLES", [
        suites.Sample("0/good", says="PASSED", smaller=(("good.cu", "N = 9000", "N = 9"),)),
        suites.Sample("0/bad", arguments="--n=1", says="PASSED")])
    text = "// says: prints {} // N = 9000\n"
    files(tmp_path, **{"Samples/0/good/good.cu": text.format("PASSED"), "Samples/0/bad/bad.cu": text.format("FAILED")})
    fake = tmp_path / "reductio"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    good, bad = suites.samples(tmp_path / "suite", "")
    row, _ = suites.run_case(good, str(fake), "forward", 9)
    assert (row["input"], row["verdict"]) == ("N = 9 for N = 9000", "right")
    assert not calls(tmp_path)[0][1].startswith(str(tmp_path / "suite"))
    assert (tmp_path / "suite/Samples/0/good/good.cu").read_text() == text.format("PASSED")
    row, _ = suites.run_case(bad, str(fake), "forward", 9)
    assert (row["verdict"], row["message"]) == ("false alarm", "exit code 0: FAILED // N = 9000")
    files(tmp_path, **{"Samples/0/good/good.cu": "int N = 8;"})
    with pytest.raises(suites.ResultsError, match="knows another commit"):
        suites.run_case(good, str(fake), "forward", 9)


def test_a_call_that_never_ends_is_ended(tmp_path):
    an_indigo(tmp_path, sum_raceBug="// says: sleeps")
    done, rows = call(tmp_path, "indigo", "--graphs", "small", "--timeout", "0.05")
    assert [(r["verdict"], r["message"]) for r in rows] == [("refused", "timeout")]


def test_compiling_counts_for_each_input(tmp_path, monkeypatch):
    case = suites.Case("p", "i", "", frozenset(), ())
    outcomes = iter([({"seconds": "3.00"}, 2.0), ({"seconds": "1.50"}, 0.5), ({"seconds": "4.00"}, 2.5)])
    monkeypatch.setattr(suites, "run_case", lambda *_: next(outcomes))
    assert [r["seconds"] for r in suites.run_program([case] * 3, "", "", 1)] == ["3.00", "3.00", "4.00"]


@pytest.mark.parametrize("change, message", [
    (lambda f: (f / "suite" / "indigo" / "input" / "small.egr").unlink(), "has no indigo/input/*.egr; name a folder"),
    (lambda f: (f / "reductio").chmod(0o644), "no program at"),
    (lambda f: (f / "indigo.csv").write_text("a,b\n1,2\n"), "has other columns"),
])
def test_a_refusal_is_one_line(tmp_path, change, message):
    files(tmp_path, **{"indigo/indigo_sources/sum/sum.cu": "", "indigo/input/small.egr": ""})
    (tmp_path / "reductio").write_text(FAKE)
    (tmp_path / "reductio").chmod(0o755)
    change(tmp_path)
    done, _ = call(tmp_path, "indigo")
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1


def rows_of(suite: str) -> list[dict]:
    with (TABLES / f"{suite}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_indigos_faults_are_found_as_the_page_says():
    rows = rows_of("indigo")
    races = {r["program"] for r in rows if set(r["planted"].split()) - {"bounds"}}
    bounds = {r["program"] for r in rows if r["planted"] == "bounds"}
    clean = {r["program"] for r in rows if not r["planted"]}
    assert (len(races), len(bounds), len(clean)) == (346, 64, 180) and len(rows) == 6 * 590
    hits = Counter(r["input"] for r in rows if r["program"] in races and "race" in r["kind"].split("; "))
    large = {"DAG_100n_200e", "DAG_200n_400e", "counterDAG_200n_1000e", "power_law_200n_1000e"}
    assert {hits[graph] for graph in large} == {346}
    assert hits["DAG_5n_5e"] >= 182 and hits["counterDAG_5n_5e"] >= 295  # HiRace's, by its paper
    assert not [r for r in rows if r["program"] in clean and (r["kind"] or r["verdict"] != "right")]
    assert sum(r["program"] in bounds and r["kind"] == "out of bounds" for r in rows
               if r["input"] == "power_law_200n_1000e") == 64
    page = (SOURCE / "docs" / "simulating.md").read_text()
    assert f"{hits['DAG_5n_5e']} and {hits['counterDAG_5n_5e']} of the races" in page


@pytest.mark.parametrize("suite, cases", [("barracuda", 241), ("samples", 28)])
def test_what_differs_from_a_suites_word_has_a_reason(suite, cases):
    rows = rows_of(suite)
    assert len(rows) == cases and {r["verdict"] for r in rows} <= {"right", "missed", "false alarm", "refused"}
    assert not [r for r in rows if (r["verdict"] == "right") != (r["reason"] == "")]
    counts = Counter(r["verdict"] for r in rows)
    page = (SOURCE / "docs" / "simulating.md").read_text()
    assert f"{counts['right']} of {cases} " in page
