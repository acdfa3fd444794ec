"""What an experiment takes, from its CSV and machine.json."""

import json

import artifact
import pytest
import synthetic


@pytest.fixture
def folder(tmp_path):
    rows = [synthetic.timed(1e-3, experiment="limits", variant="cub/sum", n=n, run_id=run)
            for n, run in ((2**18, "a"), (2**28, "b"))]
    refused = synthetic.row(experiment="limits", variant="cub/sum", n=2**30, bytes=2**32, status="refused", run_id="b")
    return synthetic.write_folder(tmp_path / "m", limits=rows + [refused], models=synthetic.model_rows())


def with_runs(folder, *runs):
    (folder / "machine.json").write_text(json.dumps({**synthetic.MACHINE, "runs": list(runs)}))
    return folder


def ran(run_id: str, wall_s: float, memory: int | None = None) -> dict:
    return {"run_id": run_id, "time_spent": {"wall_s": wall_s}} | ({"peak_memory_bytes": memory} if memory else {})


def test_all_runs_that_rows_are_of_count_and_no_other(folder):
    (cost,) = artifact.costs(with_runs(folder, ran("a", 20, 2**30), ran("b", 10, 3 * 2**30), ran("c", 500, 2**40)))
    assert (cost.experiment, cost.points, cost.wall_s, cost.host_memory_bytes) == ("limits", 3, 30, 3 * 2**30)
    assert cost.largest_input_bytes == 2**30  # what was refused was not there


def test_the_table_has_a_line_for_each_experiment_and_the_sum(folder):
    synthetic.write_csv(folder / "comparison.csv", [synthetic.timed(1e-3, variant="cub/sum", n=2**20, run_id="c")])
    with_runs(folder, ran("a", 20), ran("b", 10), ran("c", 500))
    lines = artifact.markdown(folder).splitlines()
    assert lines[4:] == ["| `comparison` | 1 | 500 s | 4 MiB |", "| `limits` | 3 | 30 s | 1 GiB |", "| together | 4 | 530 s | 1 GiB |"]
    assert "host memory" not in lines[2]
    with_runs(folder, ran("a", 20, 2**31), ran("b", 10, 2**30), ran("c", 500))
    lines = artifact.markdown(folder).splitlines()
    assert [line.removesuffix(" |").split(" | ")[4] for line in lines[2:3] + lines[4:]] == ["host memory", "not recorded", "2 GiB",
                                                                                            "not recorded"]


def test_a_run_that_recorded_no_time_is_said(folder):
    with_runs(folder, ran("a", 20))
    assert artifact.costs(folder)[0].wall_s is None and artifact.total_wall_s(artifact.costs(folder)) is None
    assert artifact.markdown(folder).count("not recorded") == 2


def test_a_folder_without_experiments_has_no_table(tmp_path):
    assert artifact.markdown(synthetic.write_folder(tmp_path / "m", models=synthetic.model_rows())) == ""
