#!/usr/bin/env python3
"""Draws all figures and writes all tables and numbers of the paper from one results folder, and an index of them.

    python paper/make.py --results experiments/results/nvidia-h200 --out paper/generated

The CPU's baselines are in a results folder of their own: --cpu-results names it.

Reads CSV and JSON only. What the folder does not hold is not drawn, and said.
"""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from report.command_line import Parser, needed_by, one_line  # noqa: E402

with needed_by("make.py: error: it"):
    import claims
    from figures import ablation, cpu, frontier, gains, kernels, ladders, shapes, speedup, studies, tuned
    from report import results as rs, style, tables as tb
    from text import numbers, tables

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_RESULTS = ROOT / "experiments" / "results" / "nvidia-h200"
DEFAULT_OUT = ROOT / "paper" / "generated"

# Of each figure what draws it, and the files that it is drawn from, without the first of which there is none.
FIGURES = {"index": (gains.index, "contrasts.csv"), "ladders": (ladders.draw, "contrasts.csv"),
           "levels": (studies.levels, "contrasts.csv"), "grid": (studies.grid, "multiblock.csv"),
           "latency": (studies.latency, "contrasts.csv means.csv"), "ablation": (ablation.draw, "contrasts.csv"),
           "frontier": (frontier.draw, "frontier.csv frontier-python.csv"),
           "exact": (frontier.exact, "frontier.csv"), "peers": (gains.peers, "peers.csv"),
           "tuned": (tuned.draw, "tuned.csv machine.json"), "cpu": (cpu.draw, "cpu.csv"),
           "shapes": (shapes.draw, "shapes.csv shapes-python.csv machine.json"),
           "speedup": (speedup.draw, "comparison.csv catalog.csv machine.json")}
# What texts and tables are made of.
SOURCES = ("timing.csv", "models.csv", "contrasts.csv", "nvbench-agreement.csv", "repeat.csv.gz", "repeat-relative.csv.gz",
           "verdicts.csv", "goals.csv")


def shown(path: Path) -> str:
    """A path as the user would type it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def in_paper(kind: str) -> list[str]:
    """The names of the figures, or pictures of kernels, that the paper shows."""
    return re.findall(rf"\\generated{kind}\{{([\w-]*)\}}", (ROOT / "paper" / "main.tex").read_text(encoding="utf-8"))


def draw_all(results, out: Path) -> tuple[list[Path], list[str]]:
    """The files written, and what the index says of each figure. Prints one line for each figure, drawn or not."""
    for old in out.iterdir():  # of another results folder, perhaps; whatever else lies there stays
        if old.suffix in style.KINDS and (old.stem in FIGURES or old.name.startswith("kernel-")):
            old.unlink()
    written, entries = [], []
    for name in in_paper("figure"):
        draw, files = FIGURES[name]
        sources = [results.file(file) for file in files.split()]
        absent = [source.name for source in sources if not source.exists()]
        lacking = f"{shown(sources[0].parent)} has no {', '.join(absent) or 'such points'}"
        try:
            if not sources[0].exists():
                raise rs.Absent
            figure = draw(results)
        except rs.Absent:
            print(f"  {name}: not drawn, {lacking}")
            continue
        written += style.save(figure, out, name)
        print(f"  {name}: drawn" + (f"; {lacking}" if absent else ""))
        shows = " ".join(draw.__doc__.split()).partition(". ")[0]
        entries.append(f"| `figures/{name}` | {shows} | {', '.join(s.name for s in sources if s.exists())} |")
    for name in in_paper("picture"):
        if (path := kernels.draw(name, out)) is None:
            print(f"  {name}: not drawn, there is no rsvg-convert: install Debian's librsvg2-bin")
            continue
        written.append(path)
        entries.append(f"| `figures/{path.stem}` | A run of the kernel | docs/kernels/{name}.svg |")
    return written, entries


def contents(results, entries: list[str], tables: list[Path]) -> str:
    """index.md: which figures and tables there are, what they show, and of which folders."""
    where = " and ".join(f"`{shown(folder)}`" for folder in dict.fromkeys((results.folder, results.cpu_folder)))
    return "\n".join([
        "# Figures and tables", "", f"Made by `paper/make.py` from {where}.", "",
        "Each figure is there as `.pdf` and `.png`, in the paper's order.", "",
        "| file | shows | drawn from |", "| --- | --- | --- |", *entries, "",
        f"The paper's tables and numbers, for LaTeX: {', '.join(f'`tables/{path.name}`' for path in tables)}.", "", ""])


def read_results(folder: Path, cpu_folder: Path | None = None) -> rs.Results:
    """A folder with a comparison, a CPU's rows or both; cpu.csv comes from `cpu_folder` where one is named (the program
    gives CPUs their own folders). What the paper is made of is read now, so that a damaged file is told at once."""
    results = rs.Results(folder, cpu_folder)
    comparison, cpu = results.file("comparison.csv"), results.file("cpu.csv")
    if not comparison.exists() and not cpu.exists():
        raise rs.ResultsError(f"{folder} holds neither comparison.csv nor cpu.csv: run `reductio run comparison` or "
                              f"`reductio run cpu`, and name the folder that it writes to")
    if cpu_folder is not None and not cpu.exists():
        raise rs.ResultsError(f"{cpu} does not exist: run `reductio run cpu` first, or leave out --cpu-results")
    for part in ("machine", "catalog", "models", "beside"):
        getattr(results, part)
    results.machine_of("cpu.csv")
    claims.verdicts(results)
    for table in ("contrasts", "probes"):
        results.table(table)
    for experiment in ("comparison", "cpu", "limits", "timing"):
        results.experiment(experiment)
    return results


def make(results_folder: Path, out: Path, cpu_folder: Path | None = None) -> None:
    results = read_results(results_folder, cpu_folder)
    try:
        for folder in ("figures", "tables"):
            (out / folder).mkdir(parents=True, exist_ok=True)
        (out / "index.md").touch()
    except OSError as error:
        raise rs.ResultsError(f"{shown(out)} cannot be written ({error.strerror}): name another folder with --out")
    written, entries = draw_all(results, out / "figures")
    for source in SOURCES if results.comparison is not None else ():
        if not results.file(source).exists():
            print(f"  {shown(results_folder)} has no {source}: what needs it says \"not measured\" "
                  f"({tb.remedy(Path(source))})")
    texts = [*tables.write(results, out / "tables"), numbers.write(results, out / "tables")]
    (out / "index.md").write_text(contents(results, entries, texts), encoding="utf-8")
    print(f"{len([*written, *texts]) + 1} files in {shown(out)}, from {shown(results_folder)}")


@one_line("make.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS, metavar="DIR",
                        help=f"results folder to read (default: {shown(DEFAULT_RESULTS)})")
    parser.add_argument("--cpu-results", type=Path, metavar="DIR",
                        help="folder to read cpu.csv from (default: the same)")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, metavar="DIR",
                        help=f"folder to write to (default: {shown(DEFAULT_OUT)})")
    options = parser.parse_args(arguments)
    make(options.results, options.out, options.cpu_results)


if __name__ == "__main__":
    sys.exit(main())
