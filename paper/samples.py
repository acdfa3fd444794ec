"""Raw samples of an experiment, by point and round: <experiment>.samples.csv.gz.

A record holds samples of one point: what the schema calls listed are values separated by spaces, one for each of them.
"""

from __future__ import annotations

import math
import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

import results as rs

TIMES = ["time_s", "device_part_s", "cycles"]


class Point:
    """The samples of one point in the order of their rounds: of each its round, its allocation and what was timed (NaN
    where it was not); without those of voided rounds, and without those of which nothing was timed."""

    def __init__(self, path: Path, records: list[dict[str, str]]):
        values = {c: np.concatenate([_numbers(path, r, c) for r in records]) for c in ("round", "allocation", *TIMES)}
        void = np.concatenate([np.array(_values(path, r, "voided")) == "yes" for r in records])
        # What is timed by cycles alone has no time.
        time, cycles = values["time_s"], values["cycles"]
        kept = np.flatnonzero(~void & ((time > 0) | (np.isnan(time) & (cycles > 0))))
        kept = kept[np.argsort(values["round"][kept], kind="stable")]
        self.rounds, self.allocation = (values[c][kept].astype(int) for c in ("round", "allocation"))
        self._times = {c: values[c][kept] for c in TIMES}

    def times(self, column: str) -> np.ndarray:
        return self._times[column]


def _values(path: Path, record: dict[str, str], column: str) -> list[str]:
    """Of a listed field; where all samples lack it, or the file lacks the column, so many empty ones."""
    wanted = record["round"].count(" ") + 1
    values = record[column].split(" ") if record.get(column) else [""] * wanted
    if len(values) != wanted:
        raise rs.ResultsError(f"{path.name} has {len(values)} values for {column} and {wanted} for round in one record: copy the "
                              "results folder again")
    return values


def _numbers(path: Path, record: dict[str, str], column: str) -> np.ndarray:
    def number(value: str) -> float:
        try:
            found = float(value or math.nan) if column in TIMES else int(value)
            if value and not (0 < found < math.inf if column in TIMES else found >= 0):
                raise ValueError
            return found
        except ValueError:
            raise rs.ResultsError(f"{path.name} has '{value}' for {column} in one record, which is no such number: copy the "
                                  "results folder again")

    return np.array([number(v) for v in _values(path, record, column)])


class Samples:
    """Looked up by rs.SAMPLES_KEY; false where there are none. A point's fields are read when it is first asked for."""

    def __init__(self, path: Path | None = None, records: dict[tuple, list[dict[str, str]]] | None = None):
        self._path, self._records = path, records or {}
        self._points: dict[tuple, Point] = {}

    def __bool__(self) -> bool:
        return bool(self._records)

    def __iter__(self):
        return iter(self._records)

    def get(self, key: tuple) -> Point | None:
        if key not in self._points and key in self._records:
            self._points[key] = Point(self._path, self._records[key])
        return self._points.get(key)


NONE = Samples()


def paired(column: str, points: list[Point]) -> tuple[list[list[float]], list[np.ndarray]]:
    """What was timed in the rounds in which it was of all these points: of each its times, and its allocations."""
    rounds = points[0].rounds
    if all(np.array_equal(rounds, p.rounds) for p in points[1:]):
        at = [slice(None)] * len(points)
    else:
        for p in points[1:]:
            rounds = np.intersect1d(rounds, p.rounds)
        at = [np.searchsorted(p.rounds, rounds) for p in points]
    times = [p.times(column)[i] for p, i in zip(points, at)]
    known = ~np.isnan(times).any(axis=0)
    return [t[known].tolist() for t in times], [p.allocation[i][known].tolist() for p, i in zip(points, at)]


def of(results: rs.Results, experiment: str = "comparison") -> Samples:
    """An experiment's raw samples; none without the file."""
    path = (results.cpu_folder if experiment == "cpu" else results.folder) / f"{experiment}.samples.csv.gz"
    try:
        now = path.stat()
    except FileNotFoundError:
        return NONE
    return _unchanged(path, now.st_mtime_ns, now.st_size, now.st_ino)


@lru_cache(maxsize=64)
def _unchanged(path: Path, *_changed: int) -> Samples:
    return read(path)


@rs.read_once
def read(path: Path) -> Samples:
    wanted = {*rs.SAMPLES_KEY, "round", "allocation", *TIMES, "voided"}
    try:
        table = pd.read_csv(path, keep_default_na=False, dtype=str, usecols=lambda c: c in wanted)
        missing = sorted(wanted - set(table) - set(rs.SAMPLES.optional))
        if missing:
            raise rs.ResultsError(f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: run the "
                                  "experiment again with this revision")
        table = table.assign(**{c: "" for c in wanted - set(table)})
        numbers = {c: [int(v or 0) for v in table[c]] for c in rs.SAMPLES_KEY if c in rs.SAMPLES.numbers}
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise rs.ResultsError(f"{path} cannot be read as raw samples ({error}): copy the results folder again")
    keys = zip(*(numbers.get(c, table[c]) for c in rs.SAMPLES_KEY))
    records: dict[tuple, list[dict[str, str]]] = {}
    for key, record in zip(keys, table[["round", "allocation", *TIMES, "voided"]].to_dict("records")):
        records.setdefault(key, []).append(record)
    return Samples(path, records)
