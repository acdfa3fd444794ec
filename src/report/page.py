"""Writes one HTML page that explores results folders: `reductio report DIR...` calls it.

    python src/report page experiments/results/nvidia-h200 --out report.html

The page needs no network and no server. It holds the rows of every experiment, each context's means and the
speedups over further bases, which the program makes (`--made`), all samples if asked (`--samples`), the catalogue, the verdicts on the documents' claims and machine.json. A damaged file is refused, as everywhere.
"""

import base64
import csv
import hashlib
import html
import importlib.util
import json
import re
import zlib
from pathlib import Path

from .command_line import Parser, needed_by, one_line, write_whole

with needed_by("reductio: a report"):
    import numpy as np
    import pandas as pd

    from . import results as rs
    from . import tables as tb

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1] if HERE.parent.name == "src" else None  # the project; None of an installed package
CHART = "chart"  # the class of every plot: the text of its style is then known, and its hash
# Of the rows, what the page shows or lets choose. A result's bits and the time of day are in the CSV alone.
LEFT_OUT = ("schema_version", "timestamp_utc", "machine", "result", "result2", "exact_result")
ADDED = ("kind", "group", "words", "is_base")  # what the catalogue says of a row
LARGEST_SAMPLES = 2**26  # bytes of a file of samples, as it lies on the disk; larger ones are left out, and named
MOST_SAMPLES = 8_000_000    # of a folder; further files are left out, and named
SAMPLE_COLUMNS = {"row": "u4", "context": "u2", "round": "u4", "time": "f4"}


class Blob:
    """Arrays one behind the other. What a header holds of each is where it begins, and its type."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, array, dtype: str) -> dict:
        data = np.ascontiguousarray(array, dtype=dtype).tobytes()
        at = self.size
        data += bytes(-len(data) % 8)
        self.parts.append(data)
        self.size += len(data)
        return {"at": at, "type": dtype, "length": len(array)}

    def column(self, values, is_number: bool) -> dict:
        """Numbers as doubles, so that the page shows what the CSV holds; words by their place in a list."""
        if is_number:
            return self.add(pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan), "f8")
        codes, words = pd.factorize(values.astype(str))
        return {"words": list(words), **self.add(codes, "u1" if len(words) <= 2**8 else "u4")}

    def table(self, table, numbers) -> dict:
        """Columns that are empty throughout are left out."""
        columns = {name: self.column(table[name], name in numbers) for name in table
                   if (table[name].notna() & (table[name] != "")).any()}
        return {"length": len(table), "columns": columns}


# ------------------------------------------------------------------------------------------------- samples


def samples_of(path: Path, key: list[str], wanted: dict[tuple, int]):
    """Of every wanted point (row, contexts, rounds, times)."""
    csv.field_size_limit(2**31 - 1)
    table, lists = tb.read_words(path), ("round", "context", "time_s")
    tb.refuse_lacking(path, [c for c in tb.SAMPLES.names if c not in table and c not in tb.SAMPLES.optional])
    keys = zip(*(table[c] if c in table else [""] * len(table) for c in key))
    for line, (fields, record) in enumerate(zip(keys, table.to_dict("records")), 2):
        if fields in wanted and record["time_s"]:
            try:
                rounds, contexts, times = np.array([record[c].split() for c in lists], float)
            except ValueError:  # a word, or lists of different lengths
                raise rs.ResultsError(f"{path}:{line}: {', '.join(lists)} do not hold a number each for each sample: "
                                      "copy the whole results folder again")
            good = np.isfinite(times) & (times > 0)
            if "yes" in record.get("voided", ""):
                good &= np.array(record["voided"].split()) != "yes"
            yield wanted[fields], contexts[good], rounds[good], times[good]


def key_of(rows) -> list[str]:
    """What tells the points of these rows, as samples have it."""
    return [c for c in tb.ROWS.key if c in rows and rows[c].notna().any()] + ["run_id"]


def read_speedups(path: Path, rows, blob: Blob) -> dict:
    """By base a number for each row: speedup, and its interval; NaN where there is none."""
    table, key = tb.read_words(path), key_of(rows)
    at = {fields: i for i, fields in enumerate(rows[key].astype(str).itertuples(index=False, name=None))}
    held = {base: np.full((3, len(rows)), np.nan) for base in dict.fromkeys(table["base"])}
    for fields, record in zip(table[key].itertuples(index=False, name=None), table.to_dict("records")):
        if fields in at:
            held[record["base"]][:, at[fields]] = [float(record[c]) for c in ("speedup", "ci_low", "ci_high")]
    return {base: [blob.add(numbers, "f4") for numbers in columns] for base, columns in held.items()}


def read_samples(paths: list[Path], rows, missing: list[str]) -> dict | None:
    """Columns of the samples of these rows, sorted by row. What is too much for a page is named instead."""
    key = key_of(rows)
    wanted = {fields: i for i, fields in enumerate(rows[key].astype(str).itertuples(index=False, name=None))}
    taken, count = [], 0
    for path in paths:
        size = path.stat().st_size
        if size > LARGEST_SAMPLES:
            missing.append(f"{path} has {size / 2**20:.0f} MiB, over {LARGEST_SAMPLES / 2**20:.0f}: its samples are "
                           "not in the page")
            continue
        rows_of, *parts = zip(*points) if (points := list(samples_of(path, key, wanted))) else ((), (), (), ())
        columns = dict(zip(SAMPLE_COLUMNS, (np.repeat(np.array(rows_of, int), [len(part) for part in parts[0]]),
                                            *(np.concatenate(part) if part else np.zeros(0) for part in parts))))
        if count + len(columns["row"]) > MOST_SAMPLES:
            missing.append(f"{path} would make it more than {MOST_SAMPLES:,} samples: its samples are not in the page")
            continue
        taken.append(columns)
        count += len(columns["row"])
    if not count:
        return None
    order = np.argsort(np.concatenate([columns["row"] for columns in taken]), kind="stable")  # within a row as in the file
    return {name: np.concatenate([columns[name] for columns in taken])[order] for name in SAMPLE_COLUMNS}


# ------------------------------------------------------------------------------------------------- a folder


def sources() -> dict[str, str]:
    """By variant the file that registers it; of ids that are composed, as `ablation/...`, by `ablation/`."""
    files = {}
    for path in (*sorted(ROOT.glob("src/kernels/**/*.cu")), *sorted(ROOT.glob("baselines/*.c[up]*"))) if ROOT else ():
        for variant in re.findall(r'"([a-z0-9-]+/[a-z0-9-]*)"', path.read_text(encoding="utf-8")):
            files.setdefault(variant, str(path.relative_to(ROOT)))
    return files


def has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def read_folder(folder: Path, made: Path | None, samples: bool, blob: Blob) -> dict:
    """What the page holds of a folder. What is too large for it is named in `missing`."""
    if not folder.is_dir():
        raise rs.ResultsError(f"{folder} is not a folder: name a results folder")
    missing: list[str] = []
    catalog = rs.read_catalog(folder / "catalog.csv")  # without the file all are the user's own
    machine = rs.read_machine(folder / "machine.json", folder.name).record
    tables = [rs.read_points(path, catalog) for path in rs.experiments_in(folder).values()]
    rows = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    held = {"missing": missing,
            "machine": machine, "rows": None, "means": None, "samples": None, "speedups": None,
            "catalog": None, "verdicts": None, "releases": None}
    if len(rows):
        kept = rows[[c for c in [*tb.ROWS.names, *ADDED] if c in rows and c not in LEFT_OUT]]
        held["rows"] = blob.table(kept, tb.ROWS.numbers)
    means, speedups = (made and made / name for name in ("means.csv", "speedups.csv"))
    if len(rows) and speedups and has_content(speedups):
        held["speedups"] = read_speedups(speedups, rows, blob)
    paths = {"means": [means] if means and has_content(means) else [],
             "samples": sorted(folder.glob("*.samples.csv*")) if samples else []}
    for kind, files in paths.items() if len(rows) else ():
        if columns := read_samples(files, rows, missing):
            held[kind] = {name: blob.add(columns[name], dtype) for name, dtype in SAMPLE_COLUMNS.items()}
    if len(catalog):
        held["catalog"] = blob.table(catalog.reset_index(), ())
    for name, columns in (("verdicts", tb.VERDICTS), ("releases", tb.Columns.of("releases"))):
        path = tb.stored(folder / f"{name}.csv")
        if path.exists():
            table = tb.read_table(path, columns)
            held[name] = blob.table(table[columns.names], columns.numbers)
    if not any(held[name] for name in ("rows", "verdicts", "releases")):
        others = sorted(path.name for path in folder.glob("*.csv*") if path.name != "catalog.csv")
        if not others:
            raise rs.ResultsError(f"{folder} holds no rows of an experiment: name a folder that `reductio run` wrote")
        missing.append(f"{folder} holds {', '.join(others)} alone, no experiment's rows: the page has its machine and runs")
    return held


def names_of(folders: list[Path]) -> list[str]:
    """Their last parts, as few as tell them apart: before/mine and after/mine."""
    def last(depth: int) -> list[str]:
        return ["/".join(folder.parts[-depth:]) for folder in folders]

    return next(last(d) for d in range(1, 99) if len(set(last(d))) == len(folders))


# ------------------------------------------------------------------------------------------------- the page


def library() -> str:
    """Observable Plot and D3, as pyobsplot's wheel ships them: a module that sets window.Plot and window.d3."""
    with needed_by("reductio: a report"):
        package = importlib.util.find_spec("pyobsplot")
        if package is None:
            raise ModuleNotFoundError(name="pyobsplot")
    return (Path(package.origin).parent / "static" / "static-widget.js").read_text(encoding="utf-8")


def style_of_plots(code: str) -> str:
    """What Plot writes into each chart's style element: with its hash the policy lets this one in and no other."""
    match = re.search(r"`(:where\(\.\$\{className\}\) \{\s+--plot-background.*?)`", code, re.DOTALL)
    return match.group(1).replace("${className}", CHART) if match else ""


def sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_script() -> str:
    return "".join((HERE / f"{name}.js").read_text(encoding="utf-8") for name in ("base", "data", "chart", "views"))


def page(header: dict, blob: Blob) -> str:
    code, style, script = library(), (HERE / "page.css").read_text(encoding="utf-8"), page_script()
    if "</script" in code + script or "</style" in style:
        raise ValueError("a script or a style would end early")
    head = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    head += b" " * (-len(head) % 8)
    packed = zlib.compress(len(head).to_bytes(8, "little") + head + b"".join(blob.parts), 9)
    policy = ("default-src 'none'; base-uri 'none'; form-action 'none'; img-src blob:; "
              f"script-src {sha256(code)} {sha256(script)}; style-src {sha256(style)} {sha256(style_of_plots(code))}")
    parts = {"POLICY": policy, "STYLE": style, "LIBRARY": code, "SCRIPT": script,
             "DATA": base64.b64encode(packed).decode(),
             "TITLE": html.escape(", ".join(folder["name"] for folder in header["folders"]))}
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda name: parts[name.group(1)], template)


def make(folders: list[Path], made: list[Path] | None = None, samples: bool = False,
         root: str | None = None) -> tuple[str, list[str]]:
    """The page, and a line for each thing that it lacks. `made`: for each folder one with what `reductio report` made of
    its samples. `root`: the way from the page to the project, for links."""
    made_of = dict(zip([folder.resolve() for folder in folders], made or []))
    folders, blob = list(dict.fromkeys(folder.resolve() for folder in folders)), Blob()  # one named twice is one
    held = [{**read_folder(folder, made_of.get(folder), samples, blob), "name": name}
            for folder, name in zip(folders, names_of(folders))]
    header = {"folders": held, "samples": "all" if samples else "means" if made else "none", "sources": sources(), "schema": tb.SCHEMA_VERSION,
              "chart": CHART, "documents": list(rs.DOCUMENTS), "root": root,
              "keys": [c for c in tb.ROWS.key if c not in ("variant", "settings", "n")]}
    return page(header, blob), [line for folder in held for line in folder["missing"]]


def root_from(out: Path) -> str | None:
    """The way from a page inside reductio's folder up to that folder; a page elsewhere has no links into it."""
    folder = out.resolve().parent
    return "../" * len(folder.relative_to(ROOT).parts) if ROOT and folder.is_relative_to(ROOT) else None


@one_line("reductio")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="report page", description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="results folders")
    parser.add_argument("--out", type=Path, default=Path("report.html"), metavar="FILE", help="default: report.html")
    parser.add_argument("--made", type=Path, nargs="+", metavar="DIR",
                        help="for each folder what `reductio report` makes of its samples")
    parser.add_argument("--samples", action="store_true", help="all samples, too")
    options = parser.parse_args(arguments)
    write_whole(options.out, b"")
    text, missing = make(options.folders, options.made, options.samples, root_from(options.out))
    write_whole(options.out, text.encode())
    for line in missing:
        print(f"left out: {line}")
    print(f"{options.out}: {', '.join(dict.fromkeys(folder.resolve().name for folder in options.folders))}, "
          f"{len(text.encode()) / 1e6:.1f} MB; open it in a browser")

