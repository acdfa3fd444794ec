"""Compares reductio's cold device medians of cub/sum with nvbench's of the same call.

    python baselines/nvbench/agree.py RESULTS/comparison.csv nvbench.json [agreement.csv]

Prints a row for each type and size, and writes them if a third file is named. Exit code 1 if a point differs by more
than is allowed: 3 % from 2^22 elements on, 6 % below.
"""

import json
import sys

import pandas as pd

TYPES = {"U32": "i32", "I32": "i32", "F32": "f32", "F64": "f64"}


def nvbench_medians(path):
    """element_type, n, nvbench_median_s of every state that nvbench ran."""
    with open(path, encoding="utf-8") as file:
        benchmarks = json.load(file)["benchmarks"]
    rows = []
    for state in (s for b in benchmarks for s in b["states"] if not s["is_skipped"]):
        axes = {a["name"]: a["value"] for a in state["axis_values"]}
        summaries = {s["tag"]: {d["name"]: d["value"] for d in s["data"]} for s in state["summaries"]}
        rows.append({
            "element_type": TYPES[axes["type"].upper()],
            "n": int(axes["n"]),
            "nvbench_median_s": float(summaries["nv/cold/time/gpu/median"]["value"]),
            "nvbench_samples": int(summaries["nv/cold/sample_size"]["value"]),
        })
    return pd.DataFrame(rows)


def agreement(comparison, nvbench):
    ours = pd.read_csv(comparison, keep_default_na=False)
    ours = ours[(ours.variant == "cub/sum") & (ours.timing_mode == "device") & (ours.cache_state == "cold_dirty")
                & (ours.status == "ok") & (ours.operation == "sum")].copy()
    for column in ("n", "time_median_s", "n_samples"):
        ours[column] = pd.to_numeric(ours[column])
    table = ours[["machine", "element_type", "n", "time_median_s", "n_samples"]].merge(
        nvbench_medians(nvbench), on=["element_type", "n"])
    table["difference"] = table.time_median_s / table.nvbench_median_s - 1
    table["allowed"] = table.n.map(lambda n: 0.03 if n >= 2**22 else 0.06)
    return table.sort_values(["element_type", "n"]).reset_index(drop=True)


def main(arguments):
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    table = agreement(*arguments[:2])
    if table.empty:
        sys.exit("agree.py: the two files have no type and size in common")
    print(table.to_string(index=False, formatters={"difference": "{:+.2%}".format, "allowed": "{:.0%}".format}))
    if len(arguments) == 3:
        table.to_csv(arguments[2], index=False)
    bad = table[table.difference.abs() > table.allowed]
    print(f"{len(table) - len(bad)} of {len(table)} points agree; the largest difference is "
          f"{table.difference.abs().max():.2%}")
    return 1 if len(bad) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
