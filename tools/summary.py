#!/usr/bin/env python3
"""Writes the README's headline, table and figure from committed results, so that none of them is typed by hand.

    python tools/summary.py            writes the block between the markers of README.md, and docs/comparison.png
    python tools/summary.py --check    writes nothing; exit code 1 if either is not what the results give
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "paper"))

BEGIN = "<!-- generated:comparison by tools/summary.py -->"
END = "<!-- end of generated:comparison -->"
COMPARE = ("<!-- generated:compare by tools/summary.py -->", "<!-- end of generated:compare -->")
TYPE = "f32"
SIZES = (2**20, 2**24, 2**28)
SOURCE_KEY = "reductio-source"  # the figure says inside which CSV it was drawn from

ABSENT = ("*No measurements are committed yet. `./reproduce` on a machine with a GPU makes its own, under "
          "`out/results/`.*")


def source_of(results: Path) -> str:
    """A hash of everything that the block and the figure are made of."""
    digest = hashlib.sha256()
    for name in ("comparison.csv", "models.csv", "catalog.csv", "machine.json"):
        path = results / name
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def microseconds(seconds: float) -> str:
    us = seconds * 1e6
    return f"{us:,.0f}" if us >= 1000 else f"{us:.3g}" if us < 100 else f"{us:.0f}"


def timed(series, rs) -> str:
    return "device part" if series.mode == "device_part" else rs.MODE_LABELS[series.mode].replace(" time", "")


def row(series, base, rs, peak: float | None) -> str:
    cells = [f"`{series.variant}`" + series.name.removeprefix(series.variant), rs.OPERATION_LABELS[series.operation],
             timed(series, rs)]
    for n in SIZES:
        point = series.at(n)
        cells.append(microseconds(point["time"]) if point is not None else "")
    last, base_last = series.at(SIZES[-1]), base.at(SIZES[-1]) if base is not None else None
    bandwidth = last["bytes"] / last["time"] if last is not None else None
    cells.append(f"{bandwidth / 1e12:.2f}" if bandwidth else "")
    cells.append(f"{100 * bandwidth / peak:.0f} %" if bandwidth and peak else "")
    comparable = base_last is not None and last is not None and series.mode == base.mode
    cells.append(f"{base_last['time'] / last['time']:.2f}" if comparable else "")
    return "| " + " | ".join(cells) + " |"


def ceiling_row(bounds, base, peak: float | None) -> list[str]:
    """What no kernel can beat: the harness's fastest kernel that only reads, beside the empty call. No row where the
    results hold none."""
    bounds = bounds.dropna().set_index("n")
    if not set(SIZES) <= set(bounds.index):
        return []
    last = bounds.loc[SIZES[-1]]
    bandwidth, floor = last["bytes"] / last["read"], microseconds(bounds["floor"].median())
    base_last = base.at(SIZES[-1]) if base is not None else None
    cells = [f"*only reading* (an empty call: {floor} us)", "none", "device",
             *(microseconds(bounds["read"][n]) for n in SIZES), f"{bandwidth / 1e12:.2f}",
             f"{100 * bandwidth / peak:.0f} %" if peak else "",
             f"{base_last['time'] / last['read']:.2f}" if base_last is not None else ""]
    return ["| " + " | ".join(cells) + " |"]


def fit_cell(fit) -> str:
    """One fit of models.csv: "6.52 us + bytes / 1.83 TB/s", or that there is none."""
    if fit is None:
        return ""
    if fit["status"] != "ok":
        off = fit["largest_residual"]
        return f"does not fit: {100 * off:.2g} % off" if fit["status"] == "does_not_fit" else "too few sizes"
    rate = fit["bandwidth_bytes_per_s"]
    return f"{1e6 * fit['latency_s']:.3g} us" + (f" + bytes / {rate / 1e12:.3g} TB/s" if rate == rate else "")


def models(results, rs) -> list[str]:
    """The table of fitted latencies and bandwidths; nothing where the results hold no models.csv."""
    shown = rs.models_shown(results, TYPE, SIZES[-1])
    if not shown:
        return []
    lines = ["", f"Latency and bandwidth behind these times: the line that is nearest on relative error, for {TYPE} that "
             "L2 could hold and for larger inputs. Where it misses a median by more than 5 % it does not fit, and its "
             "numbers are withheld; intervals and half-performance sizes are in the results' `models.csv`.", "",
             "| | timed | inside L2 | beyond L2 |", "|---|---|---|---|"]
    for series, fits in shown:
        name = "*only reading*" if series is None else f"`{series.variant}`" + series.name.removeprefix(series.variant)
        beyond = fits.get("beyond", fits.get("all"))
        lines.append(f"| {name} | {timed(series, rs) if series else 'device'} | {fit_cell(fits.get('inside'))} | "
                     f"{fit_cell(beyond)} |")
    return lines


def trust_in(results) -> list[str]:
    """What nvbench and a second run of the comparison say of these times; nothing where the results hold neither."""
    from text import trust

    said = []
    a = trust.agreement(results)
    if a is not None:
        where = f"{a.inside} of {a.points} points; {len(a.outside)} differ by up to {100 * a.outside[-1]:.2g} %, and " \
            if a.outside else f"all {a.points} points; "
        said.append(f"nvbench, timing the same calls of `cub/sum`, agrees within 3 % from 2^22 elements on and 6 % "
                    f"below at {where}from 2^23 on none {'differs ' * (not a.outside)}by more than "
                    f"{100 * a.largest_from:.2g} %. These are medians over {a.runs[0]} runs of reductio made in turn "
                    f"with nvbench's, {a.samples} samples a point or more" +
                    (f"; the comparison's own medians, of fewer samples, lie as near at {a.own[0]} of {a.own[1]} points "
                     "([why](docs/measuring.md#what-the-interval-is))" if a.own[1] else "") + ".")
    absolute, relative = trust.repeats(results.repeat), trust.repeats(results.repeat_relative)

    def by_mode(found, say) -> str:
        return " and ".join(f"{say(found[m])} {where}" for m, where in
                            (("device", "on the device"), ("end_to_end", "end to end")) if m in found)

    def told(found) -> str:
        return by_mode(found, lambda r: f"{100 * r.share:.3g} % of points timed")

    def wide(found) -> str:
        return by_mode(found, lambda r: f"{100 * r.width:.2g} %")

    if absolute:
        said.append(f"With the whole comparison run twice, the 95 % interval of the two runs' ratio holds 1 at "
                    f"{told(absolute)}" + (f"; relative to CUB in the same rounds, at "
                                           f"{told(relative)}" if relative else "")
                    + f". These intervals are wide: {wide(absolute)} of the ratio at the median point"
                    + (f", relative to CUB {wide(relative)}" if relative else "") + ".")
        if any(r.share < trust.REPEATS for r in absolute.values()):
            said[-1] += " So times end to end drift from run to run, and only what was measured together compares."
    spent = trust.spending(results)
    if spent is not None:
        said.append(f"The comparison took {spent.wall_s:.0f} s, {100 * spent.calls:.0f} % of them in the timed calls "
                    f"and {100 * spent.state:.0f} % in setting the cache's state and restoring inputs; "
                    f"{100 * spent.own:.0f} % went into the harness, first calls and pilots included.")
    return ["", "How far to trust these times:", "", *(f"- {one}" for one in said)] if said else []


def block(folder: Path) -> str:
    """The Markdown between the markers."""
    if not (folder / "comparison.csv").exists():
        return ABSENT
    import results as rs

    results = rs.read_results(folder)
    peak = results.machine.peak_bytes_per_s
    gpu = results.machine.get("gpu.name", default=results.machine.name)
    chosen = rs.fastest_of_each_document(results, TYPE, SIZES[-1])
    lines = []
    bases = {}
    for operation in rs.BASE:
        which = dict(device="cuda", operation=operation, element_type=TYPE)
        device = rs.series(results.comparison, mode="device", **which)
        bases[operation] = rs.base_series(device, operation)
    libraries = [b for b in bases.values() if b is not None]
    end_to_end = rs.series(results.comparison, device="cuda", operation="sum", element_type=TYPE, mode="end_to_end")
    libraries += [s for s in end_to_end if s.variant == "thrust/reduce" and s.at(SIZES[-1]) is not None][:1]

    base, n = bases["sum"], SIZES[-1]
    # Only whole device times compare with CUB's: a device part leaves work to the host.
    sums = [s for s in chosen if s.operation == "sum" and s.mode == "device"]
    if base is not None and base.at(n) is not None and sums:
        best = min(sums, key=lambda s: s.at(n)["time"])
        time, cub = best.at(n)["time"], base.at(n)["time"]
        bandwidth = best.at(n)["bytes"] / time
        share = f", {100 * bandwidth / peak:.0f} % of the memory's paper peak" if peak else ""
        lines += [f"On one {gpu}, 2^28 {TYPE} are added up in **{microseconds(time)} us** by `{best.variant}`, the fastest "
                  f"of the documents' kernels ({bandwidth / 1e12:.2f} TB/s{share}), and in **{microseconds(cub)} us** by "
                  f"CUB: {cub / time:.2f} times CUB's speed.", ""]
    lines += [f"![Throughput of every kernel against n on one {gpu}](docs/comparison.png)", "",
              f"The fastest kernel of each document at 2^28 {TYPE}, and the libraries. Medians in microseconds, one call at "
              "a time on a cold, dirty L2; \"speed / CUB's\" where both are device times of the same operation.", "",
              "| | operation | timed | 2^20 | 2^24 | 2^28 | TB/s | of peak | speed / CUB's |",
              "|---|---|---|--:|--:|--:|--:|--:|--:|"]
    lines += [row(s, bases[s.operation], rs, peak) for s in chosen + libraries]
    bounds = rs.bounds(results.comparison, device="cuda", operation="sum", element_type=TYPE, mode="device")
    lines += ceiling_row(bounds, base, peak)
    lines += models(results, rs)
    lines += trust_in(results)
    refused = int((results.comparison["status"] != "ok").sum())
    lines += ["", f"{len(results.comparison):,} points, {refused:,} of them refused or over the time limit with their "
              "reason, all in [experiments/results](experiments/results)."]
    return "\n".join(lines)


def decimals(low: float, high: float) -> int:
    """As many as an interval of this width is worth: two digits of it."""
    return max(2, min(4, 1 - math.floor(math.log10(max(high - low, 1e-9)))))


def compare_example(results: Path) -> str:
    """What `reductio compare` printed on that GPU, from its own CSV."""
    import pandas as pd
    import results as rs

    path = results / "compare-example.csv"
    if not path.exists():
        return "*No example is committed yet.*"
    rows = pd.read_csv(path, keep_default_na=False)
    first, machine = rows.iloc[0], rs.read_machine(results / "machine.json", results.name)
    gpu = machine.get("gpu.name", default=machine.name)
    names = " ".join([first.base, *dict.fromkeys(rows.variant)])
    lines = [f"On one {gpu}, `reductio compare {names}` found "
             f"({first.element_type}, {first.timing_mode}, {first.cache_state}, the base's own time in the third column)", "",
             f"| | n | t({first.base}) | t({first.base}) / t | |", "|---|--:|--:|--:|---|"]
    for r in rows.itertuples():
        digits = decimals(r.ratio_low, r.ratio_high)
        decide = f", about {int(r.rounds_to_decide):,} samples or more would decide" if r.rounds_to_decide != "" else ""
        lines.append(f"| `{r.variant}` | 2^{int(r.n).bit_length() - 1} | {microseconds(r.base_time_s)} us | "
                     f"{r.ratio:.{digits}f} [{r.ratio_low:.{digits}f}, {r.ratio_high:.{digits}f}] | {r.verdict}{decide} |")
    last = rows.iloc[-1]
    digits = decimals(last.ratio_low, last.ratio_high)
    lines += ["", f"and says of the last row: {last.variant} ran {last.ratio:.{digits}f} times [{last.ratio_low:.{digits}f}, "
              f"{last.ratio_high:.{digits}f}] as fast as {last.base}. All {len(rows)} intervals hold at once with "
              f"{100 * last.confidence:g} % confidence."]
    return "\n".join(lines)


def with_block(readme: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    try:
        head, rest = readme.split(begin)
        _, tail = rest.split(end)
    except ValueError:
        raise SystemExit(f"summary.py: error: README.md must hold each marker once:\n  {begin}\n  {end}")
    return f"{head}{begin}\n{text}\n{end}{tail}"


def draw(folder: Path, path: Path) -> None:
    from figures import throughput
    import results as rs

    figure = throughput.draw(rs.read_results(folder), TYPE, "device")
    if figure is None:
        raise SystemExit(f"summary.py: error: {folder} holds no device times of {TYPE}")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Software": None, SOURCE_KEY: source_of(folder)})


def figure_source(path: Path) -> str | None:
    from PIL import Image

    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(SOURCE_KEY)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "experiments" / "results" / "nvidia-h200", metavar="DIR")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="folder with README.md and docs/")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if README or figure is out of date")
    options = parser.parse_args(arguments)
    readme, picture = options.root / "README.md", options.root / "docs" / "comparison.png"
    have_results = (options.results / "comparison.csv").exists()

    old = readme.read_text(encoding="utf-8")
    new = with_block(old, block(options.results))
    if COMPARE[0] in old:
        new = with_block(new, compare_example(options.results), *COMPARE)
    expected = source_of(options.results) if have_results else None
    stale = [name for name, wrong in (("README.md", new != old), ("docs/comparison.png", figure_source(picture) != expected))
             if wrong]
    if not stale:
        return 0
    if options.check:
        print(f"{' and '.join(stale)} differ from what the results give: run python tools/summary.py", file=sys.stderr)
        return 1
    readme.write_text(new, encoding="utf-8")
    if have_results:
        draw(options.results, picture)
    else:
        picture.unlink(missing_ok=True)
    print(f"written: {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
