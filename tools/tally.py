"""Counts the tests of one ctest run: `tally.py build/Testing` prints "passed failed skipped", and on stderr the names of
those that failed.

Reads ctest's junit.xml. A test of ctest's that runs several, by pytest or GoogleTest, has written NAME.xml beside it,
and counts as the tests in there.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml
from collections import Counter


def outcome(case: xml.Element) -> str:
    """One <testcase> of ctest or pytest: "passed", "failed" or "skipped"."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    # ctest also writes <skipped> for a test that it could not start, which is a failure.
    message = skipped.get("message", "")
    started = case.get("status") != "notrun" or message.startswith("SKIP_") or message == "Disabled"
    return "skipped" if started else "failed"


def tally(folder: pathlib.Path) -> tuple[Counter, list[str]]:
    """The counts by outcome, and the names of what failed."""
    total, failed = Counter(), []
    for case in xml.parse(folder / "junit.xml").iter("testcase"):
        name = case.get("name")
        outcomes, inner = [(name, outcome(case))], folder / f"{name}.xml"
        if inner.exists():
            inside = [(f"{name}: {test.get('name')}", outcome(test)) for test in xml.parse(inner).iter("testcase")]
            # A run that failed without a failing test (a file that cannot be read, no test at all) stays a failure.
            if outcomes[0][1] != "failed" or "failed" in (result for _, result in inside):
                outcomes = inside
        total.update(result for _, result in outcomes)
        failed += [test for test, result in outcomes if result == "failed"]
    return total, failed


if __name__ == "__main__":
    totals, failures = tally(pathlib.Path(sys.argv[1]))
    for name in failures:
        print(f"        FAILED {name}", file=sys.stderr)
    print(*(totals[result] for result in ("passed", "failed", "skipped")))
