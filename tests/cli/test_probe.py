"""probe and record: what only a GPU has is refused elsewhere, in one line; tables of other programs get a run's id."""

import csv
import hashlib
import json

import pytest


@pytest.mark.parametrize("device", ["sim", "cpu"])
def test_a_device_without_sms_is_refused(reductio, tmp_path, device):
    said = reductio("probe", "--device", device, "--out", "there").error()
    assert f"device {device} has no SM clocks" in said and "--device cuda" in said
    assert list(tmp_path.iterdir()) == []


def test_probes_or_says_that_there_is_no_gpu(reductio, tmp_path):
    done = reductio("probe", "--out", "there")
    if done.code == 77:
        assert "GPU" in done.error(77) or "CUDA" in done.error(77)
        assert list(tmp_path.iterdir()) == []
        return
    done.ok()
    [path] = tmp_path.rglob("probes.csv")
    with path.open(newline="") as file:
        quantities = {row["quantity"] for row in csv.DictReader(file)}
    assert {"sm_clock_offset", "sm_clock_rate", "globaltimer_offset", "globaltimer_resolution", "load_latency_l1",
            "load_latency_l2", "load_latency_memory"} <= quantities


def test_wrong_usage_is_one_line(reductio):
    assert "unknown option" in reductio("probe", "--sizes", "2^20").error()
    assert "--out is empty" in reductio("probe", "--out", "").error()


def test_a_table_of_another_program_is_recorded_with_its_hash(reductio, tmp_path):
    place = tmp_path / "m"
    place.mkdir()
    (place / "ncu.csv").write_text("kernel,value\na,1\n")
    run_id = reductio("record", "m/ncu.csv", "--device", "cpu").ok().strip()
    assert (place / "ncu.csv").read_text() == f"run_id,kernel,value\n{run_id},a,1\n"
    [tool] = json.loads((place / "machine.json").read_text())["tools"]
    assert (tool["run_id"], tool["tool"], tool["arguments"][1:]) == (run_id, "ncu", ["record", "m/ncu.csv", "--device", "cpu"])
    assert tool["sha256"] == {"ncu.csv": hashlib.sha256((place / "ncu.csv").read_bytes()).hexdigest()}
    # The rows of a comparison have the comparison's run.
    (place / "pair.csv").write_text(reductio("compare", "host/plain", "host/unroll4", "--sizes", "1000", "--contexts", "6",
                                             "--min-samples", "6", "--max-samples", "6", "--csv").ok())
    printed = reductio("record", "m/pair.csv", "--tool", "compare", "--device", "cpu").ok()
    with (place / "pair.csv").open(newline="") as file:
        [run_id] = {row["run_id"] for row in csv.DictReader(file)}
    machine = json.loads((place / "machine.json").read_text())
    assert printed.strip() == run_id
    assert [(tool["run_id"], tool["tool"]) for tool in machine["tools"]][1:] == [(run_id, "compare")]
    assert "is not a table" in reductio("record", "m/none.csv", "--device", "cpu").error()
    assert "of one results folder" in reductio("record", "m/ncu.csv", "ncu.csv", "--device", "cpu").error()
