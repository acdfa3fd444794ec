"""tools/convert_results.py: what a folder of schema 1 held it holds in schema 2, and the one rule fills what is new."""

import csv
import gzip
import json
import shutil
import subprocess
import sys

import pytest
import unread
from project import SOURCE

sys.path.insert(0, str(SOURCE / "tools"))
import convert_results as convert  # noqa: E402

ROW = {"schema_version": "1", "run_id": "r", "timestamp_utc": "t", "experiment": "e", "machine": "m", "device": "cuda",
       "variant": "a/b", "operation": "sum", "element_type": "f32", "accumulator_type": "f32", "n": "1024",
       "offset_elements": "0", "dataset": "random", "seed": "1", "block_threads": "", "grid_blocks": "",
       "settings": "finish=host", "timing_mode": "end_to_end", "cache_state": "cold_dirty", "n_samples": "24",
       "n_rejected": "0", "timer_tick_s": "1e-09", "time_median_s": "", "time_ci_low_s": "", "time_ci_high_s": "",
       "time_min_s": "", "time_p95_s": "", "device_part_median_s": "", "cycles_median": "", "read_time_s": "",
       "launch_floor_s": "", "bytes": "4096", "bandwidth_bytes_per_s": "", "share_of_read_ceiling": "",
       "result": "1.50", "result2": "", "abs_error": "0", "error_bound": "0", "status": "ok",
       "reason": 'a "quoted", reason'}
TIMES = [1e-6 * (10 + (7 * k) % 24) for k in range(24)]  # two rounds an allocation


def write(path, rows):
    with (gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="")) as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def old(tmp_path):
    """A folder as version 1 wrote it; the device part of each sample is half of it."""
    low, high = convert.interval(TIMES, [k // 2 for k in range(24)], 1e-9, 0.95)
    timed = ROW | dict(time_median_s=repr(convert.median(TIMES)), time_ci_low_s=repr(low), time_ci_high_s=repr(high),
                       device_part_median_s=repr(convert.median(TIMES) / 2))
    write(tmp_path / "e.csv", [timed, ROW | dict(n="2048", status="refused")])
    write(tmp_path / "e.samples.csv.gz", [{c: ROW[c] for c in convert.POINT}
                                          | dict(round=k, allocation=k // 2, time_s=repr(t), device_part_s=repr(t / 2),
                                                 voided="no") for k, t in enumerate(TIMES)])
    write(tmp_path / "c.csv", [dict(schema_version="1", n_rounds="24", n_blocks="12", ratio="1.1")])
    run = dict(run_id="r", experiment="e", rules=dict(confidence=0.95), memory_rested=True, restless_visits=0,
               timing=dict(device=dict(tick_s=1e-9)), time_spent=dict(memory_resting_s=0.5))
    (tmp_path / "machine.json").write_text(json.dumps(dict(schema_version=1, runs=[run])))
    return tmp_path


def rows_in(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_numbers_stay_and_names_change(old):
    before = rows_in(old / "e.csv")
    assert convert.main([str(old)]) == 0
    after = rows_in(old / "e.csv")
    schema = json.loads((SOURCE / "experiments" / "results" / "schema.json").read_text())
    assert list(after[0]) == [c["name"] for c in schema["rows"]["columns"]]
    for was, now in zip(before, after, strict=True):
        assert now.pop("timer_resolution_s") == was.pop("timer_tick_s")
        assert was.pop("schema_version") == "1" and now.pop("schema_version") == "2"
        assert {c: now.pop(c) for c in was} == {c: convert.rounded(c, field) for c, field in was.items()}
        filled = {c for c, field in now.items() if field}
        assert filled == ({"device_part_ci_low_s", "device_part_ci_high_s"} if was["status"] == "ok" else set())
    for end in ("low", "high"):
        assert float(after[0][f"device_part_ci_{end}_s"]) == pytest.approx(float(before[0][f"time_ci_{end}_s"]) / 2, 1e-8)
    assert rows_in(old / "c.csv") == [dict(schema_version="2", n_rounds="24", n_clusters="12", ratio="1.1")]
    run, = json.loads((old / "machine.json").read_text())["runs"]
    assert run["timing"] == {"device": {"resolution_s": 1e-9}} and run["time_spent"] == {"memory_wait_s": 0.5}
    assert run["memory_idle_at_start"] is True and run["times_memory_stayed_busy"] == 0


def test_times_are_rounded_as_the_program_rounds_them(old):
    assert convert.main([str(old)]) == 0
    row = rows_in(old / "e.csv")[0] | dict(time_min_s="4.738661674355529e-06", time_p95_s="3.1999312341211885e-08",
                                           bandwidth_bytes_per_s="877288962.7525184", speedup="1",
                                           result="0.12345678901234567", read_time_s="0.0001")
    write(old / "e.csv", [row])
    assert convert.main([str(old)]) == 0
    assert rows_in(old / "e.csv") == [row | dict(time_min_s="4.73866167e-06", time_p95_s="3.19993123e-08",
                                                 bandwidth_bytes_per_s="877288963")]


@pytest.mark.parametrize("exact, written", [  # as in MeasureSchema.TimesAreWrittenToNineDigitsAndResultsToAll
    ("4.738661674355529e-06", "4.73866167e-06"), ("3e-06", "3e-06"), ("0.99999999996", "1"),
    ("12345.678901234", "12345.6789"), ("0", "0"), ("0.0001234567890123", "0.000123456789"),
    ("0.00001234567890123", "1.23456789e-05"), ("", "")])
def test_one_number_is_rounded(exact, written):
    assert convert.rounded("time_min_s", exact) == written and convert.rounded("result", exact) == exact


def test_what_rounding_would_change_besides_is_not_written(old, capsys, monkeypatch):
    assert convert.main([str(old)]) == 0
    write(old / "e.csv", [rows_in(old / "e.csv")[0] | dict(time_min_s="1.23456789012e-06")])
    was = (old / "e.csv").read_text()
    monkeypatch.setattr(convert, "rounded", lambda column, field: "7" if column == "time_min_s" else field)
    assert convert.main([str(old)]) == 1
    assert "would not hold what it held" in capsys.readouterr().err and (old / "e.csv").read_text() == was


def test_what_is_printed_need_not_be_read(old, tmp_path_factory):
    read = tmp_path_factory.mktemp("read")
    shutil.copytree(old, read, dirs_exist_ok=True)
    assert convert.main([str(read)]) == 0
    done = unread.run(SOURCE / "tools" / "convert_results.py", old)
    assert (done.returncode, done.stderr) == (0, "")
    assert (old / "e.csv").read_text() == (read / "e.csv").read_text()
    assert convert.read(old / "e.samples.csv.gz") == convert.read(read / "e.samples.csv.gz")


def test_samples_are_gathered_by_point(old):
    path = old / "e.samples.csv.gz"
    other = {c: ROW[c] for c in convert.POINT} | dict(variant="c/d", allocation=0, time_s="", device_part_s="",
                                                      voided="no")
    header, *records = convert.read(path)
    with_others = [r for k, record in enumerate(records)
                   for r in (record, [str((other | dict(round=k))[c]) for c in header])]
    path.write_bytes(convert.packed(path, [header, *with_others]))
    assert convert.main([str(old)]) == 0
    with gzip.open(path, "rt", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["time_s"].split(" ") == list(map(repr, TIMES)) and second["time_s"] == ""
    assert first["allocation"].split(" ") == [str(k // 2) for k in range(24)]
    assert (first["variant"], second["variant"], second["round"]) == ("a/b", "c/d", " ".join(map(str, range(24))))


def test_what_was_compressed_batch_by_batch_is_compressed_as_a_whole(old):
    assert convert.main([str(old)]) == 0
    path = old / "e.samples.csv.gz"
    header, record = convert.read(path)
    records = [[str(n) if c == "n" else f for c, f in zip(header, record)] for n in range(1024, 1064)]
    whole = convert.packed(path, [header, *records])
    path.write_bytes(b"".join(convert.packed(path, [r]) for r in (header, *records)))  # a member each
    assert len(whole) < path.stat().st_size and convert.read(path) == [header, *records]
    assert convert.main([str(old)]) == 0
    assert path.read_bytes() == whole


def test_samples_that_would_not_be_the_same_are_not_written(old, capsys, monkeypatch):
    path = old / "e.samples.csv.gz"
    was, packed = path.read_bytes(), convert.packed
    monkeypatch.setattr(convert, "packed", lambda p, records: packed(p, [[f.replace("no no", "no yes", 1) for f in r]
                                                                         for r in records]))
    assert convert.main([str(old)]) == 1
    assert "e.samples.csv.gz would not hold what it held" in capsys.readouterr().err and path.read_bytes() == was


def test_a_second_time_nothing_changes(old):
    assert convert.main([str(old)]) == 0
    files = {p: p.read_bytes() for p in old.iterdir()}
    assert convert.main([str(old)]) == 0
    assert {p: p.read_bytes() for p in old.iterdir()} == files


def test_rows_whose_own_interval_the_rule_does_not_give_are_refused(old, capsys):
    path = old / "e.csv"
    low = rows_in(path)[0]["time_ci_low_s"]
    text = path.read_text().replace(f",{low},", f",{float(low) * 0.99!r},", 1)
    path.write_text(text)
    assert convert.main([str(old)]) == 1
    error = capsys.readouterr().err
    assert "the rule gives" in error and error.count("\n") == 1
    assert path.read_text() == text


def test_without_samples_the_new_interval_stays_empty(old):
    (old / "e.samples.csv.gz").unlink()
    assert convert.main([str(old)]) == 0
    assert rows_in(old / "e.csv")[0]["device_part_ci_low_s"] == ""


def test_quantiles_are_students():
    for df, expected in {1: 12.7062, 2: 4.3027, 5: 2.5706, 11: 2.2010, 12: 2.1788, 23: 2.0687, 47: 2.0117}.items():
        assert convert.student_t_quantile(0.975, df) == pytest.approx(expected, abs=5e-5)


def test_a_folder_that_there_is_not_is_one_line(tmp_path):
    done = subprocess.run([sys.executable, SOURCE / "tools" / "convert_results.py", tmp_path / "none"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "is not a folder" in done.stderr
