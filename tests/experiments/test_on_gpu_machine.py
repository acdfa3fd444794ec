"""experiments/on_gpu_machine with a program, a driver and a sanitizer that are played by shell scripts."""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "on_gpu_machine"
EXPERIMENTS = ["comparison", "limits", "timing", "index", "squares", "latency", "twopass", "unrolling", "levels",
               "multiblock", "tuned", "narrow", "modern", "ablation", "autotune", "accuracy"]
# Binary logarithms of sizes, which time, and with what.
ALONE = {**{f"10-21-{time}": " --allocations 6 --max-samples 48" for time in range(1, 10)},
         "22-24-1": "", "25-27-1": "", "28-30-1": ""}
THESE = "--variants ^(cub/sum|thrust/reduce|twopass/rolled)$"


# What `reductio list --csv` says here: two documents, and libraries.
LIST = """if [[ $1 == list ]]; then
  printf 'schema_version,variant,title\\n'
  printf '1,%s,"a, title"\\n' squares/chunked squares/strided levels/naive cub/sum cublas/dot
  exit
fi
"""
# A clean run of the sanitizer over a clean run of the program.
CLEAN = """tool=$2; shift 4
"$@" || exit
if [[ $tool == racecheck ]]; then echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
else echo "========= ERROR SUMMARY: 0 errors"; fi
"""


class Machine:
    """A machine whose commands are scripts in `bin`; every call of theirs is noted in `calls`."""

    def __init__(self, folder: Path):
        self.folder, self.bin, self.calls_file = folder, folder / "bin", folder / "calls"
        self.bin.mkdir()
        self.command("nvidia-smi", "echo 'GPU 0: Synthetic'")
        self.command("reductio", "")
        self.command("compute-sanitizer", CLEAN)
        self.command("ncu", 'echo "==ERROR== ERR_NVGPUCTRPERM"; exit 1')
        (self.bin / "python3").symlink_to(sys.executable)

    def command(self, name: str, body: str) -> None:
        path = self.bin / name
        if name == "reductio":
            body = LIST + body
        path.unlink(missing_ok=True)  # python3 is a link, and what it points to must not be written
        path.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >>"{self.calls_file}"\n{body}\n')
        path.chmod(0o755)

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        self.calls_file.write_text("")
        environment = {**os.environ, "PATH": f"{self.bin}:/usr/bin:/bin"}
        return subprocess.run(["bash", SCRIPT, "--reductio", self.bin / "reductio", "--out", self.folder / "out",
                               "--work", self.folder / "work", *arguments], env=environment, capture_output=True, text=True)

    @property
    def calls(self) -> list[str]:
        return [line for line in self.calls_file.read_text().splitlines()
                if not line.startswith(("nvidia-smi", "reductio list", "ncu ")) and not line.endswith("--version")]

    @property
    def table(self) -> dict[str, str]:
        """The lines of the summary by their step."""
        lines = (self.folder / "out" / "summary.txt").read_text().splitlines()
        return {line[:23].strip(): line[23:] for line in lines if line}

    def packed(self) -> set[str]:
        with tarfile.open(self.folder / "out" / "reductio-results.tar.gz") as archive:
            return {m.name for m in archive.getmembers() if m.isfile()}


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_a_second_run_with_failed_points_is_compared_all_the_same(machine):
    machine.command("reductio", 'if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" '
                                '"$4/synthetic/machine.json"; [[ $4 != again ]]; fi')
    assert machine.run("--only", "comparison,again").returncode == 1
    assert [c for c in machine.calls if c.startswith("reductio compare")] == [
        f"reductio compare results/synthetic again/synthetic --common --separately --csv{more}"
        for more in ("", " --relative-to cub/sum,cub/transform-reduce")]
    assert "results/synthetic/repeat.csv.gz" in machine.packed()


def test_runs_every_step_in_order_and_packs(machine):
    machine.command("reductio", 'if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" '
                                '"$4/synthetic/machine.json"; printf "%s\\n" run_id,variant,timing_mode 1,cub/sum,end_to_end '
                                '1,cub/sum,device 1,x/y,end_to_end | gzip >"$4/synthetic/$2.samples.csv.gz"; fi\n'
                                'if [[ $1 == selftest ]]; then echo "{}"; echo "6 of 6 planted" >&2; fi')
    done = machine.run()
    assert done.returncode == 0, done.stderr
    tools = [line.split()[2] for line in machine.calls if line.startswith("compute-sanitizer")]
    assert tools == ["memcheck", *["racecheck"] * 3, "initcheck", "synccheck"]
    assert machine.calls[0].startswith("reductio verify --device cuda --tier gpu")
    folder = f"{machine.folder}/work/results/synthetic"
    assert machine.calls[-10 - 6 * len(ALONE) - len(EXPERIMENTS):] == ["reductio selftest --json",
                                   *(f"reductio run {e} --out results" for e in EXPERIMENTS),
                                   "reductio probe --out results",
                                   f"reductio models {folder}",
                                   "reductio run comparison --out again",
                                   *(f"reductio compare results/synthetic again/synthetic --common --separately --csv{more}"
                                     for more in ("", " --relative-to cub/sum,cub/transform-reduce")),
                                   *(call for part, few in ALONE.items() for call in (
                                       *(f"reductio run comparison --out {arm}/{part} --types f32 "
                                         f"--sizes 2^{part[:2]}:2^{part[3:5]}{few} {which}" for arm, which in (
                                             ("alone/1", THESE), ("company", "--operations sum"), ("alone/2", THESE))),
                                       *(f"reductio compare {one}/{part}/synthetic {other}/{part}/synthetic --common "
                                         "--separately --csv" for one, other in (
                                             ("alone/1", "company"), ("alone/2", "company"), ("alone/1", "alone/2"))))),
                                   "reductio compare cub/sum multiblock/last-block-warp twopass/template-unrolled "
                                   "levels/local-stride --csv --save-baseline compare-example --force --out results",
                                   "reductio compare tuned/sum tuned/sum-raw-workspace --types f32 --sizes 2^10:2^20 --csv",
                                   "reductio compare cub/sum-to-host cub/sum tuned/sum-to-host --types f32 "
                                   "--sizes 2^10:2^20 --modes end_to_end --csv",
                                   "reductio run cpu --out cpu"]
    assert {"logs/verify.log", "logs/gpu.txt", "results/synthetic/comparison.csv",
            "results/synthetic/limits.csv", "results/synthetic/repeat.csv.gz",
            "results/synthetic/repeat-relative.csv.gz", "results/synthetic/repeat.machine.json",
            "results/synthetic/alone.csv.gz", "results/synthetic/alone-samples.csv.gz",
            "results/synthetic/compare-example.csv", "results/synthetic/raw-workspace.csv", "results/synthetic/to-host.csv",
            "results/synthetic/ncu.csv", "selftest.json",
            "results/synthetic/comparison.samples.csv.gz", "again/synthetic/comparison.csv",
            "cpu/synthetic/cpu.csv"} <= machine.packed()
    assert "again/synthetic/comparison.samples.csv.gz" not in machine.packed()
    small = [part for part in ALONE if part.startswith("10-21-")]
    with gzip.open(Path(folder) / "alone-samples.csv.gz", "rt") as kept:
        assert kept.read().splitlines() == ["run_id,variant,timing_mode", *["1,cub/sum,end_to_end"] * 3 * len(small)]
    assert list(machine.table) == ["step", "verify", "memcheck", "racecheck levels", "racecheck libraries",
                                   "racecheck squares", "initcheck", "synccheck", "selftest", *EXPERIMENTS, "probe",
                                   "ncu", "models", "nvbench", "again", "repeat", "repeat-relative",
                                   *(f"{step}-{part}" for part in ALONE for step in (
                                       "alone-1", "company", "alone-2", "alone-1-company", "alone-2-company", "alone-1-2")),
                                   "compare", "compare-raw-workspace", "compare-to-host",
                                   "cpu", "altogether"]
    assert "no cub_sum and loops beside the program" in machine.table["nvbench"]
    assert done.stdout.rstrip().splitlines()[-2].startswith("altogether")  # the table is the last thing but one
    assert "6 of 6 planted" in machine.table["selftest"]
    assert "skipped" in machine.table["ncu"] and "ERR_NVGPUCTRPERM" in machine.table["ncu"]
    machine.run("--only", "comparison,cpu", "--gpu", "1", "--", "--full")
    assert machine.calls == ["reductio run comparison --out results --resume --gpu 1 --full",
                             "reductio run cpu --out cpu --resume"]
    # What there was stays where it cannot be made again.
    machine.command("reductio", "exit 1")
    assert machine.run("--only", "selftest").returncode == 1
    assert (machine.folder / "work" / "selftest.json").read_text() == "{}\n" and "selftest.json" in machine.packed()


def test_samples_of_runs_alone_are_kept_where_all_have_the_same_columns(machine):
    run = ('if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" "$4/synthetic/machine.json"\n{0} fi')
    columns = ('c=run_id,variant,timing_mode; [[ $4 != company/10-21-2 ]] || c=run_id,timing_mode,variant\n'
               'echo $c | gzip >"$4/synthetic/$2.samples.csv.gz";')
    machine.command("reductio", run.format(""))
    assert machine.run("--only", "limits,alone").returncode == 0
    assert "results/synthetic/alone-samples.csv.gz" not in machine.packed()
    shutil.rmtree(machine.folder / "work")
    machine.command("reductio", run.format(columns))
    assert machine.run("--only", "limits,alone").returncode == 1
    assert not any("alone-samples" in name for name in machine.packed())


def test_what_is_measured_alone_is_measured_anew_where_its_company_was_cut(machine):
    run = ('if [[ $1 == run ]]; then [[ $4 != company/10-21-2 || ! -e {0} ]] || exit 1\n'
           'mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" "$4/synthetic/machine.json"\n'
           'printf "%s\\n" run_id,variant,timing_mode $4,cub/sum,end_to_end | gzip >"$4/synthetic/$2.samples.csv.gz"; fi')

    def samples_of(part: str) -> int:
        with gzip.open(machine.folder / "work" / "results" / "synthetic" / "alone-samples.csv.gz", "rt") as file:
            return sum(f"/{part}," in line for line in file)

    fails = machine.folder / "fails"
    machine.command("reductio", run.format(fails))
    assert machine.run("--only", "limits").returncode == 0
    fails.touch()
    assert machine.run("--only", "alone").returncode == 1
    assert "alone-2-10-21-1" in machine.table and "alone-2-10-21-2" not in machine.table and "alone-2-10-21-3" in machine.table
    assert samples_of("10-21-1") == 3 and samples_of("10-21-2") == 0 and samples_of("22-24-1") == 0
    fails.unlink()
    assert machine.run("--only", "alone").returncode == 0
    assert samples_of("10-21-1") == 3 and samples_of("10-21-2") == 3 and samples_of("22-24-1") == 0
    assert [line.split()[1:5] for line in machine.calls] == [
        *(["run", "comparison", "--out", f"{arm}/10-21-2"] for arm in ("alone/1", "company", "alone/2")),
        *(["compare", f"{one}/10-21-2/synthetic", f"{other}/10-21-2/synthetic", "--common"] for one, other in (
            ("alone/1", "company"), ("alone/2", "company"), ("alone/1", "alone/2")))]
    assert not any("--resume" in line for line in machine.calls)
    assert machine.run("--only", "alone").returncode == 0 and machine.calls == []
    assert "results/synthetic/alone.csv.gz" in machine.packed()


def test_what_was_measured_alone_is_kept_where_the_time_for_earlier_parts_is_used_up(machine):
    run = ('if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" "$4/synthetic/machine.json"; {0}fi\n'
           'if [[ $1 == compare ]]; then echo column; echo "$2"; fi')
    machine.command("reductio", run.format(""))
    assert machine.run("--only", "limits,alone").returncode == 0

    def compared():
        with gzip.open(machine.folder / "work" / "results" / "synthetic" / "alone.csv.gz", "rt") as file:
            assert file.readline() == "column\n"
            return {line.split("/")[2] for line in file}

    assert compared() == set(ALONE)
    for part in ("10-21-1", "10-21-2"):
        (machine.folder / "work" / "alone" / f"1-2-{part}.csv").unlink()
    machine.command("reductio", run.format("sleep 600; "))
    assert machine.run("--only", "alone", "--total-limit", "22").returncode == 1
    assert compared() == set(ALONE) - {"10-21-1", "10-21-2"}


def test_nvbench_runs_where_it_lies_beside_the_program(machine):
    machine.command("cub_sum", 'echo "{}" >"$2"')
    machine.run("--only", "nvbench")
    assert "skipped: no cub_sum and loops" in machine.table["nvbench"] and machine.calls == []
    machine.command("loops", "echo mode,variant")
    done = machine.run("--only", "nvbench")
    assert done.returncode == 0, done.stdout
    processes = range(1, 7)
    assert [line.split()[:5] for line in machine.calls[::2]] == [
        ["cub_sum", "--json", f"nvbench/{i}.json", "--quiet", "--timeout"] for i in processes]
    assert [line.strip() for line in machine.calls[1::2]] == ["loops"] * 6
    assert {f"nvbench/{name}" for i in processes for name in (f"{i}.json.gz", f"loops-{i}.csv")} <= machine.packed()
    assert (machine.folder / "work" / "nvbench" / "loops-6.csv").read_text() == "mode,variant\n"
    for name in ("cub_sum", "loops"):
        machine.command(name, "exit 1")
        assert machine.run("--only", "nvbench").returncode == 1
        machine.command(name, 'echo "{}" >"${2:-/dev/null}"')


def test_planted_slowdowns_are_looked_for_where_that_is_asked_for(machine):
    machine.command("reductio", 'if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" '
                                '"$4/synthetic/machine.json"; fi\n'
                                'if [[ $1 == compare ]]; then echo "error: planted by this test" >&2; exit 1; fi')
    assert machine.run("--only", "limits,planted", "--gpu", "1").returncode == 1
    first = next(c for c in machine.calls if c.startswith("reductio compare"))
    assert "--plant" in first and "--gpu 1" in first
    assert "planted by this test" in machine.table["planted"]
    (machine.bin / "python3").unlink()
    done = subprocess.run(["bash", SCRIPT, "--reductio", machine.bin / "reductio", "--out", machine.folder / "out", "--work",
                           machine.folder / "work", "--only", "planted"], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{machine.bin}:{without_python(machine.folder)}"})
    assert done.returncode == 0 and "skipped: no python3" in machine.table["planted"], done.stderr


def without_python(folder: Path) -> Path:
    """A folder with the commands of the machine's own that the script calls."""
    there = folder / "commands"
    there.mkdir()
    for name in ("bash", "env", "mkdir", "dirname", "basename", "grep", "tail", "tee", "tar", "stat", "cut", "paste", "cat",
                 "timeout", "rm", "gzip", "ls", "date", "sort", "awk"):
        (there / name).symlink_to(shutil.which(name))
    return there


def test_only_ncu_may_be_skipped(machine):
    machine.command("reductio", 'mkdir -p results/synthetic && touch results/synthetic/machine.json; exit 77')
    assert machine.run("--only", "probe").returncode == 1 and "FAILED (exit code 77)" in machine.table["probe"]
    done = machine.run("--only", "ncu")
    assert done.returncode == 0 and "skipped" in machine.table["ncu"], done.stdout
    (machine.bin / "ncu").unlink()
    machine.command("ncu", 'echo "==ERROR== Launch failed"; exit 1')
    assert machine.run("--only", "ncu").returncode == 1 and "FAILED (exit code 1)" in machine.table["ncu"]


def test_does_not_time_what_is_wrong(machine):
    machine.command("reductio", '[[ $1 != verify || $* == *sanitizer* ]] || { echo "1 case failed"; exit 2; }')
    done = machine.run()
    assert done.returncode == 2
    assert [line for line in machine.calls if line.startswith("reductio run")] == ["reductio run cpu --out cpu"]
    assert done.stdout.count("not begun: verification failed") == len(EXPERIMENTS) and "logs/verify.log" in machine.packed()
    assert "not begun: nothing was measured" in done.stdout
    machine.run("--only", "comparison")  # nor in a later call
    assert machine.calls == []
    machine.command("reductio", "")
    assert machine.run("--only", "verify,comparison").returncode == 0


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_a_fault_that_the_sanitizer_finds_fails(machine, tool):
    # In the one part of racecheck that ends neither first nor last.
    machine.command("compute-sanitizer",
                    f'[[ $2 != {tool} || ({tool} == racecheck && "$*" != *cub/sum*) ]] || exit 99\n' + CLEAN)
    done = machine.run()
    assert done.returncode == 1
    failed = {step for step, line in machine.table.items() if "FAILED (exit code 99)" in line}
    assert failed == {"racecheck libraries" if tool == "racecheck" else tool}
    assert any(line.startswith("reductio run") for line in machine.calls)


@pytest.mark.parametrize("tool, said", [("memcheck", "ERROR SUMMARY: 2 errors"), ("memcheck", ""),
                                        ("racecheck", "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)")])
def test_a_sanitizer_that_exits_with_0_must_also_say_that_it_found_nothing(machine, tool, said):
    """racecheck's warnings leave the exit code alone, and a tool that did not start says nothing."""
    machine.command("compute-sanitizer", f'if [[ $2 == {tool} ]]; then echo "========= {said}"; exit; fi\n' + CLEAN)
    done = machine.run()
    assert done.returncode == 1
    failed = {step for step, line in machine.table.items() if "FAILED (no '" in line}
    assert failed == ({"memcheck"} if tool == "memcheck" else
                      {"racecheck levels", "racecheck libraries", "racecheck squares"})
    assert said in machine.table[sorted(failed)[0]]


def test_racecheck_runs_on_every_document_at_the_same_time(machine):
    """Each waits for the two others to have begun: one after the other, none of them would end."""
    begun = machine.folder / "begun"
    machine.command("compute-sanitizer", f"""if [[ $2 == racecheck ]]; then
  echo begun >>"{begun}"
  while (($(wc -l <"{begun}") < 3)); do sleep 0.05; done
fi
""" + CLEAN)
    done = machine.run("--only", "racecheck", "--time-limit", "600")
    assert done.returncode == 0, done.stdout
    regexes = {line.rsplit("--variants ")[1] for line in machine.calls if line.startswith("compute-sanitizer")}
    assert regexes == {"^(squares/chunked|squares/strided)$", "^(levels/naive)$", "^(cub/sum|cublas/dot)$"}
    assert {f"logs/racecheck-{part}.log" for part in ("squares", "levels", "libraries")} <= machine.packed()


def test_a_plus_sign_in_an_id_is_none_of_the_regular_expression(machine):
    reductio = machine.bin / "reductio"
    reductio.write_text(reductio.read_text().replace("levels/naive", "levels/a+b+c"))
    assert machine.run("--only", "racecheck").returncode == 0
    regexes = {line.rsplit("--variants ")[1] for line in machine.calls if line.startswith("compute-sanitizer")}
    assert r"^(levels/a\+b\+c)$" in regexes


def test_each_part_of_racecheck_has_the_time_limit(machine):
    machine.command("compute-sanitizer", '[[ "$*" != *levels* ]] || exec sleep 600\n' + CLEAN)
    # The limit is a second, which only what sleeps is held to: the others may take theirs on a busy machine.
    machine.command("timeout", '[[ "$*" != *levels* ]] || exec /usr/bin/timeout "$@"\n'
                               'echo "$3" >>"$0.limits"; shift 3; exec "$@"')
    done = machine.run("--only", "racecheck", "--time-limit", "1")
    assert done.returncode == 1
    assert set((machine.bin / "timeout.limits").read_text().split()) == {"1"}
    assert "stopped after 1 s" in machine.table["racecheck levels"]
    assert "passed" in machine.table["racecheck squares"]


def test_racecheck_of_nothing_fails(machine):
    (machine.bin / "reductio").write_text("#!/usr/bin/env bash\n[[ $1 != list ]] || exit 1\n")
    done = machine.run("--only", "racecheck", "--variants", "^none/")
    assert done.returncode == 1 and "names no variant" in done.stdout and machine.calls == []


def test_a_step_over_its_limit_is_stopped(machine):
    machine.command("reductio", "[[ $1 != verify ]] || exec sleep 600")
    done = machine.run("--only", "verify", "--time-limit", "1")
    assert done.returncode == 2 and "stopped after 1 s" in done.stdout


def test_what_was_measured_is_packed_before_the_machine_is_taken_away(machine):
    """Though the program passes over the signal that asks it to end."""
    machine.command("reductio", 'trap "" TERM INT\n'
                                'if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/$2.csv" '
                                '"$4/synthetic/machine.json"; [[ $2 != limits ]] || sleep 600; fi')
    done = machine.run("--only", "comparison,limits,timing", "--total-limit", "25")
    assert done.returncode == 1
    assert "passed" in machine.table["comparison"] and "stopped: --total-limit" in machine.table["limits"]
    assert "not begun: the time is used up" in machine.table["timing"]
    assert {"results/synthetic/comparison.csv", "results/synthetic/limits.csv"} <= machine.packed()
    assert not any("timing" in call for call in machine.calls)


def test_a_verification_that_is_cut_has_not_failed(machine):
    machine.command("reductio", "[[ $1 != verify ]] || exec sleep 600")
    done = machine.run("--only", "verify", "--total-limit", "22")
    assert done.returncode == 1 and "stopped: --total-limit" in machine.table["verify"]
    machine.command("reductio", "")
    assert machine.run("--only", "limits").returncode == 0 and "passed" in machine.table["limits"]


def test_of_a_steps_commands_none_begins_after_the_time_is_used_up(machine):
    """A limit of 0 would be none at all."""
    machine.command("reductio", '[[ $1 != run ]] || { mkdir -p "$4/a" "$4/b"; touch "$4/a/machine.json" "$4/b/machine.json"; }\n'
                                '[[ $1 != models ]] || sleep 600')
    done = machine.run("--only", "comparison,models", "--total-limit", "24")
    assert done.returncode == 1 and "stopped: --total-limit" in machine.table["models"]
    assert len([call for call in machine.calls if call.startswith("reductio models")]) == 1


def test_without_a_sanitizer_its_steps_are_skipped(machine):
    if Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("this machine has one")
    (machine.bin / "compute-sanitizer").unlink()
    done = machine.run("--only", "memcheck")
    assert done.returncode == 0 and "skipped: compute-sanitizer is not installed" in done.stdout


def test_passes_selection_on(machine):
    machine.run("--variants", "^cub/", "--gpu", "1", "--only", "verify,initcheck,comparison,racecheck")
    assert all("--gpu 1" in line for line in machine.calls)
    assert ["--variants ^cub/" in line for line in machine.calls].count(True) >= 2
    assert not any("--variants" in line for line in machine.calls if line.startswith("reductio run"))
    assert "reductio list --csv --device cuda --variants ^cub/" in machine.calls_file.read_text()


@pytest.mark.parametrize("arguments, said", [
    (["--only", "verfy"], "unknown step 'verfy'"), (["--time-limit", "ten"], "whole seconds"),
    (["--total-limit", "0"], "whole seconds"), (["--total-limit", "20"], "more than the 20"),
    (["--frobnicate"], "unknown argument"), (["--out"], "needs a value"), (["--reductio", "/none"], "no program at"),
])
def test_bad_arguments(machine, arguments, said):
    done = machine.run(*arguments)
    assert done.returncode == 1 and said in done.stderr and machine.calls == []


def test_without_a_gpu(machine):
    machine.command("nvidia-smi", "exit 9")
    done = machine.run()
    assert done.returncode == 77 and "no GPU" in done.stderr and machine.calls == []
