"""Text and code use the words of CONTRIBUTING's glossary, not what stood for them before. Only words that never mean
anything else, so that none is reported where it is right: `visit`, `pass` or `ceiling` are left to readers."""

import pathlib
import re

import convert_results
from source import files

# Pattern, what to say instead, and what must be reported. A space stands for any white space, so for a new line too.
WORDS = [
    (r"paper[ -](peak|bandwidth)", "theoretical peak", "52 % of the paper peak"),
    (r"speed / CUB|CUB's speed", "speedup over CUB", "| speed / CUB's |"),
    (r"sampling budget", "time budget", "until the sampling\n/// budget is spent"),
    (r"as_?fast_?as_?ever\b", "SettleDetector", "class AsFastAsEver {"),
    (r"\b(let(s|ting)? )?(the )?memory rest(s|ed|ing)?\b|let_memory_rest|\brestless\b", "wait until memory is idle",
     "timer.let_memory_rest();"),
    (r"(?<!'s\s)\blaws?\b", "model, or distribution", "where the law does not fit"),
    (r"\bticks? of (a|the|its)( \w+)? clocks?\b|\b(clock|timer)'?s?'? ticks?\b", "resolution", "one tick of the clock"),
    (r"\bCSV cells?\b|\bempty cells?\b", "field", "an empty cell"),
    (r"\blopsided\b", "skewed", "of a lopsided distribution"),
    (r"\bthose that there are\b", "name them", "/// Those that there are."),
    (r"\bblocks? of rounds\b", "cluster", "the block of rounds on one allocation"),
]
# Columns and keys that have been renamed; one word alone, as `bounds`, means other things too.
RENAMED = {old: new for names in (convert_results.ROW_NAMES, convert_results.COMPARE_NAMES, convert_results.MACHINE_NAMES)
           for old, new in names.items() if "_" in old}
OLD_NAMES = [(rf"\b{old}\b", new, f'row["{old}"]') for old, new in RENAMED.items()]

HERE = pathlib.PurePosixPath("tests/lint/lint_words.py")
# What converts files of the old names, and its test.
CONVERTER = {pathlib.PurePosixPath("tools/convert_results.py"), pathlib.PurePosixPath("tests/tools/test_convert_results.py")}
RESULTS = pathlib.PurePosixPath("experiments/results")  # as they were measured
DATA = {".csv", ".gz", ".png", ".pdf", ".bib", ".json"}


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for path in files(root, "*"):
        relative = pathlib.PurePosixPath(path.relative_to(root).as_posix())
        if path.suffix in DATA or relative == HERE or relative.is_relative_to(RESULTS):
            continue
        text = path.read_text(errors="replace")
        for pattern, instead, _ in WORDS + (OLD_NAMES if relative not in CONVERTER else []):
            # In a comment the new line has its mark.
            for match in re.finditer(pattern.replace(" ", r"(?:\s+(?:(?://+|#)\s+)?)"), text, re.IGNORECASE):
                found.append(f"{relative}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match.group().split())}: "
                             f"the glossary's word is '{instead}'")
    return found


PLANTED = [{"src/core/a.h": example + "\n"} for _, _, example in WORDS + OLD_NAMES] + [
    {"docs/a.md": "where the law does\nnot fit\n"}, {"docs/a.md": "until the memory\nrests\n"},
    {"docs/a.md": "no narrower than a tick of the clock\n"}, {"paper/text/a.py": '"half of CUB\'s speed"\n'},
    {"paper/main.tex": "of the memory's paper\npeak\n"}, {"experiments/cli/a.cpp": "// ticks of its own\n// clock\n"}]
CLEAN = [{"docs/a.md": "the theoretical peak, a speedup over CUB, the rest of the memory, a clock's resolution, an empty "
                       "field, Amdahl's law, a flawed claw, a block of threads\n"},
         {"paper/a.py": "axes.tick_params()\n"},
         {"tools/convert_results.py": '{"timer_tick_s": "timer_resolution_s"}\n'},
         {"experiments/results/h200/notes.md": "speed / CUB's\n"}]
