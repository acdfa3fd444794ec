"""The comparison with times taken from outside: what counts as agreeing, and what is compared with what."""

import importlib.util
import json

import pytest
import synthetic
import unread
from project import SOURCE

SCRIPT = SOURCE / "baselines" / "nvbench" / "agree.py"
spec = importlib.util.spec_from_file_location("agree", SCRIPT)
agree = importlib.util.module_from_spec(spec)
spec.loader.exec_module(agree)

COLUMNS = ("mode,variant,element_type,n,reductio_s,reductio_ci_low_s,reductio_ci_high_s,outside_s,outside_mean_s,"
           "outside_spread,outside_processes,difference,allowed")


def ours(n, seconds, kind="f32", variant="cub/sum", mode="device", cache="cold_dirty", status="ok", settings=None,
         experiment="comparison"):
    settings = settings or {"cub/sum": "counts=auto", "thrust/reduce": "allocator=default"}[variant]
    point = dict(variant=variant, element_type=kind, n=n, settings=settings, timing_mode=mode, cache_state=cache,
                 status=status, experiment=experiment)
    return synthetic.timed(seconds, 0.1, **point) if seconds else synthetic.row(**point)


def graph(n, seconds, **more):
    return ours(n, seconds, **{"mode": "graph", "cache": "warm", "experiment": "limits", **more})


class Files:
    """Files of both sides in a folder; processes from outside are numbered as they come."""

    def __init__(self, folder):
        self.folder, self.arguments, self.nvbenches, self.loops = folder, [], [], []

    def reductio(self, *rows, name="comparison"):
        path = self.folder / f"{name}.csv"
        synthetic.write_csv(path, list(rows))
        self.arguments += [f"--{name}", str(path)]
        return self

    def nvbench(self, *states, axes=()):
        """One process; (type, n, median) or (type, n, median, mean). Beside them benchmarks that are not compared."""
        def summary(tag, seconds):
            value = {"name": "value", "type": "float64", "value": str(seconds)}
            return {"tag": f"nv/cold/time/gpu/{tag}", "data": [value]}

        states = [{
            "is_skipped": False,
            "axis_values": [{"name": "type", "value": kind}, {"name": "n", "value": str(n)}, *axes],
            "summaries": [summary("median", median), summary("mean", mean[0] if mean else median)],
        } for kind, n, median, *mean in states]
        states.append({"is_skipped": True})
        path = self.folder / f"{len(self.nvbenches) + 1}.json"
        others = [{"is_skipped": False, "axis_values": axes, "summaries": [summary("median", 1.0), summary("mean", 1.0)]}
                  for axes in ([], states[0]["axis_values"])]
        path.write_text(json.dumps({"benchmarks": [{"name": "cub_sum", "states": states},
                                                   *({"name": name, "states": [state]} for name, state in
                                                     zip(("empty_kernel", "cub_sum_each_turn"), others))]}))
        self.nvbenches.append(str(path))
        return self

    def loop(self, *rows):
        """One process; (mode, variant, n, seconds), of a graph those of each place."""
        path = self.folder / f"loops-{len(self.loops) + 1}.csv"
        placed = [(*fields, place, s) for *fields, seconds in rows
                  for place, s in (enumerate(seconds) if isinstance(seconds, tuple) else [("", seconds)])]
        path.write_text("mode,variant,element_type,n,place,time_s\n" +
                        "".join(f"{m},{v},f32,{n},{place},{s}\n" for m, v, n, place, s in placed))
        self.loops.append(str(path))
        return self

    def run(self):
        outside = [*(["--nvbench", *self.nvbenches] if self.nvbenches else []),
                   *(["--loops", *self.loops] if self.loops else [])]
        try:
            return agree.main([*self.arguments, *outside, "--out", str(self.folder / "agreement.csv")])
        except SystemExit as ended:
            return ended.code

    def table(self):
        self.run()
        return agree.pd.read_csv(self.folder / "agreement.csv")


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def test_points_within_the_bounds_agree(files, capsys):
    files.reductio(ours(1024, 1.05e-5), ours(2**22, 2.05e-5)).nvbench(("F32", 1024, 1e-5), ("F32", 2**22, 2e-5))
    assert files.run() == 0
    assert "device: 2 of 2 points agree; the largest difference is 5.00%" in capsys.readouterr().out
    lines = (files.folder / "agreement.csv").read_text().splitlines()
    assert lines[0] == COLUMNS and len(lines) == 3


@pytest.mark.parametrize("n, seconds", [(2**22, 1.04e-5), (2**22, 0.96e-5), (1024, 1.07e-5)])
def test_a_point_beyond_the_bounds_fails(files, n, seconds):
    assert files.reductio(ours(n, seconds)).nvbench(("F32", n, 1e-5)).run() == 1


def test_only_the_same_call_in_the_same_state_is_compared(files):
    files.reductio(ours(1024, 1e-5), ours(1024, 5e-5, kind="f64"), ours(1024, 9e-5, mode="end_to_end"),
                   ours(1024, 9e-5, cache="warm"), ours(1024, 9e-5, settings="counts=64"),
                   ours(2048, "", status="refused"))
    files.reductio(graph(1024, 9e-5, mode="device", cache="cold_dirty"), name="limits")
    files.nvbench(("F32", 1024, 1e-5), ("F64", 1024, 5e-5), ("U32", 1024, 1e-5), ("F32", 2048, 1e-5))
    table = files.table()
    assert list(zip(table.element_type, table.n, table.difference.round(9))) == [("f32", 1024, 0), ("f64", 1024, 0)]
    assert (table["mode"] == "device").all()


def test_of_the_places_that_a_loop_had_the_mean_counts_and_of_processes_the_median(files):
    files.reductio(graph(1024, 2e-6), name="limits")
    for least in (1e-6, 1.5e-6, 5e-6):
        files.loop(("graph", "cub/sum", 1024, (least, least, least + 1.5e-6)))
    table = files.table()
    assert list(table.outside_s.round(12)) == [2e-6] and list(table.outside_processes) == [3]
    (files.folder / "loops-1.csv").write_text("mode,variant,element_type,n,time_s\ngraph,cub/sum,f32,1024,9e-6\n")
    assert list(files.table().outside_s.round(12)) == [5.5e-6], "older files have no places"


def test_the_loops_check_graphs_and_what_ends_on_the_host(files, capsys):
    """Each is held against the row of its own experiment and cache state, and may differ by its own amount."""
    end_to_end = dict(mode="end_to_end")
    files.reductio(ours(1024, 2.08e-5, **end_to_end), ours(1024, 4e-5, variant="thrust/reduce", **end_to_end),
                   ours(1024, 9e-5, variant="thrust/reduce", settings="allocator=caching", **end_to_end))
    files.reductio(graph(1024, 1.02e-6), graph(1024, 9e-6, cache="cold_clean"), graph(4096, 1.04e-6),
                   ours(1024, 9e-5, experiment="limits", **end_to_end), name="limits")
    files.loop(("graph", "cub/sum", 1024, 1e-6), ("graph", "cub/sum", 4096, 1e-6), ("graph", "cub/sum", 16384, 1e-6),
               ("end_to_end", "thrust/reduce", 1024, 4e-5), ("end_to_end", "cub/sum", 1024, 2e-5))
    assert files.run() == 1
    said = capsys.readouterr().out
    assert "graph: 1 of 2 points agree; the largest difference is 4.00%" in said
    assert "end_to_end: 2 of 2 points agree; the largest difference is 4.00%" in said and "mean" not in said
    table = files.table()
    assert list(zip(table["mode"], table.variant, table.n, table.difference.round(9), table.allowed)) == [
        ("graph", "cub/sum", 1024, 0.02, 0.03), ("graph", "cub/sum", 4096, 0.04, 0.03),
        ("end_to_end", "cub/sum", 1024, 0.04, 0.05), ("end_to_end", "thrust/reduce", 1024, 0, 0.05)]


def test_of_several_processes_the_median_counts(files, capsys):
    files.reductio(ours(1024, 1.0e-5))
    for median, mean in ((2e-5, 1.2e-5), (1e-5, 1.2e-5), (1.01e-5, 1.2e-5)):
        files.nvbench(("F32", 1024, median, mean))
    assert files.run() == 0  # by the median; nvbench's mean stands beside
    assert ("1 of 1 points agree; the largest difference is 0.99%; with nvbench's mean 0 agree"
            in capsys.readouterr().out)
    row = files.table().iloc[0]
    assert (row.outside_s, row.outside_mean_s, row.outside_processes) == (1.01e-5, 1.2e-5, 3)
    assert row.outside_spread == pytest.approx(1)
    assert (row.reductio_ci_low_s, row.reductio_ci_high_s) == pytest.approx((0.9e-5, 1.1e-5))


@pytest.mark.parametrize("rows, why", [
    ([ours(1024, 3e-5), ours(1024, 1e-5)], "is of the same point as line 2"),
    ([ours(1024, 1e-5) | {"schema_version": 2}], "has schema version 2, this program reads 3"),
    ([ours(1024, -1e-5)], "not a finite number of 0 or more"),
])
def test_rows_that_no_reader_takes_are_refused(files, rows, why, capsys):
    assert files.reductio(*rows).nvbench(("F32", 1024, 1e-5)).run() == 1
    assert why in capsys.readouterr().err


def test_nothing_in_common_is_an_error(files, capsys):
    assert files.reductio(ours(1024, 1e-5)).nvbench(("F32", 2048, 1e-5)).run() == 1
    assert "in common" in capsys.readouterr().err


def test_files_of_another_cub_sum_are_an_error(files, capsys):
    """One with more axes has several states of a point, which are no processes."""
    files.reductio(ours(1024, 1e-5)).nvbench(("F32", 1024, 1e-5), axes=[{"name": "allocation", "value": "1"}])
    assert files.run() == 1
    assert "other axes" in capsys.readouterr().err


def test_both_sides_are_needed(files, capsys):
    for arguments in (["--comparison", "a.csv"], ["--nvbench", "1.json"]):
        with pytest.raises(SystemExit):
            agree.main(arguments)
        assert "give --comparison or --limits, and --nvbench or --loops" in capsys.readouterr().err


def test_where_nobody_reads_the_table_it_is_written_and_no_error_told(files, tmp_path):
    files.reductio(ours(1024, 1e-5)).nvbench(("F32", 1024, 1e-5))
    done = unread.run(SCRIPT, *files.arguments, "--nvbench", *files.nvbenches, "--out", tmp_path / "out.csv")
    assert done.returncode == 0 and done.stderr == ""
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 2


def test_what_is_committed_comes_from_what_lies_beside_it(tmp_path):
    folder = SOURCE / "experiments" / "results" / "nvidia-h200"
    loops = sorted(map(str, folder.glob("nvbench/loops-*.csv")))
    made = tmp_path / "agreement.csv"
    with pytest.raises(SystemExit):  # points differ
        agree.main(["--comparison", str(folder / "comparison.csv.gz"), "--limits", str(folder / "limits.csv"), "--nvbench",
                    *sorted(map(str, folder.glob("nvbench/*.json.gz"))), "--loops", *loops, "--out", str(made)])
    assert made.read_bytes() == (folder / "nvbench-agreement.csv").read_bytes()
