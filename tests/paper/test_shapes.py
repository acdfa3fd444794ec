"""The map of sums of rows, columns and segments shows what shapes.csv says; every value here is planted."""

import math

import numpy as np
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, texts

import summary
from report import results as rs
from figures import shapes

SIZES = (2**18, 2**22, 2**26)
LENGTHS = (2, 1000, 2**18)
KINDS = ("uniform:32", "one-giant")


def row(variant: str, operation: str, n: int, line, share: float | None, **more) -> dict:
    """A row with this share of the ceiling; without one it was refused."""
    key = dict(experiment="shapes", variant=variant, operation=operation, n=n)
    if isinstance(line, str):
        key |= dict(segments=3, dataset=f"random/{line}")
    else:
        sides = n // line, line
        key |= dict(zip(("shape_rows", "shape_columns"), sides if operation == "row_sums" else sides[::-1]))
        key["n"] = n // line * line
    if share is None:
        return synthetic.row(**key, status="refused", reason="planted") | more
    timed = synthetic.timed(1e-5, **key)
    return timed | dict(time_median_s=1e-5 / share, share_of_read_ceiling=share) | more


def rows_of(variant: str, operation: str, share, lines=LENGTHS) -> list[dict]:
    return [row(variant, operation, n, line, share(n, line)) for n in SIZES for line in lines
            if isinstance(line, str) or line <= n]


ROWS = [*rows_of("cub/segmented-fixed", "row_sums", lambda n, line: 0.95 if line == 2**18 else 0.2),
        *rows_of("thrust/by-row", "row_sums", lambda n, line: {2: 0.85, 1000: 0.02}.get(line)),
        *rows_of("cublas/gemv-ones", "column_sums", lambda n, line: 0.6),
        *rows_of("thrust/reduce-by-key", "segment_sums", lambda n, line: 0.4, KINDS),
        row("cub/segmented-fixed", "row_sums", 2**22, 2, 0.001, element_type="f64")]
LEARNERS = rows_of("modern/row-by-thread", "row_sums", lambda n, line: {2: 0.9}.get(line))


def folder_of(path, rows) -> rs.Results:
    return rs.Results(synthetic.write_folder(path, shapes=rows))


def shares(axes) -> np.ndarray:
    """From the smallest size up, and from the shortest length on; NaN where there is no share."""
    mesh, = (m for m in axes.collections if m.get_gid() == "shares")
    values = mesh.get_array().reshape(len(SIZES), -1).filled(math.nan)
    return np.where(values < 0, math.nan, values)


def dots(axes) -> set[tuple[int, int]]:
    return {(int(x), int(y)) for line in axes.get_lines() for x, y in line.get_xydata()}


def test_a_panel_for_each_call_shows_its_share_at_each_shape(tmp_path):
    figure = shapes.draw(folder_of(tmp_path / "m", ROWS))
    figure.draw_without_rendering()
    legible_and_inside({"shapes": figure})
    assert [a.get_gid() for a in figure.axes] == [
        "shapes:cub/segmented-fixed:rows", "shapes:thrust/by-row:rows", "shapes:cublas/gemv-ones:columns",
        "shapes:thrust/reduce-by-key:segments"]
    by_cub = axes_of(figure, "shapes:cub/segmented-fixed:rows")
    assert shares(by_cub).tolist() == [[0.2, 0.2, 0.95]] * 3, "of f32 alone"
    assert dots(by_cub) == {(x, y) for x in (1, 2) for y in range(3)}, "the fastest at 1000 and 2^18"
    by_thread = axes_of(figure, "shapes:thrust/by-row:rows")
    assert np.isnan(shares(by_thread)[:, 2]).all(), "refused"
    assert dots(by_thread) == {(0, y) for y in range(3)}
    kinds = axes_of(figure, "shapes:thrust/reduce-by-key:segments")
    assert [t.get_text() for t in kinds.get_xticklabels()] == ["one-giant", "uniform 32"]


def test_a_kernel_for_learners_has_no_panel_but_takes_the_dots_where_it_is_the_fastest(tmp_path):
    figure = shapes.draw(folder_of(tmp_path / "m", [*ROWS, *LEARNERS]))
    assert not any("modern" in a.get_gid() for a in figure.axes)
    assert dots(axes_of(figure, "shapes:thrust/by-row:rows")) == set()


def test_calls_from_python_are_replayed_beside(tmp_path):
    folder = synthetic.write_folder(tmp_path / "m", shapes=ROWS, **{"shapes-python": [
        row("torch/sum", "row_sums", 2**22, 2, 0.9, experiment="shapes-python", timing_mode=mode) for mode in ("replay", "end_to_end")] + [
        row("cub/segmented-fixed", "row_sums", 2**22, 2, 0.99, experiment="shapes-python", timing_mode="replay")]})
    figure = shapes.draw(rs.Results(folder))
    figure.draw_without_rendering()
    legible_and_inside({"shapes": figure})
    torch = axes_of(figure, "shapes:torch/sum:rows")
    assert np.nansum(shares(torch)) == 0.9 and dots(torch) == {(0, 1)} and "kernels alone" in texts(figure)
    assert shares(axes_of(figure, "shapes:cub/segmented-fixed:rows"))[1, 0] == 0.2, "as shapes.csv has it"


def test_what_was_not_measured_has_no_panel(tmp_path):
    few = [r for r in ROWS if r["operation"] == "column_sums"]
    figure = shapes.draw(folder_of(tmp_path / "few", few))
    figure.draw_without_rendering()
    legible_and_inside({"few": figure})
    assert len(figure.axes) == 1 and "Rows" not in texts(figure)
    no_ceiling = [r | dict(share_of_read_ceiling="") for r in few]
    for name, rows in (("no-ceiling", no_ceiling), ("cpu", [r | dict(device="cpu") for r in few])):
        with pytest.raises(rs.Absent):
            shapes.draw(folder_of(tmp_path / name, rows))


def test_the_largest_map_fits_a_page(tmp_path):
    def many(operation: str, count: int, lines) -> list[dict]:
        return [r for k in range(count) for r in rows_of(f"library{k}/a-sum-so-long", operation, lambda n, line: 0.5, lines)]

    lines = (2, 8, 32, 128, 1000, 2**12, 2**15, 2**18)
    figure = shapes.draw(folder_of(tmp_path / "all", many("row_sums", 15, lines) + many("column_sums", 10, lines) +
                                   many("segment_sums", 5, ("empty-many", "one-giant", "powerlaw:2.1", "uniform:32"))))
    figure.draw_without_rendering()
    legible_and_inside({"all": figure})


def test_the_table_names_the_fastest_call_and_the_fastest_library(tmp_path):
    learners = {"thrust/by-row": "modern/row-by-thread", "cublas/gemv-ones": "modern/column-by-tiles"}
    rows = [r | dict(variant=learners.get(r["variant"], r["variant"])) for r in ROWS
            if (r["variant"], r["n"], r["dataset"]) != ("thrust/reduce-by-key", 2**26, "random/one-giant")]
    rows += rows_of("cub/segmented", "segment_sums", lambda n, line: 0.01, KINDS)
    table = summary.shapes_to_call(folder_of(tmp_path / "m", rows))
    assert "| rows of 2 | `modern/row-by-thread` | 85 % | `cub/segmented-fixed` | 4.25 |" in table
    assert "rows of 2^18" not in table
    assert "| segments, uniform:32 | `thrust/reduce-by-key` | 40 % | `thrust/reduce-by-key` | 1.00 |" in table
    assert "| segments, one-giant, 2^22 | `thrust/reduce-by-key` | 40 % |" in table
    assert "| columns of 1,000 | `modern/column-by-tiles` | 60 % | none was timed |" in table


def test_a_table_has_all_shapes_and_sizes_and_ours_are_no_library(tmp_path):
    ours = [r for variant, share in (("exact/columns", 0.9), ("tuned/columns", 0.5))
            for r in rows_of(variant, "column_sums", lambda n, line: share)]
    rows = {tuple(line.split(",")[:2]): line.split(",")[2:] for line in
            summary.all_shapes(folder_of(tmp_path / "m", [*ROWS, *ours])).splitlines()[1:]}
    points = {(r["operation"], r["dataset"], r["shape_columns"] if r["operation"] == "row_sums" else r["shape_rows"], r["n"])
              for r in [*ROWS, *ours]}
    assert len(rows) == len(points)
    assert rows["columns of 1000", "2^26"] == ["exact/columns", "11.1", "0.90", "tuned/columns", "20.0", "cublas/gemv-ones", "16.7"]
    assert rows["rows of 2", "2^26"] == ["thrust/by-row", "11.8", "0.85", "", "", "thrust/by-row", "11.8"]


@pytest.mark.parametrize("there", [False, True])
def test_the_picture_is_made_where_there_are_results(tmp_path, there, monkeypatch):
    monkeypatch.setattr(summary, "TABLES", ())
    monkeypatch.setattr(summary, "PICTURES", {"docs/rows.png": summary.PICTURES["docs/rows.png"]})
    synthetic.write_folder(tmp_path / "m", **({"shapes": ROWS} if there else {}))
    (tmp_path / "docs").mkdir()
    arguments = ["--results", str(tmp_path / "m"), "--root", str(tmp_path)]
    assert summary.main([*arguments, "--check"]) == int(there)
    assert summary.main(arguments) == 0
    assert (tmp_path / "docs" / "rows.png").exists() == there
    assert summary.main([*arguments, "--check"]) == 0
