"""The documents' steps by their own clocks: what timing.csv gives, paired by round, and missing without a failure."""

import pytest
from synthetic import GPU, gpu_rows, timing_rows, write_folder, write_samples

import results as rs
from text import own_clocks, steps, tables
from text.findings import ABSENT

SIZES = [2**20, 2**24, 2**28]


def write(tmp_path, timing=None):
    return write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), timing=timing)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return rs.read_results(write(tmp_path_factory.mktemp("clocks"), timing_rows()))


def line_of(table: str, *words: str) -> list[str]:
    lines = [l for l in table.splitlines() if " & " in l and all(w in l for w in words)]
    assert len(lines) == 1, lines
    return [c.strip() for c in lines[0].removesuffix(r" \\").split(" & ")]


def test_each_kernel_by_its_documents_clock_beside_the_device_part(results):
    table = tables.clocks_table(results)
    assert line_of(table, "S1")[2:] == [r"\documentfigure{2.6\,M cycles}", "150{,}000 cycles", "4.00", "100",
                                       "4.00 [3.94, 4.06]", "100", "4.00"]
    assert line_of(table, "S2")[3:5] == ["75{,}000 cycles", "2.00"]
    assert line_of(table, "unroll/neighbored-less")[2:] == [
        r"\documentfigure{5.97\,ms}", r"510\,\textmu{}s", "1.98 [1.95, 2.01]", "---", "", "500", "2.00 [1.97, 2.03]"]


def test_cycles_of_many_blocks_have_no_gain(results):
    assert line_of(tables.clocks_table(results), "S3")[3:5] == ["150{,}000{,}000 cycles", ""]


def test_gains_are_of_the_rounds_and_cycles_too(tmp_path):
    folder = write(tmp_path, timing_rows())
    write_samples(folder)
    write_samples(folder, experiment="timing", factor=lambda row: 2 if row["variant"] == "squares/chunked" else 1)
    results = rs.read_results(folder)
    squares = own_clocks.Climbed(results, steps.LADDERS[0])
    for mode in ("clock", "globaltimer", "device_part"):
        gain = squares.gain(mode, 0, 1)
        assert gain["ratio"] == pytest.approx(8), mode  # by the medians it is 4
        # Drift moves all calls alike, so only the clock's resolution is between the ends: of clock() one cycle.
        assert gain["high"] / gain["low"] < 1.001, mode
    # The last step, between kernels that are equally fast, is no step by either clock.
    assert "agree in 2 of 2 steps of \\id{squares} and 8 of 8 steps of \\id{unroll} on" in own_clocks.steps(results)


def test_where_the_clocks_disagree_is_counted(tmp_path):
    rows = timing_rows()
    for r in rows:
        if r["variant"] == "unroll/unroll2" and r["timing_mode"] == "launch_to_idle":
            for column in ("time_median_s", "time_ci_low_s", "time_ci_high_s"):
                r[column] *= 10
    folder = write(tmp_path, rows)
    write_samples(folder)
    write_samples(folder, experiment="timing")
    assert "agree in 2 of 2 steps of \\id{squares} and 7 of 8 steps" in own_clocks.steps(rs.read_results(folder))


def test_what_was_not_measured_is_said(tmp_path):
    none = rs.read_results(write(tmp_path / "none"))
    table = tables.clocks_table(none)
    assert ABSENT in table and r"\label{tab:clocks}" in table and own_clocks.steps(none) == ABSENT
    rest = [r for r in timing_rows() if r["variant"] != "squares/chunked"]
    few = rs.read_results(write(tmp_path / "few", rest))
    assert line_of(tables.clocks_table(few), "squares/chunked")[3:] == ["---", ""] * 3
    assert line_of(tables.clocks_table(few), "S1")[3:5] == ["150{,}000 cycles", ""]


def test_every_rung_is_a_variant_and_a_step_of_its_document():
    asked = {(s.claim, *(s.test[side].partition(":")[0] for side in ("base", "variant"))) for s in steps.steps()}
    for ladder in steps.LADDERS:
        assert all(r.variant in GPU for r in ladder.rungs)
        for before, after in zip(ladder.rungs, ladder.rungs[1:]):
            assert (after.claim, before.variant, after.variant) in asked
