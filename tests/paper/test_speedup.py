"""Speedups over CUB: the program's own rule, paired by round, and the figure that shows them."""

import csv
import io
import math
import os
import re
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.text import Text
from project import SOURCE
from synthetic import gpu_rows, timed, write_folder, write_samples

import results as rs
import samples
import speedup
from figures import speedup as figure

BIN = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
SIZES = [2**20, 2**24, 2**28]


# ------------------------------------------------------------------------------------------------ the rule


@pytest.mark.parametrize("count, rank, enough", [
    (1, 1, False), (5, 1, False), (6, 1, True), (8, 4, True), (12, 14, True), (24, 82, True)])
def test_ranks_are_those_of_the_signed_rank_tables(count, rank, enough):
    assert speedup.rank_of(count) == (rank, enough)


@pytest.mark.parametrize("freedom, confidence, t", [
    (1, 0.95, 12.706), (2, 0.95, 4.303), (3, 0.95, 3.182), (10, 0.999, 4.587), (11, 0.95, 2.201), (11, 0.999, 4.437)])
def test_students_t_is_that_of_its_tables(freedom, confidence, t):
    assert speedup.students_t(freedom, confidence) == pytest.approx(t, abs=6e-4)


def test_where_ranks_cannot_have_the_confidence_the_range_is_stretched():
    values = [float(v) for v in (1, 2, 3, 4, 5, 6)]
    assert speedup.centre_of(values) == (3.5, 1, 6, True)  # 6 values: 0.969
    middle, low, high, enough = speedup.centre_of(values, 0.999)
    assert (middle, enough) == (3.5, True)
    # 6.869 and 2.967 are Student's t of 5 degrees, of 0.999 and of what six ranks have.
    assert (low, high) == pytest.approx((3.5 - 2.5 * 6.869 / 2.967, 3.5 + 2.5 * 6.869 / 2.967), rel=2e-3)
    assert speedup.centre_of(values[:5], 0.999) == (3, 1, 5, False)


def test_the_rounds_of_one_allocation_are_one_cluster_unless_there_is_no_other():
    ends = lambda clusters: [(c.start, c.stop) for c in clusters]
    assert ends(speedup.clusters_of([0, 0, 1, 1], 2)) == [(0, 2), (2, 4)]
    assert ends(speedup.clusters_of([], 6)) == []
    assert ends(speedup.clusters_of([0, 1, 0], 3)) == [(0, 1), (1, 2), (2, 3)]  # back on it: a run of its own
    assert ends(speedup.clusters_of([0] * 5, 2)) == [(0, 2), (2, 5)]
    assert ends(speedup.clusters_of([0, 0], 6)) == [(0, 1), (1, 2)]  # no more than there are rounds
    assert ends(speedup.clusters_of([0, 0, 1], 6)) == [(0, 2), (2, 3)]  # too few, and not cut


def test_a_cluster_gives_its_mean_without_a_tenth_at_either_end():
    assert speedup.trimmed_mean([1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000]) == pytest.approx(4.5)
    assert speedup.trimmed_mean([100, 3, 1, 2]) == pytest.approx((0.6 + 2 + 3 + 60) / 3.2)


def test_the_example_of_the_results_recomputes_a_rows_speedup(monkeypatch, capsys):
    folder = SOURCE / "experiments" / "results"
    (example,) = re.findall(r"^```python\n(.*?)^```", (folder / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(folder)
    exec(example, {})
    found = [float(word) for word in capsys.readouterr().out.split()]
    of = "timing_mode == 'device' and cache_state == 'cold_dirty' and element_type == 'f32' and n == 2**24"
    row, = pd.read_csv(folder / "nvidia-h200" / "modern.csv").query(f"{of} and variant == 'modern/fan-in'").to_dict("records")
    # Rows have nine digits.
    assert found == pytest.approx([row["speedup"], row["speedup_ci_low"], row["speedup_ci_high"]], rel=1e-8)
    monkeypatch.undo()


@pytest.mark.parametrize("clusters, rank", [(12, 14), (24, 82)])
def test_the_ranks_that_the_documentation_names_are_the_rules(clusters, rank):
    assert speedup.rank_of(clusters) == (rank, True)
    text = (SOURCE / "docs" / "measuring.md").read_text()
    assert re.search(rf"of {clusters} (clusters k|it) is {rank}\b", text)


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


def test_an_interval_of_more_confidence_is_of_the_samples_and_wider(folder, tmp_path):
    series, base = lines(rs.read_results(folder))["multiblock"]
    plain, wide = (speedup.over(rs.read_results(folder), series, base, c).set_index("n").loc[2**24] for c in (0.95, 0.99999))
    assert wide["ratio"] == plain["ratio"] and wide["enough"]
    assert wide["low"] <= plain["low"] and wide["high"] >= plain["high"]
    bare = write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES))
    assert not speedup.over(rs.read_results(bare), *lines(rs.read_results(bare))["multiblock"], 0.99)["enough"].any()


def test_rounds_of_another_run_are_not_paired(folder, tmp_path):
    rows = list(csv.DictReader((folder / "comparison.csv").open(newline="")))
    for row in rows:
        if row["variant"] == "multiblock/last-block-warp" and row["n"] == str(2**24):
            row["run_id"] = "another"
    results = rs.read_results(write_samples(write_folder(tmp_path / "m", rows)))
    assert set(speedup.over(results, *lines(results)["multiblock"])["n"]) == {2**20, 2**28}


def two_of_each(tmp_path, **apart):
    """CUB and one kernel, each with two values of the columns named: with the second both take ten times as long, and
    the kernel is twice as fast as CUB instead of half as fast."""
    rows = []
    for k in (0, 1):
        mine = {column: values[k] for column, values in apart.items()}
        rows += [timed(t, variant=v, n=2**20, **mine) for v, t in (("cub/sum", 10e-6 * 10**k),
                                                                   ("mine/x", (20e-6, 50e-6)[k]))]
    return rs.read_results(write_samples(write_folder(tmp_path / "m", rows)))


@pytest.mark.parametrize("column, values", [("seed", (1, 2**64 - 1)), ("caller", ("", "first")),
                                            ("context", ("", "2")), ("offset_elements", (0, 1))])
def test_a_speedup_is_over_the_base_of_the_same_seed_caller_context_and_start(tmp_path, column, values):
    results = two_of_each(tmp_path, **{column: values})
    found = [s for caller, start in (("", 0), ("first", 0), ("", 1))
             for s in rs.series(results.comparison, device="cuda", operation="sum", element_type="f32", mode="device",
                                caller=caller, offset_elements=start)]
    kernels = {getattr(s, column): s for s in found if s.variant == "mine/x"}
    assert set(kernels) == set(values)
    ratios = []
    for value in values:
        base = rs.base_series(found, "sum", kernels[value])
        assert getattr(base, column) == value
        ratios.append(speedup.at(results, kernels[value], base, 2**20)["ratio"])
        other = rs.base_series(found, "sum", kernels[next(v for v in values if v != value)])
        assert len(speedup.over(results, kernels[value], other)) == 0
    assert ratios == pytest.approx([0.5, 2.0])


def test_samples_of_an_older_program_lack_what_was_added_later(tmp_path):
    write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES))
    results = rs.read_results(write_samples(tmp_path / "m", without=rs.SAMPLES.optional))
    series, base = lines(results)["multiblock"]
    found = speedup.at(results, series, base, 2**24)
    assert found["high"] / found["low"] < 1.005  # paired: the times themselves drift by half


def test_device_parts_are_paired_with_each_other_and_with_nothing_else(folder):
    results = rs.read_results(folder)
    which = dict(device="cuda", operation="sum", element_type="f32")
    parts = {s.variant: s for s in rs.series(results.comparison, mode="device_part", **which)}
    found = speedup.at(results, parts["unroll/unroll8"], parts["unroll/unroll4"], 2**28)
    assert found["ratio"] == pytest.approx((5e-6 + 2**30 / 2.1e12) / (5e-6 + 2**30 / 2.6e12))
    assert found["high"] / found["low"] < 1.005
    base = rs.base_series(rs.series(results.comparison, mode="device", **which), "sum")
    medians = speedup.at(results, parts["unroll/unroll8"], base, 2**28)
    assert medians["ratio"] == pytest.approx(base.at(2**28)["time"] / parts["unroll/unroll8"].at(2**28)["time"])


def test_device_parts_have_the_resolution_of_the_devices_clock(folder, tmp_path):
    rows = [row | dict(timer_resolution_s=1e-6 if row["timing_mode"] == "device" else 1e-9)
            for row in csv.DictReader((folder / "comparison.csv").open(newline=""))]
    table = rs.read_results(write_folder(tmp_path / "m", rows)).comparison
    part, = [s for s in rs.series(table, mode="device_part", device="cuda", operation="sum", element_type="f32")
             if s.variant == "unroll/unroll8"]
    assert set(part.ok["resolution"]) == {1e-6}


def test_without_samples_the_errors_of_the_medians_are_combined_as_independent_ones(tmp_path):
    results = rs.read_results(write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES)))
    assert not speedup.are_paired(results)
    found = speedup.over(results, *lines(results)["multiblock"]).set_index("n").loc[2**24]
    up, down = math.log(1.01), -math.log(0.99)  # of either median
    assert math.log(found["high"] / found["ratio"]) == pytest.approx(math.hypot(up, down))
    assert speedup.apart((2, 1, 3), (1, 0, 2))[1:] == (pytest.approx(2 / math.exp(math.hypot(math.log(2), math.log(2)))),
                                                       math.inf)


def with_columns(rows, base_settings="count=32", **changed):
    """The rows with the program's speedups over CUB, each twice as large as what the times say, +-3 %."""
    times = {(r["operation"], r["timing_mode"], r["n"]): r["time_median_s"] for r in rows
             if r["variant"] in rs.BASE.values() and r["settings"] == base_settings and r["status"] == "ok"}
    out = []
    for r in rows:
        cub = times.get((r["operation"], r["timing_mode"], r["n"]))
        if cub is None or r["status"] != "ok":
            out.append(r)
            continue
        own = r["variant"] == rs.BASE[r["operation"]] and r["settings"] == base_settings
        ratio = 1 if own else 2 * cub / r["time_median_s"]
        out.append(r | dict(speedup_reference=rs.BASE[r["operation"]], speedup=ratio,
                            speedup_ci_low=ratio if own else 0.97 * ratio,
                            speedup_ci_high=ratio if own else 1.03 * ratio) | ({} if own else changed))
    return out


def test_speedups_that_the_rows_have_are_taken_as_they_are(tmp_path):
    rows = gpu_rows(types=("f32",), sizes=SIZES)
    made = write_samples(write_folder(tmp_path / "m", with_columns(rows)))
    results = rs.read_results(made)
    for series, base in lines(results).values():
        found = speedup.over(results, series, base)
        assert list(found["n"]) == SIZES and found["enough"].all()
        for point in found.itertuples():
            exact = 2 * base.at(point.n)["time"] / series.at(point.n)["time"]
            assert (point.ratio, point.low, point.high) == pytest.approx((exact, 0.97 * exact, 1.03 * exact))
    (made / "comparison.samples.csv.gz").unlink()
    without = rs.read_results(made)
    assert speedup.are_paired(without)
    pd.testing.assert_frame_equal(speedup.over(without, *lines(without)["levels"]),
                                  speedup.over(results, *lines(results)["levels"]))
    # Whose intervals are ranges is in their reason.
    few = rs.read_results(write_folder(tmp_path / "few", with_columns(rows, speedup_enough="no")))
    assert not speedup.over(few, *lines(few)["levels"])["enough"].any()


def test_speedups_of_rows_are_for_no_other_base_and_for_no_part_of_a_call(tmp_path):
    rows = gpu_rows(types=("f32",), sizes=SIZES)
    other = [r | dict(settings="count=64") for r in rows if r["variant"] == "cub/sum"]
    results = rs.read_results(write_samples(write_folder(tmp_path / "m", with_columns(rows + other))))
    which = dict(device="cuda", operation="sum", element_type="f32")
    found = {(s.variant, s.settings): s for s in rs.series(results.comparison, mode="device", **which)}
    mine, parts = found["multiblock/last-block-warp", "grid=auto"], rs.series(results.comparison, mode="device_part", **which)
    plain = speedup.at(results, mine, found["cub/sum", "count=64"], 2**24)
    assert plain["ratio"] == pytest.approx(found["cub/sum", "count=64"].at(2**24)["time"] / mine.at(2**24)["time"])
    doubled = speedup.at(results, mine, found["cub/sum", "count=32"], 2**24)
    assert doubled["ratio"] == pytest.approx(2 * plain["ratio"])
    of_parts = {s.variant: s for s in parts}
    part = speedup.at(results, of_parts["unroll/unroll8"], found["cub/sum", "count=32"], 2**24)
    assert part["ratio"] == pytest.approx(found["cub/sum", "count=32"].at(2**24)["time"]
                                          / of_parts["unroll/unroll8"].at(2**24)["time"])


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
