"""Reading a results folder: what is right is read as it stands, what is wrong is one clear line and exit code 1."""

import json
import math
import shutil

import pandas as pd
import pytest
from project import SOURCE
from synthetic import MACHINE, cpu_rows, gpu_rows, limits_rows, model_rows, row, timed, write_contrasts, write_csv, write_folder

import contrasts
import make
import results as rs

FEW = dict(types=("f32",), sizes=[2**20, 2**24])
SUMS = dict(device="cuda", operation="sum", element_type="f32")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "m", gpu_rows(**FEW), cpu=cpu_rows(types=("f32",), sizes=[2**20]),
                        limits=limits_rows(FEW["sizes"]), models=model_rows())


def complaint(folder) -> str:
    """What is said of a folder that cannot be used: one line."""
    with pytest.raises(rs.ResultsError) as why:
        rs.read_results(folder)
    assert "\n" not in str(why.value)
    return str(why.value)


def edit(path, change):
    path.write_text(change(path.read_text()))


def test_the_columns_are_those_of_the_program():
    # schema.json is the program's own tables (a C++ test compares them); this reader takes what it needs from there.
    assert {"time_median_s", "device_part_ci_low_s", "seed", "status"} <= set(rs.ROWS.names)
    assert "seed" in rs.ROWS.numbers and "variant" not in rs.ROWS.numbers and "result" not in rs.ROWS.numbers
    assert {"variant", "settings", "seed", "n"} <= set(rs.ROWS.key) and "status" not in rs.ROWS.key
    assert "context" in rs.ROWS.optional and "time_median_s" not in rs.ROWS.optional
    assert rs.MODELS.statuses == ["ok", "does_not_fit", "too_few_sizes"] and "latency_s" in rs.MODELS.numbers


def test_the_catalog_has_the_columns_that_figures_and_tables_read():
    source = (SOURCE / "src" / "measure" / "results" / "machine.cpp").read_text()
    header = source[source.index("std::string catalog_csv()"):]
    header = header[:header.index("})")]
    for column in ("variant", *rs.CATALOG):
        assert f'"{column}"' in header, column


def test_reads_numbers_and_leaves_missing_ones_empty(folder):
    table = rs.read_points(folder / "comparison.csv")
    assert len(table) == len(gpu_rows(**FEW))
    cub = table[(table["variant"] == "cub/sum") & (table["timing_mode"] == "device") & (table["n"] == 2**20)].iloc[0]
    assert cub["time_median_s"] == pytest.approx(5e-6 + 2**22 / 4e12)
    assert cub["cycles_median"] != cub["cycles_median"]  # NaN


def test_series_are_found_once_in_a_table_and_anew_in_a_part_of_it(tmp_path):
    write_folder(tmp_path / "m", [timed(1e-5, variant=v, n=2**20) for v in ("cub/sum", "mine/x")])
    table = rs.read_points(tmp_path / "m" / "comparison.csv")
    which = dict(SUMS, mode="device")
    found = rs.series(table, **which)
    assert [s.variant for s in found] == ["cub/sum", "mine/x"]
    assert all(a is b for a, b in zip(found, rs.series(table, **which), strict=True))
    found.clear()
    assert len(rs.series(table, **which)) == 2, "what a caller does with its list is no other's"
    for part in (table[table["variant"] == "mine/x"], table.copy().query("variant == 'mine/x'")):
        assert [s.variant for s in rs.series(part, **which)] == ["mine/x"]


@pytest.mark.parametrize("break_it, said", [
    (lambda text: "", "is empty"),
    (lambda text: text.splitlines()[0] + "\n", "has a header but no rows"),
    (lambda text: text + '2,"unfinished', "cut while being written"),
    (lambda text: text.replace("\n2,", "\n1,"), "schema_version '1'"),
    (lambda text: text.replace("schema_version", "schema"), "lacks the column schema_version"),
    (lambda text: text.replace(",ok,", ",fine,", 1), "status is 'fine'"),
    (lambda text: text.replace(f",{2**20},", ",many,", 1), ":2: n is 'many', not a finite number"),
    (lambda text: text.replace(",f32,", ",f99,", 1), "element_type is 'f99', not one of i8, i32"),
    (lambda text: text.replace("e-0", "e+400", 1), ", not a finite number"),
], ids=["empty", "header only", "cut quote", "other schema", "no schema",
        "unknown status", "no number", "unknown type", "not finite"])
def test_bad_csv_is_one_clear_line(tmp_path, break_it, said):
    path = write_folder(tmp_path / "m", cpu=cpu_rows(types=("f32",), sizes=[2**20])) / "cpu.csv"
    edit(path, break_it)
    with pytest.raises(rs.ResultsError) as why:
        rs.read_points(path)
    assert said in str(why.value) and path.name in str(why.value) and "\n" not in str(why.value)


@pytest.mark.parametrize("name", ["comparison.csv", "cpu.csv", "limits.csv"])
def test_a_folder_with_a_bad_csv_is_one_clear_line(folder, name):
    edit(folder / name, lambda text: text[:-40])
    error = complaint(folder)
    assert "cut while being written" in error and name in error


def test_rows_of_a_clock_that_saw_no_time_pass_are_read_and_left_out(folder):
    path = folder / "comparison.csv"
    rows = rs.read_points(path)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[0, ["time_median_s", "time_min_s"]] = "0"
    table.to_csv(path, index=False)
    assert list(rs.read_points(path)["variant"]) == list(rows["variant"])[1:]


def test_every_cut_of_the_last_row_is_noticed(folder):
    text = (folder / "cpu.csv").read_bytes()
    last = text.rindex(b"\n", 0, -1) + 1
    for end in range(last + 1, len(text)):
        (folder / "cpu.csv").write_bytes(text[:end])
        with pytest.raises(rs.ResultsError, match="cut while being written|last row has no line end"):
            rs.read_points(folder / "cpu.csv")


def test_missing_files_and_folders(folder, tmp_path):
    assert "is not a folder" in complaint(tmp_path / "nowhere")
    (folder / "machine.json").unlink()
    assert "machine.json does not exist" in complaint(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    assert "neither comparison.csv nor cpu.csv" in complaint(folder)


def test_bad_machine_record(folder):
    (folder / "machine.json").write_text("{")
    assert "not valid JSON" in complaint(folder)
    (folder / "machine.json").write_text(json.dumps({**MACHINE, "gpu": {"l2_bytes": "much"}}))
    with pytest.raises(rs.ResultsError, match="'much', not a number"):
        rs.Results(folder).machine.l2_bytes


def test_an_ok_row_without_its_time_is_an_error(folder):
    write_csv(folder / "comparison.csv", gpu_rows(**FEW) + [row(variant="x", n=5)])
    assert "status is ok but time_median_s is missing" in complaint(folder)


def test_the_command_says_in_one_line_what_it_cannot_read_or_write(folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for arguments, said in ((["--results", str(tmp_path / "none")], "is not a folder"),
                            (["--results", str(folder), "--out", str(tmp_path / "file")], "cannot be written")):
        assert make.main(arguments) == 1
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1


def test_peak_is_read_or_computed():
    gpu = dict(MACHINE["gpu"])
    assert rs.Machine("m", {"gpu": gpu}).peak_bytes_per_s == 5e12
    del gpu["theoretical_peak_bytes_per_s"]
    assert rs.Machine("m", {"gpu": gpu}).peak_bytes_per_s == 2 * 2.5e9 * 8000 / 8
    assert rs.Machine("m", {"gpu": None}).peak_bytes_per_s is None


def cub_by_seed(folder, **again) -> dict[int, rs.Series]:
    """CUB's series where its call of 2^20 elements was measured once more, and took a second."""
    write_csv(folder / "comparison.csv", gpu_rows(**FEW) + [timed(1.0, variant="cub/sum", settings="count=32", n=2**20, **again)])
    found = rs.series(rs.read_points(folder / "comparison.csv"), **SUMS, mode="device")
    return {s.seed: s for s in found if s.variant == "cub/sum"}


def test_a_point_measured_again_counts_once_with_its_last_row(folder):
    cub, = cub_by_seed(folder).values()
    assert cub.at(2**20)["time"] == 1.0


def test_two_seeds_are_two_points(folder):
    found = cub_by_seed(folder, seed=2)
    assert found[2].at(2**20)["time"] == 1.0 and found[1].at(2**20)["time"] < 1e-3
    assert [s.name for s in found.values()] == ["cub/sum [seed=1]", "cub/sum [seed=2]"]
    assert found[2].at(2**24) is None and found[1].at(2**24) is not None


def test_the_largest_seeds_are_told_apart(folder):
    rows = [timed(1.0, variant="cub/sum", settings="count=32", n=2**20, seed=2**64 - k) for k in (1, 2)]
    write_csv(folder / "comparison.csv", rows)
    assert len(rs.read_points(folder / "comparison.csv")) == 2


@pytest.mark.parametrize("name, told", [("limits.csv", "finish it with `reductio run ... --resume`"),
                                        ("models.csv", "run `reductio models` again"),
                                        ("verdicts.csv", "run `python paper/verdicts.py FOLDER` again")])
def test_a_file_that_was_cut_is_mended_by_what_made_it(tmp_path, name, told):
    (tmp_path / name).write_text("a,b\n1,2\n3")
    cut = f"{name}:3: row has 1 of 2 fields: it was cut while being written.*"
    with pytest.raises(rs.ResultsError, match=cut) as why:
        rs.read_words(tmp_path / name)
    assert told in str(why.value) and ("--resume" in told) == ("--resume" in str(why.value))


@pytest.mark.parametrize("name, table, lost", [("comparison.csv", rs.ROWS, "n_samples"),
                                               ("models.csv", rs.MODELS, "n_sizes")])
def test_columns_of_other_programs_of_this_schema(folder, name, table, lost):
    """Those that were added later may be absent and are empty; unknown ones are passed over; a lost one is an error."""
    path = folder / name
    rows = rs.read_words(path)

    def without(names):
        rows.drop(columns=names).assign(added_later="whatever").to_csv(path, index=False)
        return rs.read_table(path, table)

    there = without(table.optional)
    assert len(there) == len(rows) and all((there[c].isna() | (there[c] == "")).all() for c in table.optional)
    with pytest.raises(rs.ResultsError, match=f"lacks the column {lost}: {rs.remedy(path)}"):
        without([lost])


def test_settings_are_told_apart_by_what_differs():
    table = rs.pd.DataFrame({"variant": ["levels/naive"] * 2 + ["levels/reduce0", "x/y"],
                             "settings": ["block=256;finish=atomic", "block=256;finish=relaunch",
                                          "block=256;finish=relaunch", "block=32"]})
    assert rs.setting_words(table) == {
        ("levels/naive", "block=256;finish=atomic"): "atomic",
        ("levels/naive", "block=256;finish=relaunch"): "relaunch",
        ("levels/reduce0", "block=256;finish=relaunch"): "relaunch",  # the same words mean the same in one panel
        ("x/y", "block=32"): ""}


def test_ratio_is_time_of_cub_over_time(folder):
    table = rs.read_points(folder / "comparison.csv")
    found = {s.name: s for s in rs.series(table, **SUMS, mode="device")}
    base = rs.base_series(list(found.values()))
    assert base.variant == "cub/sum"
    r = rs.over(found["multiblock/two-launch"], base).set_index("n").loc[2**24]
    ratio = (5e-6 + 2**26 / 4e12) / (6e-6 + 2**26 / 3e12)
    assert (r["ratio"], r["low"], r["high"]) == pytest.approx((ratio, 0.99 * ratio, 1.01 * ratio)) and r["enough"]


def test_limits_and_models_may_be_missing(folder):
    r = rs.read_results(folder)
    assert r.experiment("limits") is not None and r.models is not None
    (folder / "limits.csv").unlink()
    (folder / "models.csv").unlink()
    r = rs.read_results(folder)
    assert r.experiment("limits") is None and r.models is None


@pytest.mark.parametrize("break_it, said", [
    (lambda text: text[:-9], "cut while being written"),
    (lambda text: text.replace(",does_not_fit,", ",bad,"), "status is 'bad', not one of ok, does_not_fit"),
    (lambda text: text.replace("4e-06", "four", 1), "latency_s is 'four', not a finite number"),
    (lambda text: text.replace("synthetic,comparison", "another,comparison"), "is of another run of comparison"),
], ids=["cut", "unknown status", "no number", "another run"])
def test_bad_models_are_one_clear_line(folder, break_it, said):
    edit(folder / "models.csv", break_it)
    error = complaint(folder)
    assert said in error and "models.csv" in error


def test_models_are_found_by_series_and_range(folder):
    r = rs.read_results(folder)
    ceiling, *shown = rs.models_shown(r, "f32", 2**24)
    assert ceiling[0] is None and ceiling[1]["inside"]["latency_s"] == 4e-6
    assert [(s.variant, s.mode, sorted(fits)) for s, fits in shown] == [
        ("multiblock/last-block-warp", "device", ["beyond", "inside"]),
        ("cub/sum", "device", ["beyond", "inside"]), ("thrust/reduce", "end_to_end", ["beyond"])]
    assert dict(shown[1:2][0][1])["inside"]["status"] == "does_not_fit"


def test_harness_calls_are_those_of_the_rows_of_one_mode_and_state(folder):
    r = rs.read_results(folder)
    cold = rs.harness_calls(r.experiment("limits"), mode="device", cache_state="cold_dirty", **SUMS).set_index("n")
    warm = rs.harness_calls(r.experiment("limits"), mode="graph", cache_state="warm", **SUMS).set_index("n")
    assert cold["read"][2**24] == pytest.approx(4e-6 + 2**26 / 4.5e12) and cold["floor"][2**24] == 2e-6
    assert warm["read"][2**24] == pytest.approx(1.5e-6 + 2**26 / 4.8e12) and warm["floor"][2**24] == 1e-6
    assert cold["bytes"][2**20] == 2**22
    assert not len(rs.harness_calls(r.experiment("limits"), mode="graph", cache_state="cold_dirty", **SUMS))


def test_device_parts_have_the_intervals_that_their_rows_hold(tmp_path):
    key = dict(variant="unroll/unroll8", n=2**20, settings="block=1024", timing_mode="end_to_end")
    for known in (True, False):
        interval = dict(device_part_ci_low_s=8e-6, device_part_ci_high_s=12e-6) if known else {}
        write_folder(tmp_path / "m", [timed(50e-6, **key, device_part_median_s=10e-6, **interval)])
        part, = rs.series(rs.read_points(tmp_path / "m" / "comparison.csv"), **SUMS, mode="device_part")
        point = part.at(2**20)
        assert point["time"] == 10e-6
        assert (point["low"], point["high"]) == (8e-6, 12e-6) if known else math.isnan(point["low"])


def test_cpu_results_may_lie_in_a_folder_of_their_own(tmp_path):
    gpu = write_folder(tmp_path / "gpu", gpu_rows(**FEW))
    cpu = write_folder(tmp_path / "cpu", cpu=cpu_rows(types=("f32",), sizes=[2**20]),
                       machine={**MACHINE, "cpu": {"model": "Another CPU"}})
    both = rs.read_results(gpu, cpu)
    assert both.comparison is not None and both.cpu is not None
    assert both.cpu_machine.get("cpu.model") == "Another CPU" and both.machine.get("cpu.model") == "Synthetic CPU"
    with pytest.raises(rs.ResultsError, match="--cpu-results"):
        rs.read_results(gpu, gpu)


def test_contrasts_are_found_by_name_size_and_type(folder):
    assert not rs.Results(folder).contrast("S1").known
    write_contrasts(folder, {"S1": 3, ("S2", 2**28): None})
    results = rs.Results(folder)
    own, large = results.contrast("S1"), results.contrast("S1", 2**28)
    assert (own.n, large.n) == (2**20, 2**28) and (own.value, own.low, own.high) == (3, pytest.approx(2.97), pytest.approx(3.03))
    assert own.enough and own.experiment == "squares" and own.pairs == 1
    assert results.contrast("S2", 2**28).reason == "lacking" and "no such row" in results.contrast("S1", 2**20, "f64").reason
    assert [(rest, c.name) for rest, c in results.contrasts_like("S")] == [("1", "S1")] * 2
    for ask in (lambda: results.contrast("S99"), lambda: results.contrasts_like("nothing.")):
        with pytest.raises(KeyError, match="contrasts.json has no contrast"):
            ask()


def test_a_contrast_is_expanded_for_each_value():
    asked = contrasts.asked()
    assert asked["levels.granularity.global.8"].calls(-1) == ["levels/global-stride:block=256,finish=atomic,granularity=8,index=document"]
    assert len([name for name in asked if name.startswith("ablation.both.")]) == 12 and not any("{" in name for name in asked)


def test_a_file_is_read_when_it_is_asked_for(folder):
    (folder / "comparison.csv").write_text("")
    results = rs.Results(folder)
    assert results.experiment("limits") is not None and results.experiment("squares") is None and results.absent == {"squares.csv"}
    with pytest.raises(rs.ResultsError, match="comparison.csv is empty"):
        results.comparison
