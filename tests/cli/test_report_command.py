"""report: the page by the project's own Python. (tests/report looks at the page itself.)"""

import csv
import importlib.util
import shutil

import pytest
from project import SOURCE

CPU = SOURCE / "experiments" / "results" / "cpu-intel-xeon"

needs_library = pytest.mark.skipif(importlib.util.find_spec("pyobsplot") is None,
                                   reason="no pyobsplot here: pip install -r requirements.txt")


@needs_library
def test_a_page_of_named_folders(reductio, tmp_path):
    second = tmp_path / "a second's"
    shutil.copytree(CPU, second)
    file = tmp_path / "with space.html"
    out = reductio("report", CPU, second, "--samples", "none", "--out", file, cwd=SOURCE).ok()
    assert out.startswith(f"{file}: cpu-intel-xeon, a second's, ") and out.count("\n") == 1
    page = file.read_text()
    assert page.startswith("<!doctype html>") and "<title>cpu-intel-xeon, a second&#x27;s: reductio</title>" in page


@needs_library
def test_a_page_of_the_folder_in_out_results(reductio, tmp_path):
    shutil.copytree(CPU, tmp_path / "out" / "results" / "here", ignore=shutil.ignore_patterns("*.gz"))
    assert "here, " in reductio("report", "--samples", "none").ok()
    assert (tmp_path / "report.html").exists()


def planted(column, value, again=False):
    """The CPU's rows with this value in the first, or with that row twice."""
    def spoil(folder):
        with (folder / "cpu.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        rows[0] = rows[0] | {column: value}
        with (folder / "cpu.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows + rows[:again])
    return spoil


REFUSED = {
    "negative n": (planted("n", "-5"), "cpu.csv:2: n is '-5', not a whole number"),
    "half an n": (planted("n", "0.5"), "cpu.csv:2: n is '0.5', not a whole number"),
    "no samples": (planted("n_samples", ""), "cpu.csv:2: n_samples is '', not a whole number"),
    "negative time": (planted("time_median_s", "-1"), "cpu.csv:2: time_median_s is '-1', not a finite number of 0 or"),
    "no speedup": (planted("speedup", "0"), "cpu.csv:2: speedup is '0', not a finite number above 0"),
    "another way to write numbers": (planted("time_median_s", "+1"), "cpu.csv:2: time_median_s is '+1', not a finite"),
    "an unknown word": (planted("device", "tpu"), "cpu.csv:2: device is 'tpu', not one of cuda, sim, cpu"),
    "a row twice": (planted("schema_version", "3", again=True), " is of the same point as line 2"),
    "another schema": (planted("schema_version", "99"), "99"),
    "cut rows": (lambda f: (f / "cpu.csv").write_text((f / "cpu.csv").read_text()[:-9]), "cut"),
    "cut machine": (lambda f: (f / "machine.json").write_text((f / "machine.json").read_text()[:-9]), "machine.json is"),
    "no machine": (lambda f: (f / "machine.json").unlink(), "machine.json"),
}


@needs_library
@pytest.mark.parametrize("spoil, message", REFUSED.values(), ids=REFUSED)
def test_it_refuses_what_other_commands_refuse(reductio, tmp_path, spoil, message):
    shutil.copytree(CPU, tmp_path / "m", ignore=shutil.ignore_patterns("*.gz"))
    spoil(tmp_path / "m")
    assert message in reductio("plot", tmp_path / "m").error()
    assert message in reductio("report", tmp_path / "m", "--out", tmp_path / "page.html", cwd=SOURCE).error(code=1)
    assert not (tmp_path / "page.html").exists()


def test_a_full_disk_is_one_line_with_the_file(reductio):
    error = reductio("report", CPU, "--samples", "none", "--out", "/dev/full", cwd=SOURCE).error(code=1)
    assert "cannot write /dev/full: No space left on device" in error
