"""Speedups over CUB: the program's own rule, paired by round, and the figure that shows them."""

import csv
import gzip
import io
import math
import os
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.text import Text
from project import SOURCE
from synthetic import gpu_rows, write_folder, write_samples

import results as rs
import speedup
from figures import speedup as figure
from figures import style

BIN = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
SIZES = [2**20, 2**24, 2**28]


# ------------------------------------------------------------------------------------------------ the rule


@pytest.mark.parametrize("count, rank, enough", [
    (1, 1, False), (5, 1, False), (6, 1, True), (12, 3, True), (24, 7, True), (48, 17, True)])
def test_ranks_are_those_of_the_binomial_distribution(count, rank, enough):
    assert speedup.rank_of(count) == (rank, enough)


def test_the_rounds_of_one_allocation_are_one_cluster_unless_there_are_too_few():
    ends = lambda clusters: [(c.start, c.stop) for c in clusters]
    assert ends(speedup.clusters_of([0, 0, 1, 1], 2)) == [(0, 2), (2, 4)]
    assert ends(speedup.clusters_of([0, 1, 0], 3)) == [(0, 1), (1, 2), (2, 3)]  # back on it: a run of its own
    assert ends(speedup.clusters_of([0] * 5, 2)) == [(0, 2), (2, 5)]
    assert ends(speedup.clusters_of([0, 0, 1], 12)) == [(0, 1), (1, 2), (2, 3)]  # no more than there are rounds


def test_the_rule_is_the_programs(tmp_path):
    """The program compares three loops of the CPU; from the samples that it kept, this rule gives its numbers."""
    if not BIN.exists():
        pytest.skip("the program is not built")
    done = subprocess.run([BIN, "compare", "host/plain", "host/unroll8", "eigen/sum", "--device", "cpu", "--types", "f32",
                           "--sizes", "2^10,2^14", "--max-samples", "60", "--separately", "--save-baseline", "kept",
                           "--out", tmp_path, "--csv"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored = next(tmp_path.rglob("compare.csv"))
    with stored.open(newline="") as file:
        resolution = {(r["variant"], r["n"]): float(r["timer_resolution_s"] or 0)
                      for r in csv.DictReader(file)}
    rounds = {}
    with gzip.open(stored.with_name("compare.samples.csv.gz"), "rt", newline="") as file:
        for r in csv.DictReader(file):
            if r["voided"] != "yes":
                rounds.setdefault((r["variant"], r["n"]), {})[int(r["round"])] = (float(r["time_s"]), int(r["allocation"]))
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 4
    for row in rows:
        base, mine = ((name, row["n"]) for name in (row["base"], row["variant"]))
        common = sorted(set(rounds[base]) & set(rounds[mine]))
        assert len(common) == int(row["n_rounds"])
        ratio, low, high, _ = speedup.paired([rounds[base][k][0] for k in common], [rounds[mine][k][0] for k in common],
                                             [rounds[base][k][1] for k in common], resolution[base], resolution[mine])
        # any machine: the same rounds, computed twice
        assert (ratio, low, high) == pytest.approx([float(row[c]) for c in ("ratio", "ratio_low", "ratio_high")])


def test_no_interval_is_narrower_than_the_resolution():
    ratio, low, high, _ = speedup.paired([2.0] * 24, [1.0] * 24, list(range(24)), 0.02, 0.01)
    assert ratio == pytest.approx(2)
    assert math.log(high / low) == pytest.approx(0.02 / 2 + 0.01 / 1)


# ----------------------------------------------------------------------------------------------- of a folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_samples(write_folder(tmp_path_factory.mktemp("r") / "m", gpu_rows(types=("f32",), sizes=SIZES)))


def lines(results):
    return {group: (series, base) for group, series, base in speedup.fastest_of_each(results, "f32", SIZES[-1])}


def test_drift_that_both_share_is_in_neither_the_speedup_nor_its_interval(folder):
    results = rs.read_results(folder)
    series, base = lines(results)["multiblock"]
    found = speedup.over(results, series, base).set_index("n").loc[2**24]
    exact = (5e-6 + 2**26 / 4e12) / (4.2e-6 + 2**26 / 3.2e12)
    assert found["ratio"] == pytest.approx(exact) and found["enough"]
    assert found["high"] / found["low"] < 1.005  # the clock's resolution; the times themselves drift by half
    assert found["low"] < exact < found["high"]


def test_rounds_of_another_run_are_not_paired(folder, tmp_path):
    rows = list(csv.DictReader((folder / "comparison.csv").open(newline="")))
    for row in rows:
        if row["variant"] == "multiblock/last-block-warp" and row["n"] == str(2**24):
            row["run_id"] = "another"
    results = rs.read_results(write_samples(write_folder(tmp_path / "m", rows)))
    assert set(speedup.over(results, *lines(results)["multiblock"])["n"]) == {2**20, 2**28}


def test_without_samples_it_is_the_widest_ratio_that_the_medians_allow(tmp_path):
    results = rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES)))
    assert not speedup.are_paired(results)
    found = speedup.over(results, *lines(results)["multiblock"]).set_index("n").loc[2**24]
    assert found["high"] / found["ratio"] == pytest.approx(1.01 / 0.99)


def test_only_whole_reductions_are_compared_timed_alike(folder):
    found = lines(rs.read_results(folder))
    assert {group: series.mode for group, (series, _) in found.items()} == {
        "squares": "end_to_end", "twopass": "device", "unroll": "end_to_end", "levels": "device", "multiblock": "device",
        "thrust": "end_to_end", "cublas": "device"}
    for series, base in found.values():
        assert (series.mode, series.operation) == (base.mode, base.operation)
    assert found["unroll"][0].variant == "unroll/unroll8-template"


def test_damaged_samples_are_one_clear_line(folder, tmp_path):
    made = write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES))
    (made / "comparison.samples.csv.gz").write_bytes((folder / "comparison.samples.csv.gz").read_bytes()[:-9])
    with pytest.raises(rs.ResultsError, match="cannot be read as raw samples"):
        results = rs.read_results(made)
        speedup.over(results, *lines(results)["multiblock"])


# ------------------------------------------------------------------------------------------------ the figure


@pytest.fixture(scope="module")
def drawn(folder):
    made = figure.draw(rs.read_results(folder), "f32")
    made.canvas.draw()
    yield made
    plt.close(made)


def axes_of(drawn, gid):
    return next(a for a in drawn.axes if a.get_gid() == gid)


def test_every_line_is_a_speedup_and_is_named_beside_it(drawn, folder):
    results = rs.read_results(folder)
    shown = {line.get_label(): dict(map(tuple, line.get_xydata())) for line in axes_of(drawn, "speedup").get_lines()}
    said = {t.get_text() for t in axes_of(drawn, "speedup").texts}
    for series, base in lines(results).values():
        exact = base.at(2**24)["time"] / series.at(2**24)["time"]
        assert shown[series.name][2**24] == pytest.approx(exact)
        assert series.variant + (", end to end" if series.mode == "end_to_end" else "") in said
    assert "CUB" in said


def test_the_bands_are_the_intervals(drawn, folder):
    results = rs.read_results(folder)
    wanted = speedup.over(results, *lines(results)["levels"])
    bands = [c.get_paths()[0].vertices for c in axes_of(drawn, "speedup").collections]
    assert any({tuple(v) for v in zip(wanted["n"], wanted["low"])} <= {tuple(v) for v in band} and
               {tuple(v) for v in zip(wanted["n"], wanted["high"])} <= {tuple(v) for v in band} for band in bands)


def test_the_times_that_the_speedups_are_over_stand_below(drawn):
    shown = {line.get_label(): dict(map(tuple, line.get_xydata())) for line in axes_of(drawn, "base").get_lines()}
    assert shown["cub/sum"][2**24] in (pytest.approx(1e6 * (5e-6 + 2**26 / 4e12)),
                                       pytest.approx(1e6 * (13e-6 + 2**26 / 4e12)))
    assert shown["an empty call"][2**24] == pytest.approx(2)
    assert shown["only reading the input"][2**24] == pytest.approx(1e6 * (4e-6 + 2**26 / 4.5e12))


def test_labels_are_legible_inside_the_figure_and_do_not_overlap(drawn):
    inside = drawn.bbox.padded(1)
    for gid in ("speedup", "base"):
        boxes = [t.get_window_extent() for t in axes_of(drawn, gid).texts]
        for k, box in enumerate(boxes):
            assert inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1
            assert not any(box.overlaps(other) for other in boxes[k + 1:])
    assert all(t.get_fontsize() >= 7 for t in drawn.findobj(Text) if t.get_text())
    for t in drawn.texts:
        box = t.get_window_extent()
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1, t.get_text()


def test_labels_are_moved_apart_and_keep_their_order():
    placed = figure.spread([0.5, 0.51, 0.1, 0.99], 0.1, 0, 1)
    assert placed[2] == pytest.approx(0.1) and placed[2] < placed[0] < placed[1] < placed[3]
    assert placed[1] - placed[0] == pytest.approx(0.1) and placed[3] == pytest.approx(0.99)
    assert figure.spread([0.0, 0.0, 0.0], 0.2, 0, 1) == pytest.approx([0.0, 0.2, 0.4])


def test_without_cub_there_is_no_figure(tmp_path):
    rows = [r for r in gpu_rows(types=("f32",), sizes=SIZES) if not r["variant"].startswith("cub")]
    assert figure.draw(rs.read_results(write_folder(tmp_path / "m", rows)), "f32") is None
