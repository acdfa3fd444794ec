"""experiments/on_gpu_machine with a program, a driver and a sanitizer that are played by shell scripts."""

import csv
import gzip
import importlib.machinery
import importlib.util
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "on_gpu_machine"
loader = importlib.machinery.SourceFileLoader("on_gpu_machine", str(SCRIPT))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
sys.modules[loader.name] = script
loader.exec_module(script)

# What the program says of itself; as `run` writes rows and machine.json; and what `body` adds before that.
PROGRAM = """
if [[ $1 == list && $2 == experiments ]]; then
  echo '[{"name":"ablation","device":"cuda"},{"name":"comparison","device":"cuda"},{"name":"cpu","device":"cpu"},{"name":"limits","device":"cuda"}]'
elif [[ $1 == list ]]; then
  printf 'schema_version,variant,title\\n'
  printf '1,%s,"a, title"\\n' squares/chunked squares/strided 'levels/a+b' cub/sum cublas/dot $MORE
elif [[ $* == *--dry-run* ]]; then
  for e in ablation comparison cpu limits; do
    echo "{\\"experiment\\":\\"$e\\",\\"estimated_s\\":${SECONDS_OF:-1},\\"binary\\":\\"${BINARY:-cafe}\\"}"
  done
fi
[[ $1 != --version ]] || echo "reductio 0.1.0 (${COMMIT:-feedfeedfeed, modified})"
[[ $1 != list && $1 != --version && $* != *--dry-run* ]] || exit 0
echo "reductio $*" >>CALLS
measured() {  # experiment, folder, the rest of its entry
  local folder=$2/nvidia-synthetic
  [[ $1 != cpu ]] || folder=$2/cpu-synthetic
  mkdir -p "$folder" && echo rows >"$folder/$1.csv" && echo samples | gzip >"$folder/$1.samples.csv.gz"
  printf '{"experiment":"%s","binary":"%s","machine_id":"%s","arguments":["reductio"%s]%s}\\n' \\
    "$1" "${BINARY:-cafe}" "${CARD:-GPU-1}" "$(printf ',"%s"' "${@:4}")" "$3" >"$folder/.$1"
  { echo '{"runs":['; cat "$folder"/.[a-z]* | paste -sd,; echo ']}'; } >"$folder/machine.json"
}
BODY
case $1 in
  run) measured "$2" "$4" ',"ended_utc":"now","interrupted":false' "$@" ;;
  selftest) echo '{}'; echo '6 of 6 planted' >&2 ;;
  compare) echo 'column' ;;
esac
"""
# A clean run of the sanitizer over a clean run of the program.
CLEAN = """tool=$2; shift 4
"$@" || exit
if [[ $tool == racecheck ]]; then echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else echo "========= ERROR SUMMARY: 0 errors"; fi
"""


class Machine:
    """A machine whose commands are scripts in `bin`; every call of theirs is noted in `calls`."""

    def __init__(self, folder: Path, monkeypatch, capsys):
        self.folder, self.bin, self.work, self.patch, self.capsys = folder, folder / "bin", folder / "work", monkeypatch, capsys
        self.results, self.logs = self.work / "results" / "nvidia-synthetic", self.work / "logs" / "nvidia-synthetic"
        self.archive = folder / "out" / "reductio-results.tar.gz"
        self.bin.mkdir()
        for experiment in EXPERIMENTS:
            monkeypatch.delitem(script.EXPECTED_S, experiment)  # the program estimates them
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        self.card("GPU-1")
        self.program()
        self.command("compute-sanitizer", CLEAN)
        self.command("ncu", 'echo "==ERROR== ERR_NVGPUCTRPERM"; exit 1', noted=False)

    def command(self, name: str, body: str, noted: bool = True) -> None:
        note = f'echo "{name} $*" >>"{self.folder}/calls"\n' if noted else ""
        (self.bin / name).write_text(f"#!/usr/bin/env bash\n{note}{body}\n")
        (self.bin / name).chmod(0o755)

    def program(self, body: str = "") -> None:
        self.command("reductio", PROGRAM.replace("CALLS", f'"{self.folder}/calls"').replace("BODY", body), noted=False)

    def card(self, uuid: str, name: str = "NVIDIA Synthetic") -> None:
        self.patch.setenv("CARD", uuid)
        self.command("nvidia-smi", f'[[ $1 != --query-gpu* ]] || printf "%s, {name}\\n" "{uuid}" GPU-other', noted=False)

    def run(self, *arguments: object, program: str = "reductio") -> int:
        (self.folder / "calls").write_text("")
        code = script.main(["--reductio", str(self.bin / program), "--out", str(self.folder / "out"), "--work", str(self.work),
                            *map(str, arguments)])
        self.out, self.err = self.capsys.readouterr()
        return code

    def verified(self) -> None:
        assert self.run("--block", "verify", "--only", "verify") == 0, self.out

    def card_of(self, step: str) -> str:
        """By the last line of its log."""
        return (self.logs / f"{step}.log").read_text().rstrip().rsplit(" on ")[-1]

    @property
    def calls(self) -> list[str]:
        """Without the card that each reductio on the GPU must be given."""
        lines = (self.folder / "calls").read_text().replace(str(self.results), "FOLDER").splitlines()
        card = f" --gpu {os.environ['CARD']}"
        assert all(card in line for line in lines if re.search("--device cuda|selftest|probe|run (?!cpu)", line))
        return [line.replace(card, "") for line in lines]

    @property
    def table(self) -> dict[str, str]:
        """The lines of the last table by their step."""
        return {line.split()[0]: line[19:].strip() for line in self.out.rstrip().split("nvidia-synthetic, ")[-1].splitlines()[1:]}

    def packed(self) -> set[str]:
        with tarfile.open(self.archive) as archive:
            return set(archive.getnames())


@pytest.fixture
def machine(tmp_path, monkeypatch, capsys) -> Machine:
    handlers = {ending: signal.getsignal(ending) for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves run under nohup
    yield Machine(tmp_path, monkeypatch, capsys)
    for ending, handler in handlers.items():
        signal.signal(ending, handler)


LACKS_TOOLS = 4  # the exit code of core and trust here, where ncu may not count
EXPERIMENTS = ["comparison", "limits", "ablation", "cpu"]
ALL = ["verify", "memcheck", "racecheck", "initcheck", "synccheck", "consumer", "selftest", "comparison", "limits", "nvbench",
       "again", "compare", "as_printed", "ablation", "cpu", "probe", "ncu", "counts", "packages", "ctypes", "models"]


def test_runs_every_step_in_order_packs_and_has_nothing_left_to_do(machine):
    assert machine.run() == 0, machine.out
    assert list(machine.table)[:-1] == ALL and machine.out.endswith(
        "\nnothing is left but what was skipped: consumer, nvbench, as_printed, ncu, counts, ctypes\n")
    tools = [line.split()[2] for line in machine.calls if line.startswith("compute-sanitizer")]
    assert tools == ["memcheck", *["racecheck"] * 3, "initcheck", "synccheck"]
    verified = [line for line in machine.calls if line.startswith("reductio verify --device cuda --tier gpu --variants")]
    assert len(verified) == 2, "no kernel of modern, no release"
    both = "results/nvidia-synthetic again/nvidia-synthetic --common --separately"
    small = "--types f32 --sizes 2^10:2^20"
    assert machine.calls[-14:] == [
        "reductio selftest --json", "reductio run comparison --out results", "reductio run limits --out results",
        "reductio run comparison --out again", f"reductio compare {both} --csv",
        f"reductio compare {both} --relative-to cub/sum,cub/transform-reduce --csv",
        "reductio compare cub/sum multiblock/last-block-warp twopass/template-unrolled levels/local-stride --csv",
        f"reductio compare tuned/sum tuned/sum-raw-workspace {small} --csv",
        f"reductio compare cub/sum-to-host cub/sum tuned/sum-to-host --modes end_to_end {small} --csv",
        "reductio record FOLDER/compare-example.csv FOLDER/raw-workspace.csv FOLDER/to-host.csv --tool compare",
        "reductio run ablation --out results", "reductio run cpu --out results", "reductio probe --out results",
        "reductio models FOLDER"]
    assert {f"results/nvidia-synthetic/{name}" for name in (
        "comparison.csv", "comparison.samples.csv.gz", "limits.csv", "repeat.csv.gz", "repeat-relative.csv.gz",
        "repeat.machine.json", "compare-example.csv", "raw-workspace.csv", "to-host.csv", "ncu.csv", "selftest.json")} | {
        "logs/nvidia-synthetic/verify.log", "logs/nvidia-synthetic/gpu.txt", "logs/nvidia-synthetic/racecheck-levels.log",
        "again/nvidia-synthetic/comparison.csv", "results/cpu-synthetic/cpu.csv"} <= machine.packed()
    assert "again/nvidia-synthetic/comparison.samples.csv.gz" not in machine.packed()
    assert gzip.decompress((machine.results / "repeat.csv.gz").read_bytes()) == b"column\n"
    assert machine.table["consumer"] == "skipped: no consumer beside the program"
    assert machine.table["nvbench"] == "skipped: no cub_sum beside the program"
    assert machine.table["as_printed"] == "skipped: no as_printed beside the program"
    assert machine.table["ncu"].startswith("skipped: no ncu, or it may not count here")
    assert "6 of 6 planted" in machine.table["selftest"]

    assert machine.run() == 0
    assert machine.calls == ["reductio models FOLDER"] and machine.table["cpu"] == "done in an earlier call"
    assert machine.run("--only", "limits,selftest", "--again") == 0
    assert machine.calls == ["reductio run limits --out results", "reductio selftest --json"]
    assert len(list((machine.work / "older").glob("*/limits.csv"))) == 1, "what is measured again is kept, but not packed"
    machine.patch.setenv("BINARY", "beef")  # for another program nothing is done
    assert machine.run("--only", "selftest,ablation") == 0 and len(machine.calls) == 2


def test_a_step_says_what_was_counted(machine):
    machine.program('[[ $1 != run ]] || printf "limits: 9 measured, in 3 s -> results\\nnext: reductio plot results\\n"')
    assert machine.run("--only", "limits") == 0 and machine.table["limits"].endswith("limits: 9 measured, in 3 s -> results")


def test_goes_on_from_an_archive_on_another_day(machine):
    assert machine.run("--only", "verify,selftest,limits,cpu") == 0
    machine.program('[[ $1 != run ]] || { measured "$2" "$4" \',"ended_utc":"now","interrupted":true\' "$@"; exit 1; }')
    assert machine.run("--only", "comparison,ablation") == 1
    machine.program()
    earlier = machine.archive.rename(machine.folder / "earlier.tar.gz")
    machine.work.rename(machine.folder / "lost")
    # An interrupted run goes on on its card alone.
    assert machine.run("--from", earlier, "--only", "verify,selftest,limits,cpu,comparison") == 0
    assert machine.calls == ["reductio run comparison --out results --resume"]
    machine.card("GPU-2")
    assert machine.run("--only", "verify,limits,ablation") == 0
    assert machine.calls == ["reductio run ablation --out results"]
    assert [p.name for p in sorted((machine.work / "older").glob("*/*"))] == [
        "ablation.csv", "ablation.samples.csv.gz", "machine.json"]
    # Another GPU has folders of its own.
    machine.card("GPU-3", "NVIDIA Other")
    assert machine.run("--only", "limits") == 0 and len(machine.calls) == 1
    assert "left, with the time that each may take: verify (8:10), memcheck (2:20)" in machine.out


def test_options_behind_two_dashes_are_the_experiments_own(machine):
    assert machine.run("--only", "comparison,cpu", "--", "--full") == 0
    assert machine.calls == ["reductio run comparison --out results --full", "reductio run cpu --out results"]
    assert machine.run("--only", "comparison,cpu", "--", "--full") == 0 and machine.calls == [], "the CPU's never gets them"
    assert machine.run("--only", "comparison") == 0 and machine.calls == [], "more than was asked for"
    assert machine.run("--only", "comparison", "--", "--full", "--contexts", "32") == 0
    assert machine.calls == ["reductio run comparison --out results --full --contexts 32"]
    assert machine.run("--only", "comparison", "--", "--contexts", "32", "--full") == 0 and machine.calls == []
    assert machine.run("--only", "comparison") == 0 and len(machine.calls) == 1, "--contexts measured otherwise"


def test_a_run_that_was_cut_goes_on_with_the_same_options_alone(machine):
    """By other ones reductio measures by other rules, and refuses to go on."""
    cut = '[[ $1 != run ]] || { measured "$2" "$4" \',"ended_utc":"now","interrupted":true\' "$@"; exit 1; }'
    machine.program(cut)
    assert machine.run("--only", "comparison", "--", "--full") == 1
    assert machine.run("--only", "comparison", "--", "--full") == 1
    assert machine.calls == ["reductio run comparison --out results --resume --full"]
    assert machine.run("--only", "comparison") == 1 and machine.calls == ["reductio run comparison --out results"]
    assert len(list((machine.work / "older").glob("*/comparison.csv"))) == 1


def test_the_gpu_is_named_by_its_uuid_whatever_order_cuda_has(machine):
    machine.patch.setenv("CARD", "GPU-other")
    machine.command("consumer", "echo $CUDA_VISIBLE_DEVICES")
    assert machine.run("--only", "verify,consumer,limits", "--gpu", "1") == 0
    assert (machine.folder / "calls").read_text().count("--gpu GPU-other") == len(machine.calls) - 1 == 3
    assert machine.table["consumer"].endswith("GPU-other")


def test_the_second_comparison_is_of_the_same_card(machine):
    machine.command("cub_sum", 'echo "{}" >"$2"')
    machine.command("loops", "echo mode,variant")
    assert machine.run("--only", "again") == 3 and machine.table["again"] == "left: nothing was measured yet"
    assert machine.run("--only", "limits,again") == 3 and machine.table["again"] == "left: no comparison yet"
    assert machine.run("--only", "comparison") == 0
    machine.card("GPU-2")
    assert machine.run("--only", "nvbench,again") == 3 and machine.calls == []
    assert machine.table["nvbench"] == machine.table["again"] == "left: the first comparison ran on GPU-1"
    machine.card("GPU-1")
    machine.patch.setenv("SECONDS_OF", "9999")
    assert machine.run("--only", "again", "--minutes", 9) == 0, "as any run, it may be cut and go on"


def test_an_archive_is_not_mixed_with_other_results(machine):
    assert machine.run("--only", "limits") == 0
    earlier = machine.archive.rename(machine.folder / "earlier.tar.gz")
    assert machine.run("--only", "limits", "--from", earlier) == 0
    assert machine.run("--only", "ablation") == 0
    assert machine.run("--only", "ablation", "--from", earlier) == 1 and machine.calls == []
    assert "results/nvidia-synthetic/machine.json is another one in" in machine.err and "an empty --work" in machine.err
    assert machine.err.count("\n") == 1


def test_a_step_that_does_not_fit_is_left_for_the_next_call(machine):
    assert machine.run("--only", "verify,limits,probe", "--minutes", 1) == 3
    assert machine.calls == ["reductio run limits --out results", "reductio probe --out results"]
    assert machine.table["verify"] == "left: no time" and "verify (8:10)" in machine.table["left,"]
    # One that would fit into no call is begun once the others are done, and ends with a batch.
    machine.patch.setenv("SECONDS_OF", "9999")
    assert machine.run("--only", "ablation,probe", "--again", "--minutes", 3) == 3
    assert machine.calls == ["reductio probe --out results"]
    assert machine.run("--only", "ablation,probe", "--again", "--minutes", 9) == 0
    assert machine.calls == ["reductio probe --out results", "reductio run ablation --out results"]


def test_what_was_measured_is_packed_before_the_machine_is_taken_away(machine):
    machine.patch.setattr(script, "PACKING_S", 0)
    # It is asked to end, and ended where it does not.
    machine.program('trap "" TERM; [[ $1 != probe ]] || sleep 600')
    machine.patch.setitem(script.EXPECTED_S, "probe", 0)
    assert machine.run("--only", "limits,probe,comparison", "--minutes", 2 / 60) == 3
    assert machine.table["limits"].startswith("passed") and machine.table["probe"].startswith("stopped")
    assert machine.table["comparison"] == "left: no time" and "results/nvidia-synthetic/limits.csv" in machine.packed()
    # Next time it is known to take longer than that.
    assert machine.run("--only", "probe", "--minutes", 20 / 60) == 3
    assert machine.calls == [] and machine.table["probe"] == "left: no time"


def test_a_step_that_ran_into_the_limit_is_tried_again_where_it_has_a_call_to_itself(machine):
    machine.patch.setitem(script.EXPECTED_S, "probe", 0)
    machine.program(f'[[ $1 != probe ]] || {{ kill {os.getpid()}; exec sleep 600; }}')
    assert machine.run("--only", "limits,probe") == 3 and machine.table["probe"].startswith("stopped")
    log = machine.logs / "probe.log"
    log.write_text(re.sub(r" in \d+ s ", " in 100 s ", log.read_text()))
    machine.program()
    assert machine.run("--only", "limits,probe,selftest", "--minutes", 2) == 3
    assert machine.calls == ["reductio selftest --json"] and "probe (2:00)" in machine.table["left,"]
    assert machine.run("--only", "limits,probe,selftest", "--minutes", 2) == 0
    assert machine.calls == ["reductio probe --out results"]


def test_the_commands_behind_one_that_was_stopped_are_not_started(machine):
    machine.patch.setattr(script, "PACKING_S", 0)
    machine.patch.setitem(script.EXPECTED_S, "compare", 0)
    machine.program("[[ $1 != compare ]] || { exec sleep 600; }")
    assert machine.run("--only", "limits,compare", "--minutes", 21 / 60) == 3
    assert [line.split()[1] for line in machine.calls] == ["run", "compare"] and machine.table["compare"].startswith("stopped")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_step_and_what_there_is_gets_packed(machine, how):
    machine.program(f'[[ $1 != probe ]] || {{ kill -{how.name[3:]} {os.getpid()}; exec sleep 600; }}')
    assert machine.run("--only", "limits,probe,comparison") == 3
    assert machine.table["probe"].startswith("stopped") and machine.table["comparison"] == "left: no time"
    assert "results/nvidia-synthetic/limits.csv" in machine.packed()


def test_under_nohup_a_lost_connection_ends_nothing(machine):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    machine.program(f"[[ $1 != probe ]] || kill -HUP {os.getpid()}")
    assert machine.run("--only", "probe,limits") == 0


def test_a_step_that_fails_does_not_stop_the_others(machine):
    machine.program('if [[ $2 == limits ]]; then measured "$2" "$4" \',"ended_utc":"now"\' "$@"; echo "3 rows failed"; exit 1; fi\n'
                    '[[ $1 != selftest ]] || exit 4; [[ $1 != probe ]] || exit 77')
    assert machine.run("--only", "selftest,limits,comparison,probe") == 1
    assert machine.table["limits"].split("  ")[0] == "FAILED (exit code 1)" and "3 rows failed" in machine.table["limits"]
    assert machine.table["probe"].startswith("FAILED (exit code 77)"), "only ncu may be missing"
    assert machine.table["comparison"].startswith("passed") and "logs/nvidia-synthetic/limits.log" in machine.packed()
    assert not (machine.results / "selftest.json").exists()
    machine.program()
    assert machine.run("--only", "selftest,limits,comparison,probe") == 1
    assert machine.table["limits"] == "FAILED in an earlier call", "a finished run is not measured again"
    assert machine.calls == ["reductio selftest --json", "reductio probe --out results"]
    # What there was stays where it cannot be made again.
    machine.program('[[ $1 != selftest ]] || exit 4')
    assert machine.run("--only", "selftest", "--again") == 1 and (machine.results / "selftest.json").read_text() == "{}\n"
    assert not list(machine.results.glob("*.part"))


def test_a_second_run_with_failed_points_is_compared_all_the_same(machine):
    assert machine.run("--only", "comparison") == 0
    machine.program('if [[ $1 == run ]]; then measured "$2" "$4" \',"ended_utc":"now"\' "$@"; exit 1; fi')
    assert machine.run("--only", "again") == 1 and machine.table["again"].startswith("FAILED (exit code 1)")
    assert (machine.results / "repeat-relative.csv.gz").exists()


def test_does_not_time_what_is_wrong(machine):
    machine.program('[[ $1 != verify || $* == *sanitizer* ]] || { echo "1 case failed"; exit 2; }')
    assert machine.run() == 2
    assert not [line for line in machine.calls if line.startswith("reductio run")]
    assert not [line for line in machine.calls if re.match("reductio (selftest|probe|compare)", line)]
    assert machine.table["limits"] == machine.table["ncu"] == "left: verify failed"
    assert machine.run("--only", "comparison") == 2 and machine.calls == [], "nor in a later call"
    assert machine.run("--block", "core") == 2 and machine.calls == []
    machine.program()
    assert machine.run("--only", "verify,comparison") == 0


def test_another_build_of_the_commit_that_was_verified_may_measure(machine):
    machine.patch.setenv("COMMIT", "0123456789ab")
    machine.verified()
    assert machine.run("--only", "memcheck") == 0
    machine.patch.setenv("BINARY", "beef")
    assert machine.run("--block", "verify", "--only", "verify,memcheck") == 0
    assert set(list(machine.table.values())[:2]) == {"done in an earlier call"}
    assert machine.run("--block", "core", "--only", "limits") == 0
    machine.patch.setenv("COMMIT", "0123456789ab, modified")
    assert machine.run("--block", "core", "--only", "limits") == 2
    machine.patch.setenv("COMMIT", "0123456789ab")
    machine.patch.setenv("MORE", "cub@1.15.1/sum")
    assert machine.run("--block", "core", "--only", "limits") == 2, "a build with more variants"


def test_releases_that_the_program_lacks_are_not_verified(machine):
    machine.verified()
    assert not [line for line in machine.calls if "thrust)@" in line and "?!" not in line]
    machine.patch.setenv("MORE", "cub@1.15.1/sum")
    assert machine.run("--only", "verify", "--again") == 0
    assert [line for line in machine.calls if "thrust)@" in line and "?!" not in line]


def test_no_block_measures_before_this_program_passed_verification(machine):
    for block in ("core", "trust", "history", "python"):
        assert machine.run("--block", block) == 2 and machine.calls == []
        assert set(list(machine.table.values())[:-1]) == {"left: verify has not passed"}
    assert machine.run("--block", "core", "--only", "limits") == 2 and machine.calls == []
    machine.patch.setitem(script.EXPECTED_S, "verify", 9999)
    assert machine.run("--only", "probe") == 0
    assert machine.run("--minutes", 5) == 3 and machine.table["limits"] == "left: verify has not passed"
    assert not [line for line in machine.calls if line.startswith("reductio run")]
    machine.verified()
    machine.patch.setenv("BINARY", "beef")
    assert machine.run("--block", "core") == 2 and machine.calls == [], "another program passed"
    machine.patch.delenv("BINARY")
    machine.archive.rename(machine.folder / "earlier.tar.gz")
    machine.work.rename(machine.folder / "lost")
    assert machine.run("--block", "core", "--only", "limits", "--from", machine.folder / "earlier.tar.gz") == 0


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_a_fault_that_the_sanitizer_finds_fails(machine, tool):
    # In the one part of racecheck that ends neither first nor last.
    machine.command("compute-sanitizer",
                    f'[[ $2 != {tool} || ({tool} == racecheck && "$*" != *cub/sum*) ]] || exit 99\n' + CLEAN)
    assert machine.run("--only", "memcheck,racecheck,initcheck,synccheck,limits") == 1
    assert [step for step, line in machine.table.items() if line.startswith("FAILED (exit code 99)")] == [tool]
    assert tool != "racecheck" or machine.table[tool].endswith("  libraries")
    assert machine.table["limits"].startswith("passed")


@pytest.mark.parametrize("tool, said", [("memcheck", "ERROR SUMMARY: 2 errors"), ("memcheck", ""),
                                        ("racecheck", "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)")])
def test_a_sanitizer_that_exits_with_0_must_also_say_that_it_found_nothing(machine, tool, said):
    """racecheck's warnings leave the exit code alone, and a tool that did not start says nothing."""
    machine.command("compute-sanitizer", f'if [[ $2 == {tool} ]]; then echo "========= {said}"; exit; fi\n' + CLEAN)
    assert machine.run("--only", "memcheck,racecheck") == 1
    assert machine.table[tool].startswith(f"FAILED (no '{script.SANITIZERS[tool]}')")
    assert tool != "racecheck" or machine.table[tool].endswith("squares, levels, libraries")
    assert said in (machine.logs / f"{tool}.log").read_text()


def test_racecheck_runs_on_every_document_at_the_same_time(machine):
    """Each waits for the two others to have begun: one after the other, none of them would end."""
    begun = machine.folder / "begun"
    machine.command("compute-sanitizer", f'echo begun >>"{begun}"\nwhile (($(wc -l <"{begun}") < 3)); do sleep 0.05; done\n' + CLEAN)
    assert machine.run("--only", "racecheck") == 0
    regexes = {line.rsplit("--variants ")[1] for line in machine.calls if line.startswith("compute-sanitizer")}
    assert regexes == {"^(squares/chunked|squares/strided)$", r"^(levels/a\+b)$", "^(cub/sum|cublas/dot)$"}


def test_what_lies_beside_the_program_is_run(machine):
    machine.command("cub_sum", 'echo "{}" >"$2"')
    machine.command("loops", "echo mode,variant")
    machine.command("consumer", "echo all right")
    machine.command("as_printed", 'echo rows >"$1/as-printed.csv"')
    assert machine.run("--only", "comparison,nvbench,consumer,as_printed") == 0
    assert [line.split()[0] for line in machine.calls[1:]] == ["cub_sum", "loops"] * 6 + ["consumer", "as_printed", "reductio"]
    assert "reductio record FOLDER/as-printed.csv FOLDER/copies.csv" in machine.calls
    assert {f"results/nvidia-synthetic/{name}" for i in range(1, 7)
            for name in (f"nvbench/{i}.json.gz", f"nvbench/loops-{i}.csv", "as-printed.csv")} <= machine.packed()
    assert machine.run("--only", "as_printed", "--again") == 0
    machine.command("as_printed", 'echo half a row >"$1/as-printed.csv.part"; exit 1')
    assert machine.run("--only", "as_printed", "--again") == 1
    assert (machine.results / "as-printed.csv").read_text() == "rows\n"
    assert [Path(name).name for name in machine.packed() if "as-printed" in name] == ["as-printed.csv"]
    assert gzip.decompress((machine.results / "nvbench" / "6.json.gz").read_bytes()) == b"{}\n"
    assert (machine.results / "nvbench" / "loops-6.csv").read_text() == "mode,variant\n"
    machine.command("loops", "exit 1")
    assert machine.run("--only", "nvbench", "--again") == 1


@pytest.mark.parametrize("ending, compress", [("xz", lzma.compress), ("gz", gzip.compress)])
def test_the_program_may_be_compressed(machine, ending, compress):
    program = machine.bin / "reductio"
    (machine.bin / f"carried.{ending}").write_bytes(compress(program.read_bytes()))
    program.unlink()
    machine.command("consumer", "")
    assert machine.run("--only", "limits,consumer", program=f"carried.{ending}") == 0
    assert machine.calls == ["reductio run limits --out results", "consumer "]


def test_what_is_too_large_for_one_archive_is_packed_into_several(machine):
    machine.patch.setattr(script, "ARCHIVE_BYTES", 20000)
    machine.results.mkdir(parents=True)
    for name in "abc":
        (machine.results / f"{name}.samples.csv.gz").write_bytes(os.urandom(9000))
    assert machine.run("--only", "limits") == 0
    parts = sorted(machine.archive.parent.glob("*.tar.gz"))
    assert len(parts) > 1 and all(part.stat().st_size <= 20000 for part in parts)
    packed = [name for part in parts for name in tarfile.open(part).getnames()]
    assert len(packed) == len(set(packed)) and {f"results/nvidia-synthetic/{name}.samples.csv.gz" for name in "abc"} <= set(packed)


def test_without_a_sanitizer_its_steps_are_skipped(machine):
    (machine.bin / "compute-sanitizer").unlink()
    if not Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        assert machine.run("--only", "memcheck") == 0
        assert machine.table["memcheck"] == "skipped: compute-sanitizer is not installed"


@pytest.mark.parametrize("arguments, said", [
    (["--only", "verfy"], "unknown step 'verfy'"), (["--minutes", "ten"], "invalid float value"),
    (["--minutes", "0.3"], "leaves no time"), (["--frobnicate"], "unrecognized arguments"), (["--out"], "expected one argument"),
    (["--reductio", "/none"], "no program at"), (["--from", "/none"], "cannot unpack /none"), (["--gpu", "2"], "no GPU is called 2"),
])
def test_bad_arguments(machine, arguments, said):
    assert machine.run(*arguments) == 1
    assert said in machine.err and machine.err.count("\n") == 1 and machine.calls == []


def test_a_block_that_lacks_a_tool_is_not_complete(machine):
    machine.verified()
    assert machine.run("--block", "verify") == LACKS_TOOLS
    assert machine.table["consumer"] == "skipped: no consumer beside the program"
    assert machine.out.endswith("\nnothing is left but what was skipped: consumer\n")
    machine.command("consumer", "echo all right")
    assert machine.run("--block", "verify") == 0 and machine.calls == ["consumer "]
    assert machine.out.endswith("\nnothing is left\n")
    assert machine.run("--block", "core") == LACKS_TOOLS and machine.table["ncu"].startswith("skipped: no ncu, or it may not count here")
    machine.program("[[ $1 != probe ]] || exit 1")
    assert machine.run("--block", "core", "--again") == 1, "a fault is told first"


def test_a_block_is_a_choice_of_steps_in_the_same_folder(machine):
    machine.verified()
    assert machine.run("--block", "core") == LACKS_TOOLS, machine.out
    assert list(machine.table)[:-1] == ["comparison", "limits", "ablation", "as_printed", "probe", "ncu"]
    core = [f"reductio run {e} --out results" for e in ("comparison", "limits", "ablation")] + ["reductio probe --out results"]
    assert machine.calls == core
    assert machine.run("--block", "core") == LACKS_TOOLS and machine.calls == []
    assert machine.run("--block", "core", "--only", "selftest") == 1 and "unknown step 'selftest'" in machine.err
    assert machine.run("--block", "two") == 1 and "invalid choice: 'two'" in machine.err
    # Another card begins core anew, and takes what other blocks have as it is.
    machine.card("GPU-2")
    machine.patch.setitem(script.BLOCKS, "history", ["limits", "probe"])
    assert machine.run("--block", "history") == 0 and machine.calls == []
    assert machine.run("--block", "core") == LACKS_TOOLS and machine.calls == core
    assert machine.run() == 0 and "reductio run ablation --out results" not in machine.calls


def test_trust_has_comparisons_of_its_own(machine):
    """So nvbench and the second comparison may be of another card than core."""
    machine.command("cub_sum", 'echo "{}" >"$2"')
    machine.command("loops", "echo mode,variant")
    machine.verified()
    assert machine.run("--block", "core", "--only", "comparison,limits") == 0
    machine.card("GPU-2")
    assert machine.run("--block", "trust") == LACKS_TOOLS, machine.out
    assert [line for line in machine.calls if " run " in line or line.startswith("reductio compare")][:5] == [
        "reductio run comparison --out first", "reductio run limits --out first", "reductio run comparison --out again",
        "reductio compare first/nvidia-synthetic again/nvidia-synthetic --common --separately --csv",
        "reductio compare first/nvidia-synthetic again/nvidia-synthetic --common --separately --relative-to "
        "cub/sum,cub/transform-reduce --csv"]
    assert {"first/nvidia-synthetic/limits.csv", "again/nvidia-synthetic/comparison.csv",
            "results/nvidia-synthetic/nvbench/1.json.gz"} <= machine.packed()
    assert "first/nvidia-synthetic/comparison.samples.csv.gz" not in machine.packed()
    run, = [r for r in json.loads((machine.results / "machine.json").read_text())["runs"] if r["experiment"] == "comparison"]
    assert run["machine_id"] == "GPU-1", "that of core"
    assert machine.run("--block", "trust") == LACKS_TOOLS and machine.calls == []
    machine.card("GPU-3")
    assert machine.run("--block", "trust") == LACKS_TOOLS and machine.calls == [], "what is complete is of any card"


@pytest.mark.parametrize("lacking", ["nvbench", "again"])
def test_another_card_begins_what_trust_compares_anew(machine, lacking):
    """All of it, since agree.py compares first with nvbench: first and one of the two could be of different cards."""
    machine.command("cub_sum", 'echo "{}" >"$2"')
    machine.command("loops", "echo mode,variant")
    machine.verified()
    others = [step for step in ("selftest", "first", "nvbench", "again") if step != lacking]
    assert machine.run("--block", "trust", "--only", ",".join(others)) == 0
    machine.card("GPU-2")
    assert machine.run("--block", "trust", "--only", lacking) == 3 and machine.calls == []
    assert machine.table[lacking] == "left: the first comparison ran on GPU-1"
    assert machine.run("--block", "trust") == LACKS_TOOLS, machine.out
    assert [line for line in machine.calls if " run " in line] == [
        "reductio run comparison --out first", "reductio run limits --out first", "reductio run comparison --out again"]
    assert sum(line.startswith("cub_sum") for line in machine.calls) == 6
    assert machine.table["selftest"] == "done in an earlier call"
    assert {machine.card_of(step) for step in ("first", "nvbench", "again")} == {"GPU-2"}


def test_a_dry_run_sums_up_each_block_without_a_gpu(machine):
    machine.command("nvidia-smi", "exit 9")
    machine.patch.setenv("SECONDS_OF", "40.4")
    assert machine.run("--dry-run") == 0 and machine.calls == []
    assert [line.split(":")[0] for line in machine.out.splitlines() if not line.startswith(" ")] == [*script.BLOCKS]
    assert machine.run("--dry-run", "--block", "core") == 0
    seconds = {line.split()[0]: line.split()[1] for line in machine.out.splitlines()}
    assert seconds["core:"] == "201" and seconds["limits"] == "40" and seconds["probe"] == "15" and seconds["tuned"] == "-"


def test_what_python_calls_is_run_by_python(machine):
    """With the package beside the program's folder. Its library is another program, so the log says what is done."""
    machine.patch.setattr(script, "BY_PYTHON", ("ablation",))
    assert machine.run("--only", "ablation") == 0 and machine.table["ablation"] == "skipped: no python/reductio beside the program's folder"
    package = machine.folder / "python" / "reductio"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text(
        "import subprocess, sys\n"
        f"sys.exit(subprocess.call(['{machine.bin}/reductio', *sys.argv[1:]], env=dict(PATH='/usr/bin:/bin', BINARY='library')))\n")
    for _ in range(2):
        assert machine.run("--only", "ablation,packages") == 0
    assert machine.calls == [] and machine.table["ablation"] == "done in an earlier call"
    run, = json.loads((machine.results / "machine.json").read_text())["runs"]
    assert run["experiment"] == "ablation" and run["binary"] == "library"
    packages = (machine.results / "packages.csv").read_text().splitlines()
    assert packages[0] == "package,version" and any(re.fullmatch(r"pytest,\d+\..*", line) for line in packages)
    # CUB by ctypes: three tables in one, recorded.
    machine.command("cub_by_c.so", "")
    machine.program("[[ $1 != compare ]] || echo line")
    (machine.results / "ctypes-agreement.csv").write_text("older\n")
    assert machine.run("--only", "ctypes") == 0, machine.out
    compared = [line for line in machine.calls if line.startswith("reductio compare")]
    assert [re.search(r"--modes (\w+)", line)[1] for line in compared] == ["replay", "graph", "end_to_end"]
    assert machine.calls[-1] == "reductio record FOLDER/ctypes-agreement.csv --tool compare"
    assert (machine.results / "ctypes-agreement.csv").read_text() == "line\n" + 3 * "column\n"


# What a step writes beside an experiment's rows and samples, and what is made of that without a GPU.
WRITTEN = {
    "selftest": ["selftest.json"], "nvbench": ["nvbench/"], "again": ["repeat.csv", "repeat-relative.csv", "repeat.machine.json"],
    "compare": ["compare-example.csv", "raw-workspace.csv", "to-host.csv"], "as_printed": ["as-printed.csv", "copies.csv"],
    "probe": ["probes.csv"], "ncu": ["ncu.csv"], "counts": ["counts.csv"], "packages": ["packages.csv"],
    "ctypes": ["ctypes-agreement.csv"], "models": ["models.csv"],
    "any": ["machine.json", "catalog.csv"],  # by reductio run
    "none": ["contrasts.csv", "verdicts.csv", "goals.csv", "means.csv", "compiler.csv", "nvbench-agreement.csv",
             "frontier-python-cpu.csv"],
}
EARLIER = {"magnitudes.csv"}  # of programs that are no more: the experiment exact has taken its place


def test_all_that_is_committed_of_a_gpu_is_written_by_a_step_of_a_block():
    steps = {step for block in script.BLOCKS.values() for step in block}
    assert {*WRITTEN} - steps == {"any", "none"}
    named = {name for names in WRITTEN.values() for name in names} | EARLIER
    files = [path.relative_to(folder).as_posix().removesuffix(".gz") for folder in
             (SOURCE / "experiments" / "results").glob("nvidia-*") for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 100
    for file in files:
        experiment = re.sub(r"(\.samples)?\.csv$", "", file).replace("releases", "history")
        assert file in named or file.startswith("nvbench/") or experiment in steps, file


CAMPAIGN = (SOURCE / "experiments" / "campaign.md").read_text()


def test_the_campaigns_text_names_each_block_and_tool():
    for block in script.BLOCKS:
        assert f"`{block}`" in CAMPAIGN or f"--block {block} " in CAMPAIGN, block
    for tool in ("consumer", "cub_sum", "loops", "as_printed", "cub_by_c.so"):  # what `beside` is asked for
        assert f"`bin/{tool}`" in CAMPAIGN and f'"{tool}"' in SCRIPT.read_text(), tool
    assert "compute-sanitizer" in CAMPAIGN and "`ncu`" in CAMPAIGN and "`python`, whole" in CAMPAIGN


def test_the_campaigns_results_are_put_in_place_by_its_commands_as_they_stand(tmp_path):
    """Those before agree.py, on two archives of which the second has first, beside an earlier build's results."""
    results = tmp_path / "experiments" / "results"
    earlier = ["nvidia-h200/tuned.csv", "nvidia-h200/peers.csv", "nvidia-h100-frontier-python/frontier-python.csv.gz",
               "nvidia-h100-frontier-python/frontier-python-cpu.csv.gz", "nvidia-h100-peers/peers.csv.gz", "cpu-intel-xeon/cpu.csv"]
    for name in earlier:
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("earlier\n")
        (results / name).with_name("machine.json").write_text('{"git_revision": "another"}\n')
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"], ["tag", "-am", "frozen", "campaign"]):
        subprocess.run([*git, *words], check=True)
    for archive, name in (("reductio-results", "results/nvidia-h200/tuned.csv"), ("reductio-results-2", "first/nvidia-h200/limits.csv")):
        packed = tmp_path / "packed" / name
        packed.parent.mkdir(parents=True)
        packed.write_text("new\n")
        with tarfile.open(tmp_path / f"{archive}.tar.gz", "w:gz") as file:
            file.add(packed, name)
    listing = CAMPAIGN[CAMPAIGN.index("earlier=$("):].partition("```")[0]
    subprocess.run(["bash", "-n", "-c", listing], check=True)
    commands = "set -eu\n" + listing[:listing.index("python3 baselines")] + "cat $first/limits.csv $folder/tuned.csv"
    done = subprocess.run(["bash", "-c", commands], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "new\nnew\n"), done.stderr
    assert {path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file()} == {
        "nvidia-h200/tuned.csv", "cpu-intel-xeon/cpu.csv", "cpu-intel-xeon/machine.json",
        "nvidia-h100-frontier-python/frontier-python-cpu.csv.gz", "nvidia-h100-frontier-python/machine.json"}


def test_without_a_gpu(machine):
    """By the command line, as a user calls it."""
    machine.command("nvidia-smi", "exit 9")
    done = subprocess.run([SCRIPT, "--out", machine.folder / "out", "--work", machine.work], capture_output=True, text=True)
    assert done.returncode == 77 and "no GPU here" in done.stderr and done.stdout == ""


def test_the_program_tells_what_the_script_asks_it(tmp_path):
    """The real one, which the others here only play."""
    program = os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")
    listed = json.loads(subprocess.check_output([program, "list", "experiments", "--json"]))
    assert {"cpu", "comparison", "limits"} <= {e["name"] for e in listed} and {e["device"] for e in listed} == {"cuda", "cpu"}
    dry_run = subprocess.check_output([program, "run", "cpu", "--dry-run", "--json"], text=True)
    subprocess.check_call([program, "run", "cpu", "--variants", "^eigen/sum$", "--sizes", "1000", "--types", "f32", "--out",
                           tmp_path, "--max-samples", "1", "--quiet"])
    run, = json.loads(next(tmp_path.glob("*/machine.json")).read_text())["runs"]
    assert run["binary"] == json.loads(dry_run)["binary"] and run["interrupted"] is False and run["ended_utc"]
    assert run["experiment"] == "cpu" and "--max-samples" in run["arguments"]


def test_each_variant_is_verified_once():
    program = os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")
    listed = [v["variant"] for v in csv.DictReader(subprocess.check_output(
        [program, "list", "--csv", "--all", "--device", "cuda"], text=True).splitlines())]
    for variant in [*listed, "cub@3.5.0/sum", "thrust@2.0.1/reduce"]:
        assert sum(re.search(regex, variant) is not None for regex in script.VERIFIED.values()) == 1, variant


def test_each_experiment_of_the_program_is_in_a_block_and_core_fits_into_its_stretch():
    program = os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")
    listed = {e["name"] for e in json.loads(subprocess.check_output([program, "list", "experiments", "--json"]))}
    blocks = {step for block in script.BLOCKS.values() for step in block}
    assert listed - blocks == {"cpu"} and {*script.BY_PYTHON} <= listed
    assert blocks - listed == {*WRITTEN} - {"any", "none"} | {*script.BLOCKS["verify"], "first"}, "no block has what does not exist"
    assert listed <= script.EXPECTED_S.keys(), "their seconds are recorded"
    assert sum(script.EXPECTED_S[step] for step in script.BLOCKS["core"]) <= 1450, "three calls of 9.5 minutes have 1,650 s"
