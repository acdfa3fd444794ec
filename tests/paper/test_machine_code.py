"""What the compilers made of the loops, as the docs tell it."""

import csv
import shutil
from types import SimpleNamespace

import pytest
from project import SOURCE

from text import machine_code

TABLE = SOURCE / "experiments" / "results" / "nvidia-h200" / "compiler.csv"


def told(folder, change=lambda rows: rows) -> str:
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    with (folder / "compiler.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(change(rows))
    return machine_code.markdown(SimpleNamespace(folder=folder))


def where(rows: list[dict], **wanted: str) -> list[dict]:
    found = [r for r in rows if all(r[c] == v for c, v in wanted.items())]
    assert found
    return found


def line(text: str, start: str) -> str:
    return next(at for at in text.splitlines() if at.startswith(start))


def test_each_number_is_the_tables(tmp_path):
    def change(rows):
        where(rows, compiler="nvcc", kernel="twopass/rolled", index="long", loop="main")[0]["unrolled_by"] = "77"
        where(rows, compiler="nvcc", kernel="unroll/unroll8-complete", loop="kernel")[0]["instructions"] = "1234"
        for r in where(rows, compiler="g++", level="O3", kernel="host/plain", element_type="i32", loop="main"):
            r |= {"unrolled_by": "24", "elements_per_load": "8"}
        return rows

    text = told(tmp_path, change)
    assert line(text, "| `twopass/rolled` | 16") == "| `twopass/rolled` | 16 | 77 | 1 | 1 |"
    assert line(text, "| `unroll/unroll8-complete` | written out") == (
        "| `unroll/unroll8-complete` | written out |  | 1234 | 0 | 10 |")
    assert "| 24 (vectors of 8) |" in line(text, "| `host/plain`")


@pytest.mark.parametrize("kernel, as_of, said", [
    ("unroll/unroll8-template", "unroll/unroll8-complete",
     "`unroll/unroll8-complete` has the same code as `unroll/unroll8-template`"),
    ("halve-int-divide", "halve-int-shift", "g++ -O0 (int),")])
def test_equal_code_is_told(tmp_path, kernel, as_of, said):
    def change(rows):
        for r in where(rows, kernel=kernel, loop="kernel"):
            like = where(rows, kernel=as_of, loop="kernel", compiler=r["compiler"], level=r["level"])
            r["opcodes"] = like[0]["opcodes"]
        return rows

    before, after = (" ".join(told(tmp_path, c).split()) for c in (lambda rows: rows, change))
    assert said not in before.partition("another by")[0] and said in after.partition("another by")[0]


def test_without_the_table_nothing_is_told(tmp_path):
    assert machine_code.markdown(SimpleNamespace(folder=tmp_path)) == ""


def test_a_table_that_lacks_a_column_is_told(tmp_path):
    shutil.copy(TABLE, tmp_path)
    path = tmp_path / "compiler.csv"
    path.write_text(path.read_text().replace("unrolled_by", "unrolled", 1))
    with pytest.raises(machine_code.rs.ResultsError, match="unrolled_by"):
        machine_code.markdown(SimpleNamespace(folder=tmp_path))
