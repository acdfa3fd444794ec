"""compare and selftest: what they say, what they keep, what they refuse, and with which exit code they end."""

import collections
import csv
import gzip
import io
import json
import math
import re
import shutil

import pytest
from project import SOURCE, forget_hashes

from conftest import call, snapshot

# Live comparisons say what this machine measured, whatever that was: of them the tests read how it is said. What is to
# be said of which times is tested on folders whose times a test has planted.
FAST, SLOW = "host/plain", "host/plain:opt=O0"
SMALL = ["--sizes", "2^12,2^14", "--max-samples", "96"]
VERDICTS = ("FASTER", "SLOWER", "SAME", "UNDECIDED")
RATIO = rf"\d+\.\d+ times \[\d+\.\d+, (?:\d+\.\d+|inf)\] \((?:{'|'.join(VERDICTS)})\)"
LAST = re.compile(rf"host/plain:opt=O0 ran {RATIO} at 2\^12, {RATIO} at 2\^14 as fast as host/plain: "
                  r"f32 sum end_to_end warm\n")


def results(reductio, name, *arguments):
    """A results folder of its own, written by run."""
    reductio("run", "cpu", "--variants", "^host/(plain|unroll4)$", "--types", "i32", "--set", "opt=O2", "--sizes",
             "2^10,2^12", "--out", name, *arguments).ok()
    return name


@pytest.fixture(scope="session")
def measured_once(tmp_path_factory):
    """Two results folders of the same experiment. An odd number of samples, so that each median is one of them."""
    root = tmp_path_factory.mktemp("measured")
    for name in ("a", "b"):
        results(lambda *arguments: call(*arguments, cwd=root), name, "--min-samples", "25", "--max-samples", "25")
    return root


@pytest.fixture
def stored(measured_once, tmp_path):
    """The two folders, copied to where a test may change them."""
    shutil.copytree(measured_once, tmp_path, dirs_exist_ok=True)
    return [next((tmp_path / name).iterdir()) for name in ("a", "b")]


def records(text):
    return list(csv.DictReader(io.StringIO(text)))


def text_of(rows, columns=None):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def plant(folder, time_of):
    """Replaces each sample's time by `time_of(variant, n, sample's number)`, and the clock by one of a picosecond."""
    path = folder / "cpu.samples.csv.gz"
    rows = records(gzip.decompress(path.read_bytes()).decode())
    seen = collections.Counter()
    for r in rows:
        point = r["variant"], int(r["n"])
        planted = []
        for _ in r["time_s"].split(" "):
            planted.append(repr(time_of(*point, seen[point])))
            seen[point] += 1
        r["time_s"] = " ".join(planted)
    path.write_bytes(gzip.compress(text_of(rows).encode()))

    def median(row):
        times = sorted(time_of(row["variant"], int(row["n"]), i) for i in range(seen[row["variant"], int(row["n"])]))
        return repr(times[len(times) // 2])

    rewrite(folder, lambda rows: [{**r, "time_median_s": median(r), "timer_resolution_s": "1e-12"} for r in rows])


@pytest.fixture
def planted(stored):
    """Plants times in both folders: those of the second are `factor(variant, n)` times as long as the first's, which
    vary by less than a thousandth."""
    def run(factor):
        def steady(i):
            return 1e-5 * (1 + 1e-5 * (i * 7 % 25))
        plant(stored[0], lambda variant, n, i: steady(i))
        plant(stored[1], lambda variant, n, i: steady(i) * factor(variant, n))
        return stored
    return run


# ----------------------------------------------------------------------------------------------------------------- live


def test_says_in_words_how_much_slower(reductio, tmp_path):
    out = reductio("compare", FAST, SLOW, *SMALL).ok()
    lines = out.splitlines(keepends=True)
    assert LAST.fullmatch(lines[-1]), lines[-1]
    assert lines[0].split()[0] == "variant" and "verdict" in lines[0]
    shown = [line for line in lines if line.startswith("host/plain:opt=O0 ") and " ran " not in line]
    assert len(shown) == 2 and all(any(v in line for v in VERDICTS) for line in shown)
    assert "Paired" in out and "base: host/plain." in out
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
        # any machine: an interval and what lies in it
        assert float(r["ratio_low"]) <= float(r["ratio"]) <= float(r["ratio_high"])
        assert r["n_intervals"] == "4" and int(r["n_rounds"]) >= 24 and int(r["n_contexts"]) == 24
        assert r["verdict"] in VERDICTS and float(r["base_time_s"]) > 0 and float(r["time_s"]) > 0
    (row,) = reductio("compare", FAST, SLOW, "--sizes", "2^10", "--contexts", "30", "--csv").rows()
    assert row["n_contexts"] == "30"
    report = json.loads(reductio("compare", FAST, SLOW, *SMALL, "--json").ok())
    assert report["paired"] and report["confidence"] == 0.95 and report["effect"] == 0.01
    assert len(report["rows"]) == 2 and all(r["verdict"] in VERDICTS for r in report["rows"])
    assert list(report["rows"][0]) == list(rows[0]) and report["rows"][0]["n"] == 4096
    assert LAST.fullmatch(report["conclusions"][-1] + "\n")
    narrow = reductio("compare", FAST, SLOW, *SMALL, COLUMNS="60").ok()
    assert "mean of log(t)" in report["rule"] and report["rule"] in " ".join(narrow.split())
    assert max(map(len, narrow.splitlines())) <= 60
    (origin,) = report["origins"]
    assert origin["source"] == "now" and origin["machine"]["machine"] == rows[0]["machine"]
    assert origin["machine"]["build"]["git_revision"] and origin["machine"]["cpu"]["model"]
    assert origin["runs"][0]["run_id"] == report["rows"][0]["run_id"] != rows[0]["run_id"]
    assert origin["runs"][0]["machine_id"] and origin["runs"][0]["binary"] and origin["runs"][0]["git_revision"]
    again = json.loads(reductio("compare", FAST, SLOW, *SMALL, "--json", "--order-seed", 7).ok())["origins"][0]["runs"][0]
    assert again["order_seed"] == 7 != origin["runs"][0]["order_seed"] and again["seed"] == 1
    assert origin["runs"][0]["seed"] == 1 and "--json" in origin["runs"][0]["arguments"]


def test_quiet_leaves_the_words_and_the_verdicts(reductio, planted):
    assert LAST.fullmatch(reductio("compare", FAST, SLOW, *SMALL, "--quiet").ok())
    folders = planted(lambda variant, n: {"host/plain": 1.25, "host/unroll4": 0.8 if n == 1024 else 1}.get(variant, 1))
    said = reductio("compare", *folders, "--quiet").ok()
    assert said.count("\n") == 1
    conclusions = re.findall(r"\((\w+)\) for host/(\w+)(?: \S+=\S+)? 2\^(\d+)", said)
    assert sorted(conclusions) == [("FASTER", "unroll4", "10"), ("SAME", "unroll4", "12"), ("SLOWER", "plain", "10"),
                                   ("SLOWER", "plain", "12")], said


def test_one_sample_a_side_is_said_to_be_too_few(reductio):
    single = [FAST, SLOW, "--sizes", "2^12", "--max-samples", "1"]
    out = reductio("compare", *single).ok()
    few = r"too few samples for an interval: 1, it takes 6"
    assert re.search(rf"host/plain:opt=O0 ran \S+ times \(UNDECIDED, {few}\) as fast as host/plain: ", out), out
    assert "There is no interval: too few samples" in out and "1 round on " in out
    assert "holds with" not in out and "[" not in out.replace("[interval]", "")
    (row,) = reductio("compare", *single, "--csv").rows()
    assert row["ratio_low"] == row["ratio_high"] == "" and row["reason"] == few and row["verdict"] == "UNDECIDED"


def test_until_decided_ends_at_the_look_that_decides(reductio):
    until = ["--sizes", "2^8,2^9", "--max-samples", "80", "--until-decided", "--json"]
    report = json.loads(reductio("compare", FAST, SLOW, *until, "--effect", "1000000000%").ok())
    assert report["looks"] == 3 and {r["n_contexts"] for r in report["rows"]} == {20}  # all the same, whatever was measured
    report = json.loads(reductio("compare", FAST, FAST, *until, "--effect", "0.00000001%").ok())
    contexts = {r["n_contexts"] for r in report["rows"]}
    # any machine: nothing is so much the same, and what is decided all the same ends it
    assert contexts == {80} or (contexts <= {20, 40} and all(r["verdict"] != "UNDECIDED" for r in report["rows"]))
    reductio("compare", FAST, *until[:4], "--save-baseline", "x").ok()
    report = json.loads(reductio("compare", FAST, *until, "--baseline", "x", "--effect", "1000000000%").ok())
    assert {r["n_contexts"] for r in report["rows"]} == {20}
    said = reductio("compare", FAST, *until[:-1], "--baseline", "x", "--effect", "1000000000%").ok()
    assert "whichever of 3 looks was the last, with 95 % confidence" in said


def test_fail_if_slower_says_the_least_effect_that_is_decided(reductio, stored):
    for folder, factor in zip(stored, (1, 1.008)):
        plant(folder, lambda variant, n, i: 1e-5 * (1 + 3e-3 * (i * 7 % 25)) * factor)
    for more in ([], ["--quiet"], ["--csv"]):
        done = reductio("compare", *stored, "--fail-if-slower", *more)
        assert done.code == 4  # any machine: these times are planted
        (effect,) = re.findall(r"UNDECIDED at 1 %: the least effect that this run decides is (\S+) % \(--effect \1%\)",
                               done.err if more == ["--csv"] else done.out)
    # any machine: these times are planted
    assert reductio("compare", *stored, "--fail-if-slower", "--effect", f"{effect}%").code == 0
    # any machine: likewise
    assert reductio("compare", *stored, "--fail-if-slower", "--effect", f"{float(effect) * 0.97}%").code == 4
    report = json.loads(reductio("compare", *stored, "--json").ok())
    assert math.isclose(report["least_effect"], float(effect) / 100)  # any machine: likewise


def test_exit_codes_of_fail_if_slower(reductio, planted):
    folders = planted(lambda variant, n: 1.2 if (variant, n) == ("host/plain", 1024) else 1)
    assert reductio("compare", *folders, "--fail-if-slower").code == 3
    assert reductio("compare", *reversed(folders), "--fail-if-slower").code == 0
    assert reductio("compare", *folders, "--fail-if-slower", "--effect", "30%").code == 0
    assert reductio("compare", *folders).code == 0, "not asked to fail"


def test_exit_codes_of_live_comparisons(reductio):
    small = ["--sizes", "2^12", "--max-samples", "96", "--fail-if-slower"]
    done = reductio("compare", FAST, SLOW, *small, "--json")
    verdicts = {r["verdict"] for r in json.loads(done.out)["rows"]}
    # any machine: whatever the verdicts, the exit code is theirs
    assert done.code == (3 if "SLOWER" in verdicts else 4 if "UNDECIDED" in verdicts else 0)
    # any machine: five rounds give no interval of 95 %
    assert reductio("compare", SLOW, FAST, *small, "--quiet", "--max-samples", "5").code == 4
    # An effect that nobody can have: all that is known well enough is the same.
    assert reductio("compare", FAST, SLOW, *small, "--quiet", "--effect", "1000000000%").code == 0
    undecided = reductio("compare", FAST, SLOW, *small[:-1], "--max-samples", "5").ok()
    assert "UNDECIDED" in undecided and "some 6 samples or more would decide" in undecided, undecided


def test_how_many_samples_would_decide_is_told_to_one_digit(reductio, stored):
    """It is a guess."""
    for folder, factor in zip(stored, (1, 1.008)):
        plant(folder, lambda variant, n, i: 1e-5 * (1 + 3e-3 * (i * 7 % 25)) * factor)
    rows = reductio("compare", *stored, "--csv").rows()
    guesses = [r["rounds_to_decide"] for r in rows if r["verdict"] == "UNDECIDED" and r["rounds_to_decide"]]
    assert guesses and all(re.fullmatch(r"[1-9]0+", g) for g in guesses), guesses
    assert f"some {guesses[0]} samples or more would decide" in reductio("compare", *stored).ok()


def test_a_variant_beside_itself(reductio):
    rows = reductio("compare", FAST, FAST, "--sizes", "2^12", "--max-samples", "96", "--csv").rows()
    assert len(rows) == 1 and rows[0]["base"] == rows[0]["variant"]
    assert "host/plain (again) ran" in reductio("compare", FAST, FAST, "--sizes", "2^12", "--max-samples", "96",
                                                "--quiet").ok()


def test_many_rows_are_not_averaged(reductio):
    out = reductio("compare", FAST, SLOW, "--sizes", "2^8:2^14", "--max-samples", "48", "--quiet").ok()
    assert re.fullmatch(rf"host/plain:opt=O0 ran from {RATIO} at \S+ to {RATIO} at \S+ as fast as host/plain: "
                        rf"f32 sum end_to_end warm, over 7 rows: (\d ({'|'.join(VERDICTS)})(, )?)+\n", out), out


def test_a_long_comparison_shows_what_differs(reductio, planted):
    folders = planted(lambda variant, n: 1.5 if n > 4096 + 30 else 1)

    def many(rows):  # 4 points become 64, each with the samples of one of them
        return [{**row, "n": str(int(row["n"]) + i)} for i in range(16) for row in rows]

    for folder in folders:
        rewrite(folder, many)
        path = folder / "cpu.samples.csv.gz"
        rows = list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
        slow = folder == folders[1]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            for i in range(16):
                slower = slow and row["n"] == "4096" and i >= 6
                times = [repr(float(t) * (1.5 if slower else 1)) for t in row["time_s"].split(" ")]
                writer.writerow({**row, "n": str(int(row["n"]) + i), "time_s": " ".join(times)})
        path.write_bytes(gzip.compress(text.getvalue().encode()))
    lines = reductio("compare", *folders).ok().splitlines()
    shown = [line for line in lines if line.startswith("host/")]
    assert len(shown) == 2 * 10 and all(line.endswith("SLOWER") for line in shown)
    assert "not shown: 44 rows, SAME or UNDECIDED; --csv has all" in lines
    assert len(reductio("compare", *folders, "--csv").rows()) == 64


def test_other_data_are_compared_and_no_baseline_of_others(reductio, tmp_path):
    reductio("compare", FAST, "--sizes", "2^10", "--dataset", "spread", "--save-baseline", "x").ok()
    rows = list(csv.DictReader(next(tmp_path.glob("out/results/*/baselines/x/compare.csv")).open(newline="")))
    assert {r["dataset"] for r in rows} == {"spread"}
    reductio("compare", FAST, "--sizes", "2^10", "--dataset", "spread", "--baseline", "x").ok()
    assert "dataset" in reductio("compare", FAST, "--sizes", "2^10", "--baseline", "x", "--quiet").error(1)


# ------------------------------------------------------------------------------------------------------------ baselines


def test_a_baseline_is_kept_and_compared_with(reductio, tmp_path):
    saved = reductio("compare", FAST, *SMALL, "--save-baseline", "before").ok()
    folder = next(tmp_path.glob("out/results/*/baselines/before"))
    assert {p.name for p in folder.iterdir()} == {"compare.csv", "compare.samples.csv.gz", "machine.json",
                                                  "catalog.csv"}
    assert "before" in saved and str(folder.relative_to(tmp_path)) in saved
    kept = snapshot(tmp_path)
    rows = reductio("compare", FAST, *SMALL, "--baseline", "before", "--csv").rows()
    assert [r["n"] for r in rows] == ["4096", "16384"]
    for r in rows:
        assert r["paired"] == "no" and r["base"] == r["variant"] == "host/plain" and r["source"] == "now"
        assert r["base_source"].endswith("baselines/before")
        # any machine: an interval and what lies in it
        assert 0 < float(r["ratio_low"]) <= float(r["ratio"]) <= float(r["ratio_high"])
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
    rows = list(csv.DictReader(next(tmp_path.glob("out/results/*/baselines/x/compare.csv")).open(newline="")))
    assert [r["n"] for r in rows] == ["2048"]


def test_a_baseline_must_hold_what_is_measured_now(reductio, tmp_path):
    reductio("compare", FAST, "--sizes", "2^10", "--save-baseline", "x").ok()
    assert "'y'" in reductio("compare", FAST, "--sizes", "2^10", "--baseline", "y").error(1)
    few = ["--min-samples", "1", "--max-samples", "1"]
    message = reductio("compare", FAST, "--sizes", "2^10,2^11", "--baseline", "x", *few, "--quiet").error(1)
    assert "rows are missing" in message and "1 of the 2" in message
    folder = next(tmp_path.glob("out/results/*/baselines/x"))
    for name in ("compare.csv", "compare.samples.csv.gz"):
        replace(folder / name, ",warm,", ",cold_clean,")
    assert "cache_state" in reductio("compare", FAST, "--sizes", "2^10", "--baseline", "x", *few, "--quiet").error(1)


# ---------------------------------------------------------------------------------------------------------- two folders


def test_two_folders_are_compared_unpaired(reductio, tmp_path, stored):
    before = snapshot(tmp_path)
    out = reductio("compare", *stored).ok()
    assert "Unpaired" in out and "drift" in out and re.search(r"1 lies in \d of 4\.", out)
    assert out.splitlines()[-1].startswith(f"{stored[1]} ran ")
    rows = reductio("compare", *stored, "--csv").rows()
    assert len(rows) == 4
    for r in rows:
        assert r["paired"] == "no" and r["base_source"] == str(stored[0]) and r["source"] == str(stored[1])
        assert r["base"] == r["variant"]
        # any machine: an interval and what lies in it
        assert float(r["ratio_low"]) <= float(r["ratio"]) <= float(r["ratio_high"])
    assert snapshot(tmp_path) == before


# Those that have raw samples of some experiment.
COMMITTED = [p.parent for p in sorted(SOURCE.glob("experiments/results/*/machine.json"))
             if list(p.parent.glob("*.samples.csv.gz"))]


def least_of(*folders):
    """The experiment that these have samples of, with the fewest bytes of them; nothing where there is none."""
    sizes = [{p.name.removesuffix(".samples.csv.gz"): p.stat().st_size for p in f.glob("*.samples.csv.gz")} for f in folders]
    return min((name for name in sizes[0] if all(name in s for s in sizes)), key=lambda n: sizes[0][n], default=None)


def test_committed_folders_are_compared_with_each_other_and_each_with_itself(reductio):
    pairs = [(first, other, least_of(first, other)) for i, first in enumerate(COMMITTED) for other in COMMITTED[i:]]
    compared = [(first, other, experiment) for first, other, experiment in pairs if experiment]
    assert len(COMMITTED) >= 2 and {first for first, other, _ in compared if first == other} == set(COMMITTED)
    assert any(first != other for first, other, _ in compared)
    for first, other, experiment in compared:
        rows = reductio("compare", first, other, "--common", "--experiment", experiment, "--csv").rows()
        assert rows, (first, other, experiment)
        if first == other:
            # any machine: these are committed
            assert all(float(r["ratio"]) == 1 for r in rows if r["ratio"])


def test_rows_of_stored_results_are_chosen(reductio, stored):
    def chosen(*which):
        return [(r["variant"], r["n"]) for r in reductio("compare", *stored, *which, "--csv").rows()]

    assert len(chosen()) == len(chosen("--experiment", "cpu", "--types", "i32", "--operations", "sum")) == 4
    assert chosen("--variants", "plain", "--sizes", "2^10,2^20") == [("host/plain", "1024")]
    assert "has no experiment 'other'; it has cpu" in reductio("compare", *stored, "--experiment", "other").error(1)
    message = reductio("compare", *stored, "--types", "f16").error(1)
    assert "holds no such rows; choose others by --experiment, --variants, --types" in message


def test_a_point_of_two_experiments_is_told_apart_by_them(reductio, stored):
    for folder in stored:  # the same rows once more, as another experiment's
        for name in ("cpu.csv", "cpu.samples.csv.gz"):
            shutil.copy(folder / name, folder / name.replace("cpu", "again"))
        rewrite(folder, lambda rows: [{**r, "experiment": "again"} for r in rows], "again.csv")
        machine = json.loads((folder / "machine.json").read_text())
        machine["runs"].append({**machine["runs"][0], "experiment": "again"})
        (folder / "machine.json").write_text(json.dumps(machine))
    lines = reductio("compare", *stored).ok().splitlines()
    assert lines[0].split()[:2] == ["experiment", "variant"]
    assert [line.split()[0] for line in lines[1:9]] == ["cpu"] * 4 + ["again"] * 4
    assert reductio("compare", *stored, "--experiment", "again").ok().splitlines()[0].split()[0] == "variant"


def test_a_point_of_both_callers_is_told_apart_by_them(reductio, stored):
    def twice(rows):
        return rows + [{**r, "caller": "first"} for r in rows]

    for folder in stored:  # the same rows and samples once more, as of calls that are the first in a while
        rewrite(folder, twice)
        path = folder / "cpu.samples.csv.gz"
        path.write_bytes(gzip.compress(text_of(twice(records(gzip.decompress(path.read_bytes()).decode()))).encode()))
    lines = reductio("compare", *stored).ok().splitlines()
    assert lines[0].split()[5:7] == ["cache", "caller"]
    assert [line.split()[7] for line in lines[1:9]] == ["loop"] * 4 + ["first"] * 4
    assert sorted(r["caller"] for r in reductio("compare", *stored, "--csv").rows()) == [""] * 4 + ["first"] * 4
    assert "first" in lines[-1] and "loop" in lines[-1], "the conclusion, too"


@pytest.mark.parametrize("value", ["inf", "nan", "-1e-6"])
def test_a_stored_time_that_is_none_is_refused(reductio, stored, value):
    refused = f"'{value}', not a finite number of 0 or more; fix or remove it"
    rewrite(stored[1], lambda rows: [{**rows[0], "time_median_s": value}, *rows[1:]])
    assert f"cpu.csv:2: time_median_s is {refused}" in reductio("compare", *stored).error(1)
    path = stored[0] / "cpu.samples.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    at = lines[0].split(",").index("time_s")
    fields = next(csv.reader([lines[1]]))
    times = fields[at].split(" ")
    lines[1] = lines[1].replace(fields[at], " ".join([value, *times[1:]]))
    path.write_bytes(gzip.compress("".join(lines).encode()))
    assert f"cpu.samples.csv.gz:2: time_s is {refused}" in reductio("compare", *stored).error(1)


def test_verdicts_and_words_are_those_of_the_times(reductio, planted):
    folders = planted(lambda variant, n: {"host/plain": 1.25, "host/unroll4": 0.8 if n == 1024 else 1}.get(variant, 1))
    rows = {(r["variant"], r["n"]): r for r in reductio("compare", *folders, "--csv").rows()}
    assert {key: r["verdict"] for key, r in rows.items()} == {
        ("host/plain", "1024"): "SLOWER", ("host/plain", "4096"): "SLOWER",
        ("host/unroll4", "1024"): "FASTER", ("host/unroll4", "4096"): "SAME"}
    for r in rows.values():
        expected = {"SLOWER": 0.8, "FASTER": 1.25, "SAME": 1}[r["verdict"]]
        assert float(r["ratio_low"]) <= expected <= float(r["ratio_high"])
        assert math.isclose(float(r["ratio"]), expected, rel_tol=1e-3)
    out = reductio("compare", *folders).ok()
    for part in (out.splitlines()[-1], "\n".join(out.splitlines()[:-1])):  # the sentence, and the table
        assert part.count("SLOWER") == 2 and part.count("FASTER") == 1 and part.count("SAME") == 1
    assert out.splitlines()[-1].count("0.8000 times [") == 2 and "1.2500 times [" in out.splitlines()[-1]
    assert reductio("compare", *folders, "--effect", "30%", "--csv").rows()[0]["verdict"] == "SAME"


def test_the_folders_that_out_named_will_do(reductio, tmp_path, stored):
    rows = reductio("compare", "a", "b", "--csv").rows()
    assert len(rows) == 4 and rows[0]["base_source"] == "a" and rows[0]["source"] == "b"
    assert reductio("compare", "a", "b").ok().splitlines()[-1].startswith("b ran ")
    stored[0].rename(tmp_path / "a" / "other-machine")
    rewrite(tmp_path / "a" / "other-machine", lambda rows: [{**r, "machine": "other-machine"} for r in rows])
    assert "different machines: " in reductio("compare", "a", "b").ok()
    origins = json.loads(reductio("compare", "a", "b", "--json").ok())["origins"]
    assert [o["source"] for o in origins] == ["a", "b"] and "runs" not in origins[0]["machine"]
    assert all(o["runs"][0]["experiment"] == "cpu" and o["runs"][0]["machine_id"] for o in origins)
    live = json.loads(reductio("compare", FAST, SLOW, *SMALL, "--json").ok())["origins"]
    assert list(live[0]["runs"][0]) == list(origins[0]["runs"][0])
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
    other = {**described["runs"][0], "experiment": "limits", "run_id": "another", "machine_id": "x", "binary": "y", "sha256": {}}
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
    assert "not shown: 64 rows, not compared; --csv has all, and why" in out
    assert "too large" not in out


def replace(path, old, new):
    """In a text that may be compressed."""
    zipped = path.suffix == ".gz"
    text = gzip.decompress(path.read_bytes()) if zipped else path.read_bytes()
    assert old.encode() in text
    text = text.replace(old.encode(), new.encode())
    forget_hashes(path.parent)
    path.write_bytes(gzip.compress(text) if zipped else text)


def rewrite(folder, change, name="cpu.csv"):
    """Changes the rows of a folder's CSV by `change(rows)`."""
    path = folder / name
    forget_hashes(folder)
    rows = records(path.read_text())
    path.write_text(text_of(change(rows), list(rows[0])))


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


def test_fits_whose_samples_are_gone_are_not_overwritten(reductio, stored):
    folder = stored[0]
    (folder / "other.csv").write_text((folder / "cpu.csv").read_text())
    machine = json.loads((folder / "machine.json").read_text())
    machine["runs"].append(machine["runs"][0] | {"experiment": "other"})
    (folder / "machine.json").write_text(json.dumps(machine))
    done = reductio("models", folder)
    assert f"note: {folder} has no raw samples of other, whose rows are left out" in done.err
    (folder / "models.csv").write_text("of samples that are gone\n")
    kept = snapshot(folder)
    assert "models.csv is not overwritten" in reductio("models", folder).error(1)
    assert snapshot(folder) == kept
    (folder / "models.csv.gz").write_bytes(gzip.compress((folder / "models.csv").read_bytes()))
    (folder / "models.csv").unlink()
    (folder / "cpu.csv").write_text("what is told before it is read")
    assert "models.csv.gz is not overwritten" in reductio("models", folder).error(1)


@pytest.mark.parametrize("column,value,words", [
    ("timing_mode", "device", ["not comparable", "timing_mode", "device", "end_to_end"]),
    ("cache_state", "cold_dirty", ["not comparable", "cache_state", "cold_dirty", "warm"]),
    ("schema_version", "999", ["schema version 999"]),
])
def test_what_is_not_comparable_is_refused(reductio, stored, column, value, words):
    rewrite(stored[0], lambda rows: [{**r, column: value} for r in rows])
    if column != "schema_version":  # samples carry the key as well
        was = {"timing_mode": "end_to_end", "cache_state": "warm"}[column]
        replace(stored[0] / "cpu.samples.csv.gz", f",{was},", f",{value},")
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
        assert "'nowhere'" in message and "there is no folder of that name" in message
    assert "variants or results folders, not both" in reductio("compare", stored[0], "host/plain").error(1)
    assert "--seed is for measuring" in reductio("compare", *stored, "--seed", "2").error(1)


# ------------------------------------------------------------------------------------------------------------ bad input

PAIR = ["compare", "host/plain", "host/unroll4"]


@pytest.mark.parametrize("arguments,words", [
    (["compare"], ["name the variants"]),
    (["compare", "host/plain"], ["at least two"]),
    (["compare", "host/plain", "host/plane"], ["'host/plane'", "'host/plain'"]),
    (["compare", "host/plain", "nowhere/at-all"], ["'nowhere/at-all'", "there is no folder of that name"]),
    (["compare", "results/a", "results/b"], ["'results/a'", "there is no folder of that name"]),
    (["compare", "host/plain", "host/plain:opt=O9"], ["opt=O9", "allowed", "O3"]),
    (["compare", "host/plain", "host/plain:level=3"], ["'level'", "opt"]),
    (["compare", "host/plain", "host/plain:opt"], ["'opt'", "NAME=VALUE"]),
    (["compare", "host/plain", "host/plain:"], ["names no setting", "NAME=VALUE"]),
    (["compare", "eigen/sum", "eigen/squared-norm"], ["eigen/sum", "eigen/squared-norm", "sum_of_squares",
                                                      "operation"]),
    ([*PAIR, "--operations", "sum_of_squares"], ["host/plain", "operation", "sum_of_squares"]),
    ([*PAIR, "--types", "f128"], ["'f128'"]),
    ([*PAIR, "--max-samples", "0"], ["--max-samples"]),
    ([*PAIR, "--min-samples", "0"], ["--min-samples"]),
    ([*PAIR, "--min-samples", "9", "--max-samples", "3"], ["--min-samples", "--max-samples"]),
    ([*PAIR, "--contexts", "0"], ["--contexts"]),
    ([*PAIR, "--timeout", "0"], ["--timeout"]),
    ([*PAIR, "--effect", "0"], ["--effect"]),
    ([*PAIR, "--effect", "-1%"], ["--effect"]),
    ([*PAIR, "--effect", "much"], ["--effect", "'much'"]),
    ([*PAIR, "--modes", "fast"], ["'fast'", "end_to_end"]),
    ([*PAIR, "--modes", "device"], ["host/plain", "device", "--modes end_to_end"]),
    ([*PAIR, "--modes", "clock"], ["clock", "end_to_end"]),
    ([*PAIR, "--cache", "hot"], ["'hot'", "warm"]),
    (["compare", "host/plain", "host/recursive", "--cache", "warm"],
     ["host/recursive", "warm", "; use --cache cold_dirty or cold_clean"]),
    ([*PAIR, "--device", "sim"], ["no time"]),
    ([*PAIR, "--device", "cuda"], ["host/plain", "cuda"]),
    (["compare", "host/plain", "twopass/rolled"], ["device"]),
    ([*PAIR, "--gpu", "3"], ["--gpu", "host/plain", "leave --gpu out"]),
    ([*PAIR, "--common"], ["--common"]),
    ([*PAIR, "--experiment", "cpu"], ["--experiment and --variants choose among the rows of results folders"]),
    ([*PAIR, "--variants", "plain"], ["--experiment and --variants choose", "name the variants to compare"]),
    ([*PAIR, "--until-decided", "--contexts", "30"], ["--until-decided", "and --contexts both set the number of contexts"]),
    ([*PAIR, "--until-decided", "--allocations", "30"],
     ["--until-decided", "and --allocations both set the number of contexts"]),
    ([*PAIR, "--until-decided", "--max-samples", "30"], ["--max-samples 30", "--until-decided", "80 contexts"]),
    (["compare", "host/plain", "--save-baseline", "x", "--until-decided"], ["--until-decided", "--contexts, such as 80"]),
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
    too_large = ["compare", "eigen/sum", "std/reduce", "--sizes", "2^50", "--types", "f32"]
    for arguments in (too_large, [*too_large, "--fail-if-slower"]):
        done = reductio(*arguments)
        assert done.code == 1
        why = "eigen/sum: too large for the memory, needs 4194304.0 GiB of memory"
        assert done.err.splitlines()[-1].startswith(f"reductio: nothing could be compared: {why}")
        assert f"not compared: {why}" in done.out and "base: eigen/sum. Nothing could be compared.\n" in done.out
        assert "interval " not in done.out.replace("[interval]", "") and "intervals" not in done.out
        assert "rounds" not in done.out


# ------------------------------------------------------------------------------------------------------------- selftest


def test_selftest_reports_rate_and_planted_effects(reductio):
    done = reductio("selftest", "--device", "cpu", "--quick", "--sizes", "2^13", "--json", "--order-seed", 9)
    assert done.code in (0, 1), done.err  # a busy machine may hide 2 %, and the program then says so
    report = json.loads(done.out)
    assert report["variant"] == "host/plain" and report["device"] == "cpu" and report["order_seed"] == 9
    (itself,) = report["with_itself"]
    assert itself["n"] == 8192 and itself["time_s"] > 0
    too_many = False
    for kind in ("together", "apart"):
        assert report[kind]["comparisons"] == itself[kind]["comparisons"] == 10
        low, high = report[kind]["false_positive_rate_interval"]
        assert 0 <= low <= report[kind]["false_positives"] / 10 <= high <= 1
        too_many = too_many or low > 0.05
    assert [p["effect"] for p in report["planted"]] == [0, 0.05, 0.10]
    for p in report["planted"]:
        assert p["interval"][0] <= p["ratio"] <= p["interval"][1]  # any machine: an interval about its value
        assert (p["planted_s"] > 0) == (p["effect"] > 0)  # any machine: what was chosen, told twice
        low, high = p["rest_interval"]  # the program allows for what it does not know of the planted effect: below 2 %
        assert p["covered"] or not low <= 1 <= high
        assert not p["covered"] or low * 0.98 <= 1 <= high * 1.02
        right = [v == "SLOWER" if p["effect"] > 0 else v not in ("SLOWER", "FASTER")
                 for v in (p["verdict"], p["verdict_beside_other"])]
        assert p["found"] == (all(right) and p["covered"])  # any machine: the same verdicts, told twice
        assert not p["too_small_beside_other"] or (right[0] and p["verdict_beside_other"] == "UNDECIDED" and
                                                   p["effect"] == 0.05)  # any machine: likewise
    failed = too_many or not all(p["found"] or p["too_small_beside_other"] for p in report["planted"])
    assert done.code == int(failed) and ("selftest failed" in done.err) == failed
    assert not failed or too_many or done.err.rstrip().endswith(
        ("the clock's resolution is too coarse for calls this short, give larger --sizes", "is the machine busy?"))
    assert {"end_to_end_resolution_s", "end_to_end_launch_floor_s", "spin_200us_s", "cold_clean_to_warm",
            "cold_dirty_to_warm"} == set(report["figures"])


def test_selftest_in_words(reductio):
    done = reductio("selftest", "host/unroll8", "--quick", "--sizes", "2^10", "--repeats", "3")
    assert re.search(r"\d of 3 comparisons of a variant with itself, in the same rounds, found a difference: .*\n"
                     r"\d of 3 comparisons of a variant with itself, in other contexts, .*\n"
                     r"\d of 3 planted effects, zero included, were found"
                     r"(, 1 too small to be found beside another kernel)?\n\Z", done.out), done.out
    assert "slowed by a spin of known length" in done.out
    assert "timer and caches of this machine" in done.out and "a spin of 200 us" in done.out
