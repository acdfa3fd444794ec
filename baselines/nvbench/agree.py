"""Compares reductio's cold device medians of cub/sum with nvbench's of the same call.

    python baselines/nvbench/agree.py --reductio A/comparison.csv... --nvbench 1.json[.gz]... [--out agreement.csv]

Of several allocations and runs the median of their medians counts. Give each run of reductio hundreds of samples
(--min-samples 160): where CUB launches two kernels, its call takes one of two times about 1 us apart, about equally
often, so that chance decides where between them the median of a few samples lies. Prints a row for each type and size.
Exit code 1 if a point differs by more than is allowed: 3 % from 2^22 elements on, 6 % below. The spreads in the file are
the largest over the smallest median, less 1.
"""

import argparse
import gzip
import json
import sys

import pandas as pd

TYPES = {"U32": "i32", "I32": "i32", "F32": "f32", "F64": "f64"}


def nvbench_medians(path):
    """element_type, n, l2_overwritten and nvbench's medians of one run, over its allocations; nvbench_samples of all
    together."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        benchmarks = json.load(file)["benchmarks"]
    rows = []
    for state in (s for b in benchmarks for s in b["states"] if not s["is_skipped"]):
        axes = {a["name"]: a["value"] for a in state["axis_values"]}
        summaries = {s["tag"]: {d["name"]: d["value"] for d in s["data"]} for s in state["summaries"]}
        rows.append({
            "element_type": TYPES[axes["type"].upper()],
            "n": int(axes["n"]),
            "l2_overwritten": int(axes["l2_overwritten"]),
            "nvbench_median_s": float(summaries["nv/cold/time/gpu/median"]["value"]),
            "nvbench_samples": int(summaries["nv/cold/sample_size"]["value"]),
        })
    return pd.DataFrame(rows).groupby(["l2_overwritten", "element_type", "n"]).agg(
        nvbench_median_s=("nvbench_median_s", "median"), nvbench_samples=("nvbench_samples", "sum")).reset_index()


def reductio_medians(path):
    """machine, element_type, n, time_median_s, n_samples of cub/sum in one run."""
    rows = pd.read_csv(path, keep_default_na=False)
    rows = rows[(rows.variant == "cub/sum") & (rows.timing_mode == "device") & (rows.cache_state == "cold_dirty")
                & (rows.status == "ok") & (rows.operation == "sum")]
    for column in ("n", "time_median_s", "n_samples"):
        rows = rows.assign(**{column: pd.to_numeric(rows[column])})
    return rows[["machine", "element_type", "n", "time_median_s", "n_samples"]]


def agreement(comparisons, nvbenches):
    """A row for each type and size that both have, over as many runs of each as have it. Of nvbench's, those with twice
    L2 overwritten before each call, as reductio does; once, as nvbench does by itself, decides nothing."""
    def over_runs(table, **summaries):
        return table.groupby(["element_type", "n"]).agg(**summaries).reset_index()

    def spread(medians):
        return medians.max() / medians.min() - 1

    ours = over_runs(pd.concat([reductio_medians(p) for p in comparisons]),
                     reductio_runs=("n", "size"), machine=("machine", "first"),
                     reductio_median_s=("time_median_s", "median"), reductio_spread=("time_median_s", spread),
                     reductio_samples=("n_samples", "sum"))
    nvbench = pd.concat([nvbench_medians(p) for p in nvbenches])
    if 2 not in nvbench.l2_overwritten.values:
        sys.exit("agree.py: no run of nvbench overwrites L2 twice; give one with l2_overwritten=2")
    once = over_runs(nvbench[nvbench.l2_overwritten == 1], nvbench_once_median_s=("nvbench_median_s", "median"))
    theirs = over_runs(nvbench[nvbench.l2_overwritten == 2], nvbench_runs=("n", "size"),
                       nvbench_median_s=("nvbench_median_s", "median"), nvbench_spread=("nvbench_median_s", spread),
                       nvbench_samples=("nvbench_samples", "sum"))
    table = ours.merge(theirs, on=["element_type", "n"]).merge(once, on=["element_type", "n"], how="left")
    table["difference"] = table.reductio_median_s / table.nvbench_median_s - 1
    table["allowed"] = table.n.map(lambda n: 0.03 if n >= 2**22 else 0.06)
    return table.sort_values(["element_type", "n"]).reset_index(drop=True)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reductio", nargs="+", required=True)
    parser.add_argument("--nvbench", nargs="+", required=True)
    parser.add_argument("--out")
    options = parser.parse_args(arguments)
    table = agreement(options.reductio, options.nvbench)
    if table.empty:
        sys.exit("agree.py: these files have no type and size in common")
    shown = table[["element_type", "n", "reductio_median_s", "nvbench_median_s", "difference", "allowed"]]
    print(shown.to_string(index=False, formatters={
        "reductio_median_s": "{:.4g}".format, "nvbench_median_s": "{:.4g}".format,
        "difference": "{:+.2%}".format, "allowed": "{:.0%}".format}))
    if options.out:
        table.to_csv(options.out, index=False)
    bad = table[table.difference.abs() > table.allowed]
    print(f"{len(table) - len(bad)} of {len(table)} points agree; the largest difference is "
          f"{table.difference.abs().max():.2%}")
    return 1 if len(bad) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
