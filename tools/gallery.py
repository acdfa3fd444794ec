#!/usr/bin/env python3
"""The gallery of docs/kernels.md: a picture of each kernel of a document, of modern's and of tuned's finishes.

    python tools/gallery.py --out DIR [--reductio PATH]      draws the pictures

tools/summary.py writes the tables around them, and docs/kernels.csv: what a kernel does, by the head of its source; the
claims on it; its counts, by experiments/results/counts.csv.gz; its time, by a machine's results.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "src")]

import pandas as pd  # noqa: E402

import claims  # noqa: E402
from report import results as rs  # noqa: E402
from report.command_line import Parser  # noqa: E402
from text.latex import microseconds as us_in_csv  # noqa: E402

COUNTS = ROOT / "experiments" / "results" / "counts.csv.gz"
PROFILED = ROOT / "experiments" / "results" / "nvidia-h200-counts" / "counts.csv.gz"
SOURCES = ("squares", "twopass", "unroll", "levels", "multiblock", "modern", "tuned")


def one_in(elements: int, *settings: str) -> dict[str, tuple[str, ...]]:
    return {"": ("--every", str(elements), *settings)}


# How `reductio draw` is called of a kernel, or of a source, where 16 elements would not show what it teaches: blocks
# that have little to do show how they finish, and sums of i32 can be read from words that hold more.
LAUNCHES = {
    "squares": one_in(8), "multiblock": one_in(4), "modern": one_in(8), "modern/shuffle": one_in(4),
    "modern/warp-reduce": one_in(4), "modern/loads-in-flight": one_in(32), "modern/fan-in": one_in(16, "--types", "i32"),
    "modern/packed-atomic": one_in(16), "unroll/unroll2": one_in(4), "unroll/unroll4": one_in(8),
    **{f"unroll/unroll8{more}": one_in(16) for more in ("", "-warp", "-complete", "-template")},
    **{f"levels/{which}-stride": one_in(8, "--set", "granularity=2") for which in ("global", "local")},
    "tuned/sum": {"one block": (), "packed atomics": ("--every", "256", "--types", "i32", "--set", "reading=strided"),
                  "cluster": ("--every", "512", "--types", "i32", "--set", "reading=cluster")},
}
# Two are drawn like tuned/sum; the third is refused, since its result is wrong.
LEFT_OUT = {"tuned/sum-any-order", "tuned/sum-raw-workspace", "twopass/multiple-of-32"}
H200_SMS = 132


def described(source: str) -> dict[str, str]:
    """What the head of a source says of each of its variants."""
    head = (ROOT / "src" / "kernels" / f"{source}.cu").read_text(encoding="utf-8")
    return {variant: words for variant, words in re.findall(r"^///   (\w+/[\w-]+) +(.+)$", head, re.MULTILINE)
            if variant not in LEFT_OUT}


def pictures() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """By the file's name: a variant, which of its launches it is, and how that is drawn."""
    return {"-".join((variant.replace("/", "-"), *words.split())) + ".svg": (variant, words, options)
            for source in SOURCES for variant in described(source)
            for words, options in LAUNCHES.get(variant, LAUNCHES.get(source, {"": ()})).items()}


def gallery(_results: rs.Results) -> str:
    """The pictures of each source, below each other: beside each other their words would be too small."""
    parts = []
    for source in SOURCES:
        drawn = [f"![{variant}{launch and f', {launch}'}](kernels/{name})" for name, (variant, launch, _) in pictures().items()
                 if variant in described(source)]
        parts += [f"### [{source}](../src/kernels/{source}.cu)", *drawn]
    return "\n\n".join(parts)


def facts_of_kernels(results: rs.Results) -> str:
    """CSV: what each kernel of the gallery does, the claims that name it, its counts and its time."""
    verdicts, counts, times = claims.judged(results), counts_by_variant(), times_by_variant(results)
    rows = [{"variant": variant, "what_it_does": words, "claims": " ".join(claims_on(variant, verdicts)),
             **counts.get(variant, {}), **times.get(variant, {})}
            for source in SOURCES for variant, words in described(source).items()]
    columns = ["variant", "what_it_does", "claims", "element_type", *COUNTED, "time_us", "timing_mode"]
    return pd.DataFrame(rows, columns=columns, dtype=object).to_csv(index=False, lineterminator="\n")


def claims_on(variant: str, verdicts: dict) -> list[str]:
    """The claims that are judged by it, as the faster side or the other."""
    return [claim for claim, (first, tests, _) in verdicts.items()
            if variant in {call.split(":")[0] for side in ("variant", "base") for call in (first[side], *tests[side])}]


def left_out_by_nvcc(row: dict) -> int:
    """What the source's loads count and the machine code's do not: docs/kernels.md says which loads."""
    size = {"i32": 4, "f32": 4, "f64": 8}[row["element_type"]]
    unit = row["counter"].rsplit(" ")[-1]
    if row["counter"].startswith("global load") and "load=chained" in row["settings"]:
        summands = int(row["variant"][-1])  # unroll/unroll4: the sum so far is loaded again for all but one addition
        return (summands - 2) * (row["n"] // summands // 32) * {"requests": 1, "sectors": size}[unit]
    if row["counter"].startswith("shared load") and row["variant"] in ("multiblock/two-launch", "multiblock/last-block"):
        trees, warps = 2 * H200_SMS + 1, 32  # two blocks for each SM, and one for their sums; thread 0's load is left
        return trees * {"requests": warps - 1, "wavefronts": warps * size // 4 - 1, "conflicts": 0}[unit]
    return 0


def agreement(_results: rs.Results) -> str:
    """Of each counter how often it is Nsight Compute's, as it is or without what nvcc leaves out, and by how much the
    others differ. Counters that agree alike share a line."""
    counters, rows = {}, rs.read_csv(PROFILED)
    rows["left"] = rows["simulated"] - [left_out_by_nvcc(row) for row in rows.to_dict("records")]
    for counter, of in rows.groupby("counter", sort=False):
        equal, explained = of["simulated"] == of["profiled"], of["left"] == of["profiled"]
        off = of["profiled"][~explained] / of["left"] - 1
        cells = (str(len(of)), str(equal.sum()), str((explained & ~equal).sum() or ""),
                 f"{(~explained).sum()}, by up to {100 * off.max():.1f} %" if not explained.all() else "")
        what, _, unit = counter.rpartition(" ")
        counters.setdefault((what, cells), []).append(unit)
    return "\n".join(["| counter | compared | equal | fewer, by nvcc | more, as warps collide |", "|---|--:|--:|--:|--:|",
                      *(f"| {what} {', '.join(units)} | {' | '.join(cells)} |" for (what, cells), units in counters.items())])


COUNTED = ("sectors_per_load", "used_percent", "block_barriers", "longest_chain")


def counts_by_variant() -> dict[str, dict]:
    found = {}
    for variant, rows in rs.read_csv(COUNTS).groupby("variant"):
        c = dict(zip(rows["counter"], rows["simulated"]))
        found[variant] = dict(zip(COUNTED, (
            f"{c['global load sectors'] / c['global load requests']:.3g}",
            f"{100 * c['global load bytes'] / (32 * c['global load sectors']):.0f}", c["block barriers"], c.get("longest chain", ""))))
    return found


def times_by_variant(results: rs.Results) -> dict[str, dict]:
    """Of 2^24 elements by the standard launch, on the device where it ends there; of f32 and of the comparison, if both
    have it."""
    found = {}
    for experiment in ("modern", "comparison"):
        table = rs.where_is(results.experiment(experiment), n=2**24, status="ok", device="cuda", by_default=True, caller="",
                            timing_mode=["device", "end_to_end"], element_type=["i32", "f32"])
        for row in table.sort_values(["element_type", "timing_mode"], ascending=False, kind="stable").itertuples():
            found[row.variant] = dict(element_type=row.element_type, time_us=us_in_csv(row.time_median_s),
                                      timing_mode=row.timing_mode)
    return found


def draw(reductio: str, variant: str, options: tuple[str, ...]) -> str:
    done = subprocess.run([reductio, "draw", variant, "--n", "16", *options], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"gallery.py: {variant}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    parser = Parser(prog="gallery.py", description="Draws the gallery of kernels")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "kernels", metavar="DIR")
    parser.add_argument("--reductio", default=str(ROOT / "build" / "bin" / "reductio"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    size = sum((options.out / name).write_text(draw(options.reductio, variant, how))
               for name, (variant, _, how) in pictures().items())
    print(f"{len(pictures())} pictures, {size / 1024:.0f} KiB; {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
