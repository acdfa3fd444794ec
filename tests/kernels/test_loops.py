"""What nvcc makes of each document's loop: as many loads in flight as of a plain transcription of the document.

A kernel that is carried over is another program as soon as its index has another type or a constant became a variable.
transcriptions.cu has the loops as the documents print them; the program holds the PTX of its kernels. In both, loads of
global memory are counted in each stretch without a branch, a label, a store or a barrier: so many are in flight at once.
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
ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(.*?\)[^{;]*\{(.*?)^\}", re.S | re.M)


def loads(body: str) -> list[int]:
    """Of each stretch that has any, how many loads of global memory."""
    counts = [0]
    for line in map(str.strip, body.splitlines()):
        if END.match(line):
            counts.append(0)
        elif LOAD.match(line):
            counts[-1] += 1
    return [count for count in counts if count]


def kernels(ptx: str) -> dict[str, list[int]]:
    """loads() of every kernel, by its readable name without namespaces and parameters."""
    found = {name: loads(body) for name, body in ENTRY.findall(ptx)}
    names = subprocess.run(["c++filt"], input="\n".join(found), capture_output=True, text=True, check=True).stdout.split("\n")
    short = {}
    for name, counts in zip(names, found.values()):
        name = re.sub(r"\(anonymous namespace\)::|reductio::|device::|on_cuda::|^void |\(bool\)[01]", "", name)
        short[name[:name.index("(", name.index(">") if "<" in name else 0)]] = counts
    return short


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, list[int]]:
    if not NVCC:
        pytest.skip("nvcc is not here")
    ptx = tmp_path_factory.mktemp("ptx") / "transcriptions.ptx"
    subprocess.run([NVCC, "-std=c++20", "-O3", "-arch=sm_90", "-diag-suppress=3012", "-ptx", TRANSCRIPTIONS, "-o", ptx],
                   check=True)
    return kernels(ptx.read_text())


@pytest.fixture(scope="module")
def ours() -> dict[str, list[int]]:
    """Of the program, for the first architecture that it holds PTX for."""
    if not REDUCTIO:
        pytest.skip("REDUCTIO_BIN names no program")
    data = Path(REDUCTIO).read_bytes()
    if b"on_cuda" not in data:
        pytest.skip("the program is built without CUDA")
    found: dict[str, list[int]] = {}
    for part in re.split(rb"^\.version \d", data, flags=re.M)[1:]:
        for name, counts in kernels(part.split(b"\0", 1)[0].decode("ascii", "replace")).items():
            found.setdefault(name, counts)
    assert found, "the kernels' PTX is not in the program: is it compressed? (src/device/cuda/CMakeLists.txt)"
    return found


SQUARES, SUM = "unsigned int, Square", "unsigned int, Identity"

# A kernel here at its document's own settings, and the same loop in transcriptions.cu.
LOOPS = {
    f"chunked<{SQUARES}, int, Shape<256, 1> >": "squares_chunked",
    f"strided<{SQUARES}, int, Shape<256, 1> >": "squares_strided<256>",
    f"strided<{SQUARES}, int, Shape<512, 1> >": "squares_strided<512>",
    f"multi_block<{SQUARES}, int, Shape<256, 32> >": "squares_multi_block",
    f"multi_block_tree<{SQUARES}, int, Shape<256, 32> >": "squares_multi_block",
    f"two_launch<{SUM}, int, BlockSize<1024> >": "multiblock_two_launch",
    f"last_block<{SUM}, int, BlockSize<1024> >": "multiblock_two_launch",
    f"last_block_warp<{SUM}, int, BlockSize<1024> >": "multiblock_two_launch",
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
def test_as_many_loads_are_in_flight_as_in_the_document(kernel, ours, documents):
    assert kernel in ours, f"no such kernel; there are {sorted(k for k in ours if k.startswith(kernel.split('<')[0]))}"
    assert max(ours[kernel]) == max(documents[LOOPS[kernel]])


def test_another_index_or_a_chain_is_told_from_the_documents(ours):
    # What this test was written for: an unsigned index, and eight elements in place of one after the other.
    assert max(ours[f"strided<{SQUARES}, unsigned long, Shape<256, 1> >"]) < max(
        ours[f"strided<{SQUARES}, int, Shape<256, 1> >"])
    assert max(ours["unrolled<unsigned int, 8u, Chained>"]) < max(ours["unrolled<unsigned int, 8u, Independent>"])


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
