"""Writes one HTML page that explores results folders: `reductio report DIR...` calls it.

    python src/report page experiments/results/nvidia-h200 --out report.html

The page needs no network and no server. It holds the rows of every experiment, each context's means and the speedups
over further bases, which the program makes (`--made`), all samples if asked (`--samples`), the catalogue, the verdicts
on the documents' claims and machine.json. A damaged file is refused, as everywhere.
"""

import base64
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

    from . import results as rs, tables as tb

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1] if HERE.parent.name == "src" else None  # the project; None of an installed package
CHART = "chart"  # the class of every plot: the text of its style is then known, and its hash
# Of the rows, what the page shows or lets choose. A result's bits and the time of day are in the CSV alone.
LEFT_OUT = ("schema_version", "timestamp_utc", "machine", "result", "result2", "exact_result")
ADDED = ("kind", "group", "words", "is_base")  # what the catalogue says of a row
LARGEST_SAMPLES = 2**26  # bytes of a file of samples, as it lies on the disk; larger ones are left out, and named
SAMPLE_LISTS = ("round", "context", "time_s")  # of each point, a number for each sample


class Blob:
    """Columns one behind the other. What a header holds of one is where it begins, and its type."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def column(self, values, is_number: bool) -> dict:
        """Numbers as doubles, so that the page shows what the CSV holds, or as they are packed already; words by their
        place in a list."""
        if is_number:
            numbers = pd.to_numeric(values, errors="coerce")
            held = {"type": "f4" if numbers.dtype == "f4" else "f8"}
            array = numbers.to_numpy(held["type"], na_value=np.nan)
        else:
            codes, words = pd.factorize(values.astype(str))
            held, array = {"type": "u4", "words": list(words)}, codes.astype("u4")
        at = sum(map(len, self.parts))
        self.parts.append(array.tobytes() + bytes(-array.nbytes % 8))
        return {"at": at, **held}

    def table(self, table, numbers) -> dict:
        """Columns that are empty throughout are left out."""
        columns = {name: self.column(table[name], name in numbers) for name in table
                   if (table[name].notna() & (table[name] != "")).any()}
        return {"length": len(table), "columns": columns}


# ------------------------------------------------------------------------------------------------- samples


def points_of(rows):
    """What tells the points of these rows, as files of samples have it."""
    key = [c for c in tb.ROWS.key if c in rows and rows[c].notna().any()] + ["run_id"]
    words = {c: (rows[c].astype("Int64") if c in tb.ROWS.counts else rows[c]).astype("string").fillna("") for c in key}
    return pd.MultiIndex.from_frame(pd.DataFrame(words))


def with_speedups(rows, path: Path):
    """The rows, with their speedups over further bases: speedup_fastest, speedup_fastest_ci_low and so on."""
    points = points_of(rows)
    for base, table in tb.read_words(path).groupby("base"):
        of_points = table.set_index(points.names).reindex(points)
        rows = rows.assign(**{f"speedup_{base}{end}": of_points[column].astype(float).to_numpy() for column, end in
                              (("speedup", ""), ("ci_low", "_ci_low"), ("ci_high", "_ci_high"))})
    return rows


def read_samples(paths: list[Path], rows, missing: list[str]):
    """The samples of these rows as a table, in the rows' order, within a row as in the file. A file that is too large for
    a page is named instead."""
    points = points_of(rows)
    row_of = {point: i for i, point in enumerate(points)}
    parts = [np.zeros((1 + len(SAMPLE_LISTS), 0))]
    for path in paths:
        size = path.stat().st_size
        if size > LARGEST_SAMPLES:
            missing.append(f"{path} has {size / 2**20:.0f} MiB, over {LARGEST_SAMPLES / 2**20:.0f}: its samples are "
                           "not in the page")
            continue
        table = tb.read_words(path)
        tb.refuse_lacking(path, [c for c in tb.SAMPLES.names if c not in table and c not in tb.SAMPLES.optional])
        fields = table.reindex(columns=points.names, fill_value="").itertuples(index=False, name=None)
        for line, (point, record) in enumerate(zip(fields, table.to_dict("records")), 2):
            if point not in row_of or not record["time_s"]:
                continue
            try:
                lists = np.array([record[c].split() for c in SAMPLE_LISTS], float)
            except ValueError:  # a word, or lists of different lengths
                raise rs.ResultsError(f"{path}:{line}: {', '.join(SAMPLE_LISTS)} do not hold a number each for each "
                                      "sample: copy the whole results folder again")
            good = np.isfinite(lists[-1]) & (lists[-1] > 0)
            if "yes" in record.get("voided", ""):
                good &= np.array(record["voided"].split()) != "yes"
            parts.append(np.vstack([np.full(good.sum(), row_of[point]), lists[:, good]]))
    table = pd.DataFrame(np.hstack(parts).T, columns=["row", *SAMPLE_LISTS], dtype="f4")  # which holds any row's number
    return table.sort_values("row", kind="stable")


# ------------------------------------------------------------------------------------------------- a folder


def sources() -> dict[str, str]:
    """By variant the file that registers it; of ids that are composed, as `ablation/...`, by `ablation/`."""
    files = {}
    for path in (*sorted(ROOT.glob("src/kernels/**/*.cu")), *sorted(ROOT.glob("baselines/*.c[up]*"))) if ROOT else ():
        for variant in re.findall(r'"([a-z0-9-]+/[a-z0-9-]*)"', path.read_text(encoding="utf-8")):
            files.setdefault(variant, str(path.relative_to(ROOT)))
    return files


def read_folder(folder: Path, made: Path | None, samples: bool, blob: Blob) -> dict:
    """What the page holds of a folder. What is too large for it is named in `missing`."""
    results, missing = rs.Results(folder, alone=True), []
    catalog = results.catalog  # without the file all are the user's own
    held = {"missing": missing, "machine": results.machine.record}
    tables = [rs.read_points(path, catalog) for path in rs.experiments_in(folder).values()]
    if tables:
        rows = pd.concat(tables, ignore_index=True)
        kept = rows[[c for c in [*tb.ROWS.names, *ADDED] if c in rows and c not in LEFT_OUT]]
        # What the program made is empty where the folder has no samples.
        means, speedups = ([path for path in (made.glob(name) if made else ()) if path.stat().st_size]
                           for name in ("means.csv", "speedups.csv"))
        for path in speedups:
            kept = with_speedups(kept, path)
        held["rows"] = blob.table(kept, set(kept).difference(tb.ROWS.names, ADDED).union(tb.ROWS.numbers))
        for kind, paths in (("means", means), ("samples", sorted(folder.glob("*.samples.csv*")) if samples else [])):
            table = read_samples(paths, rows, missing)
            if len(table):
                held[kind] = blob.table(table, set(table))
    if len(catalog):
        held["catalog"] = blob.table(catalog.reset_index(), ())
    for name, columns in (("verdicts", tb.VERDICTS), ("releases", tb.TABLES["releases"])):
        if (table := results.table(name)) is not None:
            held[name] = blob.table(table[columns.names], columns.numbers)
    if not held.keys() & {"rows", "verdicts", "releases"}:
        others = sorted(path.name for path in folder.glob("*.csv*") if path.name != "catalog.csv")
        if not others:
            raise rs.ResultsError(f"{folder} holds no rows of an experiment: name a folder that `reductio run` wrote")
        missing.append(f"{folder} holds {', '.join(others)} alone, no experiment's rows: the page has its machine and runs")
    return held


def names_of(folders: list[Path]) -> list[str]:
    """Their last parts, as few as tell them apart: before/mine and after/mine."""
    by_depth = (["/".join(folder.parts[-depth:]) for folder in folders] for depth in range(1, 99))
    return next(names for names in by_depth if len(set(names)) == len(folders))


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
    header = {"folders": held, "sources": sources(), "chart": CHART, "documents": list(rs.DOCUMENTS), "root": root,
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

