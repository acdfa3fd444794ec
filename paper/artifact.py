"""What it takes to reproduce a results folder: of each experiment its points, time and memory, as its CSV and
machine.json hold them. For docs/reproducing.md and the paper."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import results as rs

@dataclass(frozen=True)
class Cost:
    experiment: str
    points: int
    largest_input_bytes: float       # of those that were measured
    wall_s: float | None             # of all runs that the rows are of; None if one did not record it
    host_memory_bytes: float | None  # the most that any of these runs had resident; likewise


def costs(folder: Path) -> list[Cost]:
    """In the order of the files' names."""
    machine = rs.read_machine(folder / "machine.json", folder.resolve().name)
    runs = {run.get("run_id"): run for run in machine.get("runs", default=[])}
    found = []
    for path in rs.experiments_in(folder):
        points = rs.read_points(path)
        of = [runs.get(i, {}) for i in sorted(set(points["run_id"]))]
        wall = [(run.get("time_spent") or {}).get("wall_s") for run in of]
        memory = [run.get("peak_memory_bytes") for run in of]
        found.append(Cost(path.stem, len(points), float(points.loc[points["status"] == "ok", "bytes"].max()),
                          None if None in wall else sum(wall), None if None in memory else max(memory)))
    return found


def total_wall_s(found: list[Cost]) -> float | None:
    return None if any(c.wall_s is None for c in found) else sum(c.wall_s for c in found)


def size(number: float) -> str:
    """Of memory: "8 GiB", "64 MiB"."""
    unit, name = (2**30, "GiB") if number >= 2**30 else (2**20, "MiB")
    return f"{number / unit:.3g} {name}"


def markdown(folder: Path) -> str:
    """A table of the experiments, and what they take together."""
    machine, found = rs.read_machine(folder / "machine.json", folder.resolve().name), costs(folder)
    if not found:
        return ""
    remembered = any(c.host_memory_bytes is not None for c in found)

    def line(*fields: str) -> str:
        return "| " + " | ".join(fields if remembered else fields[:4]) + " |"

    def seconds(value: float | None) -> str:
        return "not recorded" if value is None else f"{value:,.0f} s"

    def memory(value: float | None) -> str:
        return "not recorded" if value is None else size(value)

    lines = [f"On one {machine.get('gpu.name', default=machine.name)}:", "",
             line("experiment", "points", "takes", "largest input", "host memory"),
             line("---", "--:", "--:", "--:", "--:")]
    lines += [line(f"`{c.experiment}`", f"{c.points:,}", seconds(c.wall_s), size(c.largest_input_bytes),
                   memory(c.host_memory_bytes)) for c in found]
    most = [c.host_memory_bytes for c in found]
    lines.append(line("together", f"{sum(c.points for c in found):,}", seconds(total_wall_s(found)),
                      size(max(c.largest_input_bytes for c in found)), memory(None if None in most else max(most))))
    return "\n".join(lines)
