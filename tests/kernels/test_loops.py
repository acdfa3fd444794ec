"""What nvcc makes of each document's loop: as many loads before it waits as of a plain transcription of the document.

A kernel that is carried over is another program as soon as its index has another type or a constant became a variable.
transcriptions.cu has the loops as the documents print them; the program holds the PTX of its kernels. In both, loads of
global memory are counted in each stretch of PTX without a branch, a label, a store or a barrier. And both fit as many
blocks of 1024 on an SM, which their registers decide.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REDUCTIO = os.environ.get("REDUCTIO_BIN", "")

NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
TRANSCRIPTIONS = Path(__file__).with_name("transcriptions.cu")

# What ends a stretch: a label, a branch, a store, a barrier, a fence, an atomic.
END = re.compile(r"^(?:\$\S+:|(?:@!?%p\d+\s+)?(?:bra|ret|st|bar|barrier|membar|fence|atom|red)\b)")
LOAD = re.compile(r"^(?:@!?%p\d+\s+)?ld\.(?:volatile\.)?global\b")
# To the brace that no instruction follows: inline assembly has braces of its own.
ENTRY = re.compile(r"^[^\n]*\.entry\s+([\w$]+)\s*\(.*?\)[^{;]*\{(.*?)^\}\s*$(?!\n[\t ]*\w)", re.S | re.M)


def loads(body: str) -> list[int]:
    """Of each stretch that has any, how many loads of global memory."""
    counts = [0]
    for line in map(str.strip, body.splitlines()):
        if END.match(line):
            counts.append(0)
        elif LOAD.match(line):
            counts[-1] += 1
    return [count for count in counts if count]


def readable(mangled: list[str]) -> list[str]:
    """Kernels' names without namespaces and parameters."""
    demangled = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True).stdout
    names = []
    for name in demangled.splitlines():
        name = re.sub(r"\(anonymous namespace\)::|reductio::|device::|on_cuda\w*::|^void ", "", name)
        names.append(name[:name.index("(", name.index(">") if "<" in name else 0)])
    return names


class Modules:
    """Kernels in PTX, by their readable names."""

    def __init__(self) -> None:
        self.of: dict[str, tuple[str, re.Match]] = {}  # each with its module

    def add(self, ptx: str) -> None:
        entries = list(ENTRY.finditer(ptx))
        for name, entry in zip(readable([e.group(1) for e in entries]), entries):
            self.of.setdefault(name, (ptx, entry))

    def loads(self, name: str) -> int:
        """Most loads of global memory in one stretch."""
        return max(loads(self.of[name][1].group(2)))

    def registers(self, name: str, folder: Path) -> int:
        """Of each thread, as ptxas gives them to that kernel on compute capability 9.0."""
        ptx, entry = self.of[name]
        before = ptx[:ENTRY.search(ptx).start()]
        (folder / "one.ptx").write_text(re.sub(r"\.target \w+", ".target sm_90", before) + entry.group(0))
        assembled = subprocess.run([Path(NVCC).with_name("ptxas"), "-v", "-arch=sm_90", folder / "one.ptx",
                                    "-o", folder / "one.cubin"], capture_output=True, text=True)
        assert assembled.returncode == 0, assembled.stderr
        return int(re.search(r"Used (\d+) registers", assembled.stderr).group(1))


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> Modules:
    if not NVCC:
        pytest.skip("nvcc is not here")
    ptx = tmp_path_factory.mktemp("ptx") / "transcriptions.ptx"
    subprocess.run([NVCC, "-std=c++20", "-O3", "-arch=sm_90", "-diag-suppress=3012", "-ptx", TRANSCRIPTIONS, "-o", ptx],
                   check=True)
    modules = Modules()
    modules.add(ptx.read_text())
    return modules


@pytest.fixture(scope="module")
def ours() -> Modules:
    """Of the program, for the first architecture that it holds PTX for."""
    if not REDUCTIO:
        pytest.skip("REDUCTIO_BIN names no program")
    data = Path(REDUCTIO).read_bytes()
    if b"on_cuda" not in data:
        pytest.skip("the program is built without CUDA")
    modules = Modules()
    for part in re.split(rb"^(?=\.version \d)", data, flags=re.M)[1:]:
        modules.add(part.split(b"\0", 1)[0].decode("ascii", "replace"))
    assert modules.of, ("the kernels' PTX is not in the program: is it compressed (src/device/cuda/CMakeLists.txt), or "
                        "built for architectures that have none (90-real)?")
    return modules


SQUARES, SUM = "unsigned int, Square", "unsigned int, Identity"

# A kernel here at its document's own settings, and the same loop in transcriptions.cu.
LOOPS = {
    f"chunked<{SQUARES}, int, Shape<256, 1> >": "squares_chunked",
    f"strided<{SQUARES}, int, Shape<256, 1> >": "squares_strided<256>",
    f"strided<{SQUARES}, int, Shape<512, 1> >": "squares_strided<512>",
    f"multi_block<{SQUARES}, int, Shape<256, 32> >": "squares_multi_block",
    f"multi_block_tree<{SQUARES}, int, Shape<256, 32> >": "squares_multi_block",
    f"two_launch<{SUM}, int, BlockSize<1024> >": "multiblock_two_launch",
    f"last_block<{SUM}, int, BlockSize<1024> >": "multiblock_last_block",
    f"last_block_warp<{SUM}, int, BlockSize<1024> >": "multiblock_last_block",
    f"rolled<{SUM}, unsigned long>": "twopass_rolled",
    f"warp_unrolled<{SUM}, unsigned long>": "twopass_rolled",
    f"template_unrolled<{SUM}, unsigned long, 256u>": "twopass_rolled",
    "global_stride<float, Identity, int, Atomic>": "levels_global_stride",
    "local_stride<float, Identity, int, Atomic>": "levels_local_stride",
    "unrolled<unsigned int, 2u, Chained>": "unroll_chained<2>",
    "unrolled<unsigned int, 4u, Chained>": "unroll_chained<4>",
    "unrolled<unsigned int, 8u, Chained>": "unroll_chained<8>",
    "unrolled<unsigned int, 8u, Independent>": "unroll_warp8",
    "unroll8_warp<unsigned int>": "unroll_warp8",
    "unroll8_complete<unsigned int>": "unroll_warp8",
    "unroll8_template<unsigned int, 1024u>": "unroll_warp8",
}


@pytest.mark.parametrize("kernel", LOOPS)
def test_as_many_loads_are_under_way_as_in_the_document(kernel, ours, documents):
    assert kernel in ours.of, f"there are {sorted(k for k in ours.of if k.startswith(kernel.split('<')[0]))}"
    assert ours.loads(kernel) == documents.loads(LOOPS[kernel])


def test_as_many_blocks_fit_an_sm_as_of_the_document(ours, documents, tmp_path):
    # 65,536 registers an SM, so two blocks of 1024 where a thread has 32 at most; they are given out by eights.
    def blocks(registers: int) -> int:
        return 65536 // (1024 * -(-registers // 8) * 8)

    for kernel, document in LOOPS.items():
        if kernel.startswith(("two_launch", "last_block")):
            assert blocks(ours.registers(kernel, tmp_path)) == blocks(documents.registers(document, tmp_path)), kernel


# The loops of LOOPS that go by one stride until one condition fails; in a chunk i grows by one, in levels there are two.
PLAIN = re.compile(r"^(strided|multi_block(_tree)?|two_launch|last_block(_warp)?|rolled|(warp|template)_unrolled)<")


@pytest.mark.parametrize("kernel", [k for k in LOOPS if re.search(r", (int|unsigned long)\b", k)])
def test_a_plain_loop_is_unrolled_over_a_signed_index_alone(kernel, ours):
    """What the paper says of the experiment `index`."""
    def with_index(index: str) -> str:
        return re.sub(r", (int|unsigned long)\b", f", {index}", kernel.replace("float", "unsigned int"))

    signed, unsigned = ({ours.loads(with_index(index)) for index in types}
                        for types in (("int", "long"), ("unsigned int", "unsigned long")))
    assert len(signed) == len(unsigned) == 1
    assert (signed, unsigned) == ({4}, {1}) if PLAIN.match(kernel) else signed == unsigned


def test_another_index_or_a_chain_is_told_from_the_documents(ours):
    # What this test was written for: an unsigned index, and eight elements in place of one after the other.
    assert ours.loads(f"strided<{SQUARES}, unsigned long, Shape<256, 1> >") < ours.loads(
        f"strided<{SQUARES}, int, Shape<256, 1> >")
    assert ours.loads("unrolled<unsigned int, 8u, Chained>") < ours.loads("unrolled<unsigned int, 8u, Independent>")


def test_loads_are_counted_between_branches_labels_stores_and_barriers():
    assert loads("""
        ld.param.u64 %rd1, [p];
        ld.global.u32 %r1, [%rd1];
        ld.global.nc.u32 %r2, [%rd1+4];
        @%p1 bra $L__BB0_2;
        ld.global.u32 %r3, [%rd1+8];
        st.global.u32 [%rd1], %r3;
        ld.volatile.global.u32 %r3, [%rd1+8];
        bar.sync 0;
        ld.shared.u32 %r4, [%r1];
        $L__BB0_2:
        ld.global.u32 %r3, [%rd1+8];
        $L__BB0_3:
        ret;""") == [2, 1, 1, 1]
