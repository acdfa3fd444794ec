"""experiments/planted.py: what the program says becomes rows, and of the rows it is told how many slowdowns were
found."""

import csv
import importlib.util
import sys

import pytest
import unread
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "planted.py"
spec = importlib.util.spec_from_file_location("planted", SCRIPT)
planted = importlib.util.module_from_spec(spec)
sys.modules["planted"] = planted
spec.loader.exec_module(planted)

# Plays the program: two kernels of which the second takes 1/0.98 of the base's time and what is planted; a comparison
# with a baseline needs that baseline. It keeps its command lines beside itself.
FAKE = """#!/usr/bin/env python3
import json, pathlib, sys
arguments = sys.argv[1:]
here = pathlib.Path(__file__).parent
with (here / "asked").open("a") as file:
    print(" ".join(arguments), file=file)
asked = (here / "asked").read_text().count("\\n")
def of(option):
    return arguments[arguments.index(option) + 1] if option in arguments else ""
if (here / "broken").exists() and asked >= int((here / "broken").read_text()):
    sys.exit("reductio: something is wrong")
if of("--save-baseline"):
    (pathlib.Path(of("--out")) / of("--save-baseline")).touch()
    sys.exit(0)
native = 0.98
if of("--baseline"):
    assert (pathlib.Path(of("--out")) / of("--baseline")).exists()
    native = 1
share = float(of("--plant").split("=")[1].rstrip("%")) / 100
width = float((here / "width").read_text()) if (here / "width").exists() else 0.001
rows = []
for n in map(int, of("--sizes").split(",")):
    ratio = native / (1 + share)
    low, high, effect = ratio - width, ratio + width, float(of("--effect"))
    verdict = ("SLOWER" if high < 1 / (1 + effect) else
               "SAME" if low > 1 / (1 + effect) and high < 1 + effect else "UNDECIDED")
    rows.append({"n": n, "verdict": verdict, "ratio": ratio, "ratio_low": low, "ratio_high": high,
                 "planted_s": share * 1e-5, "reason": ""})
    if (here / "refused").exists() and n == 2**28:
        rows[-1] |= {"verdict": "", "ratio": None, "ratio_low": None, "ratio_high": None, "reason": "needs 1 GiB"}
run = {"run_id": f"run-{asked}", "machine_id": "GPU-1", "git_revision": "abc"}
print(json.dumps({"origins": [{"runs": [{}]}, {"runs": [run]}], "rows": rows}))
"""


@pytest.fixture
def fake(tmp_path):
    path = tmp_path / "bin" / "reductio"
    path.parent.mkdir()
    path.write_text(FAKE)
    path.chmod(0o755)
    return path


def run(fake, *arguments):
    return planted.main([str(fake.parent.parent / "out"), "--reductio", str(fake), *arguments])


def rows(fake):
    return list(csv.DictReader((fake.parent.parent / "out" / "planted.csv").open(newline="")))


def asked(fake):
    return (fake.parent / "asked").read_text().splitlines()


def test_measuring_goes_on_where_nobody_reads_what_is_printed(fake):
    done = unread.run(SCRIPT, fake.parent.parent / "out", "--reductio", fake, "--cases", "live-2^16,live-2^20")
    assert (done.returncode, done.stderr) == (0, "")
    assert {r["case"] for r in rows(fake)} == {"live-2^16", "live-2^20"}


def test_two_kernels_are_compared_with_and_without_a_planted_slowdown(fake, capsys):
    assert run(fake, "--cases", "live-2^16", "--controls", "2") == 0
    found = rows(fake)
    assert list(found[0]) == planted.COLUMNS
    assert [float(r["planted"]) for r in found] == 2 * (5 * [0.01] + [0])
    assert [r["process"] for r in found] == [str(k + 1) for k in range(12)] and {r["n"] for r in found} == {"65536"}
    assert found[0]["verdict"] == "SLOWER" and float(found[0]["planted_s"]) == pytest.approx(1e-7)
    assert found[0]["exit_code"] == "0"
    assert [r["run_id"] for r in found] == [f"run-{k + 1}" for k in range(12)]
    assert {(r["machine_id"], r["git_revision"]) for r in found} == {("GPU-1", "abc")}
    assert asked(fake)[0] == ("compare cub/sum multiblock/last-block-warp --effect 0.003 --sizes 65536 --types f32 "
                              "--device cuda --timeout 3 --max-samples 16000 --allocations 96 "
                              "--plant multiblock/last-block-warp=1% --json")
    assert "--plant multiblock/last-block-warp=0% --json" in asked(fake)[5]
    said = capsys.readouterr().out
    assert said.startswith("   met  live-2^16 n=2^16, 1 % planted: found in 10 of 10 processes, and in 0 of 2 without "
                           "a planted slowdown (ratio 0.9800); a process took at most ")
    assert said.endswith(" s of 30 s\n") and said.count("\n") == 1


def test_what_is_slower_anyhow_is_not_told_by_that(fake, capsys):
    """The intervals lie below 1, but not below what two kernels take without a planted slowdown."""
    (fake.parent / "width").write_text("0.008")
    assert run(fake, "--cases", "live-2^24", "--controls", "2") == 0
    said = capsys.readouterr().out
    assert {r["verdict"] for r in rows(fake)} == {"SLOWER"}
    assert "found in 0 of 10 processes" in said and said.startswith("missed")


def test_a_baseline_is_saved_once_and_compared_with_by_each_process(fake, capsys):
    assert run(fake, "--cases", "baseline", "--controls", "2", "--gpu", "0") == 0
    lines = asked(fake)
    assert len(lines) == 23
    assert "--plant multiblock/last-block-warp=0% --save-baseline planted" in lines[0]
    assert "cub/sum" not in "".join(lines)
    assert all("--baseline planted" in line and "--gpu 0" in line for line in lines[1:])
    sizes = len(planted.CASES[-1].sizes)
    assert len(rows(fake)) == 22 * sizes
    said = capsys.readouterr().out.splitlines()
    assert len(said) == sizes and all(line.startswith("   met") for line in said)
    assert all("found in 20 of 20 processes, and in 0 of 2 without" in line for line in said)


def rows_of(case: str, slowed: int, controls: list[float], verdict: str = "") -> list[dict]:
    """Of one size, with a tenth of a percent of noise: slowed processes, which take 1 % longer than without, and
    controls."""
    row = {"case": case, "n": 2**16, "seconds": 1}
    return ([row | {"planted": 0.01, "ratio": 0.97, "ci_high": 0.971, "verdict": "SLOWER"}] * slowed +
            [row | {"planted": 0, "ratio": r, "ci_high": r + 0.001, "verdict": verdict} for r in controls])


def test_false_alarms_are_counted():
    """Of a baseline that all differs from, and where a slowdown is found in one control among the others."""
    live, baseline = planted.CASES[0], planted.CASES[-1]
    assert planted.sentence(rows_of("live-2^16", 10, [0.98, 0.981, 0.979]), live, 2**16).startswith("   met")
    said = planted.sentence(rows_of("live-2^16", 10, [0.98, 0.981, 0.979, 0.96]), live, 2**16)
    assert said.startswith("missed") and "and in 1 of 4 without" in said
    assert planted.sentence(rows_of("baseline", 20, [1, 1.001]), baseline, 2**16).startswith("   met")
    said = planted.sentence(rows_of("baseline", 20, [0.9, 0.9], "SLOWER"), baseline, 2**16)
    assert said.endswith("; all beside one baseline, so not independent")
    assert "independent" not in planted.sentence(rows_of("live-2^16", 10, [0.98, 0.981, 0.979]), live, 2**16)
    assert said.startswith("missed") and "and in 2 of 2 without" in said


@pytest.mark.parametrize("slowed, controls", [(9, [1, 1]), (20, []), (20, [1])])
def test_with_too_few_processes_it_stays_open(slowed, controls):
    assert planted.sentence(rows_of("baseline", slowed, controls), planted.CASES[-1], 2**16).startswith("  open")


def test_a_row_without_a_verdict_is_one_with_its_reason(fake, capsys):
    (fake.parent / "refused").touch()
    assert run(fake, "--cases", "baseline", "--processes", "2", "--controls", "1") == 1
    last = [r for r in rows(fake) if r["n"] == str(2**28)]
    assert {(r["verdict"], r["ratio"], r["reason"]) for r in last} == {("", "", "needs 1 GiB")}
    assert "3 processes gave no verdict" in capsys.readouterr().err


def test_an_earlier_runs_rows_stay(fake, capsys):
    assert run(fake, "--cases", "live-2^16", "--processes", "2", "--controls", "0") == 0
    before = rows(fake)
    assert run(fake, "--cases", "live-2^20", "--processes", "1", "--controls", "0") == 0
    assert rows(fake)[:2] == before and len(rows(fake)) == 3
    (fake.parent / "broken").write_text("1")
    kept = (fake.parent.parent / "out" / "planted.csv").read_bytes()
    assert run(fake, "--cases", "live-2^16") == 1
    assert (fake.parent.parent / "out" / "planted.csv").read_bytes() == kept


def test_what_is_not_found_is_not_met(fake, capsys):
    (fake.parent / "width").write_text("0.2")
    run(fake, "--cases", "baseline", "--controls", "2")
    said = capsys.readouterr().out.splitlines()
    assert said and all(line.startswith("missed") and "found in 0 of 20" in line for line in said)


def test_a_process_that_fails_is_a_row_with_the_reason(fake, capsys):
    (fake.parent / "broken").write_text("3")
    assert run(fake, "--cases", "live-2^16", "--processes", "3", "--controls", "0") == 1
    found = rows(fake)
    assert [(r["verdict"], r["exit_code"], r["reason"]) for r in found] == [
        ("SLOWER", "0", ""), ("SLOWER", "0", ""), ("", "1", "reductio: something is wrong")]
    said = capsys.readouterr()
    assert said.err == "planted.py: 1 process gave no verdict: column reason of planted.csv\n"
    assert said.out.startswith("  open")


@pytest.mark.parametrize("arguments, says", [
    (["--device", "sim"], "the simulated device keeps no time"),
    (["--cases", "alive"], "there is no case 'alive': live-2^16"),
    (["--processes", "0"], "--processes takes a number from 1 on"),
    (["--reductio", "/nowhere"], "/nowhere cannot be run: No such file or directory")])
def test_what_cannot_be_measured_is_one_line(fake, capsys, arguments, says):
    assert run(fake, *arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"planted.py: error: {says}") and said.count("\n") == 1


@pytest.mark.parametrize("case", ["live-2^16", "baseline"])
def test_a_program_that_measures_nothing_ends_it_with_its_own_words(fake, capsys, case):
    (fake.parent / "broken").write_text("1")
    assert run(fake, "--cases", case) == 1
    said = capsys.readouterr().err
    assert said.startswith("planted.py: error: ") and said.endswith("reductio: something is wrong\n")
    assert said.count("\n") == 1
