"""Counts the tests of one ctest run: `tally.py build/Testing` prints "passed failed skipped", and on stderr the names of
those that failed.

Reads ctest's junit.xml. A test of ctest's that runs several, by pytest or GoogleTest, has written NAME.xml beside it,
and counts as the tests in there.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml


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


def count(cases) -> dict[str, int]:
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        counts[outcome(case)] += 1
    return counts


def tally(folder: pathlib.Path) -> tuple[dict[str, int], list[str]]:
    """The counts, and the names of what failed."""
    total, failed = {"passed": 0, "failed": 0, "skipped": 0}, []
    for case in xml.parse(folder / "junit.xml").iter("testcase"):
        counts, names = count([case]), [case.get("name")]
        inner = folder / f"{case.get('name')}.xml"
        if inner.exists():
            cases = list(xml.parse(inner).iter("testcase"))
            counts_inside = count(cases)
            # A run that failed without a failing test (a file that cannot be read, no test at all) stays a failure.
            if counts["failed"] <= counts_inside["failed"]:
                counts = counts_inside
                names = [f"{case.get('name')}: {one.get('name')}" for one in cases if outcome(one) == "failed"]
        if counts["failed"]:
            failed += names
        for key in total:
            total[key] += counts[key]
    return total, failed


if __name__ == "__main__":
    totals, failures = tally(pathlib.Path(sys.argv[1]))
    for name in failures:
        print(f"        FAILED {name}", file=sys.stderr)
    print(*totals.values())
