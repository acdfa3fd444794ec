"""Claims as data, and the verdict that a results folder gives on each: every verdict forced by planted contrasts and CSV,
and every gap said."""

import math
import re

import pytest
import synthetic
from project import SOURCE
from synthetic import write_contrasts

import claims
import contrasts
from report import results as rs
from report import tables as tb
import verdicts as vd
from text import claims as text

CLAIMS = claims.listed()
BY_ID = {c["id"]: c for c in CLAIMS["claims"]}
TESTS = [(c["id"], vd.test_of(CLAIMS, c, t)) for c in CLAIMS["claims"] for t in c["tests"]]
FORMER = [(c["claim"], vd.test_of(CLAIMS, BY_ID[c["claim"]], t)) for c in vd.changes(CLAIMS) for t in c["before"]]
RESULTS = SOURCE / "experiments" / "results"


def of_claim(claim: str) -> list[dict]:
    """The tests that decide it."""
    return [t for c, t in TESTS if c == claim and not t.get("beside")]


# ------------------------------------------------------------------------------------------- claims as data


def test_every_claim_is_there_once_with_tests_that_can_be_judged():
    assert len(BY_ID) == len(CLAIMS["claims"]) == 36
    for claim in CLAIMS["claims"]:
        assert {"id", "document", "statement", "text_figure", "tests"} <= set(claim) <= {
            "id", "document", "statement", "text_figure", "note", "tests", "changes"}, claim["id"]
        assert not all(t.get("beside") for t in claim["tests"]), claim["id"]
    assert {t["kind"] for _, t in TESTS + FORMER} == set(vd.JUDGES)


def test_a_test_has_the_calls_of_its_contrast():
    def calls(claim, which=0):
        return [of_claim(claim)[which][side].replace(":block=256", "") for side in ("base", "variant")]

    assert calls("S1") == [f"squares/{k},finish=host,index=document" for k in ("chunked", "strided")]
    assert calls("L8") == [f"levels/global-stride,finish=relaunch,granularity={k},index=document to "
                           f"levels/global-stride,finish=atomic,granularity={k},index=document" for k in (1, 2)]
    assert calls("S5") == ["squares/strided:block=512,finish=host,index=document",
                           "squares/multi-block,grid=32,finish=host,index=document"]
    assert of_claim("L7")[0]["effect"] == 0.05 and of_claim("S4")[0]["effect"] == contrasts.effects()["end_to_end"] == 0.05


def test_what_a_test_shows_is_shown_by_a_test_that_there_is():
    for claim, test in TESTS + FORMER:
        if test["kind"] == "shown":
            suite, name = test["named"].split(".")
            source = (SOURCE / test["by"]).read_text()
            assert re.search(rf"\b{suite}\b", source) and re.search(rf"^\w+\(({suite}, )?{name}\b", source, re.M), claim


def test_counters_and_probes_are_those_that_are_made():
    counted = (SOURCE / "experiments" / "ncu.py").read_text()
    for claim, test in TESTS + FORMER:
        for metric in [test.get("metric")] + [test[s]["metric"] for s in ("of", "over") if "call" in str(test.get(s))]:
            assert metric is None or f'"{metric}"' in counted, (claim, metric)
    timing = SOURCE / "src" / "measure" / "timing"
    probed = (timing / "cuda" / "probes.cu").read_text() + (timing / "probes.cpp").read_text()
    asked = (SOURCE / "paper" / "verdicts.py").read_text() + claims.FILE.read_text()
    named = re.findall(r'quantity(?:": |=)"(\w+)"', asked)
    assert named and all(f'"{quantity}"' in probed for quantity in named)


def test_changes_name_what_was_changed():
    made = vd.changes(CLAIMS)
    assert all({"date", "claim", "what", "why", "before"} == set(c) and c["before"] != BY_ID[c["claim"]]["tests"] for c in made)
    in_order = [c["what"] for c in made]
    for claim in CLAIMS["claims"]:
        own = [in_order.index(c["what"]) for c in claim.get("changes", [])]
        dates = [c["date"] for c in claim.get("changes", [])]
        assert own == sorted(own) and dates == sorted(dates), claim["id"]


# ----------------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize("low, high, expects, claimed, verdict", [
    (1.03, 1.04, "more", None, vd.HOLDS), (1.03, 1.04, "more", 2, vd.WEAKER), (1.03, 1.5, "more", 2, vd.HOLDS),
    (0.99, 1.01, "more", 2, vd.NONE), (0.5, 0.9, "more", None, vd.REVERSED), (1.01, 1.04, "more", None, vd.NEAR),
    (1.01, 1.05, "more", None, vd.UNDECIDED), (0.99, 1.03, "more", None, vd.UNDECIDED), (0.9, 1.1, "more", None, vd.UNDECIDED),
    (0.97, 1.0, "more", None, vd.NEAR), (0.95, 1.0, "more", None, vd.UNDECIDED),
    (0.9, 1.01, "no more", None, vd.HOLDS), (1.03, 1.1, "no more", None, vd.REVERSED),
    (1.01, 1.03, "no more", None, vd.NEAR), (0.9, 1.03, "no more", None, vd.UNDECIDED), (0.99, 1.5, "no less", None, vd.HOLDS),
    (0.9, 0.95, "no less", None, vd.REVERSED), (0.97, 0.99, "no less", None, vd.NEAR),
    (1.03, 1.1, "different", None, vd.HOLDS), (0.9, 0.95, "different", None, vd.HOLDS),
    (0.99, 1.01, "different", None, vd.NONE), (1.005, 1.03, "different", None, vd.NEAR),
    (0.99, 1.01, "the same", None, vd.HOLDS), (1.5, 1.6, "the same", None, vd.REVERSED)])
def test_an_interval_gives_one_verdict(low, high, expects, claimed, verdict):
    assert vd.decide(low, high, 0.02, expects, claimed)[0] == verdict


def test_rank_correlation():
    assert vd.kendall([1, 2, 3], [10, 20, 30]) == 1 and vd.kendall([1, 2, 3], [3, 2, 1]) == -1
    assert vd.kendall([1, 2, 3], [5, 5, 5]) == 0
    assert vd.kendall([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert vd.kendall([1, 2, 3], [100, 101, 99.5], 0.02) == 0 and vd.kendall([1, 1.01, 3], [1, 2, 3], 0.02) == pytest.approx(
        2 / math.sqrt(6))


# --------------------------------------------------------------------------------------- synthetic folders


def folder_of(path, values: dict | None = None, **files: list[dict]):
    """A results folder with these contrasts and CSV."""
    synthetic.write_folder(path, **files)
    return write_contrasts(path, values) if values else path


def judged(folder) -> dict[tuple[str, str], dict]:
    """The claims' own rows of verdicts.csv, by claim and role."""
    return {(r["claim"], r["role"]): r for r in vd.verdicts(rs.Results(folder)).to_dict("records") if r["role"] != vd.STEP}


def probes(offsets=(0, 0), latency=700, rate=1.5) -> list[dict]:
    def probe(quantity, value, unit, sm=0):
        return dict(quantity=quantity, sm=sm, repeat=0, value=value, unit=unit)

    return [*(probe("sm_clock_offset", o, "cycles", sm) for sm, o in enumerate(offsets)),
            probe("sm_clock_rate", rate, "cycles/ns"),
            probe("load_latency_memory", latency, "cycles"), probe("load_latency_memory", latency / rate, "ns")]


def printed(wrong: int) -> list[dict]:
    return [dict(kernel=kernel, block=block, blocks=1000, wrong=wrong if block == 96 else 0, gpu="G", timestamp_utc="")
            for kernel, block in (("rolled_tree", 64), ("rolled_tree", 96), ("volatile_tail", 64))]


def ncu_row(call: str, n: int, metric: str, value, reason="") -> dict:
    variant, _, settings = call.partition(":")
    return dict(kernel="k", variant=variant, settings=settings.replace(",", ";"), n=n, element_type="i32", metric=metric,
                value=value, unit="", reason=reason)


def ncu_rows(claim: str, pairs: list[tuple], **more) -> list[dict]:
    return [ncu_row(side["call"], side["n"], side["metric"], value, **more)
            for test, values in zip(of_claim(claim), pairs, strict=True) for side, value in zip((test["of"], test["over"]), values)]


def compiled(claim: str, values: list[int]) -> list[dict]:
    """What the compilers made of the claim's loops, and of one on the host."""
    test = of_claim(claim)[0]
    rows = [dict.fromkeys(["compiler", "kernel", "loop", "instructions", "unrolled_by"], "") | side["where"]
            | {side["value"]: value} for side, value in zip((test["of"], test["over"]), values)]
    return [*rows, {**rows[0], "compiler": "g++", "instructions": 99, "unrolled_by": 99}]


BUILDS = [f"{compiler}-O{level}" for compiler in ("gcc", "clang") for level in range(4)]
LOADS = (2, 4, 8, 16, 32, 64)

# Contrasts, and the verdict that they force.
RATIOS = [
    ("S1", dict(S1=3), vd.HOLDS), ("S1", dict(S1=1.5), vd.WEAKER), ("S1", dict(S1=1), vd.NONE), ("S1", dict(S1=0.7), vd.REVERSED),
    ("S1", dict(S1=1.02), vd.NEAR), ("S4", dict(S4=1.2), vd.HOLDS), ("S4", dict(S4=1.02), vd.NONE),
    ("U0", dict(U0a=1.8, U0b=1.3), vd.HOLDS), ("U0", dict(U0a=1.8, U0b=1.05), vd.WEAKER), ("U0", dict(U0a=0.8, U0b=1.3), vd.REVERSED),
    ("U0", dict(U0a=1.8, U0b=None), vd.UNDECIDED), ("U3", dict(U3a=1, U3b=0.98), vd.HOLDS), ("U3", dict(U3a=1.1, U3b=1), vd.REVERSED),
    ("U2", dict(U2b=1.75), vd.HOLDS), ("U2", dict(U2b=1.1), vd.WEAKER), ("L3", dict(L3c=1.1), vd.NEAR),
    ("L3", dict(L3c=1.05), vd.NONE), ("T4", dict(T4=1e-5), vd.REVERSED), ("T4", dict(T4=None), vd.UNDECIDED)]
# The same by number of loads: over a range a claim that holds at some values alone is mixed.
RANGES = [
    ((1.2, 1.1, 1.04, 0.95, 0.93, 0.89), vd.MIXED, "holds at 2, 4 and 8 loads; reversed at 16, 32 and 64 loads"),
    ((1.2, 1.1, 1.02, 1.0, 0.93, 0.89), vd.MIXED,
     "holds at 2 and 4 loads; no effect at 16 loads; within 2 % of the threshold at 8 loads; reversed at 32 and 64 loads"),
    ((1.2,) * 6, vd.HOLDS, "holds at 2, 4, 8, 16, 32 and 64 loads"),
    ((0.9, 1, 1, 1, 1, 1), vd.REVERSED, "no effect at 4, 8, 16, 32 and 64 loads; reversed at 2 loads"),
    ((1.2, 1.2, 1.2, 1.2, 1.2, None), vd.UNDECIDED, "lacking")]
# One block's clock() is right, that of many is off by a factor. The run takes 100 us, 150,000 cycles.
CLOCKS = [(1.0, (0, 700), vd.HOLDS), (1.2, (0, 700), vd.REVERSED), (1.0, (0, 3000), vd.REVERSED), (1.0, None, vd.UNDECIDED),
          (9.0, None, vd.REVERSED)]
COUNTERS = [
    ("U5", [(2, 1)], vd.HOLDS), ("U5", [(1, 2)], vd.REVERSED), ("U5", [(1, 1)], vd.NONE),
    ("L6", [(2, 1), (9e4, 5e4)], vd.HOLDS), ("L6", [(1.2, 1), (9e4, 0)], vd.WEAKER),
    ("L6", [(2, 1), (3e4, 7)], vd.NONE), ("L6", [(1, 2), (9e4, 0)], vd.REVERSED)]
MACHINE_CODE = [("T6", [20, 14], vd.HOLDS), ("T6", [14, 14], vd.NONE), ("T6", [14, 15], vd.REVERSED), ("U6", [1], vd.HOLDS),
                ("U6", [16], vd.REVERSED)]
# Claim, contrasts, other files, the verdict, and what its reason has.
CASES = [
    *((claim, values, {}, verdict, "") for claim, values, verdict in RATIOS),
    *(("L8", {f"L8.{k}": r for k, r in zip(LOADS, ratios)}, {}, verdict, words) for ratios, verdict, words in RANGES),
    # Atomics beat relaunching everywhere, and the CPU at one load alone: of each value the worst test counts.
    ("L5", {f"levels.atomic.{other}.{k}": 1.2 if other == "relaunch" or k == 1 else 0.8
            for other in ("relaunch", "host") for k in (1, *LOADS)}, {}, vd.MIXED,
     "holds at 1 loads; reversed at 2, 4, 8, 16, 32 and 64 loads"),
    ("T5", {f"T5.{b}": 1.5 if b in ("gcc-O0", "gcc-O1") else 0.8 for b in BUILDS}, {}, vd.MIXED,
     "holds at gcc-O0 and gcc-O1; reversed at gcc-O2, gcc-O3, clang-O0"),
    ("U7", {f"U7.{b}": 1.5 if b == "clang-O0" else 1 for b in BUILDS}, {}, vd.MIXED, "reversed at clang-O0"),
    ("U3", dict(U3a=1.02, U3b=1), {}, vd.NEAR, "an effect of +1.0 % to +3.0 %, where +2.0 % counts (unrolling.csv)"),
    *(("S5", dict(S5a=off, S5b=100e-6), dict(probes=probes(offsets)) if offsets else {}, verdict, "")
      for off, offsets, verdict in CLOCKS),
    *(("T7", {}, {"as-printed": printed(wrong)}, verdict, f"{wrong} of 1,000 blocks wrong (G, as-printed.csv)")
      for wrong, verdict in ((0, vd.HOLDS), (1, vd.REVERSED))),
    *((claim, {}, dict(ncu=ncu_rows(claim, pairs)), verdict, "") for claim, pairs, verdict in COUNTERS),
    *((claim, {}, dict(compiler=compiled(claim, values)), verdict, "") for claim, values, verdict in MACHINE_CODE)]


@pytest.mark.parametrize("claim, values, files, verdict, words", CASES)
def test_a_folder_forces_each_verdict(tmp_path, claim, values, files, verdict, words):
    verdicts, tests = judged(folder_of(tmp_path / "m", values, **files)), of_claim(claim)
    for role, n in zip((vd.CLAIM, vd.AT_LARGE), tests[0]["n"]) if values else [(vd.CLAIM, None)]:
        row = verdicts[claim, role]
        assert row["verdict"] == verdict and words in row["reason"] and (n is None or row["n"] == n)
        if len(values) == 1 and tests[0]["kind"] == "ratio":
            (name, ratio), = values.items()
            assert row["ratio"] == ratio and row["ci_low"] == pytest.approx(0.99 * ratio) and row["variant"] == tests[0]["variant"]
            assert f"{contrasts.asked()[name].group['experiments'][0]}.csv)" in row["reason"]


@pytest.mark.parametrize("latency, taken, verdict, words", [
    (700, 710, vd.HOLDS, "1024 threads with one load each take 710 cycles, 0.693 each: 256 fill at most 178 of a load's 700"),
    (700, 699, vd.UNDECIDED, "takes 699 cycles for each element, of a load's 700: a thread has several loads under way"),
    (900, 1030, vd.UNDECIDED, "1.01 each"), (700, 1030, vd.REVERSED, "1.01 each")])
def test_other_threads_fill_no_more_of_a_latency_than_they_work(tmp_path, latency, taken, verdict, words):
    test, = (t for t in of_claim("S6") if t["kind"] == "filled")
    folder = folder_of(tmp_path / "m", {test["contrast"]: taken * 2**20 / vd.threads_of(test)}, probes=probes(latency=latency))
    judgement = vd.judge(rs.Results(folder), test, test["n"][0])
    assert judgement.verdict == verdict and words in judgement.reason


def test_a_call_of_few_samples_is_told(tmp_path):
    row = synthetic.cpu_rows(types=("i32",), sizes=[2000])[0]
    rows = [row | dict(experiment="vector_add", variant=f"host/add-{loop}", settings=f"compiler=gcc;level={level}", n_samples=count)
            for loop in ("plain", "unroll2") for level, count in (("O2", 7), ("O3", 8))]
    folder = folder_of(tmp_path / "m", vector_add=rows)
    write_contrasts(folder, {f"T5.{b}": 1.5 for b in BUILDS})
    reasons = vd.verdicts(rs.Results(folder)).query("claim == 'T5' and role == 'step'")["reason"]
    assert ["7 samples" in reason for reason in reasons] == [b == "gcc-O2" for b in BUILDS]


def test_too_few_contexts_give_no_verdict(tmp_path):
    folder = folder_of(tmp_path / "m")
    write_contrasts(folder, {"S1": 3}, enough="no", reason="too few contexts for an interval: 3, it takes 6")
    row = judged(folder)["S1", vd.CLAIM]
    assert row["verdict"] == vd.UNDECIDED and row["reason"].startswith("too few contexts") and math.isnan(row["ratio"])


def copies(pageable: float) -> list[dict]:
    """Of the bytes of 2^20 floats' blocks: so many times as long as a quarter of them to pageable memory."""
    return [dict(memory=memory, bytes=2**14, rounds=400, time_s=9e-6, time_low_s=9e-6, time_high_s=9e-6, over_quarter=over,
                 over_quarter_low=over - 0.01, over_quarter_high=over + 0.01, gpu="Synthetic GPU", timestamp_utc="")
            for memory, over in (("pageable", pageable), ("page-locked", 1.02))]


@pytest.mark.parametrize("over, verdict", [(1.2, vd.HOLDS), (1.0, vd.NONE), (0.9, vd.REVERSED)])
def test_what_copying_costs_is_judged_by_the_copies_alone_and_the_rest_told_beside(tmp_path, over, verdict):
    folder = folder_of(tmp_path / "m", dict(L9a=1, L9b=1.3, L9c=3), copies=copies(over))
    rows = vd.verdicts(rs.Results(folder))
    mixed = rows[(rows["claim"] == "L9") & (rows["n"] == 2**20)]
    assert mixed["role"].tolist() == [vd.CLAIM, *[vd.BESIDE] * 4]
    assert mixed["verdict"].tolist() == [verdict, vd.NONE, vd.NONE, vd.HOLDS, vd.HOLDS]
    assert "16,384 bytes to pageable memory take 9 us, Synthetic GPU, copies.csv" in mixed["reason"].iloc[0]


# Nine kernels, each faster than the one before.
LADDER = {name: 1e-3 / (k + 1) for k, name in enumerate(of_claim("U8")[0]["contrasts"])}


def counted(test: dict, values, metric: str = "") -> list[dict]:
    """These counts of the test's kernels, and one of another."""
    metric = metric or test["metric"]
    calls = [contrasts.asked()[name].calls(1)[0] for name in test["contrasts"]]
    return [*(ncu_row(call, 2**24, metric, v) for call, v in zip(calls, values)),
            ncu_row("unroll/unroll8:block=1024,finish=host,load=independent", 2**24, metric, 1e9)]


def dram(test: dict, written) -> list[dict]:
    """Kernels that read the same and write so much."""
    read, write = test["of"]
    return counted(test, [1000] * 9, read) + counted(test, written, write)


@pytest.mark.parametrize("swapped, verdict", [(0, vd.HOLDS), (3, vd.WEAKER), (6, vd.NONE), (9, vd.REVERSED)])
def test_speed_goes_with_a_counter_or_not(tmp_path, swapped, verdict):
    """A counter that grows with speed, of which the first few kernels have the opposite order."""
    test, = of_claim("U8")
    values = list(range(9))
    values[:swapped + 1] = values[:swapped + 1][::-1]
    rows = judged(folder_of(tmp_path / "m", LADDER, ncu=counted(test, values) + dram(test, range(100, 1000, 100))))
    row = rows["U8", vd.CLAIM]
    assert row["verdict"] == verdict and row["reason"].startswith(f"rank correlation {row['ratio']:.3g} of speed and dram")
    assert "no value where" in rows["U4", vd.CLAIM]["reason"]


@pytest.mark.parametrize("last, verdict", [(520, vd.UNDECIDED), (550, vd.HOLDS)])
def test_a_rate_of_what_is_the_same_decides_nothing(tmp_path, last, verdict):
    """Of bytes that are the same, bytes for each second go with speed whatever the kernels do. Bytes written count, too."""
    test, = of_claim("U8")
    rows = counted(test, range(1, 10)) + dram(test, [500] * 8 + [last])
    row = judged(folder_of(tmp_path / "m", LADDER, ncu=rows))["U8", vd.CLAIM]
    assert row["verdict"] == verdict
    assert ("9 kernels have the same dram__bytes_read.sum + dram__bytes_write.sum, to within 1.3 %" in row["reason"]) == (verdict == vd.UNDECIDED)


def test_counts_that_are_nearly_the_same_are_ties(tmp_path):
    """Of nine kernels of which each is faster than the one before, two have a quarter of the efficiency: one step in the
    order, whatever the last digits say."""
    rows = [r for test in of_claim("U4") for r in counted(test, [25, 25.01, 98, 98.1, 98.2, 98.3, 99.5, 99.3, 99.1])]
    rows_of_claim = vd.verdicts(rs.Results(folder_of(tmp_path / "m", LADDER, ncu=rows))).query("claim == 'U4'")
    assert set(rows_of_claim["verdict"]) == {vd.WEAKER} and rows_of_claim["ratio"].iloc[1] == pytest.approx(14 / math.sqrt(14 * 36))
    assert rows_of_claim["reason"].str.contains(r"up to 2 % apart is a tie \(0.833 without ties\), and kernels whose counts tie are up to 3 times "
                                                "apart").all()
    assert rows_of_claim[vd.BEFORE].iloc[0] == vd.HOLDS


def test_what_is_lacking_is_said(tmp_path):
    rows = judged(folder_of(tmp_path / "m", dict(S1=None), ncu=ncu_rows("L6", [("", ""), ("", "")], reason="ERR_NVGPUCTRPERM")))
    reasons = {claim: row["reason"] for (claim, role), row in rows.items() if role == vd.CLAIM and row["verdict"] == vd.UNDECIDED}
    assert "ERR_NVGPUCTRPERM" in reasons["L6"] and "lacking" in reasons["S1"] and "no such row: run `reductio summarize" in reasons["S2"]
    assert "no probes.csv: " in reasons["S6"] and "no compiler.csv: " in reasons["T6"] and "no compiler.csv: " in reasons["U6"]
    assert "no contrasts.csv: run" in judged(folder_of(tmp_path / "none"))["S1", vd.CLAIM]["reason"]
    assert "no as-printed.csv: run `build/bin/as_printed " in reasons["T7"] and len(reasons) == 36


# -------------------------------------------------------------------------------------------- two folders


def run(folder, *more) -> int:
    return vd.main([str(folder), *map(str, more)])


def one_line(capsys) -> str:
    said = capsys.readouterr().err
    assert said.startswith("verdicts.py: error: ") and said.count("\n") == 1, said
    return said


def test_two_folders_verdicts_are_set_beside_each_other(tmp_path, capsys):
    other = folder_of(tmp_path / "there", dict(S1=3, U0a=1.8, U0b=1.3, T2=0.5))
    here = folder_of(tmp_path / "here", dict(S1=0.5, U0a=1.8, U0b=1.3))
    assert run(here, "--beside", other) == 1 and f"there is no {here}/verdicts.csv: run `python" in one_line(capsys)
    assert run(other) == run(here) == 0
    capsys.readouterr()
    assert run(here, "--beside", other) == 0
    *rows, own, large = filter(None, capsys.readouterr().out.splitlines())
    assert rows[0] == "_there: there" and [row.split()[:3] for row in rows[2:]] == [
        [claim, role, str(n)] for claim, own_n in (("S1", 2**20), ("T2", 2**24)) for role, n in (("claim", own_n), ("large", 2**28))]
    assert "reversed" in rows[2] and rows[2].split()[-2:] == ["holds", "3.0"]
    assert own == "at the documents' own sizes: both decide 2 of 36 verdicts, 1 alike and 1 otherwise"
    assert large.startswith("at 2^28:")
    table = (other / "verdicts.csv").read_text()
    (other / "verdicts.csv").write_text(table.replace("squares/strided:block=256", "squares/other:block=256"))
    assert run(here, "--beside", other) == 1 and "were judged by different tests" in one_line(capsys)


# ------------------------------------------------------------------------------------------- verdicts.csv


def test_verdicts_are_written_counted_and_read_back(tmp_path, capsys):
    folder = folder_of(tmp_path / "m", dict(S1=3, U0a=1.8, U0b=1.05))
    assert run(folder) == 0
    assert list(claims.verdicts(rs.Results(folder))) == tb.VERDICTS.names
    said = capsys.readouterr().out.splitlines()
    assert said[-2].startswith("  by the tests as first set: ")
    assert said[-1].endswith("1 holds, 1 holds but weaker, 0 mixed, 0 no effect, 0 within 2 % of the threshold, 0 reversed, "
                             "34 not decidable here")
    assert "  no ncu.csv: claims that need it are not decidable here" in said


def test_bad_input_is_one_line(tmp_path, capsys):
    assert run(tmp_path / "nowhere") == 1 and "is not a folder" in one_line(capsys)
    folder = folder_of(tmp_path / "m", dict(S1=3))
    (folder / "probes.csv").write_text("quantity,value\nload_latency_memory,1\n")
    assert run(folder) == 1 and "probes.csv lacks the column unit: run `reductio probe`" in one_line(capsys)
    assert not (folder / "verdicts.csv").exists()


# ------------------------------------------------------------------------------------------ the paper's table


def fields_of(results) -> dict[str, list[str]]:
    """The table's lines by their claim."""
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.body(results)]
    return {fields[0]: fields for fields in lines}


def test_the_papers_table_shows_ratios_and_verdicts(tmp_path):
    folder = folder_of(tmp_path / "m", {("S1", 2**20): 3, ("S1", 2**28): 0.5, "U0a": 1.8, "U0b": 1.05, "U1a": None, "U1b": 1.4,
                                        "U1c": 1.5})
    assert fields_of(rs.Results(folder))["S1"][3:] == ["---"] * 4
    run(folder)
    fields = fields_of(rs.Results(folder))
    assert fields["S1"][3:] == ["3.00 [2.97, 3.03]", "0.500 [0.495, 0.505]: reversed", "holds",
                                r"above 1.02 (squares.\allowbreak{}csv)"]
    assert fields["S1"][2].startswith(r"\documentfigure{3 times")
    assert fields["U0"][3:6] == ["1.80, 1.05", "1.80, 1.05", "holds but weaker"]
    assert fields["U0"][6].startswith("holds: above 1.02 (unrolling.")
    assert "; holds but weaker: below half of the document's 1.2" in fields["U0"][6]
    assert fields["U1"][3] == "---, 1.40, 1.50" and fields["T4"][3:6] == fields["U8"][3:6] == ["---", "---", "not decidable here"]


def test_a_changed_claim_has_its_verdict_by_the_tests_as_first_set(monkeypatch, tmp_path):
    """By a test of which one chose the settings after the data a claim may hold that was reversed before."""
    folder = folder_of(tmp_path / "m", dict(S1=3, S2=0.5))
    changes = [dict(date="2026-12-01", what="n is 2^21", why="it fits", before=[dict(contrast="S2", expects="more")]),
               dict(date="2026-12-02", what="it `expects` more", why="the text does", before=[dict(contrast="S1", expects="no less")])]
    changed = {**CLAIMS, "claims": [{k: v for k, v in c.items() if k != "changes"} | ({"changes": changes} if c["id"] == "S1" else {})
                                    for c in CLAIMS["claims"]]}
    monkeypatch.setattr(claims, "listed", lambda: changed)
    assert [line.split(" & ")[2:4] for line in text.changes_body(rs.Results(folder))] == [["---"] * 2] * 2
    assert run(folder) == 0
    results = rs.Results(folder)
    table = claims.verdicts(results)
    own = table[table["role"] == vd.CLAIM].set_index("claim")
    assert tuple(own.loc["S1", ["verdict", vd.BEFORE]]) == (vd.HOLDS, "reversed; holds") and (own[vd.BEFORE] == "").sum() == 35
    first = vd.as_first_set(table)
    assert first["S1"] == vd.REVERSED and (first.drop("S1") == own["verdict"].drop("S1")).all()
    assert text.changes_body(results) == [r"S1 & 2026-12-01 & reversed & holds & n is $2^{21}$ & it fits \\",
                                          r"S1 & 2026-12-02 & holds & holds & it \id{expects} more & the text does \\"]
    assert fields_of(results)["S1"][5] == r"holds$^{\dagger}$"


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RESULTS.glob("*/verdicts.csv")))
def test_committed_verdicts_follow_from_the_committed_results(folder, tmp_path):
    vd.write(vd.verdicts(rs.Results(RESULTS / folder, RESULTS / "cpu-intel-xeon")), tmp_path / "verdicts.csv")
    assert (tmp_path / "verdicts.csv").read_text() == (RESULTS / folder / "verdicts.csv").read_text(), \
        f"run python paper/verdicts.py experiments/results/{folder} --cpu-results experiments/results/cpu-intel-xeon"
