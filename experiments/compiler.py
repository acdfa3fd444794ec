#!/usr/bin/env python3
"""What the compilers made of the documents' loops, read from the machine code: compiler.csv in a results folder.

    experiments/compiler.py FOLDER [--reductio PATH] [--keep DIR]

Run where the program was built. The GPU's code is what the program holds (cuobjdump, of the CUDA toolkit or by
`pip install -r experiments/compiler-requirements.txt`), so it belongs to the results of the machine on which that
program was measured. Beside it, nvcc, g++ and clang++ compile two loops that halve an index, by a shift and by a
division, and g++ and clang++ baselines/host_loops.cpp at -O0, -O2 and -O3 (objdump).

A loop is a natural loop of the control flow with no other inside. Of each kernel there is a row for all of it
(`kernel`) and one for each loop: `tree` has a block barrier inside, `main` is the one over the input that takes most
elements an iteration, `further` are what the compiler left for the rest of its iterations, and loops over partial sums;
`remainder` is made of the source's own loop for the rest of one that is unrolled by hand; `other` loops load nothing.
Code that no path reaches is not counted. In `unroll` each tree is there twice, for whole shares and, with more
instructions, for the one block whose share is cut off (tree-cut).

Columns: run_id (added by `reductio record`); compiler, version, target, level; kernel, element_type, index (the type of the loop's index, where there are
several); loop; instructions; loads_per_iteration (instructions that load from memory, on the GPU from global memory;
of a `kernel`, all), elements_per_load (more than 1: vectors), unrolled_by (elements that an iteration of the machine
code takes, for each that one of the source takes, be it unrolled or of vectors; of a tree, levels), shifts, divisions
(on the GPU reciprocals, by which it divides), barriers (of blocks), warp_barriers (on compute capability 9.0 a NOP is
what stays of __syncwarp()), opcodes (a hash of all opcodes in their order: equal for equal code but registers and
constants).
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from report.command_line import Parser  # noqa: E402

PROJECT = Path(__file__).resolve().parents[1]
COLUMNS = ["compiler", "version", "target", "level", "kernel", "element_type", "index", "loop", "instructions",
           "loads_per_iteration", "elements_per_load", "unrolled_by", "shifts", "divisions", "barriers",
           "warp_barriers", "opcodes"]


class Refused(Exception):
    """Cannot be done here, with the reason and what to do in one line."""


@dataclass(frozen=True)
class Instruction:
    """Of either machine, as far as it is counted."""
    address: int
    opcode: str
    to: int | None = None     # where it may jump
    falls_through: bool = True
    load_bytes: int = 0       # that it loads from memory; from global memory on the GPU
    shift: bool = False
    division: bool = False
    barrier: bool = False
    warp_barrier: bool = False
    padding: bool = False
    line: int = 0             # of the source, where that is known


# ------------------------------------------------------------------------------------------------ the GPU's code

SASS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);", re.M)


def sass(text: str) -> list[Instruction]:
    """Of one function, as cuobjdump -sass prints it."""
    out = []
    for address, predicate, opcode, operands in SASS.findall(text):
        base, *more = opcode.split(".")
        conditional = bool(predicate.strip()) and predicate.strip() != "@PT"
        jump = None
        if base == "BRA":
            jump = int(re.findall(r"0x[0-9a-f]+", operands)[-1], 16)
            conditional = conditional or "DIV" in more or bool(re.match(r"!?U?P\d", operands.strip()))
        ends = base in ("BRA", "EXIT", "RET", "BRX", "JMX", "KILL")
        wide = next((int(m) // 8 for m in more if m in ("64", "128")), 4)
        out.append(Instruction(
            int(address, 16), opcode, jump, conditional or not ends,
            load_bytes=wide if base in ("LDG", "LD") else 0,
            shift=base in ("SHF", "USHF", "SHL", "SHR", "USHL", "USHR") or opcode.startswith(("IMAD.SHL", "UIMAD.SHL")),
            division=opcode.startswith("MUFU.RCP"), barrier=base == "BAR",
            warp_barrier=base == "NOP" or opcode == "WARPSYNC"))  # WARPSYNC.ALL is the compiler's own
    return out


def sass_functions(text: str) -> dict[str, str]:
    """By their mangled names."""
    parts = re.split(r"^\s*Function : (\S+)\s*$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


# ------------------------------------------------------------------------------------------------ x86-64

X86 = re.compile(r"^\s*([0-9a-f]+):\t(.+?)\s*$|^\S+:(\d+)(?: \(discriminator \d+\))?$", re.M)
MEMORY = re.compile(r"^(?:%\ws:)?-?(?:0x[0-9a-f]+)?\(([^)]*)\)$")


def operands_of(text: str) -> list[str]:
    return [o.strip() for o in re.split(r",(?![^(]*\))", text) if o.strip()]


def loaded_bytes(opcode: str, operands: list[str], stack: tuple[str, ...]) -> int:
    """That an instruction in AT&T's notation loads from memory but the stack."""
    at = [i for i, o in enumerate(operands) if MEMORY.match(o)]
    if not at or opcode.startswith(("lea", "nop", "prefetch")):
        return 0
    where = MEMORY.match(operands[at[0]])
    if any(f"%{register}" in where.group(1).split(",")[0] for register in stack):
        return 0
    stores = at[0] == len(operands) - 1 and len(operands) > 1
    if stores and opcode.startswith(("mov", "vmov", "set")):
        return 0
    if re.match(r"v?(movss|addss|movd)$", opcode):
        return 4
    if re.match(r"v?(movq|movsd|addsd|movlps|movhps|movlpd|movhpd)$", opcode):
        return 8
    registers = " ".join(o for i, o in enumerate(operands) if i != at[0])
    for pattern, width in ((r"%ymm", 32), (r"%xmm", 16), (r"%r(?:[a-ds][ixp]|[a-d]x|\d+)(?!\w)", 8)):
        if re.search(pattern, registers):
            return width
    return 8 if opcode.endswith("q") and not registers else 4


def x86(text: str, unoptimised: bool = False) -> list[Instruction]:
    """Of one function, as `objdump -d -l --no-show-raw-insn` prints it. Unoptimised, %rbp points to the stack."""
    stack = ("rsp", "rbp") if unoptimised else ("rsp",)
    out, source_line = [], 0
    for address, line, said in X86.findall(text):
        if said:
            source_line = int(said)
            continue
        line = re.sub(r"\s*(#.*|<.*>)$", "", line)
        words = line.split(None, 1)
        while len(words) > 1 and words[0] in ("rep", "repz", "repnz", "lock", "notrack", "bnd", "data16", "cs"):
            words = words[1].split(None, 1)
        opcode, operands = words[0], operands_of(words[1]) if len(words) > 1 else []
        jump = int(operands[0], 16) if opcode.startswith("j") and re.fullmatch(r"[0-9a-f]+", operands[0]) else None
        out.append(Instruction(
            int(address, 16), opcode, jump, opcode not in ("jmp", "ret", "retq", "ud2", "hlt"),
            load_bytes=loaded_bytes(opcode, operands, stack),
            shift=bool(re.match(r"(sh|sa)[lr][bwlq]?$|sh[lr]d|v?ps(ll|rl|ra)[wdq]$", opcode)),
            division=bool(re.match(r"i?div[bwlq]?$|v?div[sp][sd]$", opcode)),
            padding=opcode.startswith("nop") or line.startswith(("xchg   %ax,%ax", "data16")), line=source_line))
    return out


def x86_functions(text: str) -> dict[str, str]:
    """By the names that objdump gives them."""
    parts = re.split(r"^[0-9a-f]+ <(.+)>:$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


# ------------------------------------------------------------------------------------------------ loops


def successors(code: list[Instruction]) -> list[list[int]]:
    """Of each instruction, by position."""
    at = {instruction.address: i for i, instruction in enumerate(code)}
    out = []
    for i, instruction in enumerate(code):
        to = [i + 1] if instruction.falls_through and i + 1 < len(code) else []
        if instruction.to is not None and instruction.to in at:
            to.append(at[instruction.to])
        out.append(to)
    return out


def reachable(code: list[Instruction], past_barriers: bool = True) -> list[int]:
    """Positions that some path from the first reaches, in order; on request, without passing a block barrier."""
    after, seen, left = successors(code), {0} if code else set(), [0] if code else []
    while left:
        at = left.pop()
        for next_one in after[at] if past_barriers or not code[at].barrier else []:
            if next_one not in seen:
                seen.add(next_one)
                left.append(next_one)
    return sorted(seen)


def innermost_loops(code: list[Instruction]) -> list[list[Instruction]]:
    """The natural loops without another inside, by the address of their first instruction."""
    after, nodes = successors(code), reachable(code)
    before: dict[int, list[int]] = {i: [] for i in nodes}
    for i in nodes:
        for j in after[i]:
            before[j].append(i)
    every = 0
    for i in nodes:
        every |= 1 << i
    dominators = {i: every for i in nodes}  # sets as bits
    if nodes:
        dominators[nodes[0]] = 1 << nodes[0]
    changed = True
    while changed:
        changed = False
        for i in nodes[1:]:
            common = every
            for j in before[i]:
                common &= dominators[j]
            common |= 1 << i
            if common != dominators[i]:
                dominators[i], changed = common, True
    bodies: dict[int, set[int]] = {}
    for i in nodes:
        for head in after[i]:
            if dominators[i] >> head & 1:
                body, left = bodies.setdefault(head, {head}), [i]
                while left:
                    j = left.pop()
                    if j not in body:
                        body.add(j)
                        left += before[j]
    return [[code[i] for i in sorted(body)] for head, body in sorted(bodies.items())
            if not any(other != head and other in body for other in bodies)]


# ------------------------------------------------------------------------------------------------ rows


def counts(code: list[Instruction]) -> dict[str, int | str]:
    counted = [i for i in code if not i.padding]
    return {"instructions": len(counted), "loads_per_iteration": sum(1 for i in counted if i.load_bytes),
            "shifts": sum(i.shift for i in counted), "divisions": sum(i.division for i in counted),
            "barriers": sum(i.barrier for i in counted), "warp_barriers": sum(i.warp_barrier for i in counted),
            "opcodes": hashlib.sha256("\n".join(i.opcode for i in counted).encode()).hexdigest()[:12]}


@dataclass(frozen=True)
class Source:
    """What the source says of a kernel's loops."""
    kernel: str
    element_type: str = "i32"
    index: str = ""
    elements: int = 1           # that an iteration takes
    loads_per_element: int = 1
    twice: bool = False         # each loop is there for whole shares and for one that is cut off
    element_bytes: int = 4
    remainder_lines: frozenset[int] = frozenset()  # of its own loop for the rest, which takes one element an iteration


def rows_of(code: list[Instruction], source: Source) -> list[dict]:
    """A row for the kernel and one for each of its loops."""
    known = {"kernel": source.kernel, "element_type": source.element_type, "index": source.index}
    whole = [code[i] for i in reachable(code)]
    rows = [{**known, "loop": "kernel", **counts(whole)}]
    loops = []
    before_barriers = {code[i].address for i in reachable(code, past_barriers=False)}
    for body in innermost_loops(code):
        row = counts(body)
        loaded = sum(i.load_bytes for i in body) / source.element_bytes
        taken = loaded / source.loads_per_element
        loads = [i for i in body if i.load_bytes]
        if row["barriers"]:
            row |= {"loop": "tree", "unrolled_by": row["barriers"]}
        elif loaded:
            rest = 2 * sum(i.line in source.remainder_lines for i in loads) > len(loads)
            # A kernel reads its input first; a loop behind a barrier is over partial sums.
            row |= {"loop": "remainder" if rest else "main" if body[0].address in before_barriers else "further",
                    "unrolled_by": plain(taken if rest else taken / source.elements),
                    "elements_per_load": plain(loaded / row["loads_per_iteration"])}
        else:
            row |= {"loop": "other"}
        loops.append(row)
    # Of two like loops in `unroll` the shorter one is for whole shares.
    if source.twice:
        for row in sorted((r for r in loops if r["loop"] == "tree"), key=lambda r: r["instructions"])[1:]:
            row["loop"] = "tree-cut"
    mains = [r for r in loops if r["loop"] == "main"]
    for row in mains:
        if row is not max(mains, key=lambda r: float(r["unrolled_by"])):
            row["loop"] = "further"
    return rows + [{**known, **row} for row in loops]


def plain(value: float) -> int | float:
    return int(value) if value == int(value) else round(value, 4)


# ------------------------------------------------------------------------------------------------ what is looked at

INDICES = ("int", "unsigned int", "long", "unsigned long")

# Kernels of the program, at their documents' own block; {index} stands for each type of a loop's index.
GPU_KERNELS = {
    "chunked<unsigned int, Square, {index}, Shape<256, 1> >": "squares/chunked",
    "strided<unsigned int, Square, {index}, Shape<256, 1> >": "squares/strided",
    "multi_block<unsigned int, Square, {index}, Shape<256, 32> >": "squares/multi-block",
    "multi_block_tree<unsigned int, Square, {index}, Shape<256, 32> >": "squares/multi-block-tree",
    "rolled<unsigned int, Identity, {index}>": "twopass/rolled",
    "warp_unrolled<unsigned int, Identity, {index}>": "twopass/warp-unrolled",
    "template_unrolled<unsigned int, Identity, {index}, 256u>": "twopass/template-unrolled",
    "neighbored<unsigned int>": "unroll/neighbored",
    "neighbored_less<unsigned int>": "unroll/neighbored-less",
    "interleaved<unsigned int>": "unroll/interleaved",
    "unrolled<unsigned int, 2u, Chained>": "unroll/unroll2",
    "unrolled<unsigned int, 4u, Chained>": "unroll/unroll4",
    "unrolled<unsigned int, 8u, Chained>": "unroll/unroll8",
    "unrolled<unsigned int, 8u, Independent>": "unroll/unroll8[load=independent]",
    "unroll8_warp<unsigned int>": "unroll/unroll8-warp",
    "unroll8_complete<unsigned int>": "unroll/unroll8-complete",
    "unroll8_template<unsigned int, 1024u>": "unroll/unroll8-template",
    "naive<float, Identity, Atomic, ByBits>": "levels/naive",
    "naive<float, Identity, Atomic, ByModulo<int> >": "levels/naive[test=modulo]",
    "divergence_free<float, Identity, Atomic>": "levels/divergence-free",
    "completely_unrolled<float, Identity, Atomic>": "levels/completely-unrolled",
    "global_stride<float, Identity, {index}, Atomic>": "levels/global-stride",
    "local_stride<float, Identity, {index}, Atomic>": "levels/local-stride",
    "two_launch<unsigned int, Identity, {index}, BlockSize<1024> >": "multiblock/two-launch",
    "last_block<unsigned int, Identity, {index}, BlockSize<1024> >": "multiblock/last-block",
    "last_block_warp<unsigned int, Identity, {index}, BlockSize<1024> >": "multiblock/last-block-warp",
}

# Functions of baselines/host_loops.cpp: elements that an iteration takes, loads for each. The loop of `recursive` is in
# halve(), which may be a function of its own.
HOST_LOOPS = {"plain": ("host/plain", 1, 1), "unroll2": ("host/unroll2", 2, 1), "unroll4": ("host/unroll4", 4, 1),
              "unroll8": ("host/unroll8", 8, 1), "(?:halve|recursive)": ("host/recursive", 1, 2),
              "add": ("host/add-plain", 1, 2), "add2": ("host/add-unroll2", 2, 2), "add4": ("host/add-unroll4", 4, 2)}
HOST_TYPES = {"unsigned int": "i32", "float": "f32"}
LEVELS = ("O0", "O2", "O3")
HOST_SOURCE = PROJECT / "baselines" / "host_loops.cpp"
REMAINDER = re.compile(r"^\s*for \(; i < n; \+\+i\)")

# A tree's index that is halved, as the documents write it and as it could be written, by the index's type.
HALVING_INDICES = {"int": "int", "unsigned": "unsigned int"}
STEPS = {"shift": "s >>= 1", "divide": "s /= 2"}
HALVING_GPU = """extern "C" __global__ void halve_{name}(int* x, {type} n) {{
  for ({type} s = n; s > 0; {step}) {{
    if (threadIdx.x < s) x[threadIdx.x] += x[threadIdx.x + s];
    __syncthreads();
  }}
}}
"""
HALVING_HOST = """extern "C" void halve_{name}(int* x, {type} n) {{
  for ({type} s = n; s > 0; {step}) x[s] += 1;
}}
"""


def halving(text: str) -> dict[str, str]:
    """By name, the source of every combination of type and step."""
    return {f"{name}-{how}": text.format(name=f"{name}_{how}", type=index, step=step)
            for name, index in HALVING_INDICES.items() for how, step in STEPS.items()}


# ------------------------------------------------------------------------------------------------ the compilers' tools


def run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(f"{Path(str(command[0])).name} failed: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout


def find_tool(name: str) -> str | None:
    """On PATH, in the CUDA toolkit, or of the wheel in this Python's site-packages."""
    places = [shutil.which(name), f"/usr/local/cuda/bin/{name}",
              *(p / f"nvidia/cu13/bin/{name}" for p in map(Path, sys.path) if p.name == "site-packages")]
    return next((str(p) for p in places if p and Path(p).exists()), None)


def version_of(compiler: str) -> str:
    said = run(compiler, "--version")
    match = re.search(r"V(\d+\.\d+\.\d+)", said) or re.search(r"(\d+\.\d+\.\d+)", said)
    return match.group(1) if match else ""


def demangled(names: list[str]) -> list[str]:
    """Kernels' names without namespaces and parameters."""
    names_read = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    out = []
    for name in names_read.splitlines():
        name = re.sub(r"\(anonymous namespace\)::|reductio::|device::|on_cuda\w*::|^void ", "", name)
        end = name.find("(", name.index(">") if "<" in name else 0)
        out.append(name[:end] if end >= 0 else name)
    return out


def gpu_rows(cuobjdump: str, reductio: Path) -> tuple[str, list[dict]]:
    """The GPU that the program's code is for, and the rows of its kernels."""
    functions = sass_functions(run(cuobjdump, "-sass", reductio))
    if not functions:
        raise Refused(f"{reductio} holds no GPU code; build it with nvcc")
    by_name: dict[str, str] = {}
    for name, text in zip(demangled(list(functions)), functions.values()):
        by_name.setdefault(name, text)
    rows = []
    for pattern, variant in GPU_KERNELS.items():
        for index in INDICES if "{index}" in pattern else ("",):
            name = pattern.format(index=index)
            if name not in by_name:
                raise Refused(f"{reductio} has no kernel {name}; mend GPU_KERNELS in experiments/compiler.py")
            rows += rows_of(sass(by_name[name]), Source(variant, "f32" if "<float" in name else "i32", index,
                                                        twice=variant.startswith("unroll/")))
    target = re.search(r"\bsm_\d+\w?", run(cuobjdump, "-lelf", reductio))
    return target.group() if target else "", rows


def with_columns(rows: list[dict], **columns: str) -> list[dict]:
    return [{**columns, **row} for row in rows]


def halved(name: str) -> Source:
    return Source(f"halve-{name}", index=HALVING_INDICES[name.split("-")[0]])


def nvcc_rows(nvcc: str, cuobjdump: str, reductio: Path, folder: Path) -> list[dict]:
    target, rows = gpu_rows(cuobjdump, reductio)
    built_by = re.search(rb"Cuda compilation tools, release [\d.]+, V([\d.]+\d)", reductio.read_bytes())
    if built_by and built_by.group(1).decode() != version_of(nvcc):
        raise Refused(f"{reductio} was built by nvcc {built_by.group(1).decode()}, and {nvcc} is {version_of(nvcc)}; "
                      "build it anew")
    source = folder / "halving.cu"
    texts = halving(HALVING_GPU)
    source.write_text("".join(texts.values()))
    run(nvcc, "-O3", f"-arch={target}", "-cubin", source, "-o", folder / "halving.cubin")
    functions = sass_functions(run(cuobjdump, "-sass", folder / "halving.cubin"))
    for name in texts:
        rows += rows_of(sass(functions[f"halve_{name.replace('-', '_')}"]), halved(name))
    return with_columns(rows, compiler="nvcc", version=version_of(nvcc), target=target, level="O3")


def host_rows(compiler: str, folder: Path) -> list[dict]:
    """Of g++ or clang++, at each level."""
    rows = []
    name = Path(compiler).name
    texts = halving(HALVING_HOST)
    remainders = frozenset(i for i, line in enumerate(HOST_SOURCE.read_text().splitlines(), 1) if REMAINDER.match(line))
    (folder / "halving.cpp").write_text("".join(texts.values()))
    for level in LEVELS:
        def code(source: Path, *options: str) -> dict[str, str]:
            built = folder / f"{name}-{level}-{source.stem}.o"
            # -g tells the lines, and changes no code.
            run(compiler, "-std=c++20", "-DNDEBUG", "-g", f"-{level}", *options, "-c", source, "-o", built)
            return x86_functions(run("objdump", "-d", "-l", "-C", "--no-show-raw-insn", built))

        loops = code(HOST_SOURCE, "-DREDUCTIO_HOST_LOOP=host_loop", f"-I{PROJECT}", f"-I{PROJECT / 'src'}")
        here = []
        for function, (kernel, elements, loads) in HOST_LOOPS.items():
            for type_name, element_type in HOST_TYPES.items():
                named = sorted(f for f in loops if re.search(rf"\b{function}<{type_name}>\(", f) and ".cold" not in f)
                if not named:
                    raise Refused(f"{name} -{level} left no function {function}<{type_name}>; mend HOST_LOOPS in "
                                  "experiments/compiler.py")
                here += rows_of(x86(loops[named[0]], level == "O0"),
                                Source(kernel, element_type, "int", elements, loads, remainder_lines=remainders))
        small = code(folder / "halving.cpp")
        for what in texts:
            here += rows_of(x86(small[f"halve_{what.replace('-', '_')}"], level == "O0"), halved(what))
        rows += with_columns(here, compiler=name, version=version_of(compiler), target="x86-64", level=level)
    return rows


def write(path: Path, rows: list[dict]) -> None:
    part = path.with_name(path.name + ".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def main(arguments: list[str]) -> int:
    parser = Parser(prog="compiler.py", description="What the compilers made of the documents' loops")
    parser.add_argument("folder", type=Path, help="the results folder of the machine that the program was measured on")
    parser.add_argument("--reductio", type=Path, default=PROJECT / "build" / "bin" / "reductio")
    parser.add_argument("--keep", type=Path, help="leave what was compiled in this folder")
    options = parser.parse_args(arguments)
    try:
        if not options.folder.is_dir():
            raise Refused(f"{options.folder} is no folder; name a machine's results folder")
        if not options.reductio.exists():
            raise Refused(f"no program at {options.reductio}; build it, or name it by --reductio")
        tools = {name: find_tool(name) for name in ("nvcc", "cuobjdump", "g++", "clang++", "objdump", "c++filt")}
        if not tools["cuobjdump"]:
            raise Refused("no cuobjdump here; pip install -r experiments/compiler-requirements.txt")
        for name, path in tools.items():
            if not path:
                raise Refused(f"no {name} here; install it, the table needs all of its compilers")
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            rows = nvcc_rows(tools["nvcc"], tools["cuobjdump"], options.reductio, folder)
            for compiler in ("g++", "clang++"):
                rows += host_rows(tools[compiler], folder)
    except Refused as why:
        print(f"compiler.py: {why}", file=sys.stderr)
        return 1
    path = options.folder / "compiler.csv"
    write(path, rows)
    recording = subprocess.run([options.reductio, "record", path, "--device", "cpu"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    if recording.returncode:
        print(f"compiler.py: {path} is not in machine.json: {recording.stderr.strip()}", file=sys.stderr)
    print(f"{len(rows)} rows in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
