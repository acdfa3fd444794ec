#!/usr/bin/env python3
"""Whether `reductio compare` finds planted slowdowns, process by process: planted.csv in a results folder.

    experiments/planted.py FOLDER [--reductio PATH] [--gpu INDEX|UUID] [--cases NAME,...] [--processes N] [--controls N]

Each process is one `reductio compare ... --plant VARIANT=SHARE`. The cases `live` compare two different kernels, one
slowed by 1 % of the call with its spin, at one size each; the case `baseline` compares a kernel that is slowed by 5 %
with itself in a baseline that another process saved. That one baseline is shared by all processes of its case, controls
too: they are not independent, and say nothing of how often another baseline would do so. Beside them are processes that
plant nothing, the controls: a planted slowdown of two kernels is found where the whole interval lies below the
controls' ratio by more than the effect, whatever the two take without it. A control in which a slowdown is found is a
false alarm; a case with more than one in 20 is missed. Needs a GPU, nothing but Python, and with all cases some
twenty minutes.

Columns: case, process, n, effect (that counts), planted (share of the time), planted_s, verdict, ratio (of the base's
time to the other's), ci_low, ci_high, seconds (of the whole process), exit_code, run_id, machine_id, git_revision,
reason (of an empty verdict). Exit code: 0 all processes gave a verdict, 1 some did not.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ["case", "process", "n", "effect", "planted", "planted_s", "verdict", "ratio", "ci_low", "ci_high", "seconds",
           "exit_code", "run_id", "machine_id", "git_revision", "reason"]
IN_JSON = {"planted_s": "planted_s", "verdict": "verdict", "ratio": "ratio", "ci_low": "ratio_low",
           "ci_high": "ratio_high", "reason": "reason"}
HANGS_S = 600  # so long takes only what hangs
FALSE_ALARMS = 0.05  # of the controls, at most


@dataclass(frozen=True)
class Case:
    name: str
    sizes: tuple[int, ...]
    planted: float
    effect: float
    processes: int
    found: int                    # of `processes`, what is demanded
    limit_s: float | None = None  # that a process may take
    timeout_s: float = 1          # of sampling, for each point: `--timeout`
    samples: int = 4000           # most of each point
    allocations: int | None = None  # that samples are spread over, if not as many as usual: `--allocations`
    baseline: bool = False


# Up to 2^20 the ratio differs by 1 to 1.5 % from context to context on an H200, however many samples each has. Over 24,
# 1 % was found in 5 and 8 of 10 processes.
CASES = (Case("live-2^16", (2**16,), 0.01, 0.003, 10, 9, limit_s=30, timeout_s=3, samples=16000,
              allocations=96),
         Case("live-2^20", (2**20,), 0.01, 0.003, 10, 9, limit_s=30, timeout_s=3, samples=16000,
              allocations=96),
         Case("live-2^24", (2**24,), 0.01, 0.003, 10, 9, limit_s=10, timeout_s=1),
         Case("baseline", (2**12, 2**16, 2**20, 2**24, 2**28), 0.05, 0.01, 20, 18, baseline=True))


class Refused(Exception):
    """Nothing can be measured here, with the reason in one line."""


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it does not say why"


def compare(reductio: str, arguments: list[str]) -> tuple[int, float, str, str]:
    """Exit code, seconds of the whole process, stdout and stderr."""
    start = time.monotonic()
    try:
        done = subprocess.run([reductio, "compare", *arguments], capture_output=True, text=True, timeout=HANGS_S,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        return 124, time.monotonic() - start, "", f"no end within {HANGS_S} s"
    except OSError as error:
        raise Refused(f"{reductio} cannot be run: {error.strerror}; name the program by --reductio") from error
    return done.returncode, time.monotonic() - start, done.stdout, done.stderr


def rows_of(case: Case, process: int, planted: float, outcome: tuple[int, float, str, str]) -> list[dict[str, object]]:
    """A row for each size."""
    code, seconds, out, err = outcome
    common = {"case": case.name, "process": process, "effect": case.effect, "planted": planted,
              "seconds": f"{seconds:.2f}", "exit_code": code}
    try:
        told = json.loads(out) if code == 0 else None
        run = told["origins"][-1]["runs"][0] if told else {}
        by_n = {int(r["n"]): {column: "" if r[of] is None else r[of] for column, of in IN_JSON.items()}
                for r in told["rows"]} if told else {}
    except (ValueError, LookupError, TypeError):
        run, by_n, err = {}, {}, "the program's --json has another form"
    rows = []
    for n in case.sizes:
        values = by_n.get(n) or {"reason": last_line(err)}
        if values.get("verdict"):
            values["reason"] = ""
        rows.append(dict.fromkeys(COLUMNS, "") | common | {"n": n} | values |
                    {c: run.get(c) or "" for c in ("run_id", "machine_id", "git_revision")})
    return rows


def processes(case: Case, reductio: str, options: argparse.Namespace) -> Iterator[list[dict[str, object]]]:
    """The rows of one process after the other: slowed ones, and the controls spread evenly over them."""
    device = [*(["--gpu", options.gpu] if options.gpu else []), "--device", options.device]
    common = ["--effect", str(case.effect), "--sizes", ",".join(map(str, case.sizes)), "--types", "f32", *device,
              "--timeout", str(case.timeout_s), "--max-samples", str(case.samples),
              *(["--allocations", str(case.allocations)] if case.allocations else [])]

    def plant(share: float) -> list[str]:
        return ["--plant", f"{options.variant}={100 * share:g}%"]

    with tempfile.TemporaryDirectory() as out:
        named = [options.base, options.variant]
        if case.baseline:
            named = [options.variant]
            saved = compare(reductio, [*named, *common, *plant(0), "--save-baseline", "planted", "--out", out,
                                       "--quiet"])
            if saved[0] != 0:
                raise Refused(f"no baseline was saved: {last_line(saved[3])}")
            common += ["--baseline", "planted", "--out", out]
        number = 0
        slowed = options.processes or case.processes
        for i in range(slowed):
            controls = (i + 1) * options.controls // slowed - i * options.controls // slowed
            for share in (case.planted, *[0.0] * controls):
                number += 1
                yield rows_of(case, number, share, compare(reductio, [*named, *common, *plant(share), "--json"]))


def found(rows: list[dict], case: Case) -> tuple[list[dict], float | None]:
    """Of the rows of one size those in which a slowdown is found, and the controls' ratio. Beside a baseline it is
    found in those that are called slower, else in those whose interval lies below the ratio of the controls (of the
    others, where it is one itself) by more than the effect; with fewer than two controls there is no such ratio."""
    controls = [r for r in rows if float(r["planted"]) == 0 and r["ratio"] != ""]
    ratio = statistics.median(float(r["ratio"]) for r in controls) if controls else None
    if case.baseline:
        return [r for r in rows if r["verdict"] == "SLOWER"], ratio

    def below_controls(row: dict) -> bool:
        others = [float(r["ratio"]) for r in controls if r is not row]
        return (bool(others) and row["ci_high"] != ""
                and float(row["ci_high"]) < statistics.median(others) / (1 + case.effect))

    return [r for r in rows if below_controls(r)], ratio


def sentence(rows: list[dict], case: Case, n: int) -> str:
    """What came of one case at one size."""
    here = [r for r in rows if r["case"] == case.name and int(r["n"]) == n]
    slowed, controls = ([r for r in here if (float(r["planted"]) > 0) == is_slowed] for is_slowed in (True, False))
    where, ratio = found(here, case)
    count, alarms = (sum(r in where for r in of) for of in (slowed, controls))
    longest = max((float(r["seconds"]) for r in here), default=0)
    met = (count * case.processes >= case.found * len(slowed) and alarms <= FALSE_ALARMS * len(controls)
           and (case.limit_s is None or longest <= case.limit_s))
    enough = len(slowed) >= case.processes and len(controls) >= 2 and ratio is not None
    verdict = "open" if not enough else "met" if met else "missed"
    limit = "" if case.limit_s is None else f" of {case.limit_s:g} s"
    return (f"{verdict:>6}  {case.name} n=2^{n.bit_length() - 1}, {100 * case.planted:g} % planted: found in {count} "
            f"of {len(slowed)} processes, and in {alarms} of {len(controls)} without a planted slowdown"
            + ("" if ratio is None else f" (ratio {ratio:.4f})") + f"; a process took at most {longest:.1f} s{limit}"
            + ("; all beside one baseline, so not independent" if case.baseline else ""))


def tell(text: str) -> None:
    """A line of output at once, as long as somebody reads it: whoever stops, as `| head` does, stops no measuring."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def measure(cases: list[Case], options: argparse.Namespace) -> int:
    """Writes the rows as they come, beside planted.csv until all are there. How many processes gave no verdict."""
    options.folder.mkdir(parents=True, exist_ok=True)
    path, failed = options.folder / "planted.csv", 0
    others = []  # of an earlier run, of cases that are not measured now
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            others = [r for r in csv.DictReader(file) if r.get("case") not in {c.name for c in cases}]
    written = path.with_name("planted.csv.part")
    with written.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(others)
        for case in cases:
            all_rows = []
            for k, rows in enumerate(processes(case, options.reductio, options)):
                if k == 0 and not any(r["verdict"] for r in rows):
                    raise Refused(rows[0]["reason"])
                failed += not all(r["verdict"] for r in rows)
                writer.writerows(rows)
                file.flush()
                all_rows += rows
            for n in case.sizes:
                tell(sentence(all_rows, case, n))
    written.replace(path)
    return failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="planted.py", description=__doc__.splitlines()[0])
    parser.print_usage = lambda *_: None  # as paper/command_line.py, which need not lie beside this
    parser.add_argument("folder", type=Path, help="where planted.csv is written to")
    parser.add_argument("--reductio", default=str(ROOT / "build" / "bin" / "reductio"), help="the program")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu", "sim"])
    parser.add_argument("--gpu", help="which GPU, by index or UUID")
    parser.add_argument("--cases", default=",".join(c.name for c in CASES), help="of these: %(default)s")
    parser.add_argument("--processes", type=int, help="that plant a slowdown, in each case (default: 10, baseline 20)")
    parser.add_argument("--controls", type=int, default=5,
                        help="that plant nothing, in each case (default: %(default)s)")
    parser.add_argument("--base", default="cub/sum", help="the base of the cases `live` (default: %(default)s)")
    parser.add_argument("--variant", default="multiblock/last-block-warp",
                        help="which is slowed (default: %(default)s)")
    options = parser.parse_args(arguments)
    names = options.cases.split(",")
    unknown = [name for name in names if name not in {c.name for c in CASES}]
    try:
        if unknown:
            raise Refused(f"there is no case '{unknown[0]}': {', '.join(c.name for c in CASES)}")
        if options.processes is not None and options.processes < 1 or options.controls < 0:
            raise Refused("--processes takes a number from 1 on, --controls one from 0 on")
        if options.device == "sim":
            raise Refused("the simulated device keeps no time, so nothing planted can be found on it; run this on a "
                          "GPU")
        failed = measure([c for c in CASES if c.name in names], options)
    except Refused as error:
        print(f"planted.py: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"planted.py: error: {options.folder}/planted.csv cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    if failed:
        print(f"planted.py: {failed} process{'es' if failed > 1 else ''} gave no verdict: column reason of planted.csv",
              file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
