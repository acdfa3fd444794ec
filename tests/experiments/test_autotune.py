"""experiments/autotune.py: the table that planted times make, and what the committed one loses to it."""

import re
import sys

import pytest
import synthetic
from project import SOURCE

sys.path.insert(0, str(SOURCE / "experiments"))

import autotune  # noqa: E402

# Settings, and the time in us of n f32 elements on the device and in a graph.
STRIDED, TILED, CLUSTER, CHOSEN = (f"reading={r};vectors={v};per-sm={p};kept={k}" for r, v, p, k in (
    ("strided", 4, 2, "all"), ("tiled", 8, 1, "32"), ("cluster", 4, 16, "all"), ("auto", 4, 4, "all")))


def rows(times: dict, types=("f32",)) -> list[dict]:
    """times: by settings and n, device and graph in us; bytes are 4 n in every type."""
    return [synthetic.timed(us * 1e-6, experiment="autotune", variant="tuned/sum", settings=settings, element_type=t,
                            n=n * 4 // autotune.rs.ELEMENT_BYTES[t], timing_mode=mode,
                            cache_state="warm" if mode == "graph" else "cold_dirty")
            for (settings, n), both in times.items() for t in types for mode, us in zip(("device", "graph"), both)]


def folder(path, times, types=("f32", "f64", "i32")):
    return synthetic.write_folder(path, autotune=rows(times, types))


SMALL, MIDDLE, LARGE = 2**12, 2**16, 2**24  # 16 KiB, 256 KiB, 64 MiB
TIMES = {(CLUSTER, SMALL): (4, 1), (STRIDED, SMALL): (5, 2), (CHOSEN, SMALL): (4, 1),
         (CLUSTER, MIDDLE): (5.01, 2), (STRIDED, MIDDLE): (5, 2), (CHOSEN, MIDDLE): (5, 2.42),
         (STRIDED, LARGE): (40, 30), (TILED, LARGE): (30, 30), (CHOSEN, LARGE): (30, 30)}


def test_the_table_has_the_fastest_launch_of_each_size(tmp_path):
    sizes = autotune.sizes_of(folder(tmp_path / "m", TIMES), ("f32", "f64"))
    assert [s.bytes for s in sizes] == [2**14, 2**18, 2**26]
    # 0.1 % slower at 256 KiB is no reason for another row.
    assert autotune.code(sizes) == ["{256 * KiB, Reading::cluster, 4, 16},", "{SIZE_MAX, Reading::tiled, 8, 1, 32 * MiB},"]
    assert [fields[1:] for fields in autotune.losses(sizes)] == [
        ("cluster, vectors=4, per-sm=16", "2.00", "0.0 %"), ("strided, vectors=4, per-sm=2", "3.16", "10.0 %"),
        ("tiled, vectors=8, per-sm=1, kept=32 MiB", "30.00", "0.0 %")]


def test_a_row_says_how_much_stays_in_l2():
    def row(kept):
        return autotune.Launch("tiled", 8, 1, kept).row(32 * 2**20)

    assert row("all") == "{32 * MiB, Reading::tiled, 8, 1},"
    assert row("0") == "{32 * MiB, Reading::tiled, 8, 1, 0},"
    assert row("16") == "{32 * MiB, Reading::tiled, 8, 1, 16 * MiB},"


def test_cold_calls_and_graphs_count_alike(tmp_path):
    times = {(STRIDED, SMALL): (4, 2), (CLUSTER, SMALL): (5, 1), (CHOSEN, SMALL): (4, 2)}
    assert autotune.sizes_of(folder(tmp_path / "m", times), ("f32",))[0].best.reading == "cluster"


def test_a_launch_that_lacks_a_way_of_timing_is_not_chosen(tmp_path):
    measured = folder(tmp_path / "m", TIMES)
    lacking = [r for r in rows(TIMES) if not (r["settings"] == CLUSTER and r["timing_mode"] == "graph")]
    synthetic.write_csv(measured / "autotune.csv", lacking)
    assert {s.best.reading for s in autotune.sizes_of(measured, ("f32",))} == {"strided", "tiled"}


def test_types_that_share_a_table_share_its_sizes(tmp_path):
    """f64 makes the choice that f32 alone would not."""
    measured = folder(tmp_path / "m", TIMES)
    slow = {key: tuple(10 * t for t in both) if key[0] == CLUSTER else both for key, both in TIMES.items()}
    synthetic.write_csv(measured / "autotune.csv", rows(TIMES) + rows(slow, ("f64",)))
    assert autotune.sizes_of(measured, ("f32",))[0].best.reading == "cluster"
    assert autotune.sizes_of(measured, ("f32", "f64"))[0].best.reading == "strided"


def test_cubs_policy_is_the_fastest_over_all_sizes(tmp_path, capsys):
    """One for all n, by sizes that all policies have; the gain is over cub/sum's own."""
    us = {("cub/sum", "counts=auto"): {SMALL: 4, LARGE: 40}, ("cub/sum-tuned", "policy=auto"): {SMALL: 4, LARGE: 40},
          ("cub/sum-tuned", "policy=512x16x4"): {SMALL: 5, LARGE: 20},
          ("cub/sum-tuned", "policy=128x8x2"): {SMALL: 2, LARGE: 64, 2**26: 1}}
    measured = folder(tmp_path / "m", TIMES)
    synthetic.write_csv(measured / "autotune.csv", rows(TIMES, ("f32", "f64", "i32")) + [
        synthetic.timed(t * 1e-6, experiment="autotune", variant=variant, settings=settings, element_type="f32", n=n)
        for (variant, settings), times in us.items() for n, t in times.items()])
    gains = autotune.policies(measured, "f32")
    assert list(gains) == ["512x16x4", "128x8x2", "auto"]
    assert list(gains.values()) == pytest.approx([1.6**0.5, 1.25**0.5, 1])
    assert autotune.policies(measured, "f64") == {}
    # A program that was built without them has CUB's own and `auto` alone.
    few = {key: times for key, times in us.items() if "x" not in key[1]}
    without = folder(tmp_path / "without", TIMES)
    synthetic.write_csv(without / "autotune.csv", rows(TIMES, ("f32", "f64", "i32")) + [
        synthetic.timed(t * 1e-6, experiment="autotune", variant=variant, settings=settings, element_type="f32", n=n)
        for (variant, settings), times in few.items() for n, t in times.items()])
    assert autotune.policies(without, "f32") == {}
    assert autotune.main([str(measured)]) == 0
    assert "f32: cub/sum-tuned 512x16x4   1.265 times as fast as cub/sum" in capsys.readouterr().out


def test_the_policy_of_cubs_sum_loses_nothing_to_the_fastest_of_the_committed_run():
    """Where that run had all policies; nothing beyond what differs from run to run."""
    source = (SOURCE / "baselines" / "cub_tuned.cu").read_text()
    chosen = {element_type: re.search(rf"best{name} = {{(\d+), (\d+), (\d+)}}", source) for element_type, name in
              (("i32", ""), ("f32", "<float>"), ("f64", "<double>"))}
    assert all(chosen.values())
    for element_type, policy in chosen.items():
        gains = autotune.policies(SOURCE / "experiments" / "results" / "nvidia-h200", element_type)
        lost = max(gains.values()) / gains["x".join(policy.groups())] - 1 if gains else 0
        assert lost <= autotune.SLACK, f"{element_type}: {lost:.3f}: write the fastest into cub_tuned.cu"


def test_it_prints_both_tables(tmp_path, capsys):
    measured = folder(tmp_path / "m", TIMES)
    assert autotune.main([str(measured)]) == 0
    said = capsys.readouterr().out
    assert said.count("{SIZE_MAX, Reading::tiled, 8, 1, 32 * MiB},") == 2
    assert "inline constexpr LaunchRow one_word_table[] = {\n    {256 * KiB, Reading::cluster, 4, 16},\n" in said
    assert re.search(r"256 KiB  strided, vectors=4, per-sm=2 +3.16 us +10.0 %", said)


@pytest.mark.parametrize("write, says", [
    (lambda path: None, "has no autotune.csv: run `reductio run autotune`"),
    (lambda path: synthetic.write_csv(path / "autotune.csv", [synthetic.timed(1e-5, variant="cub/sum", n=8)]),
     "has no times of tuned/sum in i32"),
    (lambda path: synthetic.write_csv(path / "autotune.csv", [
        synthetic.timed(1e-5, variant="tuned/sum", n=8, element_type="i32", settings="block=auto")]),
     "without the setting reading: run the experiment again")])
def test_errors_are_one_line(tmp_path, capsys, write, says):
    write(synthetic.write_folder(tmp_path / "m"))
    assert autotune.main([str(tmp_path / "m")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and says in said
