#!/usr/bin/env python3
"""Judges what the documents claim (claims.json) by one results folder, and writes verdicts.csv into it.

    python paper/verdicts.py experiments/results/nvidia-h200 --cpu-results experiments/results/cpu-intel-xeon
    python paper/verdicts.py experiments/results/nvidia-h100-80gb-hbm3 --beside experiments/results/nvidia-h200

The second judges nothing: it joins the verdicts of two folders that have been judged and prints in which they differ.

A claim's verdict is holds, holds but weaker, no effect, reversed or not decidable here. What the folder lacks is said,
and the claims that need it are not decidable here.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

import results as rs
import samples
import speedup
from command_line import Parser

CLAIMS_FILE = Path(__file__).resolve().parent / "claims.json"
HOLDS, WEAKER, NONE, REVERSED, UNDECIDED = ("holds", "holds but weaker", "no effect", "reversed", "not decidable here")
VERDICTS = (HOLDS, WEAKER, NONE, REVERSED, UNDECIDED)      # in the order in which they are counted
WORST_FIRST = (REVERSED, UNDECIDED, NONE, WEAKER, HOLDS)   # a claim's verdict is the worst of its tests'
LARGE = 2**28
BESIDES = "; "  # what a reason says after it the paper's table leaves out
LATENCY_BOUND = 1.25  # a load's latency times so much is no more than the wait for one load

COLUMNS = ("claim document statement text_figure n operation element_type timing_mode cache_state base variant ratio "
           "ci_low ci_high threshold verdict reason role verdicts_before").split()
# What a row of verdicts.csv is: a claim's verdict, the one that counts; the same at 2^28; one of several tests behind
# either; what is told beside and decides nothing.
CLAIM, AT_LARGE, STEP, BESIDE = "claim", "large", "step", "beside"
ROLES = (CLAIM, AT_LARGE, STEP, BESIDE)
# Of a claim whose tests were changed: its verdicts by the tests as they stood before each change, in their order, so
# that the first is by the tests as first set.
BEFORE, THEN = "verdicts_before", "; "
NUMBERS = ["n", "ratio", "ci_low", "ci_high"]
OF_A_ROW = ("operation", "element_type", "timing_mode", "cache_state")
VERDICTS_FILE = rs.Columns(COLUMNS, NUMBERS, [BEFORE], words={"verdict": list(VERDICTS), "role": list(ROLES)})
NO_MEASUREMENT = ("shown", "measured")  # kinds of tests that say the same on every GPU: only that something is right


class Lacking(Exception):
    """Why a test cannot be decided by this folder."""


class Unpaired(Lacking):
    """The folder has the times and cannot give their ratio, for a reason that is a few words. What is drawn without it
    must say so (studies.left_out)."""

    def __init__(self, text: str, reason: str):
        super().__init__(text)
        self.reason = reason

    @staticmethod
    def of(results: rs.Results, calls: list[str], series: list[rs.Series], n: int) -> Unpaired:
        """Of these calls, whose times at n make no ratio."""
        reason, name = speedup.why_unpaired(results, series, n), series[0].experiment
        return Unpaired(f"{name}.csv has {' and '.join(calls)} from different runs" if reason == speedup.DIFFERENT_RUNS else
                        f"{name}.samples.csv.gz has {reason} of {' and '.join(calls)}", reason)


# -------------------------------------------------------------------------------------------------- claims


@lru_cache(maxsize=1)
def read_claims() -> dict:
    return json.loads(CLAIMS_FILE.read_text(encoding="utf-8"))


def test_of(claims: dict, claim: dict, test: dict) -> dict:
    """A test with what it takes from its document: the sizes, the operation and so on."""
    whole = {"kind": "ratio", "device": "cuda", **claims["documents"][claim["document"]], **test}
    return {"effect": claims["effects"][whole["timing_mode"]], **whole}


def changes(claims: dict) -> list[dict]:
    """What was changed of the claims' tests after there were data that they read, each with its claim's id, by date,
    and of one date what a claim had first comes first."""
    made = [(k, {"claim": c["id"], **change}) for c in claims["claims"] for k, change in enumerate(c.get("changes", []))]
    last = {}  # of a change that several claims had
    for k, change in made:
        last[change["what"]] = max(k, last.get(change["what"], 0))
    return sorted((change for _, change in made), key=lambda change: (change["date"], last[change["what"]]))


# ----------------------------------------------------------------------------------------- what is measured


@dataclass
class Found:
    """What a test found at one size."""

    verdict: str
    reason: str
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    base: str = ""
    variant: str = ""
    threshold: str = ""


@dataclass
class Calls:
    """Two rows of one experiment, and the speedup of the second over the first."""

    experiment: str
    ratio: float
    low: float
    high: float
    paired: bool


class Folder(rs.Results):
    """A results folder, and how claims.json's calls are found in it."""

    def __init__(self, folder: Path, cpu_folder: Path | None = None):
        super().__init__(folder, cpu_folder)
        self.sm_count = self.machine.number("gpu.sm_count")
        if not any(self.file(f"{e}.csv").exists() for e in experiments(read_claims())):
            raise rs.ResultsError(f"{folder} holds no experiment that any claim asks for: name a results folder that "
                                  f"`reductio run` wrote")

    @property
    def results(self) -> rs.Results:
        return self

    @property
    def path(self) -> Path:
        return self.folder

    def series(self, name: str, test: dict, mode: str) -> list[rs.Series]:
        return rs.series(self.experiment(name), device=test["device"], operation=test["operation"],
                         element_type=test["element_type"], mode=mode, cache_state=test["cache_state"])

    def at(self, name: str, test: dict, call: str, n: int, mode: str) -> rs.Series:
        """The one series of an experiment that is this call and has an ok point at n."""
        variant, settings = self.call_of(call, n)
        found = [s for s in self.series(name, test, mode) if s.variant == variant
                 and settings.items() <= rs.parse_settings(s.settings).items() and n in set(s.points["n"])]
        measured = [s for s in found if s.at(n) is not None]
        if len(measured) == 1:
            return measured[0]
        if measured:
            raise Lacking(f"{name}.csv has {len(measured)} rows that are {call}: name more settings in claims.json")
        rows = [s.points[s.points["n"] == n].iloc[0] for s in found]
        told = next((row["reason"] or row["status"] for row in rows), "")
        raise Lacking(f"{name}.csv has no time of {call} ({mode}, n = {n}){': ' + told if told else ''}")

    def call_of(self, call: str, n: int) -> tuple[str, dict[str, str]]:
        """Variant and settings of `variant:name=value,name=value`; a value may be 4*SMs or ceil(n/1024)."""
        variant, _, settings = call.partition(":")

        def value(text: str) -> str:
            if of_sms := re.fullmatch(r"(\d+)\*SMs", text):
                if self.sm_count is None:
                    raise Lacking("machine.json does not say how many multiprocessors the GPU has")
                return str(int(of_sms[1]) * int(self.sm_count))
            if of_n := re.fullmatch(r"ceil\(n/(\d+)\)", text):
                return str(-(-n // int(of_n[1])))
            return text

        return variant, {k: value(v) for k, v in rs.parse_settings(settings.replace(",", ";")).items()}

    def first_of(self, test: dict, look):
        """What the first of the test's experiments gives that has what is looked for."""
        lacking: list[Lacking] = []
        for name in test["experiments"]:
            if self.experiment(name) is None:
                lacking.append(Lacking(f"no {name}.csv: run `reductio run {name}`"))
                continue
            try:
                return look(name)
            except Lacking as why:
                lacking.append(why)
        text, unpaired = "; ".join(map(str, lacking)), [why for why in lacking if isinstance(why, Unpaired)]
        raise Unpaired(text, unpaired[0].reason) if unpaired else Lacking(text)

    def speedup(self, test: dict, n: int) -> Calls:
        """Of the test's variant over its base."""
        def look(name: str) -> Calls:
            mode = test["timing_mode"]
            base_mode = test.get("base_timing_mode", mode)
            base, mine = self.at(name, test, test["base"], n, base_mode), self.at(name, test, test["variant"], n, mode)
            if base is mine:
                raise Lacking(f"{name}.csv does not tell {test['base']} and {test['variant']} apart")
            return self.calls(test, [base, mine], n, speedup.at(self.results, mine, base, n), base_mode == mode)

        return self.first_of(test, look)

    def speedup_of_rest(self, test: dict, n: int) -> Calls:
        """The same of what is left of both calls end to end without their device parts."""
        def look(name: str) -> Calls:
            mine, base = ([self.at(name, test, test[side], n, mode) for mode in ("end_to_end", "device_part")]
                          for side in ("variant", "base"))
            return self.calls(test, [*base, *mine], n, speedup.of_the_rest(self.results, mine, base, n), True)

        return self.first_of(test, look)

    def calls(self, test: dict, of: list[rs.Series], n: int, point: pd.Series | None, alike: bool) -> Calls:
        """A speedup that was found of these series, `alike` where they are timed in one way."""
        name = of[0].experiment
        if point is None:
            raise Unpaired.of(self.results, [test["base"], test["variant"]], of, n)
        if not point["enough"]:
            raise Unpaired(f"{name}.csv has too few allocations for an interval: run it again with more samples",
                           "too few allocations")
        if not math.isfinite(point["low"]) or not math.isfinite(point["high"]):
            raise Unpaired(f"{name}.samples.csv.gz is missing: without it there is no interval", "no raw samples")
        return Calls(name, point["ratio"], point["low"], point["high"], alike and bool(samples.of(self.results, name)))

    def values(self, file: str, value: str, where: dict[str, str], also=()) -> pd.DataFrame:
        """Rows of another CSV, with the column `value` as numbers. `also`: columns that the caller reads besides."""
        path = self.file(file)
        if not path.exists():
            self.absent.add(file)
            raise Lacking(f"no {file}: {rs.remedy(path)}")
        table = rs.read_table(path, rs.Columns([*also, *where, value], [value]))
        for column, wanted in where.items():
            table = table[table[column] == wanted]
        valued = table[table[value].notna()]
        if not len(valued):
            why = next((r for r in table["reason"] if r), "") if "reason" in table else ""
            said = ", ".join(f"{c} is {w}" for c, w in where.items())
            raise Lacking(f"{file} has no {value} where {said}{': ' + why if why else ''}")
        return valued

    def counter(self, file: str, call: str, metric: str, n: int) -> float:
        """What a profiler counted in a call's kernel."""
        variant, settings = self.call_of(call, n)
        rows = self.values(file, "value", {"variant": variant, "metric": metric, "n": str(n)}, also=["settings"])
        rows = rows[[settings.items() <= rs.parse_settings(s).items() for s in rows["settings"]]]
        if not len(rows):
            raise Lacking(f"{file} has no {metric} of {call} at n = {n}")
        return float(rows["value"].median())


def experiments(claims: dict) -> list[str]:
    """Every experiment that some test asks for."""
    tests = [test_of(claims, c, t) for c in claims["claims"] for t in c["tests"]]
    return list(dict.fromkeys(e for t in tests for e in t["experiments"]))


# ------------------------------------------------------------------------------------------------ deciding


def decide(low: float, high: float, effect: float, expects: str, told: float | None = None) -> tuple[str, str]:
    """The verdict that an interval gives, and why. `expects` is what the claim says of the ratio."""
    up, down = 1 + effect, 1 / (1 + effect)
    band = f"{down:.3g} to {up:.3g}" if effect else "1"
    if expects == "more":
        if low > up:
            if told is not None and high < math.sqrt(told):
                return WEAKER, f"below half of the document's {told:g} in logarithms, {math.sqrt(told):.3g}"
            return HOLDS, f"above {up:.3g}"
        if high < down:
            return REVERSED, f"below {down:.3g}"
        if low >= down and high <= up:
            return NONE, f"within {band}"
    elif expects == "no more":
        if high <= up:
            return HOLDS, f"not above {up:.3g}"
        if low > up:
            return REVERSED, f"above {up:.3g}"
    elif expects == "no less":
        if low >= down:
            return HOLDS, f"not below {down:.3g}"
        if high < down:
            return REVERSED, f"below {down:.3g}"
    elif expects in ("different", "the same"):
        apart, together = (HOLDS, NONE) if expects == "different" else (REVERSED, HOLDS)
        if low > up or high < down:
            return apart, f"outside {band}"
        if low >= down and high <= up:
            return together, f"within {band}"
    else:
        raise ValueError(f"a claim expects {expects!r}")
    return UNDECIDED, f"the interval reaches across an end of {band}: more samples would narrow it"


def threshold_of(test: dict) -> str:
    up, down = f"{1 + test['effect']:.4g}", f"{1 / (1 + test['effect']):.4g}"
    text = {"more": f"> {up}", "no more": f"<= {up}", "no less": f">= {down}", "different": f"< {down} or > {up}",
            "the same": f"{down} to {up}"}[test["expects"]]
    return text + (f"; weaker < {math.sqrt(test['told']):.3g}" if "told" in test else "")


def judged(test: dict, ratio: float, low: float, high: float, of: str) -> Found:
    verdict, why = decide(low, high, test["effect"], test["expects"], test.get("told"))
    return Found(verdict, f"{why} ({of})", ratio, low, high, threshold=threshold_of(test))


def judge_ratio(folder: Folder, test: dict, n: int) -> Found:
    calls = folder.speedup(test, n)
    source = f"{calls.experiment}.csv{'' if calls.paired else ', not paired'}"
    found = judged(test, calls.ratio, calls.low, calls.high, source)
    found.base, found.variant = test["base"], test["variant"]
    return found


def judge_gains(folder: Folder, test: dict, n: int) -> Found:
    """One speedup over another, of different calls: their errors are taken as independent."""
    both = [folder.speedup({**test, **test[side]}, n) for side in ("base", "variant")]
    base, mine = ((c.ratio, c.low, c.high) for c in both)
    # speedup.apart() is of times, of which the base's is the greater where the ratio is above 1.
    ratio, low, high = speedup.apart(mine, base)
    found = judged(test, ratio, low, high,
                   f"gains of {both[1].ratio:.3g} and {both[0].ratio:.3g}, {both[0].experiment}.csv")
    found.base, found.variant = (f"{test[side]['base']} to {test[side]['variant']}" for side in ("base", "variant"))
    return found


def limited(test: dict, value: float, why: str) -> Found:
    """Of a quantity that the claim says is at most so much."""
    most = test["most"]
    verdict = HOLDS if value <= most else REVERSED
    return Found(verdict, why, value, threshold=f"<= {most:g}")


def quantity(folder: Folder, test: dict, side) -> tuple[float, str]:
    """One side of a quotient, and its name: a number, what a profiler counted, or the median or the most of a CSV's
    values."""
    if isinstance(side, (int, float)):
        return float(side), f"{side:g}"
    if "call" in side:
        value = folder.counter(test["file"], side["call"], side["metric"], side["n"])
        return (0.0 if value < side.get("none_below", 0) else value), f"{side['metric']} of {side['call']}"
    column, take = side.get("value", "value"), side.get("take", "median")
    values = folder.values(test["file"], column, side["where"])[column]
    return float({"median": values.median, "most": values.max}[take]()), " ".join(side["where"].values())


def judge_quotient(folder: Folder, test: dict, _n: int | None) -> Found:
    (mine, of), (base, over) = (quantity(folder, test, test[side]) for side in ("of", "over"))
    ratio = mine / base if base else math.inf if mine else 1.0  # of nothing and nothing: neither is more
    found = judged(test, ratio, ratio, ratio, f"{mine:.4g} over {base:.4g}, {test['file']}")
    found.base, found.variant, found.low, found.high = over, of, math.nan, math.nan
    return found


def judge_order(folder: Folder, test: dict, n: int) -> Found:
    """Whether the kernels' speed goes with a counter: Kendall's rank correlation over all pairs of kernels."""
    def look(name: str) -> list[float]:
        return [float(folder.at(name, test, call, n, test["timing_mode"]).at(n)["time"]) for call in test["variants"]]

    counted = [folder.counter(test["file"], call, test["metric"], n) for call in test["variants"]]
    if "of" in test:
        # A rate of what is the same in all kernels is the time again, and goes with speed whatever they do.
        amounts = [folder.counter(test["file"], call, test["of"], n) for call in test["variants"]]
        if max(amounts) <= (1 + test["effect"]) * min(amounts):
            raise Lacking(f"{len(amounts)} kernels have the same {test['of']}, to within "
                          f"{100 * (max(amounts) / min(amounts) - 1):.2g} %, so its rate is the time again ({test['file']})")
    times = folder.first_of(test, look)
    speeds, tied = [1 / t for t in times], test.get("tied", 0.0)
    tau = kendall(speeds, counted, tied)
    verdict = (HOLDS if tau >= test["holds"] else WEAKER if tau >= test["weaker"] else
               NONE if tau > -test["weaker"] else REVERSED)
    why = f"rank correlation {tau:.3g} of speed and {test['metric']}, {len(times)} kernels"
    if tied:
        alike = max(max(a, b) / min(a, b) for i, (a, c) in enumerate(zip(speeds, counted))
                    for b, d in zip(speeds[:i + 1], counted[:i + 1]) if not compared(c, d, tied))
        why += (f"{BESIDES}up to {100 * tied:g} % apart is a tie ({kendall(speeds, counted):.3g} without ties), and kernels whose "
                f"counts tie are up to {alike:.3g} times apart")
    return Found(verdict, why, tau, threshold=f">= {test['holds']:g}; weaker >= {test['weaker']:g}")


def compared(one: float, other: float, tied: float) -> int:
    """1 where one is the greater of two, -1 where the other is, 0 where they differ by no more than this share."""
    return 0 if abs(one - other) <= tied * min(abs(one), abs(other)) else 1 if one > other else -1


def kendall(one: list[float], other: list[float], tied: float = 0.0) -> float:
    """Kendall's tau-b; 0 where either is the same throughout."""
    pairs = [(compared(a, b, tied), compared(c, d, tied)) for i, (a, c) in enumerate(zip(one, other))
             for b, d in zip(one[:i], other[:i])]
    untied = [sum(p[k] != 0 for p in pairs) for k in (0, 1)]
    return sum(a * b for a, b in pairs) / math.sqrt(untied[0] * untied[1]) if all(untied) else 0.0


def judge_rate(folder: Folder, test: dict, n: int) -> Found:
    """Cycles by clock() for each second by the GPU's one timer, over those of the base."""
    def look(name: str) -> list[float]:
        return [folder.at(name, test, test[side], n, "clock").at(n)["time"] /
                folder.at(name, test, test[side], n, "globaltimer").at(n)["time"] for side in ("base", "variant")]

    base, mine = folder.first_of(test, look)
    found = judged(test, mine / base, mine / base, mine / base,
                   f"{mine / 1e9:.4g} over {base / 1e9:.4g} billion cycles a second, clock() over globaltimer")
    found.base, found.variant, found.low, found.high = test["base"], test["variant"], math.nan, math.nan
    return found


def judge_apart(folder: Folder, test: dict, n: int) -> Found:
    """How far the SMs' clocks are apart, as a share of the cycles that the run takes."""
    offsets = folder.values("probes.csv", "value", {"quantity": "sm_clock_offset", "unit": "cycles"}, also=["sm"])
    rate = float(folder.values("probes.csv", "value", {"quantity": "sm_clock_rate"})["value"].median())
    by_sm = offsets.groupby("sm")["value"].median()
    seconds = folder.first_of(test, lambda name: folder.at(name, test, test["variant"], n, "globaltimer").at(n)["time"])
    spread, cycles = float(by_sm.max() - by_sm.min()), float(seconds) * 1e9 * rate
    found = limited(test, spread / cycles, f"the clocks of {len(by_sm)} SMs are {spread:.4g} cycles apart, and the run "
                                           f"takes {cycles:.4g} (probes.csv)")
    found.variant = test["variant"]
    return found


def judge_hidden(folder: Folder, test: dict, n: int) -> Found:
    """The cycles of a load's latency that do not show: those that a thread does not take for each of its elements. Its
    threads are said to hide one each."""
    latency = float(folder.values("probes.csv", "value",
                                  {"quantity": "load_latency_memory", "unit": "cycles"})["value"].median())
    threads = int(folder.call_of(test["variant"], n)[1]["block"])
    cycles = float(folder.first_of(test, lambda name: folder.at(name, test, test["variant"], n, "clock").at(n)["time"]))
    taken = cycles * threads / n
    each = (latency - taken) / threads
    why = (f"of a load's {latency:.4g} cycles {latency - taken:.4g} are hidden, {each:.3g} for each of {threads} "
           f"threads (probes.csv)")
    found = limited(test, each, why)
    found.variant = test["variant"]
    return found


def judge_filled(folder: Folder, test: dict, n: int) -> Found:
    """How many cycles of a load's latency other threads fill with their work: one thread's work for an element takes no
    more of a multiprocessor than all of its threads take for one each, and that is measured where each has one load under
    way."""
    latency = float(folder.values("probes.csv", "value",
                                  {"quantity": "load_latency_memory", "unit": "cycles"})["value"].median())
    threads = int(folder.call_of(test["variant"], n)[1]["block"])
    each = float(folder.first_of(test, lambda name: folder.at(name, test, test["variant"], n, "clock").at(n)["time"])) / n
    taken = each * threads
    if taken < latency:
        raise Lacking(f"{test['variant']} takes {taken:.4g} cycles for each element, of a load's {latency:.4g}: a thread has "
                      f"several loads under way (probes.csv)")
    why = (f"{threads} threads with one load each take {taken:.3g} cycles, {each:.3g} each: {test['threads']} fill at most "
           f"{test['threads'] * each:.3g} of a load's {latency:.3g} (probes.csv)")
    found = limited(test, each, why)
    found.variant = test["variant"]
    if found.verdict == REVERSED and taken <= LATENCY_BOUND * latency:
        # Most of that may be the wait for the load, and no work.
        found.verdict = UNDECIDED
    return found


def judge_rest(folder: Folder, test: dict, n: int) -> Found:
    """The speedup of what is no kernel, end to end less the device part: copying, and the host's additions."""
    calls = folder.speedup_of_rest(test, n)
    found = judged(test, calls.ratio, calls.low, calls.high, f"end to end less the device part, {calls.experiment}.csv"
                   + ("" if calls.paired else ", not paired"))
    found.base, found.variant = test["base"], test["variant"]
    return found


def judge_measured(folder: Folder, test: dict, n: int) -> Found:
    """A variant whose result was checked against the exact sum does what the claim says cannot be done."""
    name = folder.first_of(test, lambda name: folder.at(name, test, test["variant"], n, test["timing_mode"]) and name)
    return Found(test["verdict"], f"{test['reason']} (verified in {name}.csv)", variant=test["variant"])


def judge_shown(_folder: Folder, test: dict, _n: int | None) -> Found:
    """What a test of this repository shows, whatever the machine."""
    return Found(test["verdict"], f"{test['reason']} ({test['by']})")


JUDGES = {"ratio": judge_ratio, "gains": judge_gains, "quotient": judge_quotient, "order": judge_order,
          "rate": judge_rate, "apart": judge_apart, "hidden": judge_hidden, "filled": judge_filled, "rest": judge_rest,
          "measured": judge_measured, "shown": judge_shown}
OF_NO_SIZE = ("quotient", "shown")  # what they say is of no row of an experiment


def judge(folder: Folder, test: dict, n: int) -> Found:
    try:
        return JUDGES[test["kind"]](folder, test, n)
    except Lacking as why:
        calls = {side: test[side] for side in ("base", "variant") if isinstance(test.get(side), str)}
        return Found(UNDECIDED, str(why), threshold=threshold_of(test) if "expects" in test else "", **calls)


def worst(found: list[Found]) -> Found:
    return min(found, key=lambda f: WORST_FIRST.index(f.verdict))


# ------------------------------------------------------------------------------------------- verdicts.csv


def number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else ""


def verdicts(folder: Folder) -> list[dict[str, str]]:
    """All rows of verdicts.csv: of each claim its verdict, that at 2^28 where its tests reach so far, its tests where
    they are several, and what is told beside."""
    claims, rows = read_claims(), []
    for claim in claims["claims"]:
        tests = [test_of(claims, claim, t) for t in claim["tests"]]
        deciding, beside = ([t for t in tests if bool(t.get("beside")) == is_beside] for is_beside in (False, True))

        def row(role: str, found: Found, test: dict | None, n: int | None, before: str = "") -> dict[str, str]:
            sized = test is not None and test["kind"] not in OF_NO_SIZE
            return dict(claim=claim["id"], document=claim["document"], statement=claim["statement"],
                        text_figure=claim["text_figure"], n=str(n or ""),
                        **{c: test[c] if sized else "" for c in OF_A_ROW}, base=found.base, variant=found.variant,
                        ratio=number(found.ratio), ci_low=number(found.low),
                        ci_high=number(found.high), threshold=found.threshold, verdict=found.verdict,
                        reason=found.reason, role=role, verdicts_before=before)

        for role, which in ((CLAIM, 0), (AT_LARGE, 1)):
            there = at_size(deciding, which)
            if not there:
                continue
            found = [judge(folder, t, t["n"][which]) for t in there]
            sizes = [None if t["kind"] in OF_NO_SIZE else t["n"][which] for t in there]
            before = THEN.join(verdict_by(folder, claims, claim, change["before"], which)
                               for change in claim.get("changes", []))
            if len(found) == 1:
                rows.append(row(role, found[0], there[0], sizes[0], before))
            else:
                least = worst(found)
                n = next((n for n in sizes if n), None)
                reason = f"the worst of {len(found)} tests: {least.reason}"
                rows.append(row(role, Found(least.verdict, reason), None, n, before))
                rows += [row(STEP, f, t, n) for f, t, n in zip(found, there, sizes)]
            rows += [row(BESIDE, judge(folder, t, t["n"][which]), t, t["n"][which]) for t in beside if len(t["n"]) > which]
    return rows


def at_size(tests: list[dict], which: int) -> list[dict]:
    """Those that are judged at the document's own size or at 2^28. What is of no size says the same at each, but alone
    has no verdict at 2^28."""
    there = [t for t in tests if which == 0 or t["kind"] in OF_NO_SIZE or len(t["n"]) > which]
    return [] if which and all(t["kind"] in OF_NO_SIZE for t in there) else there


def verdict_by(folder: Folder, claims: dict, claim: dict, tests: list[dict], which: int) -> str:
    """A claim's verdict by other tests than its own."""
    there = at_size([test_of(claims, claim, t) for t in tests], which)
    return worst([judge(folder, t, t["n"][which]) for t in there]).verdict if there else ""


def counts(rows: list[dict[str, str]]) -> dict[str, int]:
    """How many claims have each verdict."""
    of = Counter(r["verdict"] for r in rows if r["role"] == CLAIM)
    return {v: of[v] for v in VERDICTS}


def as_first_set(row) -> str:
    """The verdict of a claim's row by its tests as they were first set."""
    return row[BEFORE].partition(THEN)[0] or row["verdict"]


def counts_as_first_set(rows: list[dict[str, str]]) -> dict[str, int]:
    """How many claims have each verdict by their tests as first set."""
    return counts([{**r, "verdict": as_first_set(r)} for r in rows])


def in_words(of: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in of.items())


def write(rows: list[dict[str, str]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    try:
        path.write_text(text.getvalue(), encoding="utf-8")
    except OSError as error:
        raise rs.ResultsError(f"{path} cannot be written ({error.strerror})")


def read(path: Path) -> pd.DataFrame:
    """verdicts.csv as it was written, numbers as numbers; each claim once."""
    table = rs.read_table(path, VERDICTS_FILE)
    ids = [c["id"] for c in read_claims()["claims"]]
    if table.loc[table["role"] == CLAIM, "claim"].tolist() != ids:
        raise rs.ResultsError(f"{path} does not have each claim of claims.json once: {rs.remedy(path)}")
    return table


# -------------------------------------------------------------------------------------------- two folders


def read_judged(folder: Path) -> pd.DataFrame:
    """The verdicts.csv of a folder that was judged."""
    if not folder.is_dir():
        raise rs.ResultsError(f"{folder} is not a folder: name a results folder")
    path = folder / "verdicts.csv"
    if not path.exists():
        raise rs.ResultsError(f"there is no {path}: run `python paper/verdicts.py {folder}`")
    return read(path)


def set_beside(here: Path, there: Path) -> pd.DataFrame:
    """The verdicts of two folders, row by row; the other one's columns end in `_there`."""
    mine, theirs = read_judged(here), read_judged(there)
    same, calls = ["claim", "role", "n"], ["base", "variant"]  # one that lacks data may name no calls
    if not mine[same].equals(theirs[same]) or ((mine[calls] != theirs[calls]) & (mine[calls] != "") & (theirs[calls] != "")
                                               ).any(axis=None):
        raise rs.ResultsError(f"{here} and {there} were judged by different tests: judge both again by "
                              f"`python paper/verdicts.py`")
    return mine.join(theirs[["verdict", "ratio"]].add_suffix("_there"))


def alike(both: pd.DataFrame, role: str) -> tuple[str, pd.DataFrame]:
    """Of the claims that are judged by measurements of the GPU, how many verdicts both folders decide, in words; and the
    rows that they decide otherwise."""
    claims = read_claims()
    of_gpus = [c["id"] for c in claims["claims"] if any(
        t["device"] != "cpu" and t["kind"] not in NO_MEASUREMENT for t in (test_of(claims, c, test) for test in c["tests"]))]
    of = both[(both["role"] == role) & both["claim"].isin(of_gpus)]
    decided = of[(of["verdict"] != UNDECIDED) & (of["verdict_there"] != UNDECIDED)]
    otherwise = decided[decided["verdict"] != decided["verdict_there"]]
    how = f"{len(decided) - len(otherwise)} alike and {len(otherwise)} otherwise" if len(otherwise) else "all alike"
    return f"both decide {len(decided)} of {len(of)} verdicts, {how}", otherwise


def print_differences(both: pd.DataFrame, there: str) -> None:
    """All rows of two folders whose verdicts differ, single steps of claims included; and how many do."""
    shown = both[both["verdict"] != both["verdict_there"]]
    if len(shown):
        columns = ["claim", "role", "n", "base", "variant", "verdict", "ratio", "verdict_there", "ratio_there"]
        told = shown[columns].astype({"n": "Int64"}).astype(object)
        print(f"_there: {there}\n" + told.where(told.notna(), "").to_string(index=False) + "\n")
    print(f"at the documents' own sizes: {alike(both, CLAIM)[0]}")
    print(f"at 2^28: {alike(both, AT_LARGE)[0]}")


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(prog="verdicts.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="results folder to judge by; verdicts.csv is written into it")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--cpu-results", type=Path, metavar="DIR",
                        help="folder to read cpu.csv from (default: the same)")
    either.add_argument("--beside", type=Path, metavar="DIR",
                        help="judge nothing: print in which verdicts FOLDER differs from this other results folder")
    options = parser.parse_args(arguments)
    try:
        if options.beside is not None:
            print_differences(set_beside(options.folder, options.beside), options.beside.resolve().name)
            return 0
        folder = Folder(options.folder, options.cpu_results)
        rows = verdicts(folder)
        write(rows, options.folder / "verdicts.csv")
    except rs.ResultsError as error:
        print(f"verdicts.py: error: {error}", file=sys.stderr)
        return 1
    for name in sorted(folder.absent):
        print(f"  no {name}: claims that need it are not decidable here")
    print(f"  by the tests as first set: {in_words(counts_as_first_set(rows))}")
    print(f"{options.folder / 'verdicts.csv'}: {in_words(counts(rows))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
