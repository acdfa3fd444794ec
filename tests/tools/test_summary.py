"""The generated blocks of README and docs/, and the figure: right numbers, and never out of date."""

import json
import re
import shutil
from pathlib import Path

import pytest
import synthetic
from project import SOURCE

import goals
import results as rs
import summary

PAGES = {page: "before\n" + "".join(f"{begin}\nstale text\n{end}\nafter\n" for where, name, _ in summary.BLOCKS
                                   if where == page for begin, end in [summary.markers(name)])
         for page, _, _ in summary.BLOCKS}
README = PAGES["README.md"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """GPU results of the one type that the block shows, at fewer sizes."""
    rows = synthetic.gpu_rows(types=(summary.TYPE,), sizes=(2**10, *summary.SIZES, 2**30))
    return synthetic.write_folder(tmp_path_factory.mktemp("results") / "synthetic", rows)


def write_pages(root: Path) -> Path:
    (root / "docs").mkdir()
    for page, text in PAGES.items():
        (root / page).write_text(text)
    return root


@pytest.fixture
def project(tmp_path) -> Path:
    return write_pages(tmp_path)


@pytest.fixture(scope="module")
def written(tmp_path_factory, folder) -> Path:
    """A project whose README and figure are up to date; tests copy it."""
    root = write_pages(tmp_path_factory.mktemp("written"))
    assert run(root, folder) == 0
    return root


def run(project: Path, results: Path, *more: str) -> int:
    return summary.main(["--root", str(project), "--results", str(results), *more])


def test_the_projects_own_readme_is_up_to_date():
    assert summary.main(["--check"]) == 0


def block(folder: Path, name: str = "comparison") -> str:
    """What is written for a results folder."""
    made = next(made for _, which, made in summary.BLOCKS if which == name)
    return made(rs.read_results(folder))


def test_check_writes_nothing(project, folder):
    assert run(project, folder, "--check") == 1
    assert {page: (project / page).read_text() for page in PAGES} == PAGES
    assert not (project / "docs" / "comparison.png").exists()


def test_writes_between_the_markers_and_then_is_up_to_date(written, folder):
    text = (written / "README.md").read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "stale text" not in text
    assert run(written, folder, "--check") == 0


def test_an_edited_number_is_noticed(written, folder, tmp_path):
    copy = shutil.copytree(written, tmp_path / "copy")
    (copy / "README.md").write_text(re.sub(r"\*\*(\d)", r"**9\1", (copy / "README.md").read_text()))
    assert run(copy, folder, "--check") == 1


def test_a_figure_of_other_results_or_none_is_noticed(written, folder, tmp_path):
    results = shutil.copytree(folder, tmp_path / "results")
    lines = (results / "comparison.csv").read_text().splitlines(keepends=True)
    (results / "comparison.csv").write_text("".join(lines[:1] + lines[2:]))  # without one point
    copy = shutil.copytree(written, tmp_path / "copy")
    (copy / "README.md").write_text(summary.with_block(README, "comparison", block(results)))
    assert run(copy, results, "--check") == 1
    (copy / "README.md").write_text((written / "README.md").read_text())
    (copy / "docs" / "comparison.png").unlink()
    assert run(copy, folder, "--check") == 1


def test_the_numbers_are_those_of_the_results(folder):
    text = block(folder)
    # multiblock/last-block-warp: 4.2 us + 2^30 bytes at 3.2 TB/s; CUB: 5 us + 2^30 bytes at 4 TB/s.
    kernel, cub = 4.2e-6 + 2**30 / 3.2e12, 5e-6 + 2**30 / 4e12
    line = next(line for line in text.splitlines() if line.startswith("| `multiblock/last-block-warp`"))
    # Without raw samples: what two intervals of +-1 % allow together, and two digits of its width.
    assert [field.strip() for field in line.split("|")][2:-1] == [
        "sum", "device", "5.51", "25.2", f"{kernel * 1e6:.0f}", f"{2**30 / kernel / 1e12:.2f}",
        f"{100 * 2**30 / kernel / 5e12:.0f} %", f"{cub * 1e6:.0f}",
        f"{cub / kernel:.3f} [{cub / kernel / synthetic.REACH:.3f}, {cub / kernel * synthetic.REACH:.3f}]"]
    fastest = 4.8e-6 + 2**30 / 3.8e12  # twopass/template-unrolled
    assert f"**{cub * 1e6:.0f} us** by CUB: a speedup over CUB of {cub / fastest:.3f} [" in " ".join(text.split())
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))
    assert "paired by round" not in text


def test_what_finishes_on_the_host_is_timed_and_compared_end_to_end(folder):
    line = next(line for line in block(folder).splitlines() if line.startswith("| `unroll/"))
    fields = [field.strip() for field in line.split("|")]
    # unroll/unroll8-template: 5 us + 2^30 bytes at 2.9 TB/s + 15 us of the host; CUB: 8 us more than on the device.
    kernel, cub = 20e-6 + 2**30 / 2.9e12, 13e-6 + 2**30 / 4e12
    assert fields[3] == "end to end" and fields[6] == f"{kernel * 1e6:.0f}" and fields[9] == f"{cub * 1e6:.0f}"
    assert fields[10].startswith(f"{cub / kernel:.3f} [")
    assert "device part" not in block(folder)


def test_speedups_are_paired_by_round_where_there_are_samples(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "m")
    synthetic.write_samples(copy)
    kernel, cub = 4.2e-6 + 2**30 / 3.2e12, 5e-6 + 2**30 / 4e12
    line = next(line for line in block(copy).splitlines() if line.startswith("| `multiblock/"))
    assert line.split("|")[-2].strip().startswith(f"{cub / kernel:.4f} [")
    assert "interval, paired by round." in block(copy)


def test_the_read_ceiling_stands_under_the_kernels_where_they_were_measured(folder, tmp_path):
    read, cub = 4e-6 + 2**30 / 4.5e12, 5e-6 + 2**30 / 4e12  # of the synthetic rows
    line = next(line for line in block(folder).splitlines() if "only reading" in line)
    assert [field.strip() for field in line.split("|")][1:-1] == [
        "*only reading* (an empty call: 2.00 us)", "none", "device", "4.93", "18.9", f"{read * 1e6:.0f}",
        f"{2**30 / read / 1e12:.2f}", f"{100 * 2**30 / read / 5e12:.0f} %", f"{cub * 1e6:.0f}", f"{cub / read:.2f}"]
    # The program paired the share by round; the two medians beside each other are something else.
    rows = [r | (dict(share_of_read_ceiling=0.8) if r["variant"] == "cub/sum" and r["status"] == "ok" else {})
            for r in synthetic.gpu_rows(types=(summary.TYPE,), sizes=summary.SIZES)]
    line = next(l for l in block(synthetic.write_folder(tmp_path / "share", rows)).splitlines() if "only reading" in l)
    assert line.split("|")[-2].strip() == "1.25"
    rows = [r | dict(read_time_s="") for r in synthetic.gpu_rows(types=(summary.TYPE,), sizes=summary.SIZES)]
    assert "only reading" not in block(synthetic.write_folder(tmp_path / "none", rows))


def test_fits_are_told_where_they_fit_and_not_where_they_do_not(folder, tmp_path):
    assert block(folder, "models") == ""
    shutil.copytree(folder, tmp_path / "m")
    synthetic.write_csv(tmp_path / "m" / "models.csv", synthetic.model_rows())
    lines = block(tmp_path / "m", "models").splitlines()
    assert "| *only reading* | device | 4.00 us + bytes / 4.00 TB/s | 6.00 us + bytes / 4.00 TB/s |" in lines
    assert "| `multiblock/last-block-warp` | device | -1.50 us + bytes / 4.00 TB/s | 6.00 us + bytes / 4.00 TB/s |" in lines
    assert "| `cub/sum` | device | does not fit: 42 % off | 6.00 us + bytes / 4.00 TB/s |" in lines
    assert "| `thrust/reduce` [default] | end to end |  | too few sizes |" in lines


def test_what_the_type_of_an_index_costs_is_told_where_it_was_measured(folder, tmp_path):
    assert block(folder, "index") == ""
    shutil.copytree(folder, tmp_path / "m")
    synthetic.write_csv(tmp_path / "m" / "index.csv", synthetic.index_rows())
    said = " ".join(block(tmp_path / "m", "index").split())
    assert "is 1.500 [1.479, 1.521] (`twopass/rolled`, 2^28) to 3.000 [2.958, 3.043] (`squares/strided` [block=256], 2^20)" in said
    assert "In the others it is 1.000 [0.986, 1.014] (`squares/chunked`, 2^20)" in said
    assert ("`multiblock/last-block-warp`, whose document counts by `int`, has a speedup of 0.500 [0.493, 0.507] over CUB's "
            "12,800 us at 2^28, and would have 0.312") in said


def test_what_nvbench_and_a_second_run_say_is_told_where_they_are(folder, tmp_path):
    assert block(folder, "trust") == ""
    shutil.copytree(folder, tmp_path / "m")
    synthetic.write_checks(tmp_path / "m")
    bullets = [line for line in block(tmp_path / "m", "trust").splitlines() if line.startswith("- ")]
    assert ("at 3 of 5 points (the largest difference is 9 %); from 2^23 on none differs by more than 1 %. reductio's "
            "time is the lower at 2 of 5; at the median it differs by +5 % below 2^22 and -0.25 % from there on. That is by "
            "the median over 6 processes") in bullets[0]
    assert bullets[0].endswith("; by their means 2 points agree.")
    assert bullets[1].endswith("agree within 3 % at all 2 points of `cub/sum` in a graph; and within 5 % at 2 of 3 "
                               "points (the largest difference is 8 %) of `cub/sum` and `thrust/reduce` end to end.")
    assert "lies outside reductio's interval at " in bullets[2] and " of 1 points, " in bullets[2]
    assert "holds 1 at 75 % of points timed on the device and 50 % of points timed end to end" in bullets[3]
    assert "relative to CUB in the same rounds, at 100 % of points timed on the device and 100 % of" in bullets[3]
    assert "wide: 10 % on the device and 10 % end to end of the ratio at the median point, relative" in bullets[3]
    assert bullets[3].endswith("only what was measured together compares.")
    assert bullets[3].startswith("- With the whole comparison run twice, ")
    synthetic.write_csv(tmp_path / "m" / "repeat.csv.gz", [r | {"element_type": "i32"} for r in synthetic.repeat_rows()])
    assert "- With the comparison of i32 run twice, " in block(tmp_path / "m", "trust")
    rows = [r for r in synthetic.agreement_rows() if abs(r["difference"]) < r["allowed"]]
    synthetic.write_csv(tmp_path / "m" / "nvbench-agreement.csv", rows)
    assert "6 %) at all 3 points; from 2^23 on none differs by more than 1 %." in block(tmp_path / "m", "trust")


def test_what_the_states_of_the_cache_change_is_of_limits(folder, tmp_path):
    there = shutil.copytree(folder, tmp_path / "m")
    times = {"warm": 3e-6, "cold_clean": 4e-6, "cold_dirty": 5e-6}
    synthetic.write_csv(there / "limits.csv", [synthetic.timed(t, variant="cub/sum", n=n, cache_state=state, experiment="limits")
                                               for n in (2**20, 2**24) for state, t in times.items()])
    assert "takes 25 to 25 % less time than a cold, clean one" in (said := block(there, "states").replace("\n", " "))
    assert "40 to 40 % less than a cold, dirty one" in said and "at most 25 % longer there" in said
    (there / "limits.csv").unlink()
    assert block(there, "states") == ""


def test_verdicts_are_counted_in_the_readme_and_told_one_by_one(folder, tmp_path):
    import verdicts

    there = shutil.copytree(folder, tmp_path / "synthetic")
    assert block(there, "claims") == "" and "docs/claims.md" not in block(there)
    assert verdicts.main([str(there)]) == 0
    said = block(there).replace("\n", " ")
    of = verdicts.counts(verdicts.read(there / "verdicts.csv").to_dict("records"))
    assert sum(of.values()) == 36 and of["reversed"] == 2
    assert f"Of the documents' 36 claims, 2 are reversed and {of['not decidable here']} are not decidable here" in said
    verdicts_told = block(there, "claims").partition("How a claim is judged:")[0]
    table = [line for line in verdicts_told.splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    assert len(table) == 36 and sum("**reversed**" in line for line in table) == of["reversed"]


def test_what_the_harness_costs_is_told(folder, tmp_path):
    assert "went into the harness" not in block(folder, "trust")
    machine = json.loads((shutil.copytree(folder, tmp_path / "m") / "machine.json").read_text())
    spent = {"wall_s": 200.0, "timed_s": 100.0, "cache_and_restoring_s": 40.0, "around_samples_s": 20.0,
             "memory_wait_s": 4.0}
    machine["runs"] = [{"run_id": "synthetic", "time_spent": spent}]
    (tmp_path / "m" / "machine.json").write_text(json.dumps(machine))
    assert "took 200 s, 50 % of them in the timed calls and 20 % in" in block(tmp_path / "m", "trust")
    assert "; 30 % went into the harness" in block(tmp_path / "m", "trust")


def test_a_host_that_is_busy_is_told(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "m")
    machine = json.loads((copied / "machine.json").read_text())
    cpu = {"samples": 200, "moved": 9, "on_busy_cpu": 77, "mean_chain_s": 6e-6}
    machine["runs"] = [{"run_id": "another", "host_cpu": cpu | {"on_busy_cpu": 1}}, {"run_id": "synthetic", "host_cpu": cpu}]
    (copied / "machine.json").write_text(json.dumps(machine))
    assert "by the host's clock 38 % were taken while" in block(copied, "trust")
    synthetic.write_csv(copied / "repeat.csv.gz", synthetic.repeat_rows())
    (copied / "repeat.machine.json").write_text(json.dumps({"runs": [{"run_id": "second", "host_cpu": cpu | {"on_busy_cpu": 0}}]}))
    assert "by the host's clock 38 % (in the second run 0 %) were taken while" in block(copied, "trust")
    (copied / "repeat.machine.json").write_text(json.dumps({"runs": [{"run_id": "cut", "host_cpu": None}]}))
    assert "by the host's clock 38 % were taken while" in block(copied, "trust")
    machine["runs"][1]["host_cpu"] = None
    (copied / "machine.json").write_text(json.dumps(machine))
    assert "by the host's clock" not in block(copied, "trust")


def test_other_gpus_beside_have_their_own_table(folder, tmp_path):
    here, other, same = (shutil.copytree(folder, tmp_path / name) for name in ("here", "other", "same"))
    assert block(here, "elsewhere") == "", "another card of the model is none"
    synthetic.write_checks(other)
    machine = json.loads((other / "machine.json").read_text())
    machine["gpu"]["name"] = "Another GPU"
    (other / "machine.json").write_text(json.dumps(machine))
    said = block(here, "elsewhere")
    assert said.startswith("On one Another GPU, 2^28 f32 are added up in ") and said.count("Another GPU") == 1
    tables = [[line for line in text.splitlines() if line.startswith("|")] for text in (said, block(folder))]
    assert tables[0] == tables[1] and len(tables[0]) > 4, "of the same times, so the README's table"
    assert said.endswith(block(other, "trust")) and "nvbench" in said
    (other / "comparison.csv").unlink()
    assert block(here, "elsewhere") == ""


def test_new_fits_make_the_readme_stale(written, folder, tmp_path):
    results = shutil.copytree(folder, tmp_path / "results")
    synthetic.write_csv(results / "models.csv", synthetic.model_rows())
    assert run(written, results, "--check") == 1


def test_without_results_it_says_so(project, tmp_path):
    assert run(project, tmp_path / "none") == 0
    assert summary.ABSENT in (project / "README.md").read_text()
    assert run(project, tmp_path / "none", "--check") == 0


def test_missing_markers_are_an_error(project, folder):
    (project / "README.md").write_text("nothing here\n")
    with pytest.raises(SystemExit, match="marker"):
        run(project, folder)


# What blocks are made of that the committed results may lack.
NEEDS = {"modern": "modern.csv", "tuned": "goals.csv", "tuned-time": "tuned.csv", "autotune": "autotune.csv"}


def test_the_projects_readme_has_every_generated_block():
    for page, name, _ in summary.BLOCKS:
        begin, end = summary.markers(name)
        written = (SOURCE / page).read_text().split(begin)[1].split(end)[0].strip()
        if (SOURCE / "experiments" / "results" / "nvidia-h200" / NEEDS.get(name, "comparison.csv")).exists():
            assert written and written != summary.ABSENT, (page, name)


def test_the_example_of_compare_comes_from_its_csv(tmp_path, folder):
    copied = shutil.copytree(folder, tmp_path / "results")
    (copied / "compare-example.csv").write_text(
        "base,variant,element_type,n,timing_mode,cache_state,base_time_s,ratio,ratio_low,ratio_high,confidence,verdict,"
        "rounds_to_decide\n"
        "cub/sum,a/b,f32,65536,device,cold_dirty,6.8e-06,1.0721,1.0504,1.0976,0.95,FASTER,\n"
        "cub/sum,a/b,f32,1048576,device,cold_dirty,9.1e-06,0.99497,0.9793,1.0104,0.95,UNDECIDED,2000\n")
    text = summary.compare_example(copied)
    assert "`reductio compare cub/sum a/b`" in text
    assert "| `a/b` | 2^16 | 6.80 us | 1.072 [1.050, 1.098] | FASTER |" in text
    assert "UNDECIDED, some 2,000 samples or more would decide" in text and "All 2 intervals" in text
    assert "a/b ran 0.995 times [0.979, 1.010] (UNDECIDED) as fast as cub/sum" in text


@pytest.fixture(scope="module")
def with_tuned(tmp_path_factory, folder) -> Path:
    copied = shutil.copytree(folder, tmp_path_factory.mktemp("tuned") / "synthetic")
    synthetic.write_tuned(copied, synthetic.tuned_rows((2**12, 2**20, 2**28)), synthetic.narrow_rows((2**20, 2**30)))
    assert goals.main([str(copied)]) == 0
    return copied


def test_our_own_sum_is_told_where_it_was_measured(folder, with_tuned):
    assert "tuned" not in block(folder) and block(folder, "tuned") == block(folder, "tuned-time") == ""
    said = " ".join(block(with_tuned).split())
    assert ("[`tuned/sum`](docs/tuned.md), has a speedup over CUB's sum of 1.300 (i32), 1.300 (f32) and 1.170 (f64) (L2 cold and "
            "dirty) and 1.500 (i32), 1.500 (f32) and 1.350 (f64) (in a graph, L2 warm)") in said
    lines = block(with_tuned, "tuned").splitlines()
    assert "![Speedup of tuned/sum over CUB against n on one Synthetic GPU](tuned.png)" in lines
    large = next(line for line in lines if line.startswith("| from 2^28 elements on"))
    assert large.endswith("| at least 99 % of the read ceiling | least 99.5 % [98.5, 100.5] (i32 device cold_dirty, 2^28) | "
                          "met, but an interval reaches across what is demanded |")
    assert "| L2 cold and dirty | f64 | 3 | 1.170 | 1.170 (2^12) | 0 | 0 | 98.5 % |" in lines
    assert "| in a graph, L2 warm | f64 | 3 | 1.350 | 1.350 (2^12) | 0 | 0 |  |" in lines  # no bound there
    time = 1.02 * (4 + 2**14 / 4.5e6)  # us
    line = next(line for line in block(with_tuned, "tuned-time").splitlines() if line.startswith("| 2^12 |"))
    assert line == f"| 2^12 | 2.00 | 2.00 | 0.0801 | {0.3 * time + 0.0801:.2f} | {time:.2f} | {1.3 * time:.2f} |"


def test_its_picture_is_drawn_and_goes_with_its_results(project, folder, with_tuned):
    assert run(project, with_tuned) == 0 and (project / "docs" / "tuned.png").exists()
    assert run(project, with_tuned, "--check") == 0
    assert run(project, folder, "--check") == 1
    assert run(project, folder) == 0 and not (project / "docs" / "tuned.png").exists()
