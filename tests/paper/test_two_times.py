"""Calls of two times, alone and in company: which are told apart, and how often each is taken; every value is planted."""

import re

import numpy as np
import pytest
import synthetic
from synthetic import timed

import results as rs
from text import two_times

SHORT, LONG = 16.0, 24.0
CALLS = 400


def run(name: str, n: int, share: float, short=SHORT, long=LONG, spread=1.0) -> dict:
    """A run's samples: of the calls this share takes the shorter time. The times lie evenly around their means."""
    around = np.linspace(-spread, spread, CALLS)[np.arange(CALLS) * 7919 % CALLS]
    us = np.where(np.arange(CALLS) < share * CALLS, short, long) + around
    return {"run_id": name, "variant": "cub/sum", "timing_mode": "end_to_end", "n": n, "voided": " ".join(["no"] * CALLS),
            "round": " ".join(map(str, range(CALLS))), "allocation": " ".join(["0"] * CALLS),
            "time_s": " ".join(f"{1e-6 * t:.9g}" for t in us)}


def with_one_more(record: dict, time_s: str, voided: str) -> dict:
    more = {"time_s": time_s, "voided": voided, "round": str(CALLS), "allocation": "0"}
    return record | {column: f"{record[column]} {value}" for column, value in more.items()}


def results_of(path, samples, runs=("1", "1b", "2", "2b")) -> rs.Results:
    """Runs whose names begin with 2 are in company."""
    synthetic.write_folder(path, [timed(1e-5, variant="mine/other", n=2**20)])
    pairs = [(one, other) for one in runs if one[0] == "1" for other in runs if other[0] == "2"]
    synthetic.write_csv(path / "alone.csv.gz", [
        r | {"base_source": "alone/1/m", "source": "company/1/m", "base_run_id": one, "run_id": other}
        for one, other in pairs for r in synthetic.repeat_rows((1.0,), (1.0,))])
    if samples:
        synthetic.write_csv(path / "alone-samples.csv.gz", samples)
    return rs.read_results(path)


def found(path, samples) -> list[two_times.TwoTimes]:
    return two_times.of(two_times.samples_of(results_of(path, samples)))


def test_calls_of_two_times_are_told_apart(tmp_path):
    (two,) = found(tmp_path / "m", [run("1", 2**14, 0.4), run("2", 2**14, 0.6, 1.02 * SHORT, 1.04 * LONG)])
    assert two.n == 2**14 and two.shorter == pytest.approx((0.4, 0.6))
    assert two.us == pytest.approx((SHORT * 1.012, LONG * 1.016), rel=0.005)
    assert two.within == pytest.approx((-np.log(1.02), -np.log(1.04)), abs=0.004)
    alone, company = 0.4 * SHORT + 0.6 * LONG, 0.6 * 1.02 * SHORT + 0.4 * 1.04 * LONG
    assert two.longer_alone == pytest.approx(np.log(alone / company), abs=0.002)
    like = (SHORT + LONG) / (1.02 * SHORT + 1.04 * LONG)
    assert two.with_like_shares == pytest.approx(np.log(like), abs=0.004)


def one_time(spread: float, shape) -> list[dict]:
    times = " ".join(f"{1e-6 * t:.9g}" for t in shape(np.random.default_rng(1), spread))
    return [run(name, 2**14, 0) | {"time_s": times} for name in ("1", "2")]


@pytest.mark.parametrize("samples", [
    [run("1", 2**14, 1), run("2", 2**14, 1)],
    [run("1", 2**14, 0.5, spread=6), run("2", 2**14, 0.5, spread=6)],
    [run("1", 2**14, 0.05), run("2", 2**14, 0.3)],
    [run("1", 2**14, 0.95), run("2", 2**14, 0.7)],
    [run("1", 2**14, 0.5)],
    [run("2", 2**14, 0.5)],
    one_time(8, lambda g, spread: g.normal(60, spread, CALLS)),
    one_time(20, lambda g, spread: g.normal(400, spread, CALLS)),
    one_time(5, lambda g, spread: 15 + g.exponential(spread, CALLS)),
], ids=["one", "wide", "rarely the shorter", "rarely the longer", "alone only", "in company only", "normal", "long and normal",
        "exponential"])
def test_calls_of_one_time_are_not(tmp_path, samples):
    assert found(tmp_path / "m", samples) == []
    assert two_times.plain(rs.read_results(tmp_path / "m")) == []


def test_without_samples_there_is_nothing_to_tell(tmp_path):
    assert two_times.plain(results_of(tmp_path / "m", [])) == []


def test_voided_samples_count_for_nothing(tmp_path):
    late = with_one_more(run("1", 2**14, 0.4), "1", "yes")
    other = run("2", 2**14, 0.4)
    assert found(tmp_path / "m", [late, other]) == found(tmp_path / "n", [run("1", 2**14, 0.4), other])


def test_how_often_follows_from_how_long_by_the_line_through_all_runs(tmp_path):
    # Alone and in company a run in which the shorter time is longer by 0.4 us takes it more often by 20 points. In company it
    # is longer by 0.2 us, and taken more often by 30.
    samples = [run(name, 2**14, share, short, spread=0.01)
               for name, share, short in (("1", 0.3, 16.0), ("1b", 0.5, 16.4), ("2", 0.6, 16.2), ("2b", 0.8, 16.6))]
    read = two_times.samples_of(results_of(tmp_path / "m", samples))
    why = two_times.explained(read, two_times.of(read))
    assert why.difference == pytest.approx(0.3) and why.by_their_time == pytest.approx(0.1, abs=0.01)
    said = two_times.plain(rs.read_results(tmp_path / "m"))
    assert said[2:4] == ["| 2^14 | 16.4, 24.0 | 40 %, 70 % | -1.1 % | -0.0 % | +11.8 % | -0.5 % |", ""]
    assert re.fullmatch(
        r"1 of 1 sizes; by how much longer is in means of all these samples, none trimmed\. In the mean over these sizes calls "
        r"in company take the shorter time more often by 30\.0 ± [\d.]+ percentage points\. Of these 10\.0 ± [\d.]+ go with how "
        r"much longer that time is there, by the line through the runs of either kind\.", said[4])


def test_standard_errors_are_those_of_runs(tmp_path):
    # The shares of four runs of a kind, two of either value, have a standard deviation of 0.1: a mean of four of them 0.05.
    names = [(f"{kind}{i}", i % 2) for kind in (1, 2) for i in range(4)]
    samples = [run(name, 2**14, 0.3 + 0.2 * high + 0.2 * (name[0] == "2"), SHORT + 0.1 * high) for name, high in names]
    results = results_of(tmp_path / "m", samples, runs=[name for name, _ in names])
    read = two_times.samples_of(results)
    why = two_times.explained(read, two_times.of(read))
    assert why.difference == pytest.approx(0.2) and why.difference_error == pytest.approx(0.05 * 2**0.5, rel=0.1)


def test_a_run_that_never_takes_the_shorter_time_counts(tmp_path):
    samples = [run("1", 2**14, 0.0), run("1b", 2**14, 0.4), run("2", 2**14, 0.5), run("2b", 2**14, 0.7, 16.2)]
    read = two_times.samples_of(results_of(tmp_path / "m", samples))
    why = two_times.explained(read, two_times.of(read))
    assert why.difference == pytest.approx(0.4) and np.isfinite([why.difference_error, why.by_their_time]).all()


def test_a_few_late_calls_hide_no_two_times(tmp_path):
    samples = [run("1", 2**14, 0.2), run("2", 2**14, 0.3)]
    (two,) = found(tmp_path / "m", [with_one_more(with_one_more(r, "2e-3", "no"), "3e-3", "no") for r in samples])
    assert two.shorter == pytest.approx((0.2, 0.3), abs=0.01)


def test_of_one_run_of_each_kind_there_is_no_line(tmp_path):
    read = two_times.samples_of(results_of(tmp_path / "m", [run("1", 2**14, 0.3), run("2", 2**14, 0.6)]))
    assert two_times.explained(read, two_times.of(read)) is None
    assert two_times.plain(rs.read_results(tmp_path / "m"))[-1].endswith("none trimmed.")


@pytest.mark.parametrize("change, message", [
    ({"run_id": None}, "lacks the column run_id"),
    ({"run_id": "3"}, "has samples of the run 3, which alone.csv.gz does not name"),
    ({"variant": "x/y"}, "is not of cub/sum end to end alone"),
    ({"timing_mode": "device"}, "is not of cub/sum end to end alone")])
def test_other_samples_are_refused(tmp_path, change, message):
    runs = (run("1", 2**14, 0.3), run("2", 2**14, 0.6))
    samples = [{k: v for k, v in (r | change).items() if v is not None} for r in runs]
    with pytest.raises(rs.ResultsError, match=f"{message}.*: run experiments/on_gpu_machine --only alone"):
        found(tmp_path / "m", samples)


def test_samples_that_were_cut_are_refused(tmp_path):
    with pytest.raises(rs.ResultsError, match="alone-samples.csv.gz has 1 values for time_s and 400 for round in one record"):
        found(tmp_path / "m", [run("1", 2**14, 0.3) | {"time_s": "1e-5"}, run("2", 2**14, 0.6)])
