"""What the type of a loop's index costs: the table and the sentences are what index.csv gives."""

import pytest
import synthetic
from project import SOURCE
from synthetic import gpu_rows, index_rows, write_folder, write_samples

import results as rs
from text import index_types, tables
from text.findings import ABSENT

SIZES = [2**20, 2**24, 2**28]


def write(tmp_path, index=None):
    return write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), index=index)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return rs.read_results(write(tmp_path_factory.mktemp("index"), index_rows()))


def line_of(table: str, *words: str) -> list[str]:
    lines = [l for l in table.splitlines() if " & " in l and all(w in l for w in words)]
    assert len(lines) == 1, lines
    return [c.strip() for c in lines[0].removesuffix(r" \\").split(" & ")]


def test_the_table_has_each_kernel_by_the_type_of_its_index(results):
    table = tables.index_table(results)
    assert line_of(table, "twopass/rolled")[1:] == ["device", "$2^{24}$", "1600", "1600", "2400", r"\textbf{2400}",
                                                   "1.50 [1.48, 1.52]", "800"]
    one_block = line_of(table, "squares/strided", "block=512")
    assert one_block[1:4] == ["device part", "$2^{20}$", r"\textbf{100}"] and one_block[-1] == "50.0"
    # Kernels of one block at the document's size alone, all others at two.
    assert table.count("$2^{20}$") == 3 and table.count("$2^{28}$") == table.count("$2^{24}$") == len(synthetic.INDEX) - 2
    assert "of the medians" in table


def test_every_documents_own_type_is_the_one_that_its_kernels_declare():
    """OWN says what is in bold; a kernel's file says with what its document counts."""
    said = {group: (SOURCE / "src" / "kernels" / f"{group}.cu").read_text() for group in index_types.OWN}
    for group, own in index_types.OWN.items():
        counted_by = {"i32": "`int`", "u64": "`size_t`"}[own]
        assert counted_by in said[group], group


def test_the_sentences_follow_the_data(results):
    said = index_types.index(results)
    assert "over u64 is 1.50 [1.48, 1.52] (" in said and "3.00 [2.96, 3.04] (" in said  # twopass, squares/strided
    assert "in the plain loops, and 1.000 [0.986, 1.014] (" in said
    assert r"At $2^{28}$ it is 2.50 in \texttt{last-" in index_types.blocks(results)
    # Half as fast as CUB with i32; a chunk takes 4 times a stride's time with i32, 4/3 of it with u64.
    said = index_types.porting(results)
    assert "over CUB of 0.312 [0.308, 0.317] in place of 0.500 [0.493, 0.507] at $2^{28}$" in said
    assert "would gain 1.33 [1.31, 1.35] in place of 4.00 [3.94, 4.06]" in said


def test_the_gain_is_paired_by_round(tmp_path):
    # The rounds say that u64 takes twice what its rows say, the medians do not.
    folder = write(tmp_path, index_rows())
    write_samples(folder)
    write_samples(folder, experiment="index", factor=lambda row: 2 if "index=u64" in row["settings"] else 1)
    results = rs.read_results(folder)
    gains = {c.variant: c.gain["ratio"] for c in index_types.counted(results) if c.words != "block=512"}
    assert gains == pytest.approx({v: 2 * slower for v, slower in synthetic.INDEX.items()})
    assert "paired by round" in tables.index_table(results)


def test_what_was_not_measured_is_said(tmp_path, capsys):
    none = rs.read_results(write(tmp_path / "none"))
    assert none.index is None and index_types.counted(none) == []
    table = tables.index_table(none)
    assert ABSENT in table and r"\label{tab:index}" in table
    signed = [r for r in index_rows() if "index=u" not in r["settings"]]
    half = rs.read_results(write(tmp_path / "half", signed))
    assert line_of(tables.index_table(half), "twopass/rolled")[3:8] == ["1600", "1600", *[r"---", r"\textbf{---}", "---"]]
    for found in (none, half):
        assert {index_types.index(found), index_types.blocks(found), index_types.porting(found)} == {ABSENT}
