#!/usr/bin/env python3
"""What Nsight Compute counts in the kernels of `unroll` and in three trees of `levels`, as ncu.csv in a results folder.

    experiments/ncu.py FOLDER [--reductio PATH] [--ncu PATH] [--raw DIR] [--gpu INDEX|UUID]

Each kernel is called alone, `ncu ... reductio run comparison --profile`, in a process of its own: the program loads it
by a call that is not profiled, and profiles the next. ncu repeats the kernel until it has all counters, restores what
it overwrote in between, and begins each time with an empty cache; it leaves the clocks as they are
(--clock-control none).
Where ncu is absent or may not read the counters, ncu.csv has rows without values that say so, unless it holds values of
an earlier run. Needs nothing but Python.

Columns: run_id (added by `reductio record`), kernel, variant, settings, n, element_type, metric, value, unit (ncu's base units), reason (of an empty value).
Exit code: 0 all counted, 1 something was not, 77 skipped.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Each with what it is; nvprof's name for it, where the document `unroll` has one.
METRICS = {
    "gpu__time_duration.sum": "time",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct": "load efficiency (gld_efficiency)",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct": "store efficiency (gst_efficiency)",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM throughput, of its peak",
    "dram__bytes_read.sum.per_second": "DRAM read throughput (dram_read_throughput)",
    "dram__bytes_read.sum": "bytes read from DRAM",
    "dram__bytes_write.sum": "bytes written to DRAM",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "shared-memory bank conflicts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "of loads",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "of stores",
    "smsp__warps_active.avg.per_cycle_active": "resident warps of a scheduler",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "working threads of a warp, per instruction",
    "smsp__inst_executed.sum": "instructions executed, by warps",
    "smsp__thread_inst_executed.sum": "instructions executed, by threads",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": "stalls at barriers, cycles per instruction",
    "smsp__average_warp_latency_per_inst_issued.ratio": "all cycles per instruction: what that is a share of",
    "smsp__warp_issue_stalled_barrier_per_warp_active.pct": "stalls at barriers, share (stall_sync)",
    "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct": "stalls for global memory, share",
}

COLUMNS = ["kernel", "variant", "settings", "n", "element_type", "metric", "value", "unit", "reason"]
SKIPPED = 77


@dataclass(frozen=True)
class Case:
    variant: str
    element_type: str
    n: int
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join([self.variant.replace("/", "-"), self.element_type, str(self.n), *self.settings])


UNROLL = ("neighbored", "neighbored-less", "interleaved", "unroll2", "unroll4", "unroll8", "unroll8-warp",
          "unroll8-complete", "unroll8-template")
LEVELS = ("naive", "divergence-free", "completely-unrolled")
CASES = [*(Case(f"unroll/{name}", "i32", 2**24, ("finish=host",)) for name in UNROLL),
         Case("unroll/unroll8", "i32", 2**24, ("finish=host", "load=independent")),
         *(Case(f"levels/{name}", "f32", n, ("finish=atomic",)) for n in (2**20, 2**24) for name in LEVELS)]


class Skipped(Exception):
    """ncu is absent or cannot count here, with the reason in one line."""


class Failed(Exception):
    """One case gave no numbers, with the reason in one line."""


def find_ncu() -> str:
    places = [shutil.which("ncu"), "/usr/local/cuda/bin/ncu", *sorted(Path("/opt/nvidia").glob("nsight-compute/*/ncu"))]
    for place in places:
        if place and Path(place).exists():
            return str(place)
    raise Skipped("Nsight Compute is not installed here (no ncu on PATH or in /usr/local/cuda/bin)")


def csv_part(log: str) -> list[list[str]]:
    """Header, units and rows of `--csv --page raw`, without ncu's own lines (==PROF==) around them."""
    lines = [line for line in log.splitlines() if not line.startswith("==")]
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    return [] if start is None else [r for r in csv.reader(io.StringIO("\n".join(lines[start:]))) if r]


def number(text: str) -> str:
    """As ncu prints it, without separators of thousands; "" for what is none."""
    plain = text.replace(",", "").strip()
    return plain if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", plain) else ""


def counted(log: str, metrics: list[str]) -> tuple[str, dict[str, tuple[str, str, str]]]:
    """The first kernel's name, and of each metric (value, unit, reason)."""
    records = csv_part(log)
    if len(records) < 3:
        raise Failed(f"ncu profiled no kernel: {complaint(log) or 'it does not say why'}")
    header, units, row = records[:3]
    if not len(header) == len(units) == len(row):
        raise Failed(f"ncu's table is cut: {len(header)} names, {len(units)} units, {len(row)} values")
    at = {name: i for i, name in enumerate(header)}
    if "Kernel Name" not in at or row[at["ID"]] == "":
        raise Failed("ncu's table has another form: no 'Kernel Name', or no units below the names")
    out = {}
    for metric in metrics:
        if metric not in at:
            out[metric] = ("", "", "ncu has no such metric for this GPU")
        elif value := number(row[at[metric]]):
            out[metric] = (value, units[at[metric]], "")
        else:
            out[metric] = ("", "", f"ncu gives '{row[at[metric]]}'")
    return row[at["Kernel Name"]], out


def complaint(log: str) -> str:
    """What ncu says is wrong, in one line."""
    return "; ".join(re.findall(r"^==(?:ERROR|WARNING)== *(.*\S)", log, re.M))


def unknown_metrics(log: str, metrics: list[str]) -> set[str]:
    """Those that ncu complains about by name."""
    said = set(re.findall(r"\w+(?:\.\w+)+", complaint(log)))
    return said.intersection(metrics)


def told_settings(said: str, case: Case) -> str:
    """Of the first call, by the program's notes: 'reductio: note: VARIANT SETTINGS OPERATION TYPE n=N ...'."""
    call = rf"^reductio: note: {re.escape(case.variant)} (\S*) \S+ {case.element_type} n={case.n} "
    match = re.search(call, said, re.M)
    if not match:
        lines = said.strip().splitlines()
        raise Failed("reductio made no such call" + (f": {lines[-1]}" if lines else ""))
    return match.group(1)


def profile(case: Case, ncu: str, reductio: str, gpu: str, raw: Path | None) -> list[dict[str, str]]:
    """The case's rows."""
    missing: set[str] = set()
    while True:
        metrics = [m for m in METRICS if m not in missing]
        with tempfile.TemporaryDirectory() as folder:
            log_file = Path(folder) / "log"
            command = [ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw",
                       "--print-units", "base", "--metrics", ",".join(metrics), "--log-file", str(log_file),
                       reductio, "run", "comparison", "--variants", f"^{case.variant}$", "--types", case.element_type,
                       "--operations", "sum", "--sizes", str(case.n), "--profile"]
            for setting in case.settings:
                command += ["--set", setting]
            if gpu:
                command += ["--gpu", gpu]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            log = log_file.read_text(errors="replace") if log_file.exists() else ""
        if raw:
            (raw / f"{case.name}.txt").write_text(log + done.stdout + done.stderr)
        everything = log + done.stdout + done.stderr
        if "ERR_NVGPUCTRPERM" in everything:
            raise Skipped("ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM); an administrator must allow it")
        if not csv_part(log) and (new := unknown_metrics(everything, metrics)):
            missing |= new
            continue
        break
    if not csv_part(log) and done.returncode:
        lines = [line for line in everything.splitlines() if line.strip()]
        raise Failed(complaint(everything) or (lines[-1] if lines else f"ncu ended with exit code {done.returncode}"))
    kernel, values = counted(log, metrics)
    settings = told_settings(done.stderr + done.stdout, case)
    return [row(case, metric, *values.get(metric, ("", "", "ncu has no such metric for this GPU")), kernel=kernel,
                settings=settings) for metric in METRICS]


def row(case: Case, metric: str, value: str = "", unit: str = "", reason: str = "", kernel: str = "",
        settings: str | None = None) -> dict[str, str]:
    return {"kernel": kernel, "variant": case.variant,
            "settings": ";".join(case.settings) if settings is None else settings, "n": str(case.n),
            "element_type": case.element_type, "metric": metric, "value": value, "unit": unit, "reason": reason}


def has_values(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open(newline="") as file:
        return any(r.get("value") for r in csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]]) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def main(arguments: list[str]) -> int:
    try:
        return run(arguments)
    except OSError as error:
        print(f"ncu.py: {error.filename} cannot be written ({error.strerror}); name a folder that can", file=sys.stderr)
        return 1


def run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ncu.py", description="Counts by Nsight Compute, to ncu.csv in a results folder")
    parser.print_usage = lambda *_: None  # as report/command_line.py, which need not lie beside this
    parser.add_argument("folder", type=Path, help="the machine's results folder")
    parser.add_argument("--reductio", default=str(Path(__file__).resolve().parents[1] / "build" / "bin" / "reductio"))
    parser.add_argument("--ncu", default="", help="Nsight Compute's command line (default: looked for)")
    parser.add_argument("--raw", type=Path, help="also keep what ncu printed, in this folder")
    parser.add_argument("--gpu", default="", help="as in reductio --gpu")
    options = parser.parse_args(arguments)

    def say(text: str) -> None:
        print(f"ncu.py: {text}", file=sys.stderr)

    if not options.folder.is_dir():
        say(f"{options.folder} is no folder; name a machine's results folder, as reductio run makes them")
        return 1
    path = options.folder / "ncu.csv"
    rows: list[dict[str, str]] = []
    failed = 0
    try:
        ncu = options.ncu or find_ncu()
        if not shutil.which(ncu):
            raise Skipped(f"there is no {ncu}")
        if not shutil.which(options.reductio):
            say(f"no program at {options.reductio}; build it, or name it by --reductio")
            return 1
        if options.raw:
            options.raw.mkdir(parents=True, exist_ok=True)
        for case in CASES:
            try:
                rows += profile(case, ncu, options.reductio, options.gpu, options.raw)
            except Failed as why:
                failed += 1
                say(f"{case.name}: {why}")
                rows += [row(case, metric, reason=str(why)) for metric in METRICS]
    except Skipped as why:
        if not has_values(path):
            write(path, [row(case, metric, reason=str(why)) for case in CASES for metric in METRICS])
        say(f"skipped: {why}")
        return SKIPPED
    write(path, rows)
    recording = subprocess.run([options.reductio, "record", path, *(["--gpu", options.gpu] if options.gpu else [])],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if recording.returncode:
        say(f"{path} is not in machine.json: {recording.stderr.strip()}")
    values = sum(1 for r in rows if r["value"])
    print(f"{values} of {len(rows)} values in {path}, {failed} of {len(CASES)} kernels without any")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
