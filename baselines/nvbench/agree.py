"""Compares reductio's medians with times taken from outside: by nvbench, and by plain loops.

    python baselines/nvbench/agree.py --comparison comparison.csv[.gz] --limits limits.csv --nvbench 1.json[.gz]...
                                      --loops loops-1.csv... [--out nvbench-agreement.csv]

By timing mode, the published row of reductio, what it is compared with, and by how much they may differ:

  device      comparison, cold_dirty: cub/sum; nvbench's cold GPU time       3 % from 2^22 elements on, 6 % below
  graph       limits, warm: cub/sum; the loops' graph                        3 %
  end_to_end  comparison, cold_dirty: thrust/reduce and cub/sum; the loops'  5 %

A graph's time depends on where the memory lies that its calls hand partial sums and the result over in: a call of two
launches takes longer in one place than in another (docs/measuring.md says by how much). The loops have a row for each of
several places, of which the mean counts; older files are of one place, or of an input that does not move. reductio's
contexts draw theirs, each block's for itself.

Every file from outside is one process. Of several the median counts, since processes differ: each has its input in one
place of memory, and where a call is two launches, each sample may meet the same one of the two times that such calls
take on an H200. Of a process of nvbench the median of its samples counts; the mean, its headline GPU Time, stands
beside as outside_mean_s. The loops print a mean of each process, without a tenth at either end (those of the H100's
committed files a median). outside_spread is the largest process over the smallest, less 1. Prints a row for each point
that both sides have. Exit code 1 if one differs by more than it may.
"""

import argparse
import gzip
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import pandas as pd  # noqa: E402

from report.command_line import Parser, ResultsError, one_line  # noqa: E402
from report.results import read_points  # noqa: E402

# Of each timing mode, reductio's experiment and its state of the cache.
CHECKS = {"device": ("comparison", "cold_dirty"), "graph": ("limits", "warm"),
          "end_to_end": ("comparison", "cold_dirty")}
SETTINGS = {"cub/sum": "counts=auto", "thrust/reduce": "allocator=default"}
TYPES = {"U32": "i32", "I32": "i32", "F32": "f32", "F64": "f64"}
POINT = ["mode", "variant", "element_type", "n"]


def allowed(mode, n):
    return {"device": 0.03 if n >= 2**22 else 0.06, "graph": 0.03, "end_to_end": 0.05}[mode]


def reductio_rows(path):
    """POINT, reductio_s and its interval: the rows of one experiment that are compared."""
    rows = read_points(Path(path))
    checked = [CHECKS.get(r.timing_mode) == (r.experiment, r.cache_state) and SETTINGS.get(r.variant) == r.settings
               and r.operation == "sum" and r.status == "ok" for r in rows.itertuples()]
    rows = rows[checked].rename(columns={
        "timing_mode": "mode", "time_median_s": "reductio_s", "time_ci_low_s": "reductio_ci_low_s",
        "time_ci_high_s": "reductio_ci_high_s"})
    return rows[[*POINT, "reductio_s", "reductio_ci_low_s", "reductio_ci_high_s"]].astype({"n": "int64"})


def nvbench_rows(path):
    """POINT, outside_s and outside_mean_s of one process of nvbench: of its benchmark cub_sum."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        benchmarks = json.load(file)["benchmarks"]
    rows = []
    for state in (s for b in benchmarks if b["name"] == "cub_sum" for s in b["states"] if not s["is_skipped"]):
        axes = {a["name"]: a["value"] for a in state["axis_values"]}
        if set(axes) != {"type", "n"}:
            raise ResultsError(f"{path} has other axes than type and n: run today's cub_sum")
        summaries = {s["tag"]: {d["name"]: d["value"] for d in s["data"]} for s in state["summaries"]}
        rows.append({"mode": "device", "variant": "cub/sum", "element_type": TYPES[axes["type"].upper()],
                     "n": int(axes["n"]), "outside_s": float(summaries["nv/cold/time/gpu/median"]["value"]),
                     "outside_mean_s": float(summaries["nv/cold/time/gpu/mean"]["value"])})
    return pd.DataFrame(rows)


def loops_rows(path):
    """POINT and outside_s of one process of the loops: the mean over places."""
    return pd.read_csv(path).groupby(POINT, as_index=False)["time_s"].mean().rename(columns={"time_s": "outside_s"})


def agreement(reductio, nvbench, loops):
    """A row for each point that both sides have, from the files of each."""
    ours = pd.concat([reductio_rows(p) for p in reductio])
    outside = pd.concat([*map(nvbench_rows, nvbench), *map(loops_rows, loops)])
    outside = outside.reindex(columns=[*POINT, "outside_s", "outside_mean_s"]).groupby(POINT).agg(
        outside_s=("outside_s", "median"), outside_mean_s=("outside_mean_s", "median"),
        outside_spread=("outside_s", lambda s: s.max() / s.min() - 1), outside_processes=("outside_s", "size"))
    table = ours.merge(outside.reset_index(), on=POINT)
    table["difference"] = table.reductio_s / table.outside_s - 1
    table["allowed"] = [allowed(mode, n) for mode, n in zip(table["mode"], table.n)]
    order = {mode: i for i, mode in enumerate(CHECKS)}
    return table.sort_values(POINT, key=lambda c: c.map(order) if c.name == "mode" else c).reset_index(drop=True)


def verdict(rows):
    """Of one timing mode, in one line."""
    bad = rows.difference.abs() > rows.allowed
    said = (f"{rows['mode'].iloc[0]}: {(~bad).sum()} of {len(rows)} points agree; the largest difference is "
            f"{rows.difference.abs().max():.2%}")
    by_mean = rows[rows.outside_mean_s.notna()]
    if len(by_mean):
        inside = ((by_mean.reductio_s / by_mean.outside_mean_s - 1).abs() <= by_mean.allowed).sum()
        said += f"; with nvbench's mean {inside} agree"
    return said


@one_line("agree.py")
def main(arguments):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparison", help="comparison.csv of reductio")
    parser.add_argument("--limits", help="limits.csv of reductio")
    parser.add_argument("--nvbench", nargs="+", default=[], help="what cub_sum wrote, a file each process")
    parser.add_argument("--loops", nargs="+", default=[], help="what loops printed, a file each process")
    parser.add_argument("--out")
    options = parser.parse_args(arguments)
    reductio = [path for path in (options.comparison, options.limits) if path]
    if not reductio or not options.nvbench + options.loops:
        parser.error("give --comparison or --limits, and --nvbench or --loops")
    table = agreement(reductio, options.nvbench, options.loops)
    if table.empty:
        raise ResultsError("these files have no point in common: measure the same sizes and types on both sides")
    shown = table[[*POINT, "reductio_s", "outside_s", "outside_spread", "difference", "allowed"]]
    if options.out:
        table.to_csv(options.out, index=False)
    print(shown.to_string(index=False, formatters={
        "reductio_s": "{:.4g}".format, "outside_s": "{:.4g}".format, "outside_spread": "{:.1%}".format,
        "difference": "{:+.2%}".format, "allowed": "{:.0%}".format}))
    for mode in table["mode"].unique():
        print(verdict(table[table["mode"] == mode]))
    if (table.difference.abs() > table.allowed).any():
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
