"""experiments/on_gpu_machine with a program, a driver and a sanitizer that are played by shell scripts."""

import os
import subprocess
import tarfile
from pathlib import Path

import conftest
import pytest

SCRIPT = conftest.SOURCE / "experiments" / "on_gpu_machine"


class Machine:
    """A machine whose commands are scripts in `bin`; every call of theirs is noted in `calls`."""

    def __init__(self, folder: Path):
        self.folder, self.bin, self.calls_file = folder, folder / "bin", folder / "calls"
        self.bin.mkdir()
        self.command("nvidia-smi", "echo 'GPU 0: Synthetic'")
        self.command("reductio", "")
        self.command("compute-sanitizer", "")

    def command(self, name: str, body: str) -> None:
        path = self.bin / name
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
                if not line.startswith("nvidia-smi") and not line.endswith("--version")]

    def packed(self) -> set[str]:
        with tarfile.open(self.folder / "out" / "reductio-results.tar.gz") as archive:
            return {m.name for m in archive.getmembers() if m.isfile()}


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_runs_every_step_in_order_and_packs(machine):
    machine.command("reductio", 'if [[ $1 == run ]]; then mkdir -p "$4/synthetic" && touch "$4/synthetic/comparison.csv"; fi')
    done = machine.run()
    assert done.returncode == 0, done.stderr
    tools = [line.split()[2] for line in machine.calls if line.startswith("compute-sanitizer")]
    assert tools == ["memcheck", "racecheck", "initcheck", "synccheck"]
    assert machine.calls[0].startswith("reductio verify --device cuda --tier gpu")
    assert machine.calls[-1].startswith("reductio run comparison --out")
    assert {"logs/verify.log", "logs/gpu.txt", "results/synthetic/comparison.csv"} <= machine.packed()
    assert "verify" in (machine.folder / "out" / "summary.txt").read_text()
    assert "compute-sanitizer" not in machine.calls[-1] and "--resume" not in machine.calls[-1]
    machine.run("--only", "comparison", "--", "--full")
    assert machine.calls == [f"reductio run comparison --out {machine.folder}/work/results --resume --full"]


def test_does_not_time_what_is_wrong(machine):
    machine.command("reductio", '[[ $1 != verify || $* == *sanitizer* ]] || { echo "1 case failed"; exit 2; }')
    done = machine.run()
    assert done.returncode == 2
    assert not any(line.startswith("reductio run") for line in machine.calls)
    assert "not begun: verification failed" in done.stdout and "logs/verify.log" in machine.packed()
    machine.run("--only", "comparison")  # nor in a later call
    assert machine.calls == []
    machine.command("reductio", "")
    assert machine.run("--only", "verify,comparison").returncode == 0


def test_a_fault_that_the_sanitizer_finds_fails(machine):
    machine.command("compute-sanitizer", '[[ $2 != racecheck ]] || exit 99')
    done = machine.run()
    assert done.returncode == 1
    assert "FAILED (exit code 99)" in done.stdout
    assert any(line.startswith("reductio run") for line in machine.calls)


def test_a_step_over_its_limit_is_stopped(machine):
    machine.command("reductio", "[[ $1 != verify ]] || exec sleep 60")
    done = machine.run("--only", "verify", "--time-limit", "1")
    assert done.returncode == 2 and "stopped after 1 s" in done.stdout


def test_without_a_sanitizer_its_steps_are_skipped(machine):
    if Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("this machine has one")
    (machine.bin / "compute-sanitizer").unlink()
    done = machine.run("--only", "memcheck")
    assert done.returncode == 0 and "skipped: compute-sanitizer is not installed" in done.stdout


def test_passes_selection_on(machine):
    machine.run("--variants", "^cub/", "--gpu", "1", "--only", "verify,initcheck,comparison")
    assert all("--gpu 1" in line for line in machine.calls)
    assert ["--variants ^cub/" in line for line in machine.calls].count(True) >= 2
    assert "--variants" not in machine.calls[-1]


@pytest.mark.parametrize("arguments, said", [
    (["--only", "verfy"], "unknown step 'verfy'"), (["--time-limit", "ten"], "whole seconds"),
    (["--frobnicate"], "unknown argument"), (["--out"], "needs a value"), (["--reductio", "/none"], "no program at"),
])
def test_bad_arguments(machine, arguments, said):
    done = machine.run(*arguments)
    assert done.returncode == 1 and said in done.stderr and machine.calls == []


def test_without_a_gpu(machine):
    machine.command("nvidia-smi", "exit 9")
    done = machine.run()
    assert done.returncode == 77 and "no GPU" in done.stderr and machine.calls == []
