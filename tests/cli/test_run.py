"""run: what is written, what is printed, what is kept."""

import csv
import json
import os
import re
import resource
import signal
import subprocess
import time

import pytest

from conftest import BIN, HANGS_S, SOURCE, snapshot

SMALL = ["run", "cpu", "--variants", "^host/(plain|unroll4)$", "--types", "i32,f32", "--sizes", "1000,2^12",
         "--max-samples", "6"]  # as few as have an interval: what the times are is no matter here


def results(folder):
    files = list(folder.rglob("cpu.csv"))
    assert len(files) == 1, files
    return files[0]


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def key(row):
    columns = ("variant", "operation", "element_type", "n", "settings", "timing_mode", "cache_state")
    return tuple(row[c] for c in columns)


def test_writes_rows_machine_and_catalog(reductio, tmp_path):
    out = reductio(*SMALL, "--out", "there").ok()
    path = results(tmp_path / "there")
    rows = read(path)
    assert {(r["variant"], r["element_type"], r["n"]) for r in rows} == {
        (v, t, n) for v in ("host/plain", "host/unroll4") for t in ("i32", "f32") for n in ("1000", "4096")}
    for r in rows:
        assert r["status"] == "ok" and r["device"] == "cpu" and r["machine"] == path.parent.name
        assert float(r["time_median_s"]) > 0 and float(r["bandwidth_bytes_per_s"]) > 0
    assert str(path.relative_to(tmp_path)) in out
    machine = json.loads((path.parent / "machine.json").read_text())
    # The program by its name: the folder it was called from is nobody's business.
    assert machine["runs"][-1]["arguments"] == [BIN.name, *SMALL, "--out", "there"]
    with (path.parent / "catalog.csv").open(newline="") as file:
        assert {"host/plain", "twopass/rolled"} <= {r["variant"] for r in csv.DictReader(file)}


def test_ends_with_a_count_where_the_rows_are_and_what_to_do_next(reductio, tmp_path):
    """Scripts show the count as what the run did."""
    *_, last, plot, compare = reductio(*SMALL).ok().splitlines()
    ending = re.fullmatch(r"cpu: \d+ measured, in .* -> (out/results/.*)/cpu\.csv", last)
    assert ending, last
    assert plot == f"next: {BIN} plot {ending[1]}"  # the program as it was called
    assert compare == f"next: {BIN} compare host/plain host/unroll4"
    assert "next: " not in reductio(*SMALL, "--resume", "--quiet").ok()
    assert f"reductio: note: reading {ending[1]}\n" == reductio("plot").err  # the only folder there is
    other = tmp_path / "out" / "results" / "zz-other"
    other.mkdir()
    (other / "machine.json").write_text("{}")
    assert f"reductio plot {ending[1]} or out/results/zz-other" in reductio("plot").error()


def test_what_to_do_next_works_as_it_stands(reductio):
    squares = ["run", "cpu", "--variants", "^eigen/", "--types", "f32", "--sizes", "2^10", "--out", "my out"]
    *_, last, plot = reductio(*squares).ok().splitlines()  # a sum and a sum of squares are not compared
    folder = re.search(r" -> (my out/.*)/cpu\.csv$", last)[1]
    assert plot == f"next: {BIN} plot '{folder}'"
    *_, compare = reductio("run", "cpu", "--variants", "^(eigen|host/plain)", "--types", "f32", "--sizes", "2^10").ok().splitlines()
    assert compare == f"next: {BIN} compare eigen/sum host/plain"


def test_csv_and_json_print_the_rows_that_are_written(reductio, tmp_path):
    printed = reductio(*SMALL, "--out", "a", "--csv").rows()
    assert printed == read(results(tmp_path / "a"))
    lines = [json.loads(line) for line in reductio(*SMALL, "--out", "b", "--json").ok().splitlines()]
    written = read(results(tmp_path / "b"))
    assert [list(line) for line in lines] == [list(row) for row in written]
    for line, row in zip(lines, written, strict=True):
        assert line["n"] == int(row["n"]) and line["variant"] == row["variant"]
        assert line["time_median_s"] == float(row["time_median_s"])
        assert line["grid_blocks"] is None and row["grid_blocks"] == ""


@pytest.mark.parametrize("how", ["--csv", "--json"])
def test_what_cannot_be_printed_is_an_error_and_rows_stand(tmp_path, how):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN, *SMALL, "--out", "there", how], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE,
                              text=True)
    assert done.returncode == 1
    assert "cannot write to standard output: No space left on device" in done.stderr.splitlines()[-1]
    assert read(results(tmp_path / "there"))
    with open("/dev/full", "w") as full:
        assert subprocess.run([BIN, "list", "experiments"], stdout=full, stderr=subprocess.PIPE).returncode == 1


COMMANDS = [["list", "--csv"], ["info", "--json"], [*SMALL, "--out", "there", "--csv"], ["--help"], ["run", "--help"],
            ["compare", "host/plain", "host/unroll4", "--sizes", "2^10", "--max-samples", "24"],
            ["verify", "--variants", "^host/plain$", "--sizes", "1000"],
            ["selftest", "host/plain", "--sizes", "1000", "--quick", "--repeats", "1", "--json"]]


@pytest.fixture(params=["closed", "full"])
def unwritable(request):
    """A file that takes nothing, and why."""
    if request.param == "full":
        out = os.open("/dev/full", os.O_WRONLY)
        yield out, "No space left on device"
    else:
        reader, out = os.pipe()
        os.close(reader)
        yield out, "Broken pipe"
    os.close(out)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda a: " ".join(a[:2]))
def test_a_closed_pipe_and_a_full_disk_are_told_by_every_command(tmp_path, arguments, unwritable):
    """But who closes a pipe, as in `reductio verify | head -1`, has seen enough. Only `run` ends early then, and says so."""
    out, why = unwritable
    done = subprocess.run([BIN, *arguments], cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True)
    if why == "Broken pipe" and (arguments[0] != "run" or "--help" in arguments):
        assert "cannot write" not in done.stderr
        assert done.returncode == 0 or arguments[0] == "selftest"  # which may fail on a busy machine
        return
    assert done.returncode == 1
    assert f"cannot write to standard output: {why}" in done.stderr


@pytest.mark.parametrize("arguments,code", [(["bogus"], 1), ([*SMALL, "--out", "there"], 0), (["list"], 0)],
                         ids=lambda a: a[0] if isinstance(a, list) else "")
def test_what_nobody_reads_on_stderr_ends_nothing(tmp_path, arguments, code, unwritable):
    done = subprocess.run([BIN, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=unwritable[0])
    assert done.returncode == code
    both = subprocess.run([BIN, *arguments], cwd=tmp_path, stdout=unwritable[0], stderr=unwritable[0])
    assert both.returncode == (0 if arguments == ["list"] and unwritable[1] == "Broken pipe" else 1)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_that_can_be_resumed(reductio, tmp_path, sent):
    run = ["run", "cpu", "--variants", "^host/", "--sizes", "2^16:2^20", "--out", "there"]
    going = subprocess.Popen([BIN, *run], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.rglob("machine.json")):  # written once signals are caught
        assert going.poll() is None
        time.sleep(0.01)
    going.send_signal(sent)
    out, err = going.communicate(timeout=HANGS_S)
    assert going.returncode == 1
    kept = len(read(results(tmp_path / "there")))
    kept_words = re.fullmatch(r"reductio: cpu: interrupted; (.*); run it again with --resume to continue", err.splitlines()[-1])[1]
    assert re.fullmatch(rf"{kept} of \d+ points are kept" if kept else "before .*; nothing is kept", kept_words), kept_words
    assert reductio("run", "cpu", "--variants", "^host/plain$", "--types", "i32", "--set", "opt=O2", "--sizes", "2^16", "--out",
                    "there", "--resume").ok()


def test_every_experiments_file_is_checked_before_the_first_is_measured(reductio, tmp_path):
    sim = ["--device", "sim", "--variants", "^levels/naive$", "--types", "i32", "--sizes", "1000"]
    reductio("run", "comparison", *sim).ok()
    before = snapshot(tmp_path)
    assert "results already exist" in reductio("run", "levels", "comparison", *sim).error(1)
    assert snapshot(tmp_path) == before
    os.symlink("/no/such/place", tmp_path / "link")
    error = reductio("run", "comparison", *sim, "--out", "link", "--quiet").error(1)
    assert "'link' is a link to '/no/such/place', which does not exist; choose another --out" in error


def test_the_simulated_device_says_that_it_keeps_no_time(reductio, tmp_path):
    run = ["run", "comparison", "--device", "sim", "--variants", "^twopass/rolled$", "--types", "i32", "--sizes", "1000"]
    done = reductio(*run)
    rows = len(read(next(tmp_path.rglob("comparison.csv"))))
    assert f"note: the simulated device measures no time: {rows} rows will have no times, and take about " in done.err
    for command in ("plot", "report", "models"):
        assert "has only rows of the simulated device, which measures no time" in reductio(command).error(1)
    assert "holds 4 rows without a time" in reductio("models", next(tmp_path.rglob("machine.json")).parent).error(1)
    reductio(*SMALL, "--quiet").ok()
    assert "cpu: sum" in reductio("plot").ok()  # beside it, the folder with times is the one that is meant


def test_a_file_beyond_ulimit_is_told(tmp_path):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    done = subprocess.run([BIN, *SMALL[:2], "--sizes", "1000,2^12"], cwd=tmp_path, capture_output=True, text=True,
                          preexec_fn=limited)
    assert done.returncode == 1
    assert re.search(r"cannot write \S+: File too large; rows so far are intact: raise 'ulimit -f'", done.stderr)


def test_quiet_prints_nothing_on_stdout(reductio):
    assert reductio(*SMALL, "--quiet").ok() == ""


def test_settings_reach_the_rows(reductio, tmp_path):
    reductio(*SMALL, "--set", "opt=O0").ok()
    assert {r["settings"] for r in read(results(tmp_path))} == {"opt=O0"}


def test_a_seed_gives_the_same_data(reductio, tmp_path):
    values = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        reductio(*SMALL, "--out", name, "--seed", seed).ok()
        values.append({key(r): r["result"] for r in read(results(tmp_path / name))})
    assert values[0] == values[1] != values[2]


def test_the_order_has_a_seed_of_its_own(reductio, tmp_path):
    def recorded(name, *arguments):
        reductio(*SMALL, "--out", name, *arguments).ok()
        (run,) = json.loads((results(tmp_path / name).parent / "machine.json").read_text())["runs"]
        assert run["seed"] == 1
        return run["order_seed"]

    assert recorded("a") != recorded("b")
    assert recorded("c", "--order-seed", 2**64 - 1) == 2**64 - 1


def test_dry_run_counts_and_writes_nothing(reductio, tmp_path):
    out = reductio(*SMALL, "--dry-run").ok()
    points = int(re.match(r"cpu: (\d+) points.*nothing was run\n$", out).group(1))
    assert not snapshot(tmp_path)
    report = json.loads(reductio(*SMALL, "--dry-run", "--json").ok())
    assert report["points"] == points and report["estimated_s"] > 0
    assert report["refused"] == 0 and re.fullmatch("[0-9a-f]{16}", report["binary"])
    reductio(*SMALL).ok()
    assert len(read(results(tmp_path))) == points
    out = reductio("run", "cpu", "--variants", "^eigen/", "--operations", "sum_of_squares", "--types", "f32", "--sizes",
                   "1000", "--dry-run").ok()
    assert re.match(r"cpu: 4 points, 3 of them refused, about ", out), out


def test_ways_of_timing_that_calls_do_not_have_are_no_rows(reductio, tmp_path):
    reductio("run", "comparison", "--device", "sim", "--variants", "^twopass/rolled$", "--types", "i32", "--sizes",
             "1000").ok()
    (path,) = tmp_path.rglob("comparison.csv")
    assert sorted((r["timing_mode"], r["settings"].split("finish=")[1].split(";")[0]) for r in read(path)) == [
        ("device", "second-launch"), ("end_to_end", "host"), ("end_to_end", "host-pinned"),
        ("end_to_end", "second-launch")]
    with (path.parent / "catalog.csv").open(newline="") as file:
        said = {r["variant"]: r["ways_without"] for r in csv.DictReader(file)}
    assert said["twopass/rolled"] == ("finish=host, host-pinned: not device, graph, replay (finishes on the host; timed end to "
                                      "end)")
    assert said["host/plain"] == ""
    assert said["twopass/rolled"] in reductio("info", "twopass/rolled").ok()
    only = ["run", "limits", "--device", "sim", "--variants", "^squares/"]
    assert "this experiment has no timing mode for what was selected (squares/" in reductio(
        *only).error(1)


def test_profile_makes_bare_calls_and_writes_nothing(reductio, tmp_path):
    out = reductio(*SMALL, "--profile").ok()
    assert re.fullmatch(r"cpu: \d+ bare calls\n", out)
    assert not snapshot(tmp_path)


def test_comparison_on_the_simulated_device_has_no_times(reductio, tmp_path):
    reductio("run", "comparison", "--device", "sim", "--variants", "^twopass/rolled$", "--types", "i32", "--sizes",
             "1000").ok()
    rows = [r for path in tmp_path.rglob("comparison.csv") for r in read(path)]
    assert {r["status"] for r in rows} == {"ok"}
    for r in rows:
        assert r["device"] == "sim" and r["time_median_s"] == r["bandwidth_bytes_per_s"] == "" and r["result"]


def test_settings_with_a_known_fault_are_refused_rows(reductio, tmp_path):
    run = ["run", "comparison", "--device", "sim", "--variants", "^twopass/multiple-of-32$", "--types", "i32",
           "--sizes", "1000"]
    message = reductio(*run, "--quiet").error(1)
    assert "the result is wrong: block=96 is no power of two" in message
    (path,) = tmp_path.rglob("comparison.csv")
    rows = read(path)
    assert {r["status"] for r in rows} == {"refused"} and all("block=96" in r["reason"] for r in rows)
    reductio(*run, "--set", "block=128", "--out", "right").ok()
    assert "ok" in {r["status"] for path in (tmp_path / "right").rglob("comparison.csv") for r in read(path)}


def test_existing_results_are_not_overwritten(reductio, tmp_path):
    reductio(*SMALL).ok()
    before = snapshot(tmp_path)
    assert "--resume" in reductio(*SMALL).error(1)
    assert snapshot(tmp_path) == before


def test_resume_of_a_finished_run_adds_nothing(reductio, tmp_path):
    reductio(*SMALL).ok()
    before = results(tmp_path).read_bytes()
    reductio(*SMALL, "--resume").ok()
    assert results(tmp_path).read_bytes() == before


@pytest.mark.parametrize("keep", ["half a row", "no line end", "inside a quoted field", "header only", "half a header"])
def test_resume_goes_on_after_a_cut(reductio, tmp_path, keep):
    reductio(*SMALL).ok()
    path = results(tmp_path)
    # Of long ago: what takes exactly as long again, within the same second, would else be the same row.
    whole = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2001-01-01T00:00:00Z", path.read_bytes())
    lines = whole.splitlines(keepends=True)
    group = 10  # two variants with five settings each
    assert len(lines) == 1 + 4 * group
    cut = {"half a row": b"".join(lines[:14]) + lines[14][: len(lines[14]) // 2],
           "no line end": b"".join(lines[:15])[:-1],
           "inside a quoted field": b"".join(lines[:14]) + b'1,"x,y\n',
           "header only": lines[0],
           "half a header": lines[0][:40]}[keep]
    path.write_bytes(cut)
    done = reductio(*SMALL, "--resume")
    done.ok()
    after = path.read_bytes()
    rows = read(path)
    whole_before = 1 if "header" in keep else 1 + group
    assert after.startswith(b"".join(lines[:whole_before]))  # finished groups stand, byte by byte
    assert not set(lines[whole_before:]) & set(after.splitlines(keepends=True)), "of a cut group all is measured again"
    assert sorted(map(key, rows)) == sorted(map(key, csv.DictReader(whole.decode().splitlines())))
    assert all(r["status"] == "ok" for r in rows)


def test_another_schema_version_is_refused(reductio, tmp_path):
    reductio(*SMALL).ok()
    path = results(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "".join("999" + line[line.index(","):] for line in lines[1:]))
    before = snapshot(tmp_path)
    assert "schema" in reductio(*SMALL, "--resume").error(1)
    assert snapshot(tmp_path) == before


def test_other_columns_are_refused(reductio, tmp_path):
    reductio(*SMALL).ok()
    path = results(tmp_path)
    path.write_text("a,b,c\n1,2,3\n")
    before = snapshot(tmp_path)
    message = reductio(*SMALL, "--resume").error(1)
    assert "column" in message or "schema" in message
    assert snapshot(tmp_path) == before


def test_unwritable_folder_is_found_out_first(reductio, tmp_path):
    (tmp_path / "file").write_text("in the way\n")
    for folder in ("file/results", "/proc/results"):
        assert folder.split("/")[-2] in reductio(*SMALL, "--out", folder).error(1)
    assert snapshot(tmp_path) == {"file": b"in the way\n"}


@pytest.mark.parametrize("n", ["2^50", "2^60"])
@pytest.mark.parametrize("where", [["cpu", "--variants", "^eigen/sum$"],
                                   ["comparison", "--device", "sim", "--variants", "^twopass/rolled$"]])
def test_more_than_memory_is_a_row_of_its_own_status(reductio, tmp_path, where, n):
    done = reductio("run", *where, "--types", "f64", "--sizes", n, "--full")
    message, *warnings = reversed(done.err.splitlines())
    assert done.code == 1 and message.startswith(f"reductio: {where[0]}: no point was measured: ")
    assert "memory" in message and all("WARNING" in w or "measures no time" in w for w in warnings)
    rows = read(next(tmp_path.rglob(f"{where[0]}.csv")))
    assert rows and all(r["status"] == "no_memory" and r["reason"] and r["time_median_s"] == "" for r in rows)


def test_more_threads_than_start_are_a_refused_row(reductio, tmp_path, sanitized):
    run = ["run", "cpu", "--variants", "^(openmp/sum|host/plain)$", "--types", "i32", "--sizes", "1000"]
    asked = reductio(*run, "--out", "asked", "--set", "threads=auto,opt=O2", OMP_NUM_THREADS="100000")
    assert asked.ok() and (asked.code, len(read(results(tmp_path / "asked")))) == (0, 2)
    (refused,) = [r for r in read(results(tmp_path / "asked")) if r["variant"] == "openmp/sum"]
    assert (refused["status"], refused["reason"]) == (
        "refused", "needs 100000 threads, at most 1024 are started; set OMP_NUM_THREADS to fewer")
    if sanitized:
        return  # AddressSanitizer takes more addresses than any limit leaves
    limited = reductio("-c", 'ulimit -v 3000000; exec "$@"', "bash", BIN, *run, "--out", "limited", "--set",
                       "threads=1024,opt=O2", binary="/bin/bash")
    assert limited.ok()
    (refused,) = [r for r in read(results(tmp_path / "limited")) if r["variant"] == "openmp/sum"]
    assert refused["status"] == "refused"
    assert re.fullmatch(r"needs 1024 threads, the system starts \d+ \(.*\); set OMP_NUM_THREADS to fewer; "
                        "this program runs under 'ulimit -v 3000000': raise it", refused["reason"])


LIMIT_KIB = 40_000 + BIN.stat().st_size // 1024
STARVED = [["verify", "--variants", "^levels/global-stride$", "--device", "sim", "--tier", "quick"],
           ["run", "comparison", "--variants", "^levels/global-stride$", "--device", "sim", "--sizes", "2^22"],
           ["run", "cpu", "--variants", "^host/plain$", "--types", "f64", "--set", "opt=O2", "--sizes", "2^25"],
           ["compare", "host/plain", "host/unroll4", "--sizes", "2^25"],
           ["selftest", "host/plain", "--sizes", "2^25", "--quick"],
           ["compare", *[SOURCE / "experiments" / "results" / "nvidia-h200"] * 2]]


@pytest.mark.parametrize("command", STARVED, ids=lambda c: " ".join(map(str, c[:3])))
def test_where_addresses_end_the_limit_is_named(reductio, sanitized, command):
    """In one line, whatever ended there: an input, a thread's stack, the harness's own data."""
    if sanitized:
        pytest.skip("AddressSanitizer takes more addresses than any limit leaves")
    starved = reductio("-c", f'ulimit -v {LIMIT_KIB}; exec "$@"', "bash", BIN, *command, binary="/bin/bash")
    last = starved.err.splitlines()[-1]
    assert starved.code == 1 and last.endswith(f"; this program runs under 'ulimit -v {LIMIT_KIB}': raise it"), starved
    assert "bad_alloc" not in starved.err + starved.out and last.startswith("reductio: ")


def test_a_refused_type_is_a_row_beside_the_others(reductio, tmp_path):
    reductio("run", "cpu", "--variants", "^eigen/", "--operations", "sum_of_squares", "--types", "f32",
             "--sizes", "1000").ok()
    rows = {r["variant"]: r for r in read(results(tmp_path))}
    assert rows["eigen/squared-norm"]["status"] == "ok"
    assert rows["eigen/sum"]["status"] == "refused" and "not supported" in rows["eigen/sum"]["reason"]


def test_several_experiments_are_checked_before_any_runs(reductio, tmp_path):
    reductio(*SMALL[:2], "nonsense", *SMALL[2:]).error(1)
    assert not snapshot(tmp_path)


def test_warns_where_times_mislead(reductio, sanitized):
    err = reductio(*SMALL).err
    assert ("sanitizer build" in err) == sanitized
    assert all(line.startswith(("reductio: WARNING: ", "reductio: note: ")) for line in err.splitlines())


def test_warnings_can_be_counted_on(reductio):
    """A device whose times are not taken is not warned about."""
    done = reductio("run", "comparison", "--device", "sim", "--variants", "^twopass/rolled$", "--types", "i32",
                    "--sizes", "100", CUDA_INJECTION64_PATH="/nowhere/libinjected.so")
    assert done.ok() and "WARNING" not in done.err


def test_rows_of_shapes_have_their_columns_and_a_hash_of_all_outputs(reductio, tmp_path):
    out = reductio("run", "shapes", "--device", "cpu", "--variants", "^(host/rows|host/segments)$", "--shapes",
                   "1000x24/32,*x8", "--segments", "powerlaw:2.1", "--sizes", "2^12", "--max-samples", "6", "--contexts",
                   "6", "--out", "there").ok()
    assert "24000 as 1000x24/32" in out and "2^12 as 512x8" in out
    path, = (tmp_path / "there").rglob("shapes.csv")
    rows = read(path)
    assert sorted((r["operation"], r["n"], r["shape_rows"], r["shape_columns"], r["pitch_elements"]) for r in rows) == [
        ("row_sums", "24000", "1000", "24", "32"), ("row_sums", "4096", "512", "8", ""),
        ("segment_sums", "4096", "", "", "")]
    for r in rows:
        assert r["status"] == "ok" and re.fullmatch("[0-9a-f]{16}", r["result"]), r
        assert 0 < float(r["abs_error"]) < float(r["error_bound"]) and r["distinct_results"] == "1"
        assert int(r["bytes"]) == 4 * int(r["n"])
    segments = next(r for r in rows if r["operation"] == "segment_sums")
    assert segments["dataset"] == "random/powerlaw:2.1" and int(segments["segments"]) > 100
    chart = reductio("plot", path.parent, "--chart", "1").ok() + reductio("plot", path.parent, "--chart", "2").ok()
    assert "rows of 8" in chart or "rows of 24" in chart
    resumed = reductio("run", "shapes", "--device", "cpu", "--variants", "^(host/rows|host/segments)$", "--shapes",
                       "1000x24/32,*x8", "--segments", "powerlaw:2.1", "--sizes", "2^12", "--max-samples", "6",
                       "--contexts", "6", "--out", "there", "--resume").ok()
    assert "3 were already there" in resumed
