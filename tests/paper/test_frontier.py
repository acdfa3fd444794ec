"""The figure of error against time shows what its CSV says; every value here is planted in synthetic rows."""

import math

import pytest
import synthetic
from drawn import axes_of, line, text_objects, texts
from synthetic import timed

from report import results as rs
from figures import frontier

N = 2**20
READ = 4e-6 + 4 * N / 4.5e12  # of synthetic rows


def row(call: str, slower: float, ulps: float, exact: float = 3.0, **more) -> dict:
    """Of a sum that takes so many times as long as reading and is so many units off: of 3, 2^-22 in f32."""
    variant, _, operation = call.partition(" ")
    key = dict(experiment="frontier", variant=variant, operation=operation or "sum", settings="", n=N) | more
    unit = math.ulp(exact) * (2**29 if key.get("element_type", "f32") == "f32" else 1)
    return timed(slower * READ, **key) | dict(abs_error=ulps * unit, exact_result=exact, read_time_s=READ)


def folder_of(path, rows) -> rs.Results:
    return rs.Results(synthetic.write_folder(path, frontier=rows))


ROWS = [row("compensated/plain", 1.1, 50), row("cub/sum", 1.0, 80), row("compensated/kahan", 1.2, 0.75),
        row("levels/naive", 4.0, 9), row("tuned/sum wide_sum", 1.05, 0.3, accumulator_type="f64"),
        row("cub@3.5.0/sum", 1.6, 2, settings="determinism=gpu_to_gpu"), row("compensated/in-double", 1.3, 0)]


def errors(figure) -> set[str]:
    return {t.get_text() for t in text_objects(figure)}


def slower(figure, call: str, dataset: str = "random", kind: str = "f32") -> list[float]:
    return line(axes_of(figure, f"frontier:{kind}"), f"{call} {dataset}")[0][:, 0].tolist()


def test_it_shows_the_time_over_reading_and_the_error_in_units_of_the_exact_sum(tmp_path):
    figure = frontier.draw(folder_of(tmp_path / "m", ROWS))
    assert [a.get_gid() for a in figure.axes] == ["frontier:f32"]
    for call, times in (("compensated/plain", 1.1), ("cub/sum", 1.0), ("tuned/sum wide_sum", 1.05), ("cub@ gpu_to_gpu", 1.6)):
        assert slower(figure, call) == [pytest.approx(times)]
    assert {"50", "80", "0.3", "2.0", "0.8", "0.0"} <= errors(figure)
    bold = {t.get_text() for t in text_objects(figure) if t.get_fontweight() == "bold"}
    assert {"0.3", "0.0"} <= bold and "0.8" not in bold, "rounded once"
    names = [t.get_text() for t in figure.axes[0].get_yticklabels()]
    assert "levels/naive" not in names  # that is in a table
    assert "Synthetic GPU" in texts(figure) and {"CUB, gpu_to_gpu", "tuned, f32 into f64"} <= set(names)


def test_large_errors_are_powers_of_ten():
    assert [frontier.in_units(v) for v in (0.04, 0.5, 9.9, 9.96, 7598, 2e6)] == ["0.0", "0.5", "9.9", "10", "7598", "$10^{6}$"]


def test_units_are_those_of_the_elements_type(tmp_path):
    rows = [row("tuned/sum", 1.0, 7, element_type="f64", accumulator_type="f64")]
    assert frontier.points_of(folder_of(tmp_path / "m", rows))["ulps"].tolist() == [pytest.approx(7)]


def test_an_unknown_sum_keeps_its_name_and_others_sizes_and_failures_are_left_out(tmp_path):
    rows = [*ROWS, *(r | dict(dataset="spread") for r in ROWS), row("mine/first-idea", 1.0, 3),
            row("cub/sum", 1.0, 5, n=4 * N), row("thrust/reduce", 1.0, 5) | dict(status="wrong")]
    figure = frontier.draw(folder_of(tmp_path / "m", rows))
    assert "mine/first-idea" in texts(figure) and "thrust" not in texts(figure)
    # It is of the size with all kinds of data.
    assert slower(figure, "cub/sum") == slower(figure, "cub/sum", "spread") == [pytest.approx(1.0)] and "5.0" not in errors(figure)


def called(call: str, mode: str, speedup: float, ulps: float, **more) -> dict:
    """From Python: at any time, by so much faster than CUB beside it."""
    return row(call, 7, ulps, timing_mode=mode, **more) | dict(experiment="frontier-python", speedup=speedup)


FROM_PYTHON = [called("cub/sum", "replay", 1, 80), called("cub/sum", "device", 1, 80), called("exact/sum", "replay", 0.9, 0),
               called("torch/sum", "replay", 0.8, 3), called("torch/sum", "end_to_end", 0.1, 3),
               called("jax/sum", "end_to_end", 0.5, 30), called("torch/sum wide_sum", "replay", 0.5, 0.25),
               called("cupy/sum", "replay", 0.5, 4) | dict(status="failed"),
               called("numpy/sum", "end_to_end", 0.5, 4) | dict(device="cpu")]


def test_sums_called_from_python_stand_where_they_are_beside_cub(tmp_path):
    folder_of(tmp_path / "m", [*ROWS, row("cub/sum wide_sum", 1.02, 0.25)])
    assert "torch" not in texts(frontier.draw(rs.Results(tmp_path / "m")))
    synthetic.write_csv(tmp_path / "m" / "frontier-python.csv", FROM_PYTHON)
    figure = frontier.draw(rs.Results(tmp_path / "m"))
    # CUB is at 1; kernels alone where there are such, of JAX the call. A slow one would stretch the axis.
    for call, times in (("torch/sum", 1 / 0.8), ("jax/sum", 2)):
        assert slower(figure, call) == [pytest.approx(times)], call
    assert {"3.0", "30"} <= errors(figure)
    names = " ".join(t.get_text() for t in figure.axes[0].get_yticklabels())
    assert "torch.sum" in names and "f32 into f64" not in names.partition("torch")[2] and "jax.numpy.sum, its call" in names
    assert "cupy" not in names and "numpy/sum" not in names
    assert slower(figure, "cub/sum") == [pytest.approx(1)]  # drawn once, by its device time


def test_folders_of_their_own_are_found_and_without_times_there_is_no_figure(tmp_path):
    here = rs.Results(synthetic.write_folder(tmp_path / "m"))
    folder_of(tmp_path / "card-frontier", ROWS)
    synthetic.write_folder(tmp_path / "card-frontier-python", **{"frontier-python": FROM_PYTHON})
    assert "torch.sum" in texts(frontier.draw(here))
    with pytest.raises(rs.Absent):
        frontier.draw(folder_of(tmp_path / "sim", [row("cub/sum", 1, 1) | dict(device="sim", time_median_s="")]))


def test_the_same_bits_are_drawn_over_sizes_for_each_way_of_timing(tmp_path):
    rows = [row(call, slower, 0.2, n=n, timing_mode=mode, cache_state=state, speedup=1 / slower, speedup_ci_low=0.9 / slower,
                speedup_ci_high=1.1 / slower, settings=settings)
            for n in (2**10, 2**20, 2**28) for mode, state in (("device", "cold_dirty"), ("graph", "warm"))
            for call, slower, settings in (("exact/sum", 1.1, ""), ("tuned/sum", 0.8, ""),
                                           ("cub@3.5.0/sum", 2.0, "determinism=gpu_to_gpu"),
                                           ("cub@3.5.0/sum", 0.9, "determinism=run_to_run"))]
    figure = frontier.exact(folder_of(tmp_path / "m", rows))
    assert [a.get_gid() for a in figure.axes] == ["exact:f32:device", "exact:f32:graph"]
    for axes in figure.axes:
        assert line(axes, "cub@ gpu_to_gpu")[0].tolist() == [[n, pytest.approx(0.5)] for n in (2**10, 2**20, 2**28)]
        assert line(axes, "exact/sum")[0][:, 1].tolist() == [pytest.approx(1 / 1.1)] * 3
    with pytest.raises(rs.Absent):
        frontier.exact(folder_of(tmp_path / "two", [r for r in rows if r["n"] != 2**10]))
