"""Claims as data, and the verdict that a results folder gives on each: every verdict forced by planted contrasts and CSV,
and every gap said."""

import gzip
import json
import math
import re
import shutil

import pytest
import synthetic
from project import SOURCE, forget_hashes, judge
from synthetic import write_contrasts

import claims as cl
import contrasts
from report import results as rs
from report import tables as tb

HOLDS, WEAKER, MIXED, NONE, NEAR, REVERSED, UNDECIDED = cl.VERDICTS
CLAIMS = cl.LISTED
BY_ID = {c["id"]: c for c in CLAIMS["claims"]}
TESTS = [(c["id"], t) for c in CLAIMS["claims"] for t in c["tests"]]
KINDS = {"wrong", "right", "clocks apart", "cycles filled"}  # what is counted


def of_claim(claim: str) -> list[dict]:
    """The tests that decide it."""
    return [t for c, t in TESTS if c == claim and not t.get("beside")]


# ------------------------------------------------------------------------------------------- claims as data


def test_every_claim_is_there_once_with_tests_that_can_be_judged():
    assert len(BY_ID) == len(CLAIMS["claims"]) == 36
    for claim in CLAIMS["claims"]:
        assert {"id", "document", "statement", "text_figure", "tests"} <= set(claim) <= {
            "id", "document", "statement", "text_figure", "note", "tests"}, claim["id"]
        assert not all(t.get("beside") for t in claim["tests"]), claim["id"]
    assert {t["count"] for _, t in TESTS if "count" in t} == KINDS
    for claim, test in TESTS:
        contrast = "count" not in test
        assert contrast == ("expects" in test) and (contrast or "most" in test), (claim, test)


def test_a_test_has_the_calls_of_its_contrast(tmp_path):
    rows = table_of(folder_of(tmp_path / "m", dict(S1=3)))

    def calls(claim):
        row = rows[(rows["claim"] == claim) & (rows["base"] != "")].iloc[0]
        return [row[side].replace(":block=256", "") for side in ("base", "variant")]

    assert calls("S1") == [f"squares/{k},finish=host,index=document" for k in ("chunked", "strided")]
    assert calls("L8") == [f"levels/global-stride,finish=relaunch,granularity={k},index=document to "
                           f"levels/global-stride,finish=atomic,granularity={k},index=document" for k in (1, 2)]
    assert calls("S5") == ["squares/strided:block=512,finish=host,index=document",
                           "squares/multi-block,grid=32,finish=host,index=document"]
    threshold = rows.drop_duplicates("claim").set_index("claim")["threshold"]
    assert threshold["S4"] == "> 1.05" and rows[rows["claim"] == "L7"]["threshold"].iloc[1] == ">= 0.9524"


def test_counters_and_probes_are_those_that_are_made():
    counted = (SOURCE / "experiments" / "ncu.py").read_text()
    for claim, test in TESTS:
        for metric in [test[s]["metric"] for s in ("of", "over") if "call" in str(test.get(s))]:
            assert f'"{metric}"' in counted, (claim, metric)
    timing = SOURCE / "src" / "measure" / "timing"
    probed = (timing / "cuda" / "probes.cu").read_text() + (timing / "probes.cpp").read_text()
    asked = (SOURCE / "src" / "measure" / "analysis" / "verdicts.cpp").read_text() + cl.FILE.read_text()
    named = re.findall(r'"quantity"(?:: |, )"(\w+)"', asked)
    assert named and all(f'"{quantity}"' in probed for quantity in named)


# ----------------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize("low, high, expects, claimed, verdict", [
    (1.03, 1.04, "more", None, HOLDS), (1.03, 1.04, "more", 2, WEAKER), (1.03, 1.5, "more", 2, HOLDS),
    (0.99, 1.01, "more", 2, NONE), (0.5, 0.9, "more", None, REVERSED), (1.01, 1.04, "more", None, NEAR),
    (1.01, 1.05, "more", None, UNDECIDED), (0.99, 1.03, "more", None, UNDECIDED), (0.9, 1.1, "more", None, UNDECIDED),
    (0.97, 1.0, "more", None, NEAR), (0.95, 1.0, "more", None, UNDECIDED),
    (0.9, 1.01, "no more", None, HOLDS), (1.03, 1.1, "no more", None, REVERSED),
    (1.01, 1.03, "no more", None, NEAR), (0.9, 1.03, "no more", None, UNDECIDED), (0.99, 1.5, "no less", None, HOLDS),
    (0.9, 0.95, "no less", None, REVERSED), (0.97, 0.99, "no less", None, NEAR),
    (1.03, 1.1, "different", None, HOLDS), (0.9, 0.95, "different", None, HOLDS),
    (0.99, 1.01, "different", None, NONE), (1.005, 1.03, "different", None, NEAR),
    (0.99, 1.01, "the same", None, HOLDS), (1.5, 1.6, "the same", None, REVERSED)])
def test_an_interval_gives_one_verdict(tmp_path, low, high, expects, claimed, verdict):
    test = dict(contrast="S1", expects=expects, effect=0.02) | (dict(told=claimed) if claimed else {})
    one = {**CLAIMS, "claims": [BY_ID["S1"] | dict(tests=[test])]}
    (tmp_path / "claims.json").write_text(json.dumps(one))
    folder = folder_of(tmp_path / "m")
    write_contrasts(folder, dict(S1=1), ci_low=low, ci_high=high)
    judge(folder, "--claims", tmp_path / "claims.json")
    assert set(rs.Results(folder).table("verdicts")["verdict"]) == {verdict}


# --------------------------------------------------------------------------------------- synthetic folders


def folder_of(path, values: dict | None = None, **files: list[dict]):
    """A results folder with these contrasts and CSV."""
    synthetic.write_folder(path, **files)
    return write_contrasts(path, values) if values else path


def table_of(folder):
    return cl.verdicts(rs.Results(judge(folder)))


def judged(folder) -> dict[tuple[str, str], dict]:
    """The claims' own rows of verdicts.csv, by claim and role."""
    return {(r["claim"], r["role"]): r for r in table_of(folder).to_dict("records") if r["role"] != cl.STEP}


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


def steps_of(claim: str, values: list[float], other: float = 1) -> list[dict]:
    """These counts of the calls of the claim's steps, in their order, for the first of its tests; another for others."""
    rows = []
    for k, test in enumerate(of_claim(claim)):
        steps = test["range"]["step"]
        calls = dict.fromkeys(call for step in steps for call in (step["from"], step["to"]))
        each = zip(calls, values, strict=True) if k == 0 else ((call, other) for call in calls)
        rows += [ncu_row(f"unroll/{call}", 2**24, test["of"]["metric"], value) for call, value in each]
    return rows


def compiled(claim: str, values: list[int]) -> list[dict]:
    """What the compilers made of the claim's loops, and of one on the host."""
    test = of_claim(claim)[0]
    rows = [dict.fromkeys(["compiler", "kernel", "loop", "instructions", "unrolled_by"], "") | side["where"]
            | {side["value"]: value} for side, value in zip((test["of"], test["over"]), values)]
    return [*rows, {**rows[0], "compiler": "g++", "instructions": 99, "unrolled_by": 99}]


BUILDS = [*(f"{compiler}-O{level}" for compiler in ("gcc", "clang") for level in range(4)), *(f"O{k}" for k in range(4))]
LOADS = (2, 4, 8, 16, 32, 64)

# Contrasts, and the verdict that they force.
RATIOS = [
    ("S1", dict(S1=3), HOLDS), ("S1", dict(S1=1.5), WEAKER), ("S1", dict(S1=1), NONE), ("S1", dict(S1=0.7), REVERSED),
    ("S1", dict(S1=1.02), NEAR), ("S4", dict(S4=1.2), HOLDS), ("S4", dict(S4=1.02), NONE),
    ("U0", dict(U0a=1.8, U0b=1.3), HOLDS), ("U0", dict(U0a=1.8, U0b=1.05), WEAKER), ("U0", dict(U0a=0.8, U0b=1.3), REVERSED),
    ("U0", dict(U0a=1.8, U0b=None), UNDECIDED), ("U3", dict(U3a=1, U3b=0.98), HOLDS), ("U3", dict(U3a=1.1, U3b=1), REVERSED),
    ("U2", dict(U2a=1.1), HOLDS), ("U2", dict(U2a=1, U2b=1.75), NONE), ("L3", dict(L3c=1.5, L3a=1.2), HOLDS),
    ("L3", dict(L3c=1.05, L3a=1), NONE), ("T4", dict(T4=None), UNDECIDED)]
RIGHT = dict(experiment="multiblock", variant="multiblock/last-block", settings="block=1024;grid=auto;index=document", n=10**8)
UP = [10, 20, 30, 40, 50, 60, 70]  # seven kernels, six steps
# The same by number of loads: over a range a claim that holds at some values alone is mixed.
RANGES = [
    ((1.2, 1.1, 1.04, 0.95, 0.93, 0.89), MIXED, "holds at 2, 4 and 8 loads; reversed at 16, 32 and 64 loads"),
    ((1.2, 1.1, 1.02, 1.0, 0.93, 0.89), MIXED,
     "holds at 2 and 4 loads; no effect at 16 loads; within 2 % of the threshold at 8 loads; reversed at 32 and 64 loads"),
    ((1.2,) * 6, HOLDS, "holds at 2, 4, 8, 16, 32 and 64 loads"),
    ((0.9, 1, 1, 1, 1, 1), REVERSED, "no effect at 4, 8, 16, 32 and 64 loads; reversed at 2 loads"),
    ((1.2, 1.2, 1.2, 1.2, 1.2, None), UNDECIDED, "lacking")]
# One block's clock() is right, that of many is off by a factor. The run takes 100 us, 150,000 cycles.
CLOCKS = [(1.0, (0, 700), HOLDS), (1.2, (0, 700), REVERSED), (1.0, (0, 3000), REVERSED), (1.0, None, UNDECIDED),
          (9.0, None, REVERSED)]
COUNTERS = [
    ("L6", [(2, 1), (9e4, 5e4)], HOLDS), ("L6", [(1.2, 1), (9e4, 0)], WEAKER),
    ("L6", [(2, 1), (3e4, 7)], NONE), ("L6", [(1, 2), (9e4, 0)], REVERSED)]
MACHINE_CODE = [("T6", [20, 14], HOLDS), ("T6", [14, 14], NONE), ("T6", [14, 15], REVERSED), ("U6", [1], HOLDS),
                ("U6", [16], REVERSED)]
# Claim, contrasts, other files, the verdict, and what its reason has.
CASES = [
    *((claim, values, {}, verdict, "") for claim, values, verdict in RATIOS),
    *(("L8", {f"L8.{k}": r for k, r in zip(LOADS, ratios)}, {}, verdict, words) for ratios, verdict, words in RANGES),
    # Atomics beat relaunching everywhere, and the CPU at one load alone: of each value the worst test counts.
    ("L5", {f"levels.atomic.{other}.{k}": 1.2 if other == "relaunch" or k == 1 else 0.8
            for other in ("relaunch", "host") for k in (1, *LOADS)}, {}, MIXED,
     "holds at 1 loads; reversed at 2, 4, 8, 16, 32 and 64 loads"),
    ("T5", {f"T5.{b}": 1.5 if b in ("gcc-O0", "gcc-O1") else 0.8 for b in BUILDS}, {}, MIXED,
     "holds at gcc-O0 and gcc-O1; reversed at gcc-O2, gcc-O3, clang-O0"),
    ("U7", {f"U7.{b}": 1.5 if b == "clang-O0" else 1 for b in BUILDS}, {}, MIXED, "reversed at clang-O0"),
    ("U3", dict(U3a=1.02, U3b=1), {}, NEAR, "an effect of +1.0 % to +3.0 %, where +2.0 % counts (unrolling.csv)"),
    *(("S5", dict(S5a=off, S5b=100e-6), dict(probes=probes(offsets)) if offsets else {}, verdict, "")
      for off, offsets, verdict in CLOCKS),
    *(("T7", {}, {"as-printed": printed(wrong)}, verdict, f"{wrong} of 1,000 blocks wrong (G, as-printed.csv)")
      for wrong, verdict in ((0, HOLDS), (1, REVERSED))),
    *((claim, {}, dict(ncu=ncu_rows(claim, pairs)), verdict, "") for claim, pairs, verdict in COUNTERS),
    *((claim, {}, dict(compiler=compiled(claim, values)), verdict, "") for claim, values, verdict in MACHINE_CODE),
    # A claim of steps or choices that holds at some alone is mixed.
    *((claim, {}, dict(ncu=steps_of(claim, values)), verdict, words) for claim, values, verdict, words in (
        ("U8", UP, HOLDS, "holds at consecutive threads, interleaved pairs, 2 loads, 4 loads, 8 loads and the unrolled warp"),
        ("U8", UP[::-1], REVERSED, ""), ("U8", [10] * 7, NONE, ""),
        ("U8", [10, 20, 15, 40, 50, 60, 70], MIXED, "; reversed at interleaved pairs"),
        ("U5", [6, 5, 4, 3, 2, 1], HOLDS, ""), ("U5", [6, 5, 6, 7, 2, 1], MIXED, "reversed at 4 loads and 8 loads"),
        ("U4", UP, NONE, "no effect at consecutive threads"))),
    ("L3", dict(L3c=1.5, L3a=1.05), {}, MIXED, "holds at the document's code; no effect at its Algorithm 2"),
    ("T4", dict(T4=1e-5), dict(multiblock=[synthetic.timed(1e-3, **RIGHT)] * 2), REVERSED, "2 of 2 rows right (multiblock.csv)"),
    ("T4", dict(T4=1e-5), dict(multiblock=[synthetic.timed(1e-3, **RIGHT) | dict(status="wrong")]), HOLDS, "0 of 1 rows right")]


@pytest.mark.parametrize("claim, values, files, verdict, words", CASES)
def test_a_folder_forces_each_verdict(tmp_path, claim, values, files, verdict, words):
    verdicts = judged(folder_of(tmp_path / "m", values, **files))
    row = verdicts[claim, cl.CLAIM]
    assert row["verdict"] == verdict and words in row["reason"]
    if len(values) == 1 and not files and None not in values.values():
        (name, ratio), = values.items()
        asked = contrasts.asked()[name]
        for role, n in zip((cl.CLAIM, cl.AT_LARGE), asked.group["n"], strict=True):
            row = verdicts[claim, role]
            assert (row["verdict"], row["n"], row["ratio"]) == (verdict, n, ratio) and row["ci_low"] == pytest.approx(0.99 * ratio)
            assert row["variant"] == asked.points[-1][1] and f"{asked.group['experiments'][0]}.csv)" in row["reason"]


@pytest.mark.parametrize("latency, taken, verdict, words", [
    (700, 710, HOLDS, "1024 threads with one load each take 710 cycles, 0.693 each: 256 fill at most 178 of a load's 700"),
    (700, 699, UNDECIDED, "takes 699 cycles for each element, of a load's 700: a thread has several loads under way"),
    (900, 1030, UNDECIDED, "1.01 each"), (700, 1030, REVERSED, "1.01 each")])
def test_other_threads_fill_no_more_of_a_latency_than_they_work(tmp_path, latency, taken, verdict, words):
    test, = (t for t in of_claim("S6") if "count" in t)
    folder = folder_of(tmp_path / "m", {test["contrast"]: taken * 2**20 / 1024}, probes=probes(latency=latency))
    step = table_of(folder).query("claim == 'S6' and role == 'step' and variant.str.startswith('squares/')").iloc[0]
    assert step["verdict"] == verdict and words in step["reason"]


def test_a_ratio_of_few_contexts_is_told(tmp_path):
    folder = folder_of(tmp_path / "m", dict(S1=3))
    assert "contexts" not in judged(folder)["S1", cl.CLAIM]["reason"]
    write_contrasts(folder, dict(S1=3), contexts=7)
    assert judged(folder)["S1", cl.CLAIM]["reason"] == "above 1.02; of 7 contexts (squares.csv)"


def test_too_few_contexts_give_no_verdict(tmp_path):
    folder = folder_of(tmp_path / "m")
    write_contrasts(folder, {"S1": 3}, enough="no", reason="too few contexts for an interval: 3, it takes 6")
    row = judged(folder)["S1", cl.CLAIM]
    assert row["verdict"] == UNDECIDED and row["reason"].startswith("too few contexts") and math.isnan(row["ratio"])


def copies(pageable: float) -> list[dict]:
    """Of the bytes of 2^20 floats' blocks: so many times as long as a quarter of them to pageable memory."""
    return [dict(memory=memory, bytes=2**14, rounds=400, time_s=9e-6, time_low_s=9e-6, time_high_s=9e-6, over_quarter=over,
                 over_quarter_low=over - 0.01, over_quarter_high=over + 0.01, gpu="Synthetic GPU", timestamp_utc="")
            for memory, over in (("pageable", pageable), ("page-locked", 1.02))]


@pytest.mark.parametrize("over, verdict", [(1.2, MIXED), (1.0, NONE), (0.9, REVERSED)])
def test_what_copying_costs_is_judged_by_the_copies_alone_and_the_rest_told_beside(tmp_path, over, verdict):
    """To memory of either kind; to page-locked memory fewer copies gain nothing."""
    rows = table_of(folder_of(tmp_path / "m", dict(L9a=1, L9b=1.3, L9c=3), copies=copies(over)))
    own = rows[(rows["claim"] == "L9") & (rows["n"] == 2**20)]
    assert own["role"].tolist() == [cl.CLAIM, *[cl.STEP] * 2, *[cl.BESIDE] * 3]
    assert own["verdict"].tolist() == [verdict, HOLDS if over > 1.1 else verdict, NONE, NONE, HOLDS, HOLDS]
    assert "16,384 bytes to pageable memory take 9 us, Synthetic GPU, copies.csv" in own["reason"].iloc[1]


def test_what_is_lacking_is_said(tmp_path):
    rows = judged(folder_of(tmp_path / "m", dict(S1=None), ncu=ncu_rows("L6", [("", ""), ("", "")], reason="ERR_NVGPUCTRPERM")))
    reasons = {claim: row["reason"] for (claim, role), row in rows.items() if role == cl.CLAIM and row["verdict"] == UNDECIDED}
    assert "ERR_NVGPUCTRPERM" in reasons["L6"] and "lacking" in reasons["S1"] and "contrasts.csv has no such row" in reasons["S2"]
    assert "no probes.csv" in reasons["S6"] and "no compiler.csv" in reasons["T6"] and "no compiler.csv" in reasons["U6"]
    assert "no contrasts.csv" in judged(folder_of(tmp_path / "none"))["S1", cl.CLAIM]["reason"]
    assert "no as-printed.csv" in reasons["T7"] and "no value where" in reasons["U4"] and len(reasons) == 36


# -------------------------------------------------------------------------------------------- two folders


def beside(here, other) -> int:
    return cl.main([str(here), "--beside", str(other)])


def one_line(capsys) -> str:
    said = capsys.readouterr().err
    assert said.startswith("claims.py: error: ") and said.count("\n") == 1, said
    return said


def test_two_folders_verdicts_are_set_beside_each_other(tmp_path, capsys):
    other = folder_of(tmp_path / "there", dict(S1=3, U0a=1.8, U0b=1.3, T2=0.5))
    here = folder_of(tmp_path / "here", dict(S1=0.5, U0a=1.8, U0b=1.3))
    assert beside(here, other) == 1 and f"there is no {here}/verdicts.csv: run `reductio summarize" in one_line(capsys)
    judge(other), judge(here)
    assert beside(here, other) == 0
    *rows, own, large = filter(None, capsys.readouterr().out.splitlines())
    assert rows[0] == "_there: there" and [row.split()[:3] for row in rows[2:]] == [
        [claim, role, str(n)] for claim, own_n in (("S1", 2**20), ("T2", 2**24)) for role, n in (("claim", own_n), ("large", 2**28))]
    assert "reversed" in rows[2] and rows[2].split()[-2:] == ["holds", "3.0"]
    assert own == "at the documents' own sizes: both decide 2 of 36 verdicts, 1 alike and 1 otherwise"
    assert large.startswith("at 2^28:")
    table = (other / "verdicts.csv").read_text()
    (other / "verdicts.csv").write_text(table.replace("squares/strided:block=256", "squares/other:block=256"))
    assert beside(here, other) == 1 and "were judged by different tests" in one_line(capsys)


# ------------------------------------------------------------------------------------------- verdicts.csv


def test_verdicts_are_written_counted_and_read_back(reductio, tmp_path):
    folder = folder_of(tmp_path / "m", dict(S1=3, U0a=1.8, U0b=1.05))
    said = reductio("summarize", folder, "--judge", cwd=SOURCE).ok().splitlines()
    assert list(cl.verdicts(rs.Results(folder))) == tb.VERDICTS.names
    assert said[-1].endswith("verdicts.csv: 1 holds, 1 holds but weaker, 34 not decidable here")
    assert set(cl.verdicts(rs.Results(folder))["claims_version"]) == {CLAIMS["version"]}


def test_bad_input_is_one_line(reductio, tmp_path):
    assert "is not a folder" in reductio("summarize", tmp_path / "nowhere", "--judge", cwd=SOURCE).error()
    folder = folder_of(tmp_path / "m", dict(S1=3))
    (folder / "probes.csv").write_text("quantity,value\nload_latency_memory,1\n")
    assert "probes.csv lacks the column unit; make it again" in reductio("summarize", folder, "--judge", cwd=SOURCE).error()
    assert not (folder / "verdicts.csv").exists()
    (folder / "probes.csv").unlink()
    for text, said in (("{", "is not a JSON object"), ('{"version": 1}', "claims"),
                       (cl.FILE.read_text().replace('"S1", "expects"', '"S0", "expects"'), "has no S0"),
                       (cl.FILE.read_text().replace('"expects": "more"', '"expects": "plenty"'),
                        "expects 'plenty'; known are more")):
        (tmp_path / "claims.json").write_text(text)
        error = reductio("summarize", folder, "--judge", "--claims", tmp_path / "claims.json", cwd=SOURCE).error()
        assert said in error, error


def test_contrasts_that_were_cut_are_not_judged(reductio, tmp_path):
    folder = folder_of(tmp_path / "m", dict(S1=3))
    file = folder / "contrasts.csv"
    file.write_text(file.read_text()[:-5])
    error = reductio("summarize", folder, "--judge", cwd=SOURCE).error()
    assert error.endswith("contrasts.csv was cut while being written; summarize without --judge"), error
    assert not (folder / "verdicts.csv").exists()


def test_a_slash_behind_the_folder_changes_nothing(reductio, tmp_path):
    """The folder beside it has what one GPU decides for all."""
    shutil.copytree(SOURCE / "experiments" / "results" / "nvidia-h100-claims", tmp_path / "nvidia-h100-claims")
    folder = folder_of(tmp_path / "m", dict(S1=3))
    reductio("summarize", f"{folder}/", "--judge", cwd=SOURCE).ok()
    assert "blocks wrong" in (folder / "verdicts.csv").read_text()


# ------------------------------------------------------------------------------------------- from samples

RESULTS = SOURCE / "experiments" / "results"
CPU = "--cpu-results", RESULTS / "cpu-intel-xeon"


def check(reductio, *folders):
    return reductio("summarize", "--check", *folders, *CPU, cwd=SOURCE)


def test_a_committed_folder_follows_from_its_samples(reductio):
    said = check(reductio, RESULTS / "nvidia-h200-second").ok()
    assert said.splitlines()[-1].endswith("nvidia-h200-second: no difference")


def changed(path, pattern: str, by) -> None:
    """The first match of the pattern, in a file that may be compressed."""
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    edited = re.sub(pattern, by, text, count=1, flags=re.M)
    assert edited != text
    path.write_bytes(gzip.compress(edited.encode(), 1) if path.suffix == ".gz" else edited.encode())


# What is planted, in which file, and the line that tells it.
PLANTED = {
    "a ratio": ("contrasts.csv", r"(S2,squares,[^\n]*?,1048576),1\.\d+", r"\1,2.96",
                r"contrasts.csv: S2 i32 n=1048576: value is 2.96, the samples give 1\.8\d+$"),
    "a mean": ("means.csv", r"^(probe.load_latency_l2.cycles,[^\n]*),[\d.]+$", r"\1,300",
               r"means.csv: probe.load_latency_l2.cycles.*: value is 300, the samples give 2\d\d"),
    "a verdict": ("verdicts.csv", r"^(S1,[^\n]*),holds,", r"\1,reversed,",
                  r"verdicts.csv: S1 .*claim: verdict is reversed, the samples give holds$"),
    "a time": ("squares.csv", r"^((?:[^,\n]*,){28})(\d)", lambda m: m[1] + str(int(m[2]) % 9 + 1),
               r"squares.csv: \S+ .*: \w+_s is \S+, its samples give \S+"),
    "a sample": ("squares.samples.csv.gz", r"(?<= )(\d[\d.]*)e-0\d(?= )", r"\1e-09",
                 r"squares.csv: \S+ .*time_\S+ is \S+, its samples give \S+"),
    "a goal": ("goals.csv", None, None, r"goals.csv has other columns than this program writes$")}


@pytest.mark.parametrize("what", PLANTED)
def test_what_does_not_follow_from_the_samples_is_red(reductio, tmp_path, what):
    file, pattern, by, line = PLANTED[what]
    folder = shutil.copytree(RESULTS / "nvidia-h200-second", tmp_path / "m")
    shutil.copytree(RESULTS / "nvidia-h100-claims", tmp_path / "h100-claims")
    if pattern:
        changed(folder / file, pattern, by)
    else:
        (folder / file).write_text("goal,verdict\nsums,met\n")
    if file.startswith("squares"):
        done = check(reductio, folder)
        assert done.code == 1 and f"{file} is not as run 20" in done.out.replace(".gz", "", file.count(".gz") - 1)
        forget_hashes(folder)
    done = check(reductio, folder)
    assert done.code == 1 and done.err == ""
    assert any(re.search(line, told) for told in done.out.splitlines()), done.out
    assert re.search(r"m: \d+ differences?$", done.out)


def test_what_has_no_samples_is_named(reductio, tmp_path):
    said = check(reductio, RESULTS / "nvidia-h100-claims").ok()
    assert "note: " in said and "nvidia-h100-claims holds no raw samples: only its files' SHA-256 are checked" in said
    folder = shutil.copytree(RESULTS / "nvidia-h200-second", tmp_path / "m")
    (folder / "latency.samples.csv.gz").unlink()
    done = check(reductio, folder)
    assert f"note: {folder} has no raw samples of latency: its rows are not checked\n" in done.out
    (folder / "latency.csv").unlink()
    done = check(reductio, folder)
    assert done.code == 1 and "latency.csv" in done.out
