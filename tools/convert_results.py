"""Converts results folders from schema version 1 to 2, and raw samples of either to one record a point, in place.

    python tools/convert_results.py FOLDER...

Columns and keys are renamed, and columns that version 1 did not have are added, empty but for two: the interval of the
device part is computed from the raw samples beside the rows by the rule of the rows' own intervals
(median_interval in src/measure/stats/statistics.cpp of revision 5224654), of which a port stands below. That the port is
the rule is shown each time: it must give every row's own interval back to the last digit. Converting changes no number
that was there; all are compared, field by field, before anything is written. A folder's folders are converted, too.

Then times in rows and what is computed of them are rounded to the digits that the program writes by now (`digits` in
experiments/results/schema.json).

Raw samples had a record each; now a record holds those of a point (csv_records in src/measure/results/schema.h), and takes
about half the room. The program and the paper read both. What a run compressed batch by batch is compressed again as a
whole, where that is smaller. What is written is read back, and must hold the same samples in the same order, to the last
character.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))

from command_line import Parser  # noqa: E402

OLD, NEW = "1", "2"

ROW_NAMES = {"timer_tick_s": "timer_resolution_s"}
ROW_ADDED = {"cache_state": ["caller", "context"],
             "device_part_median_s": ["device_part_ci_low_s", "device_part_ci_high_s"],
             "launch_floor_s": ["polled_launch_floor_s"],
             "share_of_read_ceiling": ["speedup_reference", "speedup", "speedup_ci_low", "speedup_ci_high"],
             "error_bound": ["exact_result", "sum_of_magnitudes", "distinct_results"]}
COMPARE_NAMES = {"n_blocks": "n_clusters"}
MACHINE_NAMES = {"memory_peak_bytes_per_s": "theoretical_peak_bytes_per_s", "tick_s": "resolution_s",
                 "memory_rested": "memory_idle_at_start", "memory_resting_s": "memory_wait_s",
                 "restless_visits": "times_memory_stayed_busy", "bounds": "harness_calls"}
SCHEMA = json.loads((Path(__file__).resolve().parents[1] / "experiments" / "results" / "schema.json").read_text())
DIGITS = {c["name"]: c["digits"] for c in SCHEMA["rows"]["columns"] if c.get("digits")}
LISTED = [c["name"] for c in SCHEMA["samples"]["columns"] if c.get("listed")]
POINT = ("device variant operation element_type n offset_elements dataset seed settings timing_mode cache_state").split()


class Failed(Exception):
    """One line for the user."""


# ------------------------------------------------------------------------------------------- the rule of the intervals


def student_t_quantile(p: float, df: int) -> float:
    """By bisection of the distribution function, which is a finite sum for whole degrees of freedom (Abramowitz and
    Stegun 26.7.3 and 26.7.4)."""
    def within(t: float) -> float:  # P(|T| <= t)
        theta = math.atan(t / math.sqrt(df))
        cos2, term, total = math.cos(theta)**2, 1.0, 0.0
        if df % 2:
            term = math.cos(theta)
            for k in range(1, (df - 1) // 2 + 1):
                total += term
                term *= 2 * k / (2 * k + 1) * cos2
            return 2 / math.pi * (theta + math.sin(theta) * total)
        for k in range(1, df // 2 + 1):
            total += term
            term *= (2 * k - 1) / (2 * k) * cos2
        return math.sin(theta) * total

    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 2 * p - 1 else (low, middle)
    return (low + high) / 2


def median(times: list[float]) -> float:
    s, n = sorted(times), len(times)
    return s[n // 2] if n % 2 else s[n // 2 - 1] + (s[n // 2] - s[n // 2 - 1]) / 2


def interval(times: list[float], allocations: list[str], resolution: float, confidence: float) -> tuple[float, float]:
    """Of the median, by order statistics, no narrower than what the spread between allocations says, nor than the
    clock's resolution."""
    s, n, middle = sorted(times), len(times), median(times)

    def coverage(k: int) -> float:
        return 1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n

    k = 1
    while 2 * (k + 1) <= n and coverage(k + 1) >= confidence:
        k += 1
    clusters = defaultdict(lambda: [0, 0.0])
    for time, allocation in zip(times, allocations):
        clusters[allocation][0] += 1
        clusters[allocation][1] += 1 if time < middle else 0.5 if time == middle else 0
    rank, count = float(n), len(clusters)
    if count > 1:
        variance = sum(((below - size / 2) / n)**2 for size, below in clusters.values()) * count / (count - 1)
        t = student_t_quantile((1 + confidence) / 2, count - 1)
        rank = max(0.0, math.ceil(n * (0.5 - t * math.sqrt(variance)) - 1e-9))
    k = min(k, int(max(rank, 1.0)))
    low, high = s[k - 1], s[n - k]
    if resolution - (high - low) > 0:
        low, high = min(low, middle - resolution / 2), max(high, middle + resolution / 2)
    return low, high


# ------------------------------------------------------------------------------------------------------------- files


def parse(path: Path, data: bytes) -> list[list[str]]:
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def read(path: Path) -> list[list[str]]:
    return parse(path, path.read_bytes())


def packed(path: Path, records: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(records)
    data = text.getvalue().encode()
    return gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data


def rounded(column: str, field: str) -> str:
    """As the program writes it: of 2.0000000000000001e-06 and nine digits 2e-06."""
    if not field or column not in DIGITS:
        return field
    return repr(float(f"{float(field):.{DIGITS[column]}g}")).removesuffix(".0")


def round_times(path: Path) -> str:
    """Of a file of rows; nothing where its numbers have no more digits already."""
    header, *records = read(path)
    new = [[rounded(c, f) for c, f in zip(header, r, strict=True)] for r in records]
    if new == records:
        return ""
    for old_record, new_record in zip(records, new, strict=True):
        for column, was, now in zip(header, old_record, new_record, strict=True):
            if was != now and not (column in DIGITS and math.isclose(float(was), float(now), rel_tol=5.1e-9)):
                raise Failed(f"{path} would not hold what it held: {now} for {was} in {column}")
    before, data = path.stat().st_size, packed(path, [header, *new])
    path.write_bytes(data)
    return f", times rounded, {len(data) / before:.0%} of the bytes"


def converted_header(header: list[str], names: dict[str, str], added: dict[str, list[str]]) -> list[str]:
    return [new for old in header for new in [names.get(old, old), *added.get(old, [])]]


def convert_csv(path: Path, names: dict[str, str], added: dict[str, list[str]], fill=lambda rows: None) -> str:
    """Rewrites one CSV, and says what was done. `fill` sets fields of the new columns; it gets the rows as
    dictionaries."""
    header, *records = read(path)
    versions = {r[header.index("schema_version")] for r in records}
    if versions == {NEW}:
        return "is of version 2 already"
    if versions != {OLD}:
        raise Failed(f"{path} holds rows of schema version {', '.join(sorted(versions))}, not {OLD}")
    new_header = converted_header(header, names, added)
    rows = [dict.fromkeys(new_header, "") | {names.get(c, c): f for c, f in zip(header, r, strict=True)} for r in records]
    for row in rows:
        row["schema_version"] = NEW
    fill(rows)
    data = packed(path, [new_header, *([row[c] for c in new_header] for row in rows)])
    # Read back from what will be written: every field that there was, but for the version.
    new_header, *new_records = parse(path, data)
    place = [new_header.index(names.get(c, c)) for c in header]
    for old, new in zip(records, new_records, strict=True):
        if [new[i] for i in place] != [NEW if c == "schema_version" else f for c, f in zip(header, old)]:
            raise Failed(f"{path} would not hold what it held: {old}")
    path.write_bytes(data)
    return f"converted, {len(header) * len(records):,} fields hold what they held"


def samples_of(path: Path) -> dict[tuple, list[dict[str, str]]]:
    """The raw samples of each point, without those of voided rounds."""
    found = defaultdict(list)
    if path.exists():
        header, *records = read(path)
        for record in records:
            sample = dict(zip(header, record, strict=True))
            if sample.get("voided") != "yes":
                found[tuple(sample[c] for c in POINT)].append(sample)
    return found


def fill_device_parts(path: Path, runs: dict[str, dict]):
    """Sets the intervals of the device parts; fails where the rule does not give the rows' own intervals back."""
    samples = samples_of(path.with_suffix(".samples.csv.gz"))

    def fill(rows: list[dict[str, str]]) -> None:
        checked = filled = left = 0
        for row in rows:
            own = samples.get(tuple(row[c] for c in POINT), [])
            run = runs.get(row["run_id"], {})
            confidence = run.get("rules", {}).get("confidence", 0.95)

            def of(column: str, resolution: float) -> tuple[float, float]:
                there = [s for s in own if s[column]]
                return interval([float(s[column]) for s in there], [s["allocation"] for s in there], resolution, confidence)

            if row["time_ci_low_s"] and own:
                stored = float(row["time_ci_low_s"]), float(row["time_ci_high_s"])
                if of("time_s", float(row["timer_resolution_s"])) != stored:
                    raise Failed(f"{path}: the rule gives {of('time_s', float(row['timer_resolution_s']))} for "
                                 f"{[row[c] for c in POINT]}, the row holds {stored}")
                checked += 1
            if row["device_part_median_s"] and row["status"] == "ok":
                if not own:
                    left += 1
                    continue
                # The device's clock measured it, whichever measured the row.
                device = run.get("timing", {}).get("device", {}).get("resolution_s")
                low, high = of("device_part_s", device or float(row["timer_resolution_s"]))
                row["device_part_ci_low_s"], row["device_part_ci_high_s"] = repr(low), repr(high)
                filled += 1
        if filled or left:
            print(f"  {path.name}: the rule gives the intervals of {checked} rows back; {filled} intervals of device parts "
                  f"are set by it" + (f", {left} left empty for want of raw samples" if left else ""))

    return fill


def one_a_sample(header: list[str], records: list[list[str]]) -> dict[tuple, list[tuple]]:
    """Of each point, by the fields that are not listed, what its samples hold of the listed ones."""
    listed = [i for i, c in enumerate(header) if c in LISTED]
    found = defaultdict(list)
    for record in records:
        samples = max(record[i].count(" ") for i in listed) + 1
        values = [record[i].split(" ") if record[i] else [""] * samples for i in listed]
        point = tuple(f for i, f in enumerate(record) if i not in listed)
        found[point] += zip(*values, strict=True)
    return found


def gather_samples(path: Path) -> str:
    header, *records = read(path)
    samples = one_a_sample(header, records)
    already = len(samples) == len(records)
    gathered = records if already else []
    for point, values in () if already else samples.items():
        rest, lists = iter(point), iter(zip(*values))
        gathered.append([("" if not any(of := next(lists)) else " ".join(of)) if c in LISTED else next(rest) for c in header])
    data = packed(path, [header, *gathered])
    if already and len(data) >= path.stat().st_size:
        return "has a record for each point already"
    back_header, *back = parse(path, data)
    if back_header != header or one_a_sample(header, back) != samples:
        raise Failed(f"{path} would not hold what it held")
    before = path.stat().st_size
    written = path.with_name(path.name + ".new")
    written.write_bytes(data)
    written.replace(path)
    return f"{sum(map(len, samples.values())):,} samples of {len(gathered):,} points, {len(data) / before:.0%} of the bytes"


def renamed(node):
    if isinstance(node, dict):
        return {MACHINE_NAMES.get(k, k): renamed(v) for k, v in node.items()}
    return [renamed(v) for v in node] if isinstance(node, list) else node


def convert_machine(path: Path) -> bool:
    record = json.loads(path.read_text())
    if record.get("schema_version") == int(NEW):
        return False
    record = renamed(record)
    record["schema_version"] = int(NEW)
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    return True


def convert(folder: Path) -> None:
    for path in sorted(folder.rglob("*machine.json")):
        print(f"{path}: {'converted' if convert_machine(path) else 'is of version 2 already'}")
    samples = []
    for path in sorted([*folder.rglob("*.csv"), *folder.rglob("*.csv.gz")]):
        if path.name.endswith(".samples.csv.gz"):
            samples.append(path)
            continue
        header = read(path)[0]
        if "schema_version" not in header:
            continue
        names, added, fill = {}, {}, lambda rows: None
        of_points = "time_median_s" in header and "run_id" in header
        if of_points:
            runs = {r.get("run_id"): r for r in json.loads((path.parent / "machine.json").read_text()).get("runs", [])}
            names, added, fill = ROW_NAMES, ROW_ADDED, fill_device_parts(path, runs)
        elif "n_blocks" in header:
            names = COMPARE_NAMES
        print(f"{path}: {convert_csv(path, names, added, fill)}{round_times(path) if of_points else ''}")
    for path in samples:  # after the rows, whose conversion reads them as they were
        print(f"{path}: {gather_samples(path)}")


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+", type=Path, metavar="FOLDER", help="a results folder, or one that holds some")
    options = parser.parse_args(arguments)
    try:
        for folder in options.folder:
            if not folder.is_dir():
                raise Failed(f"{folder} is not a folder: name a results folder")
            convert(folder)
    except (Failed, OSError, ValueError, KeyError) as error:
        print(f"convert_results.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
