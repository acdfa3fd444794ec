"""tools/: the count of tests that ./check ends with, and how packages are set up."""

import os
import shutil
import subprocess

import pytest
from project import SOURCE

import tally

TOOLS = SOURCE / "tools"

CTEST = """<?xml version="1.0"?><testsuite tests="6">
<testcase name="a" status="run"/>
<testcase name="b" status="fail"><failure message=""/></testcase>
<testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>
<testcase name="d" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="e" status="disabled"><skipped message="Disabled"/></testcase>
<testcase name="python.x" status="{status}">{outcome}</testcase></testsuite>"""
PYTEST = """<testsuites><testsuite><testcase name="p"/><testcase name="q"/>
<testcase name="r"><skipped message="no GPU"/></testcase>{more}</testsuite></testsuites>"""


@pytest.mark.parametrize("failed_outside, inside, expected", [
    (False, PYTEST.format(more=""), dict(passed=3, failed=2, skipped=3)),
    (True, PYTEST.format(more='<testcase name="s"><failure/></testcase>'), dict(passed=3, failed=3, skipped=3)),
    (True, PYTEST.format(more=""), dict(passed=1, failed=3, skipped=2)),  # failed, though no test in it did
    (True, None, dict(passed=1, failed=3, skipped=2)),                    # failed before it wrote anything
])
def test_tally(tmp_path, failed_outside, inside, expected):
    status, outcome = ("fail", "<failure/>") if failed_outside else ("run", "")
    (tmp_path / "junit.xml").write_text(CTEST.format(status=status, outcome=outcome))
    if inside:
        (tmp_path / "python.x.xml").write_text(inside)
    assert tally.tally(tmp_path) == expected


@pytest.fixture
def packages(tmp_path):
    """Runs packages() of tools/steps.sh with apt-get, sudo and id played by scripts."""
    shutil.copytree(TOOLS, tmp_path / "tools")
    commands = tmp_path / "commands"
    commands.mkdir()

    def play(name, body):
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (commands / name).chmod(0o755)

    play("apt-get", 'echo "$*" >>apt-calls')
    play("sudo", "exit 1")
    play("id", "echo 1000")

    def run(*entries, root=False, sudo=False):
        if root:
            play("id", "echo 0")
        if sudo:
            play("sudo", '[[ $1 != -n ]] || shift\n"$@"')
        words = " ".join(f"'{entry}'" for entry in entries)
        done = subprocess.run(["bash", "-c", f'source tools/steps.sh && packages {words}; echo "$? $did"'], cwd=tmp_path,
                              env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}, capture_output=True, text=True)
        calls = tmp_path / "apt-calls"
        return done, calls.read_text().splitlines() if calls.exists() else []

    return run


def test_nothing_is_installed_where_all_is_there(packages):
    done, calls = packages("one: true", "two: command -v bash")
    assert done.stdout.startswith("0 reused") and calls == []


def test_without_rights_it_prints_the_one_line_to_run(packages):
    done, calls = packages("there: true", "first: false", "second: false")
    assert done.stdout.startswith("1 ") and calls == []
    assert "  sudo apt-get install -y first second\n" in done.stderr


@pytest.mark.parametrize("rights", [{"root": True}, {"sudo": True}])
def test_with_rights_it_installs_what_is_missing_alone(packages, rights):
    done, calls = packages("there: true", "first: false", **rights)
    assert done.stdout.startswith("0 installed: first") and calls[0] == "update" and calls[-1].endswith(" first")


@pytest.mark.parametrize("script", ["check", "reproduce"])
def test_the_commands_explain_themselves_and_reject_what_they_do_not_know(script):
    path = SOURCE / script
    assert "Usage: ./" + script in subprocess.run(["bash", path, "--help"], capture_output=True, text=True).stdout
    wrong = subprocess.run(["bash", path, "--frobnicate"], capture_output=True, text=True)
    assert wrong.returncode == 1 and wrong.stderr.count("\n") == 1 and "--help" in wrong.stderr


def test_shell_scripts_pass_shellcheck():
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    scripts = [p for p in subprocess.run(["grep", "-rlI", "--exclude-dir=.git", "--exclude-dir=build", "--exclude-dir=out",
                                          "--exclude-dir=.venv", "^#!.*bash\\|^# shellcheck shell=bash", "."], text=True,
                                         cwd=SOURCE, capture_output=True).stdout.split()
               if not p.endswith((".py", ".md", ".cpp"))]
    assert len(scripts) >= 5
    done = subprocess.run(["shellcheck", "-x", *scripts], cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
