"""A results folder that lacks a file: text and tables are written all the same, and the gap is stated."""

import shutil

import pytest

import make
import results as rs
from figures import cpu, limits, speedup, style, throughput


@pytest.fixture
def quick(monkeypatch):
    """make.py without the drawing, which other tests look at."""
    for figure in (cpu, limits, speedup, throughput):
        monkeypatch.setattr(figure, "draw", lambda *_: object())
    monkeypatch.setattr(style, "save", lambda *_: [])


# The file that is lacking, and what is said of it.
GAPS = {"comparison.csv": "speedup-f32: not drawn, {} has no comparison.csv",
        "cpu.csv": "cpu-f32: not drawn, {} has no cpu.csv",
        "limits.csv": "limits: not drawn, {} has no limits.csv",
        "timing.csv": '{} has no timing.csv: what needs it says "not measured"',
        "models.csv": '{} has no models.csv: what needs it says "not measured"',
        "nvbench-agreement.csv": '{} has no nvbench-agreement.csv: what needs it says "not measured"',
        "repeat.csv.gz": '{} has no repeat.csv.gz: what needs it says "not measured"',
        "verdicts.csv": "{} has no verdicts.csv: the claims stand without verdicts"}


@pytest.mark.parametrize("lacking", [[], ["comparison.csv"], [f for f in GAPS if f not in ("comparison.csv", "verdicts.csv")]])
def test_files_that_are_lacking_are_gaps_that_are_stated(full_folder, tmp_path, capsys, quick, lacking):
    folder = shutil.copytree(full_folder, tmp_path / "synthetic")
    for file in lacking:
        (folder / file).unlink()
    assert make.main(["--results", str(folder), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert [file for file in GAPS if GAPS[file].format(folder) in said] == [f for f in GAPS if f in lacking or f == "verdicts.csv"]
    assert (tmp_path / "out" / "tables" / "numbers.tex").exists()
    assert str(folder) in (tmp_path / "out" / "index.md").read_text()


@pytest.mark.parametrize("file, column", [("comparison.csv", "timing_mode"), ("cpu.csv", "time_median_s"),
                                          ("limits.csv", "read_time_s"), ("timing.csv", "n"),
                                          ("models.csv", "latency_s"), ("catalog.csv", "variant")])
def test_a_column_that_is_missing_is_one_line(full_folder, tmp_path, file, column):
    folder = shutil.copytree(full_folder, tmp_path / "synthetic")
    header, rest = (folder / file).read_text().split("\n", 1)
    names = header.split(",")
    names[names.index(column)] = "renamed"
    (folder / file).write_text(",".join(names) + "\n" + rest)
    with pytest.raises(rs.ResultsError, match=f"{file} lacks the column {column}: "):
        rs.read_results(folder)
