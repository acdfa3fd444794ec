"""report: the page by the project's own Python. (tests/report looks at the page itself.)"""

import base64
import csv
import gzip
import importlib.util
import json
import math
import re
import shutil
import zlib

import numpy as np
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


def held_in(page: str) -> tuple[dict, bytes]:
    """What a page holds: the header, and the bytes behind it."""
    data = zlib.decompress(base64.b64decode(re.search(r'id="data"[^>]*>([^<]*)<', page)[1]))
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8:8 + length]), data[8 + length:]


@needs_library
def test_the_page_holds_each_contexts_mean(reductio, tmp_path):
    """Without a tenth of the logarithms at either end, also where that is no whole number of samples."""
    reductio("report", CPU, "--out", tmp_path / "means.html", cwd=SOURCE).ok()
    header, data = held_in((tmp_path / "means.html").read_text())
    folder, = header["folders"]

    def column(table, name):
        at = folder[table]["columns"][name]
        return np.frombuffer(data, at["type"], folder[table]["length"], at["at"])

    row, times = column("means", "row"), column("means", "time_s")
    assert "samples" not in folder
    with gzip.open(CPU / "cpu.samples.csv.gz", "rt", newline="") as file:
        first = next(row for row in csv.DictReader(file) if "(" not in row["variant"] and "yes" not in row["voided"])
    of_context = {}
    for context, time in zip(first["context"].split(), first["time_s"].split()):
        of_context.setdefault(int(context), []).append(math.log(float(time)))

    def trimmed(values):
        n, cut = len(values), len(values) / 10
        return sum(v * max(0, min(i + 1, n - cut) - max(i, cut)) for i, v in enumerate(sorted(values))) / (n - 2 * cut)

    expected = [math.exp(trimmed(values)) for _, values in sorted(of_context.items())]
    by_row = [times[row == i] for i in np.unique(row)]
    assert any(len(of) == len(expected) and np.allclose(of, expected, rtol=1e-6) for of in by_row)
    time, speedup, low, high = (column("rows", name) for name in ("time_median_s", *(
        f"speedup_fastest{end}" for end in ("", "_ci_low", "_ci_high"))))
    own = np.flatnonzero(speedup == 1)
    assert "speedup_first" not in folder["rows"]["columns"] and 0 < len(own) < np.isfinite(speedup).sum()
    known = np.isfinite(speedup)
    assert (low[known] <= speedup[known]).all() and (speedup[known] <= high[known]).all()
    assert np.isclose(np.outer(speedup * time, 1 / time[own]), 1, rtol=0.2).any(axis=1)[known].mean() > 0.9


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
