"""A results folder that lacks a file: text and tables are written all the same, and the gap is stated."""

import shutil

import pytest
import synthetic

import make
from figures import bars, cpu, limits, speedup, style, throughput


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with all that is looked for, of few sizes."""
    rows = [r for t in ("f32", "i32") for r in synthetic.gpu_rows(types=(t,), sizes=[2**20, 2**24, 2**28])]
    folder = synthetic.write_folder(tmp_path_factory.mktemp("results") / "synthetic", rows,
                                    cpu=synthetic.cpu_rows(types=("f32",)), limits=synthetic.limits_rows(),
                                    models=synthetic.model_rows(), timing=synthetic.timing_rows())
    synthetic.write_checks(folder)
    shutil.rmtree(folder.parent / "other")
    return folder


@pytest.fixture
def quick(monkeypatch):
    """make.py without the drawing, which other tests look at."""
    for figure in (bars, cpu, limits, speedup, throughput):
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


@pytest.mark.parametrize("lacking", GAPS)
def test_a_file_that_is_lacking_is_a_gap_that_is_stated(whole, tmp_path, capsys, quick, lacking):
    folder = shutil.copytree(whole, tmp_path / "synthetic")
    (folder / lacking).unlink(missing_ok=lacking == "verdicts.csv")
    assert make.main(["--results", str(folder), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert GAPS[lacking].format(folder) in said
    assert (tmp_path / "out" / "numbers.tex").exists()
    assert all(gap.format(folder) not in said for other, gap in GAPS.items() if other not in (lacking, "verdicts.csv")
               and not (lacking == "comparison.csv" and "not measured" in gap))


def test_a_whole_folder_has_no_gap(whole, tmp_path, capsys, quick):
    assert make.main(["--results", str(whole), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert [gap for gap in GAPS.values() if gap.format(whole) in said] == [GAPS["verdicts.csv"]]


@pytest.mark.parametrize("file, column", [("comparison.csv", "timing_mode"), ("cpu.csv", "time_median_s"),
                                          ("limits.csv", "read_time_s"), ("timing.csv", "n"),
                                          ("models.csv", "latency_s"), ("catalog.csv", "variant")])
def test_a_column_that_is_missing_is_one_line(whole, tmp_path, capsys, quick, file, column):
    folder = shutil.copytree(whole, tmp_path / "synthetic")
    header, rest = (folder / file).read_text().split("\n", 1)
    names = header.split(",")
    names[names.index(column)] = "renamed"
    (folder / file).write_text(",".join(names) + "\n" + rest)
    assert make.main(["--results", str(folder), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{file} lacks the column {column}: " in said
