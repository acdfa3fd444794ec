"""report: the page by the project's own Python. (tests/report looks at the page itself.)"""

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
