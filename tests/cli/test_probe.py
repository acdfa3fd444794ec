"""probe: what only a GPU has is refused elsewhere, in one line."""

import csv

import pytest


@pytest.mark.parametrize("device", ["sim", "cpu"])
def test_a_device_without_sms_is_refused(reductio, tmp_path, device):
    said = reductio("probe", "--device", device, "--out", "there").error()
    assert f"device {device} has no SMs with clocks of their own" in said and "--device cuda" in said
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
    assert "empty value" in reductio("probe", "--out", "").error()
