"""tools/: the count of tests that ./check ends with, and how packages are set up."""

import os
import re
import runpy
import shutil
import subprocess
import sys

import pytest
from project import SOURCE

import unread

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


SCRIPTS = sorted(str(p.relative_to(SOURCE)) for part in ("paper", "tools", "experiments", "baselines/nvbench")
                 for p in (SOURCE / part).glob("*.py")
                 if ".parse_args(" in p.read_text() and p.name != "command_line.py")


def test_scripts_are_found_and_read_their_command_line_by_one_parser():
    alone = {"experiments/ncu.py"}  # which src/report need not lie beside
    assert {"paper/make.py", "tools/summary.py", "baselines/nvbench/agree.py", *alone} <= set(SCRIPTS)
    assert {s for s in SCRIPTS if "import Parser" not in (SOURCE / s).read_text()} == alone


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_in_one_line_what_it_does_not_know_and_tells_its_usage_when_asked(script, capsys, monkeypatch):
    name = script.split("/")[-1]
    monkeypatch.setattr(sys, "path", [str((SOURCE / script).parent), *sys.path])

    def said(argument: str):
        monkeypatch.setattr(sys, "argv", [str(SOURCE / script), argument])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SOURCE / script), run_name="__main__")
        return ended.value.code, capsys.readouterr()

    code, wrong = said("--nonsense")
    assert code == 2 and wrong.err.startswith(f"{name}: error: ") and wrong.err.count("\n") == 1
    code, usage = said("--help")
    assert not code and usage.out.startswith(f"usage: {name} ")


def test_whoever_reads_no_further_has_seen_enough_but_a_full_disk_is_an_error():
    command = [TOOLS / "summary.py", "--help"]
    done = unread.run(*command, at_once=False)
    assert (done.returncode, done.stderr) == (0, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, *command], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode != 0 and "No space left on device" in done.stderr


@pytest.mark.parametrize("failed_outside, inside, expected, names", [
    (False, PYTEST.format(more=""), "3 2 3", ["b", "d"]),
    (True, PYTEST.format(more='<testcase name="s"><failure/></testcase>'), "3 3 3", ["b", "d", "python.x: s"]),
    (True, PYTEST.format(more=""), "1 3 2", ["b", "d", "python.x"]),  # failed, though no test in it did
    (True, None, "1 3 2", ["b", "d", "python.x"])])                   # failed before it wrote anything
def test_tally(tmp_path, failed_outside, inside, expected, names):
    status, outcome = ("fail", "<failure/>") if failed_outside else ("run", "")
    (tmp_path / "junit.xml").write_text(CTEST.format(status=status, outcome=outcome))
    if inside:
        (tmp_path / "python.x.xml").write_text(inside)
    printed = subprocess.run([sys.executable, TOOLS / "tally.py", tmp_path], capture_output=True, text=True, check=True)
    assert printed.stdout == expected + "\n"
    assert printed.stderr.splitlines() == [f"        FAILED {name}" for name in names]


@pytest.fixture
def packages(tmp_path):
    """Runs packages() of tools/steps.sh with apt-get, sudo and id played by scripts."""
    shutil.copytree(TOOLS, tmp_path / "tools")
    commands = tmp_path / "commands"
    commands.mkdir()

    def play(name, body):
        (commands / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (commands / name).chmod(0o755)

    play("sudo", "exit 1")
    play("id", "echo 1000")
    play("sleep", 'echo "$*" >>slept')

    def run(*entries, root=False, sudo=False, apt_get=""):
        play("apt-get", f'echo "$*" >>apt-calls\n{apt_get}')
        if root:
            play("id", "echo 0")
        if sudo:
            play("sudo", '[[ $1 != -n ]] || shift\n"$@"')
        words = " ".join(f"'{entry}'" for entry in entries)
        done = subprocess.run(["bash", "-c", f'source tools/steps.sh && packages {words}; echo "$? $did"'],
                              env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}, cwd=tmp_path,
                              capture_output=True, text=True)
        calls = tmp_path / "apt-calls"
        return done, calls.read_text().splitlines() if calls.exists() else []

    return run


@pytest.mark.parametrize("entries, rights, did, last_call", [
    (["one: true", "two: command -v bash"], {}, "0 reused", []),
    (["there: true", "first: false", "second: false"], {}, "1 ", []),
    (["there: true", "first: false"], {"root": True}, "0 installed: first", ["install -y --no-install-recommends first"]),
    (["there: true", "first: false"], {"sudo": True}, "0 installed: first", ["install -y --no-install-recommends first"])])
def test_what_is_missing_is_installed_or_without_rights_told_in_one_line(packages, entries, rights, did, last_call):
    done, calls = packages(*entries, **rights)
    assert done.stdout.startswith(did) and calls[-1:] == last_call
    assert ("  sudo apt-get install -y first second\n" in done.stderr) == (did == "1 ")


LOCKED = """echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt)
N: Be aware that removing the lock file is not a solution and may break your system.
E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?" >&2; exit 100"""


@pytest.mark.parametrize("held, why, code, tries", [("update", LOCKED, "0", 4), ("install", LOCKED, "0", 4),
                                                    ("", LOCKED, "100", 60), ("", "echo 'E: no package x' >&2; exit 100", "100", 1)])
def test_it_waits_two_minutes_while_another_program_holds_apts_lock(packages, held, why, code, tries):
    busy = f'[[ $1 != {held} ]] || (($(grep -c "^$1" apt-calls) > 3)) || {{ {why}; }}' if held else why
    done, calls = packages("first: false", root=True, apt_get=busy)
    assert done.stdout.splitlines()[-1].startswith(code + " ") and len(calls) == tries + (code == "0")
    assert done.stdout.count("another program holds apt's lock; waiting up to two minutes for it\n") == (tries > 1)
    assert ("another program still holds apt's lock; let it end, then start this again" in done.stderr) == (tries == 60)


@pytest.mark.parametrize("script", ["check", "reproduce"])
def test_the_commands_explain_themselves_and_reject_what_they_do_not_know(script):
    path = SOURCE / script
    assert "Usage: ./" + script in subprocess.run(["bash", path, "--help"], capture_output=True, text=True).stdout
    wrong = subprocess.run(["bash", path, "--frobnicate"], capture_output=True, text=True)
    assert wrong.returncode == 1 and wrong.stderr.count("\n") == 1 and "--help" in wrong.stderr


def test_libraries_that_are_missing_and_cannot_be_downloaded_are_one_line_that_names_debians_packages(tmp_path):
    if not shutil.which("cmake") or not shutil.which("ninja"):
        pytest.skip("no cmake and ninja here")
    absent = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("fmt", "Boost")]
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", SOURCE, "-B", tmp_path, "-DREDUCTIO_CUDA=OFF", "-DREDUCTIO_TESTS=OFF", *absent],
                          env={**os.environ, "https_proxy": "http://127.0.0.1:9"}, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"^ +reductio: libraries are missing and cannot be downloaded \(.+\): on Debian and Ubuntu, apt-get "
                     r"install libfmt-dev (\S+ )*libboost-context-dev; or ./check --quick, which installs all that is "
                     r"needed$", done.stderr, re.MULTILINE), done.stderr


def test_tests_that_sanitizers_skip_say_so_as_cmake_finds_it():
    """Others would run nowhere: tests/CMakeLists.txt takes files that say it into the release build."""
    text = (SOURCE / "tests" / "CMakeLists.txt").read_text()
    assert text.count('"LEFT_TO_RELEASE_BUILDS|ifndef REDUCTIO_SANITIZED"') == 1
    skips = re.compile(r"sanitized\b[^\n]*\bGTEST_SKIP|!defined\(REDUCTIO_SANITIZED")
    assert skips.search('if (sanitized && x) GTEST_SKIP() << "y";') and skips.search("#if !defined(REDUCTIO_SANITIZED)")
    for path in (SOURCE / "tests").rglob("*.cpp"):
        assert not skips.search(path.read_text()), path


def test_shell_scripts_pass_shellcheck():
    if not shutil.which("shellcheck"):
        pytest.skip("no shellcheck here")
    scripts = [p for p in subprocess.run(["grep", "-rlI", "--exclude-dir=.git", "--exclude-dir=build",
                                          "--exclude-dir=out", "--exclude-dir=.venv",
                                          "^#!.*bash\\|^# shellcheck shell=bash", "."],
                                         text=True, cwd=SOURCE, capture_output=True).stdout.split()
               if not p.endswith((".py", ".md", ".cpp"))]
    assert len(scripts) >= 5
    done = subprocess.run(["shellcheck", "-x", *scripts], cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
