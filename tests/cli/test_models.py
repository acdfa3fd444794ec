"""models: what is fitted to a folder's times, what is written, and what is refused."""

import csv
import gzip
import json
import re

import pytest
from project import forget_hashes

from conftest import snapshot


def plant_times(folder):
    """A latency and a bandwidth: what a busy machine measures may fit no model."""
    forget_hashes(folder)
    with gzip.open(folder / "cpu.samples.csv.gz", "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if row["variant"].startswith("host/"):
            time = 1e-6 + 4 * int(row["n"]) / 1e10
            row["time_s"] = " ".join(repr(time * (1 + 1e-3 * (i % 2))) for i in range(len(row["time_s"].split())))
    with gzip.open(folder / "cpu.samples.csv.gz", "wt", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


@pytest.fixture
def folder(reductio, tmp_path):
    reductio("run", "cpu", "--variants", "^host/(plain|unroll4)$", "--types", "i32", "--sizes", "2^10:2^16", "--set",
             "opt=O2", "--out", "there", "--quiet").ok()
    files = list(tmp_path.rglob("cpu.csv"))
    assert len(files) == 1
    plant_times(files[0].parent)
    return files[0].parent


def test_writes_models_beside_the_rows_and_prints_the_same(reductio, folder):
    printed = reductio("models", folder, "--csv").rows()
    with (folder / "models.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == printed
    assert {(r["variant"], r["experiment"], r["device"]) for r in printed} == {
        (v, "cpu", "cpu") for v in ("host/plain", "host/unroll4")}
    for r in printed:
        assert r["status"] in ("ok", "does_not_fit") and int(r["n_sizes"]) == 7
        assert (r["latency_s"] != "") == (r["status"] == "ok") == (float(r["largest_residual"]) <= 0.05)
        if r["status"] == "ok":
            assert float(r["bandwidth_ci_low_bytes_per_s"]) <= float(r["bandwidth_bytes_per_s"])


def test_a_compressed_table_stays_one(reductio, folder):
    reductio("models", folder, "--quiet").ok()
    table = folder / "models.csv"
    text = table.read_bytes()
    table.rename(folder / "models.csv.gz")
    assert "models.csv.gz" in reductio("models", folder).ok()
    assert gzip.decompress((folder / "models.csv.gz").read_bytes()) == text and not table.exists()


def test_a_long_table_shows_a_page(reductio, folder):
    machine = json.loads((folder / "machine.json").read_text())
    for i in range(30):  # as many experiments, of the same rows
        machine["runs"].append(machine["runs"][0] | {"experiment": f"copy-{i}"})
        with (folder / "cpu.csv").open(newline="") as file, (folder / f"copy-{i}.csv").open("w", newline="") as copy:
            rows = csv.DictReader(file)
            out = csv.DictWriter(copy, rows.fieldnames, lineterminator="\n")
            out.writeheader()
            out.writerows(row | {"experiment": f"copy-{i}"} for row in rows)
        (folder / f"copy-{i}.samples.csv.gz").write_bytes((folder / "cpu.samples.csv.gz").read_bytes())
    (folder / "machine.json").write_text(json.dumps(machine))
    page = reductio("models", folder).ok()
    assert "62 models in " in page and "--all prints all models" in page and len(page.splitlines()) < 12
    assert len(reductio("models", folder, "--all").ok().splitlines()) > 62


def test_writes_beside_the_rows_also_where_the_folder_above_is_named(reductio, folder):
    assert str(folder / "models.csv") in reductio("models", folder.parent).ok()
    assert (folder / "models.csv").exists() and not (folder.parent / "models.csv").exists()


@pytest.mark.parametrize("columns", [60, 100])
def test_no_line_is_wider_than_the_terminal(reductio, folder, columns):
    lines = reductio("models", folder, COLUMNS=str(columns)).ok().splitlines()
    assert max(len(line) for line in lines if str(folder) not in line) <= columns  # a path is a word
    assert sum(line.startswith("host/") for line in lines) == 2


def test_says_how_many_fit(reductio, folder):
    out = reductio("models", folder).ok()
    assert "host/unroll4" in out and "of raw" not in out
    *_, where, last = out.splitlines()
    assert where == f"2 models in {folder / 'models.csv'}"
    counts = re.fullmatch(r"(\d) fit within 5 %, (\d) do not fit, 0 have too few sizes; 0 series have too few for any model", last)
    assert counts and int(counts[1]) + int(counts[2]) == 2, last
    *_, narrow = reductio("models", folder, COLUMNS="100").ok().splitlines()
    assert narrow == last, "scripts show the last line as what was done, and the path may be long"
    assert reductio("models", folder, "--quiet").ok() == ""


def test_what_cannot_be_fitted_is_one_line_and_writes_nothing(reductio, folder, tmp_path):
    assert "is not a folder" in reductio("models", "nowhere").error()
    assert "there is none in out/results" in reductio("models").error()
    assert "--confidence takes a share between 0 and 1" in reductio("models", folder, "--confidence", "95").error()
    assert "machine.json" in reductio("models", tmp_path).error()
    reductio("run", "cpu", "--variants", "^host/plain$", "--types", "i32", "--sizes", "1000", "--quiet").ok()
    assert "no model can be fitted, all 5 series of times have too few sizes" in reductio("models", "--quiet").err
    assert not list(tmp_path.glob("out/**/models.csv"))
    rows = folder / "cpu.csv"
    rows.write_bytes(rows.read_bytes()[:-9])
    before = snapshot(folder)
    assert "a row that was cut; finish that run with --resume" in reductio("models", folder).error()
    assert snapshot(folder) == before
