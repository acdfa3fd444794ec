"""The steps of docs/modern.md: times, and the gain of each over what it is a step from."""

import pytest
import synthetic

import results as rs
import summary
from text import modern

N = modern.SIZES


def rows() -> list[dict]:
    """Device times in us at 2^20, and so many times as long as n."""
    times = {("modern/shuffle", "grid=auto"): 40, ("modern/vector-loads", "grid=auto"): 20,
             ("modern/loads-in-flight", "grid=auto;loads=1"): 25, ("modern/loads-in-flight", "grid=auto;loads=4"): 16,
             ("modern/cooperative", "grid=auto"): 12, ("modern/fan-in", "grid=auto"): 8, ("cub/sum", "count=32"): 10,
             ("tuned/sum", "block=auto"): 5}
    return [synthetic.timed(us * 1e-6 * n / 2**20, experiment="modern", variant=v, settings=s, n=n)
            for (v, s), us in times.items() for n in N]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = synthetic.write_folder(tmp_path_factory.mktemp("modern") / "synthetic", synthetic.gpu_rows(("f32",), [2**20]))
    synthetic.write_csv(out / modern.FILE, rows())
    return synthetic.write_samples(out, experiment="modern")


def gains(folder, n: int = 2**20) -> dict[str, float]:
    """Of each step that was measured its gain, rounded; by variant and setting."""
    found = modern.steps(rs.read_results(folder), "f32")
    at = [(f"{s.series.variant} {s.setting}".strip(), s.gains[N.index(n)]) for s in found]
    return {name: round(float(gain["ratio"]), 6) for name, gain in at if gain is not None}


def test_each_step_has_its_gain_over_what_it_is_a_step_from(folder):
    assert gains(folder) == {"modern/vector-loads": 2, "modern/loads-in-flight loads=1": 0.8,
                             "modern/loads-in-flight loads=4": 1.25, "modern/cooperative": 1.333333,
                             "modern/fan-in": 1.5, "tuned/sum": 2}
    assert gains(folder, 2**28) == gains(folder)
    measured = [s.series.variant for s in modern.steps(rs.read_results(folder), "f32")]
    assert "modern/shuffle" in measured and "modern/cluster" not in measured
    assert modern.steps(rs.read_results(folder), "i32") == []


def test_the_gain_is_that_of_the_rounds(tmp_path):
    """Of the raw samples, not of the rows' medians."""
    other = synthetic.write_folder(tmp_path / "synthetic", synthetic.gpu_rows(("f32",), [2**20]))
    synthetic.write_csv(other / modern.FILE, rows())
    synthetic.write_samples(other, experiment="modern",
                            factor=lambda row: 0.5 if row["variant"] == "modern/vector-loads" else 1)
    assert gains(other)["modern/vector-loads"] == 4


def test_every_step_is_from_another_that_is_there():
    assert {before for before in modern.STEPS.values() if before} <= set(modern.STEPS)


def test_the_table_tells_times_and_gains_and_nothing_without_the_experiment(folder, tmp_path):
    lines = summary.modern_block(rs.read_results(folder)).splitlines()
    assert any(line.startswith("| `modern/shuffle` | 0.156 | 40.0 | 10,240 |  |") for line in lines)
    cooperative = next(line for line in lines if line.startswith("| `modern/cooperative` |"))
    assert "| loads-in-flight, loads=4 | 1.33" in cooperative and "[" in cooperative
    there = synthetic.write_folder(tmp_path / "synthetic", synthetic.gpu_rows(("f32",), [2**20]))
    assert summary.modern_block(rs.read_results(there)) == ""
