#!/usr/bin/env python3
"""Writes the README's headline, table and figure, and the numbers and pictures of docs/, from committed results, so that none of
them is typed by hand.

    python tools/summary.py            writes the blocks between markers in README.md and docs/, and the pictures
    python tools/summary.py --check    writes nothing; exit code 1 if any is not what the results give
"""

from __future__ import annotations

import hashlib
import math
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "paper"), str(ROOT / "experiments")]

from command_line import Parser  # noqa: E402

TYPE = "f32"
SIZES = (2**20, 2**24, 2**28)
SOURCE_KEY = "reductio-source"  # the figure says inside which CSV it was drawn from

ABSENT = ("*No measurements are committed yet. `./reproduce` on a machine with a GPU makes its own, under "
          "`out/results/`.*")


def source_of(results: Path, names: tuple[str, ...]) -> str | None:
    """A hash of everything that a figure is made of; None without the first of these files."""
    if not (results / names[0]).exists():
        return None
    digest = hashlib.sha256()
    for name in names:
        path = results / name
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def microseconds(seconds: float) -> str:
    """Three digits, trailing zeros kept: 8.40, 10.0, 255, 1,225."""
    from text import latex

    us = seconds * 1e6
    return f"{us:,.0f}" if us >= 1000 else latex.digits(us)


def timed(series, rs) -> str:
    return "device part" if series.mode == "device_part" else rs.MODE_LABELS[series.mode].replace(" time", "")


def with_settings(series) -> str:
    return f"`{series.variant}`" + series.name.removeprefix(series.variant)


def with_interval(point) -> str:
    """"0.5717 [0.5703, 0.5739]": as many digits as the interval is worth."""
    digits = decimals(point["low"], point["high"])
    return f"{point['ratio']:.{digits}f} [{point['low']:.{digits}f}, {point['high']:.{digits}f}]"


def at_largest(results, series, base):
    """The speedup over the base at the largest size shown, None where it was not measured."""
    import speedup

    return speedup.at(results, series, base, SIZES[-1])


def record(name: str, operation: str, how: str, times: list, peak: float | None, base: float | None, last: str) -> str:
    """One row of the table; times are pandas rows with time and bytes, or None."""
    bandwidth = times[-1]["bytes"] / times[-1]["time"] if times[-1] is not None else None
    fields = [name, operation, how, *("" if t is None else microseconds(t["time"]) for t in times),
              f"{bandwidth / 1e12:.2f}" if bandwidth else "", f"{100 * bandwidth / peak:.0f} %" if bandwidth and peak else "",
              microseconds(base) if base else "", last]
    return "| " + " | ".join(fields) + " |"


def row(results, series, base, rs, peak: float | None) -> str:
    """One call beside CUB's of the same operation, timed alike."""
    theirs = base.at(SIZES[-1])
    point = at_largest(results, series, base) if series is not base else None
    return record(with_settings(series), rs.OPERATION_LABELS[series.operation], timed(series, rs),
                  [series.at(n) for n in SIZES], peak, theirs["time"] if theirs is not None else None,
                  "1" if series is base else with_interval(point) if point is not None else "")


def read_ceiling_row(harness, base, peak: float | None) -> list[str]:
    """The read ceiling: the harness's fastest kernel that only reads, beside the empty call. No row where the results
    hold none."""
    import speedup

    harness = harness.dropna().set_index("n")
    if not set(SIZES) <= set(harness.index):
        return []
    there = harness.loc[list(SIZES)].rename(columns={"read": "time"})
    over = speedup.of_only_reading(base).set_index("n")["ratio"]
    return [record(f"*only reading* (an empty call: {microseconds(harness['floor'].median())} us)", "none", "device",
                   [there.loc[n] for n in SIZES], peak, base.at(SIZES[-1])["time"],
                   f"{over[SIZES[-1]]:.2f}" if SIZES[-1] in over else "")]


def fit_text(fit) -> str:
    """One fit of models.csv: "6.52 us + bytes / 1.83 TB/s", or that there is none."""
    from text import latex

    if fit is None:
        return ""
    if fit["status"] != "ok":
        off = fit["largest_residual"]
        return f"does not fit: {latex.digits(100 * off, 2)} % off" if fit["status"] == "does_not_fit" else "too few sizes"
    rate = fit["bandwidth_bytes_per_s"]
    return f"{microseconds(fit['latency_s'])} us" + (f" + bytes / {latex.digits(rate / 1e12)} TB/s" if rate == rate else "")


def models_block(results) -> str:
    """The table of fitted latencies and bandwidths; empty where the results hold no models.csv."""
    import results as rs

    shown = rs.models_shown(results, TYPE, SIZES[-1])
    lines = [f"| {TYPE} | timed | inside L2 | beyond L2 |", "|---|---|---|---|"] if shown else []
    for series, fits in shown:
        name = "*only reading*" if series is None else with_settings(series)
        beyond = fits.get("beyond", fits.get("all"))
        lines.append(f"| {name} | {timed(series, rs) if series else 'device'} | {fit_text(fits.get('inside'))} | "
                     f"{fit_text(beyond)} |")
    return "\n".join(lines)


def trust_block(results) -> str:
    """What nvbench and a second run of the comparison say of these times; empty where the results hold neither."""
    from text import trust

    said = []
    agreements = trust.agreements(results)

    def agree_at(a) -> str:
        return (f"{a.inside} of {a.points} points (the largest difference is {100 * a.outside[-1]:.2g} %)" if a.outside
                else f"all {a.points} points")

    if "device" in agreements:
        a = agreements["device"]
        said.append(f"nvbench as its makers ship it, timing the same calls of `cub/sum`, agrees within 3 % (below "
                    f"2^22 elements 6 %) at {agree_at(a)}; from 2^23 on none differs by more than "
                    f"{100 * a.largest_from:.2g} %. reductio's time is the lower at {a.lower} of {a.points}; at the median it differs by "
                    f"{100 * a.median_small:+.2g} % below 2^22 and {100 * a.median_large:+.2g} % from there on. That is by the median over {a.processes} processes of nvbench of "
                    f"their medians ([why so many](measuring.md#when-they-are-taken)); by their means {a.by_mean} "
                    "points agree.")

    def calls(mode: str) -> str:
        table = results.agreement
        return " and ".join(f"`{v}`" for v in sorted(set(table.loc[table["mode"] == mode, "variant"])))

    loops = [f"within {bound} at {agree_at(agreements[mode])} of {calls(mode)} {where}" for mode, bound, where in
             (("graph", "3 %", "in a graph"), ("end_to_end", "5 %", "end to end")) if mode in agreements]
    if loops:
        said.append(f"Plain loops, which share no timing with reductio, agree {'; and '.join(loops)}.")
    said += [trust.outside_ratios_markdown(results)] if trust.ratios(results) else []
    absolute, relative = trust.repeats(results.repeat), trust.repeats(results.repeat_relative)

    def by_mode(found, say) -> str:
        return " and ".join(f"{say(found[m])} {where}" for m, where in
                            (("device", "on the device"), ("end_to_end", "end to end")) if m in found)

    def told(found) -> str:
        return by_mode(found, lambda r: f"{100 * r.share:.3g} % of points timed")

    def wide(found) -> str:
        return by_mode(found, lambda r: f"{100 * r.width:.2g} %")

    if absolute:
        said.append(f"With {trust.run_twice(results)}, the 95 % interval of the two runs' ratio holds 1 at "
                    f"{told(absolute)}" + (f"; relative to CUB in the same rounds, at "
                                           f"{told(relative)}" if relative else "")
                    + f". These intervals are wide: {wide(absolute)} of the ratio at the median point"
                    + (f", relative to CUB {wide(relative)}" if relative else "") + ".")
        if any(r.share < trust.REPEATS for r in absolute.values()):
            said[-1] += " So times drift from run to run, and only what was measured together compares."

    def busy(runs) -> str:
        return next((f"{100 * share:.2g} %" for run in runs if (share := from_busy_cpu([run])) is not None), "")

    path = results.folder / "repeat.machine.json"
    second = busy(runs_of(path).values()) if absolute and path.exists() else ""
    if first := busy(trust.comparison_runs(results)):
        said.append(f"Of the comparison's samples by the host's clock {first} " + (f"(in the second run {second}) " if second else "")
                    + "were taken while no CPU that was looked at was quiet, so they may be long ([how that is "
                    "seen](measuring.md#when-they-are-taken)).")
    spent = trust.spending(results)
    if spent is not None:
        said.append(f"The comparison took {spent.wall_s:.0f} s, {100 * spent.calls:.0f} % of them in the timed calls "
                    f"and {100 * spent.state:.0f} % in untimed calls, setting the cache's state and restoring inputs; "
                    f"{100 * spent.own:.0f} % went into the harness, first calls and pilots included.")
    return "\n".join(f"- {one}" for one in said)


def index_block(results) -> str:
    """What the type of a loop's index costs; empty where the results hold no index.csv."""
    from text import index_types as types

    found = types.at_largest(types.counted(results))
    plain, other = ([c for c in found if types.is_plain(c.variant) == which] for which in (True, False))
    if not plain or not other:
        return ""

    def told(of) -> str:
        ends = [pick(of, key=lambda c: c.gain["ratio"]) for pick in (min, max)]
        return " to ".join(f"{with_interval(c.gain)} (`{c.variant}`{f' [{c.words}]' if c.words else ''}, "
                           f"2^{c.n.bit_length() - 1})" for c in ends)

    said = (f"Of {types.ELEMENTS} elements, the speedup of an index of type {types.SIGNED} over one of type "
            f"{types.UNSIGNED} is {told(plain)} in kernels whose loop has one stride and one condition: nvcc unrolls that "
            f"over a signed index, and over an unsigned one in PTX never and in machine code only where the stride is a "
            f"constant, as in `squares`. In the others it is {told(other)}.")
    over = types.over_cub(results)
    if over:
        c, signed, unsigned = over
        said += (f" So `{c.variant}`, whose document counts by `int`, has a speedup of {with_interval(signed)} over CUB's "
                 f"{microseconds(c.cub.at(c.n)['time'])} us at 2^{c.n.bit_length() - 1}, and would have "
                 f"{with_interval(unsigned)} if it counted by `size_t`.")
    return "\n".join(wrapped(said))


def decimals(low: float, high: float) -> int:
    """As many as an interval of this width is worth: two digits of it."""
    return max(2, min(4, 1 - math.floor(math.log10(max(high - low, 1e-9)))))


def comparison_block(results) -> str:
    """The README's headline, figure and table."""
    import results as rs
    import speedup
    from text import claims

    peak = results.machine.peak_bytes_per_s
    gpu = results.machine.get("gpu.name", default=results.machine.name)
    compared = speedup.fastest_of_each(results, TYPE, SIZES[-1])
    lines = headline(results, compared, rs, gpu, peak) + our_own(results)
    of = results.comparison["status"].value_counts()
    lines += [f"![Speedup over CUB against n on one {gpu}](docs/comparison.png)", "",
              *wrapped(f"Of each document the kernel that is fastest at 2^28 {TYPE}, our own, and the libraries. Times in "
              "microseconds, one call at a time on a cold, dirty L2; what finishes on the host is timed end to end. The "
              "speedup at 2^28 is over CUB's call of the same operation, timed alike; in "
              f"brackets its 95 % interval{', paired by round' if speedup.are_paired(results) else ''}. Of "
              f"{len(results.comparison):,} points {of.get('ok', 0):,} were measured "
              "([how far to trust them](docs/results.md)). " + claims.line(results)), ""]
    return "\n".join(lines + comparison_table(results, compared, rs, peak))


def comparison_table(results, compared, rs, peak: float | None) -> list[str]:
    """Each document's fastest kernel, our own and the libraries, beside CUB; last CUB itself and the read ceiling."""
    which = dict(device="cuda", operation="sum", element_type=TYPE, mode="device")
    base = rs.base_series(rs.series(results.comparison, **which), "sum")
    lines = ["| | operation | timed | 2^20 | 2^24 | 2^28 | TB/s | of peak | CUB, 2^28 | speedup over CUB |",
              "|---|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [row(results, s, b, rs, peak) for _, s, b in compared]
    if base is not None:
        lines += [row(results, base, base, rs, peak),
                  *read_ceiling_row(rs.harness_calls(results.comparison, **which), base, peak)]
    return lines


def elsewhere_block(results) -> str:
    """The comparison's headline and table of each other GPU whose results lie beside these, and how far its times can be
    trusted; empty where there is none."""
    import goals
    import results as rs
    import speedup

    said = []
    for folder in goals.Folder(results.folder).beside("comparison"):
        other = rs.read_results(folder.path)
        peak, gpu = other.machine.peak_bytes_per_s, other.machine.get("gpu.name", default=other.machine.name)
        compared = speedup.fastest_of_each(other, TYPE, SIZES[-1])
        said += [*headline(other, compared, rs, gpu, peak), *comparison_table(other, compared, rs, peak), "",
                 trust_block(other), ""]
    return "\n".join(said).rstrip()


def headline(results, compared, rs, gpu: str, peak: float | None) -> list[str]:
    """The documents' fastest sum that ends on the GPU, and the fastest that ends on the host, each beside CUB's."""
    n, said = SIZES[-1], []
    for mode in ("device", "end_to_end"):
        there = [(s, b) for _, s, b in compared if s.mode == mode and s.operation == "sum" and rs.is_handwritten(s.variant)
                 and b.at(n) is not None]
        if not there:
            continue
        best, base = min(there, key=lambda pair: pair[0].at(n)["time"])
        point, time, cub = at_largest(results, best, base), best.at(n)["time"], base.at(n)["time"]
        ratio = f": a speedup over CUB of {with_interval(point)}" if point is not None else ""
        if mode == "device":
            bandwidth = best.at(n)["bytes"] / time
            share = f", {100 * bandwidth / peak:.0f} % of the memory's theoretical peak" if peak else ""
            said.append(f"On one {gpu}, 2^28 {TYPE} are added up in **{microseconds(time)} us** by `{best.variant}`, the "
                        f"fastest of the documents' kernels that finish on the GPU ({bandwidth / 1e12:.2f} TB/s{share}), "
                        f"and in **{microseconds(cub)} us** by CUB{ratio}.")
        else:
            said.append(f"The fastest that finishes on the host, `{best.variant}`, takes {microseconds(time)} us end to "
                        f"end, and CUB {microseconds(cub)} us{ratio}.")
    return [*wrapped(" ".join(said)), ""] if said else []


def our_own(results) -> list[str]:
    """The project's own sum in a few lines; none where the results hold no goals.csv."""
    from text import tuned

    said = tuned.in_short(results)
    return [*wrapped(f"Our own, [`{tuned.goals.SUM}`](docs/tuned.md), {said}"), ""] if said else []


def wrapped(text: str) -> list[str]:
    """Lines no longer than those that are typed; what stands in `...` or **...** and links stay whole."""
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def compare_example(results: Path) -> str:
    """What `reductio compare` printed on that GPU, from its own CSV."""
    import pandas as pd
    import results as rs

    path = results / "compare-example.csv"
    if not path.exists():
        return ""
    rows = pd.read_csv(path, keep_default_na=False)
    first, machine = rows.iloc[0], rs.read_machine(results / "machine.json", results.name)
    gpu = machine.get("gpu.name", default=machine.name)
    names = " ".join([first.base, *dict.fromkeys(rows.variant)])
    lines = [f"On one {gpu}, `reductio compare {names}` found "
             f"({first.element_type}, {rs.MODE_LABELS[first.timing_mode]}, {rs.CACHE_LABELS[first.cache_state]}; the base's own time stands in the third column):", "",
             f"| | n | t({first.base}) | speedup over {first.base} | |", "|---|--:|--:|--:|---|"]
    for r in rows.itertuples():
        digits = decimals(r.ratio_low, r.ratio_high)
        decide = f", some {int(r.rounds_to_decide):,} samples or more would decide" if r.rounds_to_decide != "" else ""
        lines.append(f"| `{r.variant}` | 2^{int(r.n).bit_length() - 1} | {microseconds(r.base_time_s)} us | "
                     f"{r.ratio:.{digits}f} [{r.ratio_low:.{digits}f}, {r.ratio_high:.{digits}f}] | {r.verdict}{decide} |")
    last = rows.iloc[-1]
    digits = decimals(last.ratio_low, last.ratio_high)
    lines += ["", f"and says of the last row: {last.variant} ran {last.ratio:.{digits}f} times [{last.ratio_low:.{digits}f}, "
              f"{last.ratio_high:.{digits}f}] ({last.verdict}) as fast as {last.base}. All {len(rows)} intervals hold at once with "
              f"{100 * last.confidence:g} % confidence."]
    return "\n".join(lines)


def machine_code_block(results) -> str:
    """What the compilers made of the loops; empty where the results hold no compiler.csv."""
    from text import machine_code

    return machine_code.markdown(results)


def claims_block(results) -> str:
    """The table of claims; empty where the results hold no verdicts.csv."""
    from text import claims

    return claims.markdown(results)


def carried_over_block(results) -> str:
    """Whether other results give the same verdicts."""
    from text import claims

    return "\n".join(f"- {said}" for said in claims.carried_over(results)) or "No other results lie beside these."


def costs_block(results) -> str:
    """What the experiments take; empty where the results hold none."""
    import artifact

    return artifact.markdown(results.folder)


def runs_of(path: Path) -> dict[str, dict]:
    """What a machine.json records of runs, by their ids."""
    import results as rs

    return {run["run_id"]: run for run in rs.read_machine(path, path.parent.name).get("runs", default=[])}


def from_busy_cpu(runs: list[dict]) -> float | None:
    """The share of the runs' samples by the host's clock before which no CPU was quiet; None where one does not tell."""
    counts = [run.get("host_cpu") or {"samples": 0} for run in runs]
    if not counts or not all(c["samples"] for c in counts):
        return None
    return sum(c["on_busy_cpu"] for c in counts) / sum(c["samples"] for c in counts)
STATES_TYPE, LAUNCH_BOUND = "f32", 2**20


def states_block(results) -> str:
    """What a warm and a clean cache save of CUB's call, from limits.csv; empty without it."""
    import results as rs

    if results.limits is None:
        return ""
    times = {}
    for state in rs.CACHE_LABELS:
        there = rs.series(results.limits, device="cuda", operation="sum", element_type=STATES_TYPE, mode="device",
                          cache_state=state)
        cub = rs.base_series(there, "sum")
        if cub is None:
            return ""
        times[state] = cub.ok.set_index("n")["time"]
    small = [n for n in times["warm"].index if n <= LAUNCH_BOUND]

    def less(than: str) -> str:
        shares = 100 * (1 - times["warm"] / times[than])[small]
        return f"{shares.min():.0f} to {shares.max():.0f} %"

    more = 100 * (times["cold_dirty"] / times["cold_clean"] - 1).dropna()
    gpu, at = results.machine.get("gpu.name", default=results.machine.name), f"2^{LAUNCH_BOUND.bit_length() - 1}"
    return "\n".join(wrapped(
        f"On one {gpu} a warm call of `cub/sum` ({STATES_TYPE}) takes {less('cold_clean')} less time than a cold, clean one up to "
        f"{at} elements, where the launch is most of it, and {less('cold_dirty')} less than a cold, dirty one. What is dirty "
        f"makes a cold call at most {more[small].max():.0f} % longer there, and at most {more.max():.0f} % "
        f"(2^{int(more.idxmax()).bit_length() - 1}) at any size."))


def modern_block(results) -> str:
    """What the ideas of the variants for learners are worth; empty where the results hold no modern.csv."""
    from text import modern

    sizes = [f"2^{n.bit_length() - 1}" for n in modern.SIZES]
    lines = []
    for element_type in modern.TYPES:
        steps = modern.steps(results, element_type)
        if steps:
            lines += ["", f"| {element_type} | {' | '.join(f'{s}, us' for s in sizes)} | a step from | "
                          f"{' | '.join(f'gain, {s}' for s in sizes)} |",
                      f"|---|{'--:|' * len(sizes)}---|{'--:|' * len(sizes)}"]
        for step in steps:
            times = [step.series.at(n) for n in modern.SIZES]
            fields = [f"`{step.series.variant}`" + (f" [{step.setting}]" if step.setting else ""),
                      *("" if t is None else microseconds(t["time"]) for t in times),
                      step.before.removeprefix("modern/").replace(" ", ", "),
                      *("" if g is None else with_interval(g) for g in step.gains)]
            lines.append(f"| {' | '.join(fields)} |")
    if not lines:
        return ""
    gpu = results.machine.get("gpu.name", default=results.machine.name)
    return "\n".join([*wrapped(f"On one {gpu}: times on the device, on a cold, dirty L2, and the gain of each step: the "
                               "speedup over what it is a step from, in brackets its 95 % interval."), *lines])


def tuned_block(results) -> str:
    """The picture of the project's own sum, and which of its goals are met; empty where the results hold no goals.csv."""
    from text import tuned

    said = tuned.headline(results)
    if not said:
        return ""
    gpu = results.machine.get("gpu.name", default=results.machine.name)
    return "\n".join([*wrapped(" ".join(filter(None, [f"On one {gpu}.", said, tuned.in_graphs(results), tuned.cards(results),
                                                tuned.in_comparison(results)]))), "",
                      f"![Speedup of tuned/sum over CUB against n on one {gpu}](tuned.png)",
                      "", tuned.goals_markdown(results), "", tuned.parts_markdown(results)])


def tuned_time_block(results) -> str:
    """Where the time of the project's own sum goes; empty where the results hold no tuned.csv."""
    from text import tuned

    return tuned.time_markdown(results)


def tuned_any_order_block(results) -> str:
    """What a caller gains who allows any order of adding; empty where it was not measured."""
    from text import tuned

    return "\n".join(wrapped(tuned.in_any_order(results)))


def tuned_raw_workspace_block(results) -> str:
    """What a caller pays who keeps no workspace."""
    from text import tuned

    return "\n".join(wrapped(tuned.on_raw_workspace(results)))


def tuned_to_host_block(results) -> str:
    """What a caller saves who spares CUB the copy to the host, and what tuned saves beside."""
    from text import tuned

    return "\n".join(wrapped(tuned.to_host(results)))


def tuned_reach_block(results) -> str:
    """What a finish is made of, and what that leaves of the read ceiling; empty where the results hold no probes.csv."""
    from text import tuned

    return "\n".join(wrapped(tuned.reach(results)))


def autotune_block(results) -> str:
    """The tables of launches that autotune.csv makes; empty without it."""
    import autotune

    return autotune.markdown(results.folder)


# Page, the block's name, and what writes it from the results.
BLOCKS = (
    ("README.md", "comparison", comparison_block),
    ("docs/claims.md", "carried-over", carried_over_block),
    ("docs/claims.md", "claims", claims_block),
    ("docs/results.md", "models", models_block),
    ("docs/results.md", "index", index_block),
    ("docs/results.md", "machine-code", machine_code_block),
    ("docs/results.md", "trust", trust_block),
    ("docs/results.md", "elsewhere", elsewhere_block),
    ("docs/measuring.md", "states", states_block),
    ("docs/reproducing.md", "costs", costs_block),
    ("docs/modern.md", "modern", modern_block),
    ("docs/tuned.md", "tuned", tuned_block),
    ("docs/tuned.md", "tuned-time", tuned_time_block),
    ("docs/tuned.md", "tuned-any-order", tuned_any_order_block),
    ("docs/tuned.md", "tuned-raw-workspace", tuned_raw_workspace_block),
    ("docs/tuned.md", "tuned-to-host", tuned_to_host_block),
    ("docs/tuned.md", "tuned-reach", tuned_reach_block),
    ("docs/tuning.md", "autotune", autotune_block),
    ("docs/comparing.md", "compare", lambda results: compare_example(results.folder)),
)


def markers(name: str) -> tuple[str, str]:
    return f"<!-- generated:{name} by tools/summary.py -->", f"<!-- end of generated:{name} -->"


def with_block(page: str, name: str, text: str, where: str = "README.md") -> str:
    """The page with what stands between the block's markers replaced."""
    begin, end = markers(name)
    try:
        head, rest = page.split(begin)
        _, tail = rest.split(end)
    except ValueError:
        raise SystemExit(f"summary.py: error: {where} must hold each marker once:\n  {begin}\n  {end}")
    return f"{head}{begin}\n{text}\n{end}{tail}"


def comparison_figure(results):
    from figures import speedup

    return speedup.draw(results, TYPE)


def tuned_figure(results):
    from figures import tuned

    return tuned.draw(results.folder)


# What draws each picture, and from which files; without the first of them there is none.
PICTURES = {
    "docs/comparison.png": (comparison_figure, ("comparison.csv", "comparison.samples.csv.gz", "catalog.csv", "machine.json")),
    "docs/tuned.png": (tuned_figure, ("tuned.csv", "tuned.samples.csv.gz", "machine.json")),
}


def draw(results, root: Path, name: str, source: str) -> None:
    make, files = PICTURES[name]
    figure = make(results)
    if figure is None:
        raise SystemExit(f"summary.py: error: {results.folder / files[0]} holds no times to compare with CUB's")
    (root / name).parent.mkdir(exist_ok=True)
    figure.savefig(root / name, metadata={"Software": None, SOURCE_KEY: source})


def figure_source(path: Path) -> str | None:
    from PIL import Image

    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(SOURCE_KEY)


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "experiments" / "results" / "nvidia-h200", metavar="DIR")
    parser.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="folder with README.md and docs/")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page or a figure is out of date")
    options = parser.parse_args(arguments)
    results = None
    if (options.results / "comparison.csv").exists():
        import results as rs

        results = rs.read_results(options.results)

    pages = {page: (options.root / page).read_text(encoding="utf-8") for page, _, _ in BLOCKS}
    fresh = dict(pages)
    for page, name, made in BLOCKS:
        text = made(results) if results is not None else ""
        fresh[page] = with_block(fresh[page], name, text or ABSENT, page)
    sources = {name: source_of(options.results, files) if results is not None else None for name, (_, files) in PICTURES.items()}
    redrawn = [name for name, source in sources.items() if figure_source(options.root / name) != source]
    stale = [name for name in pages if fresh[name] != pages[name]] + redrawn
    if not stale:
        return 0
    if options.check:
        print(f"{', '.join(stale)}: not what the results give: run python tools/summary.py", file=sys.stderr)
        return 1
    for name, text in fresh.items():
        (options.root / name).write_text(text, encoding="utf-8")
    for name in redrawn:
        if sources[name] is None:
            (options.root / name).unlink()
        else:
            draw(results, options.root, name, sources[name])
    print(f"written: {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
