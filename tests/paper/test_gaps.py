"""A results folder that lacks a file: text and tables are written all the same, and the gap is stated."""

import shutil

import pytest

import make
from report import style


@pytest.fixture
def quick(monkeypatch):
    """make.py without the drawing, which other tests look at."""
    def draw(_):
        """A figure."""
        return object()

    for name in ("cpu", "speedup"):
        monkeypatch.setitem(make.FIGURES, name, (draw, make.FIGURES[name][1]))
    monkeypatch.setattr(style, "save", lambda *_: [])


# The file that is lacking, and what is said of it.
GAPS = {"cpu.csv": "cpu: not drawn, {} has no cpu.csv",
        **{file: f'{{}} has no {file}: what needs it says "not measured" (run ' for file in (
            "timing.csv", "models.csv", "nvbench-agreement.csv", "repeat.csv.gz", "verdicts.csv")}}


@pytest.mark.parametrize("lacking", [[], [file for file in GAPS if file != "verdicts.csv"]])
def test_files_that_are_lacking_are_gaps_that_are_stated(full_folder, tmp_path, capsys, quick, lacking):
    folder = shutil.copytree(full_folder, tmp_path / "synthetic")
    for file in lacking:
        (folder / file).unlink()
    assert make.main(["--results", str(folder), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert [file for file in GAPS if GAPS[file].format(folder) in said] == [*lacking, "verdicts.csv"]
    assert (tmp_path / "out" / "tables" / "numbers.tex").exists()
    assert str(folder) in (tmp_path / "out" / "index.md").read_text()
