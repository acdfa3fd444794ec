"""The documents' studies on the simulated device: every point verifies, and what claims compare is among them."""

import csv
import re

import pytest

import contrasts
from conftest import call

STUDIES = ["squares", "latency", "twopass", "unrolling", "levels", "multiblock", "modern", "ablation", "accuracy",
           "frontier"]
N, SMS = 2**15, 6  # the simulated device's; 2^15 elements are a thread each in more blocks than 4 for each of them
SMALL = ["ablation", "accuracy", "frontier"]  # of fewer elements: many variants, and no grids


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> dict[str, list[dict[str, str]]]:
    out = tmp_path_factory.mktemp("studies")
    for n, studies in ((N, [name for name in STUDIES if name not in SMALL]), (2**12, SMALL)):
        call("run", *studies, "--device", "sim", "--sizes", n, "--out", "there", "--quiet", cwd=out).ok()
    by_experiment = {}
    for name in STUDIES:
        with next(out.rglob(f"{name}.csv")).open(newline="") as file:
            by_experiment[name] = list(csv.DictReader(file))
    return by_experiment


@pytest.mark.parametrize("name", STUDIES)
def test_every_point_is_verified_on_the_simulated_device(rows, name):
    assert rows[name]
    assert [r for r in rows[name] if r["status"] != "ok"] == []


def settings_of(text: str) -> dict[str, str]:
    """Of a row, `a=1;b=2`, or of a claim, `a=1,b=2`, where a value may depend on n and on the device."""
    pairs = dict(pair.split("=") for pair in text.replace(",", ";").split(";") if pair)
    for name, value in pairs.items():
        if value.endswith("*SMs"):
            pairs[name] = str(int(value.removesuffix("*SMs")) * SMS)
        elif value.startswith("ceil(n/"):
            pairs[name] = str(-(-N // int(value[len("ceil(n/"):-1])))
    return pairs


def calls_of_contrasts() -> list[tuple[str, str, str, str]]:
    """Contrast, experiment, timing mode and call of all that is looked for in a study first."""
    return [(asked.name, asked.group["experiments"][0], "end_to_end" if way in ("device_part", "rest") else way, call)
            for asked in contrasts.asked().values() if asked.group["experiments"][0] in STUDIES
            for _, call, way in ([*point, asked.group["timing_mode"]][:3] for point in asked.points)
            if not call.startswith("cub/")]  # which the simulated device does not have


def lacking(rows, experiment: str, mode: str, looked_for: str) -> bool:
    variant, _, settings = looked_for.partition(":")
    variant = re.compile(re.escape(variant).replace(r"\*", r"[^+/]+"))
    return not any(variant.fullmatch(r["variant"]) and r["timing_mode"] == mode and
                   settings_of(settings).items() <= settings_of(r["settings"]).items() for r in rows[experiment])


def test_what_contrasts_compare_is_measured(rows):
    looked_for = calls_of_contrasts()
    assert {"S1", "T3", "U10", "L9a", "M1b", "M2b", "ablation.thread.vectors"} <= {name for name, *_ in looked_for}
    assert [c for c in looked_for if lacking(rows, *c[1:])] == []
    # It tells what is not there.
    assert lacking(rows, "twopass", "device", "twopass/rolled:finish=host")
    assert lacking(rows, "levels", "device", "levels/naive:block=128")
    assert lacking(rows, "squares", "clock", "cub/transform-reduce:")


def test_the_ablation_has_all_that_its_contrasts_ask_for(rows):
    measured = {(r["variant"], r["element_type"]) for r in rows["ablation"]}
    asked = {call for name, _, _, call in calls_of_contrasts() if name.startswith("ablation.both.")}
    assert len(asked) == 20 and {(call, "f32") for call in asked} <= measured


def test_grids_go_from_one_block_to_a_thread_for_each_element(rows):
    grids = {int(r["settings"].split("grid=")[1].split(";")[0]) for r in rows["multiblock"]
             if r["timing_mode"] == "device" and "grid=auto" not in r["settings"]}
    assert grids == {1, 2, 4, 6, 12, 24, 32}
    grids = {int(settings_of(r["settings"])["grid"]) for r in rows["squares"] if "grid" in r["settings"]}
    assert grids == {1, 2, 4, 6, 12, 18, 24, 32}


def test_accuracy_tells_errors_of_four_data_sets_and_what_they_are_relative_to(rows):
    assert {r["dataset"] for r in rows["accuracy"]} == {"random", "normal", "alternating", "ill-conditioned"}
    for r in rows["accuracy"]:
        assert r["operation"] == "sum" and r["element_type"] == "f32"
        assert float(r["abs_error"]) <= float(r["error_bound"])
        assert float(r["sum_of_magnitudes"]) >= abs(float(r["exact_result"]))
        assert abs(abs(float(r["result"]) - float(r["exact_result"])) - float(r["abs_error"])) <= \
            1e-7 * abs(float(r["exact_result"]))
    by_finish = {settings_of(r["settings"])["finish"] for r in rows["accuracy"] if r["variant"] == "levels/naive"}
    assert by_finish == {"atomic", "relaunch", "host"}


def test_the_frontier_has_an_error_of_each_sum(rows):
    errors = {(r["variant"], r["operation"], r["element_type"], r["dataset"]): float(r["abs_error"])
              for r in rows["frontier"]}
    assert {dataset for *_, dataset in errors} == {"random", "spread", "ill-conditioned"}
    plain, neumaier = (errors[f"compensated/{name}", "sum", "f32", "ill-conditioned"] for name in ("plain", "neumaier"))
    assert neumaier < plain / 1000


def test_the_number_of_multiprocessors_is_the_devices_and_without_one_an_h200s(reductio, rows):
    """A dry run asks no device, so that it works anywhere."""
    counted = [int(reductio("run", "multiblock", "--device", "sim", "--sizes", N, "--dry-run", *more).ok().split()[1])
               for more in ((), ("--full",))]
    assert counted[0] != len(rows["multiblock"]), "132 multiprocessors have other grids than 6"
    assert counted[1] > counted[0]
