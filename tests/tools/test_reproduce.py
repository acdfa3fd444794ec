"""./reproduce in a project of its own, with synthetic committed results, and with a program, a driver, compilers and LaTeX
that are played by shell scripts."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from project import SOURCE, judge

EXPERIMENTS = ["comparison", "cpu", "limits", "one-more", "twopass"]

# Runs write the CSV that lie in `measured`, into a folder of the machine.
PROGRAM = """case $1 in
  list) echo experiment,device,summary
        for e in EXPERIMENTS; do echo "$e,$([[ $e == cpu ]] && echo cpu || echo cuda),what it does"; done ;;
  verify) echo "7 passed, 0 failed" ;;
  run)
    shift
    if [[ $* == *--dry-run* ]]; then
      for e in "$@"; do [[ $e == --* ]] || echo "{\\"experiment\\":\\"$e\\",\\"points\\":3,\\"estimated_s\\":60.7}"; done
      exit
    fi
    folder=$3/$([[ $1 == cpu ]] && echo here-cpu || echo here)
    mkdir -p "$folder" && cp MEASURED/machine.json MEASURED/catalog.csv "$folder"
    cp "MEASURED/$1.csv" "$folder"
    echo "$1: 3 measured"
    ;;
  probe) cp MEASURED/probes.csv out/results/here && echo probed ;;
  summarize) [[ $2 == --check ]] || { cp MEASURED/{contrasts,verdicts}.csv "$2" && echo summarized; } ;;
  *) echo done ;;
esac
"""


class Project:
    def __init__(self, folder: Path):
        self.folder, self.bin, self.calls_file = folder / "project", folder / "bin", folder / "calls"
        self.bin.mkdir()
        self.calls_file.touch()
        for part in ("tools", "paper", "src/report", "docs", "cmake"):
            shutil.copytree(SOURCE / part, self.folder / part, ignore=shutil.ignore_patterns("generated", "__pycache__"))
        for file in ("reproduce", "requirements.txt", "README.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE"):
            shutil.copy(SOURCE / file, self.folder)
        self.committed = self.folder / "experiments" / "results"
        self.committed.mkdir(parents=True)
        self.machine("nvidia-h200", self.committed, faster=3)
        self.machine("other", self.committed, faster=0.5)
        measured = self.machine("measured", folder, faster=3)
        synthetic.write_csv(measured / "cpu.csv", synthetic.cpu_rows(types=("f32",)))
        synthetic.write_csv(measured / "comparison.csv", [synthetic.timed(1e-3, variant="cub/sum", n=2**20)])
        for name in set(EXPERIMENTS) - {"comparison", "twopass", "cpu"}:
            synthetic.write_csv(measured / f"{name}.csv", [synthetic.timed(1e-3, experiment=name, variant="cub/sum", n=2**20)])
        synthetic.write_csv(measured / "probes.csv", [dict(quantity="sm_clock_rate", sm=0, repeat=0, value=1.5, unit="")])
        synthetic.write_folder(self.committed / "some-cpu", cpu=synthetic.cpu_rows(types=("f32",)))

        for name in ("cmake", "ninja", "g++", "clang++", "ccache", "git", "latexmk", "pdflatex", "kpsewhich", "apt-get"):
            self.command(name, {"kpsewhich": "echo found", "cmake": "echo 'reductio: CUDA OFF'",
                                "latexmk": 'mkdir -p out/paper && echo "%PDF" >out/paper/main.pdf'}.get(name, ""))
        self.command("id", "echo 0")
        self.gpu(False)
        program = self.folder / "build" / "bin" / "reductio"
        program.parent.mkdir(parents=True)
        self.command(program, PROGRAM.replace("MEASURED", str(measured)).replace("EXPERIMENTS", " ".join(EXPERIMENTS)))
        self.command(program.with_name("as_printed"),
                     'printf "kernel,block,blocks,wrong\\nname,64,9,0\\n" >"$1"/as-printed.csv')
        venv = self.folder / ".venv"
        (venv / "bin").mkdir(parents=True)
        (venv / ".requirements").write_text(hashlib.sha256((self.folder / "requirements.txt").read_bytes()).hexdigest())
        self.play()

    def play(self) -> None:
        """The figures, which take long, are played; the rest of the paper is made."""
        self.command(self.folder / ".venv" / "bin" / "python", f"""case $1 in
  paper/make.py) mkdir -p "${{@: -1}}"/{{figures,tables}} && echo "# Figures and tables" >"${{@: -1}}/index.md" ;;
  src/report) echo page >"${{@: -1}}" ;;
  -m) mkdir -p out/site && ls out/pages >out/site/index.html ;;
  tools/gallery.py) mkdir -p "${{@: -1}}" && echo "2 pictures" ;;
  experiments/counts.py) echo counter >"$2/counts.csv" && echo "3 counts" ;;
  experiments/*) echo "${{1##*/}}: no such tool here" >&2; exit 77 ;;
  -c) echo "packages are there" ;;
  *) exec {sys.executable} "$@" ;;
esac""")

    def machine(self, name: str, into: Path, faster: float) -> Path:
        """A folder of GPU results."""
        folder = synthetic.write_folder(into / name, synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
        synthetic.write_csv(folder / "twopass.csv", [synthetic.timed(1e-3, experiment="twopass", variant="cub/sum", n=2**24)])
        # How much faster unrolling the last warp is.
        return judge(synthetic.write_contrasts(folder, {("T2", 2**24): faster}))

    def command(self, name, body: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/usr/bin/env bash\necho "${{0##*/}} $*" >>"{self.calls_file}"\n{body}\n')
        path.chmod(0o755)

    def gpu(self, present: bool) -> None:
        self.command("nvidia-smi", "echo 'GPU 0: Synthetic'" if present else "exit 9")

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        self.calls_file.write_text("")
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "reproduce", *arguments], cwd=self.folder, env=environment, capture_output=True,
                              text=True)

    def calls(self, beginning: str) -> list[str]:
        return [c for c in self.calls_file.read_text().splitlines() if c.startswith(beginning)]


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_with_a_gpu_it_runs_everything_and_builds_the_paper_from_that(project):
    project.gpu(True)
    before = files(project.committed)
    done = project.run("--compare", "other")
    assert done.returncode == 0, done.stdout + done.stderr
    configured = project.calls("cmake --preset release")
    assert configured and all(call.endswith("-DREDUCTIO_CCCL_RELEASES=all") for call in configured)
    runs = project.calls("reductio run")
    assert runs[0] == f"reductio run {' '.join(EXPERIMENTS)} --dry-run --json"
    assert runs[1:] == [f"reductio run {e} --out out/results" for e in EXPERIMENTS]
    count = len(EXPERIMENTS)
    assert re.findall(r"\] run: (.*)", done.stdout) == [f"{e} ({i} of {count})" for i, e in enumerate(EXPERIMENTS, 1)]
    assert f"about {len(EXPERIMENTS)}:00 left for this and the experiments behind it" in done.stdout
    assert project.calls("reductio probe") and project.calls("reductio models") == ["reductio models out/results/here"]
    printed = project.folder / "out" / "results" / "here" / "as-printed.csv"
    assert project.calls("as_printed") == ["as_printed out/results/here"] and printed.exists()
    assert not re.search("code as printed .*left out", done.stdout)
    assert all(f"left out: {tool}.py: no such tool here" in done.stdout for tool in ("ncu", "compiler"))
    assert "python paper/make.py --results out/results/here --cpu-results out/results/here-cpu --out out" \
        in project.calls("python paper/make.py")
    assert (project.folder / "out" / "paper.pdf").exists()
    assert "all from this machine, out/results/here and out/results/here-cpu" in done.stdout
    assert files(project.committed) == before

    out = project.folder / "out"
    assert done.stdout.endswith((out / "summary.txt").read_text())
    index = (out / "index.md").read_text()
    assert index.startswith("# Figures and tables\n# Beside them\n") and index.count("# Beside them") == 1
    assert [n for n in ("paper.pdf", "results", "summary.txt", "compare-other.txt", "kernels", "counts.csv") if f"\n- `{n}`: " not in index] == []


def test_what_is_done_is_not_done_again_but_by_another_gpu_or_of_other_files(project):
    project.gpu(True)
    programs = project.folder / "build" / "bin"
    project.command(programs / "vector_add", '[[ ! -e $1/vector_add.csv ]] && echo rows >"$1"/vector_add.csv')
    assert project.run().returncode == 0
    out = project.folder / "out"
    tables = out / "results" / "here" / "as-printed.csv", out / "results" / "here-cpu" / "vector_add.csv"
    made = [table.read_text() for table in tables]
    page = out / "report.html"
    assert page.read_text() == "page\n" and "`report.html`: " in (out / "index.md").read_text()
    assert len(project.calls("python -m mkdocs build --strict")) == 1 and "`site`: " in (out / "index.md").read_text()
    assert {"README.md", "docs", "report.html"} <= set((out / "site" / "index.html").read_text().split())
    page.write_text("kept\n")
    shutil.rmtree(out / "figures")
    again = project.run()
    assert again.returncode == 0 and len(project.calls("reductio run")) == 1  # the estimate
    assert not project.calls("python tools/gallery.py") and not project.calls("python experiments/counts.py")
    assert "left for this" not in again.stdout
    assert (out / "figures").is_dir() and page.read_text() == "kept\n"
    assert project.calls("python -m mkdocs")  # its page of results is another
    for name in ("as_printed", "vector_add"):
        project.command(programs / name, f'echo half >"$1"/{name}.csv; echo "{name}: no more" >&2; exit 1')
    project.command("nvidia-smi", "echo 'GPU 0: Another'")
    with (project.folder.parent / "measured" / "machine.json").open("a") as file:
        file.write("\n")
    other = project.run()
    assert other.returncode == 0 and page.read_text() == "page\n" and [table.read_text() for table in tables] == made
    assert all(f"older rows stay: {name}: no more" in other.stdout for name in ("as_printed", "vector_add"))
    assert not (out / "older-vector_add").exists()
    assert "reductio verify --device cuda --tier gpu" in project.calls("reductio verify")
    assert len(project.calls("reductio run")) == 1 + len(EXPERIMENTS)


def test_a_named_machine_is_not_measured_and_compared_with_another(project):
    before = files(project.committed)
    done = project.run("--machine", "other", "--compare", "nvidia-h200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.calls("cmake") == [] and project.calls("reductio") == [
        "reductio summarize --check experiments/results/nvidia-h200 experiments/results/other experiments/results/some-cpu "
        "--cpu-results experiments/results/some-cpu"]
    assert project.calls("python paper/make.py") == [
        "python paper/make.py --results experiments/results/other --cpu-results experiments/results/some-cpu --out out"]
    assert "Nothing was measured. The paper, out/paper.pdf: from the committed results of other" in done.stdout
    assert files(project.committed) == before
    out = project.folder / "out"
    text = (out / "compare-nvidia-h200.txt").read_text()
    assert text.startswith("_there: nvidia-h200\n")
    assert re.search("^ *T2 +claim +16777216 .* reversed +[\\d.]+ +holds +[\\d.]+$", text, re.M)
    assert done.stdout.endswith(text) and "at 2^28: both decide " in text


def test_committed_results_that_do_not_follow_from_their_samples_stop_it(project):
    program = project.folder / "build" / "bin" / "reductio"
    project.command(program, "echo 'contrasts.csv: S2 n=1048576: value is 2.96, the samples give 1.86'; exit 1")
    done = project.run("--machine", "other")
    assert done.returncode == 1 and "S2 n=1048576: value is 2.96" in done.stdout + done.stderr
    assert not (project.folder / "out" / "paper.pdf").exists()
    program.unlink()
    done = project.run("--machine", "other")
    assert done.returncode == 0 and "left out: no program is built here" in done.stdout


def test_without_a_gpu_the_paper_is_of_committed_results(project):
    done = project.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.calls("reductio run") == ["reductio run cpu --dry-run --json", "reductio run cpu --out out/results"]
    assert "python paper/make.py --results experiments/results/nvidia-h200 --cpu-results experiments/results/some-cpu --out out" \
        in project.calls("python paper/make.py")
    assert "which has no GPU, but from the committed results of nvidia-h200" in done.stdout


@pytest.mark.parametrize("arguments, message", [
    (["--machine", "frob"], "no results of a machine 'frob' are committed; known: nvidia-h200 other some-cpu"),
    (["--machine"], "--machine needs the name of a machine; known: nvidia-h200 other some-cpu"),
    (["--machine", "../results/other"], "no results of a machine '../results/other'"),
    (["--compare", "frob"], "no results of a machine 'frob' are committed"),
    (["--compare", "other"], "there is no GPU here")])
def test_bad_input_is_one_line_before_anything_is_done(project, arguments, message):
    done = project.run(*arguments)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""
    assert not (project.folder / "out").exists() and not project.calls("apt-get")
