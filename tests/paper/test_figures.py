"""The figures show what the CSV says: every variant, only ok points, one timing mode a panel, legible at print size."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawn import axes_of, line, texts
from synthetic import GPU, LIMITS, catalog_rows, cpu_rows, gpu_rows, limits_rows, row, timed, write_folder

import make
from report import results as rs
from report import style
from figures import cpu, limits, throughput

SIZES = [2**k for k in range(18, 29, 2)]
FEW = {v: GPU[v] for v in ("levels/naive", "multiblock/two-launch", "multiblock/last-block", "cub/sum")}


def read(folder, rows, **more):
    return make.read_results(write_folder(folder, rows, **more))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make.read_results(write_folder(tmp_path_factory.mktemp("r") / "m", gpu_rows(types=("f32",), sizes=SIZES),
                                        cpu=cpu_rows(types=("f32",), sizes=SIZES), limits=limits_rows()))


@pytest.fixture(scope="module")
def drawn(results):
    """The figures of one folder, laid out once for all tests that only look at them."""
    made = {"throughput": throughput.draw(results, "f32"), "cpu": cpu.draw(results, "f32"), "limits": limits.draw(results)}
    for figure in made.values():
        figure.draw_without_rendering()
    return made


# --------------------------------------------------------------------------------------------- what is shown


def test_every_document_has_a_panel_with_all_its_variants(drawn):
    for group in rs.DOCUMENTS:
        axes = axes_of(drawn["throughput"], f"throughput:{group}")
        labels = {l.get_label().split(" [")[0] for l in [*axes.containers, *axes.get_lines()]}
        assert {v for v in GPU if v.startswith(group)} <= labels
        # A kernel that finishes on the host has no device time.
        assert group == "unroll" or group == "squares" or not any("[host]" in c.get_label() for c in axes.containers)


def test_it_is_the_share_of_the_read_ceiling_with_its_interval(drawn):
    axes = axes_of(drawn["throughput"], "throughput:multiblock")
    xy, intervals = line(axes, "multiblock/two-launch")
    share = (4e-6 + 2**26 / 4.5e12) / (6e-6 + 2**26 / 3e12)
    assert dict(map(tuple, xy))[2**24] == pytest.approx(share)
    segment = intervals[0].get_segments()[[n for n, _ in xy].index(2**24)]
    assert (segment[0][1], segment[1][1]) == (pytest.approx(share / 1.01), pytest.approx(share / 0.99))
    assert "cub/sum" in {c.get_label() for c in axes.containers} and axes.get_yscale() == "log"
    floor, = (dict(map(tuple, l.get_xydata())) for l in axes.get_lines() if l.get_gid() == "floor")
    assert floor[2**24] == pytest.approx((4e-6 + 2**26 / 4.5e12) / 2e-6)


@pytest.fixture(scope="module")
def unusual(tmp_path_factory):
    """The figure of a folder with the user's own variants, and points that are not ok."""
    rows = gpu_rows(types=("f32",), sizes=SIZES, gpu=FEW)
    rows += [timed(1e-6 * k, variant="mine/fancy", n=n) for k, n in enumerate(SIZES, 1)]
    rows += [timed(1e-6, variant="levels/brand-new", settings="finish=atomic", n=n) for n in SIZES]
    rows += [timed(1e-5, variant="mine/small", n=2**24), row(variant="mine/small", n=2**28, status="refused", reason="too big")]
    victim = next(r for r in rows if r["variant"] == "multiblock/two-launch" and r["n"] == 2**22)
    victim.update(row(variant=victim["variant"], n=2**22, settings=victim["settings"], status="wrong", reason="no"))
    for key in ("time_median_s", "time_ci_low_s", "time_ci_high_s"):
        victim[key] = 1e-9  # times beside a status that is not ok must not be believed
    r = read(tmp_path_factory.mktemp("r") / "m", rows, catalog=catalog_rows(FEW | {"levels/brand-new": FEW["levels/naive"]}))
    return throughput.draw(r, "f32")


def test_a_new_variant_is_drawn_without_an_edit(unusual):
    xy, _ = line(axes_of(unusual, "throughput:your variants"), "mine/fancy")
    assert len(xy) == len(SIZES)
    line(axes_of(unusual, "throughput:levels"), "levels/brand-new [atomic]")
    assert "mine/fancy" in texts(unusual) and "brand-new" in texts(unusual)


def test_what_is_not_ok_is_counted_and_not_drawn_nor_joined_across(unusual):
    xy, _ = line(axes_of(unusual, "throughput:multiblock"), "multiblock/two-launch")
    assert np.isnan(dict(map(tuple, xy))[2**22])
    assert "1 refused, 1 wrong" in texts(unusual)


def test_modes_are_never_mixed_unsaid(drawn):
    # twopass/template-unrolled and unroll/unroll8-template have page-locked memory, too; no document does.
    assert "pinned" not in texts(drawn["throughput"]) and "page-locked" not in texts(drawn["throughput"])
    titles = {a.get_gid(): a.get_title(loc="left") for a in drawn["throughput"].axes}
    assert "device part only" in titles["throughput:squares"] and "device part only" in titles["throughput:unroll"]
    for group in ("twopass", "levels", "multiblock"):
        assert "device time" in titles[f"throughput:{group}"] and "part" not in titles[f"throughput:{group}"]


def test_l2_and_the_documents_own_size_are_marked(drawn):
    axes = axes_of(drawn["throughput"], "throughput:unroll")
    vertical = [l.get_xdata()[0] for l in axes.get_lines() if len(l.get_xdata()) == 2 and len(set(l.get_xdata())) == 1]
    assert 50 * 2**20 / 4 in vertical and 2**24 in vertical
    assert {"n that fills L2, 50 MiB", "document's own n", "an empty call"} == {
        t.get_text() for legend in drawn["throughput"].legends for t in legend.get_texts()}


# ----------------------------------------------------------------------------------------------- limits


def test_limits_show_every_state_that_has_a_read_ceiling(drawn):
    limits_figure = drawn["limits"]
    for gid in ("rate", "time", "share"):
        shown = {l.get_label() for l in axes_of(limits_figure, f"limits:{gid}").get_lines()}
        shown |= {c.get_label() for c in axes_of(limits_figure, f"limits:{gid}").containers}
        for mode in ("device", "graph"):
            for state in ("cold_clean", "cold_dirty", "warm"):
                assert (f"{mode} {state}" in shown) == ((mode, state) in LIMITS), (gid, mode, state)
    launch, bandwidth, floor = LIMITS["graph", "warm"]
    read = launch + 2**26 / bandwidth
    at = {gid: dict(map(tuple, line(axes_of(limits_figure, f"limits:{gid}"), "graph warm")[0])) for gid in
          ("rate", "time", "share")}
    assert at["rate"][2**24] == pytest.approx(2**26 / read / 1e12)
    assert at["time"][2**24] == pytest.approx(1e6 * read)
    assert at["share"][2**24] == pytest.approx(1 / 1.1)
    floors, _ = line(axes_of(limits_figure, "limits:time"), "graph warm floor")
    assert set(floors[:, 1]) == {1e6 * floor}
    xy, intervals = line(axes_of(limits_figure, "limits:share"), "device warm")
    assert intervals[0].get_segments()[0][0][1] == pytest.approx(1 / 1.1 / 1.01)  # the interval of CUB's time
    said = texts(limits_figure)
    assert "theoretical peak, 5.00 TB/s" in said and "n that fills L2, 50 MiB" in said
    assert "Points not drawn: 21 refused." in said and "graph replay, L2 cold and clean" in said


# --------------------------------------------------------------------------------------------------- CPU


def test_cpu_lines_in_another_cache_state_say_so_and_samples_of_a_busy_machine(drawn, tmp_path):
    rows = cpu_rows(types=("f32",), sizes=SIZES)
    for r in rows:
        if r["variant"] == "host/recursive":
            r["cache_state"] = "cold_dirty"
        if r["variant"] == "host/plain":
            r["time_p95_s"] = 2.1 * r["time_min_s"]
    figure = cpu.draw(read(tmp_path / "m", None, cpu=rows), "f32")
    assert texts(figure).count("Synthetic CPU: sum of f32, end to end, warm cache") == 1
    busy = sum(r["variant"] == "host/plain" for r in rows)
    assert f"The machine was busy: at {busy} of {len(rows)} points" in texts(figure)
    assert "busy" not in texts(drawn["cpu"])
    ticks = [t.get_text() for t in axes_of(figure, "cpu:levels").get_xticklabels()]
    assert ticks == ["plain", "recursive\n(cold cache)", "unroll2", "unroll4", "unroll8"]


def test_cpu_figure_shows_loops_by_level_and_each_librarys_fastest(drawn):
    axes = axes_of(drawn["cpu"], "cpu:levels")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["plain", "recursive", "unroll2", "unroll4", "unroll8"]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["-O0", "-O2", "-O3", "-O3 -ffast-math"]
    assert len(axes.patches) == 20
    labels = {t.get_text() for t in axes_of(drawn["cpu"], "cpu:lines").texts}
    assert {l.partition(" ")[0].partition("/")[0] for l in labels} == {"eigen", "host", "openmp", "std", "thrust"}
    # The fastest level, by the synthetic times, though only -O2 has the largest sizes.
    assert {l.partition(" ")[2] for l in labels if l.startswith("host/")} == {"-O3 -ffast-math"}


def test_without_a_read_ceiling_or_rows_of_the_type_there_is_no_figure(results, tmp_path):
    without = dict(read_time_s="", launch_floor_s="", share_of_read_ceiling="")
    r = read(tmp_path / "m", [r | without for r in gpu_rows(types=("f32",), sizes=SIZES, gpu=FEW)],
             limits=[r | without for r in limits_rows(SIZES)])
    assert throughput.draw(r, "f32") is limits.draw(r) is throughput.draw(results, "f64") is cpu.draw(results, "f64") is None


# ------------------------------------------------------------------------------------------------- looks


def test_legends_cover_no_data_and_not_each_other(drawn):
    for name, figure in drawn.items():
        boxes = [l.get_window_extent() for l in [*figure.legends, *(a.get_legend() for a in figure.axes)] if l]
        others = [a.get_window_extent() for a in figure.axes]
        assert boxes and not any(box.overlaps(o) for k, box in enumerate(boxes) for o in [*others, *boxes[k + 1:]]), name


def test_files_are_vector_pdf_and_png_and_the_same_each_time(tmp_path):
    contents = []
    for out in (tmp_path / "0", tmp_path / "1"):
        out.mkdir()
        figure = plt.figure(figsize=(2, 1))
        figure.add_subplot().plot([1, 2], label="a line")
        contents.append([path.read_bytes() for path in style.save(figure, out, "figure")])
    pdf, png = contents[0]
    assert contents[0] == contents[1] and pdf.startswith(b"%PDF") and png.startswith(b"\x89PNG")
    assert not re.search(rb"/Subtype\s*/Image", pdf), "the PDF holds a raster image"
