"""Reading one CSV file of a results folder, checked: that it is whole, as its runs wrote it, and as schema.json says.

A file that is missing, empty, cut short, of another schema version or lacking columns raises ResultsError with one line
that says what is wrong and what to do.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from .command_line import ResultsError

# What columns there are, of what kind, and which of them tell one point from another: the program's own tables, as it
# wrote them to this file.
SCHEMA = json.loads(Path(__file__).with_name("schema.json").read_text())
SCHEMA_VERSION = str(SCHEMA["schema_version"])


class Columns:
    """What a reader wants of a file: names of its columns, by what schema.json says of them."""

    def __init__(self, table: str):
        columns = SCHEMA[table]["columns"]

        def marked(*marks: str) -> list[str]:
            return [c["name"] for c in columns if any(c.get(mark) or c["kind"] == mark for mark in marks)]

        self.names = [c["name"] for c in columns]
        self.words = {c["name"]: c["words"] for c in columns if c.get("words")}  # what alone a column may hold
        self.numbers = marked("count", "number")
        self.counts = marked("count")        # of the numbers, those that are whole
        self.optional = marked("optional")   # a file may lack them: they are empty then
        self.key = marked("key")             # what tells one point from another
        self.filled = marked("filled")       # never empty
        self.positive, self.not_negative = marked("positive"), marked("not_negative")


# The files that have columns of their own and are no experiment's.
TABLES = {table: Columns(table) for table in SCHEMA if table != "schema_version"}
ROWS, SAMPLES, VERDICTS = TABLES.pop("rows"), TABLES.pop("samples"), TABLES["verdicts"]

AGAIN = "run the experiment again"
# What makes the files that are no experiment's.
MADE_BY = {"ncu.csv": "run experiments/ncu.py on a machine that lets Nsight Compute read its counters",
           "probes.csv": "run `reductio probe`",
           **dict.fromkeys(("as-printed.csv", "copies.csv"), "run `build/bin/as_printed FOLDER`"),
           "compiler.csv": "run experiments/compiler.py",
           "models.csv": "run `reductio models` again", "nvbench-agreement.csv": "run baselines/nvbench/agree.py",
           **dict.fromkeys(("contrasts.csv", "verdicts.csv", "goals.csv", "means.csv"),
                           "run `reductio summarize FOLDER --cpu-results FOLDER` again"),
           **dict.fromkeys(("repeat.csv.gz", "repeat-relative.csv.gz", "raw-workspace.csv", "to-host.csv"),
                           "run `reductio compare --csv` again")}


def remedy(path: Path) -> str:
    """What to do about a file that cannot be used."""
    return MADE_BY.get(path.name, AGAIN)


def stored(path: Path) -> Path:
    """A file, or the same compressed where only that is there, as large tables are kept."""
    compressed = path.with_name(path.name + ".gz")
    return compressed if not path.exists() and compressed.exists() else path


def content_of(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


# A field in quotation marks, as RFC 4180 has it; no field has a line end.
QUOTED = re.compile(r'(?:^|,)"(?:[^"\n]|"")*"(?=,|\r?$)', re.MULTILINE)


def place_in(path: Path, data: bytes, at: int) -> str:
    """FILE:LINE:COLUMN: of a byte."""
    *lines, last = data[:at].split(b"\n")
    return f"{path}:{len(lines) + 1}:{len(last) + 1}:"


def read_words(path: Path, checks_follow: bool = False) -> pd.DataFrame:
    """One CSV file, every field text and each row whole, as its runs wrote it; ResultsError otherwise. `checks_follow`:
    the caller asks last whether it is as they wrote it, since other checks say more of what is wrong."""
    try:
        data = content_of(path)
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ResultsError(f"{path} is UTF-16, as some editors save; save it as UTF-8, or copy the whole results "
                               "folder again")
        data = data.removeprefix(codecs.BOM_UTF8)
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ResultsError(f"{place_in(path, data, error.start)} a byte that is not of UTF-8; save the file as UTF-8")
    except (EOFError, OSError, zlib.error) as error:
        raise ResultsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}: {remedy(path)}")
    if not text.strip():
        raise ResultsError(f"{path} is empty: {remedy(path)}")
    if not text.endswith("\n"):  # its last field may lack its tail without the count of fields showing it
        mend = f": {remedy(path)}" if path.name in MADE_BY else "; finish it with `reductio run ... --resume`"
        raise ResultsError(f"{path}: its last row has no line end: it was cut while being written{mend}")
    # Where a line breaks RFC 4180, as stray_quote() of csv.cpp finds it.
    stray = QUOTED.sub(lambda field: " " * len(field[0]), text).find('"') if '"' in text else -1
    for found, what in ((text.find("\0"), "a NUL byte"), (stray, "a quotation mark that does not belong there")):
        if found >= 0:
            raise ResultsError(f"{place_in(path, text.encode(), len(text[:found].encode()))} {what}; fix that line, or "
                               f"{remedy(path)}")
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header, *rows = reader
    except csv.Error as error:
        raise ResultsError(f"{path}:{reader.line_num}: {error}")
    for line, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ResultsError(f"{path}:{line}: row has {len(row)} of {len(header)} fields: was it edited by hand? "
                               f"{remedy(path)}")
    if not rows:
        raise ResultsError(f"{path} has a header but no rows: {remedy(path)}")
    if not checks_follow:
        require_unchanged(path, data)
    return pd.DataFrame(rows, columns=header, dtype=str)


@lru_cache
def hashes_in(machine: Path, changed_ns: int) -> dict[str, list[tuple[str, str]]]:
    """By file the runs and tools of machine.json that wrote lines of it, each with the SHA-256 of these."""
    with suppress(ValueError, AttributeError, TypeError):  # who reads the record says what is wrong with it
        record, by_file = json.loads(machine.read_bytes()), {}
        for run in [*record.get("runs", []), *record.get("tools", [])]:
            for name, sha256 in run.get("sha256", {}).items():
                by_file.setdefault(name, []).append((run["run_id"], sha256))
        return by_file
    return {}


def require_unchanged(path: Path, data: bytes | None = None) -> None:
    """ResultsError where a file is not as its runs wrote it, by hash_of_run() of provenance.h; `data`: uncompressed."""
    machine = path.parent / "machine.json"
    recorded = hashes_in(machine, machine.stat().st_mtime_ns).get(path.name.removesuffix(".gz")) if machine.exists() else None
    if not recorded:
        return
    header, *lines = (data or content_of(path)).removeprefix(codecs.BOM_UTF8).splitlines(keepends=True)
    for run_id, sha256 in recorded:
        names = header.rstrip(b"\r\n").split(b",")
        at = names.index(b"run_id") if b"run_id" in names else len(names)
        own = [line for line in lines if line.rstrip(b"\r\n").split(b",", at + 1)[at:at + 1] == [run_id.encode()]]
        if hashlib.sha256(b"".join([header, *own])).hexdigest() != sha256:
            raise ResultsError(f"{path} is not as run {run_id} wrote it, by the SHA-256 in machine.json: it was edited, or "
                               "is of another copy; copy the whole results folder again")


def refuse_lacking(path: Path, missing: list[str]) -> None:
    if missing:
        raise ResultsError(f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: "
                           f"{remedy(path)} with this revision")


def other_schema(path: Path, version: str, advice: str, revision: str = "") -> ResultsError:
    """As other_schema() of schema.h words it."""
    return ResultsError(f"{path} has schema version {version}, this program reads {SCHEMA_VERSION}: {advice}, or use the "
                        f"program that wrote it{f' (commit {revision[:8]})' if revision else ''}")


NUMBER = r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"


def read_table(path: Path, columns: Columns, checks_follow: bool = False) -> pd.DataFrame:
    """A CSV with at least these columns, of this schema version if it has one, and as schema.json says: what the program
    refuses, this refuses. Optional columns that the file lacks are empty; others than these are left as they are."""
    table = read_words(path, checks_follow=True)
    versions = set(table.get("schema_version", [SCHEMA_VERSION]))
    if versions != {SCHEMA_VERSION}:
        raise other_schema(path, ", ".join(sorted(versions - {SCHEMA_VERSION})), remedy(path))
    missing = [c for c in columns.names if c not in table and c not in columns.optional]
    if len(missing) > len(set(columns.names).intersection(table)):
        raise ResultsError(f"{path} has no header: its first line names no column, as {columns.names[0]} does: {remedy(path)}")
    refuse_lacking(path, missing)
    lacking = [c for c in columns.optional if c not in table]
    table = table.assign(**dict.fromkeys(lacking, ""))

    def refuse(column: str, bad: pd.Series, wanted: str) -> None:
        if bad.any():
            i = bad.idxmax()
            raise ResultsError(f"{path}:{i + 2}: {column} is {words[column][i]!r}, not {wanted}: {remedy(path)}")

    words = table.copy(deep=False)
    for column, allowed in columns.words.items():
        if column not in lacking:
            refuse(column, ~table[column].isin(allowed), f"one of {', '.join(allowed)}")
    for column in columns.numbers:
        whole, empty = column in columns.counts, table[column] == ""
        numbers = pd.to_numeric(table[column].where(table[column].str.fullmatch(r"\d+" if whole else NUMBER)),
                                errors="coerce")
        bad = ~np.isfinite(numbers.astype(float)) & (column in columns.filled or ~empty)
        bad |= numbers <= 0 if column in columns.positive else numbers < 0 if column in columns.not_negative else False
        refuse(column, bad, "a whole number" if whole else "a finite number above 0" if column in columns.positive else
               "a finite number of 0 or more" if column in columns.not_negative else "a finite number")
        table[column] = numbers
    if not checks_follow:
        require_unchanged(path)
    return table
