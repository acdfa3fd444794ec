"""vector_add: its rows are read like an experiment's."""

import csv
import gzip
import os
import subprocess
from pathlib import Path

import pytest
from project import SOURCE

REDUCTIO = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))


@pytest.fixture(scope="module")
def vector_add():
    program = REDUCTIO.parent / "vector_add"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    return lambda *arguments: subprocess.run([program, *arguments], capture_output=True, text=True)


def test_every_loop_is_timed_at_every_level_and_compared(vector_add, tmp_path):
    done = vector_add(tmp_path, "6", "2^10")
    assert done.returncode == 0 and done.stdout == f"{tmp_path / 'vector_add.csv'}\n", done.stderr
    rows = list(csv.DictReader((tmp_path / "vector_add.csv").open(newline="")))
    compilers = {r["settings"].partition(";")[0].partition("=")[2] for r in rows}
    assert compilers and compilers <= {"gcc", "clang"}
    assert {(r["variant"], r["settings"], r["element_type"]) for r in rows} == {
        (f"host/add-{v}", f"compiler={c};level={o}", t) for v in ("plain", "unroll2", "unroll4") for c in compilers
        for o in ("O0", "O1", "O2", "O3") for t in ("i32", "f32")} and len(rows) == 24 * len(compilers)
    for r in rows:
        assert (r["experiment"], r["n"], r["status"], r["n_samples"]) == ("vector_add", "1024", "ok", "12")
        assert 0 < float(r["time_ci_low_s"]) <= float(r["time_median_s"]) <= float(r["time_ci_high_s"])
    assert not (tmp_path / "catalog.csv").exists()  # a folder's own stays, as this program knows no variant
    samples = list(csv.DictReader(gzip.open(tmp_path / "vector_add.samples.csv.gz", "rt", newline="")))
    assert len(samples) == len(rows) and all(len(s["time_s"].split(" ")) == 12 for s in samples)
    same = subprocess.run([REDUCTIO, "compare", tmp_path, tmp_path, "--csv"], capture_output=True, text=True, check=True)
    assert [float(r["ratio"]) for r in csv.DictReader(same.stdout.splitlines())] == [1] * len(rows)


def test_long_vectors_are_in_every_fourth_pass(vector_add, tmp_path):
    assert vector_add(tmp_path, "6", "200,2^13").returncode == 0
    rows = list(csv.DictReader((tmp_path / "vector_add.csv").open(newline="")))
    assert {(r["n"], r["n_samples"]) for r in rows} == {("200", "12"), ("8192", "4")}


def test_what_cannot_be_measured_is_refused_in_one_line(vector_add, tmp_path):
    (tmp_path / "vector_add.csv").write_text("of another run\n")
    for arguments, said in [([], "FOLDER"), ([tmp_path, "x"], "CONTEXTS"), ([tmp_path, "1", "1"], "from 2"),
                            ([tmp_path, "1", "2^10"], "vector_add.csv already exists; remove it")]:
        done = vector_add(*arguments)
        assert done.returncode == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1, done
