"""first_minute with README as it is, and with a program and a cmake that are played."""

import csv
import os
import re
import shutil
import subprocess

import pytest
from project import SOURCE

SHOWN = re.findall(r"^```\n\$ .*\n\$ .*\n((?:.*\n)*?)```", (SOURCE / "README.md").read_text(), re.MULTILINE)[0]


@pytest.fixture
def first_minute(tmp_path):
    """Given what the program says of README's source."""
    project = tmp_path / "project"
    for file in ("README.md", "experiments/first_minute"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / file, project / file)
    (project / "experiments" / "results").mkdir()
    commands = tmp_path / "bin"
    commands.mkdir()

    def play(path, body):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run(said):
        play(commands / "cmake", "sleep 0.1")
        play(project / "build" / "sim-only" / "bin" / "simulate", f"grep -q __managed__ sum.cu || exit 1; cat >&2 <<'END'\n{said}END\nexit 2")
        for words in (["init"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-m", "x"]):
            subprocess.run(["git", *words, "-q"] if words[-1] != "-A" else ["git", *words], cwd=project, check=True)
        done = subprocess.run([project / "experiments" / "first_minute"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"})
        table = project / "experiments" / "results" / "first-minute.csv"
        return done, list(csv.DictReader(table.open())) if table.exists() else None

    return run


def test_it_times_what_readme_shows(first_minute):
    done, rows = first_minute("before\n" + SHOWN + "reductio: 1 finding in 8 runs\n")
    assert done.returncode == 0, done.stderr
    assert [row["step"] for row in rows] == ["clone", "build", "race"]
    assert float(rows[1]["seconds"]) >= 0.2 and all(float(row["seconds"]) >= 0 for row in rows)  # two calls of cmake
    assert all(int(row["cores"]) >= 1 and row["cpu"] and re.fullmatch("[0-9a-f]{40}", row["revision"]) for row in rows)


def test_it_writes_nothing_where_the_program_says_something_else(first_minute):
    done, rows = first_minute(SHOWN.replace("race", "rice"))
    assert done.returncode == 1 and rows is None
    assert "does not say what README shows" in done.stderr.splitlines()[-1] and "rice" in done.stderr
