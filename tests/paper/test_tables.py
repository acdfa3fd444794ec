"""Numbers, sentences and tables are what the CSV gives, and change with it."""

import re

import pytest
import synthetic
from project import SOURCE
from synthetic import GPU, MACHINE, REACH, cpu_rows, gpu_rows, limits_rows, model_rows, row, timed, write_folder

import results as rs
import verdicts as vd
from text import findings, latex, steps, studies, tables

COMMITTED = SOURCE / "experiments" / "results" / "nvidia-h200"
SIZES = [2**20, 2**24, 2**28]
CUB = "cub/sum"


def read(folder, rows, **more):
    return rs.read_results(write_folder(folder, rows, **more))


def beside_cub(tmp_path, times: dict[str, float], width=0.01):
    """Device times at 2^28 f32 of some variants beside CUB's 100 us."""
    rows = [timed(t, width=width, variant=v, n=2**28) for v, t in {CUB: 100e-6, **times}.items()]
    return read(tmp_path / "m", rows, catalog=[{"variant": CUB}])


# ---------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("value, shown", [(0.98765, "0.988"), (1, "1.00"), (9.996, "10.0"), (12.34, "12.3"),
                                          (123.4, "123"), (999.6, "1000"), (12345.6, "12346"), (0.00509, "0.00509"),
                                          (0, "0")])
def test_three_digits(value, shown):
    assert latex.digits(value) == shown


@pytest.mark.parametrize("text, shown", [("2^28 of 2^k", "$2^{28}$ of $2^{k}$"), ("8.06e+05 cycles", r"$8.06\cdot10^{5}$ cycles"),
                                         ("1e-12", r"$1\cdot10^{-12}$"), ("2 % of a unit", r"2\,\% of a unit"),
                                         ("page-locked, U10 and e+5", "page-locked, U10 and e+5")])
def test_numbers_inside_of_text(text, shown):
    assert latex.numbers(latex.escape(text)) == shown


def test_equal_values_are_told_together():
    assert latex.grouped([("a", "128"), ("b", "256"), ("c", "128")], "in") == "128 in a and c, and 256 in b"


@pytest.mark.parametrize("seconds, shown", [(3.74e-6, r"3.74\,\textmu{}s"), (999.7e-6, r"1.00\,ms"), (0.25, r"250\,ms"),
                                            (2, r"2.00\,s"), (32e-9, r"32.0\,ns")])
def test_times_choose_their_unit(seconds, shown):
    assert latex.time(seconds) == shown


def test_bandwidth_sizes_and_powers():
    assert latex.bandwidth(4.283e12) == r"4.28\,TB/s"
    assert latex.bandwidth(999.9e9) == r"1.00\,TB/s"
    assert latex.binary(60 * 2**20) == r"60\,MiB"
    assert latex.power(2**24) == "$2^{24}$" and latex.power(10**8) == "$10^{8}$" and latex.power(1000003) == r"1\,000\,003"
    assert latex.percent(0.954) == r"95\,\%"
    assert latex.runs_of_sizes([4, 8, 32], [2, 4, 8, 16, 32]) == "$2^{2}$ to $2^{3}$ and $2^{5}$"


def test_text_is_escaped():
    assert latex.escape("a_b & 50% {x} #1 $2 ~^\\ <|>") == (
        r"a\_b \& 50\% \{x\} \#1 \$2 \textasciitilde{}\textasciicircum{}\textbackslash{} \textless{}\textbar{}"
        r"\textgreater{}")
    assert latex.escape("归约") == "??"
    assert latex.escape("--full runs it; a-b") == "-{}-full runs it; a-b"  # two hyphens, not a dash


# --------------------------------------------------------------------------------------------- findings


@pytest.mark.parametrize("time, said", [
    (80e-6, "a speedup over CUB of 1.25 [1.23, 1.27]. Of 1 hand-written kernel timed on the device, 1 is ahead of CUB, "
            "none is level"),
    (100.5e-6, "a speedup over CUB of 0.995 [0.981, 1.009]. Of 1 hand-written kernel timed on the device, none is ahead "
               "of CUB, 1 is "
               "level with it"),
    (200e-6, "a speedup over CUB of 0.500 [0.493, 0.507]. Of 1 hand-written kernel timed on the device, none is ahead of "
             "CUB, none is "
             "level with it (the interval holds 1), and 1 is behind"),
], ids=["ahead", "level", "behind"])
def test_the_sentence_on_cub_follows_the_data(tmp_path, time, said):
    found = findings.Findings(beside_cub(tmp_path, {"levels/naive": time}))
    assert said in found.at_size(2**28)
    assert "levels/" in found.at_size(2**28) and "100\\,\\textmu{}s" in found.at_size(2**28)


def test_each_variant_stands_by_its_fastest_settings(tmp_path):
    rows = [timed(100e-6, variant=CUB, n=2**28)]
    rows += [timed(t, variant="levels/naive", settings=f"finish={f}", n=2**28)
             for t, f in ((300e-6, "relaunch"), (50e-6, "atomic"))]
    found = findings.Findings(read(tmp_path / "m", rows))
    ahead, level, behind = found.standing(2**28)
    assert [s.words for s in ahead] == ["atomic"] and not level and not behind


def test_sizes_at_which_something_is_ahead(tmp_path):
    rows = [timed(10e-6, variant=CUB, n=n) for n in SIZES]
    rows += [timed(t, variant="mine/x", n=n) for n, t in zip(SIZES, (5e-6, 5e-6, 20e-6))]
    said = findings.Findings(read(tmp_path / "m", rows)).sizes()
    assert "by the interval of its speedup at 2: $2^{20}$ to $2^{24}$" in said
    rows[3:] = [timed(20e-6, variant="mine/x", n=n) for n in SIZES]
    assert "no hand-written kernel is ahead of CUB" in findings.Findings(read(tmp_path / "m2", rows)).sizes()


def test_sizes_at_which_something_is_ahead_end_to_end(tmp_path):
    sizes = [2**12, 2**20, 2**24]
    rows = [timed(t, variant=v, n=n, timing_mode=mode) for n in sizes for v, mode, t in
            ((CUB, "device", 10e-6), (CUB, "end_to_end", 20e-6), ("mine/x", "device", 20e-6), ("mine/y", "end_to_end", 30e-6))]
    rows += [timed(t, variant="mine/x", n=n, timing_mode="end_to_end") for n, t in zip(sizes, (10e-6, 10e-6, 16e-6))]
    found = findings.Findings(read(tmp_path / "m", rows))
    assert found.sizes().startswith("Timed on the device, over the 3 sizes") and "no hand-written kernel" in found.sizes()
    assert found.sizes_end_to_end() == (
        "End to end, some hand-written kernel is ahead at 3 of 3: $2^{12}$ to $2^{24}$; from $2^{22}$ on at most by "
        r"1.25 [1.23, 1.27], \texttt{mine/\allowbreak{}x} at $2^{24}$.")
    rows[-1] = timed(40e-6, variant="mine/x", n=sizes[-1], timing_mode="end_to_end")
    assert findings.Findings(read(tmp_path / "n", rows)).sizes_end_to_end().endswith(
        "at 2 of 3: $2^{12}$ to $2^{20}$, all of them below $2^{22}$.")
    assert findings.Findings(read(tmp_path / "o", rows[:1])).sizes_end_to_end() == findings.ABSENT


def test_what_the_cpus_fastest_sum_cannot_be_told_from_is_told(tmp_path):
    which = dict(device="cpu", cache_state="warm", timing_mode="end_to_end", n=2**24, experiment="cpu")
    rows = [timed(t, variant=v, width=w, **which) for v, t, w in
            (("openmp/sum", 1e-3, 0.5), ("thrust/cpu", 1.2e-3, 0.5), ("host/plain", 5e-3, 0.01))]
    said = findings.Findings(read(tmp_path / "m", None, cpu=rows, machine={**MACHINE, "gpu": None})).cpu()
    assert r"It cannot be told apart from \texttt{thrust/\allowbreak{}cpu}." in said
    said = findings.Findings(read(tmp_path / "n", None, cpu=[rows[0], rows[2]], machine={**MACHINE, "gpu": None})).cpu()
    assert "told apart" not in said


def test_device_parts_are_never_compared_as_whole_reductions(tmp_path):
    rows = [timed(100e-6, variant=CUB, n=2**28),
            timed(500e-6, variant="unroll/unroll8", n=2**28, timing_mode="end_to_end", device_part_median_s=1e-6)]
    said = findings.Findings(read(tmp_path / "m", rows))
    assert said.best(2**28) is None and said.at_size(2**28) == findings.ABSENT


def test_faults_are_told(tmp_path):
    rows = [timed(1e-4, variant=CUB, n=2**28), row(variant="mine/x", n=2**28, status="wrong", reason="got 1"),
            row(variant="mine/y", n=2**28, status="refused", reason="no")]
    said = findings.Findings(read(tmp_path / "m", rows)).status()
    assert "Of the run's 3 points, 1 is measured, none is over the experiment's limit on a call's time, and 1 is refused by a " \
           "variant or its library; " in said and "1 gave a wrong result" in said


def test_thrust_is_compared_end_to_end(tmp_path):
    rows = [timed(10e-6, variant=CUB, n=2**28), timed(20e-6, variant=CUB, n=2**28, timing_mode="end_to_end"),
            timed(30e-6, variant="thrust/reduce", n=2**28, timing_mode="end_to_end", settings="allocator=default")]
    said = findings.Findings(read(tmp_path / "m", rows)).thrust()
    assert r"30.0\,\textmu{}s against 20.0\,\textmu{}s at $2^{28}$, a speedup over CUB of 0.667 [0.657, 0.676]" in said


def test_ceiling_and_floor_are_told_by_state(tmp_path):
    said = findings.Findings(read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), limits=limits_rows())).limits()
    # 2^23 elements are the most that 50 MiB hold; times by the synthetic formulas.
    assert said.startswith(r"Only reading $2^{23}$ elements, the most that L2 could hold, takes 11.5\,\textmu{}s from a "
                           r"cold and dirty cache, 11.1\,\textmu{}s from a cold and clean")
    assert r"An empty call on a warm cache takes 2.00\,\textmu{}s, in a graph 1.00\,\textmu{}s." in said
    assert findings.Findings(read(tmp_path / "n", gpu_rows(types=("f32",), sizes=SIZES))).limits() == findings.ABSENT


def test_fits_are_counted(tmp_path):
    rows = [*model_rows(), synthetic.model_row(variant="mine/x", range="inside")]
    said = findings.Findings(read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), models=rows)).models()
    assert "the model fits 2 of 3 inside L2 and 2 of 2 beyond it" in said  # neither the read ceiling nor what has too few sizes


# ------------------------------------------------------------------------------------------------ steps


CLAIMED = {"variant": "levels/divergence-free", "settings": "block=256;finish=atomic", "element_type": "f32"}


def test_a_step_is_what_its_claim_is_judged_by(tmp_path):
    """The calls that claims.json names, and not the variants' default settings."""
    rows = [timed(12e-6, n=2**20, **CLAIMED)]
    rows += [timed(t, n=2**20, variant="levels/global-stride", settings=f"block=256;finish=atomic;granularity={g};index=document")
             for g, t in ((32, 18e-6), (4, 8e-6))]
    results = read(tmp_path / "m", rows)
    l1 = next(s for s in steps.steps() if s.claim == "L1")
    found = steps.gain(vd.Folder(results.folder), l1)
    assert found.before == 12e-6 and found.ratio == pytest.approx(12 / 8) and steps.gain(vd.Folder(results.folder), l1, True) is None
    line = next(l for l in tables.steps_table(results).splitlines() if l.startswith("L1 & "))
    assert line.startswith(r"L1 & \texttt{divergence-free} & \texttt{global-stride} (granularity=4) & device & --- & ")
    assert " & 12.0 & 1.50 [" in line


def test_the_committed_steps_are_the_committed_verdicts():
    results = rs.read_results(COMMITTED, COMMITTED.parent / "cpu-intel-xeon")
    judged, folder = vd.read(COMMITTED / "verdicts.csv"), vd.Folder(COMMITTED, results.cpu_folder)
    compared = 0
    for step in steps.steps():
        found = steps.gain(folder, step)
        if found is not None:
            rows = judged[(judged["claim"] == step.claim) & (judged["base"] == step.test["base"]) & (judged["n"] == found.n)
                          & (judged["variant"] == step.test["variant"]) & (judged["timing_mode"] == step.modes[-1])
                          & (judged["role"] != vd.BESIDE)]
            assert rows["ratio"].iloc[0] == pytest.approx(found.ratio, rel=1e-4), step
            compared += 1
    assert compared > 20


def test_a_step_that_was_not_measured_is_missing(tmp_path):
    results = read(tmp_path / "m", [timed(1e-5, variant=CUB, n=2**24)])
    folder = vd.Folder(results.folder)
    assert all(steps.gain(folder, s) is None for s in steps.steps())
    assert tables.steps_table(results).count(tables.MISSING) > len(list(steps.steps()))


# ----------------------------------------------------------------------------------------------- tables


def test_the_table_holds_every_variant_and_a_new_one(tmp_path):
    rows = gpu_rows(types=("f32",), sizes=SIZES) + [timed(50e-6, variant="mine/new_one", n=n) for n in SIZES]
    table = tables.times_table(read(tmp_path / "m", rows))
    for variant in GPU:
        assert r"\texttt{" + variant + "}" in table, variant
    line = next(l for l in table.splitlines() if r"mine/new\_one" in l)
    cub = 5e-6 + 2**30 / 4e12
    assert line.split(" & ")[1:4] == ["50.0", "50.0", "50.0"]
    assert line.split(" & ")[4] == f"{cub / 50e-6:.2f} [{cub / 50e-6 / REACH:.2f}, {cub / 50e-6 * REACH:.2f}]"
    chunked = next(l for l in table.splitlines() if "squares/chunked" in l)
    assert chunked.split(" & ")[3] == "r" and r"$^{\ast}$" in chunked
    part = next(l for l in table.splitlines() if r"unroll/unroll8-warp" in l).split(" & ")
    assert r"$^{\ast}$" in part[3] and part[4] == tables.MISSING  # a part of a call, over the whole of another
    assert next(l for l in table.splitlines() if r"{cub/sum}" in l).split(" & ")[4] == "1"


def test_long_tables_take_several_pages(tmp_path):
    rows = [timed(1e-5, variant=f"mine/v{k:03}", n=2**20) for k in range(150)]
    table = tables.times_table(read(tmp_path / "m", rows))
    assert table.count(r"\begin{table*}") == 3 and table.count(r"\label{tab:times}") == 1
    assert all(f"mine/v{k:03}" in table for k in range(150))


def test_models_are_numbers_with_intervals_or_the_reason_why_not(tmp_path):
    results = read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), models=model_rows())
    lines = tables.models_table(results).splitlines()
    assert (r"only reading & device & inside & 4.00 [5.90, 6.10] & 4.00 [3.90, 4.10] & 6.00 [5.00, 7.00] & "
            r"1.0\,\% at $2^{26}$ \\") in lines
    kernel = next(k for k, l in enumerate(lines) if "last-block-warp" in l)
    assert "inside & $-$1.50 [5.90, 6.10]" in lines[kernel] and "& --- &" in lines[kernel]
    assert lines[kernel + 1].startswith(" &  & beyond & 6.00")
    cub = next(k for k, l in enumerate(lines) if r"\texttt{cub/sum}" in l)
    assert lines[cub].endswith(r"inside & \multicolumn{3}{c}{the model does not fit} & 42\,\% at $2^{12}$ \\")
    assert "4.00 [3.90, ---]" in lines[cub + 1]  # no upper end
    assert any("too few sizes} & ---" in l for l in lines if "thrust/reduce" in l)
    none = tables.models_table(read(tmp_path / "n", gpu_rows(types=("f32",), sizes=SIZES)))
    assert findings.ABSENT in none and r"\label{tab:models}" in none


def test_reasons_that_differ_in_a_number_are_one_line(tmp_path):
    rows = [row(variant="mine/x", n=n, status="refused", reason=f"predicted {t} s a call")
            for n, t in zip(SIZES, ("0.31", "1.2", "4.9e+01"))]
    rows += [row(variant="mine/y", n=2**20, status="failed", reason="out of memory")]
    table = tables.refused_table(read(tmp_path / "m", rows))
    assert r"refused & 3 & predicted \ldots{} s a call & \texttt{mine/\allowbreak{}x} \\" in table
    assert r"failed & 1 & out of memory" in table


def test_macros_hold_the_numbers(tmp_path):
    made = tables.macros(beside_cub(tmp_path, {"levels/naive": 200e-6}))
    assert made["CubLargeTime"] == r"100\,\textmu{}s"
    assert made["BestHandwrittenLargeSpeedup"] == "0.500 [0.493, 0.507]"
    assert made["BestHandwrittenLargeName"] == r"\texttt{levels/\allowbreak{}naive}"
    assert made["CubSmallTime"] == findings.ABSENT  # not measured at that size
    assert made["GpuPeak"] == r"5.00\,TB/s"
    assert made["HandwrittenCount"] == "1" and made["LibraryCount"] == "1" and made["PointCount"] == "2"


def test_macros_are_the_same_names_whatever_is_there(tmp_path):
    times = {"run_id": "synthetic", "time_spent": {"wall_s": 200.0, "timed_s": 100.0, "cache_and_restoring_s": 40.0,
                                                   "around_samples_s": 20.0, "memory_wait_s": 4.0}}
    folder = write_folder(tmp_path / "a", gpu_rows(types=("f32",), sizes=SIZES),
                          cpu=cpu_rows(types=("f32",), sizes=SIZES), limits=limits_rows(), models=model_rows(),
                          timing=synthetic.timing_rows(), index=synthetic.index_rows(), machine={**MACHINE, "runs": [times]})
    synthetic.write_checks(folder)
    full = tables.macros(rs.read_results(folder))
    few = tables.macros(beside_cub(tmp_path / "b", {}))
    none = tables.macros(read(tmp_path / "c", None, cpu=cpu_rows(types=("f32",), sizes=SIZES),
                              machine={**MACHINE, "gpu": None}))
    assert set(full) == set(few) == set(none)
    assert all(re.fullmatch("[A-Za-z]+", name) for name in full), "TeX's macro names are letters"
    # Of the documents' studies the synthetic folder has none: test_studies.py.
    lacking = {k for k, v in full.items() if v == findings.ABSENT} - set(studies.SENTENCES)
    assert lacking == {"FindingCards", "FindingSelftest"}
    assert "FindingFirst" in full and few["FindingFirst"] == findings.ABSENT
    assert none["GpuName"] == findings.ABSENT and "the sum of the least time" in none["FindingCpu"]
