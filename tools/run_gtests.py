"""Runs a share of a GoogleTest program's tests in one process: `run_gtests.py PROGRAM XML FILTER SHARE OF`.

Share I of N is every N-th test that FILTER selects, from the I-th on. A test that crashes or hangs is failed by its name,
and those behind it run in another process. XML is a JUnit report of every test of the share, whatever became of it. The
output of tests that pass is not shown.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as xml

HANGS_S = 1200  # so long takes only what hangs, whatever the machine
EVENT = re.compile(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:,| |$)")


def tests(program: str, selected: str) -> list[str]:
    """The names that GoogleTest lists for a filter and would run, in its order: DISABLED_ ones take minutes and gigabytes,
    and run only if asked for."""
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={selected}"], check=True, text=True,
                            capture_output=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name.strip()
    return [name for name in names if "DISABLED_" not in name]


def run(program: str, names: list[str], hangs_s: float = HANGS_S) -> tuple[dict[str, tuple[str, str]], str]:
    """Runs these tests in one process: what became of each that was begun, as (outcome, output), and what is wrong with
    the process if nothing is wrong with a test."""
    process = subprocess.Popen([program, "--gtest_color=no", "--gtest_filter=" + ":".join(names)], text=True,
                               errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL)
    outcomes, running, said, hung = {}, "", [], threading.Event()

    def stop():
        hung.set()
        process.kill()

    watchdog = threading.Timer(hangs_s, stop)
    watchdog.start()
    for line in process.stdout:
        event = EVENT.search(line)
        if event and event[1] != "RUN" and event[2] == running:
            said.append(line[:event.start()])
            outcomes[running] = ({"OK": "passed"}.get(event[1], event[1].lower()), "".join(said))
            running, said = "", []
        elif event and event[1] == "RUN":
            running, said = event[2], []
            watchdog.cancel()
            watchdog = threading.Timer(hangs_s, stop)
            watchdog.start()
        else:
            said.append(line)
    code = process.wait()
    watchdog.cancel()
    why = ("hung" if hung.is_set() else
           f"crashed ({signal.Signals(-code).name})" if code < 0 else f"ended the program with exit code {code}")
    if running:
        outcomes[running] = ("failed", "".join(said) + why + "\n")
    elif code != 0 and not any(outcome == "failed" for outcome, _ in outcomes.values()):
        return outcomes, "".join(said) + why + "\n"
    return outcomes, ""


def run_all(program: str, names: list[str], hangs_s: float = HANGS_S) -> dict[str, tuple[str, str]]:
    """What became of each of these tests."""
    found = {}
    while left := [name for name in names if name not in found]:
        outcomes, wrong = run(program, left, hangs_s)
        found |= outcomes
        if wrong or not outcomes:  # as a leak that is found behind the last test
            found[f"(process of {left[0]} and others)"] = ("failed", wrong or "ran none of its tests\n")
            if not outcomes:
                found |= {name: ("failed", "was not run\n") for name in left}
    return found


def main(program: str, report: str, selected: str, share: str, of: str) -> int:
    names = tests(program, selected)
    if not names:  # as where a suite was renamed: nothing that is tested must not look like nothing that failed
        print(f"FAILED no test of {program} matches {selected}\n0 passed, 1 failed, 0 skipped")
        return 1
    found = run_all(program, names[int(share)::int(of)])
    suite = xml.Element("testsuite")
    for name, (outcome, output) in found.items():
        case = xml.SubElement(suite, "testcase", name=name)
        if outcome != "passed":
            printable = re.sub(r"[^\t\n\x20-\ud7ff]", "?", output)
            xml.SubElement(case, {"failed": "failure"}.get(outcome, outcome), message=printable)
            print(f"{outcome.upper()} {name}\n{printable}", end="")
    os.makedirs(os.path.dirname(report), exist_ok=True)
    xml.ElementTree(suite).write(report)
    counts = [sum(outcome == kind for outcome, _ in found.values()) for kind in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
