"""Reading a results folder: the experiments' CSV, the tables that are made of them, catalog.csv, and machine.json.

Everything that figures and verdicts know comes through here, checked. A file that is missing, empty, cut short, of
another schema version or lacking columns raises ResultsError with one line that says what is wrong and what to do.
"""

from __future__ import annotations

import gzip
import json
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from .command_line import ResultsError
from .tables import (AGAIN, ROWS, SCHEMA_VERSION, TABLES, other_schema, read_table, read_words, refuse_lacking, remedy,
                     require_unchanged, stored)

ELEMENT_BYTES = {"i8": 1, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8, "i128": 16}

# Ids are "group/name". The documents' groups, in the order of the paper, and the panel of all that is the user's own.
DOCUMENTS = ("squares", "twopass", "unroll", "levels", "multiblock")
YOURS = "your variants"


class Absent(LookupError):
    """A results folder does not have it."""


def needed(found, what: str = "no such points"):
    """What was found; Absent if that is nothing."""
    if not len(found):
        raise Absent(what)
    return found


def where_is(table: pd.DataFrame, **values) -> pd.DataFrame:
    """The rows that have these values; of several, any of them."""
    kept = np.arange(len(table))
    for column, value in values.items():
        cells = table[column].iloc[kept]
        same = cells.isin(value) if isinstance(value, (list, tuple, set)) else cells == value
        kept = kept[same.to_numpy(bool, na_value=False)]
    return table.iloc[kept]


def release_of(variant: str) -> str:
    """"3.0.1" of "cub@3.0.1/sum"; "" of other variants."""
    return variant.partition("@")[2].partition("/")[0]


def parse_settings(text: str) -> dict[str, str]:
    """"block=256;finish=atomic" as a dictionary, in its order."""
    return dict(pair.split("=", 1) if "=" in pair else (pair, "") for pair in text.split(";") if pair)


def parse_call(call: str) -> tuple[str, dict[str, str]]:
    """The variant and the settings of "levels/naive:block=256,finish=atomic"."""
    variant, _, settings = call.partition(":")
    return variant, parse_settings(settings.replace(",", ";"))


def fastest(rows: pd.DataFrame) -> pd.Series:
    """The row of the shortest time."""
    return rows.loc[rows["time_median_s"].idxmin()]


# -------------------------------------------------------------------------------------------------- points


def read_points(path: Path, catalog: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows of comparison.csv, limits.csv or cpu.csv as a table with numbers as numbers; empty fields are NaN or "".

    Columns are added: `page_locked`; `words`, what tells a row's settings from others (see setting_words); and what the
    catalogue (the folder's own, unless one is given) says of the variant, the operation and the settings: `kind`,
    `group`, `is_base` and `by_default`.
    """
    table = read_table(path, ROWS, checks_follow=True)
    table["n"] = table["n"].astype("Int64")
    ok = table["status"] == "ok"
    # By `clock` there are cycles instead, and by `globaltimer` what kernels read of themselves.
    timed = ok & ~table["timing_mode"].isin(["clock", "globaltimer"]) & (table["device"] != "sim")
    for column, lacking in (("time_median_s", timed & table["time_median_s"].isna()), ("n", ok & table["n"].isna())):
        if lacking.any():
            raise ResultsError(f"{path}:{lacking.idxmax() + 2}: status is ok but {column} is missing")

    again = table.duplicated(ROWS.key)
    if again.any():
        keys = table[ROWS.key].astype(str)  # where an empty field is like another
        same = (keys == keys.loc[again.idxmax()]).all(axis=1)
        raise ResultsError(f"{path}:{again.idxmax() + 2} is of the same point as line {same.idxmax() + 2}, "
                           f"{table['variant'][again.idxmax()]}: finish that run with --resume, or remove one")
    require_unchanged(path)
    # A clock that saw no time pass tells nothing that a figure could show.
    table = table[table["time_median_s"] != 0].reset_index(drop=True)
    catalog = read_catalog(path.parent / "catalog.csv") if catalog is None else catalog
    known = catalog.reindex(table["variant"]).set_axis(table.index)
    table["kind"], table["group"] = known["kind"].fillna("yours"), known["group"].fillna(YOURS)
    table["is_base"] = [o in str(of_these).split(";") for o, of_these in zip(table["operation"], known["base_of"])]
    table["by_default"] = known["default_settings"] == table["settings"]
    # No document uses page-locked memory, so figures and tables show a document's own finish on the host alone.
    table["page_locked"] = table["settings"].str.contains("finish=host-pinned")
    shown = table["settings"].str.replace("finish=host-pinned", "finish=host")
    for _, rows in table.groupby("device"):
        words = setting_words(rows[~rows["page_locked"]])
        table.loc[rows.index, "words"] = [words.get(call, "") for call in zip(rows["variant"], shown[rows.index])]
    return table


def setting_words(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """A few words for each (variant, settings): the values of the keys that the run varied, "" where it varied none.

    Decided by the id's prefix, so that in one panel the same words mean the same choice for every variant.
    """
    calls = table[["variant", "settings"]].drop_duplicates().itertuples(index=False, name=None)
    parsed = {(variant, settings): parse_settings(settings) for variant, settings in calls}
    chosen = pd.DataFrame(parsed.values(), index=pd.Index([variant for variant, _ in parsed], dtype=str))
    varied = chosen.groupby(level=0).nunique(dropna=False) > 1
    varied = varied.groupby(varied.index.str.partition("/").get_level_values(0)).any() if len(varied) else varied

    def word(key: str, value: str) -> str:
        return f"{key}={value}" if value.lstrip("-").isdigit() or value == "auto" else value

    return {(variant, settings): ", ".join(word(key, settings_of_call[key]) for key in chosen
                                           if key in settings_of_call and varied[key][variant.partition("/")[0]])
            for (variant, settings), settings_of_call in parsed.items()}


def is_experiment(path: Path) -> bool:
    """Whether a CSV holds an experiment's rows; others are models, probes and the like. So does one without a header
    that can be read: whoever reads its rows says why."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig") as file:
            header = file.readline()
    except (UnicodeDecodeError, EOFError, OSError, zlib.error):
        return True
    return not header or {"experiment", "status", "time_median_s"} <= set(header.rstrip("\n").split(","))


def experiments_in(folder: Path) -> dict[str, Path]:
    """By name the CSV of a folder that hold an experiment's rows."""
    return {path.name.partition(".")[0]: path for path in sorted(folder.glob("*.csv*"))
            if ".samples." not in path.name and is_experiment(path)}


def read_csv(path: Path) -> pd.DataFrame:
    """Any CSV of a results folder. In those that the schema does not have, columns of numbers alone are numbers."""
    columns = TABLES.get(path.name.partition(".")[0])
    if columns or is_experiment(path):
        return read_table(path, columns) if columns else read_points(path)
    table = read_words(path)
    for column in table:
        given = table[column].where(table[column] != "")
        if given.notna().any():
            with suppress(ValueError):  # at the first word
                table[column] = pd.to_numeric(given)
    return table


CATALOG = "thread block grid operations document_n kind base_of default_settings".split()  # what is read of it


def read_catalog(path: Path) -> pd.DataFrame:
    """catalog.csv by variant, every field text, with the `group` that figures name; an empty table if there is none."""
    table = read_words(path) if path.exists() else pd.DataFrame(columns=["variant", *CATALOG], dtype=str)
    refuse_lacking(path, [column for column in ["variant", *CATALOG] if column not in table])
    table = table.drop_duplicates("variant", keep="last").set_index("variant")
    prefix = [variant.partition("/")[0] for variant in table.index]
    return table.assign(group=[YOURS if kind == "yours" else group for kind, group in zip(table["kind"], prefix)])


# ------------------------------------------------------------------------------------------------ machine


@dataclass
class Machine:
    """What machine.json tells; None where it does not."""

    name: str
    record: dict = field(default_factory=dict)

    def get(self, path: str, default=None):
        """What stands at a dotted path: get("gpu.name")."""
        node = self.record
        for part in path.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        return default if node in (None, "") else node

    def number(self, path: str) -> float | None:
        value = self.get(path)
        if not isinstance(value, (int, float, type(None))):
            raise ResultsError(f"machine.json of {self.name}: {path} is {value!r}, not a number")
        return float(value) if value else None

    @property
    def gpu(self) -> str:
        """Its name, or the folder's where there is none."""
        return str(self.get("gpu.name", default=self.name))


def read_record(path: Path):
    """What a JSON file of a results folder holds."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ResultsError(f"{path} does not exist: the run writes it beside its CSV; copy it along")
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}")
    except ValueError as error:
        raise ResultsError(f"{path} is not valid JSON ({error}): copy the results folder again")


# ------------------------------------------------------------------------------------------------- folder


# Files that are measured on one GPU alone, and how the names of their folders end.
ELSEWHERE = {"releases": "releases", "frontier": "frontier", "frontier-python": "frontier-python",
             "frontier-python-cpu": "frontier-python", "peers": "peers", "as-printed": "claims", "copies": "claims",
             "magnitudes": "exact", "exact": "data", "shapes": "shapes", "shapes-python": "shapes"}


class Results:
    """One results folder, of which each file is read when it is first asked for. Tables are None where there is no such
    file."""

    def __init__(self, folder: Path, cpu_folder: Path | None = None, alone: bool = False):
        for f in (folder, cpu_folder):
            if f is not None and not f.is_dir():
                raise ResultsError(f"{f} is not a folder: name a results folder")
        self.folder = folder
        self.cpu_folder = cpu_folder or folder  # that cpu.csv is in
        self.alone = alone  # without the files that folders of their own have
        self._tables: dict[str, pd.DataFrame | None] = {}

    def file(self, name: str) -> Path:
        return stored(self.folder_of(name) / name)

    def folder_of(self, name: str) -> Path:
        """That a file is in. Some have a folder of their own beside this one, as nvidia-h100-releases, where this one has
        none of that name."""
        stem = name.partition(".")[0]
        if stem in ("cpu", "vector_add"):
            return self.cpu_folder
        if stem not in ELSEWHERE or self.alone or stored(self.folder / name).exists():
            return self.folder
        others = sorted(self.folder.resolve().parent.glob(f"*-{ELSEWHERE[stem]}/{name}*"))
        return others[0].parent if others else self.folder

    def table(self, name: str, read=read_csv) -> pd.DataFrame | None:
        """NAME.csv; of one file always the same."""
        if name not in self._tables:
            path = self.file(f"{name}.csv")
            self._tables[name] = read(path) if path.exists() else None
        return self._tables[name]

    def experiment(self, name: str) -> pd.DataFrame | None:
        return self.table(name, read_points)

    def rows(self, name: str, call: str = "", /, **where) -> pd.DataFrame:
        """The rows of NAME.csv with these values, of a call `variant:name=value,name=value`: settings that are not named
        may have any value."""
        rows = self.table(name)
        if rows is None:
            raise Absent(f"no {name}.csv: {remedy(self.folder / f'{name}.csv')}")
        variant, settings = parse_call(call)
        where |= {"variant": variant} if variant else {}
        refuse_lacking(self.file(f"{name}.csv"), [c for c in where if c not in rows])
        rows = where_is(rows, **where)
        pairs = set(map("=".join, settings.items()))
        return rows[np.array([pairs <= set(text.split(";")) for text in rows["settings"]], bool)] if pairs else rows

    def row(self, name: str, call: str = "", /, **where) -> pd.Series:
        """The one row with these values: Absent if there is none, an error if there are several."""
        rows = self.rows(name, call, **where)
        if len(rows) != 1:
            mistake = f"{name} has {len(rows)} rows of {call} {where}, where one is wanted"
            raise Absent(mistake) if rows.empty else ResultsError(mistake)
        return rows.iloc[0]

    def other(self, machine: str) -> Results:
        """The folder of another one, beside this."""
        folder = self.folder.parent / machine
        if not folder.is_dir():
            raise Absent(f"no {folder}")
        return opened(folder)

    @cached_property
    def machine(self) -> Machine:
        return self.machine_of("machine.json")

    def machine_of(self, name: str) -> Machine:
        """That of a file."""
        path = self.folder_of(name) / "machine.json"
        record = read_record(path)
        runs = record.get("runs") if isinstance(record, dict) else None
        if not isinstance(runs, list) or not all(isinstance(run, dict) and isinstance(run.get("experiment"), str)
                                                 for run in runs):
            raise ResultsError(f"{path} does not list its runs, each with its experiment: copy the results folder "
                               "again")
        machine, version = Machine(path.parent.resolve().name, record), str(record.get("schema_version"))
        if version != SCHEMA_VERSION:
            raise other_schema(path, version, AGAIN, str(machine.get("build.git_revision", default="")))
        return machine

    @cached_property
    def catalog(self) -> pd.DataFrame:
        return read_catalog(self.folder / "catalog.csv")

    @property
    def comparison(self) -> pd.DataFrame | None:
        return self.experiment("comparison")

    @property
    def models(self) -> pd.DataFrame | None:
        """Fits, which must be of the runs that are here: fits of other times must not stand beside them."""
        table = self.table("models")
        for experiment in ("comparison", "limits", "timing") if table is not None else ():
            fitted, rows = set(table.loc[table["experiment"] == experiment, "run_id"]), self.experiment(experiment)
            if rows is not None and not fitted <= set(rows["run_id"]):
                raise ResultsError(f"{self.file('models.csv')} is of another run of {experiment} than the rows beside "
                                   f"it: run `reductio models {self.folder}` again")
        return table

    @cached_property
    def beside(self) -> list[Results]:
        """Other GPUs' comparisons, in the folders beside this one. What cannot be read there is left out, and said: it
        is no fault of this folder."""
        results, gpu = [], self.machine.get("gpu.name")
        for path in sorted(self.folder.resolve().parent.glob("*/machine.json")) if self.comparison is not None else ():
            try:
                if Machine("", read_record(path)).get("gpu.name") not in (None, gpu):
                    neighbour = Results(path.parent)
                    results += [neighbour] if neighbour.comparison is not None else []
            except ResultsError as error:
                print(f"  left out: {error}")
        return results


@lru_cache
def opened(folder: Path, alone: bool = False) -> Results:
    """A folder that several ask of, read once."""
    return Results(folder, alone=alone)
