"""plot: a folder's throughput on the terminal and as a file, and what is said where there is nothing to draw."""

import csv
import json
import shutil

import pytest
from project import SOURCE, forget_hashes

CPU = SOURCE / "experiments" / "results" / "cpu-intel-xeon"


def with_rows(folder, change):
    """A copy of the CPU's folder with its rows changed and no raw samples, which no chart needs."""
    shutil.copytree(CPU, folder, ignore=shutil.ignore_patterns("*.gz", "vector_add*"))
    forget_hashes(folder)
    machine = (folder / "machine.json").read_text()
    (folder / "machine.json").write_text(machine.replace('"vector_add"', '"cpu"'))
    with (folder / "cpu.csv").open(newline="") as file:
        rows = [change(row) for row in csv.DictReader(file)]
    with (folder / "cpu.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return folder


def test_lines_against_n_on_the_terminal(reductio, tmp_path):
    folder = with_rows(tmp_path / "out" / "results" / "here", lambda row: row)
    out = reductio("plot", "--types", "f32", "--operations", "sum").ok()  # out/results is the default
    lines = out.splitlines()
    assert out == reductio("plot", folder, "--types", "f32", "--operations", "sum").ok()
    assert lines[0] == "cpu: sum f32 end_to_end warm, cpu-intel-xeon" and max(map(len, lines)) <= 100
    assert [line for line in lines if line.startswith("  A  openmp/sum ") and line.endswith(" GB/s at 2^26")]
    assert any(line.startswith("The machine was busy: at ") for line in lines)
    assert any("2^10" in line and "2^26" in line for line in lines)
    assert sum("A" in line[10:] for line in lines[2:23]) >= 5, "the line of the fastest"
    assert max(map(len, reductio("plot", folder, COLUMNS="60").ok().splitlines())) <= 60
    for chart in ("99", "0", "x"):
        error = reductio("plot", folder, "--chart", chart).error()
        assert f"--chart: give a number from 1 to 9, not '{chart}'" in error


def test_bars_of_one_size(reductio):
    out = reductio("plot", CPU, "--sizes", "2^20", "--types", "f32", "--variants", "^host/unroll4$").ok().splitlines()
    assert out[0].startswith("cpu: sum f32 end_to_end warm n=2^20, GB/s")
    bars = [line.count("#") for line in out if line.startswith("host/unroll4 [")]
    assert len(bars) == 5 and bars == sorted(bars, reverse=True) and bars[0] > 2 * bars[-1] > 0


def test_several_variants_come_before_one_of_the_same_day(reductio, tmp_path):
    """limits, which draws cub/sum alone, was measured after comparison."""
    whole, both = CPU.with_name("nvidia-h200"), ("comparison", "limits")
    for name in ("catalog.csv", "comparison.csv.gz", "limits.csv"):
        shutil.copy(whole / name, tmp_path)
    machine = json.loads((whole / "machine.json").read_text())
    runs = [run for run in machine["runs"] if run["experiment"] in both]
    (tmp_path / "machine.json").write_text(json.dumps(machine | {"runs": runs}))
    assert reductio("plot", tmp_path).ok().startswith("comparison: sum f32 device ")


def test_a_figure_by_the_projects_own_python(reductio, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "mine.svg"
    assert str(file) in reductio("plot", CPU, "--types", "f32", "--out", file, cwd=SOURCE).ok()
    assert file.read_text().startswith("<?xml")


def test_a_full_disk_is_one_line_with_the_file(reductio, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "x.png").symlink_to("/dev/full")
    error = reductio("plot", CPU, "--types", "f32", "--out", tmp_path / "x.png", cwd=SOURCE).error(code=1)
    assert f"cannot write {tmp_path}/x.png: No space left on device" in error


@pytest.mark.parametrize("arguments, message", [
    ([], "there is none in out/results"),
    (["empty"], "is empty a results folder?"),
    (["timeless"], "timeless holds 813 rows without a time; the first says: too slow"),
    (["timeless", "--out", "x.png"], "holds 813 rows without a time"),
    ([CPU, "--out", "x.gif"], "--out takes a file that ends in .png, .pdf or .svg, not 'x.gif'"),
    ([CPU, "--experiment", "none"], "has no experiment 'none'; it has cpu, vector_add"),
    (["timeless", "--out", "x.gif"], "--out takes a file that ends in .png, .pdf or .svg, not 'x.gif'"),
    (["timeless", "--out", "nowhere/x.png"], "cannot write 'nowhere/x.png': No such file or directory; give --out a file"),
    (["timeless", "--out", "a.png"], "cannot write 'a.png': Is a directory; give --out a file"),
])
def test_nothing_to_draw_is_one_line(reductio, tmp_path, arguments, message):
    for folder in ("empty", "a.png"):
        (tmp_path / folder).mkdir()
    if "timeless" in arguments:
        with_rows(tmp_path / "timeless", lambda row: row | {"status": "refused", "reason": "too slow", "time_median_s": ""})
    assert message in reductio("plot", *arguments).error()


@pytest.mark.parametrize("damage, message", [
    (lambda t: b"\xff\xfe" + t.decode().encode("utf-16-le"), "is UTF-16, as some editors save; save it as UTF-8"),
    (lambda t: t.split(b"\n", 1)[1], "has no header: its first line names no column, as schema_version does"),
    (lambda t: t.replace(b",sum,", b",s\0um,", 1), "cpu.csv:2:89: a NUL byte; fix that line, or run the experiment"),
    (lambda t: t.replace(b",sum,", b',s"um,', 1), "cpu.csv:2:89: a quotation mark that does not belong there; fix that line"),
])
def test_what_an_editor_did_to_a_file_is_told(reductio, tmp_path, damage, message):
    rows = with_rows(tmp_path / "there", lambda row: row) / "cpu.csv"
    text = rows.read_bytes()
    rows.write_bytes(b"\xef\xbb\xbf" + text)  # a byte-order mark does no harm
    assert "cpu: sum" in reductio("plot", "there", "--experiment", "cpu").ok()
    rows.write_bytes(damage(text))
    assert message in reductio("plot", "there").error()


def test_comparing_folders_needs_no_variant_of_this_program(reductio):
    h200 = CPU.parent / "nvidia-h200-second"
    compare = ["compare", h200, h200, "--experiment", "levels", "--types", "f32", "--relative-to"]
    assert "SAME" in reductio(*compare, "cub/sum").ok()
    assert "has no times of cub/sm; did you mean 'cub/sum'?" in reductio(*compare, "cub/sm").error()
