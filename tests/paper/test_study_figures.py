"""The figures of the documents' studies show what their CSV says; every value here is planted in synthetic rows."""

import math
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, line, texts
from synthetic import timed

import results as rs
import verdicts as vd
from figures import accuracy, blocks, claims, clocks, decomposition, finish, granularity, grid, ladders, latency, studies, style

COMMITTED = Path(__file__).resolve().parents[2] / "experiments" / "results"
FIGURES = {"ladders": (ladders, ["squares.csv", "twopass.csv", "unrolling.csv", "levels.csv", "multiblock.csv"]),
           "granularity": (granularity, ["levels.csv"]), "finish": (finish, ["levels.csv"]),
           "decomposition": (decomposition, ["levels.csv"]), "blocks": (blocks, ["unrolling.csv", "twopass.csv"]),
           "grid": (grid, ["multiblock.csv"]), "latency": (latency, ["latency.csv"]),
           "clocks": (clocks, ["probes.csv"]),
           "accuracy": (accuracy, ["accuracy.csv"]), "claims": (claims, ["verdicts.csv"])}
WIDTH = 0.01  # of each interval of `timed`, to either side


def folder_of(path: Path, rows: list[dict]) -> vd.Folder:
    """A folder with these rows, a CSV an experiment, and of `comparison` what a folder must have."""
    synthetic.write_folder(path, [timed(1e-5, variant="mine/other", n=2**20)])
    for experiment in sorted({r["experiment"] for r in rows}):
        synthetic.write_csv(path / f"{experiment}.csv", [r for r in rows if r["experiment"] == experiment])
    return vd.Folder(path)


def call(experiment: str, time: float, call: str, n: int, mode: str = "device", element_type: str = "i32", **more) -> dict:
    """A row of a call, named as in claims.json; its device part takes the time where the mode says so."""
    variant, _, settings = call.partition(":")
    key = dict(experiment=experiment, variant=variant, settings=settings.replace(",", ";"), n=n, element_type=element_type,
               accumulator_type=element_type)
    if mode == "device_part":
        return timed(time + 15e-6, **key, timing_mode="end_to_end", device_part_median_s=time, **more,
                     device_part_ci_low_s=(1 - WIDTH) * time, device_part_ci_high_s=(1 + WIDTH) * time)
    return timed(time, **key, timing_mode=mode, **more)


def points(axes, label: str, along_x: bool = False) -> dict:
    """Value by position of one labelled line or row of marks."""
    xy, _ = line(axes, label)
    return {(float(y) if along_x else float(x)): (float(x) if along_x else float(y)) for x, y in xy}


def interval(axes, label: str, k: int, along_x: bool = False) -> tuple[float, float]:
    _, lines = line(axes, label)
    return tuple(float(end[0 if along_x else 1]) for end in lines[0].get_segments()[k])


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_a_long_name_in_a_title_is_not_cut_off():
    for text in ("Loads a thread on one NVIDIA H200", "Finishing by atomics on one NVIDIA H100 80GB HBM3", "A title " * 12):
        figure = studies.sheet(style.COLUMN_WIDTH, 2)
        studies.title(figure, text)
        figure.canvas.draw()
        (line,) = figure.texts
        assert line.get_window_extent().x1 <= figure.bbox.width
    assert line.get_fontsize() < style.FONT_SIZE


# ------------------------------------------------------------------------------------------------- ladders

UNROLL = {"neighbored": 1000e-6, "neighbored-less": 500e-6, "interleaved": 400e-6, "unroll2": 200e-6, "unroll4": 100e-6,
          "unroll8": 80e-6, "unroll8-warp": 50e-6, "unroll8-complete": 40e-6, "unroll8-template": 100e-6}


def unroll_rows(without=()) -> list[dict]:
    load = {"unroll4": ",load=chained", "unroll8": ",load=chained"}
    return [call("unrolling", t, f"unroll/{name}:block=1024,finish=host{load.get(name, '')}", 2**24, "device_part")
            for name, t in UNROLL.items() if name not in without]


def test_a_ladder_has_each_step_over_the_first_kernel_and_the_texts_beside(tmp_path):
    figure = ladders.draw(folder_of(tmp_path / "m", unroll_rows()))
    assert [a.get_gid() for a in figure.axes] == ["ladder:unroll"]
    axes = axes_of(figure, "ladder:unroll")
    assert [t.get_text() for t in axes.get_yticklabels()] == list(UNROLL)
    now = points(axes, "now", along_x=True)
    assert now == {k: pytest.approx(1e-3 / t) for k, t in enumerate(UNROLL.values())}
    low, high = interval(axes, "now", 3, along_x=True)
    assert low == pytest.approx(5 / synthetic.REACH, rel=1e-3) and high == pytest.approx(5 * synthetic.REACH, rel=1e-3)
    # The text's own gains, one on the other; it tells none of the last two steps.
    told = [1, 1.76, 1.2, 1.82, 1.45, 1.45, 1.29]
    assert points(axes, "then", along_x=True) == {k: pytest.approx(math.prod(told[:k + 1])) for k in range(len(told))}
    said = [t.get_text() for t in figure.texts]
    assert {"1000", "500", "400", "1.25", "1.76", "0.400"} <= set(said)


def test_a_ladders_missing_kernel_is_said_and_others_stand(tmp_path):
    figure = ladders.draw(folder_of(tmp_path / "m", unroll_rows(without=["unroll4"])))
    axes = axes_of(figure, "ladder:unroll")
    assert [t.get_text() for t in figure.texts].count("not measured") == 1
    assert set(points(axes, "now", along_x=True)) == set(range(9)) - {4}


def test_every_document_has_a_ladder_of_kernels_that_claims_name():
    for document in rs.DOCUMENTS:
        rungs = ladders.steps_of(document)
        assert len(rungs) > 2 and all(r.call.startswith(document + "/") for r in rungs), document
    labels = [ladders.label(r, rungs) for rungs in [ladders.steps_of("multiblock")] for r in rungs]
    assert labels == ["two-launch [grid=n/1024]", "two-launch [grid=auto]", "last-block", "last-block-warp"]


# -------------------------------------------------------------------------------------------------- levels


def stride_rows(mode: str, finish_times: dict[str, float]) -> list[dict]:
    """2^20 elements: twice the loads take half of the time; local stride a tenth longer."""
    return [call("levels", slower * t / loads, f"levels/{stride}:block=256,finish={f},granularity={loads},index=document",
                 2**20, mode, "f32")
            for stride, slower in (("global-stride", 1.0), ("local-stride", 1.1)) for f, t in finish_times.items()
            for loads in (1, 4, 64)]


def test_granularity_is_over_one_load_and_hollow_where_blocks_are_few(tmp_path):
    figure = granularity.draw(folder_of(tmp_path / "m", stride_rows("device", {"atomic": 1e-3, "relaunch": 3e-3})))
    axes = axes_of(figure, "granularity")
    for stride in granularity.STRIDES:
        assert points(axes, f"{stride} {2**20}") == {k: pytest.approx(k) for k in (1, 4, 64)}
    # 4096, 1024 and 64 blocks on the synthetic GPU's 100 multiprocessors.
    hollow = [l for l in axes.get_lines() if l.get_markerfacecolor() == "white" and len(l.get_xdata())]
    assert {float(x) for l in hollow for x in l.get_xdata()} == {64}
    assert points(axes_of(figure, "strides"), str(2**20)) == {k: pytest.approx(1.1) for k in (1, 4, 64)}


def test_finishes_are_compared_by_the_blocks_that_are_left(tmp_path):
    rows = stride_rows("end_to_end", {"atomic": 1e-3, "relaunch": 3e-3, "host": 0.5e-3})
    figure = finish.draw(folder_of(tmp_path / "m", rows))
    for other, gain in (("relaunch", 3), ("host", 0.5)):
        axes = axes_of(figure, f"finish:{other}")
        assert points(axes, str(2**20)) == {b: pytest.approx(gain) for b in (64, 1024, 4096)}
        assert interval(axes, str(2**20), 0)[0] == pytest.approx(gain / synthetic.REACH, rel=1e-3)


def test_other_blocks_of_a_full_run_are_not_mixed_in(tmp_path):
    rows = stride_rows("device", {"atomic": 1e-3}) + stride_rows("end_to_end", {"atomic": 1e-3, "relaunch": 3e-3})
    rows = [r | dict(settings=r["settings"].replace("256", "32"), time_median_s=1) for r in rows] + rows
    folder = folder_of(tmp_path / "m", rows)
    axes = axes_of(granularity.draw(folder), "granularity")
    assert points(axes, f"levels/global-stride {2**20}") == {k: pytest.approx(k) for k in (1, 4, 64)}
    axes = axes_of(finish.draw(folder), "finish:relaunch")
    assert points(axes, str(2**20)) == {b: pytest.approx(3) for b in (64, 1024, 4096)}


def test_finishes_without_the_host_are_one_panel(tmp_path):
    figure = finish.draw(folder_of(tmp_path / "m", stride_rows("end_to_end", {"atomic": 1e-3, "relaunch": 3e-3})))
    assert [a.get_gid() for a in figure.axes] == ["finish:relaunch"]


def test_levels_gains_make_the_whole_one(tmp_path):
    times = {decomposition.NAIVE.format("relaunch"): 120e-6, decomposition.FREE.format("relaunch"): 60e-6,
             decomposition.STRIDE.format("relaunch"): 20e-6, decomposition.STRIDE.format("atomic"): 16e-6,
             decomposition.UNROLLED.format("relaunch"): 50e-6, decomposition.NAIVE.format("atomic"): 240e-6}
    rows = [call("levels", t, c, 2**24, "device", "f32") for c, t in times.items()]
    figure = decomposition.draw(folder_of(tmp_path / "m", rows))
    gains = points(axes_of(figure, "decomposition"), str(2**24), along_x=True)
    assert [gains[k] for k in sorted(gains)] == pytest.approx([2, 3, 1.25, 7.5, 1.2, 0.5])
    chain = len(decomposition.CHAIN)
    assert math.prod(gains[k] for k in range(chain)) == pytest.approx(gains[chain])
    # The chain goes from each kernel to the next, and as a whole from the first to the last.
    steps = decomposition.CHAIN
    assert all(a[3] == b[2] for a, b in zip(steps, steps[1:]))
    assert (steps[0][2], steps[-1][3]) == decomposition.WHOLE[2:]
    # What is not shown is named by level and change, in lines that fit the column.
    rows += [call("levels", t, c, 2**28, "device", "f32", run_id=c) for c, t in times.items()]
    figure = decomposition.draw(folder_of(tmp_path / "several", rows))
    said = figure.texts[-1].get_text().replace("\n", " ")
    for name in ("(naive → divergence-free)", "(free → unrolled)"):
        assert f"inside a block {name} at $2^{{28}}$" in said
    assert "Not shown (different runs): " in said and "together at $2^{28}$" in said
    figure.canvas.draw()
    legible_and_inside({"decomposition": figure})


# ------------------------------------------------------------------------------------------ blocks and grids


def test_blocks_show_each_kernels_times_with_intervals(tmp_path):
    rows = [call("unrolling", 1e-6 * t * b, f"unroll/{name}:block={b},finish=host{load}", 2**24, "device_part")
            for name, load, t in (("interleaved", "", 1), ("unroll8", ",load=chained", 0.5),
                                  ("unroll8", ",load=independent", 0.25)) for b in (128, 256)]
    rows += [call("twopass", 1e-7 * b, f"twopass/rolled:block={b},grid=auto,finish={f},index=document", 2**24,
                  "device" if f == "second-launch" else "end_to_end") for b in (32, 64) for f in ("second-launch", "host")]
    figure = blocks.draw(folder_of(tmp_path / "m", rows))
    axes = axes_of(figure, "blocks:unroll")
    assert points(axes, "interleaved") == {128: pytest.approx(128), 256: pytest.approx(256)}
    assert points(axes, "unroll8, chained")[256] == pytest.approx(128)
    assert interval(axes, "unroll8, independent", 1) == pytest.approx((64 * (1 - WIDTH), 64 * (1 + WIDTH)))
    assert points(axes_of(figure, "blocks:twopass"), "rolled") == {32: pytest.approx(3.2), 64: pytest.approx(6.4)}


def test_grids_show_throughput_the_ceiling_and_two_blocks_a_multiprocessor(tmp_path):
    rows = [call("multiblock", t, f"multiblock/{name}:block=1024,grid={g},index=document", 10**8)
            for name, slower in (("two-launch", 1), ("last-block", 2)) for g, t in (("1", slower * 1e-3),
                                                                                  ("200", slower * 2e-4), ("auto", 1e-9))]
    figure = grid.draw(folder_of(tmp_path / "m", rows))
    axes = axes_of(figure, f"grid:{10**8}")
    assert points(axes, "multiblock/two-launch") == {1: pytest.approx(0.4), 200: pytest.approx(2)}
    assert points(axes, "multiblock/last-block") == {1: pytest.approx(0.2), 200: pytest.approx(1)}
    assert interval(axes, "multiblock/last-block", 1) == pytest.approx((1 / (1 + WIDTH), 1 / (1 - WIDTH)))
    ceiling, = axes.patches
    assert ceiling.get_y() == pytest.approx(4e8 / (4e-6 + 4e8 / 4.5e12) / 1e12)
    assert [l.get_xdata()[0] for l in axes.get_lines() if len(set(l.get_xdata())) == 1 and len(l.get_xdata()) == 2] == [200]


# ------------------------------------------------------------------------------------------------ clocks


def write_probes(folder: Path, rows: list[tuple]) -> None:
    synthetic.write_csv(folder / "probes.csv", [dict(zip(("quantity", "sm", "repeat", "value", "unit"), r)) for r in rows])


def test_clocks_show_each_multiprocessor_and_how_far_they_are_apart(tmp_path):
    folder = folder_of(tmp_path / "m", [])
    offsets = {0: 0, 1: 2e6, 2: -4e6}
    rows = [("sm_clock_offset", sm, k, of + 1e5 * k, "cycles") for sm, of in offsets.items() for k in range(3)]
    rows += [("globaltimer_offset", sm, k, 10 * sm, "ns") for sm in offsets for k in range(3)]
    write_probes(folder.path, [*rows, ("sm_clock_rate", 0, 0, 2.0, "cycles/ns"), ("globaltimer_resolution", "", 0, 32, "ns"),
                               ("load_latency_l2", "", 99, 200.0, "ns")])  # more often, which is nothing to the clocks
    figure = clocks.draw(folder)
    axes = axes_of(figure, "clocks:sm_clock_offset")
    assert points(axes, "sm_clock_offset") == {0: pytest.approx(0.1), 1: pytest.approx(2.1), 2: pytest.approx(-3.9)}
    assert interval(axes, "sm_clock_offset", 1) == pytest.approx((2.0, 2.2))
    assert axes.get_title(loc="left") == "clock(): 6 million cycles apart, 3 ms"
    axes = axes_of(figure, "clocks:globaltimer_offset")
    assert axes.get_title(loc="left") == "%globaltimer: 20 ns apart" and "3 repeats" in texts(figure)


def test_probes_of_another_kind_are_one_line(tmp_path):
    folder = folder_of(tmp_path / "m", [])
    synthetic.write_csv(folder.path / "probes.csv", [dict(quantity="sm_clock_offset", sm=0, value=1)])
    with pytest.raises(rs.ResultsError, match="lacks the columns repeat, unit: run `reductio probe`"):
        clocks.draw(folder)


# ----------------------------------------------------------------------------------------------- latency


def latency_rows() -> list[dict]:
    """A million elements by one block: 100 cycles for each of a thread's; twice as many by one load at a time."""
    return [synthetic.row(experiment="latency", variant="squares/strided", operation="sum_of_squares", element_type="i32",
                          accumulator_type="i32", n=2**20, timing_mode="clock", timer_resolution_s=1,
                          settings=f"block={threads};finish=host;index={index}", cycles_median=cycles * 2**20 / threads)
            for index, cycles in (("i32", 100), ("u64", 200)) for threads in (32, 256, 1024)]


def test_latency_is_cycles_for_an_element_beside_those_of_a_load(tmp_path):
    folder = folder_of(tmp_path / "m", latency_rows())
    write_probes(folder.path, [("load_latency_memory", "", k, v, "cycles") for k, v in enumerate((600, 700, 900))]
                 + [("load_latency_memory", "", 0, 350, "ns")])
    figure = latency.draw(folder)
    axes = axes_of(figure, "latency")
    assert points(axes, "squares/strided i32") == {t: pytest.approx(100) for t in (32, 256, 1024)}
    assert points(axes, "squares/strided u64")[256] == pytest.approx(200)
    by_gid = {l.get_gid(): l for l in axes.get_lines() if l.get_gid()}
    assert set(by_gid["load_latency_memory"].get_ydata()) == {700}
    assert [tuple(p) for p in by_gid["hidden"].get_xydata()] == [(32, 668), (256, 444)]  # 1024 threads would hide all of it
    assert "from memory 700." in texts(figure)


def test_latency_has_the_samples_intervals_and_needs_no_probes(tmp_path):
    folder = folder_of(tmp_path / "m", latency_rows())
    synthetic.write_samples(folder.path, experiment="latency")
    figure = latency.draw(folder)
    low, high = interval(axes_of(figure, "latency"), "squares/strided i32", 0)
    assert 100 < low < 125 < high < 150  # samples drift from 100 to 150 cycles
    assert "Horizontal" not in texts(figure) and "the text" not in texts(figure)


# ---------------------------------------------------------------------------------------------- accuracy


def error_row(error: float, variant: str, settings: str, n: int, dataset: str, magnitudes: float = 100.0) -> dict:
    return timed(1e-5, experiment="accuracy", variant=variant, settings=settings, n=n, dataset=dataset,
                 timing_mode="end_to_end", cache_state="warm") | dict(abs_error=error, sum_of_magnitudes=magnitudes)


def test_accuracy_shows_the_worst_of_each_document_relative_to_the_magnitudes(tmp_path):
    rows = [error_row(e * (1 + k), "levels/naive", f"finish={f}", n, "random")
            for k, n in enumerate((2**10, 2**20)) for f, e in (("atomic", 3e-6), ("host", 1e-6))]
    rows += [error_row(1e-7, v, "", n, "random") for v in ("cub/sum", "thrust/reduce") for n in (2**10, 2**20)]
    rows += [error_row(0, "levels/naive", "finish=host", 2**10, "alternating")]
    rows += [error_row(1, "squares/chunked", "", 2**10, "random") | dict(status="wrong")]
    figure = accuracy.draw(folder_of(tmp_path / "m", rows))
    assert [a.get_gid() for a in figure.axes] == ["accuracy:random"]
    axes = axes_of(figure, "accuracy:random")
    assert points(axes, "levels") == {2**10: pytest.approx(3e-8), 2**20: pytest.approx(6e-8)}
    assert points(axes, "cub") == {2**10: pytest.approx(1e-9), 2**20: pytest.approx(1e-9)}
    pale = [l for l in axes.get_lines() if l.get_alpha() is not None and len(l.get_xdata()) == 2]
    assert sorted(float(l.get_ydata()[0]) for l in pale) == pytest.approx([1e-9, 1e-8, 3e-8])
    said = texts(figure)
    assert "Exact at every n and in every order: alternating." in said
    assert "CUB and Thrust" in said and "squares" not in said


def test_thrust_is_apart_where_its_errors_are(tmp_path):
    rows = [error_row(e, v, "", 2**10, "random") for v, e in (("cub/sum", 1e-7), ("thrust/reduce", 2e-7))]
    figure = accuracy.draw(folder_of(tmp_path / "m", rows))
    axes = axes_of(figure, "accuracy:random")
    assert points(axes, "thrust")[2**10] == pytest.approx(2e-9) and points(axes, "cub")[2**10] == pytest.approx(1e-9)


# ------------------------------------------------------------------------------------------------ claims


def test_claims_have_the_texts_gain_beside_ours_in_the_colour_of_the_verdict(tmp_path):
    # U1's steps: now 2, 2 and 1.25 after the text's 1.82, 1.45 and 1.45.
    folder = folder_of(tmp_path / "m", unroll_rows())
    vd.write(vd.verdicts(folder), folder.path / "verdicts.csv")
    figure = claims.draw(folder)
    rows, others = claims.rows_of(vd.read(folder.path / "verdicts.csv"))
    of = [r for r in rows if r["claim"] == "U1"]
    assert [(r["words"], r["then"], r["verdict"]) for r in of] == [
        ("interleaved → unroll2", 1.82, vd.HOLDS), ("unroll2 → unroll4", 1.45, vd.HOLDS),
        ("unroll4 → unroll8", 1.45, vd.HOLDS)]
    assert [r["ratio"] for r in of] == pytest.approx([2, 2, 1.25], rel=1e-4)
    names = [t.get_text() for t in axes_of(figure, "claims:0").get_yticklabels()]
    k = names.index("unroll4 → unroll8")
    axes = axes_of(figure, "claims:0")
    assert points(axes, vd.HOLDS, along_x=True)[k] == pytest.approx(1.25, rel=1e-4)
    assert points(axes, "then", along_x=True)[k] == pytest.approx(1.45)
    assert interval(axes, vd.HOLDS, sorted(points(axes, vd.HOLDS, along_x=True)).index(k), along_x=True) == pytest.approx(
        (1.25 / synthetic.REACH, 1.25 * synthetic.REACH), rel=1e-3)
    # The template is 2.5 times slower than complete unrolling, which "adds nothing" allows; what has no rows is said.
    assert [r["verdict"] for r in rows if r["claim"] == "U3"] == [vd.REVERSED, vd.HOLDS]
    lacking = sum(r["ratio"] != r["ratio"] for r in rows)
    assert lacking > 20 and sum(t.get_text() == "not measured" for a in figure.axes for t in a.texts) == lacking
    assert re.search("no speedups: S5, S6, T4, T6, T7", texts(figure)) and {"S5", "L6"} <= set(others)
    assert not {r["claim"] for r in rows} & set(others)
    assert {r["claim"] for r in rows} | set(others) == {c["id"] for c in vd.read_claims()["claims"]}


def test_a_step_is_named_by_what_it_changes():
    named = {r: claims.step_words(vd.test_of(vd.read_claims(), c, t)) for c in vd.read_claims()["claims"]
             for k, t in enumerate(c["tests"]) if t.get("kind", "ratio") == "ratio" for r in [(c["id"], k)]}
    assert named["S1", 0] == "chunked → strided" and named["S2", 0] == "block 256 → 512"
    assert named["M1", 1] == "grid 1*SMs → auto" and named["U10", 0] == "load chained → independent"
    assert named["T5", 1] == "host/add-plain → host/add-unroll2 -O3"


# --------------------------------------------------------------------------------------------- all of them


def test_a_folder_without_an_experiment_has_not_its_figure(tmp_path):
    folder = folder_of(tmp_path / "m", [])
    assert {name: f.draw(folder) for name, (f, _) in FIGURES.items()} == dict.fromkeys(FIGURES)


def test_make_says_which_files_a_figure_lacks(cpu_only_folder, tmp_path, capsys):
    import make

    out = tmp_path / "out"
    out.mkdir()
    (out / "grid.pdf").write_text("of another machine")
    assert make.main(["--results", str(cpu_only_folder), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for name, (_, files) in FIGURES.items():
        assert re.search(rf"^  {name}: not drawn, .* has no {re.escape(', '.join(files))}$", said, re.M), name
        assert not (out / f"{name}.pdf").exists()


def test_a_csv_that_lacks_a_column_is_one_line(tmp_path):
    folder = folder_of(tmp_path / "m", [])
    synthetic.write_csv(folder.path / "levels.csv", [{k: v for k, v in r.items() if k != "settings"}
                                                     for r in stride_rows("device", {"atomic": 1e-3})])
    with pytest.raises(rs.ResultsError, match="levels.csv lacks the column settings: run the experiment again"):
        granularity.draw(folder)


def test_the_committed_h200_has_all_of_them_legible_in_print():
    folder = vd.Folder(COMMITTED / "nvidia-h200", COMMITTED / "cpu-intel-xeon")
    drawn = {name: f.draw(folder) for name, (f, _) in FIGURES.items()}
    assert all(drawn.values()), [name for name, figure in drawn.items() if figure is None]
    for figure in drawn.values():
        figure.canvas.draw()
    legible_and_inside(drawn)
    for name, figure in drawn.items():
        width = figure.get_size_inches()[0]
        assert width in (pytest.approx(3.35), pytest.approx(7.0)), name
        assert "NVIDIA H200" in texts(figure) and "not measured" not in texts(figure), name
