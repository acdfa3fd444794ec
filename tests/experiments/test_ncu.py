"""experiments/ncu.py: what ncu prints becomes rows, and where it prints none the reason does."""

import csv
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "ncu.py"
spec = importlib.util.spec_from_file_location("ncu", SCRIPT)
ncu = importlib.util.module_from_spec(spec)
sys.modules["ncu"] = ncu
spec.loader.exec_module(ncu)

LOAD = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"

# As `ncu --csv --page raw --print-units base --log-file` writes it: its own lines, names, units, a row a kernel.
SAMPLE = f"""==PROF== Connected to process 4242 (/opt/reductio)
==PROF== Profiling "naive" - 0: 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","{CONFLICTS}","gpu__time_duration.sum","{LOAD}"
"","","","","","","","","","","","","nsecond","%"
"0","4242","reductio","127.0.0.1","void naive<float, Identity, Atomic>(Input<float, Identity>, float *, unsigned long)","1","13","(256, 1, 1)","(65536, 1, 1)","0","9.0","1,234","98765.5","n/a"
"1","4242","reductio","127.0.0.1","void later<float>(float *)","1","13","(256, 1, 1)","(1, 1, 1)","0","9.0","0","5","100"
"""


def test_the_first_kernel_gives_its_name_and_values():
    kernel, values = ncu.counted(SAMPLE, [CONFLICTS, "gpu__time_duration.sum", LOAD, "smsp__inst_executed.sum"])
    assert kernel.startswith("void naive<float")
    assert values[CONFLICTS] == ("1234", "", "") and values["gpu__time_duration.sum"] == ("98765.5", "nsecond", "")
    assert values[LOAD] == ("", "", "ncu gives 'n/a'")
    assert values["smsp__inst_executed.sum"] == ("", "", "ncu has no such metric for this GPU")


def test_another_table_is_another_row():
    # A value that ncu changed, and a table that lost a column: neither passes for the sample's.
    assert ncu.counted(SAMPLE.replace("1,234", "4,321"), [CONFLICTS])[1][CONFLICTS][0] == "4321"
    with pytest.raises(ncu.Failed, match="is cut"):
        ncu.counted(SAMPLE.replace('"98765.5",', ""), [CONFLICTS])
    with pytest.raises(ncu.Failed, match="no kernel: No kernels were profiled"):
        ncu.counted("==PROF== Connected\n==WARNING== No kernels were profiled.\n", [CONFLICTS])


@pytest.mark.parametrize("text, value", [("1,234", "1234"), ("0", "0"), ("12.5", "12.5"), ("1.5e+09", "1.5e+09"),
                                         ("n/a", ""), ("", ""), ("(!) n/a", ""), ("nan", ""), ("1.2.3", "")])
def test_what_is_a_number(text, value):
    assert ncu.number(text) == value


# Plays ncu: writes the log that its --log-file names, then runs nothing.
FAKE = """#!/usr/bin/env bash
while (($# > 0)); do
  case $1 in
    --log-file) log=$2; shift ;;
    --metrics) metrics=$2; shift ;;
    --variants) variant=${{2//[\\^$]/}}; shift ;;
    --types) type=$2; shift ;;
    --sizes) n=$2; shift ;;
  esac
  shift
done
{body}
"""
TABLE = """names="" units="" values=""
for m in ${metrics//,/ }; do names+=",\\"$m\\"" units+=",\\"unit\\"" values+=",\\"7\\""; done
printf '"ID","Kernel Name"%s\\n"",""%s\\n"0","kernel of %s"%s\\n' "$names" "$units" "$variant" "$values" >"$log"
echo "reductio: note: $variant block=1024;finish=host sum $type n=$n end_to_end cold_dirty" >&2
"""


def run(folder: Path, body: str | None, **environment: str):
    """The script with an ncu that does this; without one for None."""
    results = folder / "results"
    results.mkdir(exist_ok=True)
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    for name, text in {"ncu": FAKE.format(body=body) if body else None, "reductio": "#!/bin/sh\n"}.items():
        if text:
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
    arguments = ["--ncu", str(tools / "ncu")] if body else ["--ncu", str(folder / "none")]
    done = subprocess.run([sys.executable, SCRIPT, results, "--reductio", tools / "reductio", *arguments],
                          capture_output=True, text=True, env={**os.environ, **environment})
    path = results / "ncu.csv"
    return done, list(csv.DictReader(path.open(newline=""))) if path.exists() else None


def test_every_case_has_a_row_of_each_metric(tmp_path):
    done, rows = run(tmp_path, TABLE)
    assert done.returncode == 0, done.stderr
    assert len(rows) == len(ncu.CASES) * len(ncu.METRICS)
    assert list(rows[0]) == ncu.COLUMNS and {r["value"] for r in rows} == {"7"} and not any(r["reason"] for r in rows)
    assert {(r["variant"], r["kernel"], r["settings"]) for r in rows} == {
        (c.variant, f"kernel of {c.variant}", "block=1024;finish=host") for c in ncu.CASES}
    assert {(r["variant"], r["n"], r["element_type"]) for r in rows} == {
        (c.variant, str(c.n), c.element_type) for c in ncu.CASES}


def test_a_metric_that_ncu_does_not_know_is_left_out_and_said(tmp_path):
    said = f'echo "==ERROR== Failed to find metric {LOAD}" >"$log"; exit 1'
    done, rows = run(tmp_path, f"if [[ $metrics == *{LOAD}* ]]; then {said}; fi\n" + TABLE)
    assert done.returncode == 0, done.stderr
    assert all((r["value"], r["reason"]) == (("", "ncu has no such metric for this GPU") if r["metric"] == LOAD
                                             else ("7", "")) for r in rows)


def test_where_ncu_may_not_count_the_run_is_skipped_with_the_reason(tmp_path):
    refusing = 'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" >"$log"; exit 1'
    done, rows = run(tmp_path, refusing)
    assert done.returncode == 77 and "may not read the GPU's counters" in done.stderr and done.stderr.count("\n") == 1
    assert len(rows) == len(ncu.CASES) * len(ncu.METRICS)
    assert all(r["value"] == "" and "ERR_NVGPUCTRPERM" in r["reason"] for r in rows)
    # What an earlier run counted stays.
    run(tmp_path, TABLE)
    done, rows = run(tmp_path, refusing)
    assert done.returncode == 77 and {r["value"] for r in rows} == {"7"}


def test_where_there_is_no_ncu_the_run_is_skipped(tmp_path):
    done, rows = run(tmp_path, None)
    assert done.returncode == 77 and done.stderr.count("\n") == 1 and "there is no" in done.stderr
    assert all("there is no" in r["reason"] for r in rows)


def test_one_case_that_fails_costs_no_other(tmp_path):
    failing = 'echo "==ERROR== Launch failed" >"$log"; exit 9'
    done, rows = run(tmp_path, f"if [[ $variant == */naive ]]; then {failing}; fi\n" + TABLE)
    assert done.returncode == 1 and done.stderr.count("Launch failed") == 2  # at two sizes
    assert {r["variant"] for r in rows if not r["value"]} == {"levels/naive"}
    assert all(r["reason"] == "Launch failed" for r in rows if r["variant"] == "levels/naive")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 1 and "is no folder" in done.stderr and done.stderr.count("\n") == 1


def test_what_cannot_be_written_is_told(tmp_path):
    (tmp_path / "ncu.csv").mkdir()  # also for those who may write everywhere
    done = subprocess.run([sys.executable, SCRIPT, tmp_path, "--ncu", tmp_path / "none"], capture_output=True, text=True)
    assert done.returncode == 1 and "ncu.csv" in done.stderr and "cannot be written" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_its_calls_are_those_that_the_program_makes(tmp_path):
    """By the program itself on the simulated device: each case selects a call, whose settings are told first."""
    reductio = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
    if not reductio.exists():
        pytest.skip("the program is not built")
    for case in ncu.CASES:
        settings = [word for s in case.settings for word in ("--set", s)]
        done = subprocess.run([reductio, "run", "comparison", "--variants", f"^{case.variant}$", "--types",
                               case.element_type, "--operations", "sum", "--sizes", "4096", "--profile", "--device",
                               "sim", *settings], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        settings = ncu.told_settings(done.stderr, ncu.Case(case.variant, case.element_type, 4096, case.settings))
        assert set(case.settings) <= set(settings.split(";"))
