#!/usr/bin/env python3
"""Counts of the simulated device, of all variants; where Nsight Compute is, beside its own: counts.csv in a folder.

    experiments/counts.py FOLDER [--variants REGEX] [--reductio PATH]                         without a GPU
    experiments/counts.py FOLDER --profile [--ncu PATH] [--gpu INDEX|UUID]                    beside Nsight Compute
    experiments/counts.py FOLDER --profile --save --log FILE, then --log FILE                 the same on two machines

Without a GPU every variant that runs simulated is called once, of N elements, with the launch that it has on a GPU
like --like. With --profile every kernel of a document, at three sizes and in each of i32, f32 and f64 that it takes, is
called once under ncu and once on the simulated device, with the same launch. Needs nothing but Python and reductio.

Columns: run_id (of --profile, added by `reductio record`), variant, settings, operation, element_type, n, counter,
simulated, profiled.
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
N = 2**16
# Each counter: the kind and the count of `reductio inspect`, and ncu's metric. Those of smsp__sass_ are counted by
# instruction, so that warps that collide change nothing. ncu has no requests of shared memory: its instructions count
# warps of which no lane loads, too.
COUNTERS = {
    "global load requests": ("global load", "requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    "global load sectors": ("global load", "sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    "global load bytes": ("global load", "bytes", None),
    "global store requests": ("global store", "requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
    "global store sectors": ("global store", "sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    "global atomics": ("global atomic", "threads", None),
    "shared load requests": ("shared load", "requests", None),
    "shared load wavefronts": ("shared load", "wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    "shared load conflicts": ("shared load", "conflicts",
                              "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    "shared store requests": ("shared store", "requests", None),
    "shared store wavefronts": ("shared store", "wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    "shared store conflicts": ("shared store", "conflicts",
                               "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    "block barriers": ("block barrier", "requests", None),
    "threads at block barriers": ("block barrier", "threads", None),
    "warp operations": ("warp operation", "requests", None),
}
METRICS = [metric for _, _, metric in COUNTERS.values() if metric]
COLUMNS = ["variant", "settings", "operation", "element_type", "n", "counter", "simulated", "profiled"]
SKIPPED = 77


def profiled_log(ncu: str, reductio: str, gpu: str, folder: Path) -> str:
    """What ncu and the program print, of all calls in one process. Metrics that this ncu lacks are left out."""
    log = folder / "counts.log"
    known = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True, errors="replace").stdout.split()
    metrics = [metric for metric in METRICS if metric.removesuffix(".sum") in known] or METRICS
    command = [ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw", "--print-units",
               "base", "--metrics", ",".join(metrics), "--log-file", str(log),
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
    return [{metric: float(number(row[header.index(metric)])) for metric in METRICS if metric in header} for row in rows
            if len(row) == len(header) and "store_word" not in row[header.index("Kernel Name")]]


def inspected(reductio: str, call: tuple[str, ...], like: str) -> dict:
    variant, settings, operation, element_type, n = call
    command = [reductio, "inspect", variant, "--n", n, "--types", element_type, "--operations", operation, "--json",
               "--like", like, *(["--set", settings.replace(";", ",")] if settings else [])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def simulated(call: dict, counter: str) -> int:
    kind, count, _ = COUNTERS[counter]
    return sum(kernel["totals"][kind][count] for kernel in call["kernels"])


def rows_of_all(reductio: str, like: str, variants: str):
    """Of each variant its standard launch, in f32 if it takes that; the longest chain of additions, too, of floats."""
    listed = subprocess.run([reductio, "list", "--csv", "--all", *(["--variants", variants] if variants else [])],
                            capture_output=True, text=True, check=True).stdout
    for variant in csv.DictReader(listed.splitlines()):
        operations = [o for o in variant["operations"].split(";") if not o.endswith("_sums")]
        if "sim" not in variant["devices"].split(";") or not operations:
            continue
        types = variant["element_types"].split(";")
        asked = (variant["variant"], "", operations[0], "f32" if "f32" in types else types[0], str(N))
        try:
            call = inspected(reductio, asked, like)
        except subprocess.CalledProcessError as failed:
            if " refuses this: " not in failed.stderr:
                raise
            print(f"counts.py: left out: {failed.stderr.strip().removeprefix('reductio: ')}", file=sys.stderr)
            continue
        counts = {counter: simulated(call, counter) for counter in COUNTERS} | {"longest chain": call["longest_chain"]}
        for counter, count in counts.items():
            if count is not None:
                yield dict(zip(COLUMNS, (asked[0], call["settings"], *asked[2:], counter, count, ""), strict=True))


def rows_beside_ncu(log: str, reductio: str, like: str):
    kernels = iter(kernels_in(log))
    known = {}  # one call may stand there once for each way of timing it
    for call in calls_in(log):
        is_new = call not in known
        here = known.setdefault(call, inspected(reductio, call, like) if is_new else None)
        profiled = [next(kernels) for _ in range(sum(kernel["launches"] for kernel in here["kernels"]))]
        if not is_new:
            continue
        for counter, (_, _, metric) in COUNTERS.items():
            if metric and all(metric in kernel for kernel in profiled):
                yield dict(zip(COLUMNS, (*call, counter, simulated(here, counter), int(sum(k[metric] for k in profiled))),
                               strict=True))
    if left := len(list(kernels)):
        raise SystemExit(f"counts.py: ncu profiled {left} kernels more than the calls have; is the program another one?")


def counted(options):
    if options.log and not options.save:
        return rows_beside_ncu(options.log.read_text(), options.reductio, options.like)
    log = profiled_log(options.ncu or find_ncu(), options.reductio, options.gpu, options.folder)
    if options.save:
        options.log.write_text(log)
        return []
    return rows_beside_ncu(log, options.reductio, options.like)


def main() -> int:
    parser = Parser(prog="counts.py", description="Counts of the simulated device beside ncu's")
    parser.add_argument("folder", type=Path, help="where counts.csv goes; of --profile the machine's results folder")
    parser.add_argument("--variants", default="", help="without --profile, those whose id matches (default: all)")
    parser.add_argument("--profile", action="store_true", help="beside Nsight Compute's counts")
    parser.add_argument("--reductio", default=str(ROOT / "build" / "bin" / "reductio"))
    parser.add_argument("--ncu", default="", help="Nsight Compute's command line (default: looked for)")
    parser.add_argument("--gpu", default="", help="as in reductio --gpu")
    parser.add_argument("--like", default="nvidia-h200", help="the GPU, as in reductio inspect --like")
    parser.add_argument("--log", type=Path, help="what ncu printed before; without it, ncu is run. With --save, where to")
    parser.add_argument("--save", action="store_true", help="run ncu and keep what it prints in --log")
    options = parser.parse_args()
    if options.log and not options.save and not options.log.is_file():
        print(f"counts.py: there is no {options.log}; --save runs ncu and keeps there what it prints", file=sys.stderr)
        return 1
    if not options.folder.is_dir():
        print(f"counts.py: {options.folder} is no folder; name a machine's results folder", file=sys.stderr)
        return 1
    try:
        rows = list(counted(options) if options.profile or options.log else
                    rows_of_all(options.reductio, options.like, options.variants))
    except Skipped as why:
        print(f"counts.py: skipped: {why}", file=sys.stderr)
        return SKIPPED
    except subprocess.CalledProcessError as failed:
        print(f"counts.py: {failed.stderr.strip()}", file=sys.stderr)
        return 1
    if options.save:
        return 0
    path = options.folder / "counts.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    if not (options.profile or options.log):
        print(f"{len(rows)} counts of {len({row['variant'] for row in rows})} variants; {path}")
        return 0 if rows else 1
    recording = subprocess.run([options.reductio, "record", path, *(["--gpu", options.gpu] if options.gpu else [])],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if recording.returncode:
        print(f"counts.py: {path} is not in machine.json: {recording.stderr.strip()}", file=sys.stderr)
    equal = sum(row["simulated"] == row["profiled"] for row in rows)
    print(f"{equal} of {len(rows)} counts are equal; {path}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
