"""Hooks before accesses to memory stand in kernel files, and nowhere in the host's code, whose times count."""

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
