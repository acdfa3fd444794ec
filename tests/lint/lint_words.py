"""Text uses the words of CONTRIBUTING's glossary, not what stood for them before."""

import pathlib
import re

from source import files

INSTEAD = {
    r"paper[ -](peak|bandwidth)": "theoretical peak",
    r"speed / CUB|CUB's speed": "speedup over CUB",
    r"\blaws? (fits?|misses|does not fit)\b": "model",
    r"\b(let(ting)? )?(the )?memory rest(s|ed|ing)?\b|\brestless\b": "wait until memory is idle",
    r"\bclock'?s? ticks?\b|\bticks? of (the|a|its) clock": "resolution",
    r"\bCSV cells?\b|\bempty cells?\b": "field",
}


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for path in files(root, "*.md", "*.tex", "*.py"):
        relative = path.relative_to(root)
        if relative.parts[0] == "tests":
            continue  # they quote the program's messages
        text = path.read_text(errors="replace")
        for pattern, word in INSTEAD.items():
            for match in re.finditer(pattern.replace(" ", r"\s+"), text, re.IGNORECASE):
                found.append(f"{relative}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match.group().split())}: "
                             f"the glossary's word is '{word}'")
    return found


PLANTED = [{"docs/a.md": text} for text in (
    "52 % of the paper peak\n", "| speed / CUB's |\n", "where the law does\nnot fit\n", "until the memory rests\n",
    "no narrower than a tick of the clock\n", "an empty cell\n")] + [{"paper/text/a.py": '"half of CUB\'s speed"\n'}]
CLEAN = [{"docs/a.md": "the theoretical peak, a speedup over CUB, the rest of the memory, a clock's resolution, an empty field\n"},
         {"paper/a.py": "axes.tick_params()\n"}]
