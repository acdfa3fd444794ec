"""What hand-written sentences say about the measurements: facts.txt holds each to the committed CSV.

    [docs/results.md]

    takes <607> us at 2^30
        us("cub/sum", 2**30)

The words stand in the page, white space aside. A number in <...> is typed there without these marks; the query below
gives the value of each, in order, and they have to agree as far as the typed digits go. A query of words without marks
gives True, or what holds instead. `[PAGE of MACHINE]` asks another results folder than the H200's; query.py says what a
query may be. A sentence that leaves out no case ("at every size", "never") and has no marks is asked of all committed
folders that have such data, unless its query begins with `here:`. tests/paper/test_facts.py asks all.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import contrasts
from query import ask, folders
from report import results as rs

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".txt")
PAPER = "paper/main.tex"
MARK = re.compile(r"<(-?[\d,]*\.?\d+)>")
# What a sentence says of all cases. A folder with a case that is otherwise must not be left out.
OF_ALL = re.compile(r"\b(all|always|any|both|each|every|never|neither|no|none|nowhere)\b", re.I)
HERE = "here: "  # before the query of a sentence that names its machine, or is of one folder's runs


@dataclass(frozen=True)
class Fact:
    page: str
    words: str
    query: str
    machine: str = "nvidia-h200"

    @property
    def sentence(self) -> str:
        return " ".join(MARK.sub(r"\1", self.words).split())

    @property
    def of_all(self) -> bool:
        """Whether every committed folder is asked, as the sentence has no number and leaves out no case."""
        return bool(OF_ALL.search(self.sentence)) and not MARK.search(self.words) and not self.query.startswith(HERE)

    def wrong(self, root: Path = ROOT, results: rs.Results | None = None) -> str:
        """What is wrong with it, in one line; "" if it is true: of the committed results, or of another folder's."""
        says = f'{self.page} says "{self.sentence}"'
        if self.sentence not in text_of(root / self.page):
            return f"{says} no longer: drop its fact, or mend its words"
        committed = root / "experiments" / "results"
        try:
            if why := self.unlike(results or rs.opened(committed / self.machine)):
                return says + why
        except (LookupError, OSError, ValueError, rs.ResultsError) as error:
            return f"{says}: not in the data: {error.args[0]}"
        for other in folders(committed) if self.of_all and results is None else ():
            with suppress(LookupError, rs.ResultsError):  # it holds nothing that is asked
                if other.folder.name != self.machine and (why := self.unlike(other)):
                    return f"{says}{why} in {other.folder.name}: say of which machine it is, or mend it"
        return ""

    def unlike(self, folder: rs.Results) -> str:
        """How a folder's data differ."""
        answer = ask(folder, self.query.removeprefix(HERE))
        typed = MARK.findall(self.words)
        if not typed:
            return "" if isinstance(answer, (bool, np.bool_)) and answer else f"; by the data it is {answer}"
        if isinstance(answer, contrasts.Contrast):  # with its interval, if the sentence has one
            answer = (answer.value, answer.low, answer.high)[:len(typed)]
        values = [float(v) for v in (answer if isinstance(answer, (tuple, list)) else (answer,))]
        same = len(values) == len(typed) and all(map(agrees, typed, values))
        return "" if same else f"; by the data: {', '.join(f'{v:.6g}' for v in values)}"


def agrees(typed: str, value: float) -> bool:
    """Whether the value is the typed number, to the digits that are typed."""
    decimals = len(typed.partition(".")[2])
    return abs(float(typed.replace(",", "")) - value) <= 0.5 * 10**-decimals * (1 + 1e-6)


@cache
def text_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


@cache
def facts() -> list[Fact]:
    """Those of facts.txt: words begin a line, and the query below them is indented."""
    listed, page = [], ("", "nvidia-h200")
    for block in re.split(r"\n\s*\n", TABLE.read_text(encoding="utf-8").strip()):
        if head := re.fullmatch(r"\[(\S+?)(?: of (\S+))?\]", block):
            page = head[1], head[2] or "nvidia-h200"
            continue
        words, _, query = block.partition("\n    ")
        listed.append(Fact(page[0], words, " ".join(query.split()), page[1]))
    return listed
