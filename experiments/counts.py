#!/usr/bin/env python3
"""How well the simulated device's counts agree with Nsight Compute's, as counts.csv in a results folder.

    experiments/counts.py FOLDER [--reductio PATH] [--ncu PATH] [--gpu INDEX|UUID] [--log FILE]

Every kernel of a document, at three sizes and in each of i32, f32 and f64 that it takes, is called once under ncu and
once on the simulated device, with the same launch. Needs nothing but Python, and a program with both.

Columns: run_id (added by `reductio record`), variant, settings, operation, element_type, n, counter, simulated, profiled.
Exit code: 0 all counted, 1 something was not, 77 skipped: no ncu, or it may not read the counters.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from ncu import Skipped, csv_part, find_ncu, number  # noqa: E402
from report.command_line import Parser  # noqa: E402

SIZES = ("2^14", "2^17", "2^20")
TYPES = ("i32", "f32", "f64")
GROUPS = ("squares", "twopass", "unroll", "levels", "multiblock")
# Each counter: ncu's metric; the kind and the count of `reductio inspect`.
COUNTERS = {
    "global load requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "global load", "requests"),
    "global load sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "global load", "sectors"),
    "global store requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "global store", "requests"),
    "global store sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "global store", "sectors"),
    "shared load wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "shared load", "wavefronts"),
    "shared store wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "shared store", "wavefronts"),
}
COLUMNS = ["variant", "settings", "operation", "element_type", "n", "counter", "simulated", "profiled"]
SKIPPED = 77


def profiled_log(ncu: str, reductio: str, gpu: str, folder: Path) -> str:
    """What ncu and the program print, of all calls in one process."""
    log = folder / "counts.log"
    command = [ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw", "--print-units",
               "base", "--metrics", ",".join(metric for metric, _, _ in COUNTERS.values()), "--log-file", str(log),
               reductio, "run", "comparison", "--variants", f"^({'|'.join(GROUPS)})/", "--types", ",".join(TYPES),
               "--sizes", ",".join(SIZES), "--profile", *(["--gpu", gpu] if gpu else [])]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    text = (log.read_text(errors="replace") if log.exists() else "") + "\n" + done.stdout + done.stderr
    log.unlink(missing_ok=True)
    if "ERR_NVGPUCTRPERM" in text:
        raise Skipped("ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM); an administrator must allow it")
    return text


def calls_in(log: str) -> list[tuple[str, ...]]:
    """(variant, settings, operation, type, n) of the calls, in order."""
    return re.findall(r"^reductio: note: (\S+) (\S*) (\S+) (\S+) n=(\d+) ", log, re.M)


def kernels_in(log: str) -> list[dict[str, float]]:
    """Without the harness's own, around each call."""
    header, _units, *rows = csv_part(log)
    return [{metric: float(number(row[header.index(metric)])) for metric, _, _ in COUNTERS.values()} for row in rows
            if len(row) == len(header) and "store_word" not in row[header.index("Kernel Name")]]


def inspected(reductio: str, call: tuple[str, ...], like: str) -> list[dict]:
    variant, settings, operation, element_type, n = call
    command = [reductio, "inspect", variant, "--n", n, "--types", element_type, "--operations", operation, "--json",
               "--like", like, *(["--set", settings.replace(";", ",")] if settings else [])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["kernels"]


def rows_of(log: str, reductio: str, like: str):
    kernels = iter(kernels_in(log))
    known = {}  # one call may stand there once for each way of timing it
    for call in calls_in(log):
        is_new = call not in known
        here = known.setdefault(call, inspected(reductio, call, like) if is_new else None)
        profiled = [next(kernels) for _ in range(sum(kernel["launches"] for kernel in here))]
        if not is_new:
            continue
        for counter, (metric, kind, count) in COUNTERS.items():
            simulated = sum(kernel["totals"][kind][count] for kernel in here)
            yield dict(zip(COLUMNS, (*call, counter, simulated, int(sum(kernel[metric] for kernel in profiled))), strict=True))
    if left := len(list(kernels)):
        raise SystemExit(f"counts.py: ncu profiled {left} kernels more than the calls have; is the program another one?")


def main() -> int:
    parser = Parser(prog="counts.py", description="Counts of the simulated device beside ncu's")
    parser.add_argument("folder", type=Path, help="the machine's results folder")
    parser.add_argument("--reductio", default=str(ROOT / "build" / "bin" / "reductio"))
    parser.add_argument("--ncu", default="", help="Nsight Compute's command line (default: looked for)")
    parser.add_argument("--gpu", default="", help="as in reductio --gpu")
    parser.add_argument("--like", default="nvidia-h200", help="the GPU, as in reductio inspect --like")
    parser.add_argument("--log", type=Path, help="what ncu printed before; without it, ncu is run. With --save, where to")
    parser.add_argument("--save", action="store_true", help="run ncu and keep what it prints in --log")
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"counts.py: {options.folder} is no folder; name a machine's results folder", file=sys.stderr)
        return 1
    try:
        if options.log and not options.save:
            log = options.log.read_text()
        else:
            log = profiled_log(options.ncu or find_ncu(), options.reductio, options.gpu, options.folder)
            if options.save:
                options.log.write_text(log)
                return 0
    except Skipped as why:
        print(f"counts.py: skipped: {why}", file=sys.stderr)
        return SKIPPED
    rows = list(rows_of(log, options.reductio, options.like))
    path = options.folder / "counts.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    recording = subprocess.run([options.reductio, "record", path, *(["--gpu", options.gpu] if options.gpu else [])],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if recording.returncode:
        print(f"counts.py: {path} is not in machine.json: {recording.stderr.strip()}", file=sys.stderr)
    equal = sum(row["simulated"] == row["profiled"] for row in rows)
    print(f"{equal} of {len(rows)} counts are equal; {path}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
