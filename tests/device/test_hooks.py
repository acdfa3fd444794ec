"""Hooks before accesses to memory stand in kernel files, and nowhere in the host's code, whose times count. They find their
places in stripped programs and in the library for Python, too."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from project import SOURCE

PROGRAM = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio"))
HOOK = re.compile(r"\bcall.*<reductio_(un\w+_)?(volatile_)?(read|write|mem)\w*>")


def functions(program):
    """Address -> (name, the source file that it is of, if it is local)."""
    table, file = {}, ""
    done = subprocess.run(["readelf", "-sW", program], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8:
            continue
        _, value, _, kind, binding, _, _, name = fields[:8]
        if kind == "FILE":
            file = name
        elif kind == "FUNC":
            table[int(value, 16)] = (name, file if binding == "LOCAL" else "")
    return table


def with_hooks(disassembly):
    """The addresses of the functions that call a hook."""
    hooked, at = set(), 0
    for line in disassembly:
        if start := re.match(r"([0-9a-f]+) <", line):
            at = int(start[1], 16)
        elif HOOK.search(line):
            hooked.add(at)
    return hooked


def test_the_linked_program_has_hooks_in_kernel_files_alone():
    if not PROGRAM.exists() or not shutil.which("objdump"):
        pytest.skip("no program, or no objdump")
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", PROGRAM], stdout=subprocess.PIPE, text=True) as reading:
        hooked = with_hooks(reading.stdout)
    known = functions(PROGRAM)
    assert len(hooked) > 100
    # What a kernel file gives to others is in the namespace of the simulated device.
    elsewhere = [known[at] for at in hooked if not known[at][1].endswith(".cu") and "6on_sim" not in known[at][0]]
    assert not elsewhere


def test_a_hook_in_a_host_file_would_be_seen():
    lines = ["0000000000401000 <sum>:", "  401004:\tcall   401800 <reductio_unaligned_read8>", "0000000000401100 <other>:",
             "  401104:\tcall   401900 <reductio_abi>"]
    assert with_hooks(lines) == {0x401000}


def test_no_access_of_a_built_in_kernel_lacks_a_hook():
    if not PROGRAM.exists() or not shutil.which("readelf"):
        pytest.skip("no program, or no readelf")
    read = subprocess.run(["readelf", "-p", "reductio_unhooked", PROGRAM], capture_output=True, text=True, check=True).stdout
    objects = re.findall(r"(hooked (\d+), .*)", read)
    assert sum(int(hooked) for _, hooked in objects) > 10_000
    assert [counts for counts, _ in objects if not counts.endswith(" without 0")] == []


@pytest.mark.parametrize("pointer", ["float*", "ptr"])
def test_an_access_without_a_hook_would_be_counted(tmp_path, pointer):
    """In the code of clang++ 14, and of those whose pointers have no type."""
    byte = "i8*" if pointer != "ptr" else "ptr"
    hooked = f"  call void @__tsan_read4({byte} %a), !dbg !7\n  %v = load float, {pointer} %p, align 4, !dbg !7\n"
    bare = f"  store volatile float %v, {pointer} %p, align 4, !dbg !8\n"
    struct = '%"(anonymous namespace)::S"'
    own = (f"  %l = alloca {struct}\n  %e = getelementptr {struct}, {pointer.replace('float', struct)} %l, i64 0, i64 %i\n"
           f"  store float 1.0, {pointer} %e, align 4\n")
    place = (f"  call void @__tsan_read4({byte} @__llvm_gcov_threadIdx)\n"
             f"  %t = load float, {pointer} @__llvm_gcov_threadIdx, align 4\n")
    odd = f"  %o = load i24, {pointer.replace('float', 'i24')} %p, align 4\n"
    copy = f"  call void @llvm.memcpy.p0.p0.i64({byte} %a, {byte} %a, i64 8, i1 false)\n"

    def of(body, attributes="sanitize_thread"):
        (tmp_path / "attributes").write_text(f"attributes #0 = {{ nounwind {attributes} }}\n")
        (tmp_path / "code").write_text(f"define void @f({pointer} %p) #0 {{\n{body}}}\n")
        script = SOURCE / "src" / "device" / "sim" / "odd_accesses.awk"
        subprocess.run(["awk", "-v", "counts=counts", "-f", script, "attributes", "code"], cwd=tmp_path, check=True,
                       capture_output=True)
        return (tmp_path / "counts").read_text().rstrip("\0")

    assert of(hooked + own + odd + place) == "hooked 2, own 1, place 1, constant 0, host 0, without 0"
    assert of(hooked + bare) == "hooked 1, own 0, place 0, constant 0, host 0, without 1 in f"
    assert of(hooked + f"  %w = load float, {pointer} %p, align 4\n").endswith("without 1 in f"), "a hook counts once"
    assert of(hooked + copy).endswith("without 1 in f")
    assert of(bare, "uwtable").endswith("without 1 in f"), "in a function that has none"


def test_a_stripped_program_names_places(tmp_path):
    built = [path for name in ("reductio_tests", "reductio_unsanitized_tests") if (path := PROGRAM.with_name(name)).exists()]
    if not built or not shutil.which("strip"):
        pytest.skip("no tests of the simulated device, or no strip")
    subprocess.run(["strip", "-o", tmp_path / "stripped", built[0]], check=True)
    # The tests' own kernels, and one that is built in: its line mutants are found by the text of their lines.
    tests = "SimAccesses.*:*MessagesNameTheSharedArray*:*LineMutants.*/multiblock_last_block_warp"
    done = subprocess.run([tmp_path / "stripped", f"--gtest_filter={tests}"], capture_output=True, text=True, cwd=SOURCE)
    assert done.returncode == 0 and "[  PASSED  ] " in done.stdout, done.stdout


def test_the_library_for_python_has_all_hooks():
    library = PROGRAM.parents[1] / "python" / "reductio" / "libreductio.so"
    if not library.exists() or not shutil.which("nm"):
        pytest.skip("no library, or no nm")
    wanted = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True).stdout
    assert "memcpy" in wanted and "reductio_" not in wanted


def test_a_constant_that_a_call_copies_is_one_pointer(tmp_path):
    """A global struct with padding has another type than its name says: clang++ 14 writes it as an expression."""
    constant = "bitcast ({ i32, i8, [3 x i8] }* @x to %struct.S*)"
    (tmp_path / "attributes").write_text("attributes #0 = { sanitize_thread }\n")
    (tmp_path / "code").write_text("define void @g() #0 {\n"
                                   f"  call void @f(%struct.S* byval(%struct.S) align 8 {constant}, i64 8)\n}}\n")
    script = SOURCE / "src" / "device" / "sim" / "odd_accesses.awk"
    done = subprocess.run(["awk", "-f", script, "attributes", "code"], cwd=tmp_path, capture_output=True, text=True,
                          check=True)
    assert f"bitcast %struct.S* {constant} to i8*\n" in done.stdout, done.stdout
