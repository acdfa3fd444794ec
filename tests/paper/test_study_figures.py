"""The figures of the documents' studies show what their CSV says; every value here is planted in synthetic rows."""

import math
from pathlib import Path

import pytest
import synthetic
from drawn import axes_of, legible_and_inside, line, text_objects, texts
from synthetic import WIDTH, timed, write_contrasts

from report import results as rs
from report import style
from figures import ablation, gains, ladders, studies

COMMITTED = Path(__file__).resolve().parents[2] / "experiments" / "results"
UNROLL = dict(zip(ladders.STEPS["unroll"].split(), (2, 1.25, 2, 2, 1.25, 1.6, 1.25, 0.4)))  # by step, its gain


def folder_of(path: Path, rows: list[dict] = (), values: dict | None = None) -> rs.Results:
    """A folder with these rows, a CSV an experiment, and with these contrasts."""
    synthetic.write_folder(path, **{name: [r for r in rows if r["experiment"] == name] for name in {r["experiment"] for r in rows}})
    if values:
        write_contrasts(path, values)
    return rs.Results(path)


def call(experiment: str, time: float, call: str, n: int, mode: str = "device", element_type: str = "i32", **more) -> dict:
    """A row of a call, named as in claims.json."""
    variant, _, settings = call.partition(":")
    key = dict(experiment=experiment, variant=variant, settings=settings.replace(",", ";"), n=n, element_type=element_type,
               accumulator_type=element_type)
    return timed(time, **key, timing_mode=mode, **more)


def points(axes, label: str, along_x: bool = False) -> dict:
    """Value by position of one labelled line or row of marks."""
    xy, _ = line(axes, label)
    return {(float(y) if along_x else float(x)): (float(x) if along_x else float(y)) for x, y in xy}


def interval(axes, label: str, k: int, along_x: bool = False) -> tuple[float, float]:
    _, lines = line(axes, label)
    return tuple(float(end[0 if along_x else 1]) for end in lines[0].get_segments()[k])


def test_a_long_name_in_a_title_is_not_cut_off():
    figure, _ = style.sheet(2, width=style.COLUMN_WIDTH)
    style.title(figure, "Finishing by atomics on one NVIDIA H100 80GB HBM3 " * 2)
    figure.draw_without_rendering()
    assert figure.texts[0].get_window_extent().x1 <= figure.bbox.width


# ------------------------------------------------------------------------------------------------- ladders

def unroll(without=()) -> dict[str, float | None]:
    """The contrasts of a ladder whose first kernel takes 1 ms."""
    values, height = {"ladder.unroll": 1e-3}, 1.0
    for step, gain in UNROLL.items():
        height *= gain
        step_values = {step: gain, f"ladder.{step}": height, f"ladder.{step}.time": 1e-3 / height}
        values |= {k: None if step in without else v for k, v in step_values.items() if k != "ladder.U0a"}
    return values


def test_a_ladder_has_each_step_over_the_first_kernel_and_where_the_texts_gains_lead(tmp_path):
    figure = ladders.draw(folder_of(tmp_path / "m", values=unroll()))
    assert [a.get_gid() for a in figure.axes] == ["ladder:unroll"]
    axes = axes_of(figure, "ladder:unroll")
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "neighbored", "neighbored-less", "interleaved", "unroll2", "unroll4", "unroll8", "unroll8-warp", "unroll8-complete",
        "unroll8-template"]
    heights = [math.prod(list(UNROLL.values())[:k]) for k in range(9)]
    assert points(axes, "now", along_x=True) == {k: pytest.approx(h) for k, h in enumerate(heights)}
    assert interval(axes, "now", 3, along_x=True) == pytest.approx((5 * (1 - WIDTH), 5 * (1 + WIDTH)))
    # The text's own gains, one on the other; it tells none of the last two steps.
    gains = [1.76, 1.2, 1.82, 1.45, 1.45, 1.29]
    assert points(axes, "then", along_x=True) == {k + 1: pytest.approx(math.prod(gains[:k + 1])) for k in range(len(gains))}
    assert {"1000", "500", "400", "1.25", "1.76", "0.400"} <= {t.get_text() for t in text_objects(figure)}
    assert "CUB" not in texts(figure), "its times are of another run"


def test_a_ladder_may_lack_a_kernel_but_not_the_first(tmp_path):
    figure = ladders.draw(folder_of(tmp_path / "m", values=unroll(without=["U1b"])))
    assert [t.get_text() for t in text_objects(figure)].count("not measured") == 1
    assert set(points(axes_of(figure, "ladder:unroll"), "now", along_x=True)) == set(range(9)) - {4}
    with pytest.raises(rs.Absent):
        ladders.draw(folder_of(tmp_path / "none", values={k: v for k, v in unroll().items() if k != "ladder.unroll"}))


def test_every_document_has_a_ladder_whose_steps_follow_each_other():
    for document in rs.DOCUMENTS:
        rungs = ladders.climb(rs.Results(COMMITTED / "nvidia-h200"), document)
        assert len(rungs) > 2 and all(r.call.startswith(document + "/") and r.time.known for r in rungs), document
    labels = [ladders.label(r, rungs) for r in rungs]
    assert labels == ["two-launch [grid=n/1024]", "two-launch [grid=auto]", "last-block", "last-block-warp"]


# -------------------------------------------------------------------------------------------------- levels


def test_loads_strides_and_finishes_stand_by_loads_or_blocks(tmp_path):
    values = {(f"levels.granularity.global.{loads}", 2**20): loads for loads in (4, 64)}
    values |= {(f"levels.strides.{loads}", 2**20): 1.1 for loads in (1, 4, 64)}
    values |= {(f"levels.atomic.{other}.{loads}", 2**20): gain for other, gain in (("relaunch", 3), ("host", 0.5)) for loads in (1, 4, 64)}
    figure = studies.levels(folder_of(tmp_path / "m", values=values))
    axes = axes_of(figure, "loads")
    assert points(axes, str(2**20)) == {k: pytest.approx(k) for k in (1, 4, 64)}
    # 4096, 1024 and 64 blocks on the synthetic GPU's 100 multiprocessors.
    hollow = [l for l in axes.get_lines() if l.get_markerfacecolor() == "white" and len(l.get_xdata())]
    assert {float(x) for l in hollow for x in l.get_xdata()} == {64}
    assert points(axes_of(figure, "strides"), str(2**20)) == {k: pytest.approx(1.1) for k in (1, 4, 64)}
    for other, gain in (("relaunch", 3), ("host", 0.5)):
        assert points(axes_of(figure, other), str(2**20)) == {b: pytest.approx(gain) for b in (64, 1024, 4096)}
        assert interval(axes_of(figure, other), str(2**20), 0)[0] == pytest.approx(gain * (1 - WIDTH))
    figure = studies.levels(folder_of(tmp_path / "n", values={k: v for k, v in values.items() if "atomic.relaunch" in k[0]}))
    assert [a.get_gid() for a in figure.axes] == ["relaunch"]


def test_the_choices_of_composed_reductions_have_their_effects_and_interactions(tmp_path):
    values = {("ablation." + ".".join(row), n): 1 + k / 10 for k, row in enumerate(ablation.ROWS)
              for n in ablation.SIZES}
    values |= {("ablation.both.one-load.fan-in", 2**28): 0.33, ("ablation.both.one-load.atomic", 2**28): 1.0}
    figure = ablation.draw(folder_of(tmp_path / "m", values=values))
    assert [a.get_gid() for a in figure.axes] == ["effects", "interactions"]
    names = [t.get_text() for t in axes_of(figure, "effects").get_yticklabels()]
    assert names == [f"{choice} (1)" for _, choice in ablation.ROWS]
    xy, _ = line(axes_of(figure, "effects"), str(2**20))
    assert {round(y): pytest.approx(x) for x, y in xy} == {k: 1 + k / 10 for k in range(len(ablation.ROWS))}
    table, = axes_of(figure, "interactions").tables
    cells = {c.get_text().get_text(): c.get_text().get_fontweight() for c in table.get_celld().values()}
    assert cells["0.33"] == "bold" and cells["1.00"] == "normal" and "–" in cells


# ---------------------------------------------------------------------------------------- indices and grids


def test_an_index_is_beside_the_signed_one_of_32_bits(tmp_path):
    values = {("index.multiblock/last-block.u64", 2**28): 0.5, ("index.levels/local-stride.u32", 2**28): None}
    values |= {(f"index.squares/strided [{block}].u32", 2**28): 0.2 for block in (256, 512)}
    figure = gains.index(folder_of(tmp_path / "m", values=values))
    axes = axes_of(figure, f"index:{2**28}")
    names = [t.get_text() for t in axes.get_yticklabels()]
    assert names == ["multiblock/last-block", "squares/strided [256]", "squares/strided [512]"]
    assert points(axes, "u64", along_x=True) == {0.22: pytest.approx(0.5)}
    assert points(axes, "u32", along_x=True) == {1: pytest.approx(0.2), 2: pytest.approx(0.2)}
    assert interval(axes, "u64", 0, along_x=True) == pytest.approx((0.5 * (1 - WIDTH), 0.5 * (1 + WIDTH)))
    assert "Lines: 95 % intervals, paired by context." in texts(figure)
    few = write_contrasts(tmp_path / "m", values, enough="no")
    assert "paired by context; of slow calls their range." in texts(gains.index(rs.Results(few)))


def test_grids_show_the_fastest_kernels_share_of_the_ceiling(tmp_path):
    rows = [call("multiblock", t, f"multiblock/{name}:block=1024,grid={g},index=document", 10**8) | dict(share_of_read_ceiling=1e-4 / t)
            for name, slower in (("two-launch", 1), ("last-block", 2)) for g, t in (("1", slower * 1e-3),
                                                                                  ("200", slower * 2e-4), ("auto", 1e-9))]
    rows += [call("multiblock", 1e-3, "multiblock/two-launch:block=1024,grid=97657,index=document", 10**8) | dict(share_of_read_ceiling=0.1)]
    figure = studies.grid(folder_of(tmp_path / "m", rows))
    axes = axes_of(figure, "grid")
    assert points(axes, str(10**8)) == {1: pytest.approx(0.1), 200: pytest.approx(0.5)}
    assert points(axes, f"{10**8}, all threads") == {97657: pytest.approx(0.1)}
    assert interval(axes, str(10**8), 1) == pytest.approx((0.5 / (1 + WIDTH), 0.5 / (1 - WIDTH)))
    assert "multiblock/two-launch" in texts(figure)
    assert [l.get_xdata()[0] for l in axes.get_lines() if len(set(l.get_xdata())) == 1 and len(l.get_xdata()) == 2] == [200]


# ----------------------------------------------------------------------------------------------- latency


def test_latency_is_cycles_for_an_element_beside_those_of_a_load(tmp_path):
    # A million elements by one block: 100 cycles for each of a thread's; twice as many by one load at a time.
    values = {f"latency.strided.{index}.{threads}": cycles * 2**20 / threads
              for index, cycles in (("i32", 100), ("u64", 200)) for threads in (32, 256, 1024)}
    folder = folder_of(tmp_path / "m", values=values)
    with pytest.raises(rs.Absent, match="no means.csv"):
        studies.latency(folder)
    synthetic.write_means(folder.folder, {(f"probe.load_latency_{of}.{unit}", unit): value for of, value, unit in (
        ("memory", 700, "cycles"), ("memory", 350, "ns"), ("l2", 300, "cycles"))})
    figure = studies.latency(rs.Results(folder.folder))
    axes = axes_of(figure, "latency")
    assert points(axes, "strided, index i32") == {t: pytest.approx(100) for t in (32, 256, 1024)}
    assert points(axes, "strided, index u64")[256] == pytest.approx(200)
    assert interval(axes, "strided, index i32", 0) == pytest.approx((100 * (1 - WIDTH), 100 * (1 + WIDTH)))
    by_gid = {l.get_gid(): l for l in axes.get_lines() if l.get_gid()}
    assert set(by_gid["memory"].get_ydata()) == {700} and set(by_gid["L2"].get_ydata()) == {300}
    assert [tuple(p) for p in by_gid["hidden"].get_xydata()] == [(32, 668), (256, 444)]  # 1024 threads would hide all of it
    assert "from memory 700, L2 300." in texts(figure)


# --------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("draw", [ladders.draw, studies.levels, studies.latency, ablation.draw, gains.index])
def test_a_folder_without_contrasts_has_none_of_their_figures(draw, tmp_path):
    with pytest.raises(rs.Absent):
        draw(folder_of(tmp_path / "m"))


def test_the_committed_h200_has_all_of_them_legible_in_print(committed):
    drawn = committed[1]
    for figure in drawn.values():
        figure.draw_without_rendering()
    legible_and_inside(drawn)
    for name, figure in drawn.items():
        width, said = figure.get_size_inches()[0], texts(figure)
        assert width in (pytest.approx(style.COLUMN_WIDTH), pytest.approx(style.TEXT_WIDTH)), name
        assert "not measured" not in said, name


# -------------------------------------------------------------------------------------------------- peers


def test_peers_are_drawn_by_the_kernels_alone_and_by_the_call(tmp_path):
    def row_of(variant, mode, k, times, cache="cold_dirty"):
        return call("peers", 7e-6 * times, variant, 2**k, mode, "f32", cache_state=cache, speedup_reference="cub/sum",
                    speedup=1 / times, speedup_ci_low=0.9 / times, speedup_ci_high=1.1 / times)

    rows = [row_of(variant, mode, k, times * (1 if mode == "replay" else 3)) for variant, times in
            (("cub/sum", 1), ("tuned/sum", 0.5), ("torch/sum", 2), ("cupy/sum-plain", 700)) for k in (10, 20)
            for mode in ("replay", "end_to_end")]
    rows += [row_of("jax/sum", "end_to_end", 10, 8), row_of("torch/sum", "graph", 10, 3, "warm")]
    figure = gains.peers(folder_of(tmp_path / "m", rows))
    left, right = (axes_of(figure, f"peers:{mode}") for mode in ("replay", "end_to_end"))
    assert [t.get_text() for t in left.get_yticklabels()] == ["tuned/sum", "torch/sum", "jax/sum"]  # by the call at the least n
    for k in (10, 20):
        assert {round(y): pytest.approx(x) for y, x in points(left, str(2**k), along_x=True).items()} == {0: 2, 1: 1 / 2}
    assert {round(y): x for y, x in points(right, str(2**10), along_x=True).items()} == pytest.approx({0: 2 / 3, 1: 1 / 6, 2: 1 / 8})
    assert [t.get_text() for t in left.texts] == ["cannot be captured"] and not right.texts
    assert "Not drawn, less than 1/40 as fast: cupy/sum-plain." in texts(figure)
    with pytest.raises(rs.Absent):
        gains.peers(folder_of(tmp_path / "none", [row_of("cub/sum", "replay", 10, 1)]))
