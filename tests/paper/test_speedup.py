"""Speedups over CUB are those of the rows' own columns, and the first figure shows them."""

import pytest
from drawn import axes_of, legible_and_inside
from synthetic import GPU, NEWEST_CUB, SAVED, catalog_rows, gpu_rows, write_folder

import series as sr
import make
from report import results as rs
from figures import speedup as figure

SIZES = [2**20, 2**24, 2**28]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(tmp_path_factory.mktemp("speedup") / "m", gpu_rows(types=("f32",), sizes=SIZES))


def lines(folder) -> dict[str, tuple[sr.Series, sr.Series]]:
    """Each line of the figure by its group, and its base."""
    return {group: (series, base) for group, series, base in figure.fastest_of_each(rs.Results(folder), "f32", 2**28)}


def test_only_whole_reductions_are_compared_timed_alike(folder):
    compared = lines(folder)
    assert {group: series.mode for group, (series, _) in compared.items()} == {
        "squares": "end_to_end", "twopass": "device", "unroll": "end_to_end", "levels": "device", "multiblock": "device",
        "thrust": "end_to_end", "cublas": "device"}
    for series, base in compared.values():
        assert (series.mode, series.operation) == (base.mode, base.operation)
    assert compared["unroll"][0].variant == "unroll/unroll8-template"


def test_speedups_are_those_of_the_rows(tmp_path):
    """Twice what the times say; of few contexts where a row says so."""
    rows = [r | dict(speedup=2 * r["speedup"], speedup_enough="no" if r["n"] == 2**20 else "yes")
            if r["variant"].startswith("levels/") and r["speedup"] else r for r in gpu_rows(types=("f32",), sizes=SIZES)]
    drawn = figure.draw(rs.Results(write_folder(tmp_path / "m", rows)), "f32")
    line, = (line for line in axes_of(drawn, "speedup:device").get_lines() if line.get_label().startswith("levels/"))
    exact = [2 * (5e-6 + 4 * n / 4e12) / (5e-6 + 4 * n / 3.6e12) for n in SIZES]
    assert list(line.get_ydata()) == pytest.approx(exact) and "of slow calls their range" in drawn.texts[-1].get_text()


# ------------------------------------------------------------------------------------------------ the figure


@pytest.fixture(scope="module")
def drawn(folder):
    made = figure.draw(make.read_results(folder), "f32")
    made.draw_without_rendering()
    return made


def test_every_line_is_a_speedup_and_is_named_beside_it(drawn, folder):
    for series, base in lines(folder).values():
        axes = axes_of(drawn, f"speedup:{series.mode}")
        shown = {line.get_label(): dict(map(tuple, line.get_xydata())) for line in axes.get_lines()}
        exact = base.at(2**24)["time"] / series.at(2**24)["time"]
        assert shown[series.name][2**24] == pytest.approx(exact)
        assert {sr.short_name(series.variant), "CUB"} <= {t.get_text() for t in axes.texts}


def test_the_bands_are_the_intervals(drawn, folder):
    wanted = lines(folder)["levels"][0].ok
    bands = [c.get_paths()[0].vertices for c in axes_of(drawn, "speedup:device").collections]
    ends = {tuple(v) for end in ("low", "high") for v in zip(wanted["n"], wanted[f"speedup_{end}"])}
    assert any(ends <= {tuple(v) for v in band} for band in bands)


def test_the_times_that_the_speedups_are_over_stand_below(drawn):
    for gid, launch in (("base:device", 5e-6), ("base:end_to_end", 13e-6)):
        shown = {line.get_label(): dict(map(tuple, line.get_xydata())) for line in axes_of(drawn, gid).get_lines()}
        assert shown["cub/sum"][2**24] == pytest.approx(1e6 * (launch + 2**26 / 4e12))
    assert "read ceiling" not in shown  # of calls end to end there is none
    shown = {line.get_label(): dict(map(tuple, line.get_xydata())) for line in axes_of(drawn, "base:device").get_lines()}
    assert shown["an empty call"][2**24] == pytest.approx(2)
    assert shown["read ceiling"][2**24] == pytest.approx(1e6 * (4e-6 + 2**26 / 4.5e12))


def test_labels_do_not_overlap(drawn):
    for axes in drawn.axes:
        boxes = [t.get_window_extent() for t in axes.texts]
        assert not any(box.overlaps(other) for k, box in enumerate(boxes) for other in boxes[k + 1:]), axes.get_gid()


def with_newest_cub(path, gpu=NEWEST_CUB):
    rows = gpu_rows(types=("f32",), sizes=SIZES, gpu=GPU | gpu)
    return write_folder(path / "m", rows, catalog_rows(GPU | gpu))


def test_the_newest_cub_has_a_line_by_default_and_one_in_any_order(tmp_path, drawn):
    newest = figure.draw(make.read_results(with_newest_cub(tmp_path)), "f32")
    newest.draw_without_rendering()
    axes = axes_of(newest, "speedup:device")
    shown = {line.get_label(): line for line in axes.get_lines()}
    cub, one = (5e-6 + 2**26 / rate for rate in (4e12, 3.9e12))
    for word, time in (("run_to_run", one), ("not_guaranteed", one - SAVED)):
        assert shown[f"cub@3.5.0/sum [{word}]"].get_ydata()[1] == pytest.approx(cub / time)
    default, any_order = (shown[f"cub@3.5.0/sum [{word}]"] for word in ("run_to_run", "not_guaranteed"))
    assert default.get_color() == any_order.get_color() and shown["cublas/dot"].is_dashed() is False
    assert default.is_dashed() and any_order.is_dashed()
    assert default._unscaled_dash_pattern != any_order._unscaled_dash_pattern
    assert {"CUB", "CUB 3.5.0", "3.5.0 not_guaranteed"} <= {t.get_text() for t in axes.texts}
    test_labels_do_not_overlap(newest)
    legible_and_inside({"speedup": newest})
    for gid in ("speedup:device", "speedup:end_to_end"):  # the others are as without it
        labels = {line.get_label() for line in axes_of(newest, gid).get_lines()}
        others = {line.get_label() for line in axes_of(drawn, gid).get_lines()}
        assert {label for label in labels - others if not label.startswith("_")} == (
            {f"cub@3.5.0/sum [{word}]" for word in ("run_to_run", "not_guaranteed")} if gid.endswith("device") else set())


def test_of_the_newest_cub_what_was_measured_alone_keeps_its_name(tmp_path):
    for settings, label in (("run_to_run", "CUB 3.5.0"), ("not_guaranteed", "3.5.0 not_guaranteed")):
        folder = with_newest_cub(tmp_path / settings)
        rows = [r for r in gpu_rows(types=("f32",), sizes=SIZES, gpu=GPU | NEWEST_CUB)
                if r["variant"] != "cub@3.5.0/sum" or r["settings"].endswith(settings)]
        write_folder(folder, rows, catalog_rows(GPU | NEWEST_CUB))
        texts = {t.get_text() for t in axes_of(figure.draw(rs.Results(folder)), "speedup:device").texts}
        assert {t for t in texts if "3.5.0" in t} == {label}


def test_without_cub_there_is_no_figure(tmp_path):
    rows = [r for r in gpu_rows(types=("f32",), sizes=SIZES) if not r["variant"].startswith("cub")]
    with pytest.raises(rs.Absent):
        figure.draw(make.read_results(write_folder(tmp_path / "m", rows)), "f32")
