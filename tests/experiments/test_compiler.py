"""experiments/compiler.py: what is counted in machine code, against what was counted by hand; and its table.

machine_code/ has functions as cuobjdump and objdump printed them, without their encodings.
"""

import csv
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from project import SOURCE

SCRIPT = SOURCE / "experiments" / "compiler.py"
CODE = Path(__file__).with_name("machine_code")
TABLE = SOURCE / "experiments" / "results" / "nvidia-h200" / "compiler.csv"
spec = importlib.util.spec_from_file_location("compiler", SCRIPT)
compiler = importlib.util.module_from_spec(spec)
sys.modules["compiler"] = compiler
spec.loader.exec_module(compiler)


def sass(name: str, change=lambda text: text) -> list:
    [text] = compiler.sass_functions(change((CODE / name).read_text())).values()
    return compiler.sass(text)


def x86(name: str, change=lambda text: text) -> list:
    [text] = compiler.x86_functions(change((CODE / name).read_text())).values()
    return compiler.x86(text, "-O0" in name)


# The loop for what unroll2 leaves: line 37 of baselines/host_loops.cpp when these were made.
REST = frozenset({37})


def loops_told(code, source) -> list[tuple]:
    return [tuple(row.get(c, "") for c in ("loop", "instructions", "loads_per_iteration", "elements_per_load",
                                           "unrolled_by", "shifts", "divisions", "barriers"))
            for row in compiler.rows_of(code, source)]


INTERLEAVED = compiler.Source("unroll/interleaved", twice=True)
BY_HAND = {
    # The tree of the share that is cut off comes first, at 0x150 to 0x260; that of whole shares at 0x350 to 0x420.
    "interleaved.sass": (INTERLEAVED, [("kernel", 72, 6, "", "", 4, 0, 2), ("tree-cut", 18, 2, "", 1, 1, 0, 1),
                                       ("tree", 14, 2, "", 1, 1, 0, 1)]),
    # 0x320 to 0x570, 0x790 to 0x880, 0x8f0 to 0x960; eight of the loads are in no loop, at 0x5d0 and on.
    "strided.sass": (compiler.Source("squares/strided"),
                     [("kernel", 171, 29, "", "", 0, 0, 1), ("main", 38, 16, 1, 16, 0, 0, 0),
                      ("further", 16, 4, 1, 4, 0, 0, 0), ("further", 8, 1, 1, 1, 0, 0, 0)]),
    # movdqu loads four elements; what is left is added one by one, in no loop.
    "g++-O3-plain.objdump": (compiler.Source("host/plain"),
                             [("kernel", 46, 4, "", "", 2, 0, 0), ("main", 5, 1, 4, 4, 0, 0, 0)]),
    # The loop that is unrolled by hand stays as it is, and the one for the rest is unrolled by 8.
    "clang++-O2-unroll2-float.objdump": (
        compiler.Source("host/unroll2", "f32", elements=2, remainder_lines=REST),
        [("kernel", 44, 11, "", "", 0, 0, 0), ("main", 5, 2, 1, 1, 0, 0, 0), ("remainder", 4, 1, 1, 1, 0, 0, 0),
         ("remainder", 11, 8, 1, 8, 0, 0, 0)]),
    # Variables are on the stack, and are no loads.
    "g++-O0-unroll2.objdump": (compiler.Source("host/unroll2", elements=2, remainder_lines=REST),
                               [("kernel", 47, 3, "", "", 0, 0, 0), ("main", 20, 2, 1, 1, 0, 0, 0),
                                ("remainder", 11, 1, 1, 1, 0, 0, 0)]),
    "clang++-O0-halve-int-divide.objdump": (compiler.Source("halve-int-divide"),
                                            [("kernel", 21, 1, "", "", 0, 1, 0), ("main", 13, 1, 1, 1, 0, 1, 0)]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_are_those_by_hand(name):
    source, wanted = BY_HAND[name]
    assert loops_told((sass if name.endswith(".sass") else x86)(name), source) == wanted


# A change to the code, and the loop, column and value that it must change to.
CHANGES = {
    "a load less": ("strided.sass", r"^.*/\*0350\*/.*\n", "", "main", "loads_per_iteration", 15),
    "a load of two": ("strided.sass", r"(/\*0320\*/\s+)\S+ [^;]*;", r"\1LDG.E.64 R2, desc[UR4][R4.64] ;", "main",
                      "unrolled_by", 17),
    "no barrier in the tree": ("interleaved.sass", r"(/\*0400\*/\s+)BAR\S* [^;]*;", r"\1NOP ;", "kernel", "barriers", 1),
    "a warp barrier": ("interleaved.sass", r"(/\*0400\*/\s+)BAR\S* [^;]*;", r"\1NOP ;", "kernel", "warp_barriers", 1),
    "a division": ("interleaved.sass", r"(/\*03f0\*/\s+)USHF\S* [^;]*;", r"\1MUFU.RCP R4, R4 ;", "tree", "divisions", 1),
    "a longer loop": ("interleaved.sass", r"BRA 0x350 ;", "BRA 0x340 ;", "tree", "instructions", 15),
    "vectors of eight": ("g++-O3-plain.objdump", r"%xmm2", "%ymm2", "main", "unrolled_by", 8),
    "no division": ("clang++-O0-halve-int-divide.objdump", r"idiv ", "imul ", "main", "divisions", 0),
    "a shift": ("clang++-O0-halve-int-divide.objdump", r"cltd", "sar    $1,%eax", "main", "shifts", 1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_planted_change_is_seen(change):
    name, pattern, instead, loop, column, value = CHANGES[change]

    def planted(text: str) -> str:
        changed, count = re.subn(pattern, instead, text, flags=re.M)
        assert count > 0, "nothing was planted"
        return changed

    def counts_of(alter) -> dict:
        code = (sass if name.endswith(".sass") else x86)(name, alter)
        return next(r for r in compiler.rows_of(code, BY_HAND[name][0]) if r["loop"] == loop)

    before, after = counts_of(lambda text: text), counts_of(planted)
    assert before[column] != after[column] and after[column] == value


def test_equal_opcodes_are_equal_code_but_registers():
    def hashed(change) -> str:
        return compiler.rows_of(sass("interleaved.sass", change), INTERLEAVED)[0]["opcodes"]

    same = hashed(lambda text: text)
    assert hashed(lambda text: text.replace("R13", "R17")) == same
    assert hashed(lambda text: text.replace("VIADD R7", "IADD3 R7")) != same


def test_a_jump_back_is_a_loop_only_where_its_target_is_passed_first():
    # Code that lies outside of the way and comes back, as for lanes that diverged.
    code = compiler.sass("""
        /*0000*/ BRA.DIV UR4, 0x40 ;
        /*0010*/ LDG.E R0, desc[UR4][R2.64] ;
        /*0020*/ STG.E desc[UR4][R2.64], R0 ;
        /*0030*/ EXIT ;
        /*0040*/ WARPSYNC.COLLECTIVE R6, 0x50 ;
        /*0050*/ BRA 0x10 ;
        /*0060*/ NOP ;""")
    assert compiler.innermost_loops(code) == [] and len(compiler.reachable(code)) == 6


def test_a_loop_behind_a_barrier_is_not_over_the_input():
    code = compiler.sass("""
        /*0000*/ LDG.E R0, desc[UR4][R2.64] ;
        /*0010*/ @P0 BRA 0x0 ;
        /*0020*/ BAR.RED.OR.DEFER_BLOCKING 0x0, P0 ;
        /*0030*/ LDG.E R0, desc[UR4][R2.64] ;
        /*0040*/ LDG.E R1, desc[UR4][R2.64] ;
        /*0050*/ @P0 BRA 0x30 ;
        /*0060*/ EXIT ;""")
    rows = compiler.rows_of(code, compiler.Source("multiblock/last-block"))
    assert [(r["loop"], r.get("unrolled_by")) for r in rows] == [("kernel", None), ("main", 1), ("further", 2)]


def test_of_loops_in_each_other_the_inner_one_counts():
    code = compiler.x86("   0:\tmov    (%rdi),%eax\n   2:\tadd    (%rsi),%eax\n   4:\tjne    2 <f+0x2>\n"
                        "   6:\tdec    %ecx\n   8:\tjne    0 <f>\n   a:\tret\n")
    [loop] = compiler.innermost_loops(code)
    assert [i.address for i in loop] == [2, 4]


@pytest.mark.parametrize("line, bytes_loaded", [
    ("mov    (%rax),%eax", 4), ("mov    %eax,(%rax)", 0), ("add    %eax,(%rax)", 4), ("mov    (%rax),%rdx", 8),
    ("movups 0x10(%rdi,%rax,4),%xmm1", 16), ("addss  (%rdi),%xmm0", 4), ("vpaddd (%rdi),%ymm0,%ymm0", 32),
    ("movups %xmm1,0x10(%rdi)", 0), ("lea    0x4(%rax),%rdx", 0), ("movq   (%rdi),%xmm0", 8),
    ("cmpl   $0x0,(%rdi)", 4), ("mov    0x8(%rsp),%rax", 0), ("addl   $0x1,(%rdi,%rax,4)", 4), ("ret", 0),
    ("mov    (%rdi),%ecx", 4), ("mov    (%rdi),%r8d", 4), ("mov    (%rdi),%r8", 8)])
def test_what_loads(line, bytes_loaded):
    [instruction] = compiler.x86(f"   0:\t{line}\n")
    assert instruction.load_bytes == bytes_loaded


def table() -> list[dict]:
    with TABLE.open(newline="") as file:
        return [{c: r[c] for c in r if c != "run_id"} for r in csv.DictReader(file)]


def test_the_committed_table_has_every_kernel_at_every_level():
    rows = table()
    assert list(rows[0]) == compiler.COLUMNS
    key = ("compiler", "level", "kernel", "element_type", "index")
    have = {tuple(r[c] for c in key) for r in rows if r["loop"] == "kernel"}
    gpu = {("nvcc", "O3", variant, "f32" if "<float" in name else "i32", index) for name, variant in
           compiler.GPU_KERNELS.items() for index in (compiler.INDICES if "{index}" in name else ("",))}
    halves = {f"halve-{name}": compiler.halved(name).index for name in compiler.halving("")}
    gpu |= {("nvcc", "O3", kernel, "i32", index) for kernel, index in halves.items()}
    host = {(c, level, kernel, element_type, "int") for c in ("g++", "clang++") for level in compiler.LEVELS
            for kernel, _, _ in compiler.HOST_LOOPS.values() for element_type in compiler.HOST_TYPES.values()}
    host |= {(c, level, kernel, "i32", index) for c in ("g++", "clang++") for level in compiler.LEVELS
             for kernel, index in halves.items()}
    assert have == gpu | host


@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_the_committed_table_is_what_this_compiler_makes(name, tmp_path):
    path = compiler.find_tool(name)
    wanted = [r for r in table() if r["compiler"] == name]
    if not path or compiler.version_of(path) != wanted[0]["version"]:
        pytest.skip(f"{name} {wanted[0]['version']} is not here")
    made = compiler.host_rows(path, tmp_path)
    assert [{c: str(row.get(c, "")) for c in compiler.COLUMNS} for row in made] == wanted


def test_the_committed_table_is_what_nvcc_makes(tmp_path):
    reductio = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
    nvcc, cuobjdump = compiler.find_tool("nvcc"), compiler.find_tool("cuobjdump")
    if not (nvcc and cuobjdump and reductio.exists()) or b"on_cuda" not in reductio.read_bytes():
        pytest.skip("nvcc, cuobjdump or a program with the GPU's code is not here")
    wanted = [r for r in table() if r["compiler"] == "nvcc"]
    if compiler.version_of(nvcc) != wanted[0]["version"]:
        pytest.skip(f"nvcc {wanted[0]['version']} is not here")
    made = compiler.nvcc_rows(nvcc, cuobjdump, reductio, tmp_path)
    if made[0]["target"] != wanted[0]["target"]:
        pytest.skip("the program is built for another GPU")
    assert [{c: str(row.get(c, "")) for c in compiler.COLUMNS} for row in made] == wanted


def test_kernels_are_known_by_what_nvcc_calls_them():
    """Whatever architectures the namespace of the GPU's kernels is named after."""
    mangled = ("_ZN8reductio48_GLOBAL__N__0f2cfe0e_10_squares_cu_8b56b2c7_42227chunkedI{type}NS_6device25"
               "on_cuda_900_0_0_0_0_0_0_06SquareE{index}NS0_5ShapeILi256ELi1EEEEEvNS3_5InputIT_T0_EEPS8_PxT1_")
    names = [mangled.format(type=code, index="m") for code in "jf"]
    plain = [name.replace("25on_cuda_900_0_0_0_0_0_0_0", "7on_cuda") for name in names]
    wanted = [f"chunked<{t}, Square, unsigned long, Shape<256, 1> >" for t in ("unsigned int", "float")]
    assert compiler.demangled(names) == compiler.demangled(plain) == wanted
    assert wanted[0].replace("unsigned long", "{index}") in compiler.GPU_KERNELS


def test_what_is_missing_is_one_line(tmp_path):
    def said(*arguments, **environment) -> str:
        done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment})
        assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "is no folder" in said(tmp_path / "none")
    assert "no program at" in said(tmp_path, "--reductio", tmp_path / "none")
    assert not (tmp_path / "compiler.csv").exists()
