#!/usr/bin/env python3
"""What `reductio simulate` finds in peers' suites of faulty CUDA programs: a table in results/suites/ for each suite.

    experiments/suites.py SUITE FOLDER [--commit C] [--reductio PATH] [--jobs 2] [--filter REGEX] [--graphs REGEX]
                          [--orders forward] [--again REGEX] [--out FILE]

FOLDER holds the suite, which is not committed here:
  indigo     https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24: graph algorithms in which faults were planted
  barracuda  https://github.com/stilltracy/Barracuda-tests: small programs, with the options of its own scripts
  samples    https://github.com/NVIDIA/cuda-samples: programs without a fault that need no library, as small as they go

Columns:
  program, input   the source in the suite; its arguments, options, or constants that are smaller than in the suite
  planted          what the suite says is wrong, in its words; empty: nothing
  kind, found      kinds of what was found, and at how many places; of the planted kind if there is one, else the first:
  line, message    its line, and what is said of it; of a refusal the compiler's or simulate's message
  seconds          CPU time of the call. A program is compiled once; each of its inputs counts that time as its own
  verdict          by the suite's word: right, missed, false alarm, or refused (what is not simulated)
  reason           why a verdict is not right; "true": a finding that the suite does not know of
  orders, suite, revision   of simulate; the suite's commit; ours

A row that is there is kept, so a call continues the last one; --again runs those whose program, input, verdict or
reason matches. Ends with a count of verdicts. Exit code: 0, or 1 if something could not be run.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from report.command_line import Parser, ResultsError, one_line, write_whole  # noqa: E402

PROJECT = Path(__file__).resolve().parents[1]
COLUMNS = ["program", "input", "planted", "kind", "found", "line", "message", "seconds", "verdict", "reason", "orders",
           "suite", "revision"]
LONGEST = 100  # characters of a message

# What a kind of finding is. The rest ("output differs", "timeout") proves no planted fault.
MEMORY = {"out of bounds", "use after free", "misaligned", "read of unwritten memory", "crash"}
RACE = {"race"}


@dataclass(frozen=True)
class Case:
    """One call of simulate: a row."""
    program: str
    input: str
    planted: str
    expected: frozenset[str]  # kinds that count as having found what is planted; empty: nothing is
    files: tuple[Path, ...]
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    says: str = ""  # what a program without a fault must print, beside ending with 0
    smaller: tuple[tuple[str, str, str], ...] = ()  # (file, text, replacement) in a copy of the program's folder


def lists(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    if not files:
        raise ResultsError(f"{folder} has no {pattern}; name a folder with the suite's files (--help: where they are)")
    return files


# ---------------------------------------------------------------------------------------------------- suites

def indigo(folder: Path, graphs: str) -> list[Case]:
    """Every program with every graph, launched as HiRace's experiments do: 1024 blocks of 256 threads."""
    inputs = [g for g in lists(folder, "indigo/input/*.egr") if re.search(graphs, g.stem)]
    cases = []
    for source in lists(folder, "indigo/indigo_sources/*/*.cu"):
        bugs = re.findall(r"[a-z]+(?=Bug)", source.stem)
        races = [b for b in bugs if b != "bounds"]
        expected = RACE if races else MEMORY if bugs else set()
        cases += [Case(source.stem, g.stem, " ".join(bugs), frozenset(expected), (source,),
                       ("-I", str(folder / "indigo/indigo_include")), (str(g), "256", "1024"),
                       "" if bugs else "matches") for g in inputs]
    return cases


def kinds_of(label: str) -> set[str]:
    """Of a label of BARRACUDA's scripts: nothing, a hazard in some memory, or an error that a call returns."""
    if label.startswith("NO_"):
        return set()
    if label in ("OOM", "ARG", "PITCH_ARG"):
        return {"out of bounds"}  # what such a call would do
    return RACE if label.endswith(("RAW", "WAR", "WAW")) else MEMORY


def barracuda(folder: Path, _: str) -> list[Case]:
    """The calls of CudaTestProgram and CudaRaceTestProgram in the suite's scripts, which are read, not run."""
    cases = []
    for script in [s for s in lists(folder, "*.py") if s.stem not in ("cudaTestProgram", "runTests")]:
        for call in ast.walk(ast.parse(script.read_text())):
            if not (isinstance(call, ast.Call) and getattr(call.func, "id", "").endswith("TestProgram")):
                continue
            named = {k.arg: k.value for k in call.keywords}
            macros = ast.literal_eval(named["macros"]) if "macros" in named else {}
            options = tuple("-D" + name + ("" if value is None else f"={value}") for name, value in macros.items())
            source = folder / ast.literal_eval(call.args[0])
            for case in named["testCases"].elts:
                labels = [a.attr for a in ast.walk(case.args[0]) if isinstance(a, ast.Attribute)]
                arguments = tuple(ast.literal_eval(a) for a in case.args[1:])
                cases.append(Case(str(source.relative_to(folder)), " ".join(options + arguments),
                                  " ".join(x for x in labels if kinds_of(x)), frozenset(kinds_of(labels[0])),
                                  (source,), options, arguments))
    return cases


@dataclass(frozen=True)
class Sample:
    folder: str
    files: str = ""  # besides its .cu files
    arguments: str = ""
    says: str = ""
    smaller: tuple[tuple[str, str, str], ...] = ()


CONCEPTS, FEATURES = "2_Concepts_and_Techniques", "3_CUDA_Features"
SAMPLES = [
    *(Sample(f"{CONCEPTS}/reduction", "reduction.cpp", f"--n=32768 --kernel={k}", "passed") for k in range(10)),
    *(Sample(f"{CONCEPTS}/reduction", "reduction.cpp", f"--n=32768 --kernel=6 --type={t}", "passed")
      for t in ("float", "double")),
    Sample(f"{CONCEPTS}/reductionMultiBlockCG", arguments="--n=32768"),
    Sample(f"{CONCEPTS}/reduction", "reduction.cpp", "--n=4096 --kernel=4", "passed"),  # ends in a block of 4 threads
    Sample(f"{CONCEPTS}/threadFenceReduction", arguments="--n=32768"),
    Sample(f"{CONCEPTS}/threadFenceReduction", arguments="--n=32768 --multipass"),
    Sample(f"{CONCEPTS}/scan", "main.cpp scan_gold.cpp",
           smaller=(("main.cpp", "13 * 1048576 / 2", "262144"), ("main.cpp", "iCycles = 100", "iCycles = 1"))),
    Sample(f"{CONCEPTS}/histogram", "main.cpp histogram_gold.cpp", says="passed",
           smaller=(("main.cpp", "64 * 1048576", "65536"), ("main.cpp", "numRuns    = 16", "numRuns    = 1"))),
    Sample(f"{CONCEPTS}/shfl_scan"),
    Sample(f"{CONCEPTS}/scalarProd", "scalarProd_cpu.cpp", says="passed"),
    Sample(f"{FEATURES}/binaryPartitionCG", says="Done"),
    Sample(f"{FEATURES}/warpAggregatedAtomicsCG", says="PASSED",
           smaller=(("warpAggregatedAtomicsCG.cu", "10000000", "10000"),)),
    Sample("0_Introduction/simpleCooperativeGroups", says="Done"),
    Sample("0_Introduction/simpleAtomicIntrinsics", "simpleAtomicIntrinsics_cpu.cpp", says="OK"),
    Sample("0_Introduction/simpleVoteIntrinsics", says="OK"),
    Sample("0_Introduction/vectorAdd", says="PASSED"),
    Sample("0_Introduction/matrixMul", arguments="-wA=32 -hA=32 -wB=32 -hB=32", says="PASS",
           smaller=(("matrixMul.cu", "nIter = 300", "nIter = 1"),)),
    Sample("4_CUDA_Libraries/conjugateGradientMultiBlockCG", says="PASSED",
           smaller=(("conjugateGradientMultiBlockCG.cu", "N  = 1048576", "N  = 4096"),)),
]


def samples(folder: Path, _: str) -> list[Case]:
    cases = []
    for s in SAMPLES:
        home = folder / "Samples" / s.folder
        files = tuple(lists(home, "*.cu")) + tuple(home / f for f in s.files.split())
        inputs = [s.arguments] * bool(s.arguments) + [f"{b} for {a}" for _, a, b in s.smaller]
        cases.append(Case(home.name, ", ".join(inputs), "", frozenset(), files, ("-I", str(folder / "Common")),
                          tuple(s.arguments.split()), s.says, s.smaller))
    return cases


SUITES = {"indigo": indigo, "barracuda": barracuda, "samples": samples}

# Why a verdict is not right: suite, program, input, kind (regular expressions), and the reason. The first one counts.
REASONS = [
    ("indigo", "", "5n_5e", "", "with five nodes the fault is not reached; it is found on larger graphs"),
    ("indigo", "boundsBug", "", "^$", "not reached with this graph; found with power_law_200n_1000e"),

    ("barracuda", "", "", "broken contract", "kernels that launch kernels are not simulated"),
    ("barracuda", "", "PTX", "", "inline PTX is not simulated"),
    ("barracuda", "atomic_increment", "", "", "true: an atomic of 4 bytes on a variable of 1 byte"),
    ("barracuda", "", "SHARED.*RW", "unwritten",
     "true: x is read first, which nobody has written; that ends the thread"),
    ("barracuda", "flag_sync", "", "race",
     "true: volatile orders nothing, so the flag is set and polled by plain accesses"),
    ("barracuda", "implicit_intra_warp", "", "race", "true since Volta: lanes run apart, and no __syncwarp() is there"),
    ("barracuda", "warp_lock", "SHARED.*BLOCKS=2", "^$",
     "no race: each block has its own x, and one thread that takes the lock"),
    ("barracuda", "warp_lock", "NO_VOLATILE", "^$",
     "no race: the lock is used by atomics and fences alone; volatile adds nothing"),
    ("barracuda", "pitched_ptr.cu", "-DW", "^$",
     "the file's #define wins over -D: it writes the padding of a row, which is allocated"),
    ("barracuda", "two_array", "-DW", "^$",
     "the address lies in the other array: an address does not tell from which pointer it was made"),
    ("barracuda", "device_bad_alloc", "", "^$", "malloc gives a null pointer, as it should; nothing is accessed by it"),
    ("barracuda", "bad_memcpy", "_SIZE", "^$", "the file's #define wins over -D: the copy is inside both arrays"),
    ("barracuda", "host_bad_alloc", "", "^$",
     "cudaMalloc returns cudaErrorMemoryAllocation, and stderr says so; no fault follows"),
    ("barracuda", "pitched_ptr_bad", "", "^$",
     "cudaMemcpy2D returns cudaErrorInvalidPitchValue, and stderr says so; no fault follows"),
    ("barracuda", "host_uninit_r", "", "^$", "the kernel writes the array, and reads nothing"),
    ("barracuda", "host_uninit_memcpy", "", "^$", "it copies the host's memory, whose bytes are not followed"),
    ("barracuda", "leaky_pointers.cu", "", "race",
     "the pointer is handed over without order: this race is found first"),
    ("barracuda", "local_uninit", "", "^$", "not seen: local variables have no record; -Wuninitialized warns"),

    ("samples", "^reduction$", "4096", "^$",
     "true: warp shuffles in a block of 4 threads, from lanes that are not there"),
    ("samples", "threadFence", "", "race",
     "true by PTX's model: the last block reads the partial sums without a fence behind its atomic"),
    ("samples", "^reduction$", "", "output differs", "the line holds a time by the host's clock"),
    ("samples", "shfl_scan", "", "unwritten",
     "true: lanes without a warp of their own read sums that nobody wrote, and drop what they get"),
]


# ---------------------------------------------------------------------------------------------------- a case

def smaller(case: Case, folder: Path) -> Case:
    """The case in a copy of its folder, whose constants are smaller."""
    home = case.files[0].parent
    shutil.copytree(home, folder, dirs_exist_ok=True)
    for name, text, replacement in case.smaller:
        path = folder / name
        if text not in path.read_text():
            raise ResultsError(f"{home / name} has no '{text}'; suites.py knows another commit of the suite")
        path.write_text(path.read_text().replace(text, replacement))
    return Case(**{**case.__dict__, "files": tuple(folder / f.relative_to(home) for f in case.files), "smaller": ()})


def call(command: list[str], patience: float) -> tuple[int, str, str, float]:
    """Exit code, what it printed, and its CPU seconds with those of its processes. A call that takes too long is ended
    with all it started: exit code -9."""
    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return process.returncode, out, err, used() - before


def shortened(text: str, own: str = "") -> str:
    """One line. Of a finding's message, what is behind the place: kind, kernel and line have columns of their own."""
    text = re.sub(r"^simulated device: .*?: (?=[a-z])", "", " ".join(text.split()))
    text = re.sub(r"(?:/[^\s():]+)+/", "", text)  # files by their names alone, the program's own not at all
    text = text.replace(f"{own}:", "line ") if own else text
    return text if len(text) <= LONGEST else text[:LONGEST - 3] + "..."


def what_was_found(case: Case, findings: list[dict], refusal: str) -> dict:
    """kind, found, line, message and verdict of a row."""
    kinds = list(dict.fromkeys(f["kind"] for f in findings))
    places = {(f["kind"], f["file"], f["line"]) for f in findings}
    of_planted = [f for f in findings if f["kind"] in case.expected]
    shown = (of_planted or findings or [None])[0]
    if refusal or shown and "not simulated" in shown["message"]:
        verdict = "refused"
    elif case.expected:
        verdict = "right" if of_planted else "missed"
    else:
        verdict = "false alarm" if findings else "right"
    own = case.files[0].name if len(case.files) == 1 else ""
    file = Path(shown["file"]).name if shown else ""
    line = str(shown["line"]) if file and file == own else f"{file}:{shown['line']}" if file else ""
    return {"kind": "; ".join(kinds), "found": len(places), "line": line,
            "message": shortened(refusal or (shown or {}).get("message", ""), own), "verdict": verdict}


def reason(suite: str, row: dict) -> str:
    if row["verdict"] == "right":
        return ""
    return next((why for its_suite, program, its_input, kind, why in REASONS
                 if its_suite == suite and re.search(program, row["program"]) and re.search(its_input, row["input"])
                 and re.search(kind, row["kind"])), "")


def run_case(case: Case, reductio: str, orders: str, patience: float) -> tuple[dict, float]:
    """The case's row, and the CPU seconds that were not spent in running: compiling, mostly."""
    with tempfile.TemporaryDirectory() as folder:
        here = smaller(case, Path(folder)) if case.smaller else case
        command = [reductio, "simulate", *map(str, here.files), *here.options, "--orders", orders, "--keep-going",
                   "--json", "--timeout", str(patience), "--", *here.arguments]
        code, out, err, seconds = call(command, 10 * patience)
        scratch = str(folder)
    row = {"program": case.program, "input": case.input, "planted": case.planted, "orders": orders}
    try:
        document = json.loads(out)
    except ValueError:
        lines = [line for line in err.replace(scratch + "/", "").splitlines() if line.strip()]
        errors = [line.removeprefix("reductio: ") for line in lines if re.search(r"\berror\b|^reductio", line)] or lines
        text = "timeout" if code == -9 else errors[0] if errors else f"exit code {code} and no message"
        return {**row, **what_was_found(case, [], text), "seconds": f"{seconds:.2f}"}, seconds
    verdict = what_was_found(case, document["findings"], "")
    if verdict["verdict"] == "right" and not case.expected:
        if document["program_exit_code"] or not re.search(case.says, document["output"]):
            last = (document["output"].strip().splitlines() or [""])[-1]
            verdict |= {"verdict": "false alarm",
                      "message": shortened(f"exit code {document['program_exit_code']}: {last}")}
    ran = sum(r["seconds"] for r in document["runs"])
    return {**row, **verdict, "seconds": f"{seconds:.2f}"}, max(0.0, seconds - ran)


def run_program(cases: list[Case], reductio: str, orders: str, patience: float) -> list[dict]:
    """Rows of cases that are compiled once, by the first call."""
    rows, compiling = [], 0.0
    for i, case in enumerate(cases):
        row, other = run_case(case, reductio, orders, patience)
        if i == 0:
            compiling = other
        else:
            row["seconds"] = f"{float(row['seconds']) + max(0.0, compiling - other):.2f}"
        rows.append(row)
    return rows


# ---------------------------------------------------------------------------------------------------- the table

def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if rows and list(rows[0]) != COLUMNS:
        raise ResultsError(f"{path} has other columns than suites.py writes; choose another --out")
    return rows


def table(rows: list[dict]) -> bytes:
    lines = []

    class Lines:
        write = staticmethod(lines.append)

    writer = csv.DictWriter(Lines, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return "".join(lines).encode()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def key(row: dict) -> tuple[str, str]:
    return row["program"], row["input"]


@one_line("suites.py")
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(prog="suites.py", description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("folder", type=Path, help="where the suite's files lie")
    parser.add_argument("--commit", default="", help="the suite's commit, where FOLDER is no git repository")
    parser.add_argument("--reductio", default=str(PROJECT / "build" / "bin" / "reductio"))
    parser.add_argument("--jobs", type=int, default=2, help="programs at once")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only programs and inputs that match")
    parser.add_argument("--graphs", default="", metavar="REGEX", help="only graphs that match (indigo)")
    parser.add_argument("--orders", default="forward", help="as in reductio simulate")
    parser.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="of each run")
    parser.add_argument("--again", metavar="REGEX", help="run again what matches in program, input, verdict or reason")
    parser.add_argument("--out", type=Path, help="the table (default: experiments/results/suites/SUITE.csv)")
    options = parser.parse_args(arguments)
    out = options.out or PROJECT / "experiments" / "results" / "suites" / f"{options.suite}.csv"

    if not options.folder.is_dir():
        raise ResultsError(f"{options.folder} is no folder; get the suite first (--help: where it is)")
    if not shutil.which(options.reductio):
        raise ResultsError(f"no program at {options.reductio}; build it, or name it by --reductio")
    commit = options.commit or git(options.folder, "rev-parse", "HEAD")
    if not commit:
        raise ResultsError(f"{options.folder} is no git repository; name the suite's commit by --commit")
    stamp = {"suite": commit[:8], "revision": git(PROJECT, "rev-parse", "--short=8", "HEAD")}

    cases = SUITES[options.suite](options.folder.resolve(), options.graphs)
    order = {(c.program, c.input): i for i, c in enumerate(cases)}
    rows = {key(r): r for r in read(out)}
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, b"")

    def wanted(case: Case) -> bool:
        row = rows.get((case.program, case.input))
        if not re.search(options.filter, f"{case.program} {case.input}"):
            return False
        again = options.again and row and any(re.search(options.again, row[c])
                                              for c in ("program", "input", "verdict", "reason"))
        return not row or bool(again)

    groups: dict[tuple, list[Case]] = {}
    for case in filter(wanted, cases):
        groups.setdefault((case.files, case.options, case.smaller), []).append(case)

    def save() -> None:
        for row in rows.values():
            row["reason"] = reason(options.suite, row)
        write_whole(out, table(sorted(rows.values(), key=lambda r: order.get(key(r), len(order)))))

    with ProcessPoolExecutor(options.jobs) as pool:
        work = [pool.submit(run_program, group, options.reductio, options.orders, options.timeout)
                for group in groups.values()]
        for done, task in enumerate(as_completed(work), 1):
            for row in task.result():
                rows[key(row)] = row | stamp
            if done % 20 == 0 or done == len(work):
                save()
                print(f"{done} of {len(work)} programs", file=sys.stderr, flush=True)
    if rows:
        save()
    for (planted, verdict), n in sorted(Counter((bool(r["planted"]), r["verdict"]) for r in rows.values()).items()):
        print(f"{n} {'with' if planted else 'without'} a fault: {verdict}")
    print(f"wrote {out}")


if __name__ == "__main__":
    sys.exit(main())
