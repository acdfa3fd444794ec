"""What figure and text say of the project's own sum, of planted rows; nothing without them."""

import csv
import gzip
import json
import re
import shutil

import matplotlib.pyplot as plt
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, line, texts

import goals
import results as rs
from figures import tuned as figure
from text import tables, tuned

SIZES = (2**12, 3000001, 2**20, 2**28)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "synthetic"
    synthetic.write_folder(path, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    synthetic.write_tuned(path, synthetic.tuned_rows(SIZES), synthetic.narrow_rows((2**20, 2**30)))
    assert goals.main([str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def drawn(folder):
    yield figure.draw(folder)
    plt.close("all")


def test_the_figure_has_each_type_in_each_way(drawn):
    powers, others = [n for n in sorted(SIZES) if figure.is_power(n)], [3000001]
    for (mode, state), gain in synthetic.TUNED_GAINS.items():
        for element_type, less in (("i32", 1), ("f64", 0.9)):
            axes = axes_of(drawn, f"speedup:{'graph' if mode == 'graph' else state}:{element_type}")
            for label, sizes in ((element_type, powers), (f"{element_type}, {figure.DRAWN}", others)):
                xy, bars = line(axes, label)
                assert [x for x, _ in xy] == sizes and [y for _, y in xy] == pytest.approx([gain * less] * len(sizes))
                low, high = bars[0].get_segments()[0][:, 1]
                assert (low, high) == pytest.approx((0.99 * gain * less, 1.01 * gain * less))
    xy, _ = line(axes_of(drawn, "share:cold_clean"), "f32")
    assert [y for _, y in xy] == pytest.approx([1 / 1.02] * 2 + [1 / 1.005])
    assert [y for _, y in line(axes_of(drawn, "speedup:off:f64"), "f64")[0]] == pytest.approx([1.4] * 3)


def test_sizes_that_were_drawn_are_not_joined(drawn):
    axes = axes_of(drawn, "speedup:warm:i32")
    joined = {c.get_label(): c[0].get_linestyle() for c in axes.containers}
    assert joined["i32"] == "-" and joined[f"i32, {figure.DRAWN}"] == "None"


def test_intervals_that_reach_below_1_are_counted(drawn, folder, tmp_path):
    assert "None of " in texts(drawn) and " intervals reaches below 1." in texts(drawn)
    there = shutil.copytree(folder, tmp_path / "synthetic")
    rows = synthetic.tuned_rows(SIZES[:1], ("f32",))
    rows = [r | dict(speedup=0.5, speedup_ci_low=0.4, speedup_ci_high=1.1) if r["timing_mode"] == "graph" and r["variant"] == "tuned/sum"
            else r for r in rows]
    synthetic.write_csv(there / "tuned.csv", rows)
    drawn = figure.draw(there)
    assert "1 of 5 intervals reaches below 1, the farthest to 0.4000 (f32, in a graph, warm, n = $2^{12}$); none lies below it as a whole." in texts(drawn)
    plt.close(drawn)


def test_contexts_in_which_a_graphs_call_is_slow_are_told(folder, tmp_path):
    assert tuned.in_graphs(rs.read_results(folder)) == ""
    there = shutil.copytree(folder, tmp_path / "synthetic")
    with gzip.open(there / "tuned.samples.csv.gz", "rt", newline="") as file:
        samples = list(csv.DictReader(file))
    for s in samples:
        if (s["variant"], s["timing_mode"], s["element_type"], s["n"]) == ("tuned/sum", "graph", "f64", str(2**20)):
            s["time_s"] = " ".join("3e-3" if a in ("1", "2") else "1e-3" for a in s["allocation"].split(" "))
    synthetic.write_csv(there / "tuned.samples.csv.gz", samples)
    assert tuned.in_graphs(rs.read_results(there)) == (
        "In a graph, tuned/sum takes more than 1.25 times its median in some contexts at 1 of 12 points, all between 8 MiB and 8 "
        "MiB: in up to 2 of 12, and up to 3.00 times. At 1 of these points such a context is behind CUB.")


def test_shares_of_the_ceiling_are_drawn_where_it_is_a_bound(drawn):
    assert {a.get_gid() for a in drawn.axes if a.get_gid().startswith("share:")} == {
        "share:cold_dirty", "share:cold_clean", "share:off"}


def test_it_is_legible_and_names_the_gpu(drawn):
    drawn.canvas.draw()
    legible_and_inside({"tuned": drawn})
    assert "tuned/sum on one Synthetic GPU" in texts(drawn)


def test_what_was_not_measured_is_not_drawn(folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "synthetic")
    synthetic.write_csv(there / "tuned.csv", [r for r in synthetic.tuned_rows(SIZES[:1], ("f32",)) if r["timing_mode"] == "graph"])
    assert [a.get_gid() for a in figure.draw(there).axes] == ["speedup:graph:f32"]
    synthetic.write_csv(there / "tuned.csv", [r for r in synthetic.tuned_rows(SIZES[:1]) if r["variant"] == "cub/sum"])
    assert figure.draw(there) is None
    (there / "tuned.csv").unlink()
    assert figure.draw(there) is None


def test_the_paper_has_tables_of_it(folder):
    results = rs.read_results(folder)
    assert "0 missed and 3 not measured." in tuned.headline(results)
    made = tables.tuned_tables(results)
    assert all(made.count(rf"\label{{{label}}}") == 1 for label in ("tab:goals", "tab:tuned"))
    assert r"from $2^{28}$ elements on: at the read ceiling & at least 99\,\% of the read ceiling & least 99.5\,\% [" in made
    assert r"L2 cold and dirty, $2^{k}\pm1$ elements & f64 & 6 & 1.400 &" in made


def test_without_goals_nothing_is_said(folder, tmp_path, capsys):
    there = shutil.copytree(folder, tmp_path / "synthetic")
    (there / "goals.csv").unlink()
    results = rs.read_results(there)
    assert tables.tuned_tables(results).count(tables.ABSENT) == 2 and tuned.in_short(results) == ""


def test_a_missed_goal_stands_out(folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "synthetic")
    text = (there / "goals.csv").read_text()
    (there / "goals.csv").write_text(re.sub(r"(moments,least_speedup,all,.*?,)2,(.*),met", r"\g<1>1.5,\2,missed", text))
    line_ = next(l for l in tuned.goals_markdown(rs.read_results(there)).splitlines() if l.startswith("| moments"))
    assert "| least 1.500 [" in line_ and line_.endswith("| **missed** |")


def test_an_estimate_whose_interval_reaches_across_what_is_demanded_says_so(folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "synthetic")
    rows = goals.read(there)
    moments = next(r for r in rows if (r.goal, r.quantity, r.element_type) == ("moments", "least_speedup", "all"))

    def said(measured: float, low: float, high: float) -> str:
        moments.measured, moments.low, moments.high = measured, low, high
        moments.verdict = goals.MET if measured >= moments.demanded else goals.MISSED
        (there / "goals.csv").write_text("\n".join(",".join(f'"{f}"' for f in fields) for fields in goals.text_of(rows)) + "\n")
        return next(l for l in tuned.goals_markdown(rs.read_results(there)).splitlines() if l.startswith("| moments"))

    across = "but an interval reaches across what is demanded"
    assert "least 2.000 [1.950, 2.050] (" in (met := said(2, 1.95, 2.05)) and met.endswith("| met |")
    assert said(2, 1.85, 2.05).endswith(f"| met, {across} |")
    assert said(1.8, 1.7, 1.95).endswith(f"| **missed**, {across} |") and said(1.8, 1.7, 1.85).endswith("| **missed** |")
    moments.low = moments.high = float("nan")
    assert "least 2.000 (" in said(2, float("nan"), float("nan"))


@pytest.mark.parametrize("n, shown", [(2**12, "2^12"), (2**12 + 1, "2^12 + 1"), (2**12 - 1, "2^12 - 1"), (3000001, "3,000,001")])
def test_sizes_are_told_by_powers_of_two(n, shown):
    assert tuned.power(n) == shown


def test_on_which_other_gpu_goals_were_judged_is_told(folder, tmp_path):
    here, other = (shutil.copytree(folder, tmp_path / name) for name in ("here", "other"))
    assert goals.main([str(here)]) == 0 and tuned.on_other_gpus(rs.read_results(here)) == ""
    machine = json.loads((other / "machine.json").read_text())
    machine["gpu"]["name"] = "Another GPU"
    (other / "machine.json").write_text(json.dumps(machine))
    assert goals.main([str(here)]) == 0
    cold, graph = (tuned.of(goals.read(here), key, "speedup").points for key in ("elsewhere-cold", "elsewhere-graph"))
    assert cold == 2 * graph > 0
    assert tuned.on_other_gpus(rs.read_results(here)) == (
        f", those on another GPU by `tuned` on one Another GPU, at {cold} points cold and {graph} in a graph")

    for folder_, program in ((here, "new"), (other, "old")):
        machine = json.loads((folder_ / "machine.json").read_text())
        machine["runs"] = [{**run, "experiment": "tuned", "git_revision": program} for run in machine["runs"][:1]]
        (folder_ / "machine.json").write_text(json.dumps(machine))
    assert "on one Another GPU by another program, at " in tuned.on_other_gpus(rs.read_results(here))


def test_whether_the_table_and_the_goals_are_of_one_card_is_told(folder, tmp_path):
    assert tuned.cards(rs.read_results(folder)) == ""
    there = shutil.copytree(folder, tmp_path / "synthetic")

    program_of: dict[str, str] = {}

    def said(of_table: dict[str, str], of_narrow: str | None = None) -> str:
        synthetic.write_csv(there / "autotune.csv", [
            synthetic.timed(1e-5, variant="tuned/sum", n=2**k, experiment="autotune", run_id=run)
            for k, run in enumerate(of_table)])
        if of_narrow:
            text = (folder / "narrow.csv").read_text()
            (there / "narrow.csv").write_text(text.replace(",synthetic,", ",n,"))
        runs = {"synthetic": "GPU-1", "n": of_narrow, **of_table}
        (there / "machine.json").write_text(json.dumps({**synthetic.MACHINE, "runs": [
            dict(run_id=run, machine_id=card, experiment={"n": "narrow", "synthetic": "tuned"}.get(run, "autotune"),
                 git_revision=program_of.get(run, "p")) for run, card in runs.items()]}))
        return tuned.cards(rs.read_results(there))

    begin = ("From which runs of `autotune` the table of launches is, tuning.md says; beside the one that is kept, the goals are "
             "judged by ")
    end = ". `machine.json` names cards and programs."
    assert said({"a": "GPU-2"}) == f"{begin}`tuned` and `narrow` on another card{end}"
    assert said({"a": "GPU-1"}) == f"{begin}`tuned` and `narrow` on the same card{end}"
    assert said({"a": "GPU-1", "b": "GPU-2"}) == f"{begin}`tuned` and `narrow` on in part the same cards{end}"
    assert said({"a": ""}) == ""  # not recorded
    both = (folder / "tuned.csv").read_text()
    (there / "tuned.csv").write_text(both.replace(",synthetic,", ",n,", both.count(",synthetic,") // 2))
    assert said({"a": "GPU-3"}, "GPU-2") == f"{begin}`tuned` on 2 other cards and `narrow` on another card{end}"
    (there / "tuned.csv").write_text(both)
    assert said({"a": "GPU-2"}, "GPU-2") == f"{begin}`tuned` on another card and `narrow` on the same card{end}"
    program_of["n"] = "q"
    assert said({"a": "GPU-2"}, "GPU-2").endswith(f"the same card, of which `narrow` by another program{end}")


def test_what_any_order_saves_is_told_above_256_mib(folder, tmp_path):
    assert tuned.in_any_order(rs.read_results(folder)) == ""
    rows = synthetic.tuned_rows((2**26, 2**28), types=("f32",))
    sums = [r for r in rows if r["variant"] == "tuned/sum" and r["cache_state"] == "cold_dirty" and r["timing_mode"] == "device"
            and r["n"] in (2**26, 2**28) and not r.get("offset_elements")]
    assert len(sums) == 2
    key = dict(experiment="tuned", element_type="f32", accumulator_type="f32", variant="tuned/sum-any-order",
               settings="reading=auto;per-sm=2")
    # Where nothing differs, up to 256 MiB, half the time would be noticed.
    any_order = [synthetic.timed(r["time_median_s"] * (0.5 if r["n"] == 2**26 else 0.98), n=r["n"], **key)
                 | synthetic.speedup_of(r["time_median_s"] * 0.98, 1.3 * r["time_median_s"]) for r in sums]
    there = tmp_path / "synthetic"
    synthetic.write_folder(there, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    synthetic.write_tuned(there, rows + any_order, synthetic.narrow_rows((2**20, 2**30)))
    share = 100 / 1.005 / 0.98
    assert tuned.in_any_order(rs.read_results(there)) == (
        "The time that any order saves, L2 cold and dirty: of f32 2.0 %, in the geometric mean of 1 size above 256 MiB (from 2.0 % "
        f"to 2.0 %), and it reads at {share:.1f} % of the read ceiling at least.")


def test_what_a_raw_workspace_costs_is_told_where_it_was_measured(folder, tmp_path):
    assert tuned.on_raw_workspace(rs.read_results(folder)) == "These results have no such times."
    there = tmp_path / "synthetic"
    synthetic.write_folder(there, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    rows = [{"schema_version": rs.SCHEMA_VERSION, "element_type": "f32", "timing_mode": "device", "cache_state": "cold_dirty",
             "n": n, "base_time_s": seconds, "ratio": ratio}
            for n, seconds, ratio in ((2**10, 4e-6, 0.8), (2**12, 4e-6, 0.5), (2**20, 6e-6, 0.75), (2**22, 6e-6, ""))]
    synthetic.write_csv(there / "raw-workspace.csv", rows)
    assert tuned.on_raw_workspace(rs.read_results(there)) == (
        "In the median of 3 sizes from 2^10 to 2^20 such a call takes 2.00 us longer (from 1.00 to 4.00), or 25 to 100 % (f32, L2 "
        "cold and dirty).")
    synthetic.write_csv(there / "raw-workspace.csv", rows[3:])
    assert tuned.on_raw_workspace(rs.read_results(there)) == "These results have no such times."


def test_what_cub_takes_to_the_host_without_a_copy_is_told_where_it_was_measured(folder, tmp_path):
    assert tuned.to_host(rs.read_results(folder)) == "These results have no such times."
    there = tmp_path / "synthetic"
    synthetic.write_folder(there, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    rows = [{"schema_version": rs.SCHEMA_VERSION, "base": "cub/sum-to-host", "variant": variant, "element_type": "f32",
             "timing_mode": "end_to_end", "cache_state": "cold_dirty", "n": n, "ratio": ratio}
            for variant, ratios in (("cub/sum", (0.8, 0.8, "")), ("tuned/sum-to-host", (1.25, 1.25 * 1.44, 9)))
            for n, ratio in zip((2**10, 2**12, 2**14), ratios)]
    synthetic.write_csv(there / "to-host.csv", rows)
    assert tuned.to_host(rs.read_results(there)) == (  # a size at which one of them failed counts for none
        "Over `cub/sum-to-host` the speedup of `tuned/sum-to-host` is 1.50 (1.25 to 1.80), and that of `cub/sum`, which is CUB's "
        "call with a copy, 0.80 (0.80 to 0.80): geometric means of 2 sizes from 2^10 to 2^12, in parentheses the least and the "
        "greatest (f32, end to end, L2 cold and dirty). The goal of 1.4 over `thrust::reduce` with a caching allocator and CUB, "
        "up to 2^18, has CUB's call with a copy; with this one in its place it would be missed at 2^10.")
    beside = tmp_path / "another"
    synthetic.write_folder(beside, synthetic.gpu_rows(types=("f32",), sizes=[2**20]),
                           machine=synthetic.MACHINE | {"gpu": synthetic.MACHINE["gpu"] | {"name": "Another GPU"}})
    synthetic.write_csv(beside / "to-host.csv", rows)
    assert tuned.to_host(rs.read_results(there)).endswith(
        " On one Another GPU these are 1.50 (1.25 to 1.80) and 0.80 (0.80 to 0.80), and it would be missed at 2^10.")
    large = [r | dict(n=r["n"] << 9) for r in rows]  # the goal ends before
    synthetic.write_csv(there / "to-host.csv", large)
    assert " in its place it would be met. On one Another GPU these are 1.50 " in tuned.to_host(rs.read_results(there))
    synthetic.write_csv(beside / "to-host.csv", large)
    assert "it would be" not in tuned.to_host(rs.read_results(there))
    for others in ([r | dict(cache_state="warm") for r in rows], rows[3:], [*rows, rows[0]],
                   [rows[0] | dict(element_type="f64"), *rows[1:]], [rows[0] | dict(base="x/y"), *rows[1:]]):
        synthetic.write_csv(there / "to-host.csv", others)
        with pytest.raises(rs.ResultsError, match="to-host.csv is not of cub/sum and .* run `reductio compare --csv` again"):
            tuned.to_host(rs.read_results(there))


@pytest.mark.parametrize("measured, shown", [(0.989971, "98.997 %"), (0.981, "98.1 %"), (0.99, "99.0 %"), (0.99004, "99.004 %")])
def test_a_share_has_the_digits_that_tell_it_from_what_is_demanded(measured, shown):
    row = goals.Row("large", "least_ceiling", "all", "all", "all", "all", 72, 0.99, measured)
    assert tuned.percent_of(row) == shown


def test_the_comparisons_least_share_of_large_sums_stands_beside(folder, tmp_path):
    assert tuned.in_comparison(rs.read_results(folder)) == ""
    there = tmp_path / "synthetic"
    key = dict(variant="tuned/sum", settings=synthetic.TUNED, element_type="f32", accumulator_type="f32")
    rows = [synthetic.timed(1e-3, n=n, **key) | dict(share_of_read_ceiling=share)
            for n, share in ((2**20, 0.5), (2**28, 0.97), (2**29, 0.98))]
    synthetic.write_folder(there, synthetic.gpu_rows(types=("f32",), sizes=[2**20]) + rows)
    assert tuned.in_comparison(rs.read_results(there)) == (
        "In `comparison`, another run, large sums come to 97.0 % of the read ceiling at least (f32, 2^28).")
