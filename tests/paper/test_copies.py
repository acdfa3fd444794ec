"""Copies to the host: the steps at which they arrive are found where there are some, and only there; every value is planted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, texts
from synthetic import timed

import results as rs
import verdicts as vd
from figures import copies as figure
from text import copies
from text.findings import ABSENT

LATE = dict(sm="", value=90.0, unit="us")  # of a copy that waited for something else


def folder_of(path, records=None) -> vd.Folder:
    synthetic.write_folder(path, [timed(1e-5, variant="mine/other", n=2**20)])
    if records is not None:
        synthetic.write_csv(path / "probes.csv", records)
    return vd.Folder(path)


@pytest.mark.parametrize("period, first", [(8, 15), (8.21, 15.8), (3, 10), (10, 12)])
def test_steps_are_found(tmp_path, period, first):
    found = copies.steps(copies.read(folder_of(tmp_path / "m", synthetic.copies(period, first, 600))))
    assert found.period == pytest.approx(period, abs=0.03) and found.first == pytest.approx(first, abs=0.15)
    assert found.near == 1


def test_what_is_late_is_near_no_step(tmp_path):
    records = synthetic.copies(8, 15, 400)
    for record in records:
        if record["quantity"] == copies.QUEUED_BEFORE and record["repeat"] % 10 == 0:
            record["value"] += 1.5 + record["repeat"] / 10 % 5
    found = copies.steps(copies.read(folder_of(tmp_path / "m", records)))
    assert found.period == pytest.approx(8, abs=0.05) and found.near == pytest.approx(0.9)


def test_one_late_copy_near_a_later_step_hides_nothing(tmp_path):
    records = synthetic.copies(8, 15, 400)
    late = [dict(records[0], quantity=quantity, repeat=400, value=us)
            for quantity, us in ((copies.CALL_TO_END, 40), (copies.QUEUED_BEFORE, 15 + 9 * 8 - 40))]
    found = copies.steps(copies.read(folder_of(tmp_path / "m", records + late)))
    assert found.period == pytest.approx(8, abs=0.03) and found.first == pytest.approx(15, abs=0.15)


def test_what_came_a_period_before_the_first_step_is_counted(tmp_path):
    records = synthetic.copies(8, 15, 400)
    early = [dict(records[0], quantity=quantity, repeat=400 + i, value=us) for i in range(3)
             for quantity, us in ((copies.CALL_TO_END, 3 - i / 4), (copies.QUEUED_BEFORE, 5.5 + i / 4))]  # late for their step
    results = rs.read_results(folder_of(tmp_path / "m", records + early).path)
    found = copies.steps(copies.read(vd.Folder(results.folder)))
    assert found.first == pytest.approx(15, abs=0.15) and found.earlier == 3
    assert copies.plain(results).endswith("by chance. Of these copies 3 came about a period before the first.")
    assert copies.finding(results).endswith("soonest after the copy's call meet an earlier such time is seen in 3 of them.")


@pytest.mark.parametrize("period, count", [(0, 600), (8, 29), (14, 600)])
def test_copies_without_steps_have_none(tmp_path, period, count):
    """Copies that come when the kernel ends, few copies, and steps so far apart that few were seen."""
    read = copies.read(folder_of(tmp_path / "m", synthetic.copies(period, 15, count)))
    assert copies.steps(read) is None
    if period == 0:
        results = rs.read_results(tmp_path / "m")
        assert copies.plain(results).endswith("from the kernel's end on; there is no period in when they arrive.")
        assert copies.finding(results).endswith("(5th to 95th percentile).")


def test_repeats_of_both_times_belong_together(tmp_path):
    records = [r for r in synthetic.copies(8, 15, 100) if not (r["quantity"] == copies.CALL_TO_END and r["repeat"] < 30)]
    read = copies.read(folder_of(tmp_path / "m", records[::-1]))
    assert len(read.queued) == len(read.before) == 70 and len(read.after) == len(read.no_copy) == 100
    steps = (read.arrived - 15) / 8
    assert np.allclose(steps, np.round(steps)), "of different repeats they would add up to anything"


def test_times_of_different_repeats_are_none(tmp_path):
    records = [r for r in synthetic.copies(8, 15, 100) if (r["quantity"] == copies.CALL_TO_END) == (r["repeat"] < 50)]
    assert copies.read(folder_of(tmp_path / "m", records)) is None


@pytest.mark.parametrize("without", [(copies.CALL_TO_END,), (copies.QUEUED_BEFORE,), (copies.QUEUED_AFTER,), (copies.NO_COPY,)])
def test_probes_of_before_are_none(tmp_path, without):
    folder = folder_of(tmp_path / "m", synthetic.copies(8, 15, 100, without=without))
    results = rs.read_results(folder.path)
    assert copies.read(folder) is None and figure.draw(folder) is None
    assert copies.plain(results) == "Neither was measured yet." and copies.finding(results) == ABSENT


def test_without_probes_there_is_nothing_to_tell(tmp_path):
    folder = folder_of(tmp_path / "m")
    assert copies.read(folder) is None and copies.finding(rs.read_results(folder.path)) == ABSENT
    (folder.path / "probes.csv").write_text("quantity,value\nx,1\n")
    with pytest.raises(rs.ResultsError, match="lacks the columns repeat, unit: run `reductio probe`"):
        copies.read(folder)


def test_the_paper_tells_the_steps(tmp_path):
    said = copies.finding(rs.read_results(folder_of(tmp_path / "m", synthetic.copies(8, 15, 1200)).path))
    assert r"it arrives 15.0\,\textmu{}s after its call or a multiple of 8.00\,\textmu{}s later" in said
    assert r"takes 4.43\,\textmu{}s to 11.5\,\textmu{}s from the kernel's end on" in said
    assert r"Awaiting a kernel takes 2.05\,\textmu{}s" in said and r"for after the end 6.50\,\textmu{}s" in said
    assert r"100\,\% of 1{,}200 copies came within 1.00\,\textmu{}s of one of these times, and 25\,\% would by chance" in said


def test_the_figure_shows_each_copy_but_the_late(tmp_path):
    records = synthetic.copies(8, 15, 400)
    records += [dict(LATE, quantity=q, repeat=400) for q in (copies.CALL_TO_END, copies.QUEUED_BEFORE)]
    folder = folder_of(tmp_path / "m", records)
    drawn = figure.draw(folder)
    axes = axes_of(drawn, "copies")
    by = {line.get_gid(): line for line in axes.get_lines()}
    read = copies.read(folder)
    assert np.array_equal(by["before"].get_xdata(), read.queued) and np.array_equal(by["before"].get_ydata(), read.before)
    assert by["after"].get_ydata()[0] == pytest.approx(6.5, abs=0.01)
    assert by["no_copy"].get_ydata()[0] == pytest.approx(2.05, abs=0.01)
    assert "400 of 401 copies are shown" in texts(drawn) and axes.get_ylim()[1] < 20
    drawn.canvas.draw()
    legible_and_inside({"copies": drawn})
    plt.close("all")
