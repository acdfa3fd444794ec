"""What goals.csv and tuned.csv say of the project's own reduction: sentences and tables for the paper, README and docs/.
All empty without goals.csv."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import goals
import results as rs
import samples
from goals import Goal, Row
from results import Results
from text import latex

WAYS = {goals.WAYS[0]: "L2 cold and dirty", goals.WAYS[1]: "L2 cold and clean", goals.WAYS[2]: "L2 warm",
        goals.WAYS[3]: "in a graph, L2 warm"}
STARTS = {"aligned": "", "2^k +- 1": ", 2^k +- 1 elements", "off by one": ", off alignment by one"}
BROKEN_DOWN, BROKEN_DOWN_TYPE = (2**12, 2**20, 2**28), "f32"


# ---------------------------------------------------------------------------------------------- plain text


def power(n: int) -> str:
    """2^12, 2^12 + 1, 2^12 - 1, or the number."""
    near = next((d for d in (0, 1, -1) if (n - d) & (n - d - 1) == 0), None)
    sign = {0: "", 1: " + 1", -1: " - 1", None: ""}[near]
    return f"{n:,}" if near is None else f"2^{(n - near).bit_length() - 1}{sign}"


def ratio(value: float) -> str:
    return f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def percent_of(row: Row) -> str:
    """With as many digits as tell it from what is demanded."""
    digits = 1
    while digits < 4 and row.demanded is not None and row.measured != row.demanded \
            and round(100 * row.measured, digits) == round(100 * row.demanded, digits):
        digits += 1
    return f"{100 * row.measured:.{digits}f} %"


def where(row: Row) -> str:
    """Which point an extreme is of."""
    return "" if row.at_n is None else f" ({', '.join(filter(None, [row.at_part, power(row.at_n)]))})"


def between(row: Row, scale: float = 1, digits: int = 3) -> str:
    """The interval of the point that an extreme is of."""
    return "" if math.isnan(row.low) else f" [{scale * row.low:.{digits}f}, {scale * row.high:.{digits}f}]"


# Of each quantity what is demanded, and what was measured.
DEMANDED = {"speedup": lambda d: f"geometric mean of the speedup at least {d:g}", "slower": lambda d: "none slower",
            "least_speedup": lambda d: f"least speedup {d:g}", "undecided": lambda d: f"at most {100 * d:g} % undecided",
            "ceiling": lambda d: f"geometric mean at least {100 * d:g} % of the read ceiling",
            "least_ceiling": lambda d: f"at least {100 * d:g} % of the read ceiling",
            "over_empty_s": lambda d: f"within {1e6 * d:g} us"}
MEASURED = {"speedup": lambda r: f"geometric mean {ratio(r.measured)}",
            "slower": lambda r: f"{r.measured:.0f} of {r.points} slower",
            "least_speedup": lambda r: f"least {ratio(r.measured)}{between(r)}{where(r)}",
            "undecided": lambda r: f"{percent_of(r)} undecided",
            "may_be_slower": lambda r: f"{percent(r.measured)} may be slower",
            "ceiling": lambda r: f"geometric mean {percent_of(r)}",
            "least_ceiling": lambda r: f"least {percent_of(r)}{between(r, 100, 1)}{where(r)}",
            "over_empty_s": lambda r: f"{1e6 * r.measured:.2f} us{between(r, 1e6, 2)} above it{where(r)}"}
ACROSS = ", but an interval reaches across what is demanded"  # of a verdict


def of(rows: list[Row], goal: str, quantity: str, *part: str) -> Row | None:
    """The row of a quantity over all points of a goal, or over those of a part: type, mode, cache state and starts."""
    part = part or ("all",) * 4
    return next((r for r in rows if (r.goal, r.quantity, r.element_type, r.timing_mode, r.cache_state, r.starts) ==
                 (goal, quantity, *part) and not math.isnan(r.measured)), None)


def goal_line(rows: list[Row], goal: Goal) -> tuple[str, str, str, str]:
    """What the goal is of, what it demands, what was measured, and the verdict."""
    found = [of(rows, goal.key, q) for q in goal.demands]
    found += [of(rows, goal.key, q) for q in goal.reported if q == "may_be_slower"]  # what of the undecided matters
    measured = "; ".join(MEASURED[r.quantity](r) for r in found if r is not None)
    return (goal.words, "; ".join(DEMANDED[q](d) for q, d in goal.demands.items()), measured,
            goals.verdict_of(rows, goal) + (ACROSS if goals.reach_of(rows, goal) else ""))


def parts(rows: list[Row]) -> list[tuple[str, ...]]:
    """The parts of the goals that no point is slower than CUB, as (goal, type, mode, cache state, starts)."""
    return [(r.goal, r.element_type, r.timing_mode, r.cache_state, r.starts) for r in rows
            if r.quantity == "least_speedup" and r.goal in ("sums", "ragged", "narrow") and r.element_type != "all"]


def part_line(rows: list[Row], goal: str, *part: str) -> list[str]:
    """Way of timing, type, points, and what was measured of them."""
    quantities = {q: of(rows, goal, q, *part) for q in ("speedup", "least_speedup", "slower", "undecided", "ceiling")}
    told = {"speedup": lambda r: ratio(r.measured), "least_speedup": lambda r: ratio(r.measured) + where(r),
            "slower": lambda r: f"{r.measured:.0f}", "undecided": lambda r: f"{r.measured * r.points:.0f}",
            # Warm it is no bound (docs/tuned.md).
            "ceiling": lambda r: percent(r.measured) if (r.timing_mode, r.cache_state) in goals.COLD else ""}
    element_type, mode, state, starts = part
    return [WAYS[mode, state] + STARTS[starts], element_type, str(quantities["least_speedup"].points),
            *("" if r is None else told[q](r) for q, r in quantities.items())]


def headline(results: Results) -> str:
    """The speedup over CUB by type and way of timing, the share of the read ceiling, and how many goals are met."""
    rows = goals.read(results.folder)

    def by_type(quantity: str, way: tuple[str, str], show) -> str:
        found = [(t, of(rows, "sums", quantity, t, *way, "aligned")) for t in goals.TYPES]
        return latex.listing([f"{show(r.measured)} ({t})" for t, r in found if r is not None])

    said = [f"{by_type('speedup', way, ratio)}, {words}" for way, words in WAYS.items()
            if any(of(rows, "sums", "speedup", t, *way, "aligned") for t in goals.TYPES)]
    if not said:
        return ""
    verdicts = [goals.verdict_of(rows, g) for g in goals.GOALS]
    least, unsure, undecided = (of(rows, "sums", q) for q in ("least_speedup", "may_be_slower", "undecided"))
    ceiling = of(rows, "cold", "ceiling")
    return (f"Over CUB's sum, in geometric means over 2^10 to 2^30 elements, its speedup is {'; '.join(said)}. "
            f"The least of {least.points} points is {ratio(least.measured)}{where(least)}. "
            + (f"{percent(undecided.measured)} are undecided, most of them between as fast and faster: at "
               f"{percent(unsure.measured)} the call may be slower by more than 1 %. " if unsure and undecided.measured > 2 * unsure.measured
               else "")
            + over_cub_tuned(rows)
            + (f"Cold it comes to {percent(ceiling.measured)} of the read ceiling. " if ceiling else "")
            + f"By point estimates, as they were set, of {len(verdicts)} goals "
            + latex.listing([f"{verdicts.count(goals.MET)} are met", f"{verdicts.count(goals.MISSED)} missed",
                             *([f"{absent} not measured"] if (absent := verdicts.count(goals.ABSENT)) else [])]) + ".")


SLOW = 1.25  # times the median pass: a pass that is told apart


@dataclass
class Divided:
    """A point in a graph of which some passes, each in a context of its own, take far longer than the others."""

    size: int       # bytes
    slow: int       # passes
    passes: int
    factor: float   # the slowest over the median pass
    behind: bool    # whether the slowest takes longer than CUB's time


def divided(results: Results) -> tuple[list[Divided], int]:
    """Those points, and of how many."""
    if not (results.folder / "tuned.csv").exists():
        return [], 0
    folder, of_rounds = goals.Folder(results.folder), samples.of(results, "tuned")
    found, every = [], 0
    for t in goals.TYPES:
        mine, cub = (folder.series("tuned", v, t, goals.WAYS[3], **s) for v, s in ((goals.SUM, {"reading": "auto"}), (goals.CUB, {})))
        for n in mine.rows if mine is not None else ():
            point = of_rounds.get(mine.at(n)["key"])
            if point is None or not goals.not_ragged(n):
                continue
            every += 1
            times, passes = point.times("time_s"), point.allocation
            medians = np.array([np.nanmedian(times[passes == k]) for k in dict.fromkeys(passes.tolist())])
            slow = int((medians > SLOW * np.median(medians)).sum())
            base = cub.at(n) if cub is not None else None
            if slow:
                found.append(Divided(n * rs.ELEMENT_BYTES[t], slow, len(medians), float(medians.max() / np.median(medians)),
                                     base is not None and bool(medians.max() > base["time"])))
    return found, every


def in_graphs(results: Results) -> str:
    """At which sizes a graph's call takes far longer in some contexts; plain text, "" where none does."""
    found, every = divided(results)
    if not found:
        return ""
    low, high = (f"{pick(d.size for d in found) / 2**20:.3g} MiB" for pick in (min, max))
    most = max(found, key=lambda d: d.slow)
    return (f"In a graph, {goals.SUM} takes more than {SLOW:g} times its median in some contexts at {len(found)} of {every} points, all "
            f"between {low} and {high}: in up to {most.slow} of {most.passes}, and up to {max(d.factor for d in found):.2f} times. At "
            f"{sum(d.behind for d in found)} of these points such a context is behind CUB.")


def over_cub_tuned(rows: list[Row]) -> str:
    """The same headline over cub/sum-tuned; empty where that was not measured."""
    said = []
    for way, words in WAYS.items():
        found = [(t, of(rows, goals.OVER_CUB_TUNED.key, "speedup", t, *way, "aligned")) for t in goals.TYPES]
        if all(r is not None for _, r in found):
            said.append(f"{latex.listing([f'{ratio(r.measured)} ({t})' for t, r in found])}, {words}")
    if not said:
        return ""
    least = of(rows, goals.OVER_CUB_TUNED.key, "least_speedup")
    return (f"Over `{goals.CUB_TUNED}`, the same by another policy than CUB's own, it is {'; '.join(said)}"
            + (f", the least {ratio(least.measured)}{where(least)}" if least else "") + ". ")


def in_short(results: Results) -> str:
    """The headline for README and paper, a verb first: cold and in a graph alone."""
    rows = goals.read(results.folder)
    said = []
    for way in (goals.WAYS[0], goals.WAYS[3]):
        found = [(t, of(rows, "sums", "speedup", t, *way, "aligned")) for t in goals.TYPES]
        if all(r is not None for _, r in found):
            said.append(f"{latex.listing([f'{ratio(r.measured)} ({t})' for t, r in found])} ({WAYS[way]})")
    least, ceiling = of(rows, "sums", "least_speedup"), of(rows, "cold", "ceiling")
    if not said or least is None or ceiling is None:
        return ""
    met = [goals.verdict_of(rows, g) for g in goals.GOALS].count(goals.MET)
    return (f"has a speedup over CUB's sum of {' and '.join(said)}, geometric means over 2^10 to 2^30 elements; the least is "
            f"{ratio(least.measured)}{off_by_one(rows)}. Cold it reaches {percent(ceiling.measured)} of the read ceiling. By "
            f"estimates it meets {met} of {len(goals.GOALS)} goals.")


def off_by_one(rows: list[Row]) -> str:
    """The least speedup at odd sizes and starts, where it is less than elsewhere."""
    odd, least = of(rows, "ragged", "least_speedup"), of(rows, "sums", "least_speedup")
    return f" ({ratio(odd.measured)} at odd starts)" if odd and odd.measured < least.measured else ""


def cards(results: Results) -> str:
    """Whether the goals were judged on the card of the run of `autotune` that is kept; "" where that is not recorded."""
    runs = {run.get("run_id"): run.get("machine_id") for run in results.machine.get("runs", default=[])}
    on = {}
    for experiment in ("autotune", "tuned", "narrow"):
        path = results.folder / f"{experiment}.csv"
        if path.exists():
            points = rs.read_points(path)
            if experiment == "autotune":  # CUB's policies, of which the table says nothing, may be of another run
                points = points[points["variant"] == goals.SUM]
            on[experiment] = {str(runs.get(i) or "") for i in points["run_id"]}
    if not {"autotune", "tuned"} <= set(on) or any("" in ids for ids in on.values()):
        return ""
    kept = on.pop("autotune")
    judged: dict[str, list[str]] = {}
    for experiment, ids in on.items():
        others = "another card" if len(ids) == 1 else f"{len(ids)} other cards"
        card = "the same card" if ids == kept else others if not ids & kept else "in part the same cards"
        judged.setdefault(card, []).append(f"`{experiment}`")
    of_goals = latex.listing([f"{latex.listing(experiments)} on {card}" for card, experiments in judged.items()])
    others_of = [f"`{e}`" for e in on if programs(results.machine, e) - programs(results.machine)]
    by_others = f", of which {latex.listing(others_of)} by another program" if others_of else ""
    return (f"From which runs of `autotune` the table of launches is, tuning.md says; beside the one that is kept, the goals are "
            f"judged by {of_goals}{by_others}{on_other_gpus(results)}. `machine.json` names cards and programs.")


def on_other_gpus(results: Results) -> str:
    """Of the goals on another GPU: on which, and by how many points of `tuned`. "" where none was measured."""
    rows = goals.read(results.folder)
    points = [f"{row.points} {words}" for key, words in (("elsewhere-cold", "points cold"), ("elsewhere-graph", "in a graph"))
              if (row := of(rows, key, "speedup")) is not None and row.points]
    beside = goals.Folder(results.folder).beside() if points else []
    if not beside:
        return ""
    here = programs(results.machine)
    program = " by another program" if here and any(programs(f.machine) - here for f in beside) else ""
    gpus = [str(f.machine.get("gpu.name")) for f in beside]
    return f", those on another GPU by `tuned` on one {latex.listing(gpus)}{program}, at {latex.listing(points)}"


def programs(machine: rs.Machine, experiment: str = "tuned") -> set[str]:
    """The revisions that a folder's runs of an experiment are of."""
    runs = machine.get("runs", default=[])
    return {str(run["git_revision"]) for run in runs if run.get("experiment") == experiment and run.get("git_revision")}


# ------------------------------------------------------------------------------------------------ Markdown


def table(head: list[str], align: str, lines) -> list[str]:
    """A Markdown table; of each column l or r."""
    rule = [{"l": "---", "r": "--:"}[a] for a in align]
    return [f"| {' | '.join(fields)} |" for fields in (head, rule, *lines)]


def goals_markdown(results: Results) -> str:
    rows = goals.read(results.folder)
    if not rows:
        return ""
    lines = [[*line[:3], re.sub(rf"^{goals.MISSED}", f"**{goals.MISSED}**", line[3])]
             for line in (goal_line(rows, g) for g in goals.GOALS)]
    return "\n".join(table(["", "demanded", "measured", ""], "llll", lines))


def parts_markdown(results: Results) -> str:
    rows = goals.read(results.folder)
    if not rows:
        return ""
    head = ["", "type", "points", "speedup over CUB", "least", "slower", "undecided", "of the read ceiling"]
    return "\n".join(table(head, "llrrrrrr", (part_line(rows, *part) for part in parts(rows))))


def broken_down(folder: Path) -> list[tuple[int, float, float, float, float]]:
    """n, launch floor, read ceiling, and the times of tuned and of CUB, in seconds, where all were measured."""
    if not (folder / "tuned.csv").exists():
        return []
    there, way = goals.Folder(folder), goals.WAYS[0]
    mine, cub = (there.series("tuned", v, BROKEN_DOWN_TYPE, way) for v in (goals.SUM, goals.CUB))
    calls = rs.harness_calls(there.table("tuned"), device="cuda", operation="sum", element_type=BROKEN_DOWN_TYPE,
                             mode=way[0], cache_state=way[1]).dropna().set_index("n")
    if mine is None or cub is None:
        return []
    return [(n, *(float(calls[c][n]) for c in ("floor", "read")), *(float(s.at(n)["time"]) for s in (mine, cub)))
            for n in BROKEN_DOWN if n in calls.index and mine.at(n) is not None and cub.at(n) is not None]


def time_markdown(results: Results) -> str:
    """Where the time goes: launch, reading, and what comes on top."""
    def us(seconds: float) -> str:
        return latex.digits(1e6 * seconds)

    lines = [[power(n), us(floor), us(read - floor), us(mine - read), us(cub - read), us(mine), us(cub)]
             for n, floor, read, mine, cub in broken_down(results.folder)]
    head = ["n", "launch floor", "reading", "`tuned/sum`: the rest", "`cub/sum`: the rest", "`tuned/sum`", "`cub/sum`"]
    return "\n".join(table(head, "rrrrrrr", lines)) if lines else ""


def probed_s(folder: Path) -> dict[str, float]:
    """The median of each time that `reductio probe` measured; empty where it was not run."""
    if not (folder / "probes.csv").exists():
        return {}
    table = rs.read_table(folder / "probes.csv", rs.Columns(["quantity", "unit", "value"], ["value"]))
    return (1e-9 * table[table["unit"] == "ns"].groupby("quantity")["value"].median()).to_dict()


def ceiling_with(folder: goals.Folder, finish_s: float) -> float | None:
    """The geometric mean share of the read ceiling that cold sums would come to, if launches of several blocks took that
    long beyond reading. Launches of one block, which hand nothing on, as measured."""
    table = folder.table("tuned")
    if table is None:
        return None
    ways = table[["timing_mode", "cache_state"]].apply(tuple, axis=1)
    rows = table[(table["variant"] == goals.SUM) & (table["offset_elements"] == 0) & (table["status"] == "ok") &
                 ways.isin(goals.COLD) & table["n"].map(goals.not_ragged)].dropna(subset=["share_of_read_ceiling"])
    share = rows["share_of_read_ceiling"]
    reading = share * rows["time_median_s"]
    reached = share.where(rows["grid_blocks"] == 1, reading / (reading + finish_s))
    return float(np.exp(np.log(reached).mean())) if len(reached) else None


def reach(results: Results, in_short: bool = False) -> str:
    """What a finish is made of, and what that leaves of the read ceiling; empty where it was not measured."""
    ceiling = of(goals.read(results.folder), "cold", "ceiling")
    probed = probed_s(results.folder)
    there_and_back, atomic, load = (probed.get(q) for q in
                                    ("message_round_trip", "atomic_latency_l2", "load_latency_l2"))
    if None in (there_and_back, atomic, load):
        return ""
    word, folder = there_and_back / 2, goals.Folder(results.folder)
    one, two = (ceiling_with(folder, words * word) for words in (1, 2))
    if None in (ceiling, one, two):
        return ""
    if in_short:
        return (f"If a launch of several blocks took nothing beyond reading but a word's way from SM to SM, {1e9 * word:.0f} ns, "
                f"cold sums would come to {percent(one)} of the read ceiling.")
    return (f"A word from one SM to another is under way for {1e9 * word:.0f} ns (`reductio probe`: half of what a word and one "
            f"back take), an atomic update takes {1e9 * atomic:.0f} ns and a load from L2 {1e9 * load:.0f} ns. Were one such "
            f"word all that a launch of several blocks takes beyond reading, cold sums would come to {percent(one)} of the read "
            f"ceiling; were it two, to {percent(two)}. They come to {percent(ceiling.measured)}.{ragged_takes(goals.read(results.folder))}")


def ragged_takes(rows: list[Row]) -> str:
    """Of odd sizes and starts which share of the read ceiling the speedup that is demanded there would take."""
    speedup, share = of(rows, "ragged", "speedup"), of(rows, "ragged", "ceiling")
    if speedup is None or share is None or not share.points:
        return ""
    takes = share.measured * speedup.demanded / speedup.measured
    return (f" At odd sizes and starts a speedup of {speedup.demanded:g} over CUB would take {percent(takes)} of it; they come to "
            f"{percent(share.measured)}, and to {ratio(speedup.measured)}.")


def in_comparison(results: Results) -> str:
    """The least share of the read ceiling of large sums in the comparison, another run; empty where it has none."""
    least = []
    for element_type in goals.TYPES if results.comparison is not None else ():
        for s in rs.series(results.comparison, device="cuda", operation="sum", element_type=element_type, mode="device"):
            ok = s.ok[s.ok["n"] >= 2**28] if s.variant == goals.SUM else s.ok[:0]
            least += [(row.share, element_type, int(row.n)) for row in ok.itertuples() if row.share == row.share]
    if not least:
        return ""
    share, element_type, n = min(least)
    run = "another run" + (", by another program" if programs(results.machine, "comparison") - programs(results.machine) else "")
    return f"In `comparison`, {run}, large sums come to {percent(share)} of the read ceiling at least ({element_type}, {power(n)})."


ANY_ORDER = "tuned/sum-any-order"


def in_any_order(results: Results) -> str:
    """What a caller gains who allows any order, beside the fixed one; empty where it was not measured."""
    folder, said = goals.Folder(results.folder), []
    for element_type in ("f32", "f64"):
        mine, base = (folder.series("tuned", variant, element_type, goals.COLD[0], reading="auto")
                      for variant in (ANY_ORDER, goals.SUM))
        over = folder.over(mine, base, goals.TOGETHER)
        over = over[over["n"] * rs.ELEMENT_BYTES[element_type] > 256 * 2**20]
        if len(over):
            gain = 1 - 1 / over["ratio"]
            mean = 1 - float(np.exp(-np.log(over["ratio"]).mean()))
            said.append(f"of {element_type} {percent(mean)}, in the geometric mean of {len(over)} size{'s' * (len(over) > 1)} above 256 MiB (from "
                        f"{percent(gain.min())} to {percent(gain.max())}), and it reads at {percent(over['share'].min())} of the "
                        "read ceiling at least")
    return f"The time that any order saves, L2 cold and dirty: {'; '.join(said)}." if said else ""


def on_raw_workspace(results: Results) -> str:
    """What a call takes longer that zeroes its workspace first, by `reductio compare` of both in the same rounds."""
    rows = None if results.raw_workspace is None else results.raw_workspace.dropna(subset=["ratio"])
    if rows is None or rows.empty:
        return "These results have no such times."
    (element_type,), (way,) = rows["element_type"].unique(), rows[["timing_mode", "cache_state"]].drop_duplicates().to_numpy()
    more, share = 1e6 * rows["base_time_s"] * (1 / rows["ratio"] - 1), 100 * (1 / rows["ratio"] - 1)
    return (f"In the median of {len(rows)} sizes from {power(int(rows['n'].min()))} to {power(int(rows['n'].max()))} such a call takes "
            f"{more.median():.2f} us longer (from {more.min():.2f} to {more.max():.2f}), or {share.min():.0f} to {share.max():.0f} % "
            f"({element_type}, {WAYS[tuple(way)]}).")


@dataclass
class ToHost:
    """Speedups over CUB's sum whose result it writes to the host's memory, by size."""

    base: str
    element_type: str
    tuned: pd.Series        # of tuned/sum-to-host
    with_a_copy: pd.Series  # of cub/sum


TO_HOST = rs.Columns(["schema_version", "base", "variant", "element_type", "timing_mode", "cache_state", "n", "ratio"],
                     ["n", "ratio"])


def to_host_of(folder: Path) -> ToHost | None:
    """to-host.csv at the sizes at which all were measured; None without any."""
    path = folder / "to-host.csv"
    if not path.exists():
        return None
    rows, wanted = rs.read_table(path, TO_HOST), {goals.TO_HOST, goals.CUB}
    of = rows[rows["variant"].isin(wanted)]
    way = {("end_to_end", goals.COLD[0][1])}
    if len(of) and (set(of["variant"]) != wanted or set(zip(of["timing_mode"], of["cache_state"])) != way
                    or len(of[["base", "element_type"]].drop_duplicates()) > 1 or of.duplicated(["n", "variant"]).any()):
        raise rs.ResultsError(f"{path} is not of {' and '.join(sorted(wanted))} over one call, of one type, end to end with L2 "
                              f"cold and dirty: {rs.remedy(path)}")
    ratios = of.assign(n=of["n"].astype(int)).pivot(index="n", columns="variant", values="ratio").dropna()
    if ratios.empty:
        return None
    return ToHost(of["base"].iloc[0], of["element_type"].iloc[0], ratios[goals.TO_HOST], ratios[goals.CUB])


def to_host(results: Results) -> str:
    """CUB's sum that is written to the host's memory, beside the same with a copy and beside tuned/sum-to-host; on this GPU
    and on others beside."""
    found = to_host_of(results.folder)
    if found is None:
        return "These results have no such times."
    demanded = next(goal.demands for goal in goals.GOALS if goal.key == "host-others")["least_speedup"]

    def over(of: pd.Series) -> str:
        return f"{float(np.exp(np.log(of).mean())):.2f} ({of.min():.2f} to {of.max():.2f})"

    def missed(of: pd.Series) -> str:
        at = ", ".join(power(int(n)) for n in of.index[(of < demanded) & (of.index <= goals.LARGEST_TO_HOST)])
        return f"missed at {at}" if at else ""

    sizes = found.tuned.index.tolist()
    said = [f"Over `{found.base}` the speedup of `{goals.TO_HOST}` is {over(found.tuned)}, and that of `{goals.CUB}`, which is "
            f"CUB's call with a copy, {over(found.with_a_copy)}: geometric means of {len(sizes)} sizes from {power(sizes[0])} to "
            f"{power(sizes[-1])}, in parentheses the least and the greatest ({found.element_type}, end to end, L2 cold and dirty)."]
    beside = [(other.machine.get("gpu.name", default=other.machine.name), there)
              for other in results.beside if (there := to_host_of(other.folder)) is not None]
    if any(missed(of.tuned) for of in (found, *(there for _, there in beside))):
        said.append(f"The goal of {demanded:g} over `thrust::reduce` with a caching allocator and CUB, up to "
                    f"{power(goals.LARGEST_TO_HOST)}, has CUB's call with a copy; with this one in its place it would be "
                    f"{missed(found.tuned) or 'met'}.")
    for gpu, there in beside:
        at = missed(there.tuned)
        said.append(f"On one {gpu} these are {over(there.tuned)} and {over(there.with_a_copy)}"
                    + (f", and it would be {at}." if at else "."))
    return " ".join(said)


# --------------------------------------------------------------------------------------------------- LaTeX


PART = re.compile(rf"\b(\w+) (device|graph|end_to_end) (cold_dirty|cold_clean|warm)(?: ({'|'.join(map(re.escape, STARTS))}))?")


def in_words(part: re.Match) -> str:
    """"f32, L2 cold and dirty" of "f32 device cold_dirty", as goals.csv names parts."""
    element_type, mode, state, starts = part.groups()
    return f"{element_type}, {WAYS.get((mode, state), 'end to end')}{STARTS.get(starts, '')}"


def in_latex(text: str) -> str:
    """Plain text as above: 2^10, 2^k +- 1, 5 %, 1.5 us, thrust::reduce, and the part that a point is of."""
    out = latex.numbers(latex.escape(PART.sub(in_words, text)))
    out = re.sub(r"\$ (\+-|[+-]) 1\b", lambda m: {"+-": r"\pm"}.get(m[1], m[1]) + "1$", out)
    out = re.sub(r"(?<=\d) ns\b", r"\\,ns", re.sub(r"(?<=\d) us\b", r"\\,\\textmu{}s", out))
    return re.sub(r"\b(thrust::reduce|tuned/sum)\b", r"\\id{\1}", out)


def finding(results: Results) -> str:
    """A paragraph; empty without goals.csv."""
    said = in_short(results)
    if not said:
        return ""
    return (r"\paragraph{Past CUB.} Our own reduction, \id{tuned/sum}, is one launch: loads of 16 bytes, several under way, and "
            r"a finish without a second launch. It " + in_latex(" ".join(filter(None, [said, reach(results, in_short=True)]))) +
            r" Figure~\ref{fig:tuned} shows all sizes, Table~\ref{tab:goals} the goals, Table~\ref{tab:tuned} each type.")


GOALS_CAPTION = (r"What was demanded of our own reduction before it was measured, over CUB where nothing else is said. Whether it "
                 r"is met is said by the estimates, as the goals were set; which points are slower or undecided, by intervals "
                 r"that hold all at once in their line with \confidence{} confidence, where a point within 1\,\% of CUB is not "
                 r"slower. In brackets is the interval of the point that an extreme is of: in those lines the same, else at "
                 r"\confidence, of a share or an excess that of the call's own time. \caveat")
PARTS_CAPTION = (r"Our own sum beside CUB by type and way of timing: geometric mean and least of the speedup over CUB, how many points "
                 r"are slower and undecided, and the geometric mean of the share of the read ceiling.")


def goals_body(results: Results) -> list[str]:
    rows = goals.read(results.folder)
    return [" & ".join(map(in_latex, goal_line(rows, g))) + r" \\" for g in goals.GOALS] if rows else []


def parts_body(results: Results) -> list[str]:
    rows = goals.read(results.folder)
    return [" & ".join(in_latex(f) or "---" for f in part_line(rows, *part)) + r" \\" for part in parts(rows)]
