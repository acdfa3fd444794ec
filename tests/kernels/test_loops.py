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


def by_readable_name(found: dict) -> dict:
    """By the names of kernels without namespaces and parameters."""
    names = subprocess.run(["c++filt"], input="\n".join(found), capture_output=True, text=True, check=True).stdout.split("\n")
    short = {}
    for name, value in zip(names, found.values()):
        name = re.sub(r"\(anonymous namespace\)::|reductio::|device::|on_cuda::|^void |\(bool\)[01]", "", name)
        short[name[:name.index("(", name.index(">") if "<" in name else 0)]] = value
    return short


def kernels(ptx: str) -> dict[str, list[int]]:
    """loads() of every kernel."""
    return by_readable_name({name: loads(body) for name, body in ENTRY.findall(ptx)})


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, list[int]]:
    if not NVCC:
        pytest.skip("nvcc is not here")
    ptx = tmp_path_factory.mktemp("ptx") / "transcriptions.ptx"
    subprocess.run([NVCC, "-std=c++20", "-O3", "-arch=sm_90", "-diag-suppress=3012", "-ptx", TRANSCRIPTIONS, "-o", ptx],
                   check=True)
    return kernels(ptx.read_text())


@pytest.fixture(scope="module")
def ptx() -> list[str]:
    """All that the program holds."""
    if not REDUCTIO:
        pytest.skip("REDUCTIO_BIN names no program")
    data = Path(REDUCTIO).read_bytes()
    if b"on_cuda" not in data:
        pytest.skip("the program is built without CUDA")
    return [part.split(b"\0", 1)[0].decode("ascii", "replace") for part in re.split(rb"^(?=\.version \d)", data, flags=re.M)[1:]]


@pytest.fixture(scope="module")
def ours(ptx) -> dict[str, list[int]]:
    """Of the program, for the first architecture that it holds PTX for."""
    found: dict[str, list[int]] = {}
    for part in ptx:
        for name, counts in kernels(part).items():
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


# The loops of LOOPS that go by one stride until one condition fails; in a chunk i grows by one, in levels there are two.
PLAIN = re.compile(r"^(strided|multi_block(_tree)?|two_launch|last_block(_warp)?|rolled|(warp|template)_unrolled)<")


@pytest.mark.parametrize("kernel", [k for k in LOOPS if re.search(r", (int|unsigned long)\b", k)])
def test_a_plain_loop_is_unrolled_over_a_signed_index_alone(kernel, ours):
    """What the paper says of the experiment `index`."""
    signed, unsigned = ({max(ours[re.sub(r", (int|unsigned long)\b", f", {index}", kernel.replace("float", "unsigned int"))])
                         for index in types} for types in (("int", "long"), ("unsigned int", "unsigned long")))
    assert len(signed) == len(unsigned) == 1
    assert (signed, unsigned) == ({4}, {1}) if PLAIN.match(kernel) else signed == unsigned


def test_two_blocks_of_last_block_do_not_fit_a_multiprocessor(ptx, tmp_path):
    """What the paper says of registers: a multiprocessor has 65,536, so 32 a thread for two blocks of 1024."""
    if not NVCC:
        pytest.skip("nvcc is not here")
    found: dict[str, int] = {}
    for k, part in enumerate(p for p in ptx if "last_block" in p and ".target sm_90" in p):
        (tmp_path / f"{k}.ptx").write_text(part)
        said = subprocess.run([Path(NVCC).with_name("ptxas"), "-arch=sm_90", "-v", tmp_path / f"{k}.ptx", "-o", tmp_path / "cubin"],
                              capture_output=True, text=True, check=True).stderr
        found |= by_readable_name({name: int(count) for name, count in
                                   re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", said, re.S)})
    if not found:
        pytest.skip("the program holds no PTX of this architecture")
    for index in ("int", "long", "unsigned int", "unsigned long"):
        of = {name: found[f"{name}<{SUM}, {index}, BlockSize<1024> >"] for name in ("last_block", "last_block_warp", "two_launch")}
        assert of["last_block"] > 32 >= max(of["last_block_warp"], of["two_launch"]), (index, of)


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
