"""compare and selftest: what they say, what they keep, what they refuse, and with which exit code they end."""

import csv
import gzip
import io
import json
import math
import re

import pytest

from conftest import snapshot

# Four loops over the same numbers, differently compiled: -O0 takes several times as long as -O2.
FAST, SLOW = "host/plain", "host/plain:opt=O0"
SMALL = ["--sizes", "2^12,2^14", "--max-samples", "96"]
LAST = re.compile(r"host/plain:opt=O0 ran 0\.\d+ times \[0\.\d+, 0\.\d+\] at 2\^12, "
                  r"0\.\d+ times \[0\.\d+, 0\.\d+\] at 2\^14 as fast as host/plain: f32 sum end_to_end warm\n")


def results(reductio, name, *arguments):
    """A results folder of its own, written by run."""
    reductio("run", "cpu", "--variants", "^host/(plain|unroll4)$", "--types", "i32", "--set", "opt=O2", "--sizes",
             "2^10,2^12", "--out", name, *arguments).ok()
    return name


@pytest.fixture
def stored(reductio, tmp_path):
    """Two results folders of the same experiment. An odd number of samples, so that each median is one of them."""
    out = []
    for name in ("a", "b"):
        results(reductio, name, "--min-samples", "25", "--max-samples", "25")
        out.append(next((tmp_path / name).iterdir()))
    return out


# ----------------------------------------------------------------------------------------------------------------- live


def test_says_in_words_how_much_slower(reductio, tmp_path):
    out = reductio("compare", FAST, SLOW, *SMALL).ok()
    lines = out.splitlines(keepends=True)
    assert LAST.fullmatch(lines[-1]), lines[-1]
    assert lines[0].split()[0] == "variant" and "verdict" in lines[0]
    assert out.count("SLOWER") == 2 and "Paired" in out and "base: host/plain." in out
    assert not snapshot(tmp_path), "nothing is kept unless asked for"


def test_csv_and_json_say_the_same(reductio):
    rows = reductio("compare", FAST, SLOW, "host/unroll8", *SMALL, "--csv").rows()
    assert [(r["variant"], r["settings"], r["n"]) for r in rows] == [
        ("host/plain", "opt=O0", "4096"), ("host/unroll8", "opt=O2", "4096"),
        ("host/plain", "opt=O0", "16384"), ("host/unroll8", "opt=O2", "16384")]
    for r in rows:
        assert r["base"] == "host/plain" and r["paired"] == "yes" and r["device"] == "cpu"
        assert r["timing_mode"] == "end_to_end" and r["cache_state"] == "warm"
        assert r["machine"] == r["base_machine"] and r["run_id"] == r["base_run_id"] == rows[0]["run_id"] != ""
        assert r["n_rejected"] == r["base_n_rejected"] == "0"
        assert float(r["ratio_low"]) <= float(r["ratio"]) <= float(r["ratio_high"])
        assert r["n_intervals"] == "4" and int(r["n_rounds"]) >= 24 and int(r["n_blocks"]) == 24
        assert r["verdict"] in ("FASTER", "SLOWER", "SAME", "UNDECIDED")
        assert math.isclose(float(r["ratio"]), float(r["base_time_s"]) / float(r["time_s"]), rel_tol=0.5)
    told = json.loads(reductio("compare", FAST, SLOW, *SMALL, "--json").ok())
    assert told["paired"] and told["confidence"] == 0.95 and told["effect"] == 0.01
    assert [r["verdict"] for r in told["rows"]] == ["SLOWER", "SLOWER"]
    assert list(told["rows"][0]) == list(rows[0]) and told["rows"][0]["n"] == 4096
    assert LAST.fullmatch(told["conclusions"][-1] + "\n")
    (origin,) = told["origins"]
    assert origin["source"] == "now" and origin["machine"]["machine"] == rows[0]["machine"]
    assert origin["machine"]["build"]["git_revision"] and origin["machine"]["cpu"]["model"]
    assert origin["runs"][0]["run_id"] == told["rows"][0]["run_id"] != rows[0]["run_id"]
    assert origin["runs"][0]["machine_id"] and origin["runs"][0]["binary"] and origin["runs"][0]["git_revision"]
    assert origin["runs"][0]["seed"] == 1 and "--json" in origin["runs"][0]["arguments"]


def test_quiet_leaves_the_words(reductio):
    assert LAST.fullmatch(reductio("compare", FAST, SLOW, *SMALL, "--quiet").ok())


def test_exit_codes_of_fail_if_slower(reductio):
    small = ["--sizes", "2^12", "--max-samples", "96", "--quiet", "--fail-if-slower"]
    assert reductio("compare", FAST, SLOW, *small).code == 3
    assert reductio("compare", SLOW, FAST, *small).code == 0
    # Five rounds give no interval of 95 %.
    assert reductio("compare", SLOW, FAST, *small, "--max-samples", "5").code == 4
    # An effect that nobody can have: all that is known well enough is the same.
    assert reductio("compare", FAST, SLOW, *small, "--effect", "5000%").code == 0
    undecided = reductio("compare", FAST, SLOW, *small[:-2], "--max-samples", "5").ok()
    assert "UNDECIDED" in undecided and "samples or more would decide" in undecided


def test_a_variant_beside_itself(reductio):
    rows = reductio("compare", FAST, FAST, "--sizes", "2^12", "--csv").rows()
    assert len(rows) == 1 and rows[0]["base"] == rows[0]["variant"]
    assert 0.5 < float(rows[0]["ratio"]) < 2
    assert "host/plain (again) ran" in reductio("compare", FAST, FAST, "--sizes", "2^12", "--quiet").ok()


def test_many_rows_are_not_averaged(reductio):
    out = reductio("compare", FAST, SLOW, "--sizes", "2^8:2^14", "--max-samples", "48", "--quiet").ok()
    assert re.fullmatch(r"host/plain:opt=O0 ran from 0\.\d+ times \[.*\] at \S+ to 0\.\d+ times \[.*\] "
                        r"at \S+ as fast as host/plain: f32 sum end_to_end warm, over 7 rows: .*SLOWER.*\n", out), out


def test_a_long_comparison_shows_what_differs(reductio):
    out = reductio("compare", FAST, SLOW, FAST, "--sizes", "64:127:1", "--max-samples", "24").ok()
    lines = out.splitlines()
    shown = [line for line in lines if line.startswith("host/plain") and " ran " not in line]
    hidden = int(re.search(r"^(\d+) rows that are SAME or UNDECIDED are not shown; --csv has all$", out, re.M).group(1))
    assert len(shown) + hidden == 128 and hidden >= 64 - 5
    assert not any(line.endswith("SAME") or "UNDECIDED" in line for line in shown)


# ------------------------------------------------------------------------------------------------------------ baselines


def test_a_baseline_is_kept_and_compared_with(reductio, tmp_path):
    saved = reductio("compare", FAST, *SMALL, "--save-baseline", "before").ok()
    folder = next(tmp_path.glob("results/*/baselines/before"))
    assert {p.name for p in folder.iterdir()} == {"compare.csv", "compare.samples.csv.gz", "machine.json",
                                                  "catalog.csv"}
    assert "before" in saved and str(folder.relative_to(tmp_path)) in saved
    kept = snapshot(tmp_path)
    rows = reductio("compare", FAST, *SMALL, "--baseline", "before", "--csv").rows()
    assert [r["n"] for r in rows] == ["4096", "16384"]
    for r in rows:
        assert r["paired"] == "no" and r["base"] == r["variant"] == "host/plain" and r["source"] == "now"
        assert r["base_source"].endswith("baselines/before")
        assert 0.2 < float(r["ratio"]) < 5
    words = reductio("compare", FAST, "--sizes", "2^12", "--baseline", "before").ok()
    assert "Unpaired" in words and words.splitlines()[-1].endswith(
        "as fast as baseline 'before': 2^12 f32 sum end_to_end warm")
    assert snapshot(tmp_path) == kept


def test_a_baseline_is_not_overwritten_by_chance(reductio, tmp_path):
    reductio("compare", FAST, "--sizes", "2^10", "--save-baseline", "x").ok()
    before = snapshot(tmp_path)
    assert "--force" in reductio("compare", FAST, "--sizes", "2^10", "--save-baseline", "x").error(1)
    assert snapshot(tmp_path) == before
    # Nor replaced by what cannot be measured.
    assert "mode graph" in reductio("compare", FAST, "--sizes", "2^11", "--save-baseline", "x", "--force", "--modes",
                                    "graph").error(1)
    assert snapshot(tmp_path) == before
    reductio("compare", FAST, "--sizes", "2^11", "--save-baseline", "x", "--force").ok()
    rows = list(csv.DictReader(next(tmp_path.glob("results/*/baselines/x/compare.csv")).open(newline="")))
    assert [r["n"] for r in rows] == ["2048"]


def test_a_baseline_must_hold_what_is_measured_now(reductio):
    reductio("compare", FAST, "--sizes", "2^10", "--save-baseline", "x").ok()
    assert "'y'" in reductio("compare", FAST, "--sizes", "2^10", "--baseline", "y").error(1)
    few = ["--max-samples", "24"]
    message = reductio("compare", FAST, "--sizes", "2^10,2^11", "--baseline", "x", *few, "--quiet").error(1)
    assert "rows are missing" in message and "1 of the 2" in message
    assert "cache_state" in reductio("compare", FAST, "--sizes", "2^10", "--baseline", "x", "--cache", "cold_clean",
                                     *few, "--quiet").error(1)


# ---------------------------------------------------------------------------------------------------------- two folders


def test_two_folders_are_compared_unpaired(reductio, tmp_path, stored):
    before = snapshot(tmp_path)
    out = reductio("compare", *stored).ok()
    assert "Unpaired" in out and "drifted" in out and re.search(r"\d of 4 cover 1\.", out)
    assert out.splitlines()[-1].startswith(f"{stored[1]} ran ")
    rows = reductio("compare", *stored, "--csv").rows()
    assert len(rows) == 4
    for r in rows:
        assert r["paired"] == "no" and r["base_source"] == str(stored[0]) and r["source"] == str(stored[1])
        assert r["base"] == r["variant"]
        assert math.isclose(float(r["ratio"]), float(r["base_time_s"]) / float(r["time_s"]), rel_tol=1e-6)
    assert snapshot(tmp_path) == before


def test_the_folders_that_out_named_will_do(reductio, tmp_path, stored):
    rows = reductio("compare", "a", "b", "--csv").rows()
    assert len(rows) == 4 and rows[0]["base_source"] == "a" and rows[0]["source"] == "b"
    assert reductio("compare", "a", "b").ok().splitlines()[-1].startswith("b ran ")
    stored[0].rename(tmp_path / "a" / "other-machine")
    rewrite(tmp_path / "a" / "other-machine", lambda rows: [{**r, "machine": "other-machine"} for r in rows])
    assert "different machines: " in reductio("compare", "a", "b").ok()
    told = json.loads(reductio("compare", "a", "b", "--json").ok())["origins"]
    assert [o["source"] for o in told] == ["a", "b"] and "runs" not in told[0]["machine"]
    assert all(o["runs"][0]["experiment"] == "cpu" and o["runs"][0]["machine_id"] for o in told)
    live = json.loads(reductio("compare", FAST, SLOW, *SMALL, "--json").ok())["origins"]
    assert list(live[0]["runs"][0]) == list(told[0]["runs"][0])
    (tmp_path / "b" / "third").mkdir()
    (tmp_path / "b" / "third" / "machine.json").write_text("{}")
    assert "2 machines" in reductio("compare", "a", "b").error(1)


def test_another_card_of_the_same_name_and_another_build_are_told(reductio, stored):
    assert "different" not in reductio("compare", *stored).ok().split("measured at different times", 1)[1]
    path = stored[1] / "machine.json"
    for key, words in (("machine_id", "different machines of one name: "), ("binary", "different builds")):
        was = path.read_text()
        described = json.loads(was)
        described["runs"][0][key] = "another"
        path.write_text(json.dumps(described))
        assert words in reductio("compare", *stored).ok()
        assert "different" not in reductio("compare", stored[1], stored[1]).ok().split("different times", 1)[1]
        for unknown in (5, None):  # what is not known is no other machine
            described["runs"][0][key] = unknown
            path.write_text(json.dumps(described))
            assert words not in reductio("compare", *stored).ok()
        del described["runs"][0][key]
        path.write_text(json.dumps(described))
        assert words not in reductio("compare", *stored).ok()
        path.write_text(was)
    described = json.loads(path.read_text())
    other = {**described["runs"][0], "experiment": "limits", "run_id": "another", "machine_id": "x", "binary": "y"}
    path.write_text(json.dumps({**described, "runs": [*described["runs"], other]}))
    header = (stored[1] / "cpu.csv").read_text().splitlines(keepends=True)[0]
    (stored[1] / "limits.csv").write_text(header)
    assert "different" not in reductio("compare", *stored).ok().split("measured at different times", 1)[1], \
        "no compared row is of that run"
    path.write_text(json.dumps({**described, "runs": [{**described["runs"][0], "experiment": 5}]}))
    assert "without an experiment's name" in reductio("compare", *stored).error(1)


def test_a_long_comparison_counts_what_could_not_be_compared(reductio, stored):
    def many(rows):
        return rows + [{**row, "n": row["n"] + str(i), "status": "refused", "reason": "too large", "time_median_s": ""}
                       for i in range(16) for row in rows]

    for folder in stored:
        rewrite(folder, many)
    out = reductio("compare", *stored).ok()
    assert "64 rows that could not be compared are not shown; --csv has all, and why" in out
    assert "too large" not in out


def rewrite(folder, change):
    """Changes the rows of a folder's CSV by `change(rows)`."""
    path = folder / "cpu.csv"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    columns = list(rows[0])
    rows = change(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue())


def test_missing_rows_are_counted(reductio, stored):
    rewrite(stored[1], lambda rows: rows[1:])
    message = reductio("compare", *stored).error(1)
    assert "rows are missing" in message and "lacks 1 of 4" in message and "lacks 0 of 3" in message
    assert "--common" in message and "host/" in message
    assert len(reductio("compare", *stored, "--common", "--csv").rows()) == 3
    rewrite(stored[0], lambda rows: rows[:1])
    assert "no rows in common" in reductio("compare", *stored, "--common").error(1)


def test_missing_samples_are_counted(reductio, stored):
    path = stored[0] / "cpu.samples.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    kept = [line for line in lines if ",1024," not in line]
    assert len(kept) < len(lines)
    path.write_bytes(gzip.compress("".join(kept).encode()))
    message = reductio("compare", *stored).error(1)
    assert "2 of the 4 timed rows" in message and "samples" in message
    path.unlink()
    assert "4 of the 4" in reductio("compare", *stored).error(1)


@pytest.mark.parametrize("column,value,words", [
    ("timing_mode", "device", ["not comparable", "timing_mode", "device", "end_to_end"]),
    ("cache_state", "cold_dirty", ["not comparable", "cache_state", "cold_dirty", "warm"]),
    ("schema_version", "999", ["schema version 999"]),
])
def test_what_is_not_comparable_is_refused(reductio, stored, column, value, words):
    rewrite(stored[0], lambda rows: [{**r, column: value} for r in rows])
    if column != "schema_version":  # samples carry the key as well
        path = stored[0] / "cpu.samples.csv.gz"
        text = gzip.decompress(path.read_bytes()).decode()
        was = {"timing_mode": "end_to_end", "cache_state": "warm"}[column]
        path.write_bytes(gzip.compress(text.replace(f",{was},", f",{value},").encode()))
    message = reductio("compare", *stored).error(1)
    for word in words:
        assert word in message


def test_a_cut_folder_is_refused(reductio, stored):
    path = stored[1] / "cpu.csv"
    path.write_bytes(path.read_bytes()[:-10])
    assert "cut" in reductio("compare", *stored).error(1)


def test_folders_without_results(reductio, tmp_path, stored):
    (tmp_path / "empty").mkdir()
    assert "is empty a results folder" in reductio("compare", "empty", "empty").error(1)
    assert "two results folders" in reductio("compare", stored[0]).error(1)
    for others in (["nowhere"], ["nowhere", stored[0]]):
        message = reductio("compare", stored[0], *others).error(1)
        assert "'nowhere'" in message and "nor is there a folder" in message
    assert "do not mix" in reductio("compare", stored[0], "host/plain").error(1)
    assert "--sizes" in reductio("compare", *stored, "--sizes", "2^10").error(1)


# ------------------------------------------------------------------------------------------------------------ bad input

PAIR = ["compare", "host/plain", "host/unroll4"]


@pytest.mark.parametrize("arguments,words", [
    (["compare"], ["name the variants"]),
    (["compare", "host/plain"], ["at least two"]),
    (["compare", "host/plain", "host/plane"], ["'host/plane'", "'host/plain'"]),
    (["compare", "host/plain", "nowhere/at-all"], ["'nowhere/at-all'", "nor is there a folder"]),
    (["compare", "results/a", "results/b"], ["'results/a'", "nor is there a folder"]),
    (["compare", "host/plain", "host/plain:opt=O9"], ["opt=O9", "allowed", "O3"]),
    (["compare", "host/plain", "host/plain:level=3"], ["'level'", "opt"]),
    (["compare", "host/plain", "host/plain:opt"], ["'opt'", "NAME=VALUE"]),
    (["compare", "host/plain", "host/plain:"], ["names no setting", "NAME=VALUE"]),
    (["compare", "eigen/sum", "eigen/squared-norm"], ["eigen/sum", "eigen/squared-norm", "sum_of_squares",
                                                      "operation"]),
    ([*PAIR, "--operations", "sum_of_squares"], ["host/plain", "operation", "sum_of_squares"]),
    ([*PAIR, "--types", "f16"], ["'f16'"]),
    ([*PAIR, "--max-samples", "0"], ["--max-samples"]),
    ([*PAIR, "--min-samples", "0"], ["--min-samples"]),
    ([*PAIR, "--min-samples", "9", "--max-samples", "3"], ["--min-samples", "--max-samples"]),
    ([*PAIR, "--timeout", "0"], ["--timeout"]),
    ([*PAIR, "--effect", "0"], ["--effect"]),
    ([*PAIR, "--effect", "-1%"], ["--effect"]),
    ([*PAIR, "--effect", "much"], ["--effect", "'much'"]),
    ([*PAIR, "--modes", "fast"], ["'fast'", "end_to_end"]),
    ([*PAIR, "--modes", "device"], ["host/plain", "device", "--modes end_to_end"]),
    ([*PAIR, "--modes", "clock"], ["clock", "end_to_end"]),
    ([*PAIR, "--cache", "hot"], ["'hot'", "warm"]),
    (["compare", "host/plain", "host/recursive", "--cache", "warm"],
     ["host/recursive", "warm", "; --cache cold_dirty or cold_clean would do"]),
    ([*PAIR, "--device", "sim"], ["no time"]),
    ([*PAIR, "--device", "cuda"], ["host/plain", "cuda"]),
    (["compare", "host/plain", "twopass/rolled"], ["device"]),
    ([*PAIR, "--gpu", "3"], ["--gpu", "host/plain", "leave --gpu out"]),
    ([*PAIR, "--common"], ["--common"]),
    ([*PAIR, "--save-baseline", "../x"], ["'../x'", "--save-baseline"]),
    ([*PAIR, "--save-baseline", "x", "--baseline", "x"], ["same baseline"]),
    ([*PAIR, "--csv", "--json"], ["--csv", "--json"]),
    ([*PAIR, "--sises", "10"], ["'--sises'", "'--sizes'"]),
    (["selftest", "host/plane"], ["'host/plain'"]),
    (["selftest", "--repeats", "0"], ["--repeats"]),
    (["selftest", "--sizes", "0,1000"], ["--sizes 0", "give sizes from 1 on"]),
    (["selftest", "--device", "sim"], ["no time"]),
    (["selftest", "host/plain", "--device", "cuda"], ["host/plain"]),
    (["selftest", "host/plain", "--gpu", "3"], ["--gpu", "host/plain", "leave --gpu out"]),
], ids=lambda a: " ".join(a) if isinstance(a, list) else None)
def test_wrong_requests_are_one_line(reductio, tmp_path, arguments, words):
    done = reductio(*arguments)
    message = done.error(1)
    for word in words:
        assert word in message
    assert not done.out and not snapshot(tmp_path)


def test_kernels_want_a_gpu(reductio):
    done = reductio("compare", "twopass/rolled", "levels/naive", CUDA_VISIBLE_DEVICES="")
    assert "--device cpu" in done.error(77)


def test_types_that_nobody_shares_are_told_apart_from_a_refusal(reductio):
    # A point that one of them declines is a line with its reason, beside those that can be compared.
    out = reductio("compare", "host/plain", "std/reduce", "--sizes", "2^10", "--types", "i32,f32", "--max-samples",
                   "24").ok()
    assert out.count("\nstd/reduce  ") == 2


def test_where_nothing_could_be_compared_no_interval_is_spoken_of(reductio):
    too_large = ["compare", FAST, SLOW, "--sizes", "2^50"]
    for arguments in (too_large, [*too_large, "--fail-if-slower"]):
        done = reductio(*arguments)
        assert done.code == 1
        why = "host/plain: refused, needs 4194304.0 GiB of memory"
        assert done.err.splitlines()[-1].startswith(f"reductio: nothing could be compared: {why}")
        assert f"not compared: {why}" in done.out and "base: host/plain. Nothing could be compared.\n" in done.out
        assert "interval " not in done.out.replace("[interval]", "") and "intervals" not in done.out
        assert "rounds" not in done.out


# ------------------------------------------------------------------------------------------------------------- selftest


def test_selftest_reports_rate_and_planted_effects(reductio):
    done = reductio("selftest", "--device", "cpu", "--quick", "--sizes", "2^13", "--json")
    assert done.code in (0, 1), done.err  # a busy machine may hide 2 %, and the program then says so
    told = json.loads(done.out)
    assert told["variant"] == "host/plain" and told["device"] == "cpu" and told["comparisons"] == 10
    (itself,) = told["with_itself"]
    assert itself["n"] == 8192 and itself["comparisons"] == 10 and itself["time_s"] > 0
    low, high = told["false_positive_rate_interval"]
    assert 0 <= low <= told["false_positives"] / 10 <= high <= 1
    assert [p["effect"] for p in told["planted"]] == [0.02, 0.05, 0.10]
    for p in told["planted"]:
        assert math.isclose(p["ratio"], 1 / (1 + p["effect"]), rel_tol=0.1)
        assert p["covered"] == (p["rest_interval"][0] <= 1 <= p["rest_interval"][1])
        assert p["found"] == (p["verdict"] == "SLOWER" and p["covered"])
    failed = low > 0.05 or not all(p["found"] for p in told["planted"])
    assert done.code == int(failed) and ("selftest failed" in done.err) == failed


def test_selftest_of_calls_shorter_than_the_resolution_says_so(reductio):
    done = reductio("selftest", "host/plain", "--quick", "--sizes", "1", "--repeats", "1", "--quiet")
    assert done.error(1).endswith("the clock's resolution is too coarse for calls this short, give larger --sizes")


def test_selftest_in_words(reductio):
    done = reductio("selftest", "host/unroll8", "--quick", "--sizes", "2^10", "--repeats", "3", "--quiet")
    assert re.fullmatch(r"\d of 3 comparisons of a variant with itself found a difference: .*\n"
                        r"\d of 3 planted effects were found\n", done.out), done.out
