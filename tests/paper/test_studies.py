"""Sentences on the documents' studies say what their CSV holds: a planted change shows, and a file that lacks makes them
read "not measured"."""

import csv
import json
import re
import shutil

import pytest
import synthetic
from project import SOURCE

import results as rs
import verdicts as vd
from text import claims, studies, tables
from text.findings import ABSENT

COMMITTED = SOURCE / "experiments" / "results" / "nvidia-h200"
CPU = SOURCE / "experiments" / "results" / "cpu-intel-xeon"

# What each sentence is made from.
READS = {"FindingSquares": ["squares.csv"], "FindingSmClocks": ["squares.csv", "probes.csv"],
         "FindingLatency": ["latency.csv", "probes.csv"], "FindingTwopass": ["twopass.csv"],
         "FindingUnrolling": ["unrolling.csv"], "FindingCounters": ["ncu.csv"], "FindingGranularity": ["levels.csv"],
         "FindingLoads": ["levels.csv"],
         "FindingFinish": ["levels.csv"], "FindingDecomposition": ["levels.csv"], "FindingMultiblock": ["multiblock.csv"],
         "FindingAccuracy": ["accuracy.csv"], "FindingIdentity": ["accuracy.csv"], "FindingCompiler": ["compiler.csv"],
         "FindingHalving": ["compiler.csv"], "FindingHostLoops": [], "FindingHostCode": ["compiler.csv"]}


@pytest.fixture
def folder(tmp_path):
    """A copy of the committed results, to be changed; gone after the test, as it is large."""
    copy = shutil.copytree(COMMITTED, tmp_path / "nvidia-h200")
    yield copy
    shutil.rmtree(copy)


def said(folder, name, cpu=CPU):
    return studies.SENTENCES[name](vd.Folder(folder, cpu))


def rewrite(folder, file, change):
    """Writes a file anew, each row as `change` makes it; without raw samples, so that gains are those of the times."""
    with (folder / file).open(newline="") as read:
        rows = list(csv.DictReader(read))
    (folder / file.replace(".csv", ".samples.csv.gz")).unlink(missing_ok=True)
    changed = [row for row in map(change, rows) if row is not None]
    with (folder / file).open("w", newline="") as write:
        out = csv.DictWriter(write, rows[0])
        out.writeheader()
        out.writerows(changed)


def plant(folder, file, variant, settings, column, value, **where):
    """Sets one column of the rows of one call; there must be some."""
    found = []

    def change(row):
        have = rs.parse_settings(row["settings"])
        if row["variant"] == variant and settings.items() <= have.items() and all(row[k] == v for k, v in where.items()):
            found.append(row)
            return {**row, column: value}
        return row

    rewrite(folder, file, change)
    assert found


def test_what_is_planted_is_in_no_committed_file(folder):
    assert not [path for path in folder.rglob("*") if path.resolve().is_relative_to(SOURCE)]


def test_the_committed_results_lack_no_sentence():
    results = rs.read_results(COMMITTED, CPU)
    assert set(READS) == set(studies.SENTENCES)
    assert [k for k, v in tables.macros(results).items() if ABSENT in v] == []


@pytest.mark.parametrize("name, file", [(name, file) for name, files in READS.items() for file in files])
def test_what_lacks_is_not_measured(folder, name, file):
    (folder / file).unlink()
    with pytest.raises(vd.Lacking):
        said(folder, name)


def test_macros_say_that_it_is_not_measured(tmp_path):
    alone = synthetic.write_folder(tmp_path / "m", synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    made = studies.macros(rs.read_results(alone))
    assert {made[name] for name in studies.SENTENCES} == {ABSENT} and made["FindingSelftest"] == ABSENT
    assert made["FindingSecondMachine"].startswith("Results of no other GPU")


def test_the_best_granularity_is_the_fastest(folder):
    plant(folder, "levels.csv", "levels/global-stride", {"finish": "atomic", "granularity": "8"}, "time_median_s", "1e-6",
          n=str(2**20), timing_mode="device")
    assert re.search(r"best granularity is 8 loads a thread at \$2\^\{20\}\$, which gain 1[12]\.\d",
                     said(folder, "FindingGranularity"))


def test_what_a_claim_gains_is_told_by_its_loads(folder):
    plant(folder, "levels.csv", "levels/global-stride", {"finish": "atomic", "granularity": "16"}, "time_median_s", "1e-6",
          n=str(2**20), timing_mode="device")
    assert re.search(r"1\.3\d by 2 loads, .* by 8 loads, 1[12]\.\d by 16 loads, 0\.6\d+ by 32 loads and .* by 64 loads\.$",
                     said(folder, "FindingLoads"))


def test_a_step_of_squares_is_of_its_times(folder):
    plant(folder, "squares.csv", "squares/strided", {"block": "256"}, "device_part_median_s", "1e-3", n=str(2**20))
    assert re.search(r"strided access, of 256 threads, gains 0\.53\d* \[.*? over a chunk", said(folder, "FindingSquares"))


def test_the_range_of_blocks_names_its_ends(folder):
    plant(folder, "twopass.csv", "twopass/warp-unrolled", {"block": "64", "finish": "second-launch"}, "time_median_s", "1e-6",
          n=str(2**24), timing_mode="device")
    assert re.search(r"unrolling the last warp gains .* to [\d.]+ \[[\d., ]+\] \(64 threads\) \(T1\)", said(folder, "FindingTwopass"))


def test_the_fastest_block_of_a_kernel_of_unroll(folder):
    plant(folder, "unrolling.csv", "unroll/interleaved", {"block": "512"}, "device_part_median_s", "1e-6", n=str(2**24))
    assert r", and 512 in \texttt{interleaved}" in said(folder, "FindingUnrolling")


def test_counters_are_those_counted(folder):
    plant(folder, "ncu.csv", "unroll/neighbored", {}, "value", "12.34",
          metric="smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct")
    assert r"finds 12.3\,\% in \texttt{neighbored}" in said(folder, "FindingCounters")


def test_what_the_last_warp_gains_is_not_what_independent_loads_do(folder):
    plant(folder, "unrolling.csv", "unroll/unroll8", {"block": "1024", "load": "independent"}, "device_part_median_s", "1e-3",
          n=str(2**24), timing_mode="end_to_end")
    assert re.search(r"which they leave 35\.\d+ .*? \(U2\)", said(folder, "FindingUnrolling"))
    plant(folder, "ncu.csv", "unroll/unroll8", {"load": "independent"}, "value", "9.87",
          metric="smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio")
    assert r"9.87 with independent loads, and 7.19 with the last warp" in said(folder, "FindingCounters")


def test_zeroing_is_told_of_what_atomics_cost(folder):
    most = max(studies.values_of(studies.Study(vd.Folder(folder), "levels"), "levels/global-stride", "granularity", 2**20))
    for finish, column, mode, time in (("atomic", "time_median_s", "device", 7e-6), ("host", "device_part_median_s", "end_to_end", 5e-6)):
        plant(folder, "levels.csv", "levels/global-stride", {"finish": finish, "granularity": str(most)}, column, str(time),
              n=str(2**20), timing_mode=mode)
    assert r"zeroing the result is about 2.00\,\textmu{}s." in said(
        folder, "FindingFinish")


def test_finishes_stand_with_their_blocks(folder):
    plant(folder, "levels.csv", "levels/global-stride", {"finish": "relaunch", "granularity": "64"}, "time_median_s", "7e-6",
          n=str(2**20), timing_mode="end_to_end")
    assert re.search(r"at \$2\^\{20\}\$, [^;]* 7\.00\\,\\textmu\{\}s and [\d.]+\\,\\textmu\{\}s with 64 blocks;",
                     said(folder, "FindingFinish"))


def test_a_level_is_taken_alone(folder):
    plant(folder, "levels.csv", "levels/completely-unrolled", {"finish": "relaunch"}, "time_median_s", "1e-6", n=str(2**28),
          timing_mode="device")
    assert re.search(r"the tree in a block 1[23]\d\d", said(folder, "FindingDecomposition"))


def test_the_fastest_grid_and_those_near_it(folder):
    plant(folder, "multiblock.csv", "multiblock/two-launch", {"grid": "32"}, "time_median_s", "1e-6", n=str(10**8),
          timing_mode="device")
    assert "fastest with 32 blocks; of the grids that were tried, no other is within 2.0\\,\\% of that" in said(folder, "FindingMultiblock")


def test_clocks_of_sms_are_apart_by_what_was_read(folder):
    rewrite(folder, "probes.csv", lambda row: {**row, "value": "1e9" if row["sm"] == "3" else "0"}
            if row["quantity"] == "sm_clock_offset" else row)
    assert "up to 1{,}000{,}000{,}000 cycles" in said(folder, "FindingSmClocks")


def test_clocks_of_nameless_sms_are_one_line(folder):
    with (folder / "probes.csv").open(newline="") as file:
        nameless = [{column: value for column, value in row.items() if column != "sm"} for row in csv.DictReader(file)]
    synthetic.write_csv(folder / "probes.csv", nameless)
    with pytest.raises(rs.ResultsError, match="probes.csv lacks the column sm: run `reductio probe`"):
        said(folder, "FindingSmClocks")


def test_latency_by_what_is_compiled_in(folder):
    plant(folder, "latency.csv", "squares/strided", {"block": "32", "index": "u64"}, "cycles_median", str(2**20 / 32 * 100),
          timing_mode="clock")
    one = said(folder, "FindingLatency")
    assert "takes 100 to" in one and "one is under way" not in one and "S6" not in one
    assert "one is under way" in said(COMMITTED, "FindingLatency")
    plant(folder, "latency.csv", "squares/strided", {"block": "32", "index": "u64"}, "cycles_median", str(2**20 / 32 * 700),
          timing_mode="clock")
    plant(folder, "latency.csv", "squares/strided", {"block": "1024", "index": "u64"}, "cycles_median", str(2**20 * 0.75),
          timing_mode="clock")
    assert ("1024 such threads work at most 0.750 cycles each for an element, so 256 fill at most 192 cycles of the latency (S6)") in said(folder, "FindingLatency")


def test_errors_and_identity_are_counted(folder):
    plant(folder, "accuracy.csv", "multiblock/two-launch", {}, "distinct_results", "3", n=str(2**20), dataset="random")
    assert r"of \texttt{levels/" in said(folder, "FindingIdentity") and "give 3 to" in said(folder, "FindingIdentity")
    assert "No result is beyond" in said(folder, "FindingAccuracy")
    plant(folder, "accuracy.csv", "multiblock/two-launch", {}, "status", "wrong", n=str(2**10), dataset="random")
    assert "1 result is beyond" in said(folder, "FindingAccuracy")


def test_loops_are_told_by_index(folder):
    rewrite(folder, "compiler.csv", lambda row: {**row, "unrolled_by": "2"} if row["compiler"] == "nvcc" and
            row["kernel"].startswith("levels/") and row["loop"] == "main" and row["index"] == "int" else row)
    assert r"2, 1, 1, 1 in \id{levels}" in said(folder, "FindingCompiler")
    table = tables.compiler_table(rs.read_results(folder, CPU))
    assert r"\texttt{levels/global-stride} & 2 & 1 & 1 & 1 & a loop &" in table
    assert re.search(r"^\\texttt\{host/plain\} & 1 & 1 & 4 \(vectors of 4\) &", table, re.M)


def test_the_hosts_plain_loop_is_told_by_level(folder):
    rewrite(folder, "compiler.csv", lambda row: {**row, "unrolled_by": "7", "elements_per_load": "1"}
            if (row["compiler"], row["level"], row["kernel"], row["loop"]) == ("g++", "O2", "host/add-plain", "main") else row)
    assert r"7 at -O2, 4 (vectors of 4) at -O3 by \id{g++}" in said(folder, "FindingHostCode")


def test_claims_are_listed_by_verdict(folder):
    told = claims.by_verdict(rs.read_results(folder, CPU))
    assert all(len(re.findall(rf"\b{c}\b", told.split(" At $")[0])) == 1 for ids in claims.CLAIMS.values() for c in ids)
    rewrite(folder, "verdicts.csv", lambda row: {**row, "verdict": {"claim": vd.REVERSED, "large": vd.HOLDS}.get(
        row["role"], row["verdict"])} if row["claim"] == "M3" else row)
    told = claims.by_verdict(rs.read_results(folder, CPU))
    assert re.search(r"[;,] [^;]*M3 are reversed", told) and "M3 holds" in told.split("another verdict is found")[1]
    (folder / "verdicts.csv").unlink()
    assert claims.by_verdict(rs.read_results(folder, CPU)) == ""


def test_cards_are_told_apart(folder):
    results = rs.read_results(folder, CPU)
    shown = vd.Folder(folder, CPU)

    def told(*card_of: str) -> str:
        """The sentence where the card of a run is the one that card_of says of its experiment's place in the alphabet."""
        runs = json.loads((folder / "machine.json").read_text())["runs"]
        results.machine.record["runs"] = runs
        in_results = {r["run_id"]: r["experiment"] for r in studies.runs_shown(results, shown)}
        order = sorted(set(in_results.values()))
        for run in runs:
            if run["run_id"] in in_results:
                run["machine_id"] = card_of[order.index(in_results[run["run_id"]]) % len(card_of)]
        return studies.cards(results, shown)

    assert told("one") == "All experiments ran on one card."
    three = told("one", "two", "three")
    assert "3 cards of this model" in three and three.count(r"\id{comparison}") == 1
    assert " on one; " in three and " on a second; " in three and " on a third." in three
    assert " on an eighth" in told(*"abcdefgh")
    assert told("") == studies.ABSENT


def test_only_whole_reductions_stand_beside_cubs(folder):
    study = studies.Study(vd.Folder(folder, CPU), "unroll")
    with pytest.raises(ValueError, match="launch_to_idle times no whole reduction"):
        study.beside_cub(study.n, "launch_to_idle", ("block",))
    said = studies.unrolling(vd.Folder(folder, CPU))
    assert "timed end to end, is" in said and re.search(r"speedup over CUB of 0\.\d", said)


@pytest.mark.parametrize("of_timing, apart", [("GPU-a", "run to run"), ("GPU-b", "card to card")])
def test_the_sm_clocks_of_other_cards_are_told(folder, of_timing, apart):
    machine = json.loads((folder / "machine.json").read_text())
    for run in machine["runs"]:
        run["machine_id"] = of_timing if run["experiment"] == "timing" else "GPU-a"
    (folder / "machine.json").write_text(json.dumps(machine))
    told = studies.clocks(vd.Folder(folder, CPU))
    assert re.search(rf"comes to [\d{{}},]+ cycles in \\id\{{squares\}} and [\d{{}},]+ cycles in \\id\{{timing\}}: .* {apart}", told)


def test_the_second_machine_says_what_it_lacks():
    told = studies.second_machine(rs.read_results(COMMITTED, CPU))
    lacking = told.split("Not measured there: ")[1]
    h100 = next(f for f in COMMITTED.parent.iterdir() if "h100" in f.name)
    for experiment in studies.EXPERIMENTS:
        assert (rf"\id{{{experiment}}}" in lacking) == (not (h100 / f"{experiment}.csv").exists())


@pytest.mark.parametrize("found, told", [((True, True), "all"), ((True, False), "1")])
def test_a_selftest_says_how_many_planted_effects_it_told(folder, found, told):
    kinds = {k: {"false_positives": 3, "comparisons": 320} for k in ("together", "apart")}
    (folder / "selftest.json").write_text(json.dumps(kinds | {"confidence": 0.95, "planted": [{"found": f} for f in found]}))
    said = studies.selftest(rs.read_results(folder, CPU))
    assert said.endswith(f"; of 2 planted effects, none among them, it tells {told} as they are.")


def test_a_broken_selftest_is_one_line(folder):
    (folder / "selftest.json").write_text('{"together": {}}')
    with pytest.raises(rs.ResultsError, match="selftest.json is not what `reductio selftest --json` writes"):
        studies.selftest(rs.read_results(folder, CPU))


@pytest.mark.parametrize("value, shown", [(3.24e-11, r"$3.2\cdot10^{-11}$"), (9.96e-9, r"$1.0\cdot10^{-8}$"), (0, "0")])
def test_powers_of_ten(value, shown):
    assert studies.scientific(value) == shown
