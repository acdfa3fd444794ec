"""Raw samples of an experiment, by point and round: <experiment>.samples.csv.gz."""

from __future__ import annotations

import zlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

import results as rs

TIMES = ["time_s", "device_part_s", "cycles"]


class Point:
    """The samples of one point in the order of their rounds: of each its round, its allocation and what was timed (NaN
    where it was not)."""

    def __init__(self, samples: Samples, rows: slice):
        self.rounds, self.allocation = samples.rounds[rows], samples.allocation[rows]
        self._samples, self._rows = samples, rows

    def times(self, column: str) -> np.ndarray:
        return self._samples.times[column][self._rows]


class Samples:
    """Looked up by rs.SAMPLES_KEY; false where there are none."""

    def __init__(self, table: pd.DataFrame | None = None):
        self._rows: dict[tuple, slice] = {}
        self._points: dict[tuple, Point] = {}
        if table is None or not len(table):
            return
        point = table.groupby(rs.SAMPLES_KEY, sort=False, observed=True, dropna=False).ngroup().to_numpy()
        order = np.lexsort((table["round"].to_numpy(), point))
        self.rounds, self.allocation = (table[c].to_numpy()[order] for c in ("round", "allocation"))
        self.times = {c: table[c].to_numpy(float)[order] for c in TIMES}
        starts = np.flatnonzero(np.diff(point[order], prepend=-1))
        keys = zip(*(table[c].iloc[order[starts]].tolist() for c in rs.SAMPLES_KEY))
        self._rows = {key: slice(*ends) for key, *ends in zip(keys, starts.tolist(), [*starts[1:].tolist(), len(order)])}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def get(self, key: tuple) -> Point | None:
        if key not in self._points and key in self._rows:
            self._points[key] = Point(self, self._rows[key])
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
    numbers = wanted & set(rs.SAMPLES.numbers)
    words = dict.fromkeys(wanted - numbers, "category")  # few, which are read and told apart faster so
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values={c: [""] for c in numbers}, dtype=words,
                            usecols=lambda c: c in wanted)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise rs.ResultsError(f"{path} cannot be read as raw samples ({error}): copy the results folder again")
    missing = sorted(wanted - set(table) - set(rs.SAMPLES.optional))
    if missing:
        raise rs.ResultsError(f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: run the "
                              "experiment again with this revision")
    table = table.assign(**{c: "" for c in wanted - set(table)}).fillna({c: 0 for c in rs.SAMPLES.key if c in numbers})
    # What is timed by cycles alone has no time.
    timed = (table["time_s"] > 0) | (table["time_s"].isna() & (table["cycles"] > 0))
    return Samples(table[(table["voided"] != "yes") & timed])
