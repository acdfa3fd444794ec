"""What is said and drawn of composed reductions follows from ablation.csv: planted gains and interactions show."""

import csv
import gzip

import matplotlib.pyplot as plt
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, line, texts
from synthetic import timed

import ablation
import verdicts as vd
from ablation import BASE, FIRST, LAST, LEVELS, SIZES, TABLES
from figures import ablation as figure_of

# How much longer a choice takes than the base's.
LONGER = {"one-load": 4, "grid-stride": 1, "local-stride": 2, "unrolled-4": 0.8, "vectors": 0.7, "vectors-4": 0.5,
          "neighbored": 1.5, "neighbored-less": 1.4, "interleaved": 1.25, "last-warp": 1.1, "shuffle": 1,
          "host": 5, "second-launch": 1.6, "atomic": 1.2, "last-block-zeroed": 1.3, "last-block": 1, "fan-in": 0.8}
EMBODIED = "levels/naive:block=256,finish=atomic"


def variants() -> list[dict[str, str]]:
    """Each choice alone, the whole tables, and the first ideas together."""
    found = [BASE | {level: choice} for level, choices in LEVELS.items() for choice in choices]
    found += [BASE | {a: x, b: y} for (a, b), (xs, ys) in TABLES.items() for x in xs for y in ys] + [FIRST, LAST]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(c.items()) for c in found)]


def rows(together=lambda choices: 1.0, without=(), sizes=(2**12, 2**20, 2**28)) -> list[dict]:
    """Times are products of what choices take, but for `together`, what some take longer together."""
    found = []
    for choices in variants():
        name = ablation.variant(choices)
        if name in without:
            continue
        for n in sizes:
            time = 10e-6 * LONGER[choices["thread"]] * LONGER[choices["block"]] * LONGER[choices["between"]] * together(choices)
            for mode in ("device", "end_to_end"):
                if mode == "end_to_end" or choices["between"] != "host":
                    found.append(timed(time, experiment="ablation", variant=name, n=n, timing_mode=mode))
    for n in sizes:
        found.append(timed(9e-6, experiment="ablation", variant="cub/sum", n=n))
        found.append(timed(15e-6, experiment="ablation", variant="levels/naive", settings="block=256;finish=atomic", n=n))
    return found


def folder_of(path, of=None, samples=False) -> vd.Folder:
    catalog = [dict(schema_version=1, variant="ablation/grid-stride+neighbored+last-block", embodies=EMBODIED, differs=""),
               dict(schema_version=1, variant=ablation.variant(BASE), embodies=EMBODIED, differs="another tree"),
               dict(schema_version=1, variant="cub/sum", embodies="", differs="")]
    synthetic.write_folder(path, [timed(1e-5, variant="mine/other", n=2**20)], catalog=catalog)
    synthetic.write_csv(path / "ablation.csv", rows() if of is None else of)
    if samples:
        synthetic.write_samples(path, experiment="ablation")
    return vd.Folder(path)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.mark.parametrize("samples", [False, True])
def test_a_main_effect_is_what_a_choice_gains(tmp_path, samples):
    found = ablation.Ablation(folder_of(tmp_path / "m", samples=samples))
    for level, choices in LEVELS.items():
        for choice in set(choices) - {BASE[level]}:
            gain = found.main_effect(level, choice, 2**20)
            assert gain.ratio == pytest.approx(1 / LONGER[choice], rel=1e-4), choice
            assert gain.low < gain.ratio < gain.high
    assert found.main_effect("thread", "vectors-4", 2**20).pairs == 4
    assert found.main_effect("thread", "vectors", 2**20).pairs == 1
    assert found.main_effect("thread", "vectors-4", 2**20, base="one-load").ratio == pytest.approx(8, rel=1e-4)


def test_an_effect_is_the_geometric_mean_of_its_pairs(tmp_path):
    def slow(choices):  # one of the four pairs gains nothing
        return 2 if choices["thread"] == "vectors-4" and choices["between"] == "atomic" else 1
    found = ablation.Ablation(folder_of(tmp_path / "m", rows(slow)))
    assert found.main_effect("thread", "vectors-4", 2**20).ratio == pytest.approx(2 / 2**0.25, rel=1e-4)


def test_paired_samples_drift_together_and_have_narrow_intervals(tmp_path):
    apart = ablation.Ablation(folder_of(tmp_path / "a")).main_effect("block", "neighbored", 2**20)
    paired = ablation.Ablation(folder_of(tmp_path / "b", samples=True)).main_effect("block", "neighbored", 2**20)
    assert paired.high / paired.low < 1.01 < apart.high / apart.low


def test_independent_choices_have_no_interaction_and_a_planted_one_shows(tmp_path):
    alike = ablation.Ablation(folder_of(tmp_path / "a"))
    assert alike.interaction(("thread", "one-load"), ("between", "fan-in"), 2**20).ratio == pytest.approx(1)

    def slow(choices):
        return 3 if choices["thread"] == "one-load" and choices["between"] == "fan-in" else 1
    found = ablation.Ablation(folder_of(tmp_path / "b", rows(slow)))
    assert found.interaction(("thread", "one-load"), ("between", "fan-in"), 2**20).ratio == pytest.approx(1 / 3)
    assert found.interaction(("thread", "one-load"), ("between", "atomic"), 2**20).ratio == pytest.approx(1)


def test_runs_are_not_mixed(tmp_path):
    of = [r | {"run_id": "another"} if "one-load" in r["variant"] else r for r in rows()]
    found = ablation.Ablation(folder_of(tmp_path / "m", of))
    with pytest.raises(vd.Lacking, match="different runs"):
        found.gain(BASE, BASE | {"thread": "one-load"}, 2**20)


def test_a_documents_call_that_was_not_sampled_with_its_like_is_left_out(tmp_path):
    of = [r | {"run_id": "another"} if r["variant"] == "levels/naive" else r for r in rows()]
    assert ablation.Ablation(folder_of(tmp_path / "m", of)).documents(2**20) == []
    assert len(ablation.Ablation(folder_of(tmp_path / "b")).documents(2**20)) == 2


def test_the_figure_has_effects_and_interactions_of_each_size(tmp_path):
    def slow(choices):
        return 3 if choices["thread"] == "one-load" and choices["between"] == "fan-in" else 1
    figure = figure_of.draw(folder_of(tmp_path / "m", rows(slow)))
    assert [a.get_gid() for a in figure.axes] == ["effects"] + [f"interactions:{size}" for size in SIZES]
    axes = axes_of(figure, "effects")
    names = [t.get_text() for t in axes.get_yticklabels()]
    assert "vectors (1)" in names and "vectors-4 (4)" in names
    xy, _ = line(axes, "small")
    k = names.index("vectors (1)")
    assert min(abs(x - 1 / LONGER["vectors"]) for x, y in xy if abs(y - k) < 0.5) < 1e-6
    cells = {t.get_text(): t.get_fontweight() for t in axes_of(figure, "interactions:large").texts}
    assert cells["0.33"] == "bold" and cells["1.00"] == "normal"
    figure.canvas.draw()
    legible_and_inside({"ablation": figure})
    assert "Synthetic GPU" in texts(figure)


def test_without_the_file_or_its_times_there_is_no_figure(tmp_path):
    folder = folder_of(tmp_path / "a")
    (folder.path / "ablation.csv").unlink()
    assert figure_of.draw(vd.Folder(folder.path)) is None
    few = folder_of(tmp_path / "b", [r for r in rows() if r["variant"] == "cub/sum"])
    assert figure_of.draw(few) is None


def test_a_variant_that_lacks_is_a_gap_of_the_figure(tmp_path):
    lacking = ablation.variant(BASE | {"thread": "one-load", "between": "fan-in"})
    figure = figure_of.draw(folder_of(tmp_path / "m", rows(without=[lacking])))
    assert "–" in texts(figure)


def test_what_shares_no_round_is_named_in_the_figure(tmp_path):
    """Of slow calls so few rounds are sampled that no round has all of an effect's pairs: here two, of rounds of their own."""
    folder = folder_of(tmp_path / "m", samples=True)
    assert "Not shown" not in texts(figure_of.draw(folder))
    path = folder.path / "ablation.samples.csv.gz"
    with gzip.open(path, "rt", newline="") as file:
        records = list(csv.DictReader(file))
    slow = [ablation.variant(BASE | {"thread": "one-load"} | more) for more in ({}, {"between": "atomic"})]
    for r in records:
        if r["variant"] in slow and r["n"] == str(2**28):
            keep = [k for k in range(24) if k % 4 == slow.index(r["variant"])]
            r |= {c: " ".join(r[c].split()[k] for k in keep) for c in ("round", "allocation", "time_s", "voided") if r[c]}
    synthetic.write_csv(path, records)
    figure = figure_of.draw(vd.Folder(folder.path))
    assert "\nNot shown (no common round): one-load at $2^{28}$, atomic at $2^{28}$." in texts(figure)
    figure.canvas.draw()
    legible_and_inside({"ablation": figure})


def test_the_names_of_many_effects_that_are_not_shown_take_lines_that_fit(tmp_path):
    of = [r if r["n"] == 2**12 else r | {"run_id": r["variant"]} for r in rows()]  # each in a run of its own
    figure = figure_of.draw(folder_of(tmp_path / "m", of))
    said = figure.texts[-1].get_text().partition("\nNot shown (different runs): ")[2]
    assert said.count("$2^") == 2 * len(figure_of.rows_of()) and said.count("\n") >= 2
    figure.canvas.draw()
    legible_and_inside({"ablation": figure})
    box, plots = figure.texts[-1].get_window_extent(), axes_of(figure, "effects").get_tightbbox()
    assert box.y1 < plots.y0, "the space below the panels is that of all lines"


def test_levels_name_every_choice_of_the_program():
    """Ids are composed of what src/strategies and src/kernels/ablation.cu call the choices."""
    from project import SOURCE
    headers = "".join((SOURCE / "src" / "strategies" / f"{level}.h").read_text() for level in ("thread", "block"))
    kernel = (SOURCE / "src" / "kernels" / "ablation.cu").read_text()
    for level, choices in LEVELS.items():
        for choice in choices:
            assert f'"{choice}"' in (kernel if level == "between" else headers), choice
