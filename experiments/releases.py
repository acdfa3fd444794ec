#!/usr/bin/env python3
"""Which machine code each release of CUB makes of a sum: results/cccl_code.csv, which `reductio releases` shows.

    experiments/releases.py [--build build] [--architectures 80,90,120] [--out FILE]

Run it where the program was built with -DREDUCTIO_CCCL_RELEASES=all, whose headers it takes. nvcc compiles each
release's sums for each architecture (about ten CPU minutes); cuobjdump shows them, of the CUDA toolkit or by
`pip install -r experiments/compiler-requirements.txt`. No GPU is needed.

Columns: architecture; element_type; kernel (`blocks`, the first of two launches; `finish`, the second, over the blocks'
sums; `one-block`, the only launch of a small input); code, a hash of the instructions and their operands, equal for
equal code; instructions; registers a thread; load_bytes, the widest load from global memory; releases that have it,
oldest first. Counts have 32 bits, as below 2^31 elements.
"""

from __future__ import annotations

import csv
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from report.command_line import Parser  # noqa: E402
from compiler import SASS, Refused, find_tool, run, sass  # noqa: E402

PROJECT = Path(__file__).resolve().parents[1]
LIST = PROJECT / "cmake" / "cccl_releases.txt"
COLUMNS = ["architecture", "element_type", "kernel", "code", "instructions", "registers", "load_bytes", "releases"]
TYPES = {"signed char": "i8", "unsigned int": "i32", "unsigned long": "i64", "unsigned __int128": "i128",
         "__half": "f16", "__nv_bfloat16": "bf16", "float": "f32", "double": "f64"}
FUNCTION = re.compile(r"^\s*Function : (\S+)\s*$", re.M)
USAGE = re.compile(r"^\s*Function (\S+?):?\s*\n\s*REG:(\d+)", re.M)
ADDITION = re.compile(r"(?:\w+::)*(?:cub::Sum\b|[Pp]lus<[^<>]*>)")


def releases() -> list[str]:
    return [line.split()[0] for line in LIST.read_text().splitlines() if line[:1].isdigit()]


def headers(build: Path, release: str) -> Path:
    versions = sorted((build / "cccl-headers" / release).rglob("cub/version.cuh"))
    if not versions:
        raise Refused(f"{build} has no headers of CUB {release}; configure it with -DREDUCTIO_CCCL_RELEASES=all")
    return versions[0].parents[1]


def compile_sums(build: Path, release: str, architectures: list[str], to: Path) -> None:
    name = "cccl_" + release.replace(".", "_")
    run("nvcc", "-fatbin", "-O3", "-std=c++20", "--expt-relaxed-constexpr", "-w", f"-I{headers(build, release)}",
        f"-I{PROJECT}/src", f"-I{PROJECT}", "-DREDUCTIO_CCCL_SUMS_ALONE", f"-DTHRUST_CUB_WRAPPED_NAMESPACE={name}",
        f"-D_LIBCUDACXX_ABI_NAMESPACE={name}", f'-DREDUCTIO_CCCL_RELEASE="{release}"', '-DREDUCTIO_CCCL_TOOLKIT=""',
        *(f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures),
        PROJECT / "baselines" / "cccl_release.cu", "-o", to)


def kernels_of(names: list[str]) -> dict[str, tuple[str, str]]:
    """Mangled names of a release's kernels, each with its element type and what it is for."""
    readable = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    by_input, finishes = {}, {}
    for mangled, name in zip(names, readable.splitlines()):
        parameters = name[name.rindex(">(") + 2:] if ">(" in name else ""
        first = parameters.split(",")[0].strip()
        addition = (ADDITION.search(parameters) or [""])[0]
        if first.endswith(" const*") and first[:-7] in TYPES:
            kernel = "one-block" if "SingleTile" in name else "blocks"
            by_input[mangled] = (TYPES[first[:-7]], kernel, addition)
        elif first.endswith("*") and "SingleTile" in name:
            finishes[mangled] = (re.search(r"(?:, |\()((?:unsigned )?\w+)\*", "(" + parameters)[1], addition)
    out = {mangled: (element, kernel) for mangled, (element, kernel, _) in by_input.items()}
    accumulators = {"i8": "unsigned int", "f16": "float", "bf16": "float"} | {
        e: t for t, e in TYPES.items() if e not in ("i8", "f16", "bf16")}
    for element, kernel, addition in by_input.values():
        if kernel == "blocks":
            for mangled, (accumulator, added) in finishes.items():
                if accumulator == accumulators[element] and added == addition:
                    out[f"{mangled} {element}"] = (element, "finish")  # of several types, one kernel
    return out


def code_of(text: str) -> str:
    """A function's instructions with their operands, in order. Addresses count from the function's beginning."""
    return "\n".join(" ".join(part.strip() for part in instruction[1:]) for instruction in SASS.findall(text))


def rows_of(cuobjdump: str, fatbin: Path) -> list[dict]:
    """Of one release: a row for each architecture, element type and kernel."""
    out = []
    text, usage = run(cuobjdump, "-sass", fatbin), run(cuobjdump, "-res-usage", fatbin)
    for part, used in zip(re.split(r"^arch = ", text, flags=re.M)[1:], re.split(r"^arch = ", usage, flags=re.M)[1:]):
        architecture = re.match(r"sm_(\d+)", part)[1]
        pieces = FUNCTION.split(part)
        functions = dict(zip(pieces[1::2], pieces[2::2]))
        registers = dict(USAGE.findall(used))
        for key, (element, kernel) in kernels_of(list(functions)).items():
            mangled = key.split()[0]
            body = functions[mangled]
            row = {"architecture": architecture, "element_type": element, "kernel": kernel,
                   "code": hashlib.sha256(code_of(body).encode()).hexdigest()[:12],
                   "instructions": len(sass(body)), "registers": registers[mangled],
                   "load_bytes": max((i.load_bytes for i in sass(body)), default=0)}
            if row not in out:  # two element types' kernels over one accumulator
                out.append(row)
    return out


def table(by_release: dict[str, list[dict]]) -> list[dict]:
    """Releases of equal code in one row, in the list's order."""
    merged: dict[tuple, list[str]] = {}
    for release in by_release:
        for row in by_release[release]:
            merged.setdefault(tuple(row.values()), []).append(release)
    order = {release: i for i, release in enumerate(by_release)}
    elements, kernels = list(TYPES.values()), ["blocks", "finish", "one-block"]
    rows = [dict(zip(COLUMNS, (*key, " ".join(names)))) for key, names in merged.items()]
    return sorted(rows, key=lambda r: (int(r["architecture"]), elements.index(r["element_type"]),
                                       kernels.index(r["kernel"]), order[r["releases"].split()[0]]))


def main() -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=PROJECT / "build", help="where the releases' headers lie")
    parser.add_argument("--architectures", default="80,90,120", help="compute capabilities, times ten")
    parser.add_argument("--out", type=Path, default=PROJECT / "experiments" / "results" / "cccl_code.csv")
    options = parser.parse_args()
    try:
        cuobjdump = find_tool("cuobjdump")
        if not cuobjdump:
            raise Refused("cuobjdump is not here; pip install -r experiments/compiler-requirements.txt")
        by_release = {}
        with tempfile.TemporaryDirectory() as folder:
            for release in releases():
                print(f"CUB {release}", flush=True)
                fatbin = Path(folder) / f"{release}.fatbin"
                compile_sums(options.build, release, options.architectures.split(","), fatbin)
                by_release[release] = rows_of(cuobjdump, fatbin)
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table(by_release))
    except (Refused, OSError) as e:
        print(f"releases.py: {e}", file=sys.stderr)
        return 1
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
