"""Reading a results folder: what is right is read as it stands, what is wrong is one clear line and exit code 1."""

import gzip
import json
import math
import re
import shutil

import pandas as pd
import pytest
from project import SOURCE, judge
from synthetic import (MACHINE, cpu_rows, gpu_rows, limits_rows, model_rows, row, timed, timing_rows, write_contrasts,
                       write_csv, write_folder)

import series as sr
import contrasts
import make
from report import results as rs
from report import tables as tb

FEW = dict(types=("f32",), sizes=[2**20, 2**24])
SUMS = dict(device="cuda", operation="sum", element_type="f32")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "m", gpu_rows(**FEW), cpu=cpu_rows(types=("f32",), sizes=[2**20]),
                        limits=limits_rows(FEW["sizes"]), models=model_rows(), timing=timing_rows())


def complaint(folder) -> str:
    """What is said of a folder that cannot be used: one line."""
    with pytest.raises(rs.ResultsError) as why:
        make.read_results(folder)
    assert "\n" not in str(why.value)
    return str(why.value)


def swapped(old: str, new: str, count: int = -1):
    """An edit that finds what it is to change."""
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, count)
    return edit


BROKEN = {
    "empty": ("cpu.csv", lambda text: "", "is empty"),
    "header only": ("cpu.csv", lambda text: text.splitlines()[0] + "\n", "has a header but no rows"),
    "open quote": ("cpu.csv", lambda text: text + '2,"unfinished', "cut while being written; finish it with `reductio "),
    "cut row": ("comparison.csv", lambda text: text[:-40], "cut while being written"),
    "no line end": ("limits.csv", lambda text: text[:-1], "cut while being written"),
    "cut models": ("models.csv", lambda text: text[:-9], "cut while being written: run `reductio models` again"),
    "a field too few": ("cpu.csv", swapped(",ok,", ",", 1), ":2: row has"),
    "other schema": ("cpu.csv", swapped("\n3,", "\n2,"), "schema version 2"),
    "no header": ("cpu.csv", lambda text: text.partition("\n")[2], "cpu.csv has no header: its first line names no column"),
    "no schema": ("cpu.csv", swapped("schema_version", "schema"), "lacks the column schema_version"),
    "unknown status": ("cpu.csv", swapped(",ok,", ",fine,", 1), "status is 'fine'"),
    "no number": ("cpu.csv", swapped(f",{2**20},", ",many,", 1), ":2: n is 'many', not a whole number"),
    "negative n": ("cpu.csv", swapped(f",{2**20},", ",-5,", 1), ":2: n is '-5', not a whole number"),
    "half an n": ("cpu.csv", swapped(f",{2**20},", ",0.5,", 1), ":2: n is '0.5', not a whole number"),
    "no n": ("cpu.csv", swapped(f",{2**20},", ",,", 1), ":2: n is '', not a whole number"),
    "negative time": ("comparison.csv", lambda text: re.sub(r"(,32e-09|,3.2e-08),(?=\d)", r"\1,-", text, count=1),
                      "not a finite number of 0 or more"),
    "twice": ("comparison.csv", lambda text: text + text.splitlines()[1] + "\n", "is of the same point as line 2"),
    "one row of another schema": ("cpu.csv", swapped("\n3,", "\n99,", 1), "schema version 99"),
    "no runs": ("machine.json", swapped('"runs"', '"walks"'), "does not list its runs"),
    "no object": ("machine.json", lambda text: "[]", "does not list its runs"),
    "unknown type": ("cpu.csv", swapped(",f32,", ",f99,", 1), "element_type is 'f99', not one of i8, i32"),
    "not finite": ("cpu.csv", swapped("e-0", "e+400", 1), ", not a finite number"),
    "status of a fit": ("models.csv", swapped(",does_not_fit,", ",bad,"), "status is 'bad', not one of ok, does_not"),
    "number of a fit": ("models.csv", swapped("4e-06", "four", 1), "latency_s is 'four', not a finite number"),
    "another run": ("models.csv", swapped("synthetic,comparison", "other,comparison"), "is of another run of comparison"),
    "cut contrasts": ("contrasts.csv", lambda text: text[:-20], "cut while being written: run `reductio summarize"),
    "verdict": ("verdicts.csv", swapped("reversed", "rejected"), "verdict is 'rejected'"),
    "cut verdicts": ("verdicts.csv", lambda text: text[:-1], "written: run `reductio summarize FOLDER --cpu-results"),
    "claim": ("verdicts.csv", swapped("S2,", "S9,"), "each claim of claims.json once"),
    "machine.json": ("machine.json", lambda text: "{", "not valid JSON"),
    **{f"{file} without {column}": (file, swapped(column, "renamed", 1), f"{file} lacks the column {column}: ")
       for file, column in (("comparison.csv", "timing_mode"), ("cpu.csv", "time_median_s"),
                            ("limits.csv", "read_time_s"), ("timing.csv", "cycles_median"), ("models.csv", "latency_s"),
                            ("catalog.csv", "variant"), ("contrasts.csv", "ci_low"), ("verdicts.csv", "role"))}}


EDITED = {
    "UTF-16": (lambda text: text.decode().encode("utf-16"), "cpu.csv is UTF-16, as some editors save; save it as UTF-8"),
    "Latin-1": (lambda text: text.replace(b",sum,", b",s\xfcm,", 1), "cpu.csv:2:{at}: a byte that is not of UTF-8"),
    "NUL": (lambda text: text.replace(b",sum,", b",s\0m,", 1), "cpu.csv:2:{at}: a NUL byte; fix that line, or"),
    **{f"quote in {field}": (lambda text, field=field: text.replace(b",sum,", b"," + field + b",", 1),
                             f"cpu.csv:2:{{at{back}}}: a quotation mark that does not belong there; fix that line, or")
       for field, back in ((b's"m', ""), (b'"s', "_begin"), (b'"s"m', "_begin"), (b'"s""', "_begin"))}}


@pytest.mark.parametrize("edit, said", EDITED.values(), ids=EDITED)
def test_what_an_editor_did_to_a_file_is_told(folder, edit, said):
    text = (folder / "cpu.csv").read_bytes()
    (folder / "cpu.csv").write_bytes(edit(text))
    field = text.splitlines()[1].index(b",sum,") + 2
    assert said.format(at=field + 1, at_begin=field) in complaint(folder)


def test_a_byte_order_mark_and_quoted_fields_do_no_harm(folder):
    text = (folder / "cpu.csv").read_bytes()
    quoted = text.replace(b",sum,", b',"sum",', 1).replace(b"\n", b"\r\n")
    rows = rs.read_points(folder / "cpu.csv")
    for changed in (b"\xef\xbb\xbf" + text, quoted):
        (folder / "cpu.csv").write_bytes(changed)
        assert rs.is_experiment(folder / "cpu.csv")
        assert rs.read_points(folder / "cpu.csv").equals(rows)


@pytest.mark.parametrize("file, break_it, said", BROKEN.values(), ids=BROKEN)
def test_a_damaged_file_is_one_clear_line(folder, file, break_it, said):
    judge(write_contrasts(folder, {"S1": 0.5}))
    (folder / file).write_text(break_it((folder / file).read_text()))
    error = complaint(folder)
    assert said in error and file in error


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


def test_rows_of_a_clock_that_saw_no_time_pass_are_read_and_left_out(folder):
    path = folder / "comparison.csv"
    rows = rs.read_points(path)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[0, ["time_median_s", "time_min_s"]] = "0"
    table.to_csv(path, index=False)
    assert list(rs.read_points(path)["variant"]) == list(rows["variant"])[1:]


def test_missing_files_and_folders(folder, tmp_path):
    assert "is not a folder" in complaint(tmp_path / "nowhere")
    (folder / "machine.json").unlink()
    assert "machine.json does not exist" in complaint(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    assert "neither comparison.csv nor cpu.csv" in complaint(folder)


def test_a_machine_record_whose_number_is_none_is_refused(folder):
    (folder / "machine.json").write_text(json.dumps({**MACHINE, "gpu": {"l2_bytes": "much"}}))
    with pytest.raises(rs.ResultsError, match="'much', not a number"):
        rs.Results(folder).machine.number("gpu.l2_bytes")


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


def test_of_a_point_on_several_data_the_last_row_counts(folder):
    again = timed(1.0, variant="cub/sum", settings="count=32", n=2**20, seed=2**64 - 1)
    write_csv(folder / "comparison.csv", gpu_rows(**FEW) + [again])
    cub, = (s for s in sr.series(rs.read_points(folder / "comparison.csv"), "device", **SUMS) if s.variant == "cub/sum")
    assert cub.points["n"].tolist() == FEW["sizes"] and cub.at(2**20)["time"] == 1.0 and cub.at(2**24)["time"] < 1e-3


def test_an_edited_row_is_told_by_its_hash_and_another_schema_by_what_to_do(tmp_path):
    shutil.copytree(SOURCE / "experiments" / "results" / "nvidia-h100-claims", tmp_path / "m")
    rs.read_csv(tmp_path / "m" / "copies.csv")
    text = (tmp_path / "m" / "copies.csv").read_text()
    (tmp_path / "m" / "copies.csv").write_text(text.replace("9.567e-06", "9.568e-06"))
    with pytest.raises(rs.ResultsError, match=r"copies.csv is not as run 20\S+ wrote it, by the SHA-256 in machine.json: it "
                                              r"was edited, or is of another copy; copy the whole results folder again$"):
        rs.read_csv(tmp_path / "m" / "copies.csv")
    (tmp_path / "m" / "copies.csv.gz").write_bytes(gzip.compress(text.encode()))
    rs.read_csv(tmp_path / "m" / "copies.csv.gz")  # compressed it is the same
    machine = json.loads((tmp_path / "m" / "machine.json").read_text())
    (tmp_path / "m" / "machine.json").write_text(json.dumps(machine | {"schema_version": 2, "build": {"git_revision": 9 * "a"}}))
    with pytest.raises(rs.ResultsError, match=r"machine.json has schema version 2, this program reads 3: run the experiment "
                                              r"again, or use the program that wrote it \(commit aaaaaaaa\)$"):
        rs.Results(tmp_path / "m").machine


@pytest.mark.parametrize("name, table, lost", [("comparison.csv", tb.ROWS, "n_samples"),
                                               ("models.csv", tb.TABLES["models"], "n_sizes")])
def test_columns_of_other_programs_of_this_schema(folder, name, table, lost):
    """Those that were added later may be absent and are empty; unknown ones are passed over; a lost one is an error."""
    path = folder / name
    rows = tb.read_words(path)

    def without(names):
        rows.drop(columns=names).assign(added_later="whatever").to_csv(path, index=False)
        return tb.read_table(path, table)

    filled = without(table.optional)
    assert len(filled) == len(rows) and all((filled[c].isna() | (filled[c] == "")).all() for c in table.optional)
    with pytest.raises(rs.ResultsError, match=f"lacks the column {lost}: {tb.remedy(path)}"):
        without([lost])


# Of another version a folder is refused; a name that is not today's would be a second word for one thing.
def test_committed_folders_are_of_this_schema_and_as_their_runs_wrote_them():
    folders = [f for f in sorted((SOURCE / "experiments" / "results").iterdir()) if f.is_dir() and f.name != "suites"]
    assert len(folders) > 10
    for folder in folders:
        record = rs.Results(folder).machine.record
        assert record["runs"] or record["tools"], folder
        for path in folder.glob("*.csv*"):
            tb.require_unchanged(path)
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
                header = file.readline().rstrip("\n").split(",")
            known = tb.SAMPLES if ".samples." in path.name else tb.ROWS if rs.is_experiment(path) else None
            assert not known or set(header) <= set(known.names), path


def test_settings_are_told_apart_by_what_differs():
    table = rs.pd.DataFrame({"variant": ["levels/naive"] * 2 + ["levels/reduce0", "x/y"],
                             "settings": ["block=256;finish=atomic", "block=256;finish=relaunch",
                                          "block=256;finish=relaunch", "block=32"]})
    assert rs.setting_words(table) == {
        ("levels/naive", "block=256;finish=atomic"): "atomic",
        ("levels/naive", "block=256;finish=relaunch"): "relaunch",
        ("levels/reduce0", "block=256;finish=relaunch"): "relaunch",  # the same words mean the same in one panel
        ("x/y", "block=32"): ""}


def test_harness_calls_are_those_of_the_rows_of_one_mode_and_state(folder):
    r = make.read_results(folder)
    cold = sr.harness_calls(r.experiment("limits"), mode="device", cache_state="cold_dirty", **SUMS).set_index("n")
    warm = sr.harness_calls(r.experiment("limits"), mode="graph", cache_state="warm", **SUMS).set_index("n")
    assert cold["read_time_s"][2**24] == pytest.approx(4e-6 + 2**26 / 4.5e12)
    assert cold["launch_floor_s"][2**24] == 2e-6 and warm["launch_floor_s"][2**24] == 1e-6
    assert warm["read_time_s"][2**24] == pytest.approx(1.5e-6 + 2**26 / 4.8e12)
    assert not len(sr.harness_calls(r.experiment("limits"), mode="graph", cache_state="cold_dirty", **SUMS))


@pytest.mark.parametrize("interval", [(8e-6, 12e-6), ("", "")])
def test_device_parts_have_the_intervals_that_their_rows_hold(tmp_path, interval):
    rows = [timed(50e-6, variant="unroll/unroll8", n=2**20, settings="block=1024", timing_mode="end_to_end",
                  device_part_median_s=10e-6, device_part_ci_low_s=interval[0], device_part_ci_high_s=interval[1])]
    part, = sr.series(rs.Results(write_folder(tmp_path / "m", rows)).comparison, "device_part", **SUMS)
    point = part.at(2**20)
    assert point["time"] == 10e-6 and [point["low"], point["high"]] == pytest.approx([v or math.nan for v in interval], nan_ok=True)


def test_cpu_results_may_lie_in_a_folder_of_their_own(tmp_path):
    gpu = write_folder(tmp_path / "gpu", gpu_rows(**FEW))
    cpu = write_folder(tmp_path / "cpu", cpu=cpu_rows(types=("f32",), sizes=[2**20]),
                       machine={**MACHINE, "cpu": {"model": "Another CPU"}})
    both = make.read_results(gpu, cpu)
    assert both.comparison is not None and both.experiment("cpu") is not None
    assert both.machine_of("cpu.csv").get("cpu.model") == "Another CPU"
    assert both.machine.get("cpu.model") == "Synthetic CPU"
    with pytest.raises(rs.ResultsError, match="--cpu-results"):
        make.read_results(gpu, gpu)


def test_contrasts_are_found_by_name_and_size(folder):
    assert not contrasts.at(rs.Results(folder), "S1").known
    write_contrasts(folder, {"S1": 3, ("S2", 2**28): None})
    results = rs.Results(folder)
    own, large = contrasts.at(results, "S1"), contrasts.at(results, "S1", 2**28)
    assert (own.n, large.n) == (2**20, 2**28) and (own.value, own.low, own.high) == (3, pytest.approx(2.97), pytest.approx(3.03))
    assert own.enough and own.pairs == 1
    assert contrasts.at(results, "S2", 2**28).reason == "lacking" and "no such row" in contrasts.at(results, "S1", 2**10).reason
    assert [(rest, c.name) for rest, c in contrasts.like(results, "S")] == [("1", "S1")] * 2
    for ask in (lambda: contrasts.at(results, "S99"), lambda: contrasts.like(results, "nothing.")):
        with pytest.raises(KeyError, match="contrasts.json has no contrast"):
            ask()


def test_a_file_is_read_when_it_is_asked_for(folder):
    (folder / "comparison.csv").write_text("")
    results = rs.Results(folder)
    assert results.experiment("limits") is not None and results.experiment("squares") is None
    with pytest.raises(rs.ResultsError, match="comparison.csv is empty"):
        results.comparison
