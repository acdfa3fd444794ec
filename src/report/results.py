"""Reading a results folder: the experiments' CSV, contrasts.csv, verdicts.csv, models.csv, probes.csv, catalog.csv and
machine.json.

Everything that figures and verdicts know comes through here, checked. A file that is missing, empty, cut short, of
another schema version or lacking columns raises ResultsError with one line that says what is wrong and what to do.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import math
import zlib
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from .command_line import ResultsError

# What columns there are, of what kind, and which of them tell one point from another: the program's own tables, as it
# wrote them to this file.
SCHEMA = json.loads(Path(__file__).with_name("schema.json").read_text())
SCHEMA_VERSION = str(SCHEMA["schema_version"])


@dataclass(frozen=True)
class Columns:
    """What a reader wants of a file."""

    names: list[str]
    numbers: list[str]
    optional: list[str] = field(default_factory=list)  # a file may lack them: they are empty then
    key: list[str] = field(default_factory=list)       # what tells one point from another
    words: dict[str, list[str]] = field(default_factory=dict)  # what alone a column may hold
    counts: list[str] = field(default_factory=list)    # of the numbers, those that are whole
    filled: list[str] = field(default_factory=list)    # never empty
    positive: list[str] = field(default_factory=list)
    not_negative: list[str] = field(default_factory=list)

    @staticmethod
    def of(table: str) -> Columns:
        columns = SCHEMA[table]["columns"]

        def those(so) -> list[str]:
            return [c["name"] for c in columns if so(c)]

        marked = {mark: those(lambda c, mark=mark: c.get(mark))
                  for mark in ("optional", "key", "filled", "positive", "not_negative")}
        return Columns(those(lambda c: True), those(lambda c: c["kind"] in ("count", "number")),
                       words={c["name"]: c["words"] for c in columns if c.get("words")},
                       counts=those(lambda c: c["kind"] == "count"), **marked)


# Of samples, which names columns had in files that keep them.
FORMERLY = {c["formerly"]: c["name"] for c in SCHEMA["samples"]["columns"] if c.get("formerly")}
ROWS, SAMPLES, MODELS, CONTRASTS = (Columns.of(table) for table in ("rows", "samples", "models", "contrasts"))
READ_CEILING = "(read-ceiling)"

# Of files that the program does not write.
VERDICTS = Columns(
    "claim document statement text_figure n operation element_type timing_mode cache_state base variant ratio ci_low "
    "ci_high threshold verdict reason role verdicts_before".split(), "n ratio ci_low ci_high".split(),
    words={"verdict": ["holds", "holds but weaker", "mixed", "no effect", "within 2 % of the threshold", "reversed",
                       "not decidable here"],
           "role": ["claim", "large", "step", "beside"]})
GOALS = Columns("goal what quantity element_type timing_mode cache_state demanded measured low high points at at_n verdict "
                "set".split(), "demanded measured low high points at_n".split())
# The files that have columns of their own and are no experiment's.
TABLES = {"models": MODELS, "contrasts": CONTRASTS, "releases": Columns.of("releases"), "verdicts": VERDICTS,
          "goals": GOALS}
ELEMENT_BYTES = {"i8": 1, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8, "i128": 16}

STATUS_WORDS = {"over_limit": "over the limit", "no_memory": "too large for the memory"}  # of others the status itself


# Ids are "group/name". The documents' groups, in the order of the paper, and the panel of all that is the user's own.
DOCUMENTS = ("squares", "twopass", "unroll", "levels", "multiblock")
YOURS = "your variants"
# Whose variants are, in the order of figures and tables; of the first three are the kernels that no library has.
KERNELS = ("document", "yours", "ours")
KINDS = (*KERNELS, "library", "cpu")

OPERATION_LABELS = {"sum": "sum", "sum_of_squares": "sum of squares"}
CACHE_LABELS = {"cold_dirty": "L2 cold and dirty", "cold_clean": "L2 cold and clean", "warm": "L2 warm"}
CPU_CACHE_LABELS = {"cold_dirty": "cold cache", "cold_clean": "cold cache", "warm": "warm cache"}
MODE_LABELS = {"device": "device time", "device_part": "device part only", "end_to_end": "end to end",
               "graph": "graph replay", "replay": "one-call graph", "launch_to_idle": "launch to idle"}


class Absent(LookupError):
    """A results folder does not have it."""


def place(kind: str, group: str) -> tuple:
    """What sorts groups as figures and tables show them."""
    return KINDS.index(kind), DOCUMENTS.index(group) if group in DOCUMENTS else len(DOCUMENTS), group


def where_is(table: pd.DataFrame, **values) -> pd.DataFrame:
    """The rows that have these values; of several, any of them."""
    kept = np.arange(len(table))
    for column, value in values.items():
        of = table[column].iloc[kept]
        same = of.isin(value) if isinstance(value, (list, tuple, set)) else of == value
        kept = kept[same.to_numpy(bool, na_value=False)]
    return table.iloc[kept]


def groups(table: pd.DataFrame, *kinds: str) -> list[str]:
    """Those of a table's variants, or the catalogue's, of these kinds."""
    found = set(zip(table["kind"], table["group"]))
    return [group for kind, group in sorted(found, key=lambda of: place(*of)) if kind in kinds]


def short_name(variant: str) -> str:
    """The id as shown where its group is already named: without the documents' prefix, whole for the user's own."""
    prefix, _, name = variant.partition("/")
    return name if prefix in DOCUMENTS else variant


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


def setting(rows: pd.DataFrame, name: str) -> pd.Series:
    """A setting of each row as a number; NaN where it has none, or a word."""
    return pd.to_numeric(rows["settings"].map(lambda settings: parse_settings(settings).get(name)), errors="coerce")


# ---------------------------------------------------------------------------------------------------- CSV

AGAIN = "run the experiment again"
# What makes the files that are no experiment's.
MADE_BY = {"ncu.csv": "run experiments/ncu.py on a machine that lets Nsight Compute read its counters",
           "probes.csv": "run `reductio probe`",
           **dict.fromkeys(("as-printed.csv", "copies.csv"), "run `build/bin/as_printed FOLDER`"),
           "compiler.csv": "run experiments/compiler.py",
           "models.csv": "run `reductio models` again", "nvbench-agreement.csv": "run baselines/nvbench/agree.py",
           "contrasts.csv": "run `reductio summarize FOLDER --cpu-results FOLDER` again",
           "verdicts.csv": "run `python paper/verdicts.py FOLDER` again",
           "goals.csv": "run `python paper/goals.py FOLDER` again",
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


def read_words(path: Path, checks_follow: bool = False) -> pd.DataFrame:
    """One CSV file, every field text and each row whole, as its runs wrote it; ResultsError otherwise. `checks_follow`:
    the caller asks last whether it is as they wrote it, since other checks say more of what is wrong."""
    try:
        data = content_of(path)
        text = data.decode("utf-8")
    except (UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        raise ResultsError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}: {remedy(path)}")
    if not text.strip():
        raise ResultsError(f"{path} is empty: {remedy(path)}")
    if not text.endswith("\n"):  # its last field may lack its tail without the count of fields showing it
        mend = f": {remedy(path)}" if path.name in MADE_BY else "; finish it with `reductio run ... --resume`"
        raise ResultsError(f"{path}: its last row has no line end: it was cut while being written{mend}")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
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
        record, found = json.loads(machine.read_bytes()), {}
        for run in [*record.get("runs", []), *record.get("tools", [])]:
            for name, sha256 in run.get("sha256", {}).items():
                found.setdefault(name, []).append((run["run_id"], sha256))
        return found
    return {}


def require_unchanged(path: Path, data: bytes | None = None) -> None:
    """ResultsError where a file is not as its runs wrote it, by hash_of_run() of provenance.h; `data`: uncompressed."""
    machine = path.parent / "machine.json"
    told = hashes_in(machine, machine.stat().st_mtime_ns).get(path.name.removesuffix(".gz")) if machine.exists() else None
    if not told:
        return
    header, *lines = (data or content_of(path)).splitlines(keepends=True)
    for run_id, sha256 in told:
        names = header.rstrip(b"\r\n").split(b",")
        at = names.index(b"run_id") if b"run_id" in names else len(names)
        own = [line for line in lines if line.rstrip(b"\r\n").split(b",", at + 1)[at:at + 1] == [run_id.encode()]]
        if hashlib.sha256(b"".join([header, *own])).hexdigest() != sha256:
            raise ResultsError(f"{path} is not as run {run_id} wrote it, by the SHA-256 in machine.json: it was edited, or "
                               "is of another copy; copy the whole results folder again")


def with_todays_names(samples: pd.DataFrame) -> pd.DataFrame:
    """A column that has an earlier name takes the place of another that has its name today."""
    renamed = {old: new for old, new in FORMERLY.items() if old in samples}
    return samples.drop(columns=renamed.values(), errors="ignore").rename(columns=renamed)


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
    refuse_lacking(path, [c for c in columns.names if c not in table and c not in columns.optional])
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
    of = catalog.reindex(table["variant"]).set_axis(table.index)
    table["kind"], table["group"] = of["kind"].fillna("yours"), of["group"].fillna(YOURS)
    table["is_base"] = [o in str(of_these).split(";") for o, of_these in zip(table["operation"], of["base_of"])]
    table["by_default"] = of["default_settings"] == table["settings"]
    # No document uses page-locked memory, so figures and tables show a document's own finish on the host alone.
    table["page_locked"] = table["settings"].str.contains("finish=host-pinned")
    shown = table["settings"].str.replace("finish=host-pinned", "finish=host")
    for _, of in table.groupby("device"):
        words = setting_words(of[~of["page_locked"]])
        table.loc[of.index, "words"] = [words.get(call, "") for call in zip(of["variant"], shown[of.index])]
    return table


def is_experiment(path: Path) -> bool:
    """Whether a CSV holds an experiment's rows; others are models, probes and the like. So does one without a header
    that can be read: whoever reads its rows says why."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
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
    return table.assign(group=[YOURS if kind == "yours" else of for kind, of in zip(table["kind"], prefix)])


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

    @property
    def peak_bytes_per_s(self) -> float | None:
        return self.number("gpu.theoretical_peak_bytes_per_s")

    @property
    def l2_bytes(self) -> float | None:
        return self.number("gpu.l2_bytes")


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


def read_machine(path: Path, name: str) -> Machine:
    record = read_record(path)
    runs = record.get("runs") if isinstance(record, dict) else None
    if not isinstance(runs, list) or not all(isinstance(run, dict) and isinstance(run.get("experiment"), str)
                                             for run in runs):
        raise ResultsError(f"{path} does not list its runs, each with its experiment: copy the results folder again")
    machine, version = Machine(name, record), str(record.get("schema_version"))
    if version != SCHEMA_VERSION:
        raise other_schema(path, version, AGAIN, str(machine.get("build.git_revision", default="")))
    return machine


# ------------------------------------------------------------------------------------------------- folder


# Files that are measured on one GPU alone, and how the names of their folders end.
ELSEWHERE = {"releases": "releases", "frontier": "frontier", "frontier-python": "frontier-python",
             "frontier-python-cpu": "frontier-python", "peers": "peers", "as-printed": "claims", "copies": "claims"}


@dataclass(frozen=True)
class Contrast:
    """What a results folder has of a contrast at one size; `value` is NaN where something lacks, as `reason` says."""

    name: str
    n: int
    value: float = math.nan  # a speedup or another ratio; of one call a time in s, by clock() in cycles
    low: float = math.nan
    high: float = math.nan
    enough: bool = False     # contexts for the interval
    verdict: str = ""
    reason: str = ""
    experiment: str = ""
    element_type: str = ""
    pairs: int = 0           # that it is a mean over

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


class Results:
    """One results folder, of which each file is read when it is first asked for. Tables are None where there is no such
    file."""

    def __init__(self, folder: Path, cpu_folder: Path | None = None):
        for f in (folder, cpu_folder):
            if f is not None and not f.is_dir():
                raise ResultsError(f"{f} is not a folder: name a results folder")
        self.folder = folder
        self.cpu_folder = cpu_folder or folder  # that cpu.csv is in
        self._tables: dict[str, pd.DataFrame | None] = {}

    def file(self, name: str) -> Path:
        return stored(self.folder_of(name) / name)

    def folder_of(self, name: str) -> Path:
        """That a file is in. Some have a folder of their own beside this one, as nvidia-h100-releases, where this one has
        none of that name."""
        stem = name.partition(".")[0]
        if stem in ("cpu", "vector_add"):
            return self.cpu_folder
        if stem not in ELSEWHERE or stored(self.folder / name).exists():
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
        found = self.table(name)
        if found is None:
            raise Absent(f"no {name}.csv: {remedy(self.folder / f'{name}.csv')}")
        variant, settings = parse_call(call)
        where |= {"variant": variant} if variant else {}
        refuse_lacking(self.file(f"{name}.csv"), [c for c in where if c not in found])
        found = where_is(found, **where)
        pairs = set(map("=".join, settings.items()))
        return found[np.array([pairs <= set(of.split(";")) for of in found["settings"]], bool)] if pairs else found

    def row(self, name: str, call: str = "", **where) -> pd.Series:
        found = self.rows(name, call, **where)
        if len(found) != 1:
            raise Absent(f"{name} has {len(found)} rows of {call} {where}, where one is wanted")
        return found.iloc[0]

    def measured(self, call: str, n: int, experiment: str = "comparison", **where) -> pd.Series:
        """An experiment's row: f32, on the device, L2 cold and dirty, unless said."""
        usual = dict(n=n, device="cuda", element_type="f32", timing_mode="device", cache_state="cold_dirty",
                     offset_elements=0, status="ok")
        return self.row(experiment, call, **(usual | where))

    def us(self, call: str, n: int, experiment: str = "comparison", **where) -> float:
        return 1e6 * self.measured(call, n, experiment, **where)["time_median_s"]

    def probe(self, quantity: str, unit: str) -> float:
        """The median over its repeats."""
        return float(self.rows("probes", quantity=quantity, unit=unit)["value"].median())

    def other(self, machine: str) -> Results:
        """The folder of another one, beside this."""
        return opened(self.folder.parent / machine)

    @cached_property
    def machine(self) -> Machine:
        return self.machine_of("machine.json")

    def machine_of(self, name: str) -> Machine:
        """That of a file."""
        folder = self.folder_of(name)
        return read_machine(folder / "machine.json", folder.resolve().name)

    @cached_property
    def catalog(self) -> pd.DataFrame:
        return read_catalog(self.folder / "catalog.csv")

    @property
    def comparison(self) -> pd.DataFrame | None:
        return self.experiment("comparison")

    @property
    def cpu(self) -> pd.DataFrame | None:
        return self.experiment("cpu")

    @property
    def models(self) -> pd.DataFrame | None:
        """Fits, which must be of the runs that are here: fits of other times must not stand beside them."""
        table = self.table("models")
        for experiment in ("comparison", "limits", "timing") if table is not None else ():
            there, rows = set(table.loc[table["experiment"] == experiment, "run_id"]), self.experiment(experiment)
            if rows is not None and not there <= set(rows["run_id"]):
                raise ResultsError(f"{self.file('models.csv')} is of another run of {experiment} than the rows beside "
                                   f"it: run `reductio models {self.folder}` again")
        return table

    @cached_property
    def contrasts(self) -> dict[str, list[Contrast]]:
        """By name; empty without contrasts.csv."""
        table, found = self.table("contrasts"), {}
        for row in table.itertuples() if table is not None else ():
            found.setdefault(row.name, []).append(Contrast(
                row.name, int(row.n), row.value, row.ci_low, row.ci_high, row.enough == "yes", row.verdict, row.reason,
                row.experiment, row.element_type, 0 if pd.isna(row.pairs) else int(row.pairs)))
        return found

    @cached_property
    def beside(self) -> list[Results]:
        """Other GPUs' comparisons, in the folders beside this one. What cannot be read there is left out, and said: it
        is no fault of this folder."""
        found = []
        for other in beside(self.folder) if self.comparison is not None else ():
            try:
                if (there := Results(other)).comparison is not None:
                    found.append(there)
            except ResultsError as error:
                print(f"  left out: {error}")
        return found


@lru_cache
def opened(folder: Path) -> Results:
    """A folder that several ask of, read once."""
    return Results(folder)


def beside(folder: Path) -> list[Path]:
    """Other GPUs' results folders, in the folder that this one is in."""
    gpu = {p.parent: Machine(p.parent.name, read_record(p)).get("gpu.name")
           for p in folder.resolve().parent.glob("*/machine.json")}
    return [p for p in sorted(gpu) if gpu[p] not in (None, gpu.get(folder.resolve()))]


# ------------------------------------------------------------------------------------------------- series


@dataclass(eq=False)
class Series:
    """One line of a figure: one variant with one choice of settings, along n."""

    mode: str          # "device_part", or a timing mode
    points: pd.DataFrame  # the rows by n, with times as SHORT names them; NaN where status is not ok
    variant: str
    settings: str
    words: str         # what tells its settings from others of its group: "atomic", "block=512"; "" if nothing does
    operation: str
    cache_state: str
    kind: str          # as the catalogue says
    group: str         # the figure panel that it belongs to
    is_base: bool      # its operation's speedups are over it
    by_default: bool   # its settings are the variant's defaults

    @property
    def name(self) -> str:
        """The id, with the settings where they matter: "levels/naive [atomic]"."""
        return f"{self.variant} [{self.words}]" if self.words else self.variant

    # Of one series figures, tables and texts ask the same many times.
    @cached_property
    def ok(self) -> pd.DataFrame:
        return self.points[self.points["status"] == "ok"]

    @cached_property
    def _at(self) -> dict[int, pd.Series]:
        return {point["n"]: point for _, point in self.ok.iterrows()}

    def at(self, n: int) -> pd.Series | None:
        """The measured point at n, None if there is none or it is not ok."""
        return self._at.get(n)


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

    return {(variant, settings): ", ".join(word(key, of[key]) for key in chosen
                                           if key in of and varied[key][variant.partition("/")[0]])
            for (variant, settings), of in parsed.items()}


# Short names of the columns with times and what follows from them.
SHORT = {"time_median_s": "time", "time_ci_low_s": "low", "time_ci_high_s": "high", "share_of_read_ceiling": "share",
         "speedup": "speedup", "speedup_ci_low": "speedup_low", "speedup_ci_high": "speedup_high"}


def series(table: pd.DataFrame, mode: str, cache_state: str = "cold_dirty", **which) -> list[Series]:
    """All series of one device, operation, element_type, mode and cache_state, sorted by variant: aligned random data,
    calls in a loop, and no page-locked memory. Of a point that was measured on several seeds the last counts.

    Mode "device_part" takes the device's share of end-to-end rows. Series without any ok point are included: their
    refusals are to be told.
    """
    part = mode == "device_part"
    rows = where_is(table, timing_mode="end_to_end" if part else mode, cache_state=cache_state, caller="",
                    dataset=("random", ""), page_locked=False, **which)
    rows = rows[(rows["offset_elements"].fillna(0) == 0) & (rows["n"] > 0)]
    rows = rows.drop_duplicates(["variant", "settings", "n"], keep="last")
    if part:  # speedups are of whole calls
        rows = rows[(rows["status"] != "ok") | rows["device_part_median_s"].notna()]
        rows = rows.assign(speedup=math.nan, speedup_ci_low=math.nan, speedup_ci_high=math.nan,
                           **{f"time_{of}": rows[f"device_part_{of}"] for of in ("median_s", "ci_low_s", "ci_high_s")})
    names = [field.name for field in fields(Series)][2:]
    size = rows["n"].astype("int64") * rows["element_type"].map(ELEMENT_BYTES).astype(float)
    rows = rows.assign(n=rows["n"].astype("int64"), bytes=size).rename(columns=SHORT)[
        [*names, "n", "bytes", "status", "speedup_enough", *SHORT.values()]]
    rows.loc[rows["status"] != "ok", list(SHORT.values())] = math.nan
    # A plan's settings keep the order in which the run took them.
    return [Series(mode, of.reset_index(drop=True), **of[names].iloc[0])
            for _, of in rows.sort_values(["variant", "n"], kind="stable").groupby(["variant", "settings"], sort=False)]


def device_series(table: pd.DataFrame, **which) -> list[Series]:
    """Device-timed series; for a group of kernels that all leave work to the host, their device part instead.

    Of series without any device time, those that have end-to-end times are left out: they finish on the host, and are
    no failures. The rest is included, its refusals to be told.
    """
    timed = series(table, mode="device", **which)
    have = {s.group for s in timed if len(s.ok)}
    parts = [s for s in series(table, mode="device_part", **which)
             if s.kind in ("document", "yours") and len(s.ok) and s.group not in have]
    elsewhere = {(s.variant, s.settings) for s in series(table, mode="end_to_end", **which) if len(s.ok)}
    kept = [s for s in timed if len(s.ok) or (s.variant, s.settings) not in elsewhere]
    return sorted(kept + parts, key=lambda s: s.variant)


def base_series(all_series: list[Series]) -> Series | None:
    """The series that speedups are over. Of several settings, the one with most points, then the fastest."""
    candidates = [s for s in all_series if s.is_base and len(s.ok)]
    return min(candidates, key=lambda s: (-len(s.ok), s.ok["time"].sum()), default=None)


def harness_calls(table: pd.DataFrame, *, device: str, operation: str, element_type: str, mode: str,
           cache_state: str = "cold_dirty") -> pd.DataFrame:
    """n, bytes, read, floor: the harness's own calls beside the rows of one operation, type, mode and state. `read` is
    the read ceiling, the time of its fastest kernel that only reads the input, `floor` the launch floor, that of an
    empty call; NaN where the mode has no such thing."""
    rows = where_is(table, device=device, operation=operation, element_type=element_type, timing_mode=mode,
                    cache_state=cache_state, caller="", status="ok")
    rows = rows[(rows["offset_elements"].fillna(0) == 0) & (rows["n"] > 0)]
    # Rows of one n were sampled together and carry the same two times; another dataset's may differ by noise.
    found = rows.groupby(rows["n"].astype("int64"))[["read_time_s", "launch_floor_s"]].median().reset_index()
    return pd.DataFrame({"n": found["n"], "bytes": found["n"] * float(ELEMENT_BYTES.get(element_type, math.nan)),
                         "read": found["read_time_s"], "floor": found["launch_floor_s"]})


def of_group(results: Results, group: str, element_type: str, mode: str) -> list[Series]:
    """The comparison's series of a group, of its own operation, on the GPU; of mode "" those of device_series()."""
    table = results.comparison
    which = dict(device="cuda", operation=own_operation(table, group, element_type), element_type=element_type)
    return [s for s in (series(table, mode, **which) if mode else device_series(table, **which)) if s.group == group]


def fastest(found: list[Series], n: int) -> Series | None:
    """Of those that were measured at n."""
    return min((s for s in found if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


def models_shown(results: Results, element_type: str, n: int) -> list[tuple[Series | None, dict[str, pd.Series]]]:
    """What tables show of models.csv: the read ceiling (no series), the fastest kernel of each document at n, CUB, and
    thrust::reduce end to end; each with its fits by range ("inside", "beyond", "all"). Empty where there are none."""
    if results.models is None or results.comparison is None:
        return []
    table = results.comparison
    cub, thrust = (series(table, mode, device="cuda", operation="sum", element_type=element_type)
                   for mode in ("device", "end_to_end"))
    shown = [fastest(of_group(results, document, element_type, ""), n) for document in groups(table, "document")]
    shown += [base_series(cub), *[s for s in thrust if s.variant == "thrust/reduce" and len(s.ok)][:1]]
    calls = {None: dict(variant=READ_CEILING, settings="", operation="sum", timing_mode="device")}
    calls |= {s: dict(variant=s.variant, settings=s.settings, operation=s.operation, timing_mode=s.mode)
              for s in shown if s}
    models = where_is(results.models, experiment="comparison", device="cuda", element_type=element_type,
                      offset_elements=0, dataset="random", cache_state="cold_dirty")
    found = [(s, where_is(models, **call).set_index("range")) for s, call in calls.items()]
    return [(s, dict(fits.iterrows())) for s, fits in found if len(fits)]


def own_operation(table: pd.DataFrame, group: str, element_type: str) -> str:
    """The operation that a group's panel shows: sums, where it has any."""
    measured = set(where_is(table, group=group, element_type=element_type)["operation"])
    return "sum" if "sum" in measured or not measured else min(measured)
