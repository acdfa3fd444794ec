#!/usr/bin/env python3
"""Draws all figures and writes all tables and numbers of the paper from one results folder.

    python paper/make.py --results experiments/results/nvidia-h200 --out paper/generated

The CPU's baselines are in a results folder of their own: --cpu-results names it.

Reads CSV and JSON only. What the folder does not hold is not drawn, and said.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from command_line import Parser

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_RESULTS = ROOT / "experiments" / "results" / "nvidia-h200"
DEFAULT_OUT = ROOT / "paper" / "generated"
TYPES = ("f32", "i32", "f64")


def shown(path: Path) -> str:
    """A path as the user would type it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def make(results_folder: Path, out: Path, cpu_folder: Path | None = None, kinds=(".pdf", ".png")) -> list[Path]:
    """Everything, figures as these kinds of file; returns what was written. Prints one line for each figure, drawn or
    not."""
    import results as rs
    from figures import (ablation, accuracy, bars, blocks, clocks, cpu, decomposition, finish, granularity, grid,
                         ladders, latency, limits, speedup, style, throughput, tuned)
    from figures import claims as claims_figure
    from text import numbers, tables

    results = rs.read_results(results_folder, cpu_folder)
    verdicts = results.verdicts
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise rs.ResultsError(f"{shown(out)} cannot be written ({error.strerror}): name another folder with --out")

    # A figure of an earlier results folder must not stand beside this one's.
    plan = []  # name, what draws it, the files that it is drawn from
    comparison = [results_folder / "comparison.csv"]
    for element_type in TYPES:
        for mode in ("device", "end_to_end"):
            name = f"{mode.replace('_', '-')}-{element_type}"
            plan.append((f"throughput-{name}", partial(throughput.draw, results, element_type, mode), comparison))
            plan.append((f"bars-{name}", partial(bars.draw, results, element_type, mode), comparison))
        plan.append((f"speedup-{element_type}", partial(speedup.draw, results, element_type), comparison))
        plan.append((f"cpu-{element_type}", partial(cpu.draw, results, element_type), [results.cpu_folder / "cpu.csv"]))
    plan.append(("limits", partial(limits.draw, results), [results_folder / "limits.csv"]))
    for name, draw, files in (
            ("ladders", ladders.draw, "contrasts"), ("granularity", granularity.draw, "contrasts"),
            ("finish", finish.draw, "contrasts"), ("decomposition", decomposition.draw, "contrasts"),
            ("blocks", blocks.draw, "unrolling twopass"), ("grid", grid.draw, "multiblock"),
            ("latency", latency.draw, "contrasts"), ("ablation", ablation.draw, "contrasts"),
            ("clocks", clocks.draw, "probes"),
            ("accuracy", accuracy.draw, "accuracy"), ("claims", claims_figure.draw, "verdicts")):
        plan.append((name, partial(draw, results), [results_folder / f"{file}.csv" for file in files.split()]))
    plan.append(("tuned", partial(tuned.draw, results), [results_folder / "tuned.csv"]))
    written = []
    for name, draw, sources in plan:
        for suffix in style.KINDS:
            (out / (name + suffix)).unlink(missing_ok=True)
        absent = [source.name for source in sources if not rs.stored(source).exists()]
        figure = draw() if len(absent) < len(sources) else None
        lacking = f"{shown(sources[0].parent)} has no {', '.join(absent) or 'such points'}"
        if figure is None:
            print(f"  {name}: not drawn, {lacking}")
            continue
        written += style.save(figure, out, name, kinds)
        print(f"  {name}: drawn" + (f"; {lacking}" if absent else ""))
    for source in ("timing.csv", "models.csv", "contrasts.csv", "nvbench-agreement.csv", "repeat.csv.gz",
                   "repeat-relative.csv.gz"):
        if results.comparison is not None and not rs.stored(results_folder / source).exists():
            print(f"  {shown(results_folder)} has no {source}: what needs it says \"not measured\"")
    if verdicts is None:
        print(f"  {shown(results_folder)} has no verdicts.csv: the claims stand without verdicts; "
              f"make it with python paper/verdicts.py {shown(results_folder)}")
    if rs.stored(results_folder / "tuned.csv").exists() and not (results_folder / "goals.csv").exists():
        print(f"  {shown(results_folder)} has no goals.csv: nothing is said of tuned; make it with "
              f"python paper/goals.py {shown(results_folder)}")
    written += [*tables.write(results, out), numbers.write(numbers.Numbers(results), out)]
    print(f"{len(written)} files in {shown(out)}, from {shown(results_folder)}")
    return written


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS, metavar="DIR",
                        help=f"results folder to read (default: {shown(DEFAULT_RESULTS)})")
    parser.add_argument("--cpu-results", type=Path, metavar="DIR",
                        help="folder to read cpu.csv from (default: the same)")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, metavar="DIR",
                        help=f"folder to write to (default: {shown(DEFAULT_OUT)})")
    options = parser.parse_args(arguments)
    try:
        import results
        from figures import style  # noqa: F401  matplotlib
    except ModuleNotFoundError as error:
        if error.name not in ("matplotlib", "pandas", "numpy"):
            raise
        print(f"make.py: error: the Python package {error.name} is missing: pip install -r requirements.txt",
              file=sys.stderr)
        return 1
    try:
        make(options.results, options.out, options.cpu_results)
    except results.ResultsError as error:
        print(f"make.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
