"""The generated tables of README and docs/, and the pictures: right numbers, and never out of date."""

import csv
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
import synthetic
from project import SOURCE

import claims
import summary
from report import results as rs
from report import tables as tb


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rows = [r | dict(zip(("speedup", "speedup_ci_low", "speedup_ci_high"), (1, 1, 1) if r["variant"].startswith("cub/")
                         else (0.98765, 0.98, 0.99)))
            for r in synthetic.gpu_rows(types=(summary.TYPE,), sizes=(2**10, *summary.SIZES, 2**30))]
    return synthetic.write_folder(tmp_path_factory.mktemp("results") / "synthetic", rows)


def test_the_projects_own_pages_are_up_to_date():
    assert summary.main(["--check"]) == 0


def fields(table: str, begin: str) -> list[str]:
    line = next(line for line in table.splitlines() if line.startswith(f"| {begin}"))
    return [field.strip() for field in line.split("|")][2:-1]


def test_the_comparison_has_each_groups_fastest_call_beside_cub(folder):
    table = summary.comparison(rs.Results(synthetic.write_means(folder, {"launch-floor": 2e-6})))
    # multiblock/last-block-warp: 4.2 us + 2^30 bytes at 3.2 TB/s; CUB: 5 us + 2^30 bytes at 4 TB/s.
    kernel, cub, read = 4.2e-6 + 2**30 / 3.2e12, 5e-6 + 2**30 / 4e12, 4e-6 + 2**30 / 4.5e12
    assert fields(table, "`multiblock/last-block-warp`") == [
        "sum", "device", "5.51", "25.2", f"{kernel * 1e6:.0f}", f"{2**30 / kernel / 1e12:.2f}",
        f"{100 * 2**30 / kernel / 5e12:.0f} %", f"{cub * 1e6:.0f}", "0.988 [0.980, 0.990]"]
    # unroll/unroll8-template: 5 us + 2^30 bytes at 2.9 TB/s + 15 us of the host; CUB: 8 us more than on the device.
    kernel, end_to_end = 20e-6 + 2**30 / 2.9e12, 13e-6 + 2**30 / 4e12
    cells = fields(table, "`unroll/")
    assert (cells[1], cells[4], cells[7]) == ("end to end", f"{kernel * 1e6:.0f}", f"{end_to_end * 1e6:.0f}")
    assert fields(table, "`cub/sum`")[-1] == "1"
    assert fields(table, "*only reading* (an empty call: 2.00 us)")[4] == f"{read * 1e6:.0f}"


def test_the_newest_cub_stands_beside_the_toolkits_by_default_and_in_any_order(tmp_path):
    gpu = synthetic.GPU | synthetic.NEWEST_CUB
    rows = synthetic.gpu_rows(types=(summary.TYPE,), sizes=summary.SIZES, gpu=gpu)
    folder = synthetic.write_folder(tmp_path / "m", rows, synthetic.catalog_rows(gpu))
    table = summary.comparison(rs.Results(synthetic.write_means(folder, {"launch-floor": 2e-6})))
    # 2^20 floats: 5 us and 2^22 bytes at 4.0 and 3.9 TB/s, and without the second launch 2 us less.
    assert [line.split("|")[1:5] for line in table.splitlines()[-4:-1]] == [
        [" `cub@3.5.0/sum` [run_to_run] ", " sum ", " device ", " 6.08 "],
        [" `cub@3.5.0/sum` [not_guaranteed] ", " sum ", " device ", " 4.08 "],
        [" `cub/sum` ", " sum ", " device ", " 6.05 "]]


def test_sums_from_python_have_errors_and_speeds_beside_cub(tmp_path):
    folder = synthetic.write_folder(tmp_path / "m")

    def row(variant, operation="sum", n=2**28, mode="replay", speedup=0.5, ulps=3, dataset="random", **more):
        # Of an exact sum of 3, a unit is 2^-22.
        return synthetic.timed(1e-3, experiment="frontier", variant=variant, operation=operation, n=n, dataset=dataset,
                               timing_mode=mode, settings="") | dict(
            abs_error=ulps / 2**22, exact_result=3, read_time_s=1e-4, speedup=speedup) | more

    cub = [row("cub/sum", n=n, mode="device") for n in (2**20, 2**28)]
    synthetic.write_csv(folder / "frontier.csv", cub + [r | dict(dataset="spread") for r in cub])
    synthetic.write_csv(folder / "frontier-python.csv", [
        *cub, row("torch/sum", n=2**20, speedup=0.754), row("torch/sum", speedup=0.976), row("torch/sum", dataset="spread", ulps=1000),
        row("torch/sum", mode="end_to_end", speedup=0.1), row("jax/sum", mode="end_to_end", speedup=0.6)])
    table = summary.errors_from_python(rs.Results(folder))
    assert fields(table, "torch.sum") == ["f32", "0.75", "0.98", "3", "10^3", "—"]
    assert fields(table, "jax.numpy.sum, its call") == ["f32", "—", "0.60", "3", "—", "—"] and "CUB |" not in table
    of_cpu = [row(v, n=2**20, mode="end_to_end", ulps=u, device="cpu", dataset=d, time_median_s=s) for v, u, d, s in (
        ("numpy/sum", 12, "random", 2e-3), ("numpy/sum", 0, "spread", 2e-3), ("exact/cpu", 0.25, "random", 4e-4),
        ("exact/cpu", 0.25, "spread", 0.02))]
    synthetic.write_csv(folder / "frontier-python-cpu.csv", of_cpu)
    table = summary.errors_on_cpu(rs.Results(folder))
    assert fields(table, "numpy.sum") == ["f32", "2", "2", "12", "0", "—"]
    assert fields(table, "`exact/cpu`") == ["f32", "0.4", "20", "0.25", "0.25", "—"]


def test_each_kind_of_data_has_the_least_speedup_of_exact_sums_and_its_size(tmp_path):
    folder = synthetic.write_folder(tmp_path / "m")

    def row(n, speedup, dataset="giants", variant="exact/sum", **more):
        return synthetic.timed(1e-3, experiment="exact", variant=variant, operation="sum", n=n, dataset=dataset,
                               timing_mode="device", settings="") | dict(speedup=speedup) | more

    synthetic.write_csv(folder / "exact.csv", [
        row(2**20, 0.834), row(2**22, 0.9), row(2**20, 0.1, variant="tuned/sum"), row(2**20, 1.5, "spread"),
        row(2**13, 0.664, timing_mode="graph"), row(2**20, 0.2, element_type="i32")])
    table = summary.data_of_exact(rs.Results(folder))
    assert fields(table, "`giants`") == ["0.83 (2^20)", "0.66 (2^13)", "—", "—"]
    assert fields(table, "`spread`") == ["1.50 (2^20)", "—", "—", "—"]


def test_the_goals_that_are_missed_are_told_by_what_misses_them(tmp_path):
    folder = synthetic.write_folder(tmp_path / "m")
    blank = dict.fromkeys(tb.TABLES["goals"].names, "") | dict(quantity="speedup", points=9)
    synthetic.write_csv(folder / "goals.csv", [
        blank | dict(goal="a", what="near the ceiling", demanded=1.5, measured=1.25, verdict="missed"),
        blank | dict(goal="a", quantity="slower", demanded=0, measured=0, verdict="met"),
        blank | dict(goal="b", what="faster", demanded=1, measured=2, verdict="met")])
    assert summary.tuned(rs.Results(folder)).splitlines()[2:] == [
        "| near the ceiling | mean speedup at least 1.5 | mean 1.250 |"]


def test_the_facts_of_kernels_have_each_picture_with_its_claims_counts_and_time():
    results = rs.Results(SOURCE / "experiments" / "results" / "nvidia-h200")
    rows = {row["variant"]: row for row in csv.DictReader(io.StringIO(summary.gallery.facts_of_kernels(results)))}
    assert set(rows) == {variant for variant, *_ in summary.gallery.pictures().values()}
    assert all(row[column] for row in rows.values() for column in ("what_it_does", "block_barriers", "time_us", "timing_mode"))
    chunked = results.row("comparison", variant="squares/chunked", n=2**24, element_type="f32", timing_mode="end_to_end",
                          settings="block=256;finish=host;index=document")
    assert float(rows["squares/chunked"]["time_us"]) == round(1e6 * chunked["time_median_s"])


def test_a_kernel_has_the_claims_that_either_side_is_judged_by():
    def rows(variant, base):
        row = pd.Series(dict(variant=variant, base=base))
        return row, pd.DataFrame([row]), "holds"

    verdicts = {"S1": rows("a/c:block=64", "a/b"), "S2": rows("a/d", "a/c"), "S3": rows("a/d", "a/b")}
    assert summary.gallery.claims_on("a/c", verdicts) == ["S1", "S2"] and summary.gallery.claims_on("a/e", verdicts) == []


def test_counters_that_agree_alike_share_a_line(monkeypatch):
    def row(counter, simulated, profiled):
        return dict(counter=counter, simulated=simulated, profiled=profiled, element_type="f32", settings="load=independent",
                    variant="a/b", n=64)

    monkeypatch.setattr(rs, "read_csv", lambda path: pd.DataFrame([
        *(row(f"global load {unit}", 8, 8) for unit in ("requests", "sectors")), row("shared load wavefronts", 100, 103),
        row("shared load wavefronts", 9, 9)]))
    assert summary.gallery.agreement(None).splitlines()[2:] == [
        "| global load requests, sectors | 1 | 1 |  |  |", "| shared load wavefronts | 2 | 1 |  | 1, by up to 3.0 % |"]


def test_a_claim_has_its_sentence_as_long_as_its_verdict_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "LISTED", {"claims": [{"id": "L7"}]})
    monkeypatch.setattr(claims, "in_words", lambda: {"L7": dict(verdict="mixed; at 2^28: holds", sentence="It depends.")})
    blank = dict.fromkeys(tb.VERDICTS.names, "") | dict(claim="L7", verdict="mixed", statement="it costs little", text_figure="2 | 3")
    rows = [blank | dict(role="claim", n=2**20, reason="holds at 64 loads"),
            *(blank | dict(role="step", n=2**20, verdict="holds", ratio=r, ci_low=r, ci_high=r, base="a/b", variant="a/c")
              for r in (0.8, 1, 0.9, 0.95))]
    shown = {}
    for verdict in ("holds", "mixed"):
        (tmp_path / verdict).mkdir()
        synthetic.write_csv(tmp_path / verdict / "verdicts.csv", [*rows, blank | dict(role="large", n=2**28, verdict=verdict)])
        shown[verdict] = summary.claims(rs.Results(tmp_path / verdict)).splitlines()[-1]
    assert shown["holds"] == r"| L7: it costs little | 2 \| 3 | 0.800 to 1.00 | **mixed**; at 2^28: holds | It depends. |"
    assert shown["mixed"] == r"| L7: it costs little | 2 \| 3 | 0.800 to 1.00 | **mixed** |  |"


def test_each_claim_is_told_by_a_person_of_the_verdict_that_it_has():
    said = claims.in_words()
    told = {claim: row["verdict"] for claim, row in said.items()}
    assert told == {claim: verdict for claim, (*_, verdict) in claims.judged(rs.Results(SOURCE / "experiments" / "results" / "nvidia-h200")).items()}
    assert [c for c, row in said.items() if not 5 <= len(row["sentence"].split()) <= 28] == []


def test_what_was_counted_stands_where_there_is_no_ratio():
    reasons = ["above 1 (657.3 over 500, probes.csv)", "verified", "3,072 of 4,096 blocks wrong (GPU, as-printed.csv)"]
    for reason, shown in zip(reasons, ("657.3 over 500", "", "3,072 of 4,096 blocks wrong")):
        tests = pd.DataFrame([dict(ratio=1, ci_low=np.nan, base="", variant="", reason=reason)])
        assert summary.measured(tests) == shown


def test_a_table_is_written_between_its_markers(folder, tmp_path, monkeypatch):
    page = "a\n<!-- generated:x by tools/summary.py -->\nold\n<!-- end of generated:x -->\nb\n"
    (tmp_path / "README.md").write_text(page)
    monkeypatch.setattr(summary, "TABLES", (("README.md", "x", lambda folder: "| new |"),))
    monkeypatch.setattr(summary, "PICTURES", {})
    arguments = ["--root", str(tmp_path), "--results", str(folder)]
    assert summary.main([*arguments, "--check"]) == 1 and (tmp_path / "README.md").read_text() == page
    assert summary.main(arguments) == 0 and (tmp_path / "README.md").read_text() == page.replace("old", "| new |")
    assert summary.main([*arguments, "--check"]) == 0
    (tmp_path / "README.md").write_text("without markers")
    with pytest.raises(SystemExit, match="must hold each marker once"):
        summary.main(arguments)


def test_a_file_without_markers_is_written_as_a_whole(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "TABLES", (("a.csv", None, lambda folder: "x\n1\n"),))
    monkeypatch.setattr(summary, "PICTURES", {})
    arguments = ["--root", str(tmp_path), "--results", str(folder)]
    for old in (None, "x\n1\n2\n"):
        if old:
            (tmp_path / "a.csv").write_text(old)
        assert summary.main([*arguments, "--check"]) == 1 and (tmp_path / "a.csv").exists() == bool(old)
        assert summary.main(arguments) == 0 and (tmp_path / "a.csv").read_text() == "x\n1\n"
        assert summary.main([*arguments, "--check"]) == 0


def test_a_line_says_which_card_and_commit_a_pages_times_are_of(tmp_path):
    def run(card, commit, **of):
        return dict(machine_id=card, git_revision=commit) | of

    def machine(name, runs, tools=()):
        folder = synthetic.write_folder(tmp_path / name)
        record = json.loads((folder / "machine.json").read_text())
        (folder / "machine.json").write_text(json.dumps(record | dict(runs=runs, tools=list(tools), gpu=dict(name="G", uuid="GPU-00000000-0"),
                                                                    build=dict(git_revision="2222222222"))))
        return rs.Results(folder)

    card = "GPU-12345678-9abc"
    results = machine("m", [run(card, "0123456789", experiment="squares"), run(card, "0123456789", experiment="twopass"),
                            run(card, "0123456789", experiment="tuned"), run("GPU-2", "abcdef0123", experiment="tuned")],
                      [run(None, None, tool="compare", sha256={"to-host.csv": "1"})])
    machine("c", [run("A CPU", "abcdef0123", experiment="cpu"), run("A CPU", "1111111111", experiment="cpu", git_dirty=True)])
    assert summary.measured_on("squares twopass", results) == "Measured on G GPU-12345678, commit 01234567."
    assert summary.measured_on("tuned", results) == (
        "Measured on G GPU-12345678, commit 01234567 and G GPU-2, commit abcdef01.")
    assert " ".join(summary.measured_on("squares to-host c/cpu twopass", results).split()) == (
        "Measured `squares`, `twopass` on G GPU-12345678, commit 01234567. `to-host` on G (card not recorded), commit not "
        "recorded. `cpu` on A CPU, commit abcdef01 and 11111111 (with changes).")
    with pytest.raises(SystemExit, match="there is no levels.csv"):
        summary.measured_on("levels", results)
    (results.folder / "levels.csv").touch()
    assert summary.measured_on("levels", results) == "Measured on G GPU-00000000, commit 22222222."


def test_a_picture_of_other_results_or_none_is_noticed(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "TABLES", ())
    monkeypatch.setattr(summary, "PICTURES", {"p.png": "speedup"})
    results = shutil.copytree(folder, tmp_path / "results")
    arguments = ["--root", str(tmp_path), "--results", str(results)]
    assert [summary.main(a) for a in ([*arguments, "--check"], arguments, [*arguments, "--check"])] == [1, 0, 0]
    lines = (results / "comparison.csv").read_text().splitlines(keepends=True)
    (results / "comparison.csv").write_text("".join(lines[:1] + lines[2:]))  # without one point
    assert summary.main([*arguments, "--check"]) == 1


def test_checks_are_counted(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    synthetic.write_checks(copy)
    synthetic.write_means(copy, {f"{file}.{mode}": 0.021 for file in ("repeat", "repeat-relative")
                                 for mode in ("device", "end_to_end")})
    planted = {"found": True, "too_small_beside_other": False}
    (copy / "selftest.json").write_text(json.dumps(
        {"together": {"false_positives": 3, "comparisons": 64}, "apart": {"false_positives": 2, "comparisons": 64},
         "planted": [planted, planted | {"found": False}, planted | {"too_small_beside_other": True}]}))
    counted = summary.checks(rs.Results(copy))
    assert counted["nvbench, `cub/sum`: within 3 % (below 2^22, 6 %)"] == "3 of 5, at most 9 % apart"
    assert counted["a plain loop, `cub/sum` in a graph: within 3 %"].startswith("2 of 2")
    assert counted["two runs, on the device: the interval includes 1"].startswith("75.0 % of 4; 2.1 % wide")
    assert counted["`selftest`, a variant against itself: the interval excludes 1"] == "3 of 64"
    assert counted["`selftest`, planted slowdowns of 0, 5 and 10 %: reported correctly"] == "1 of 3"
