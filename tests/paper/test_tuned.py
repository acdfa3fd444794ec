"""The figure and the tables of the project's own sum, of planted rows; nothing without them."""

from contextlib import suppress

import pytest
import synthetic
from drawn import axes_of, line, texts
from project import SOURCE

import query
from facts import PAPER, facts
from report import results as rs
from report import tables as tb
from figures import tuned as figure
from text import numbers, tuned

SIZES = (2**12, 3000001, 2**20, 2**28)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return synthetic.write_folder(tmp_path_factory.mktemp("tuned") / "synthetic", tuned=synthetic.tuned_rows(SIZES))


@pytest.fixture(scope="module")
def drawn(folder):
    return figure.draw(rs.Results(folder))


def test_the_figure_has_each_way(drawn, folder):
    powers, others = sorted({*SIZES} - {3000001}), [3000001]
    for of, element_type, less in ((drawn, "f32", 1), (figure.draw(rs.Results(folder), "f64"), "f64", 0.9)):
        axes = axes_of(of, "speedup")
        for gid, mode, state in (("cold_dirty", "device", "cold_dirty"), ("warm", "device", "warm"), ("graph", "graph", "warm")):
            gain = synthetic.TUNED_GAINS[mode, state]
            for label, sizes in ((gid, powers), (f"{gid}, {figure.DRAWN}", others)):
                xy, bars = line(axes, label)
                assert [x for x, _ in xy] == sizes and [y for _, y in xy] == pytest.approx([gain * less] * len(sizes))
                low, high = bars[0].get_segments()[0][:, 1]
                assert (low, high) == pytest.approx((0.99 * gain * less, 1.01 * gain * less))
    assert [y for _, y in line(axes, "off")[0]] == pytest.approx([1.4] * 3)


def test_both_are_beside_the_read_ceiling(drawn, folder):
    table = rs.where_is(rs.Results(folder).experiment("tuned"), element_type="f32", timing_mode="device",
                        cache_state="cold_dirty", offset_elements=0).set_index(["variant", "n"])["share_of_read_ceiling"]
    for variant, label in (("tuned/sum", "tuned"), ("cub/sum", "CUB")):
        xy, _ = line(axes_of(drawn, "share"), label)
        assert len(xy) == 3 and all(table[variant, n] == share for n, share in xy)


def test_intervals_that_reach_below_1_are_counted(drawn, tmp_path):
    assert "All types: 0 of " in texts(drawn) and " intervals reach below 1, 0 lie below it as a whole." in texts(drawn)
    rows = synthetic.tuned_rows(SIZES[:1], ("f32",))
    rows = [r | dict(speedup=0.5, speedup_ci_low=0.4, speedup_ci_high=1.1) if r["timing_mode"] == "graph" and r["variant"] == "tuned/sum"
            else r for r in rows]
    drawn = figure.draw(rs.Results(synthetic.write_folder(tmp_path / "m", tuned=rows)))
    assert "1 of 5 intervals reach below 1, 0 lie below it as a whole." in texts(drawn)


def test_the_figure_leaves_out_data_of_other_magnitudes(tmp_path):
    def shown(name: str, rows: list[dict]) -> tuple:
        drawn = figure.draw(rs.Results(synthetic.write_folder(tmp_path / name, tuned=rows)))
        return texts(drawn), [(l.get_label(), l.get_xydata().tolist()) for axes in drawn.axes for l in axes.get_lines()]

    rows = synthetic.tuned_rows((2**16, 2**20, 2**22))
    planted = synthetic.of_other_magnitudes(rows)
    assert len(planted) == 72 and shown("both", rows + planted) == shown("random", rows)


def test_no_number_of_a_text_is_of_data_of_other_magnitudes(tmp_path):
    """Of the committed folder; all runs together have other data, too."""
    committed = rs.Results(SOURCE / "experiments" / "results" / "nvidia-h200")
    folder = tmp_path / "nvidia-h200"
    folder.mkdir()
    for path in committed.folder.iterdir():
        (folder / path.name).symlink_to(path)
    rows = tb.read_words(committed.file("tuned.csv")).to_dict("records")
    (folder / "tuned.csv.gz").unlink()
    synthetic.write_csv(folder / "tuned.csv.gz", rows + synthetic.of_other_magnitudes(rows))
    asked = [f.query for f in facts() if f.machine == "nvidia-h200"]
    asked += [q for *_, q in numbers.used((SOURCE / PAPER).read_text())]
    changed, planted = [], rs.Results(folder)
    for q in (q for q in asked if "tuned" in q and "of_all_runs" not in q):
        with suppress(rs.Absent):
            before = query.ask(committed, q.removeprefix("here: "))
            if repr(query.ask(planted, q.removeprefix("here: "))) != repr(before):
                changed.append(q)
    assert changed == [] and len(query.ask(planted, 'rows("tuned")')) > len(rows)


def test_what_was_not_measured_is_not_drawn(tmp_path):
    graphs = [r for r in synthetic.tuned_rows(SIZES[:1], ("f32",)) if r["timing_mode"] == "graph"]
    drawn = figure.draw(rs.Results(synthetic.write_folder(tmp_path / "graphs", tuned=graphs)))
    assert [a.get_gid() for a in drawn.axes] == ["speedup", "share"]
    of_cub = [r for r in synthetic.tuned_rows(SIZES[:1]) if r["variant"] == "cub/sum"]
    with pytest.raises(rs.Absent):
        figure.draw(rs.Results(synthetic.write_folder(tmp_path / "cub", tuned=of_cub)))


GOALS = """goal,what,quantity,element_type,timing_mode,cache_state,demanded,measured,low,high,points,at,at_n,verdict,set
sums,a goal,slower,all,all,all,0,1,,,960,,,missed,2026-11-23
sums,,least_speedup,all,all,all,0.99,0.997741,0.988373,1.0072,960,i32 device cold_dirty,4096,met,2026-11-23
sums,,undecided,all,all,all,0.05,0.0416667,,,960,,,met,2026-11-23
sums,,speedup,i32,graph,warm,,1.52359,,,80,,,,
cold,2^k + 1 and more,ceiling,all,all,all,0.95,,,,0,,,not measured,2026-11-23
host,thrust::reduce,over_empty_s,all,all,all,1.5e-06,1.26911e-06,1.04413e-06,1.57132e-06,12,f64 end_to_end warm,3000001,met,
"""


def test_goals_are_told_with_what_was_demanded_and_measured(tmp_path):
    for of in (tuned.goals_body, tuned.parts_body):
        with pytest.raises(rs.Absent, match="no goals.csv"):
            of(rs.Results(tmp_path))
    (tmp_path / "goals.csv").write_text(GOALS)
    results = rs.Results(tmp_path)
    assert tuned.goals_body(results) == [
        r"a goal & none slower; least speedup 0.99; at most 5\,\% undecided & 1 of 960 slower; "
        r"least 0.998 [0.988, 1.007] (i32 device cold dirty, $2^{12}$); 4.2\,\% undecided & missed \\",
        r"$2^{k}+ 1$ and more & mean at least 95\,\% of the read ceiling & not measured & not measured \\",
        r"\id{thrust::reduce} & within 1.5\,\textmu{}s & "
        r"1.27\,\textmu{}s above it [1.04, 1.57] (f64 end to end warm, 3,000,001) & met \\"]
    assert tuned.parts_body(results)[3] == r"in a graph, L2 warm & 1.524 & --- & --- \\"


def test_goals_of_which_nothing_was_measured_say_so(tmp_path):
    (tmp_path / "goals.csv").write_text("\n".join(GOALS.splitlines()[line] for line in (0, 5)) + "\n")
    assert tuned.goals_body(rs.Results(tmp_path))[0].endswith(r"& not measured & not measured \\")
