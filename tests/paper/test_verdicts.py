"""Claims as data, and the verdict that a results folder gives on each: every verdict forced by synthetic rows, and
every gap said."""

import csv
import gzip
import json
import math
import re
from pathlib import Path

import pytest
import synthetic
from project import SOURCE

import results as rs
import samples
import verdicts as vd
from text import claims as ids
from text import tables

CLAIMS = vd.read_claims()
BY_ID = {c["id"]: c for c in CLAIMS["claims"]}
TESTS = [(c["id"], vd.test_of(CLAIMS, c, t)) for c in CLAIMS["claims"] for t in c["tests"]]
FORMER = [(c["claim"], vd.test_of(CLAIMS, BY_ID[c["claim"]], t)) for c in vd.changes(CLAIMS) for t in c["before"]]
RESULTS = SOURCE / "experiments" / "results"


def of_claim(claim: str) -> list[dict]:
    """The tests that decide it."""
    return [t for c, t in TESTS if c == claim and not t.get("beside")]


def ratios_in(test: dict) -> list[dict]:
    """The speedups that a test takes."""
    if test["kind"] == "gains":
        return [{**test, **test[side], "kind": "ratio"} for side in ("base", "variant")]
    return [test] if test["kind"] in ("ratio", "rest") else []


def calls_in(test: dict) -> list[str]:
    sides = [test[s] for s in ("base", "variant") if isinstance(test.get(s), str)]
    sides += [test[s]["call"] for s in ("of", "over") if isinstance(test.get(s), dict) and "call" in test[s]]
    return sides + [t[s] for t in ratios_in(test) for s in ("base", "variant")] + test.get("variants", [])


# ------------------------------------------------------------------------------------------- claims as data


def test_every_claim_is_there_once_with_tests_that_can_be_judged():
    assert list(BY_ID) == [c for of in ids.CLAIMS.values() for c in of] and len(CLAIMS["claims"]) == 36
    for claim in CLAIMS["claims"]:
        assert claim["id"] in ids.CLAIMS[claim["document"]] and claim["statement"] and claim["tests"]
        assert {"id", "document", "statement", "text_figure", "tests"} <= set(claim) <= {
            "id", "document", "statement", "text_figure", "note", "tests", "changes"}, claim["id"]
        assert not all(t.get("beside") for t in claim["tests"]), claim["id"]
    assert {t["kind"] for _, t in TESTS + FORMER} == set(vd.JUDGES)
    for claim, test in TESTS:
        assert test["effect"] >= 0 and test["n"][0] > 0 and test["experiments"], claim
        if "expects" in test:
            vd.decide(1, 1, test["effect"], test["expects"])


def tunables(folder: str) -> dict[str, dict[str, str]]:
    """Of each variant in a folder's catalog: "block: 32, 64 (default 256); finish: ..." by tunable."""
    with (RESULTS / folder / "catalog.csv").open(newline="") as file:
        return {r["variant"]: dict(one.split(": ", 1) for one in r["tunables"].split("; ") if one)
                for r in csv.DictReader(file)}


def test_tests_name_experiments_that_exist():
    drivers = "".join(p.read_text() for p in (SOURCE / "experiments").glob("*.cpp"))
    assert all(f'.name = "{name}"' in drivers for name in vd.experiments(CLAIMS))


def test_tests_name_variants_that_exist_with_all_of_their_settings():
    known = tunables("cpu-intel-xeon") | tunables("nvidia-h200")
    for claim, test in TESTS + FORMER:
        for call in calls_in(test):
            variant, _, settings = call.partition(":")
            assert set(rs.parse_settings(settings.replace(",", ";"))) == set(known[variant]), (claim, call)


def test_a_document_is_judged_at_its_own_size_first():
    own = {"squares": 2**20, "twopass": 2**24, "unroll": 2**24, "levels": 2**20, "multiblock": 10**8}
    assert {d: c["n"] for d, c in CLAIMS["documents"].items()} == {d: [n, 2**28] for d, n in own.items()}
    for claim, test in TESTS:
        if test["device"] == "cuda" and claim != "T4":
            assert test["n"][0] == own[BY_ID[claim]["document"]], claim


def test_how_to_finish_is_judged_end_to_end():
    modes = {c: {t["timing_mode"] for t in of_claim(c)} for c in ("S4", "T3", "L5", "L9", "M2")}
    assert modes.pop("M2") == {"device", "end_to_end"}
    assert all(of == {"end_to_end"} for of in modes.values())


def is_test(source: str, named: str) -> bool:
    """Whether a GoogleTest of this name, Suite.Name, is defined by TEST or by a macro of the file that makes one, and is
    neither disabled nor in a comment."""
    suite, name = named.split(".")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S).replace("\\\n", " ")
    makers = re.findall(rf"^#define (\w+)\((\w+)[^)]*\).*\bTEST\({suite}, (\w+)\)", code, re.M)
    makers = [macro for macro, first, of in makers if first == of]
    return bool(re.search(rf"^(TEST\({suite}, |({'|'.join(['(?!)', *makers])})\(){name}\b", code, re.M))


@pytest.mark.parametrize("claim, test", [(c, t) for c, t in TESTS if t["kind"] == "shown"])
def test_what_a_test_shows_is_shown_by_a_test_that_there_is(claim, test):
    assert is_test((SOURCE / test["by"]).read_text(), test["named"]), claim


def test_a_name_alone_is_no_test():
    macro = "#define MADE(of) \\\n  TEST(A, of) { run(of); }\n"
    for source in ("TEST(A, b) {}", "int i;\nTEST(A, b) {}", macro + "MADE(b)"):
        assert is_test(source, "A.b"), source
    for source in ("TEST(A, DISABLED_b) {}", "TEST(DISABLED_A, b) {}", "// TEST(A, b) {}", "/* x\nTEST(A, b) {}\n*/", "b",
                   "TEST(A, bc) {}", "TEST(B, b) {}", "MADE(b)", macro, macro + "//MADE(b)", macro + "MADE(DISABLED_b)",
                   macro + "x = \"MADE(b)\""):
        assert not is_test(source, "A.b"), source


def test_counters_and_probes_are_those_that_are_made():
    counted = (SOURCE / "experiments" / "ncu.py").read_text()
    for claim, test in TESTS + FORMER:
        for metric in [test.get("metric")] + [test[s]["metric"] for s in ("of", "over") if "call" in str(test.get(s))]:
            assert metric is None or f'"{metric}"' in counted, (claim, metric)
    timing = SOURCE / "src" / "measure" / "timing"
    probed = (timing / "cuda" / "probes.cu").read_text() + (timing / "probes.cpp").read_text()
    asked = (SOURCE / "paper" / "verdicts.py").read_text() + vd.CLAIMS_FILE.read_text()
    named = re.findall(r'"quantity": "(\w+)"', asked)
    assert named and all(f'"{quantity}"' in probed for quantity in named)


# ----------------------------------------------------------------------------------------------- deciding


@pytest.mark.parametrize("low, high, expects, told, verdict", [
    (1.03, 1.04, "more", None, vd.HOLDS), (1.03, 1.04, "more", 2, vd.WEAKER), (1.03, 1.5, "more", 2, vd.HOLDS),
    (0.99, 1.01, "more", 2, vd.NONE), (0.5, 0.9, "more", None, vd.REVERSED), (1.01, 1.04, "more", None, vd.UNDECIDED),
    (0.9, 1.1, "more", None, vd.UNDECIDED), (0.97, 1.0, "more", None, vd.UNDECIDED),
    (0.9, 1.01, "no more", None, vd.HOLDS), (1.03, 1.1, "no more", None, vd.REVERSED),
    (1.01, 1.03, "no more", None, vd.UNDECIDED), (0.99, 1.5, "no less", None, vd.HOLDS),
    (0.9, 0.95, "no less", None, vd.REVERSED), (0.97, 0.99, "no less", None, vd.UNDECIDED),
    (1.03, 1.1, "different", None, vd.HOLDS), (0.9, 0.95, "different", None, vd.HOLDS),
    (0.99, 1.01, "different", None, vd.NONE), (1.0, 1.03, "different", None, vd.UNDECIDED),
    (0.99, 1.01, "the same", None, vd.HOLDS), (1.5, 1.6, "the same", None, vd.REVERSED)])
def test_an_interval_gives_one_verdict(low, high, expects, told, verdict):
    assert vd.decide(low, high, 0.02, expects, told)[0] == verdict


def test_a_claims_verdict_is_the_worst_of_its_tests():
    found = {v: vd.Found(v, "") for v in vd.VERDICTS}
    assert vd.worst([found[vd.HOLDS], found[vd.WEAKER]]).verdict == vd.WEAKER
    assert vd.worst([found[vd.NONE], found[vd.WEAKER]]).verdict == vd.NONE
    assert vd.worst([found[vd.NONE], found[vd.UNDECIDED]]).verdict == vd.UNDECIDED
    assert vd.worst([found[vd.REVERSED], found[vd.UNDECIDED]]).verdict == vd.REVERSED


def test_rank_correlation():
    assert vd.kendall([1, 2, 3], [10, 20, 30]) == 1 and vd.kendall([1, 2, 3], [3, 2, 1]) == -1
    assert vd.kendall([1, 2, 3], [5, 5, 5]) == 0
    assert vd.kendall([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(4 / 6)
    assert vd.kendall([1, 2, 3], [100, 101, 99.5], 0.02) == 0 and vd.kendall([1, 1.01, 3], [1, 2, 3], 0.02) == pytest.approx(
        2 / math.sqrt(6))


# --------------------------------------------------------------------------------------- synthetic folders


def timed(test: dict, call: str, n: int, time: float, mode: str, width: float, experiment: str) -> dict:
    """A call's row, as the test looks for it."""
    variant, settings = vd_call(call, n)
    part = mode == "device_part"
    more = dict(device_part_median_s=time, device_part_ci_low_s=time * (1 - width),
                device_part_ci_high_s=time * (1 + width)) if part else {}
    return synthetic.timed(time + 15e-6 * part, width, experiment=experiment, device=test["device"], variant=variant,
                           settings=settings, n=n, operation=test["operation"], element_type=test["element_type"],
                           accumulator_type=test["element_type"], cache_state=test["cache_state"],
                           timing_mode="end_to_end" if part else mode, **more)


def vd_call(call: str, n: int) -> tuple[str, str]:
    """The row's variant and settings; the synthetic GPU has 100 multiprocessors."""
    variant, _, settings = call.partition(":")
    settings = re.sub(r"(\d+)\*SMs", lambda m: str(100 * int(m[1])), settings.replace(",", ";"))
    return variant, re.sub(r"ceil\(n/(\d+)\)", lambda m: str(math.ceil(n / int(m[1]))), settings)


def write(folder, rows: list[dict], machine=None):
    """A folder with these rows, a CSV an experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(machine or synthetic.MACHINE))
    for experiment in {r["experiment"] for r in rows}:
        synthetic.write_csv(folder / f"{experiment}.csv", [r for r in rows if r["experiment"] == experiment])
    return folder


def rows_of(claim: str, ratios: list[float], width: float = 0.001, experiment: int = 0, of=of_claim) -> list[dict]:
    """Rows that give the claim's speedups these ratios, at all of their sizes."""
    tests = [r for t in of(claim) for r in ratios_in(t)]
    assert len(tests) == len(ratios)
    rows: dict[tuple, dict] = {}
    for n in tests[0]["n"]:
        times: dict[str, float] = {}
        for test, ratio in zip(tests, ratios):
            base_mode = test.get("base_timing_mode", test["timing_mode"])
            base, mine = (test["base"], base_mode), (test["variant"], test["timing_mode"])
            if mine in times:
                times[base] = times[mine] * ratio
            times[mine] = times.setdefault(base, 1e-3 * n / 2**20) / ratio
            name = test["experiments"][experiment]
            for call, mode in (base, mine):
                rows[call, mode, n] = timed(test, call, n, times[call, mode], mode, width, name)
    return list(rows.values())


def judged(folder, cpu_folder=None) -> dict[tuple[str, str], dict]:
    """The claims' own rows of verdicts.csv, by claim and role."""
    return {(r["claim"], r["role"]): r for r in vd.verdicts(vd.Folder(folder, cpu_folder)) if r["role"] != vd.STEP}


@pytest.mark.parametrize("claim, ratios, verdict", [
    ("S1", [3], vd.HOLDS), ("S1", [1.5], vd.WEAKER), ("S1", [1], vd.NONE), ("S1", [0.7], vd.REVERSED),
    ("S1", [1.02], vd.UNDECIDED), ("S4", [1.2], vd.HOLDS), ("S4", [1.02], vd.NONE), ("T2", [0.5], vd.REVERSED),
    ("T3", [1.5], vd.HOLDS), ("U0", [1.8, 1.3], vd.HOLDS), ("U0", [1.8, 1.05], vd.WEAKER),
    ("U0", [0.8, 1.3], vd.REVERSED),
    ("U1", [1.8, 1.4, 1.0], vd.NONE), ("U3", [1, 0.98], vd.HOLDS), ("U3", [1.1, 1], vd.REVERSED),
    ("L1", [2, 1.5, 2], vd.HOLDS), ("L1", [1.5, 2, 1.5], vd.REVERSED), ("L2", [0.9], vd.HOLDS), ("L2", [1.0], vd.NONE),
    ("L7", [0.99], vd.HOLDS), ("L7", [0.5], vd.REVERSED), ("L8", [1.1, 1.5], vd.HOLDS), ("L8", [1.5, 1.1], vd.REVERSED),
    ("M1", [1.4, 1.2, 1.0], vd.HOLDS), ("M1", [1.4, 1.2, 0.9], vd.REVERSED), ("M2", [1.01, 1.0], vd.HOLDS),
    ("M2", [1.01, 0.9], vd.REVERSED)])
def test_rows_force_each_verdict(tmp_path, claim, ratios, verdict):
    found = judged(write(tmp_path / "m", rows_of(claim, ratios)))
    assert found[claim, vd.CLAIM]["verdict"] == verdict, found[claim, vd.CLAIM]["reason"]
    assert found[claim, vd.AT_LARGE]["verdict"] == verdict
    tests = of_claim(claim)
    if len(tests) == 1:
        assert float(found[claim, vd.CLAIM]["ratio"]) == pytest.approx(
            ratios[0] if len(ratios) == 1 else ratios[1] / ratios[0], rel=1e-5)
    assert found[claim, vd.CLAIM]["n"] == str(tests[0]["n"][0]) and found[claim, vd.AT_LARGE]["n"] == str(2**28)


@pytest.mark.parametrize("claim, ratios, verdict", [("T5", [1.5, 1.4], vd.HOLDS), ("T5", [1.5, 1], vd.NONE),
                                                    ("U7", [1, 1], vd.HOLDS), ("U7", [1, 2], vd.REVERSED)])
def test_the_cpus_claims_are_judged_by_the_cpus_folder(tmp_path, claim, ratios, verdict):
    cpu = write(tmp_path / "cpu", rows_of(claim, ratios))
    gpu = write(tmp_path / "gpu", rows_of("S1", [3]))
    assert judged(gpu, cpu)[claim, vd.CLAIM]["verdict"] == verdict
    assert judged(gpu)[claim, vd.CLAIM]["verdict"] == vd.UNDECIDED
    assert "no cpu.csv" in judged(gpu)[claim, vd.CLAIM]["reason"]


def test_ratios_are_paired_by_round(tmp_path):
    """Times that drift by half while they are sampled differ from round to round, and not within a round."""
    folder = write(tmp_path / "m", rows_of("S1", [1.1], width=0.3))
    assert judged(folder)["S1", vd.CLAIM]["verdict"] == vd.UNDECIDED
    synthetic.write_samples(folder, experiment="squares")
    found = judged(folder)["S1", vd.CLAIM]
    assert found["verdict"] == vd.WEAKER and "not paired" not in found["reason"]
    assert float(found["ci_high"]) - float(found["ci_low"]) < 0.01


def test_too_few_allocations_give_no_verdict(tmp_path):
    folder = write(tmp_path / "m", rows_of("S1", [3]))
    synthetic.write_samples(folder, rounds=6, experiment="squares")  # two rounds an allocation
    found = judged(folder)["S1", vd.CLAIM]
    assert found["verdict"] == vd.UNDECIDED and "too few allocations" in found["reason"] and found["ratio"] == ""


@pytest.mark.parametrize("kept, said", [
    (range(0, 24, 2), "squares.samples.csv.gz has no common round of "), ((), "squares.samples.csv.gz has no raw samples of "),
    (None, " from different runs")])
def test_why_two_times_give_no_ratio_is_what_is_so(tmp_path, kept, said):
    """The base has the odd rounds alone; the variant has the even ones, none, or a run of its own."""
    rows = rows_of("S1", [3])
    variant = of_claim("S1")[0]["variant"].partition(":")[0]
    folder = write(tmp_path / "m", [r | {"run_id": "another"} if kept is None and r["variant"] == variant else r for r in rows])
    synthetic.write_samples(folder, experiment="squares")
    path = folder / "squares.samples.csv.gz"
    with gzip.open(path, "rt", newline="") as file:
        records = list(csv.DictReader(file))
    assert variant != of_claim("S1")[0]["base"].partition(":")[0]
    for r in records:
        rounds = kept if r["variant"] == variant and kept is not None else range(1, 24, 2)
        r |= {c: " ".join(r[c].split()[k] for k in rounds) for c in ("round", "allocation", *samples.TIMES, "voided") if r[c]}
    synthetic.write_csv(path, [r for r in records if r["round"]])
    reason = judged(folder)["S1", vd.CLAIM]["reason"]
    assert said in reason and ("different runs" in reason) == (kept is None)


def test_a_claim_falls_back_on_another_experiment_only_where_its_entry_says_so(tmp_path):
    folder = write(tmp_path / "m", rows_of("S1", [3], experiment=1))
    found = judged(folder)["S1", vd.CLAIM]
    assert found["verdict"] == vd.HOLDS and "comparison.csv" in found["reason"]
    as_comparison = [{**r, "experiment": "comparison"} for r in rows_of("L9", [3])]
    found = judged(write(tmp_path / "other", as_comparison))["L9", vd.CLAIM]
    assert found["verdict"] == vd.UNDECIDED and "no levels.csv" in found["reason"]


def test_its_own_experiment_comes_first(tmp_path):
    rows = rows_of("S1", [3], experiment=1) + rows_of("S1", [0.5])
    assert judged(write(tmp_path / "m", rows))["S1", vd.CLAIM]["verdict"] == vd.REVERSED


# ------------------------------------------------------------------------------ criteria that are no ratio


def cycles(test: dict, call: str, value: float, experiment: str) -> dict:
    variant, settings = vd_call(call, test["n"][0])
    return synthetic.row(experiment=experiment, variant=variant, settings=settings, n=test["n"][0], timing_mode="clock",
                         operation=test["operation"], element_type=test["element_type"], cycles_median=value)


def probes(offsets=(0, 0), latency=700, rate=1.5) -> list[dict]:
    def of(quantity, value, unit, sm=0):
        return dict(quantity=quantity, sm=sm, repeat=0, value=value, unit=unit)

    return [*(of("sm_clock_offset", o, "cycles", sm) for sm, o in enumerate(offsets)),
            of("sm_clock_rate", rate, "cycles/ns"),
            of("load_latency_memory", latency, "cycles"), of("load_latency_memory", latency / rate, "ns")]


def clock_rows(off: float) -> list[dict]:
    """Of S5: one block's clock() is right, that of many is off by a factor. The run takes 100 us, 150,000 cycles."""
    test = of_claim("S5")[0]
    return [r for call, factor in ((test["base"], 1), (test["variant"], off)) for r in (
        timed(test, call, test["n"][0], 100e-6, "globaltimer", 0.001, "squares"),
        cycles(test, call, factor * 150e3, "squares"))]


@pytest.mark.parametrize("off, offsets, verdict", [(1.0, (0, 700), vd.HOLDS), (1.2, (0, 700), vd.REVERSED),
                                                   (1.0, (0, 3000), vd.REVERSED), (1.0, None, vd.UNDECIDED),
                                                   (9.0, None, vd.REVERSED)])
def test_clocks_are_compared_across_multiprocessors(tmp_path, off, offsets, verdict):
    folder = write(tmp_path / "m", clock_rows(off))
    if offsets:
        synthetic.write_csv(folder / "probes.csv", probes(offsets))
    assert judged(folder)["S5", vd.CLAIM]["verdict"] == verdict


def by_s6(folder, test: dict, taken: float, latency: float) -> dict:
    """What a test of S6 gives where a thread takes so many cycles for each element, and a load so many."""
    threads = int(re.search(r"block=(\d+)", test["variant"])[1])
    write(folder, [cycles(test, test["variant"], taken * 2**20 / threads, "latency")])
    synthetic.write_csv(folder / "probes.csv", probes(latency=latency))
    return vars(vd.judge(vd.Folder(folder), test, test["n"][0]))


@pytest.mark.parametrize("latency, taken, verdict, told", [
    (700, 710, vd.HOLDS, "1024 threads with one load each take 710 cycles, 0.693 each: 256 fill at most 178 of a load's 700"),
    (700, 699, vd.UNDECIDED, "takes 699 cycles for each element, of a load's 700: a thread has several loads under way"),
    (900, 1030, vd.UNDECIDED, "1.01 each"), (700, 1030, vd.REVERSED, "1.01 each")])
def test_other_threads_fill_no_more_of_a_latency_than_they_work(tmp_path, latency, taken, verdict, told):
    test, = (t for t in of_claim("S6") if t["kind"] == "filled")
    found = by_s6(tmp_path / "m", test, taken, latency)
    assert found["verdict"] == verdict and told in found["reason"]


@pytest.mark.parametrize("latency, taken, verdict", [(700, 600, vd.HOLDS), (700, 300, vd.REVERSED), (400, 390, vd.HOLDS)])
def test_latency_that_does_not_show_was_taken_for_hidden(tmp_path, latency, taken, verdict):
    test = next(t for c, t in FORMER if c == "S6" and t["kind"] == "hidden")
    found = by_s6(tmp_path / "m", test, taken, latency)
    assert found["verdict"] == verdict
    assert f"{latency - taken} are hidden, {(latency - taken) / 256:.3g} for each of 256 threads" in found["reason"]


def ladder_rows() -> list[dict]:
    """Nine kernels, each faster than the one before."""
    test = of_claim("U8")[0]
    return [timed(test, call, 2**24, 1e-3 / (k + 1), "device_part", 0.001, "unrolling")
            for k, call in enumerate(test["variants"])]


def counted(folder, test: dict, values, metric="metric") -> None:
    """ncu.csv with these counts of the test's kernels, and of its other metrics none."""
    other = ncu_row("unroll/unroll8:block=1024,finish=host,load=independent", 2**24, test[metric], 1e9)
    before = list(csv.DictReader((folder / "ncu.csv").open())) if (folder / "ncu.csv").exists() else []
    synthetic.write_csv(folder / "ncu.csv", [*before, *(ncu_row(call, 2**24, test[metric], v) for call, v in
                                                        zip(test["variants"], values)), other])


@pytest.mark.parametrize("swapped, verdict", [(0, vd.HOLDS), (3, vd.WEAKER), (6, vd.NONE), (9, vd.REVERSED)])
def test_speed_goes_with_a_counter_or_not(tmp_path, swapped, verdict):
    """A counter that grows with speed, of which the first few kernels have the opposite order."""
    folder, test = write(tmp_path / "m", ladder_rows()), of_claim("U8")[0]
    values = list(range(9))
    values[:swapped + 1] = values[:swapped + 1][::-1]
    counted(folder, test, values)
    counted(folder, test, range(100, 1000, 100), "of")
    found = judged(folder)["U8", vd.CLAIM]
    assert found["verdict"] == verdict
    assert found["reason"].startswith(f"rank correlation {float(found['ratio']):.3g} of speed and dram")
    assert "no value where" in judged(folder)["U4", vd.CLAIM]["reason"]


@pytest.mark.parametrize("last, verdict", [(1010, vd.UNDECIDED), (1030, vd.HOLDS)])
def test_a_rate_of_what_is_the_same_decides_nothing(tmp_path, last, verdict):
    """Of bytes that are the same, bytes for each second go with speed whatever the kernels do."""
    folder, test = write(tmp_path / "m", ladder_rows()), of_claim("U8")[0]
    counted(folder, test, range(1, 10))
    counted(folder, test, [1000] * 8 + [last], "of")
    found = judged(folder)["U8", vd.CLAIM]
    assert found["verdict"] == verdict
    assert ("9 kernels have the same dram__bytes_read.sum, to within 1 %" in found["reason"]) == (verdict == vd.UNDECIDED)


def test_counts_that_are_nearly_the_same_are_ties(tmp_path):
    """Of nine kernels of which each is faster than the one before, two have a quarter of the efficiency: one step in the
    order, whatever the last digits say."""
    folder = write(tmp_path / "m", ladder_rows())
    for test in of_claim("U4"):
        counted(folder, test, [25, 25.01, 98, 98.1, 98.2, 98.3, 99.5, 99.3, 99.1])
    of = [r for r in vd.verdicts(vd.Folder(folder)) if r["claim"] == "U4"]
    assert {r["verdict"] for r in of} == {vd.WEAKER}
    assert all(float(r["ratio"]) == pytest.approx(14 / math.sqrt(14 * 36), rel=1e-4) for r in of[1:])
    assert all("up to 2 % apart is a tie (0.833 without ties), and kernels whose counts tie are up to 3 times apart" in r["reason"]
               for r in of)
    assert of[0][vd.BEFORE] == vd.HOLDS


def ncu_row(call: str, n: int, metric: str, value, reason="") -> dict:
    variant, settings = vd_call(call, n)
    return dict(kernel="k", variant=variant, settings=settings, n=n, element_type="i32", metric=metric, value=value,
                unit="", reason=reason)


def ncu_rows(claim: str, pairs: list[tuple[float, float]], **more) -> list[dict]:
    return [ncu_row(side["call"], side["n"], side["metric"], value, **more)
            for test, values in zip(of_claim(claim), pairs) for side, value in zip((test["of"], test["over"]), values)]


@pytest.mark.parametrize("claim, pairs, verdict", [
    ("U5", [(2, 1)], vd.HOLDS), ("U5", [(1, 2)], vd.REVERSED), ("U5", [(1, 1)], vd.NONE),
    ("L6", [(2, 1), (9e4, 5e4)], vd.HOLDS), ("L6", [(2, 1), (9e4, 7)], vd.HOLDS),
    ("L6", [(1.2, 1), (9e4, 0)], vd.WEAKER),
    ("L6", [(2, 1), (3e4, 7)], vd.NONE), ("L6", [(1, 2), (9e4, 0)], vd.REVERSED)])
def test_counters_are_compared(tmp_path, claim, pairs, verdict):
    folder = write(tmp_path / "m", rows_of("S1", [3]))
    assert len(pairs) == len(of_claim(claim))
    synthetic.write_csv(folder / "ncu.csv", ncu_rows(claim, pairs))
    assert judged(folder)[claim, vd.CLAIM]["verdict"] == verdict


@pytest.mark.parametrize("claim, values, verdict", [
    ("T6", [20, 14], vd.HOLDS), ("T6", [14, 14], vd.NONE), ("T6", [14, 15], vd.REVERSED), ("U6", [1], vd.HOLDS),
    ("U6", [16], vd.REVERSED)])
def test_machine_code_is_counted(tmp_path, claim, values, verdict):
    folder, test = write(tmp_path / "m", rows_of("S1", [3])), of_claim(claim)[0]
    rows = [dict.fromkeys(["compiler", "kernel", "loop", "instructions", "unrolled_by"], "") | side["where"]
            | {side["value"]: value} for side, value in zip((test["of"], test["over"]), values)]
    of_the_host = {**rows[0], "compiler": "g++", "instructions": 99, "unrolled_by": 99}
    synthetic.write_csv(folder / "compiler.csv", [*rows, of_the_host])
    assert judged(folder)[claim, vd.CLAIM]["verdict"] == verdict


def test_why_a_profiler_did_not_count_is_told(tmp_path):
    folder = write(tmp_path / "m", rows_of("S1", [3]))
    synthetic.write_csv(folder / "ncu.csv", ncu_rows("L6", [("", ""), ("", "")], reason="ERR_NVGPUCTRPERM"))
    found = judged(folder)["L6", vd.CLAIM]
    assert found["verdict"] == vd.UNDECIDED and "ERR_NVGPUCTRPERM" in found["reason"]


@pytest.mark.parametrize("missing, claims", [("ncu.csv", ["U4", "U5", "U8", "L6"]), ("probes.csv", ["S6"]),
                                             ("compiler.csv", ["T6", "U6"])])
def test_what_another_program_has_not_made_is_said(tmp_path, missing, claims):
    found = judged(write(tmp_path / "m", rows_of("S1", [3]) + ladder_rows()))
    for claim in claims:
        assert found[claim, vd.CLAIM]["verdict"] == vd.UNDECIDED
        assert f"no {missing}: " in found[claim, vd.CLAIM]["reason"]


def test_one_kernel_that_finishes_alone_answers_t4(tmp_path):
    test = of_claim("T4")[0]
    row = timed(test, test["variant"], 2**24, 1e-5, "device", 0.01, "multiblock")
    assert judged(write(tmp_path / "m", [row]))["T4", vd.CLAIM]["verdict"] == vd.REVERSED
    wrong = {**row, "status": "wrong", "reason": "4 instead of 3"}
    found = judged(write(tmp_path / "wrong", [wrong]))["T4", vd.CLAIM]
    assert found["verdict"] == vd.UNDECIDED and "4 instead of 3" in found["reason"]


def test_a_warps_lock_step_and_the_multiple_of_32_are_refuted_on_any_machine(tmp_path):
    found = judged(write(tmp_path / "m", rows_of("S1", [3])))
    assert found["T1", vd.CLAIM]["verdict"] == found["T7", vd.CLAIM]["verdict"] == vd.REVERSED


# -------------------------------------------------------------------------------------------- two folders


def test_two_folders_verdicts_are_set_beside_each_other(tmp_path, capsys):
    there = write(tmp_path / "there", rows_of("S1", [3]) + rows_of("U0", [1.8, 1.3]) + rows_of("T2", [0.5]))
    here = write(tmp_path / "here", rows_of("S1", [0.5]) + rows_of("U0", [1.8, 1.3]))
    assert run(there) == run(here) == 0
    capsys.readouterr()
    assert run(here, "--beside", there) == 0
    out = capsys.readouterr().out
    assert out.startswith("_there: there\n")
    *rows, own, large = [line.split() for line in out.splitlines()[2:] if line]
    assert [row[:3] for row in rows] == [["S1", "claim", "1048576"], ["S1", "large", "268435456"], ["T2", "claim", "16777216"],
                                         ["T2", "large", "268435456"]]
    assert "reversed" in rows[0] and rows[0][-2] == "holds" and float(rows[0][-1]) == pytest.approx(3, rel=1e-3)
    assert " ".join(own) == "at the documents' own sizes: both decide 3 of 32 verdicts, 2 alike and 1 otherwise"
    assert large[:2] == ["at", "2^28:"]


def test_a_single_step_that_is_decided_otherwise_is_told(tmp_path, capsys):
    here, there = (write(tmp_path / name, rows_of("U1", ratios)) for name, ratios in
                   (("here", [1.8, 1.4, 1.1]), ("there", [1.8, 1.1, 1.1])))
    assert run(here) == run(there) == run(here, "--beside", there) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ *U1 +step +16777216 .*unroll2.* +.*unroll4.* +holds +1.4 +holds but weaker +1.1$", out, re.M)
    assert "verdicts, all alike" in out


def change(folder: Path, claim: str, **fields: str) -> None:
    """In the claim's own row of verdicts.csv."""
    with (folder / "verdicts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    next(r for r in rows if (r["claim"], r["role"]) == (claim, vd.CLAIM)).update(fields)
    vd.write(rows, folder / "verdicts.csv")


def test_what_carries_over_is_a_sentence_for_each_folder_beside(tmp_path, capsys):
    for name, ratio in (("here", 3), ("second", 0.5), ("third", 3)):
        synthetic.write_folder(tmp_path / name, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
        assert run(write(tmp_path / name, rows_of("S1", [ratio]))) == 0
    second, third = ids.carried_over(rs.read_results(tmp_path / "here"))
    assert second == ("Beside second (Synthetic GPU): both decide 2 of 32 verdicts, 1 alike and 1 otherwise. Decided "
                      "otherwise: S1 (reversed there, holds here) and S1 at 2^28 (reversed there, holds here).")
    assert third == "Beside third (Synthetic GPU): both decide 2 of 32 verdicts, all alike."
    # Judged by an older claims.json: the paper is made without it.
    judged_before = (tmp_path / "second" / "verdicts.csv").read_text()
    (tmp_path / "second" / "verdicts.csv").write_text(judged_before.replace("\nS1,", "\nS0,"))
    capsys.readouterr()
    assert ids.carried_over(rs.read_results(tmp_path / "here")) == [third]
    said = capsys.readouterr().out
    assert said.startswith("  verdicts of second are left out: ") and "each claim of claims.json once" in said
    (tmp_path / "here" / "verdicts.csv").unlink()
    assert ids.carried_over(rs.read_results(tmp_path / "here")) == []


def test_verdicts_of_other_calls_are_not_set_beside(tmp_path, capsys):
    """One claims.json judged S1 by another variant; a test that one folder cannot decide may name no calls."""
    here, there = (write(tmp_path / name, rows_of("S1", [3])) for name in ("here", "there"))
    assert run(here) == run(there) == 0
    for variant, code in (("", 0), ("squares/other", 1)):
        change(there, "S1", variant=variant)
        assert run(here, "--beside", there) == code
    assert "were judged by different tests" in capsys.readouterr().err


def test_a_verdict_of_no_size_that_differs_is_told(tmp_path, capsys):
    here, there = (write(tmp_path / name, rows_of("S1", [3])) for name in ("here", "there"))
    assert run(here) == run(there) == 0
    change(there, "T7", verdict=vd.HOLDS)
    capsys.readouterr()
    assert run(here, "--beside", there) == 0
    assert re.search(r"^ *T7 +claim +reversed +holds *$", capsys.readouterr().out, re.M)


def test_a_folder_differs_from_itself_in_nothing(tmp_path, capsys):
    folder = write(tmp_path / "m", rows_of("S1", [3]))
    run(folder)
    capsys.readouterr()
    assert run(folder, "--beside", folder) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "both decide 2 of 32 verdicts, all alike" in first and second.startswith("at 2^28: ")


def test_what_judges_nothing_takes_no_cpu_results(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path, "--cpu-results", tmp_path, "--beside", tmp_path)
    assert "--beside: not allowed with argument --cpu-results" in one_line(capsys)


def test_a_folder_that_was_not_judged_is_told(tmp_path, capsys):
    judged_folder, other = (write(tmp_path / name, rows_of("S1", [3])) for name in ("m", "other"))
    run(judged_folder)
    capsys.readouterr()
    assert run(judged_folder, "--beside", other) == 1
    assert f"there is no {other}/verdicts.csv: run `python paper/verdicts.py {other}`" in one_line(capsys)
    assert run(judged_folder, "--beside", tmp_path / "nowhere") == 1 and "is not a folder" in one_line(capsys)
    (other / "verdicts.csv").write_text((judged_folder / "verdicts.csv").read_text().replace(",role", ",roll"))
    assert run(judged_folder, "--beside", other) == 1 and "lacks the column role" in one_line(capsys)


# ------------------------------------------------------------------------------------------- verdicts.csv


def run(folder, *more) -> int:
    return vd.main([str(folder), *map(str, more)])


def test_verdicts_are_written_counted_and_read_back(tmp_path, capsys):
    folder = write(tmp_path / "m", rows_of("S1", [3]) + rows_of("U0", [1.8, 1.05]))
    assert run(folder) == 0
    table = vd.read(folder / "verdicts.csv")
    assert list(table) == vd.COLUMNS
    said = capsys.readouterr().out
    assert said.splitlines()[-2].startswith("  by the tests as first set: ")
    of = table.loc[table["role"] == vd.CLAIM, "verdict"].value_counts()
    assert of.sum() == 36 and of[vd.HOLDS] == 1 and of[vd.WEAKER] == 1 and of[vd.REVERSED] == 2
    assert said.splitlines()[-1].endswith("1 holds, 1 holds but weaker, 0 no effect, 2 reversed, 32 not decidable here")
    assert "no ncu.csv: claims that need it are not decidable here" in said
    steps_of = table[(table["claim"] == "U0") & (table["role"] == vd.STEP)]
    assert list(steps_of["n"]) == [2**24, 2**24, 2**28, 2**28] and steps_of["ratio"].notna().all()


def one_line(capsys) -> str:
    said = capsys.readouterr().err
    assert said.startswith("verdicts.py: error: ") and said.count("\n") == 1, said
    return said


def test_bad_input_is_one_line(tmp_path, capsys):
    assert run(tmp_path / "nowhere") == 1 and "is not a folder" in one_line(capsys)
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty") == 1 and "machine.json does not exist" in one_line(capsys)
    bare = write(tmp_path / "bare", [])
    assert run(bare) == 1 and "holds no experiment that any claim asks for" in one_line(capsys)

    rows = rows_of("S1", [3])
    lacking = write(tmp_path / "lacking", [{k: v for k, v in r.items() if k != "device_part_median_s"} for r in rows])
    assert run(lacking) == 1 and "squares.csv lacks the column device_part_median_s" in one_line(capsys)
    cut = write(tmp_path / "cut", rows)
    whole = (cut / "squares.csv").read_bytes()
    (cut / "squares.csv").write_bytes(whole[:-20])
    assert run(cut) == 1 and "it was cut while being written" in one_line(capsys)
    (cut / "squares.csv").write_bytes(whole)
    synthetic.write_csv(cut / "probes.csv", [{k: v for k, v in r.items() if k != "unit"} for r in probes()])
    assert run(cut) == 1 and "probes.csv lacks the column unit: run `reductio probe`" in one_line(capsys)
    clocks = write(tmp_path / "clocks", clock_rows(1.0))
    synthetic.write_csv(clocks / "probes.csv", [{k: v for k, v in r.items() if k != "sm"} for r in probes()])
    assert run(clocks) == 1 and "probes.csv lacks the column sm: run `reductio probe`" in one_line(capsys)
    assert not (cut / "verdicts.csv").exists()


def read_with_verdicts(folder, *claims_and_ratios):
    """The results of a folder in which these claims have these speedups, after judging."""
    rows = [r for claim, ratios in claims_and_ratios for r in rows_of(claim, ratios)]
    synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20, 2**28]))
    write(folder, rows)
    assert run(folder) == 0
    return rs.read_results(folder)


def line_of(table: str, claim: str) -> list[str]:
    return re.search(rf"^{claim} & .*", table, re.M)[0].removesuffix(r" \\").split(" & ")


def test_the_papers_table_shows_ratios_and_verdicts(tmp_path):
    results = read_with_verdicts(tmp_path / "synthetic", ("S1", [3]), ("U0", [1.8, 1.05]), ("T2", [0.5]))
    table = tables.claims_table(results)
    assert line_of(table, "S1")[3:] == ["3.000 [2.996, 3.004]", "3.000 [2.996, 3.004]", "holds",
                                        r"above 1.02 (squares.\allowbreak{}csv, not paired)"]
    assert line_of(table, "S1")[2].startswith(r"\documentfigure{3 times")
    assert line_of(table, "U0")[3:6] == ["1.80, 1.05", "1.80, 1.05", "holds but weaker"]
    assert line_of(table, "U0")[6].startswith("worst of 2: below half of the document's 1.2")
    assert line_of(table, "T2")[3:5] == ["0.500 [0.499, 0.501]", "0.500 [0.499, 0.501]"]
    assert line_of(table, "T2")[5] == "reversed" and line_of(table, "T7")[3:6] == ["---", "---", "reversed"]
    assert line_of(table, "U8")[3:6] == ["---", "---", "not decidable here"]
    of = ids.counted(ids.judged(results))
    own = ids.judged(results).query("role == 'claim'")["verdict"]
    assert of[vd.WEAKER] == 1 and of[vd.HOLDS] == (own == vd.HOLDS).sum() >= 1
    assert ids.finding(results).startswith("Of the 36 claims, ") and sum(of.values()) == 36


def test_the_verdict_at_the_large_size_is_told_where_it_is_another(tmp_path):
    small = [r for r in rows_of("S1", [3]) if r["n"] == 2**20]
    large = [r for r in rows_of("S1", [0.5]) if r["n"] == 2**28]
    folder = tmp_path / "synthetic"
    synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    write(folder, small + large)
    run(folder)
    results = rs.read_results(folder)
    assert line_of(tables.claims_table(results), "S1")[4:6] == ["0.500 [0.499, 0.501]: reversed", "holds"]
    assert "| **holds**; at 2^28: reversed |" in ids.markdown(results)


def test_one_of_several_steps_that_is_lacking_keeps_its_place(tmp_path):
    folder = tmp_path / "synthetic"
    synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    write(folder, [r for r in rows_of("U1", [1.8, 1.4, 1.5]) if "interleaved" not in r["variant"]])
    run(folder)
    assert line_of(tables.claims_table(rs.read_results(folder)), "U1")[3] == "---, 1.40, 1.50"


def test_without_verdicts_the_table_has_the_claims_alone(tmp_path):
    folder = synthetic.write_folder(tmp_path / "synthetic", synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    results = rs.read_results(folder)
    assert line_of(tables.claims_table(results), "S1")[3:] == ["---"] * 4
    assert "hold no verdicts" in tables.claims_table(results) and "hold no verdicts" in ids.finding(results)
    assert ids.markdown(results) == ids.line(results) == ""


def changed_claims(*changes: dict) -> dict:
    """The claims of claims.json, of which S1 alone was changed, in this way."""
    return {**CLAIMS, "claims": [{k: v for k, v in c.items() if k != "changes"} | ({"changes": list(changes)} if
                                 c["id"] == "S1" and changes else {}) for c in CLAIMS["claims"]]}


def test_changes_name_what_was_changed():
    for change in vd.changes(CLAIMS):
        assert {"date", "claim", "what", "why", "before"} == set(change)
        assert change["before"] and change["before"] != BY_ID[change["claim"]]["tests"], change["claim"]
    in_order = [c["what"] for c in vd.changes(CLAIMS)]
    for claim in CLAIMS["claims"]:
        own = [in_order.index(c["what"]) for c in claim.get("changes", [])]
        assert own == sorted(own), claim["id"]
        dates = [c["date"] for c in claim.get("changes", [])]
        assert dates == sorted(dates), claim["id"]


def test_a_changed_claim_has_its_verdict_by_the_tests_as_first_set(monkeypatch, tmp_path):
    """By a test of which one chose the settings after the data a claim may hold that was reversed before."""
    folder = tmp_path / "synthetic"
    synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    write(folder, rows_of("S1", [3]))
    of_s1 = BY_ID["S1"]["tests"][0]
    first, second = [{**of_s1, "base": of_s1["variant"], "variant": of_s1["base"]}], [{**of_s1, "expects": "no less"}]
    monkeypatch.setattr(vd, "read_claims", lambda: changed_claims(
        dict(date="2026-12-01", what="n is 2^21", why="it fits", before=first),
        dict(date="2026-12-02", what="it `expects` more", why="the text does", before=second)))
    assert run(folder) == 0
    table = vd.read(folder / "verdicts.csv")
    s1 = table[(table["claim"] == "S1") & (table["role"] == vd.CLAIM)].iloc[0]
    assert (s1["verdict"], s1[vd.BEFORE]) == (vd.HOLDS, "reversed; holds")
    assert (table.loc[table["claim"] != "S1", vd.BEFORE] == "").all()
    rows = table.to_dict("records")
    now, then = vd.counts(rows), vd.counts_as_first_set(rows)
    assert then[vd.REVERSED] == now[vd.REVERSED] + 1 and then[vd.HOLDS] == now[vd.HOLDS] - 1

    results = rs.read_results(folder)
    assert ids.changes(results) == (r"Table~\ref{tab:changes} has what was changed of the tests of 1 claim after there were data "
                                    "that they read; it turned the verdict of 1 of them.")
    assert line_of(tables.changes_table(results), "S1") == ["S1", "2026-12-01", "reversed", "holds", "n is $2^{21}$", "it fits"]
    assert r"S1 & 2026-12-02 & holds & holds & it \id{expects} more & the text does \\" in tables.changes_table(results)
    assert f" By the tests as first set (changed after there were data as Appendix~\\ref{{sec:mended}} lists) {ids.sentence(then)}: S1 is reversed." in ids.by_verdict(results)
    assert "| **holds**; as first set: reversed |" in ids.markdown(results)
    assert f"By the tests as first set, {ids.sentence(then)}." in ids.markdown(results)
    assert "\n| S1 | 2026-12-01 | reversed | holds | n is 2^21 | it fits |\n" in ids.markdown(results)
    assert ids.line(results).endswith(f"; by their tests as first set {', '.join(map(str, list(then.values())[:-1]))} and "
                                      f"{then[vd.UNDECIDED]}.")
    assert line_of(tables.claims_table(results), "S1")[5] == r"holds$^{\dagger}$"


def test_without_verdicts_or_changes_nothing_is_said_of_either(monkeypatch, tmp_path):
    folder = tmp_path / "synthetic"
    results = rs.read_results(synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20])))
    assert ids.changes(results).endswith(" claims after there were data that they read.")
    assert line_of(tables.changes_table(results), "L1")[:5] == ["L1", "2026-11-23", "---", "---", "4 loads a thread in place of 32"]
    assert line_of(tables.changes_table(results), "L5")[2:] == ["---", "---", "as L1", ""]
    monkeypatch.setattr(vd, "read_claims", changed_claims)
    assert "as they were committed before" in ids.changes(results) and tables.changes_table(results) == ""
    write(folder, rows_of("S1", [3]))
    run(folder)
    results = rs.read_results(folder)
    assert "as first set" not in ids.markdown(results) + ids.by_verdict(results) + ids.line(results)


@pytest.mark.parametrize("by_round", [False, True])
def test_what_copying_costs_is_judged_without_the_kernel(tmp_path, by_round):
    """A kernel three times as fast, and all that comes after it as long as before: end to end that gains much, of copying
    nothing."""
    test, = (t for t in of_claim("L9") if t["kind"] == "rest")
    folder = write(tmp_path / "m", [timed(test, test[side], n, part, "device_part", 0.001, "levels")
                                    for side, part in (("base", 30e-6), ("variant", 10e-6)) for n in test["n"]])
    if by_round:
        synthetic.write_samples(folder, experiment="levels")
    rows = [r for r in vd.verdicts(vd.Folder(folder)) if r["claim"] == "L9"]
    of = {(r["role"], r["timing_mode"]): r for r in rows if r["n"] == str(2**20)}
    assert of[vd.CLAIM, "end_to_end"]["verdict"] == vd.NONE and float(of[vd.CLAIM, "end_to_end"]["ratio"]) == pytest.approx(1, abs=0.01)
    assert of[vd.BESIDE, "end_to_end"]["verdict"] == of[vd.BESIDE, "device_part"]["verdict"] == vd.HOLDS
    assert ("not paired" not in of[vd.CLAIM, "end_to_end"]["reason"]) == by_round


def test_what_is_told_beside_decides_nothing(monkeypatch, tmp_path):
    of_s1 = BY_ID["S1"]["tests"][0]
    other = {**of_s1, "base": of_s1["variant"], "variant": of_s1["base"], "beside": True}
    told = {**CLAIMS, "claims": [{**c, "tests": [*c["tests"], other]} if c["id"] == "S1" else c for c in CLAIMS["claims"]]}
    monkeypatch.setattr(vd, "read_claims", lambda: told)
    folder = tmp_path / "synthetic"
    synthetic.write_folder(folder, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    write(folder, rows_of("S1", [3]))
    assert run(folder) == 0
    of = vd.read(folder / "verdicts.csv").query("claim == 'S1'")
    assert list(of["role"]) == [vd.CLAIM, vd.BESIDE, vd.AT_LARGE, vd.BESIDE] and of["verdict"].iloc[0] == vd.HOLDS
    results = rs.read_results(folder)
    assert line_of(tables.claims_table(results), "S1")[3] == "3.000 [2.996, 3.004]"
    assert "- S1, n = 1,048,576: `squares/chunked:block=256,finish=host,index=document` over `squares/" in ids.markdown(results)


def test_a_verdicts_csv_that_was_edited_is_refused(tmp_path):
    folder = write(tmp_path / "m", rows_of("S1", [3]))
    run(folder)
    path, text = folder / "verdicts.csv", (folder / "verdicts.csv").read_text()
    for old, new, told in (("reversed", "rejected", "verdict is 'rejected'"),
                           ("S2,", "S9,", "each claim of claims.json once"),
                           (",role", ",roll", "lacks the column role")):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(rs.ResultsError, match=re.escape(told)):
            vd.read(path)


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RESULTS.glob("*/verdicts.csv")))
def test_committed_verdicts_follow_from_the_committed_results(folder, tmp_path):
    wanted = (RESULTS / folder / "verdicts.csv").read_text()
    rows = vd.verdicts(vd.Folder(RESULTS / folder, RESULTS / "cpu-intel-xeon"))
    vd.write(rows, tmp_path / "verdicts.csv")
    assert (tmp_path / "verdicts.csv").read_text() == wanted, \
        f"run python paper/verdicts.py experiments/results/{folder} --cpu-results experiments/results/cpu-intel-xeon"
