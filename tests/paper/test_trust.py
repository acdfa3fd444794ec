"""What says how far the numbers can be trusted: counted right, told with its faults, and missing without a failure."""

import re
import shutil

import pytest
import synthetic
from synthetic import TIMING, agreement_rows, gpu_rows, repeat_rows, timed, timing_rows, write_csv, write_folder

import make
import results as rs
from text import latex, tables, trust
from text.findings import ABSENT

SIZES = [2**20, 2**24, 2**28]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = write_folder(tmp_path_factory.mktemp("trust") / "m", gpu_rows(types=("f32",), sizes=SIZES),
                        timing=timing_rows())
    synthetic.write_checks(made)
    return made


@pytest.fixture(scope="module")
def results(folder):
    return rs.read_results(folder)


def line_of(table: str, *words: str) -> list[str]:
    """The fields of the one line that holds all these words."""
    lines = [l for l in table.splitlines() if " & " in l and all(w in l for w in words)]
    assert len(lines) == 1, lines
    return [c.strip() for c in lines[0].removesuffix(r" \\").split(" & ")]


# ------------------------------------------------------------------------------------------ ways of timing


def test_the_first_call_in_a_while_is_told_apart_from_calls_in_a_loop(tmp_path):
    slower = {2**12: 1.5, 2**20: 1.25, 2**24: 1.1}
    rows = []
    for n, by in slower.items():
        for caller, time in (("", 20e-6), ("first", by * 20e-6)):
            rows.append(timed(time, experiment="timing", n=n, caller=caller, variant="cub/sum", settings="counts=auto"))
            rows.append(timed(time**2 / 20e-6, experiment="timing", n=n, caller=caller, variant="cub/sum",
                              settings="counts=auto", timing_mode="end_to_end"))
    results = rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), timing=rows))
    on_device, end_to_end = trust.first_calls(results).split(" on the device")
    # each from the size of the least to that of the most
    for said, least, most in ((on_device, "1.10", "1.50"), (end_to_end, "1.21", "2.25")):
        assert re.search(rf"{re.escape(least)} \[.*2\^\{{24\}}.*{re.escape(most)} \[.*2\^\{{12\}}", said), said
    # Other texts are of calls in a loop.
    assert trust.Timings(results).at("cub/sum", "device", "cold_dirty", 2**20) == 20e-6
    none = rs.read_results(write_folder(tmp_path / "none", gpu_rows(types=("f32",), sizes=SIZES)))
    assert trust.first_calls(none) == ABSENT


def test_every_timing_mode_of_the_program_has_its_words():
    assert set(rs.ROWS.words["timing_mode"]) <= set(tables.MODE_WORDS)
    assert set(rs.TIMED_MODES) == {"device", "graph", "launch_to_idle", "end_to_end"} <= set(rs.MODE_LABELS)


def test_the_table_has_every_way_and_state_of_the_call(results):
    table = tables.timing_table(results)
    assert line_of(table, "in a graph")[1:5] == ["in a graph", "6.00", "---", "4.00"]
    assert line_of(table, "& device &")[2:5] == ["8.00", "9.00", "6.00"]
    idle = [l.split(" & ") for l in table.splitlines() if " & launch to idle & " in l]
    assert [l[2:5] for l in idle] == [["15.0", "16.0", "13.0"], ["110", "110", "110"], ["110", "110", "110"]]
    assert [l.split(" & ")[2] for l in table.splitlines() if "clock()" in l and " & " in l] == ["100", "100000"]
    assert "of i32" in table and "50.0" not in table  # page-locked memory's times


def test_what_each_way_and_state_adds(results):
    said = trust.timing(results)
    assert "a warm L2 would have held adds 2.00" in said  # 8 - 6
    assert "dirty another 1.00" in said                   # 9 - 8
    assert "takes 2.00" in said
    assert re.search(r"the host adds 7\.00\S* until it sees the device idle and 10\.0\S* until it has the result", said)
    assert "which L2 cannot hold" in said                 # 64 MiB in 50


def test_without_a_way_of_timing_the_sentence_is_a_gap(tmp_path):
    rows = [r for r in timing_rows() if r["timing_mode"] != "launch_to_idle"]
    lacking = rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), timing=rows))
    assert trust.timing(lacking) == ABSENT and "launch to idle" not in tables.timing_table(lacking)


def test_clocks_of_one_block_and_of_many(results, tmp_path):
    said = trust.clocks(results)
    assert "take 1.00 times" in said and "150{,}000{,}000 cycles, about 1{,}000 times" in said
    rows = [r | dict(cycles_median=r["cycles_median"] / 1000 if "multi" in r["variant"] and r["cycles_median"] else
                     r["cycles_median"]) for r in timing_rows()]
    said = trust.clocks(rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), timing=rows)))
    assert said.endswith("of many blocks it is 1.00 times.")


def test_times_are_those_of_the_file(results):
    t = trust.Timings(results)
    for state, device in TIMING.items():
        assert t.at("cub/sum", "device", state, 2**20) == pytest.approx(device)
    assert t.at("cub/sum", "graph", "cold_dirty", 2**20) is None


# ----------------------------------------------------------------------------------------- from outside


def test_agreement_is_counted_and_what_lies_outside_is_told(results):
    found = trust.agreements(results)
    a = found["device"]
    assert (a.points, a.inside, a.outside, a.largest_outside_n, a.processes) == (5, 3, [0.07, 0.09], 2**20, "6")
    assert (a.largest_from, a.spread, a.by_mean) == (pytest.approx(0.01), 0.04, 2)
    assert [(m, f.points, f.inside, f.by_mean) for m, f in found.items() if m != "device"] == [
        ("end_to_end", 3, 2, None), ("graph", 2, 2, None)]
    said = trust.nvbench(results)
    assert said.startswith("Of 5 points (types times sizes), 3 lie within")
    assert "of nvbench's time, the median over 6 processes; 2 differ by" in said
    assert r"2 differ by 7.0 to 9.0\,\%, at $2^{20}$ elements or fewer" in said
    assert r"none differs by more than 1.0\,\%" in said
    assert r"The processes of nvbench lie 4.0\,\% apart at the median point below $2^{22}$" in said
    assert "with the mean, which nvbench shows first, 2 points lie within" in said
    assert r"In a graph, all 2 points (types times sizes) lie within 3\,\% of the loops' time" in said
    assert (r"End to end, of 3 points (calls times types times sizes), 2 lie within 5\,\% of the loops' time, the "
            r"median over 6 processes; one differs by 8.0\,\%, at $2^{20}$ elements.") in said


def test_the_direction_of_the_differences_is_told(folder, results, tmp_path):
    assert (r"The harness's time is the lower at 2 of 5: at the median it differs by +5.0\,\% below $2^{22}$ and $-$0.25\,\% "
            r"from $2^{22}$ on") in trust.nvbench(results)
    copy = shutil.copytree(folder, tmp_path / "m")
    rows = [dict(r, difference=-abs(r["difference"])) for r in agreement_rows()]
    write_csv(copy / "nvbench-agreement.csv", rows)
    said = trust.nvbench(rs.read_results(copy))
    assert r"the lower at 5 of 5, so the differences are a bias: at the median it differs by $-$7.0\,\% below" in said


def test_ratios_that_loops_do_not_give_are_told(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")

    def told(cub: float, thrust: float, n: int = 2**20) -> tuple[str, str]:
        """By what the loops took, in place of the synthetic rows."""
        rows = [dict(r, n=n, outside_s=s) for r, s in zip(agreement_rows()[-3:-1], (cub, thrust))]
        write_csv(copy / "nvbench-agreement.csv", rows)
        results = rs.read_results(copy)
        return trust.outside_ratios(results), trust.caveat(results)

    published = trust.ratios(rs.read_results(folder))[0].published["ratio"]
    said, caveat = told(published * 1e-5, 1e-5)
    assert "outside the harness's interval at 0 of 1 points." in said and caveat == ""
    said, caveat = told(published * 0.7e-5, 1e-5)
    assert "at 1 of 1 points, 1 of them below $2^{22}$, the farthest" in said and r"\ref{sec:trust}" in caveat
    assert f"the farthest {latex.digits(0.7 * published)} where the harness has" in said
    said, caveat = told(published * 0.9e-5, 1e-5, 2**28)
    assert "at 1 of 1 points" in said or "at 0 of 1 points" in said
    assert caveat == ""


def test_full_agreement_names_none_outside(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    write_csv(copy / "nvbench-agreement.csv", [r for r in agreement_rows() if abs(r["difference"]) < r["allowed"]])
    said = trust.nvbench(rs.read_results(copy))
    assert said.startswith(r"All 3 points (types times sizes) lie within 3\,\%") and "differ by" not in said


def test_each_check_is_told_by_itself(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    rows = agreement_rows()
    write_csv(copy / "nvbench-agreement.csv", [r for r in rows if r["mode"] == "graph"])
    assert trust.nvbench(rs.read_results(copy)).startswith("In a graph, all 2 points")
    rows = [dict(r, outside_processes=5 if r["n"] > 2**22 else 6) for r in rows if r["mode"] == "device"]
    write_csv(copy / "nvbench-agreement.csv", rows)
    said = trust.nvbench(rs.read_results(copy))
    assert "the median over 5 to 6 processes" in said and "graph" not in said and "End to end" not in said


# -------------------------------------------------------------------------------------------- run twice


def test_shares_of_intervals_that_hold_1(results):
    found = trust.repeats(results.repeat)
    assert (found["device"].points, found["device"].share) == (4, 0.75)  # 1.1 - 5 % is above 1
    assert (found["end_to_end"].points, found["end_to_end"].share) == (2, 0.5)
    assert found["device"].median == pytest.approx(1.02) and found["device"].width == pytest.approx(0.1)
    said = trust.repeat(results)
    assert r"75.0\,\% of 4 points timed on the device and 50.0\,\% of 2 points timed end to end" in said
    assert r"less than the 93\,\% that we ask for" in said
    assert r"holds 1 at 100\,\% of 1 timed on the device and 100\,\% of 1 timed end to end" in said
    assert r"on the device 10\,\% of the ratio at the median, around ratios whose median is 1.020, and relative" in said
    assert r"and relative to CUB's 10\,\%. The two" in said
    assert (found["device"].near_small, found["device"].near_large) == (0.75, None)  # at 2^20, 1.1 is not within 3 %
    assert r"differ by at most 3\,\% at 75.0\,\% of the points below $2^{22}$ that are timed on the device." in said


def test_how_far_two_runs_differ_is_told_by_size(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    rows = [dict(row, n=n) for n in (2**20, 2**24) for row in repeat_rows((1.005, 1.02, 0.985, 0.995), (1.0,))]
    write_csv(copy / "repeat.csv.gz", rows)
    said = trust.repeat(rs.read_results(copy))
    assert r"at most 1\,\% at 50.0\,\% of the points from $2^{22}$ on and at most 3\,\% at 100\,\% of those below" in said


def test_enough_is_not_called_too_few(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    write_csv(copy / "repeat.csv.gz", repeat_rows((1.0,), (1.0,)))
    assert "less than" not in trust.repeat(rs.read_results(copy))


# ------------------------------------------------------------------------------------------ another GPU


def test_the_same_times_on_another_gpu_stand_in_the_same_order(results):
    same, pairs = trust.same_order(results, results.beside[0], 2**28)
    assert same == pairs > 50
    assert "Other GPU" in trust.machines(results)
    cub, kernel = 5e-6 + 2**30 / 4e12, 4.2e-6 + 2**30 / 3.2e12
    fields = line_of(tables.machines_table(results), "multiblock")
    assert fields[1] == "device" and fields[4] == f"{cub / kernel:.3f}" == fields[8] and fields[5] == fields[9]
    assert line_of(tables.machines_table(results), "squares")[1] == "end to end"


def test_an_order_turned_round_is_noticed(results, tmp_path):
    faster = {v: (*spec[:3], 9e12, *spec[4:]) if v == "levels/naive" else spec for v, spec in synthetic.GPU.items()}
    write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES))
    write_folder(tmp_path / "other", gpu_rows(types=("f32",), sizes=SIZES, gpu=faster), machine=synthetic.OTHER_GPU)
    there = rs.read_results(tmp_path / "m")
    same, pairs = trust.same_order(there, there.beside[0], 2**28)
    assert 0 < same < pairs


def test_the_same_gpu_or_what_cannot_be_read_is_not_set_beside(folder, tmp_path, capsys):
    copy = shutil.copytree(folder, tmp_path / "m")
    write_folder(tmp_path / "twin", gpu_rows(types=("f32",), sizes=SIZES))
    broken = write_folder(tmp_path / "broken", gpu_rows(types=("f32",), sizes=SIZES), machine=synthetic.OTHER_GPU)
    (broken / "comparison.csv").write_text("schema_version\n")
    there = rs.read_results(copy)
    assert there.beside == [] and "left out: " in capsys.readouterr().out
    assert trust.machines(there) == ABSENT and ABSENT in tables.machines_table(there)


# ------------------------------------------------------------------------------ overhead, page-locked memory


def test_the_rest_of_the_wall_time_is_what_no_sample_had(tmp_path):
    spent = {"wall_s": 200.0, "timed_s": 100.0, "cache_and_restoring_s": 40.0, "around_samples_s": 20.0,
             "memory_wait_s": 24.0}  # of the forty that are left
    runs = [{"run_id": "another", "time_spent": {**spent, "wall_s": 300.0}}, {"run_id": "synthetic", "time_spent": spent}]
    rows = gpu_rows(types=("f32",), sizes=[2**20])
    said = trust.overhead(rs.read_results(write_folder(tmp_path / "m", rows, machine={**synthetic.MACHINE, "runs": runs})))
    assert re.findall(r"(\d+)\\,", said) == ["200", "50", "20", "10", "20", "12", "30"]
    assert trust.overhead(rs.read_results(write_folder(tmp_path / "n", rows))) == ABSENT


def test_page_locked_memory_stands_in_one_table(results):
    table = tables.finish_table(results)
    fields = line_of(table, "unroll/unroll8-template")
    device = 5e-6 + 2**22 / 2.9e12
    assert fields[1:3] == [f"{1e6 * (device + 15e-6):.1f}", f"{1e6 * (device + 12e-6):.1f}"]
    assert fields[3].startswith(f"{(device + 15e-6) / (device + 12e-6):.2f} [")
    assert "levels" not in table and "pinned" not in tables.times_table(results)


# ---------------------------------------------------------------------------------------- what is not there


def test_without_these_files_it_is_said(tmp_path):
    there = rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES, gpu={
        "cub/sum": synthetic.GPU["cub/sum"]})))
    for say in (trust.timing, trust.clocks, trust.nvbench, trust.repeat, trust.machines, trust.overhead):
        assert say(there) == ABSENT
    for table, label in ((tables.timing_table, "tab:timing"), (tables.machines_table, "tab:machines"),
                         (tables.finish_table, "tab:finish")):
        assert ABSENT in table(there) and rf"\label{{{label}}}" in table(there)


def test_make_names_the_files_that_are_missing(tmp_path, capsys):
    folder = write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=[2**20], gpu={"cub/sum": synthetic.GPU["cub/sum"]}))
    write_csv(folder / "repeat.csv.gz", repeat_rows())
    assert make.main(["--results", str(folder), "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for name in ("timing.csv", "models.csv", "nvbench-agreement.csv", "repeat-relative.csv.gz"):
        assert f"has no {name}: " in said
    assert "has no repeat.csv.gz" not in said


@pytest.mark.parametrize("name, contents, said", [
    ("nvbench-agreement.csv", b"element_type,n\nf32,1\n", "lacks the columns mode, variant, reductio_s"),
    ("repeat.csv.gz", b"no gzip", "cannot be read"),
    ("timing.csv", b"", "is empty"),
])
def test_a_foreign_file_is_one_clear_line(folder, tmp_path, capsys, name, contents, said):
    copy = shutil.copytree(folder, tmp_path / "m")
    (copy / name).write_bytes(contents)
    assert make.main(["--results", str(copy), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert said in error and name in error and error.count("\n") == 1
