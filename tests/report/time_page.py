#!/usr/bin/env python3
"""How long the page takes to its first view, and to answer a change of the selection, in headless Chromium.

    .venv/bin/python tests/report/time_page.py out/report.html
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import browser  # noqa: E402

CHANGES = (("element_type", "f64"), ("element_type", "f32"), ("timing_mode", "end_to_end"), ("timing_mode", "device"),
           ("experiment", "tuned"), ("experiment", "comparison"), ("value", "time"), ("value", "speedup"))
TIMES = 5


def main() -> None:
    page = browser.Page(browser.start(Path(tempfile.mkdtemp())))
    path = Path(sys.argv[1]).resolve()

    def first_view() -> float:
        page.open(path)
        return page.js("return performance.getEntriesByName('ready')[0].startTime")

    def change(name: str, word: str) -> float:
        """Until the browser has laid out what it shows."""
        return page.js("const s = document.querySelector(`select[name=${arguments[0]}]`), start = performance.now();"
                       "s.value = arguments[1]; s.dispatchEvent(new Event('change'));"
                       "document.body.getBoundingClientRect(); return performance.now() - start", name, word)

    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, milliseconds of {TIMES} times")
    views = [first_view() for _ in range(TIMES)]
    print(f"first view: median {statistics.median(views):.0f}, longest {max(views):.0f}")
    taken = {step: [] for step in CHANGES}
    for _ in range(TIMES):
        for step in CHANGES:
            taken[step].append(change(*step))
    for (name, word), times in taken.items():
        print(f"{name} to {word}: median {statistics.median(times):.0f}, longest {max(times):.0f}")
    page.driver.quit()


if __name__ == "__main__":
    main()
