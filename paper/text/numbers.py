"""The numbers of the paper's sentences: finds the macros that main.tex uses, and writes generated/numbers.tex.

    \\ratio{NAME}  \\ratio[N]{NAME}     a contrast of contrasts.json with its interval, at its first size or at N
    \\gain{NAME}                       the same without the interval
    \\seconds{NAME}                   a contrast of one point: its time or cycles
    \\mean{NAME}  \\mean[percent]{NAME}  a median or mean of means.csv
    \\cell[HOW]{FILE}{WHERE}{COLUMN}   a number of a CSV file, of the one row that WHERE leaves; HOW: min, max or sum of
                                      several, and percent of a share: \\cell[min,percent]{...}
    \\rows{FILE}{WHERE}                how many rows; \\rows[COLUMN]{FILE}{WHERE}, how many values of a column
    \\share{FILE}{WHERE}{MORE}         the percentage of the rows of WHERE that MORE leaves
    \\record{FILE}{PATH}               of machine.json and the like: \\record{machine}{gpu.name}
    \\ask{QUERY}  \\ask[percent]{QUERY}  what a query of query.py gives: a number, or with [us] one in microseconds
    \\dates{FILES}                     the first and the last day on which experiments were measured; * are all

query.py finds rows, and says what WHERE may be. FILE stands for FILE.csv or FILE.csv.gz; cpu and cpu-machine are read
from the CPU's folder. What a folder lacks reads "not measured". What no folder could have is an error that names the
macro and its line.
"""

import re
from pathlib import Path

import contrasts
import query
from facts import PAPER, facts
from query import Mistake, size_of
from report import results as rs
from text import latex

SOURCE = Path(__file__).resolve().parents[1] / "main.tex"
ABSENT = r"\emph{not measured}"
ARGUMENTS = {"ratio": 1, "gain": 1, "seconds": 1, "mean": 1, "cell": 3, "rows": 2, "share": 3, "record": 2, "dates": 1,
             "ask": 1}


class Numbers:
    """What the macros stand for in a results folder, and the CPU's."""

    def __init__(self, results: rs.Results):
        self.results = results

    def contrast(self, which: str, name: str, is_time: bool = False) -> contrasts.Contrast:
        if (asked := contrasts.asked().get(name)) is None:
            raise Mistake(f"contrasts.json has no {name}")
        if (len(asked.points) == 1) != is_time:
            raise Mistake(f"{name} is a {'ratio' if is_time else 'time'}")
        candidates = contrasts.measured(self.results).get(name, [])
        for word in filter(None, which.split(",")):
            size = None if word in rs.ELEMENT_BYTES else size_of(word)
            if size and asked.group["n"] != "all" and size not in asked.group["n"]:
                raise Mistake(f"{name} has no size {word}")
            candidates = [c for c in candidates if c.element_type == word or c.n == size]
        if len({c.element_type for c in candidates}) > 1:
            raise Mistake(f"{name} is of several types: name one")
        if not candidates or not candidates[0].known:
            raise rs.Absent(name)
        return candidates[0]

    def ratio(self, which: str, name: str) -> str:
        c = self.contrast(which, name)
        return latex.interval(c.value, c.low, c.high)

    def gain(self, which: str, name: str) -> str:
        return latex.digits(self.contrast(which, name).value)

    def seconds(self, which: str, name: str) -> str:
        value = self.contrast(which, name, is_time=True).value
        cycles = contrasts.asked()[name].group["timing_mode"] == "clock"
        return latex.count(round(value)) + " cycles" if cycles else latex.time(value)

    def mean(self, how: str, name: str) -> str:
        line = query.in_means(self.results, name)
        return shown(line["column"], line["value"], line["unit"], how)

    def cell(self, how: str, file: str, where: str, column: str) -> str:
        take = how.removesuffix("percent").rstrip(",")
        return shown(column, *query.cell(self.results, file, where, column, take), how)

    def rows(self, column: str, file: str, where: str) -> str:
        rows = query.where(self.results, file, where)
        return latex.count(rows[column].nunique() if column else len(rows))

    def share(self, _: str, file: str, where: str, more: str) -> str:
        return latex.percent(query.share(self.results, file, where, more))

    def record(self, _: str, file: str, path: str) -> str:
        of_cpu = file == "cpu-machine"
        machine = self.results.machine_of("cpu.csv") if of_cpu else rs.Machine(file, query.record(self.results, file))
        if (value := machine.get(path)) is None:
            raise rs.Absent(path)
        return latex.escape(value) if isinstance(value, str) else shown(path, value)

    def ask(self, how: str, asked: str) -> str:
        try:
            value = float(query.ask(self.results, asked))
        except NameError as unknown:
            raise Mistake(unknown.args[0])
        return latex.time(1e-6 * value) if how == "us" else shown("", value, how=how)

    def dates(self, _: str, files: str) -> str:
        days = {t[:10] for name in rs.experiments_in(self.results.folder) if files == "*" or name in re.split(r",\s*", files)
                for t in self.results.rows(name)["timestamp_utc"] if t}
        if not days:
            raise rs.Absent(files)
        return " to ".join(dict.fromkeys((min(days), max(days))))

    def resolve(self, name: str, option: str, arguments: list[str]) -> str:
        """As LaTeX; Mistake where no results could have it."""
        try:
            return getattr(self, name)(option, *arguments)
        except rs.Absent:
            return ABSENT
        except (LookupError, ValueError, rs.ResultsError):  # of rows or of another folder, which a query takes for granted
            if name == "ask":
                return ABSENT
            raise


def shown(column: str, value: float, unit: str = "", how: str = "") -> str:
    """A number in the unit that its column's name or the row's own unit says, or as a percentage."""
    if column.endswith("bytes_per_s"):
        return latex.bandwidth(value)
    if how.endswith("percent") or column.endswith("_s") or unit == "ns":
        size = abs(value) * (1e-9 if unit == "ns" else 1)
        return ("$-$" if value < 0 else "") + (latex.percent if how.endswith("percent") else latex.time)(size)
    if column.endswith("bytes"):
        return latex.binary(value)
    number = latex.count(round(value)) if value == round(value) and abs(value) >= 1 else latex.digits(value)
    return number + (r"\,\%" if unit == "%" else "")


def used(tex: str) -> list[tuple[int, str, str, list[str] | None]]:
    """Line, macro, option and arguments of each macro in a text; no arguments where they cannot be read."""
    body = re.sub(r"(?<!\\)%.*", "", tex)
    uses = []
    for start in re.finditer(rf"\\({'|'.join(ARGUMENTS)})(?![A-Za-z])", body):
        given = re.compile(r"(?:\[([^][]*)\])?" + r"\{([^{}]*)\}" * ARGUMENTS[start[1]]).match(body, start.end())
        option, *arguments = ([re.sub(r"\s+", " ", a or "") for a in given.groups()] if given else [""])
        uses.append((body[:start.start()].count("\n") + 1, start[1], option, arguments if given else None))
    return uses


DEFINITIONS = r"""\makeatletter
\newcommand{\numbers@of}[1]{\@ifundefined{numbers:#1}{\PackageError{numbers}{#1 is not in numbers.tex}{}}%
  {\csname numbers:#1\endcsname}}
""" + "".join(rf"\DeclareRobustCommand{{\{name}}}[{1 + count}][]{{\numbers@of{{{name}:" +
              ":".join(f"#{k}" for k in range(1, count + 2)) + "}}\n" for name, count in ARGUMENTS.items())
DEFINITIONS += r"\makeatother"


def note(results: rs.Results, described: str = "nvidia-h200") -> str:
    """What the first page says where the sentences may not be true of these results; "" where they are."""
    name = results.folder.resolve().name
    if name == described and not any(f.wrong(results=results) for f in facts() if f.page == PAPER):
        return ""
    return (rf"\begin{{quote}}\textbf{{The sentences describe the committed results of \id{{{described}}}; numbers, tables "
            rf"and figures are those of \id{{{latex.escape(name)}}}.}}\end{{quote}}")


def write(numbers: Numbers, out: Path, source: Path = SOURCE) -> Path:
    """numbers.tex for a text; ResultsError names each macro that is wrong."""
    lines, wrong = {}, []
    for line, name, option, arguments in used(source.read_text(encoding="utf-8")):
        try:
            if arguments is None:
                raise Mistake(f"it takes {ARGUMENTS[name]} arguments in braces")
            key = ":".join([name, option, *arguments])
            lines.setdefault(key, rf"\expandafter\def\csname numbers:{key}\endcsname{{"
                             + numbers.resolve(name, option, arguments) + "}")
        except Mistake as mistake:
            wrong.append(f"{source.name}:{line}: \\{name}{''.join(f'{{{a}}}' for a in arguments or [])}: {mistake}")
    if wrong:
        raise rs.ResultsError("\n".join(wrong))
    path = out / "numbers.tex"
    note_macro = rf"\newcommand{{\resultsnote}}{{{note(numbers.results)}}}"
    path.write_text("\n".join([DEFINITIONS, note_macro, *sorted(lines.values())]) + "\n", encoding="utf-8")
    return path
