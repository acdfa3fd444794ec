"""claims: what a folder's verdicts.csv says, in the terminal; and what is no such file."""

import shutil

import pandas as pd
import pytest
import synthetic
from project import judge

import claims
from report import tables as tb

HOLDS, *_, REVERSED, UNDECIDED = claims.VERDICTS
COUNTED = dict(zip(claims.VERDICTS, (3, 1, 2, 2, 1, 4, 23)))


def row(claim: str, verdict: str, role: str = claims.CLAIM, **more) -> dict:
    return dict.fromkeys(tb.VERDICTS.names, "") | dict(claim=claim, verdict=verdict, role=role, statement=f"what {claim} says",
                                                       reason=f"why {claim} {verdict}") | more


@pytest.fixture
def folder(tmp_path):
    """36 claims, the first of them with an interval, the second with two tests."""
    ids = [c["id"] for c in claims.LISTED["claims"]]
    words = [v for v, count in COUNTED.items() for _ in range(count)]
    rows = [row(c, v, n="1048576", ratio="3.80438", ci_low="3.79291", ci_high="3.81598", threshold="> 1.02",
                base="squares/chunked:block=256", variant="squares/strided:block=256") for c, v in zip(ids[:1], words)]
    rows += [row(ids[0], REVERSED, claims.AT_LARGE, n=str(2**28), ratio="0.5")]
    rows += [row(c, v) for c, v in zip(ids[1:], words[1:])]
    rows[3:3] = [row(ids[1], HOLDS, claims.STEP, n="100000000"), row(ids[1], UNDECIDED, claims.STEP, reason="no ncu.csv")]
    machine = tmp_path / "machine"
    machine.mkdir()
    pd.DataFrame(rows).to_csv(machine / "verdicts.csv", index=False, lineterminator="\n")
    return machine


def test_every_claim_stands_there_once_and_is_counted(reductio, folder):
    lines = reductio("claims", folder).ok().splitlines()
    ids = [c["id"] for c in claims.LISTED["claims"]]
    assert [line.split()[0] for line in lines[1:-2]] == ids
    assert lines[0].split()[:2] == ["claim", "verdict"]
    assert lines[1].split() == "S1 holds 2^20 3.804 [3.793, 3.816] what S1 says".split()
    assert lines[-1] == ("36 claims: 3 holds, 1 holds but weaker, 2 mixed, 2 no effect, 1 within 2 % of the threshold, 4 reversed, "
                         "23 not decidable here")


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("claims", [[], ["S1"]], ids=["all", "S1"])
def test_no_line_is_wider_than_the_terminal(reductio, folder, columns, claims):
    edited(folder, "what S1 says", "what S1 says " + "at some length " * 12)
    lines = reductio("claims", folder, *claims, COLUMNS=str(columns)).ok().splitlines()
    assert max(map(len, lines)) <= columns
    words = " ".join(" ".join(lines).split())
    assert words.count("at some length") == 12 and (claims or "36 claims: 3 holds" in words)


def test_a_claim_by_name_is_told_in_full(reductio, folder):
    said = reductio("claims", folder, "S1", "S2").ok()
    assert said.splitlines() == [
        "S1: what S1 says", "  holds at 2^20, 3.804 [3.793, 3.816]: why S1 holds",
        "    squares/strided:block=256 over squares/chunked:block=256 (> 1.02)",
        "  reversed at 2^28, 0.5: why S1 reversed", "S2: what S2 says", "  holds: why S2 holds",
        "    holds at 100000000: why S2 holds", "    not decidable here: no ncu.csv"]
    assert reductio("claims", folder, "s1", "s2").ok() == said
    (folder.parent / "out" / "results").mkdir(parents=True)
    shutil.copytree(folder, folder.parent / "out" / "results" / "machine")
    (folder.parent / "out" / "results" / "machine" / "machine.json").write_text("{}")
    assert reductio("claims", "s1", "s2").ok() == said  # of the folder in out/results
    mixed = reductio("claims", folder, "S1", "S99")
    assert "unknown claim 'S99'" in mixed.error() and not mixed.out  # not after the half of it


def test_what_summarize_makes_of_rows_is_read(reductio, tmp_path):
    folder = judge(synthetic.write_contrasts(synthetic.write_folder(tmp_path / "synthetic"), {"S1": None}))
    assert "36 not decidable here" in reductio("claims", folder).ok().splitlines()[-1]


def test_what_decides_nothing_says_so(reductio, folder):
    edited(folder, ",step,\nS3,", f",step,\nS2,{',' * 10}1.5,1.4,1.6,,holds,by the way,beside,\nS3,")
    said = reductio("claims", folder, "S2").ok()
    assert "\n    for information only: holds, 1.5 [1.4, 1.6]: by the way" in said


def edited(folder, old: str, new: str) -> None:
    path = folder / "verdicts.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_is_no_verdicts_csv_is_one_line(reductio, folder, tmp_path):
    assert "is not a folder" in reductio("claims", "nowhere").error()
    assert "folder" in reductio("claims").error()
    assert f"{tmp_path} holds no results: name a results folder" in reductio("claims", tmp_path).error()
    (tmp_path / "machine.json").write_text("{}")
    said = reductio("claims", tmp_path).error()
    assert "there is no" in said and f"run `reductio summarize {tmp_path} --cpu-results FOLDER` in the" in said
    whole = (folder / "verdicts.csv").read_bytes()
    for old, new, message in (("threshold", "limit", "lacks the column threshold"),
                              ("claims_version", "edition", "lacks the column claims_version"),
                              (",holds,", ",sticks,", "unknown verdict 'sticks'"),
                              ("3.80438", "3.8x", "ratio is '3.8x', no number"), (",holds,", ",holds", "of 19 fields")):
        edited(folder, old, new)
        said = reductio("claims", folder).error()
        assert message in said and "reductio summarize" in said, said
        (folder / "verdicts.csv").write_bytes(whole)
    (folder / "verdicts.csv").write_bytes(whole[:-5])
    assert "was cut while being written" in reductio("claims", folder).error()
    (folder / "verdicts.csv").write_bytes(whole.split(b"\n")[0] + b"\n")
    assert "holds no verdict" in reductio("claims", folder).error()
    (folder / "verdicts.csv").write_bytes(b"")
    assert "holds no verdict" in reductio("claims", folder).error()
