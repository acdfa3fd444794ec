#!/usr/bin/env python3
"""Writes the tables of README and docs/ that are made of committed results, and their pictures.

    python tools/summary.py            writes what stands between the markers, and the pictures
    python tools/summary.py --check    writes nothing; exit code 1 if any is not what the results give
"""

from __future__ import annotations

import hashlib
import re
import sys
import textwrap
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "src"), str(ROOT / "tools")]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from PIL import Image  # noqa: E402

import series as sr  # noqa: E402
import claims as cl  # noqa: E402
from figures import frontier, shapes, speedup  # noqa: E402
from make import FIGURES  # noqa: E402
import gallery  # noqa: E402
import query  # noqa: E402
from report import results as rs  # noqa: E402
from report.command_line import Parser  # noqa: E402
from text.claims import ratios  # noqa: E402
from text.latex import microseconds as us_in_csv  # noqa: E402
from text.tuned import demand, goals, power  # noqa: E402

TYPE, SIZES = "f32", (2**20, 2**24, 2**28)
SOURCE_KEY = "reductio-source"  # a picture says inside which files it was drawn from


# ------------------------------------------------------------------------------------------------ the tables


def markdown(head: list[str], rows: list[list[str]], align: str) -> str:
    """A table; of each column l or r."""
    rule = ["---" if a == "l" else "--:" for a in align[:len(head)]]
    return "\n".join(f"| {' | '.join(fields)} |" for fields in (head, rule, *rows))


def by_key(corner: list[str], rows: list[tuple[list[str], tuple]], columns: list[tuple[str, tuple]], texts: dict) -> str:
    """A table of texts by row and column, whose keys follow each other; a dash where there is none."""
    return markdown([*corner, *(head for head, _ in columns)],
                    [[*names, *(texts.get((*row, *column), "—") for _, column in columns)] for names, row in rows],
                    "l" * len(corner) + "r" * len(columns))


def microseconds(seconds: float) -> str:
    """Three digits: 8.40, 10.0, 255, 1,225."""
    digits = us_in_csv(seconds)
    return f"{int(digits):,}" if digits.isdigit() else digits


def with_interval(value: float, low: float, high: float) -> str:
    """"0.572 [0.570, 0.574]", "408,924 [399,450, 417,473]"."""
    digits = 3 if value < 2 else 2 if value < 10 else 1 if value < 1000 else 0
    return f"{value:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def measured_on(names: str, results: rs.Results) -> str:
    """The line that says on which card and by which commit these files of results were measured: "squares", or
    "FOLDER/squares" of another folder."""
    files: dict[str, list[str]] = {}
    for name in names.split():
        folder, _, stem = name.rpartition("/")
        files.setdefault(places(results.other(folder) if folder else results, stem), []).append(f"`{stem}`")
    told = [f"{', '.join(stems)} on {place}" if len(files) > 1 else f"on {place}" for place, stems in files.items()]
    return textwrap.fill(f"Measured {'. '.join(told)}.", 120, break_long_words=False, break_on_hyphens=False)


def places(results: rs.Results, stem: str) -> str:
    """Where and by what a file of that folder was measured: "NVIDIA H200 GPU-ff048f08, commit 05d99a09". One that
    machine.json does not list is of the folder's card and build."""
    commits: dict[str, dict[str, None]] = {}
    machine = results.machine_of(f"{stem}.csv")
    entries = [e for e in [*machine.get("runs", []), *machine.get("tools", [])]
               if stem == e.get("experiment") or f"{stem}.csv" in e.get("sha256", {})]
    if not entries and not results.file(f"{stem}.csv").exists():
        raise SystemExit(f"summary.py: error: there is no {stem}.csv in {results.folder}")
    for entry in entries or [dict(machine_id=machine.get("gpu.uuid"), git_revision=machine.get("build.git_revision"))]:
        card = entry["machine_id"] or ""
        of_gpu = f"{machine.gpu} {card[:12] or '(card not recorded)'}"
        where = of_gpu if not card or card.startswith("GPU-") else card  # of a CPU its name
        commit = (entry["git_revision"] or "")[:8] or "not recorded"
        commits.setdefault(where, {})[commit + " (with changes)" * bool(entry.get("git_dirty"))] = None
    return " and ".join(f"{where}, commit {' and '.join(of)}" for where, of in commits.items())


def comparison(results: rs.Results) -> str:
    """Of each document, ours and the other libraries the call that is fastest at the largest size, as in the figure. Then
    CUB's sum, and only reading."""
    large, peak = SIZES[-1], results.machine.number("gpu.theoretical_peak_bytes_per_s")
    lines = [(s, base) for _, s, base in speedup.fastest_of_each(results, TYPE, large)]
    lines.sort(key=lambda line: rs.release_of(line[0].variant) != "")  # the newest CUB beside the toolkit's
    cub = next(base for _, base in lines if (base.operation, base.mode) == ("sum", "device"))
    reading = sr.harness_calls(results.comparison, "device", device="cuda", operation="sum",
                               element_type=TYPE).set_index("n")["read_time_s"]

    def row(name: str, what: list[str], times: list[float], base: sr.Series, gain: str) -> list[str]:
        at = base.at(large)
        rate = at["bytes"] / times[-1]  # of so many bytes, whoever reads them
        return [name, *what, *map(microseconds, times), f"{rate / 1e12:.2f}", f"{100 * rate / peak:.0f} %",
                microseconds(at["time"]), gain]

    rows = []
    for s, base in (*lines, (cub, cub)):
        gain = "1" if s is cub else with_interval(*s.at(large)[["speedup", "speedup_low", "speedup_high"]])
        what = [s.operation.replace("_", " "), sr.MODE_LABELS[s.mode].removesuffix(" time")]
        name = f"`{s.variant}`" + (f" [{s.words}]" if s.words else "")
        rows.append(row(name, what, [s.at(n)["time"] for n in SIZES], base, gain))
    floor = microseconds(results.row("means", name="launch-floor")["value"])
    rows.append(row(f"*only reading* (an empty call: {floor} us)", ["none", "device"],
                    [reading[n] for n in SIZES], cub, f"{1 / cub.at(large)['share']:.2f}"))
    head = ["", "operation", "timed", *map(power, SIZES), "TB/s", "of peak", "CUB, 2^28", "speedup over CUB"]
    return markdown(head, rows, "lllrrrrrrr")


def claims(results: rs.Results) -> str:
    """Each claim with the document's own figure, what was measured at the document's own size, the verdict there and at
    2^28, and what a person says of them."""
    said, rows = cl.in_words(), []
    for claim, (first, tests, verdict) in cl.judged(results).items():
        sentence = said[claim]["sentence"] if said[claim]["verdict"] == verdict else ""
        bold, *rest = verdict.split("; ", 1)
        rows.append([f"{claim}: {first['statement']}", first["text_figure"], measured(tests) or "—",
                     "; ".join([f"**{bold}**", *rest]), sentence])
    return markdown(["claim", "the document's figure", "ours", "verdict", "in words"],
                    [[field.replace("|", r"\|") for field in row] for row in rows], "llrll")


COUNTED = re.compile(r"[\d.e+]+ over [\d.e+]+|[\d,]+ of [\d,]+ (?:blocks wrong|rows right)")


def measured(tests: pd.DataFrame) -> str:
    """The ratios that have intervals, or what was counted."""
    counts = [match[0] for match in map(COUNTED.search, tests["reason"]) if match]
    if len(counts) > 2:  # a range of steps
        return f"{tests['ratio'].min():#.3g} to {tests['ratio'].max():#.3g}"
    return ratios(tests, with_interval, lambda ratio: f"{ratio:#.3g}") or "; ".join(dict.fromkeys(counts))


def tuned(results: rs.Results) -> str:
    """Of the goals of tuned that it does not meet: what they are of, and what was demanded and measured where it misses."""
    rows = []
    for what, group in goals(results):
        if missed := [demand(row) for row in group if row["verdict"] == "missed"]:
            rows.append([what, *map("; ".join, zip(*missed))])
    return markdown(["goal", "demanded", "measured"], rows, "lll")


def trust(results: rs.Results) -> str:
    """Of this GPU and of others beside it: how other timers, a second run and the self-test agree."""
    columns = {f.machine.gpu: checks(f) for f in (results, *results.beside) if f.table("nvbench-agreement") is not None}
    names = dict.fromkeys(name for checked in columns.values() for name in checked)
    return markdown(["", *columns], [[name, *(checked.get(name, "") for checked in columns.values())] for name in names], "l" * 9)


def checks(results: rs.Results) -> dict[str, str]:
    """By what is checked: at how many points it agrees, and the largest difference."""
    agreeing = {}
    for name, mode, variant in (
            ("nvbench, `cub/sum`: within 3 % (below 2^22, 6 %)", "device", "cub/sum"),
            ("a plain loop, `cub/sum` in a graph: within 3 %", "graph", "cub/sum"),
            ("a plain loop, `cub/sum` end to end: within 5 %", "end_to_end", "cub/sum"),
            ("a plain loop, `thrust/reduce` end to end: within 5 %", "end_to_end", "thrust/reduce")):
        rows = results.rows("nvbench-agreement", mode=mode, variant=variant)
        off = rows["difference"].abs()
        if len(rows):
            agreeing[name] = f"{(off <= rows['allowed']).sum()} of {len(rows)}, at most {100 * off.max():.2g} % apart"
    for name, file in (("two runs", "repeat"), ("the same, relative to CUB", "repeat-relative")):
        for mode, words in (("device", "on the device"), ("end_to_end", "end to end")):
            same = query.repeated(results, file, timing_mode=mode)
            width = results.row("means", name=f"{file}.{mode}")
            agreeing[f"{name}, {words}: the interval includes 1"] = (
                f"{100 * same:.1f} % of {width['points']:,}; {100 * width['value']:.2g} % wide")
    selftest = query.record(results, "selftest")
    for name, key in (("`selftest`, a variant against itself: the interval excludes 1", "together"),
                      ("the same, in other contexts", "apart")):
        agreeing[name] = f"{selftest[key]['false_positives']} of {selftest[key]['comparisons']}"
    planted = selftest["planted"]
    agreeing["`selftest`, planted slowdowns of 0, 5 and 10 %: reported correctly"] = (
        f"{sum(p['found'] and not p['too_small_beside_other'] for p in planted)} of {len(planted)}")
    return agreeing


def peers(results: rs.Results) -> str:
    """Sums that Python users call, f32: their kernels alone, and the call until its result is on the host."""
    table = rs.where_is(results.experiment("peers"), status="ok", cache_state="cold_dirty", element_type=TYPE)
    times = table.set_index(["variant", "timing_mode", "n"])["time_median_s"]
    ways, sizes, from_cpp = {"replay": "kernels, ", "end_to_end": "call, "}, (2**10, 2**16, *SIZES[1:]), ("tuned/sum", "cub/sum")
    names = sorted(set(table["variant"]), key=lambda v: (v not in from_cpp, times[v, "end_to_end", 2**16]))
    return by_key(["us"], [([f"`{v}`" + " from C++" * (v in from_cpp)], (v,)) for v in names],
                  [(what * (n == sizes[0]) + power(n), (way, n)) for way, what in ways.items() for n in sizes],
                  times.map(microseconds).to_dict())


def in_ulps(value: float) -> str:
    if value < 0.005:
        return "0"
    return f"{value:.2g}" if value < 100 else f"10^{np.log10(value):.0f}"


NAMES = {call: name for call, (name, _) in frontier.CALLS.items()}
LIKE_OTHERS = {"cub@ run_to_run", "cub@ not_guaranteed", "multiblock/last-block-warp"}  # as cub/sum, levels/naive, plain
OF_CPU = {"numpy/sum": "numpy.sum", "numpy/sum wide_sum": "numpy.sum, f32 into f64", "python/fsum": "math.fsum",
          "xsum/sum": "xsum", "exact/cpu": "`exact/cpu`"}


def errors_of_floats(results: rs.Results, kind: str = "f32") -> str:
    """Error against time of sums of one type."""
    points = frontier.points_of(results)
    calls = {call: name for call, name in NAMES.items() if call not in LIKE_OTHERS}
    return errors(points[points["element_type"] == kind], [kind], calls, "us, ", "time_median_s", microseconds)


def errors_from_python(results: rs.Results) -> str:
    """Error against CUB's speed of sums that Python users call on a GPU."""
    return errors(frontier.points_from_python(results), ["from Python", "elements"], NAMES, "CUB's speed, ", "speedup",
                  "{:.2f}".format)


def errors_on_cpu(results: rs.Results) -> str:
    """Error against time on a CPU, of 2^20 elements, beside the exact sum by all its threads."""
    points = frontier.with_errors(results.experiment("frontier-python-cpu"), device="cpu", n=2**20)
    return errors(points, ["on the CPU", "elements"], OF_CPU, "ms, ", "time_median_s",
                  lambda seconds: f"{1e3 * seconds:.2g}", [("random", (2**20, "random")), ("spread", (2**20, "spread"))])


def errors(points: pd.DataFrame, corner: list[str], calls: dict[str, str], unit: str, value: str, shown,
           columns: list[tuple] = ()) -> str:
    """A row for each of these calls and type of elements: this value at the smallest and the largest n, or in other
    columns, and the error of each kind of data at the largest n."""
    sizes = points["n"].min(), points["n"].max()
    columns = list(columns) or [(power(n), (n, "random")) for n in sizes]
    columns[0] = unit + columns[0][0], columns[0][1]
    columns += [("ulp, " * (data == "random") + data, (sizes[1], data, "ulp")) for data in frontier.SETS]
    points = points.set_index(["call", "element_type", "n", "dataset"])
    texts = points[value].dropna().map(shown).to_dict()
    texts |= {(*key, "ulp"): in_ulps(error) for key, error in points["ulps"].dropna().items()}
    rows = [([name, kind][:len(corner)], (call, kind)) for call, name in calls.items() for kind in frontier.TYPES
            if (call, kind) in {key[:2] for key in points.index}]
    return by_key(corner, rows, columns, texts)


def data_of_exact(results: rs.Results) -> str:
    """On each kind of data the least speedup of exact sums over CUB's of the same data, and at which size that is."""
    table = rs.where_is(results.experiment("exact"), variant="exact/sum", status="ok")
    least = table.loc[table.groupby(["dataset", "element_type", "timing_mode"])["speedup"].idxmin()]
    ways = {"device": "cold", "graph": "in a graph"}
    return by_key(["least speedup"], [([f"`{data}`"], (data,)) for data in dict.fromkeys(table["dataset"])],
                  [(f"{kind}, {words}", (kind, mode)) for kind in frontier.TYPES for mode, words in ways.items()],
                  {(row.dataset, row.element_type, row.timing_mode): f"{row.speedup:.2f} ({power(row.n)})"
                   for row in least.itertuples()})


def calls_by_shape(results: rs.Results) -> dict[str, dict[int, pd.DataFrame]]:
    """By shape, and power of two of its elements, the calls that have times."""
    table, found = query.of_shapes(results), {}
    for operation, (what, _) in shapes.SECTIONS.items():
        for (line, size), calls in table[table["operation"] == operation].groupby(["line", "size"]):
            length = f", {line}" if what == "segments" else f" of {power(line) if line > 1000 else f'{line:,}'}"
            found.setdefault(what + length, {})[size] = calls
    return found


ANY, OURS, LIBRARY = "", "tuned/", "(?!exact/|modern/|tuned/)"


def fastest_of(calls: pd.DataFrame, which: str) -> pd.Series | None:
    """The fastest of those whose ids begin so."""
    some = calls[calls["variant"].str.match(which)]
    return None if some.empty else rs.fastest(some)


def shapes_to_call(results: rs.Results) -> str:
    """The fastest call at some shapes of about 2^26 elements, and the fastest library. Segments have the largest size at
    which sums by key were timed: others take long for short segments."""
    rows = []
    for name, by_size in calls_by_shape(results).items():
        keyed = [size for size, calls in by_size.items()
                 if size <= 26 and calls["variant"].str.endswith("/reduce-by-key").any()]
        if not name.startswith("segments") and not name.endswith((" of 2", " of 1,000")):
            continue
        size = max(size for size in (name.startswith("segments") and keyed or by_size) if size <= 26)
        best, library = (fastest_of(by_size[size], which) for which in (ANY, LIBRARY))
        rows.append([name if size == 26 else f"{name}, 2^{size}", f"`{best['variant']}`", f"{100 * best['share_of_read_ceiling']:.0f} %",
                     *(["none was timed", ""] if library is None else
                       [f"`{library['variant']}`", f"{library['time_median_s'] / best['time_median_s']:.2f}"])])
    head = ["f32, 2^26 if not named", "fastest", "of the ceiling", "fastest library", "times as long"]
    return "\n\n".join((markdown(head, rows, "llrlr"), "![Share of the ceiling, by shape and elements](rows.png)"))


def all_shapes(results: rs.Results) -> str:
    """CSV: the fastest call of all shapes and sizes, ours and the fastest library, each with its time."""
    lines = ["shape,elements,fastest,time_us,share_of_ceiling,ours,its_time_us,fastest_library,library_time_us"]
    for name, by_size in calls_by_shape(results).items():
        for size, calls in by_size.items():
            best, *others = (fastest_of(calls, which) for which in (ANY, OURS, LIBRARY))
            cells = [["", ""] if of is None else [of["variant"], us_in_csv(of["time_median_s"])] for of in (best, *others)]
            cells[0].append(f"{best['share_of_read_ceiling']:.2f}")
            lines.append(",".join([name.replace(",", ""), f"2^{size}", *cells[0], *cells[1], *cells[2]]))
    return "\n".join(lines) + "\n"


# By page what was measured there; and page, the table's name, and what makes it. Without a name it is the whole file.
MEASURED = {"README.md": "comparison",
            "docs/claims.md": "squares twopass unrolling levels multiblock probes cpu-intel-xeon/vector_add ncu as-printed copies",
            "docs/comparing.md": "compare-example", "docs/measuring.md": "comparison limits modern",
            "docs/results.md": "comparison index nvidia-h100-80gb-hbm3/comparison",
            "docs/peers.md": "peers nvidia-h100-peers/ctypes-agreement", "docs/releases.md": "releases",
            "docs/tuned.md": "tuned to-host raw-workspace exact", "docs/exact.md": "exact frontier",
            "docs/which_sum.md": "frontier frontier-python", "docs/rows.md": "shapes", "docs/modern.md": "modern",
            "docs/hopper.md": "tuned probes", "docs/reproducing.md": "tuned comparison",
            "docs/kernels.md": "comparison modern"}
TABLES = (*((page, "measured", partial(measured_on, names)) for page, names in MEASURED.items()),
          ("README.md", "comparison", comparison), ("docs/claims.md", "claims", claims),
          ("docs/tuned.md", "tuned", tuned), ("docs/results.md", "trust", trust), ("docs/peers.md", "peers", peers),
          ("docs/exact.md", "data", data_of_exact),
          ("docs/which_sum.md", "f32", errors_of_floats), ("docs/which_sum.md", "f64", partial(errors_of_floats, kind="f64")),
          ("docs/rows.md", "shapes", shapes_to_call), ("docs/rows.csv", None, all_shapes),
          ("docs/kernels.md", "agreement", gallery.agreement), ("docs/kernels.md", "gallery", gallery.gallery),
          ("docs/kernels.csv", None, gallery.facts_of_kernels),
          ("docs/which_sum.md", "from-python", errors_from_python), ("docs/which_sum.md", "on-a-cpu", errors_on_cpu))


def with_table(page: str, name: str, text: str, where: str) -> str:
    """The page with what stands between the table's markers replaced."""
    begin, end = f"<!-- generated:{name} by tools/summary.py -->", f"<!-- end of generated:{name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"summary.py: error: {where} must hold each marker once:\n  {begin}\n  {end}")
    return f"{page.partition(begin)[0]}{begin}\n{text}\n{end}{page.partition(end)[2]}"


# Figures of the paper.
PICTURES = {"docs/comparison.png": "speedup", "docs/tuned.png": "tuned", "docs/peers.png": "peers",
            "docs/frontier.png": "frontier", "docs/exact.png": "exact", "docs/rows.png": "shapes"}


def drawn_from(path: Path) -> str | None:
    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(SOURCE_KEY)


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "experiments" / "results" / "nvidia-h200", metavar="DIR")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="folder with README.md and docs/")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if anything is out of date")
    options = parser.parse_args(arguments)
    results, written = rs.Results(options.results), []
    for page, name, made in TABLES:
        old = (options.root / page).read_text(encoding="utf-8") if name or (options.root / page).exists() else ""
        new = with_table(old, name, made(results), page) if name else made(results)
        if new != old:
            written.append(page)
            if not options.check:
                (options.root / page).write_text(new, encoding="utf-8")
    for picture, figure in PICTURES.items():
        draw, files = FIGURES[figure]
        paths = [results.file(name) for name in files.split()]
        # A file that is not there yet adds nothing.
        source = hashlib.sha256(b"".join(path.read_bytes() for path in paths if path.exists())).hexdigest()
        if paths[0].exists() and drawn_from(options.root / picture) != source:
            written.append(picture)
            if not options.check:
                draw(results).savefig(options.root / picture, metadata={"Software": None, SOURCE_KEY: source})
    if written and options.check:
        print(f"{', '.join(written)}: not what the results give: run python tools/summary.py", file=sys.stderr)
    elif written:
        print(f"written: {', '.join(written)}")
    return int(bool(written) and options.check)


if __name__ == "__main__":
    sys.exit(main())
