"""What figures and tables show of a folder's rows: series, of one variant with one choice of settings along n; in which
order, and in which words."""

from __future__ import annotations

import math
from functools import cached_property

import pandas as pd

from report import results as rs

# Whose variants are, in the order of figures and tables; of the first three are the kernels that no library has.
KERNELS = ("document", "yours", "ours")
KINDS = (*KERNELS, "library", "cpu")

CACHE_LABELS = {"cold_dirty": "L2 cold and dirty", "cold_clean": "L2 cold and clean", "warm": "L2 warm"}
CPU_CACHE_LABELS = {"cold_dirty": "cold cache", "cold_clean": "cold cache", "warm": "warm cache"}
MODE_LABELS = {"device": "device time", "device_part": "device part", "end_to_end": "end to end",
               "graph": "graph replay", "replay": "one-call graph", "launch_to_idle": "launch to idle"}

ODD = [2**k + d for k in range(10, 32) for d in (-1, 1)]  # sizes beside powers of two

SHORT = {"time_median_s": "time", "time_ci_low_s": "low", "time_ci_high_s": "high", "share_of_read_ceiling": "share",
         "speedup": "speedup", "speedup_ci_low": "speedup_low", "speedup_ci_high": "speedup_high"}


def place(kind: str, group: str) -> tuple:
    """What sorts groups as figures and tables show them."""
    return KINDS.index(kind), rs.DOCUMENTS.index(group) if group in rs.DOCUMENTS else len(rs.DOCUMENTS), group


def groups(table: pd.DataFrame, *kinds: str) -> list[str]:
    """Those of a table's variants, or the catalogue's, of these kinds."""
    pairs = set(zip(table["kind"], table["group"]))
    return [group for kind, group in sorted(pairs, key=lambda pair: place(*pair)) if kind in kinds]


def short_name(variant: str) -> str:
    """The id as shown where its group is already named: without the documents' prefix, whole for the user's own."""
    prefix, _, name = variant.partition("/")
    return name if prefix in rs.DOCUMENTS else variant


class Series:
    """One line of a figure: one variant with one choice of settings, along n. What its rows have in common are its
    attributes: `variant`, `settings`, `words`, `operation`, `cache_state`, `kind`, `group`, `is_base`, `by_default`."""

    def __init__(self, mode: str, points: pd.DataFrame):
        self.mode = mode      # "device_part", or a timing mode
        self.points = points  # the rows by n, with times as SHORT names them; NaN where status is not ok
        self.ok = points[points["status"] == "ok"]

    def __getattr__(self, column: str):
        if column not in self.points:
            raise AttributeError(column)
        return self.points[column].iloc[0]

    @property
    def name(self) -> str:
        """The id, with the settings where they matter: "levels/naive [atomic]"."""
        return f"{self.variant} [{self.words}]" if self.words else self.variant

    @cached_property  # figures, tables and texts ask the same many times
    def _at(self) -> dict[int, pd.Series]:
        return {point["n"]: point for _, point in self.ok.iterrows()}

    def at(self, n: int) -> pd.Series | None:
        """The measured point at n, None if there is none or it is not ok."""
        return self._at.get(n)


def in_a_loop(table: pd.DataFrame, **which) -> pd.DataFrame:
    """Rows of aligned data, of calls in a loop."""
    rows = rs.where_is(table, caller="", **which)
    return rows[(rows["offset_elements"].fillna(0) == 0) & (rows["n"] > 0)].astype({"n": "int64", "bytes": float})


def series(table: pd.DataFrame, mode: str, cache_state: str = "cold_dirty", **which) -> list[Series]:
    """All series of one device, operation, element_type, mode and cache_state, sorted by variant: of random data, without
    page-locked memory. Of a point that was measured on several seeds the last counts.

    Mode "device_part" takes the device's share of end-to-end rows. Series without any ok point are included: their
    refusals are to be told.
    """
    part = mode == "device_part"
    rows = in_a_loop(table, timing_mode="end_to_end" if part else mode, cache_state=cache_state, dataset=("random", ""),
                     page_locked=False, **which).drop_duplicates(["variant", "settings", "n"], keep="last")
    if part:  # speedups are of whole calls
        rows = rows[(rows["status"] != "ok") | rows["device_part_median_s"].notna()]
        rows = rows.assign(speedup=math.nan, speedup_ci_low=math.nan, speedup_ci_high=math.nan,
                           **{f"time_{column}": rows[f"device_part_{column}"] for column in ("median_s", "ci_low_s", "ci_high_s")})
    rows = rows.rename(columns=SHORT)
    rows.loc[rows["status"] != "ok", list(SHORT.values())] = math.nan
    # A plan's settings keep the order in which the run took them.
    return [Series(mode, group_rows.reset_index(drop=True))
            for _, group_rows in rows.sort_values(["variant", "n"], kind="stable").groupby(["variant", "settings"], sort=False)]


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


def harness_calls(table: pd.DataFrame, mode: str, cache_state: str = "cold_dirty", **which) -> pd.DataFrame:
    """n, read_time_s, launch_floor_s: the harness's own calls beside the rows of one device, operation, type, mode and
    state. They are the read ceiling, the time of its fastest kernel that only reads the input, and the launch floor,
    that of an empty call; NaN where the mode has no such thing."""
    rows = in_a_loop(table, timing_mode=mode, cache_state=cache_state, status="ok", **which)
    # Rows of one n were sampled together and carry the same two times.
    return rows.groupby("n")[["read_time_s", "launch_floor_s"]].first().reset_index()


def of_group(results: rs.Results, group: str, element_type: str, mode: str) -> list[Series]:
    """The comparison's series of a group, of its own operation, on the GPU; of mode "" those of device_series()."""
    table = results.comparison
    which = dict(device="cuda", operation=own_operation(table, group, element_type), element_type=element_type)
    return [s for s in (series(table, mode, **which) if mode else device_series(table, **which)) if s.group == group]


def fastest(candidates: list[Series], n: int) -> Series | None:
    """Of those that were measured at n."""
    return min((s for s in candidates if s.at(n) is not None), key=lambda s: s.at(n)["time"], default=None)


def own_operation(table: pd.DataFrame, group: str, element_type: str) -> str:
    """The operation that a group's panel shows: sums, where it has any."""
    measured = set(rs.where_is(table, group=group, element_type=element_type)["operation"])
    return "sum" if "sum" in measured or not measured else min(measured)
