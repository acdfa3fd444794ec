r"""The numbers of the paper's sentences: asks what main.tex asks, and writes generated/numbers.tex.

    \ask{QUERY}        what a query of query.py gives: a number, words, or a contrast with its interval
    \ask[UNIT]{QUERY}  a number that is in UNIT: s, us, B, B/s, or percent of a share

What a folder lacks reads "not measured". What no folder could answer is an error that names the macro and its line.
"""

import math
import re
from pathlib import Path

import query
from contrasts import Contrast
from facts import PAPER, facts
from query import Mistake
from report import results as rs
from text import latex

SOURCE = Path(__file__).resolve().parents[1] / "main.tex"
ABSENT = r"\emph{not measured}"


def plain(value: float) -> str:
    return latex.count(round(value)) if value == round(value) and value >= 1 else latex.digits(value)


UNITS = {"": plain, "s": latex.time, "us": lambda us: latex.time(1e-6 * us), "B": latex.binary, "B/s": latex.bandwidth,
         "percent": latex.percent}


def shown(answer, unit: str = "") -> str:
    """An answer as LaTeX; Absent where a number is lacking."""
    if isinstance(answer, str):
        return latex.escape(answer)
    if isinstance(answer, Contrast):
        return latex.interval(*answer.interval)
    value = float(answer)
    if math.isnan(value):
        raise rs.Absent("no value")
    return ("$-$" if value < 0 else "") + UNITS[unit](abs(value))


def resolve(results: rs.Results, unit: str, asked: str) -> str:
    r"""What \ask stands for; Mistake where no results could answer, ResultsError where it fits several rows or asks
    for rows by a column that there is not. Another name that a file lacks reads as not measured."""
    if not asked:
        raise Mistake("it takes a query in braces, which has none itself")
    if unit not in UNITS:
        raise Mistake(f"[{unit}] is none of {', '.join(filter(None, UNITS))}")
    try:
        return shown(query.ask(results, asked), unit)
    except (SyntaxError, NameError, TypeError, AttributeError) as error:
        raise Mistake(error.args[0])
    except (LookupError, ValueError):  # of rows that a query takes for granted
        return ABSENT


def used(tex: str) -> list[tuple[int, str, str]]:
    r"""Line, unit and query of each \ask in a text; no query where it cannot be read."""
    body = re.sub(r"(?<!\\)%.*", "", tex)
    return [(body[:use.start()].count("\n") + 1, use[1] or "", re.sub(r"\s+", " ", use[2] or ""))
            for use in re.finditer(r"\\ask(?![A-Za-z])(?:(?:\[([^][]*)\])?\{([^{}]*)\})?", body)]


DEFINITIONS = r"""\makeatletter
\DeclareRobustCommand{\ask}[2][]{\@ifundefined{numbers:#1:#2}{\PackageError{numbers}{#2 is not in numbers.tex}{}}%
  {\csname numbers:#1:#2\endcsname}}
\makeatother"""


def note(results: rs.Results, described: str = "nvidia-h200") -> str:
    """What the first page says where the sentences may not be true of these results; "" where they are."""
    name = results.folder.resolve().name
    if name == described and not any(f.wrong(results=results) for f in facts() if f.page == PAPER):
        return ""
    return (rf"\begin{{quote}}\textbf{{The sentences describe the committed results of \id{{{described}}}; numbers, tables "
            rf"and figures are those of \id{{{latex.escape(name)}}}.}}\end{{quote}}")


def write(results: rs.Results, out: Path, source: Path = SOURCE) -> Path:
    """numbers.tex for a text; ResultsError names each query that is wrong."""
    lines, wrong = {}, []
    for line, unit, asked in used(source.read_text(encoding="utf-8")):
        key = f"numbers:{unit}:{asked}"
        try:
            if key not in lines:
                lines[key] = rf"\expandafter\def\csname {key}\endcsname{{{resolve(results, unit, asked)}}}"
        except (Mistake, rs.ResultsError) as mistake:
            wrong.append(rf"{source.name}:{line}: \ask{{{asked}}}: {mistake}")
    if wrong:
        raise rs.ResultsError("\n".join(wrong))
    path = out / "numbers.tex"
    note_macro = rf"\newcommand{{\resultsnote}}{{{note(results)}}}"
    path.write_text("\n".join([DEFINITIONS, note_macro, *sorted(lines.values())]) + "\n", encoding="utf-8")
    return path
