"""Where the data come from: of each experiment its date, the revision of the program, and the card."""

from __future__ import annotations

from dataclasses import dataclass

import results as rs
import verdicts as vd
from results import Results
from text import latex
from text.findings import ABSENT

# What no experiment of the program wrote, and of which nobody recorded when and on which card.
BY_OTHERS = ("probes", "ncu", "compiler")
NOT_RECORDED = "date not recorded"
STUDIES = ("squares", "twopass", "unrolling", "levels", "multiblock")
# The experiments that each figure shows.
FIGURES = {"Ladders": STUDIES, "Claims": (), "Speedup": ("comparison",), "Granularity": ("levels",),
           "Finish": ("levels",), "Decomposition": ("levels",), "Grid": ("multiblock",), "Latency": ("latency",),
           "Limits": ("limits",), "Accuracy": ("accuracy",), "Blocks": ("unrolling", "twopass"), "Ablation": ("ablation",),
           "Tuned": ("tuned",), "Clocks": ("probes",)}


@dataclass(frozen=True)
class Origin:
    """One experiment's rows."""

    experiment: str
    dates: tuple[str, ...]  # "2026-11-22", of the rows; () where none is recorded
    runs: tuple[dict, ...]  # their records in machine.json


def origins(results: Results) -> list[Origin]:
    """Of each experiment in the folder, by date, and of the CPU's."""
    folder, found = vd.Folder(results.folder, results.cpu_folder), []
    names = [p.stem for p in rs.experiments_in(results.folder) if p.stem != "cpu"]
    for name in [*names, *(["cpu"] if results.cpu is not None else [])]:
        table = folder.experiment(name)
        machine = results.cpu_machine if name == "cpu" else results.machine
        ids = set(table["run_id"])
        runs = [r for r in machine.get("runs", default=[]) if r.get("run_id") in ids]
        found.append(Origin(name, tuple(sorted({str(t)[:10] for t in table["timestamp_utc"] if t})), tuple(runs)))
    return sorted(found, key=lambda o: (o.experiment == "cpu", min((str(r.get("started_utc")) for r in o.runs), default=""),
                                        o.dates))


def span(dates) -> str:
    """"2026-11-22" or "2026-11-22 to 2026-11-23"."""
    known = sorted(set(dates))
    return NOT_RECORDED if not known else known[0] if known[0] == known[-1] else f"{known[0]} to {known[-1]}"


def macros(results: Results) -> dict[str, str]:
    """When all of the data were taken, and what each figure shows."""
    dates = {o.experiment: o.dates for o in origins(results)}
    every = [d for of in dates.values() for d in of]
    judged_by = vd.experiments(vd.read_claims())
    return {"DataDate": span(every) if every else ABSENT,
            **{f"Date{figure}": span(d for e in names or judged_by for d in dates.get(e, ())) for figure, names in FIGURES.items()}}


def card(machine_id) -> str:
    """A card's identifier in short: what comes before its second hyphen."""
    return latex.escape("-".join(str(machine_id).split("-")[:2])) if machine_id else "not recorded"


def rows(results: Results) -> list[str]:
    """The table's lines, in the order in which the experiments were run; [] where machine.json records no runs."""
    lines = []
    for origin in origins(results):
        for run in origin.runs:
            started = str(run.get("started_utc") or "").replace("T", " ").removesuffix("Z")
            modified = {True: "yes", False: "no"}.get(run.get("git_dirty"), "not recorded")
            passes = (run.get("rules") or {}).get("allocations")
            lines.append(" & ".join([rf"\id{{{latex.escape(origin.experiment)}}}", started, latex.escape(str(run.get("git_revision"))[:8]),
                                     modified, card(run.get("machine_id")), str(passes or "---")]) + r" \\")
    if lines:
        lines += [rf"\id{{{name}.csv}} & \multicolumn{{5}}{{l}}{{date and card not recorded}} \\" for name in BY_OTHERS
                  if (results.folder / f"{name}.csv").exists()]
    return lines


HEAD = r"experiment & started (UTC) & revision & modified & card & passes \\"
CAPTION = (r"Where the data come from: of each experiment when it was started, the revision of the program, whether its sources "
           r"were modified, the card, and in how many passes its points were sampled.")
