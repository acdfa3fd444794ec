"""The figures show what the CSV says: only ok points, legible at print size; and pictures of kernels."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest
from matplotlib.legend import Legend
from drawn import axes_of, texts
from synthetic import cpu_rows, gpu_rows, write_folder

import make
from report import results as rs, style
from figures import cpu, kernels

SIZES = [2**k for k in range(18, 29, 2)]


def read(folder, rows, **more):
    return make.read_results(write_folder(folder, rows, **more))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make.read_results(write_folder(tmp_path_factory.mktemp("r") / "m", gpu_rows(types=("f32",), sizes=SIZES),
                                        cpu=cpu_rows(types=("f32",), sizes=SIZES)))


@pytest.fixture(scope="module")
def drawn(results):
    """The figure of one folder, laid out once for all tests that only look at it."""
    figure = cpu.draw(results, "f32")
    figure.draw_without_rendering()
    return figure


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
    assert "busy" not in texts(drawn)
    ticks = [t.get_text() for t in axes_of(figure, "cpu:levels").get_xticklabels()]
    assert ticks == ["plain", "recursive\n(cold cache)", "unroll2", "unroll4", "unroll8"]


def test_cpu_figure_shows_loops_by_level_and_each_librarys_fastest(drawn):
    axes = axes_of(drawn, "cpu:levels")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["plain", "recursive", "unroll2", "unroll4", "unroll8"]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["-O0", "-O2", "-O3", "-O3 -ffast-math"]
    assert len(axes.patches) == 20
    labels = {t.get_text() for t in axes_of(drawn, "cpu:lines").texts}
    assert {l.partition(" ")[0].partition("/")[0] for l in labels} == {"eigen", "host", "openmp", "std", "thrust"}
    # The fastest level, by the synthetic times, though only -O2 has the largest sizes.
    assert {l.partition(" ")[2] for l in labels if l.startswith("host/")} == {"-O3 -ffast-math"}


def test_without_rows_of_the_type_there_is_no_figure(results):
    with pytest.raises(rs.Absent):
        cpu.draw(results, "f64")


# ------------------------------------------------------------------------------------------ pictures of kernels


@pytest.mark.parametrize("name", make.in_paper("picture"))
def test_a_picture_of_a_kernel_has_its_whole_tree_and_letters_of_8_points(name):
    svg = kernels.cropped((kernels.DRAWN / f"{name}.svg").read_text())
    root = ElementTree.fromstring(svg)
    _, top, wide, tall = map(float, root.get("viewBox").split())
    print_scale = float(root.get("width").removesuffix("pt")) / wide
    assert float(root.get("font-size")) * print_scale == pytest.approx(8, 1e-4)
    assert tall * print_scale == pytest.approx(float(root.get("height").removesuffix("pt")), 1e-4)
    rows = [float(g.get("transform").partition(",")[2].rstrip(")")) for g in root.iter() if g.get("class") == "row"]
    assert len(rows) > 2 and top < min(rows) and max(rows) + 12 < top + tall, "a cell is 12 high"
    heading = [float(t.get("y")) for t in root if t.tag.endswith("text")]
    assert heading and not any(top < y < top + tall for y in heading), "heading and map of sectors are cut off"


def test_the_paper_has_three_pictures_of_kernels():
    assert len(make.in_paper("picture")) == 3


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="rsvg-convert is not installed")
def test_a_picture_is_a_vector_pdf_with_its_arrowheads_and_the_same_each_time(tmp_path):
    name = make.in_paper("picture")[0]
    first = kernels.draw(name, tmp_path).read_bytes()
    assert first.startswith(b"%PDF") and first == kernels.draw(name, tmp_path).read_bytes()
    assert not re.search(rb"/Subtype\s*/Image", first)
    without = re.sub(r"marker-end:url\(#head\)", "", (kernels.DRAWN / f"{name}.svg").read_text())
    done = subprocess.run(["rsvg-convert", "--format=pdf"], input=kernels.cropped(without).encode(), capture_output=True)
    assert done.returncode == 0 and len(done.stdout) < 0.95 * len(first), "the arrowheads are in the file"


def test_without_a_converter_no_picture_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert kernels.draw(make.in_paper("picture")[0], tmp_path) is None and not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------- looks


def test_legends_cover_no_data_and_not_each_other(committed):
    with_legend = {name: figure for name, figure in committed[1].items() if name != "speedup"}  # which names its lines
    for name, figure in with_legend.items():
        figure.draw_without_rendering()
        boxes = [l.get_window_extent() for l in figure.findobj(Legend)]
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
