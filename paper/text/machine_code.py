"""What the compilers made of the documents' loops: compiler.csv, made by experiments/compiler.py, as Markdown."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import pandas as pd

import results as rs
from results import Results

FILE = "compiler.csv"
NUMBERS = ["instructions", "elements_per_load", "unrolled_by", "divisions", "barriers"]
COLUMNS = rs.Columns(["compiler", "version", "level", "kernel", "element_type", "index", "loop", "opcodes", *NUMBERS],
                     NUMBERS)
INDICES = ("int", "long", "unsigned int", "unsigned long")
LEVELS = ("O0", "O2", "O3")
HOST = ("g++", "clang++")


def read(results: Results) -> pd.DataFrame | None:
    path = results.folder / FILE
    return rs.read_table(path, COLUMNS) if path.exists() else None


def of(table: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table


def unrolled(rows: pd.DataFrame) -> str:
    """Of a kernel's main loop: "16", "32 (vectors of 4)"."""
    if not len(rows):
        return "no loop"
    row = rows.iloc[0]
    wide = f" (vectors of {row['elements_per_load']:.0f})" if row["elements_per_load"] > 1 else ""
    return f"{row['unrolled_by']:.3g}{wide}"


def listing(words: list[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words) or "none"


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def by_index(gpu: pd.DataFrame) -> list[str]:
    lines = [f"| elements an iteration, by the index's type | {' | '.join(INDICES)} |", "|---|" + "--:|" * len(INDICES)]
    for kernel in dict.fromkeys(gpu[gpu["index"].isin(INDICES) & ~gpu["kernel"].str.startswith("halve-")]["kernel"]):
        there = of(gpu, kernel=kernel, loop="main")
        lines.append(f"| `{kernel}` | " + " | ".join(unrolled(of(there, index=i)) for i in INDICES) + " |")
    return lines


def trees(gpu: pd.DataFrame) -> list[str]:
    lines = ["| the tree | is | instructions of an iteration | of the kernel | divisions | barriers |",
             "|---|---|--:|--:|--:|--:|"]
    own = {"int", ""}
    for kernel in dict.fromkeys(gpu[~gpu["kernel"].str.startswith("halve-")]["kernel"]):
        there = of(gpu, kernel=kernel)
        there = there[there["index"].isin(own)]
        whole, tree = of(there, loop="kernel").iloc[0], of(there, loop="tree")
        if not len(tree) and whole["barriers"] < 2:
            continue  # it has none
        loop = f"{tree.iloc[0]['instructions']:.0f}" if len(tree) else ""
        counts = " | ".join(f"{whole[c]:.0f}" for c in ("instructions", "divisions", "barriers"))
        lines.append(f"| `{kernel}` | {'a loop' if len(tree) else 'written out'} | {loop} | {counts} |")
    return lines


def hosts(table: pd.DataFrame) -> list[str]:
    columns = [(c, level) for c in HOST for level in LEVELS]
    lines = [f"| times that its i32 loop is unrolled | {' | '.join(f'{c} -{level}' for c, level in columns)} |",
             "|---|" + "--:|" * len(columns)]
    return lines + [f"| `{kernel}` | {' | '.join(fields)} |" for kernel, fields in host_loops(table)]


@dataclass
class Kernel:
    """One kernel of the GPU."""

    kernel: str
    unrolled: list[str]   # by INDICES, what `unrolled` tells; "" where it has no such index
    tree: str             # "a loop", "written out", "" without a tree
    counts: list[float]   # instructions, divisions and barriers of the whole kernel, with its document's own index


def kernels(table: pd.DataFrame) -> list[Kernel]:
    """Every kernel of the documents, in the file's order."""
    gpu, found = of(table, compiler="nvcc"), []
    for kernel in dict.fromkeys(gpu[~gpu["kernel"].str.startswith("halve-")]["kernel"]):
        there = of(gpu, kernel=kernel)
        main, own = of(there, loop="main"), there[there["index"].isin({"int", ""})]
        whole, tree = of(own, loop="kernel"), of(own, loop="tree")
        if len(whole):
            how = "a loop" if len(tree) else "written out" if whole.iloc[0]["barriers"] >= 2 else ""
            found.append(Kernel(kernel, [unrolled(at) if len(at := of(main, index=i)) else "" for i in INDICES], how,
                                [float(whole.iloc[0][c]) for c in ("instructions", "divisions", "barriers")]))
    return found


def host_loops(table: pd.DataFrame) -> list[tuple[str, list[str]]]:
    """Each loop of the host over i32, by compiler and level."""
    there = of(table, element_type="i32", loop="main")
    return [(kernel, [unrolled(of(there, kernel=kernel, compiler=c, level=level)) for c in HOST for level in LEVELS])
            for kernel in dict.fromkeys(there[there["kernel"].str.startswith("host/")]["kernel"])]


def same_code(table: pd.DataFrame, one: str, other: str) -> bool:
    """Whether two kernels of one compiler have the same opcodes in the same order."""
    codes = [list(of(table, kernel=k, loop="kernel")["opcodes"]) for k in (one, other)]
    return bool(codes[0]) and codes[0] == codes[1]


def halving(table: pd.DataFrame) -> str:
    """Where a shift and a division by two are the same code, and where they are not."""
    same: list[str] = []
    differ: list[str] = []
    for (compiler, level), there in table.groupby(["compiler", "level"], sort=False):
        for index in ("int", "unsigned"):
            where = f"{compiler} -{level} ({index})"
            if same_code(there, f"halve-{index}-shift", f"halve-{index}-divide"):
                same.append(where)
            else:
                counts = [of(there, kernel=f"halve-{index}-{how}", loop="kernel").iloc[0]
                          for how in ("shift", "divide")]
                by = f"{counts[0]['instructions']:.0f} and {counts[1]['instructions']:.0f} instructions"
                differ.append(where + f" with {by}" + (", one a division" if counts[1]["divisions"] else ""))
    return (f"A loop that halves its index has the same code with `>>= 1` and with `/= 2` by {listing(same)}; another "
            f"by {listing(differ)}.")


def markdown(results: Results) -> str:
    """Three tables and two sentences; empty where the folder has no compiler.csv."""
    table = read(results)
    if table is None:
        return ""
    versions = listing([f"{c} {v}" for c, v in dict.fromkeys(zip(table["compiler"], table["version"]))])
    gpu = of(table, compiler="nvcc")
    pairs = (("unroll/unroll8-warp", "unroll/unroll8-complete"), ("unroll/unroll8-complete", "unroll/unroll8-template"))
    compared = listing([f"`{a}` has {'the same code as' if same_code(gpu, a, b) else 'other code than'} `{b}`"
                        for a, b in pairs])
    said = f"By {versions}. The kernels of `unroll` hold each tree twice, so they have twice the barriers."
    return "\n".join([*wrapped(said), "", *by_index(gpu), "", *trees(gpu), "", *wrapped(compared + "."), "",
                      *hosts(table), "", *wrapped(halving(table))])
