"""The comparison with an independent benchmark: what counts as agreeing, and what is compared with what."""

import importlib.util
import json

import pytest
from project import SOURCE

SCRIPT = SOURCE / "baselines" / "nvbench" / "agree.py"
spec = importlib.util.spec_from_file_location("agree", SCRIPT)
agree = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agree)

HEADER = "machine,variant,operation,element_type,n,timing_mode,cache_state,n_samples,time_median_s,status\n"


def files(folder, ours, theirs):
    (folder / "comparison.csv").write_text(HEADER + "".join(ours))
    states = [{
        "is_skipped": False,
        "axis_values": [{"name": "type", "value": kind}, {"name": "n", "value": str(n)},
                        {"name": "l2_overwritten", "value": str(overwritten)}],
        "summaries": [
            {"tag": "nv/cold/time/gpu/median", "data": [{"name": "value", "type": "float64", "value": str(seconds)}]},
            {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "1"}]},
            {"tag": "nv/cold/sample_size", "data": [{"name": "value", "type": "int64", "value": "100"}]},
        ],
    } for kind, n, seconds, overwritten in ((*state, 2)[:4] for state in theirs)]
    (folder / "nvbench.json").write_text(json.dumps({"benchmarks": [{"states": states}]}))
    return str(folder / "comparison.csv"), str(folder / "nvbench.json")


def run(paths, *more):
    return agree.main(["--reductio", paths[0], "--nvbench", paths[1], *more])


def ours(n, seconds, kind="f32", variant="cub/sum", mode="device", cache="cold_dirty", status="ok"):
    return f"h200,{variant},sum,{kind},{n},{mode},{cache},25,{seconds},{status}\n"


def test_points_within_the_bounds_agree(tmp_path, capsys):
    paths = files(tmp_path, [ours(1024, 1.05e-5), ours(2**22, 2.05e-5)], [("F32", 1024, 1e-5), ("F32", 2**22, 2e-5)])
    assert run(paths, "--out", str(tmp_path / "agreement.csv")) == 0
    assert "2 of 2 points agree; the largest difference is 5.00%" in capsys.readouterr().out
    assert len((tmp_path / "agreement.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize("n, seconds", [(2**22, 1.04e-5), (2**22, 0.96e-5), (1024, 1.07e-5)])
def test_a_point_beyond_the_bounds_fails(tmp_path, n, seconds):
    assert run(files(tmp_path, [ours(n, seconds)], [("F32", n, 1e-5)])) == 1


def test_only_the_same_call_in_the_same_state_is_compared(tmp_path):
    rows = [ours(1024, 1e-5), ours(1024, 5e-5, kind="f64"), ours(1024, 9e-5, mode="end_to_end"),
            ours(1024, 9e-5, cache="warm"), ours(1024, 9e-5, variant="thrust/reduce"), ours(2048, "", status="refused")]
    paths = files(tmp_path, rows, [("F32", 1024, 1e-5), ("F64", 1024, 5e-5), ("U32", 1024, 1e-5), ("F32", 2048, 1e-5)])
    table = agree.agreement(paths[:1], paths[1:])
    assert list(zip(table.element_type, table.n, table.difference.round(9))) == [("f32", 1024, 0), ("f64", 1024, 0)]


def test_nothing_in_common_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="in common"):
        run(files(tmp_path, [ours(1024, 1e-5)], [("F32", 2048, 1e-5)]))


def test_of_several_runs_the_median_counts(tmp_path):
    paths = []
    for i, seconds in enumerate([1.00e-5, 1.02e-5, 3e-5]):
        (tmp_path / str(i)).mkdir()
        paths.append(files(tmp_path / str(i), [ours(2**22, seconds)] + [ours(2**23, 2e-5)] * (i > 0),
                           [("F32", 2**22, 1e-5), ("F32", 2**23, 2e-5)]))
    table = agree.agreement([p[0] for p in paths], [p[1] for p in paths])
    assert list(table.n) == [2**22, 2**23]
    assert list(table.reductio_runs) == [3, 2] and list(table.nvbench_runs) == [3, 3]
    assert abs(table.difference[0] - 0.02) < 1e-9 and table.reductio_samples[0] == 75
    assert abs(table.reductio_spread[0] - 2) < 1e-9 and table.nvbench_spread[0] == 0


def test_the_median_of_several_allocations_counts(tmp_path):
    paths = files(tmp_path, [ours(1 << 20, 1e-5)], [("F32", 1 << 20, s) for s in (2e-5, 1e-5, 1.01e-5)])
    assert run(paths, "--out", str(tmp_path / "agreement.csv")) == 0
    table = agree.pd.read_csv(tmp_path / "agreement.csv")
    assert len(table) == 1 and table.nvbench_median_s[0] == 1.01e-5 and table.nvbench_samples[0] == 300


def test_the_same_bytes_are_overwritten_before_each_call(tmp_path):
    """nvbench by itself overwrites half of what reductio does; that is told beside and decides nothing."""
    paths = files(tmp_path, [ours(1 << 20, 1e-5)], [("F32", 1 << 20, 1e-5), ("F32", 1 << 20, 8e-6, 1)])
    table = agree.agreement(paths[:1], paths[1:])
    assert table.difference[0] == 0 and table.nvbench_once_median_s[0] == 8e-6
    assert table.nvbench_samples[0] == 100
    # It may be a run of its own, too, but not the only one.
    (tmp_path / "once").mkdir()
    _, once = files(tmp_path / "once", [], [("F32", 1 << 20, 6e-6, 1)])
    table = agree.agreement(paths[:1], [paths[1], once])
    assert table.nvbench_runs[0] == 1 and table.nvbench_once_median_s[0] == 7e-6 and table.difference[0] == 0
    with pytest.raises(SystemExit, match="overwrites L2 twice"):
        run((paths[0], once))


def test_what_is_committed_comes_from_what_lies_beside_it(tmp_path):
    folder = SCRIPT.parents[2] / "experiments" / "results" / "nvidia-h200"
    made = tmp_path / "agreement.csv"
    agree.main(["--reductio", *map(str, sorted(folder.glob("nvbench/reductio-*/*/comparison.csv"))),
                "--nvbench", *map(str, sorted(folder.glob("nvbench/*.json.gz"))), "--out", str(made)])
    assert made.read_bytes() == (folder / "nvbench-agreement.csv").read_bytes()
