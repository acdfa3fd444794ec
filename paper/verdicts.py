#!/usr/bin/env python3
"""Judges what the documents claim (claims.json) by one results folder, and writes verdicts.csv into it.

    python paper/verdicts.py experiments/results/nvidia-h200 --cpu-results experiments/results/cpu-intel-xeon
    python paper/verdicts.py experiments/results/nvidia-h100-80gb-hbm3 --beside experiments/results/nvidia-h200

The second judges nothing: it joins the verdicts of two folders that have been judged and prints in which they differ.

A claim's verdict is holds, holds but weaker, mixed, no effect, within 2 % of the threshold, reversed or not decidable
here. Ratios come from contrasts.csv,
which `reductio summarize` makes. What the folder lacks is said, and the claims that need it are not decidable here.
"""

import math
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import claims  # noqa: E402
import contrasts  # noqa: E402
from report import results as rs  # noqa: E402
from report import tables as tb  # noqa: E402
from report.command_line import Parser, one_line  # noqa: E402

VERDICTS = HOLDS, WEAKER, MIXED, NONE, NEAR, REVERSED, UNDECIDED = tuple(tb.VERDICTS.words["verdict"])  # as they are counted
WORST_FIRST = (REVERSED, UNDECIDED, NEAR, NONE, MIXED, WEAKER, HOLDS)  # a claim's verdict is the worst of its tests'
OPEN = NEAR, UNDECIDED
NEAR_BY = 1.02  # an interval across a threshold that goes no further beyond it is near it
FEW_SAMPLES = 7  # the least that a run takes
LARGE = 2**28
BESIDES = "; in detail: "  # behind it a reason has what the paper's table leaves out
NEXT_TEST = " | "  # between the reasons of a claim's tests
LATENCY_BOUND = 1.25  # a load's latency times so much is no more than the wait for one load

# What a row of verdicts.csv is: a claim's verdict, the one that counts; the same at 2^28; one of several tests behind
# either; what is told beside and decides nothing.
CLAIM, AT_LARGE, STEP, BESIDE = tb.VERDICTS.words["role"]
# Of a claim whose tests were changed: its verdicts by the tests as they stood before each change, in their order, so
# that the first is by the tests as first set.
BEFORE, THEN = "verdicts_before", "; "
OF_A_ROW = ("operation", "element_type", "timing_mode", "cache_state")
OF_NO_SIZE = ("quotient", "shown", "printed")  # kinds of tests that are of no experiment's row


def test_of(claims: dict, claim: dict, test: dict) -> dict:
    """A test with what it takes from its document, and from its contrast the two calls, its sizes and so on."""
    whole = {"kind": "ratio", "device": "cuda", **claims["documents"][claim["document"]], **test}
    if "contrast" in test:
        asked = contrasts.asked()[test["contrast"]]
        calls = [call for _, call, *_ in asked.points]
        # Of one gain over another: the four calls of contrasts.json, the second gain first.
        sides = [calls[:2], calls[2:]] if len(calls) == 4 else [calls[-1:], calls[:-1]]
        variant, base = (" to ".join(dict.fromkeys(side)) for side in sides)
        whole |= {k: v for k, v in asked.group.items() if k not in ("contrasts", "for")}
        whole |= {**test, "base": base, "variant": variant}
    return {"effect": contrasts.effects()[whole["timing_mode"]], **whole}


def changes(claims: dict) -> list[dict]:
    """What was changed of the claims' tests after there were data that they read, each with its claim's id, by date,
    and of one date what a claim had first comes first."""
    made = [(k, {"claim": c["id"], **change})
            for c in claims["claims"] for k, change in enumerate(c.get("changes", []))]
    last = {}  # of a change that several claims had
    for k, change in made:
        last[change["what"]] = max(k, last.get(change["what"], 0))
    return sorted((change for _, change in made), key=lambda change: (change["date"], last[change["what"]]))


# ------------------------------------------------------------------------------------------------ what is read


@dataclass
class Found:
    """What a test found at one size."""

    verdict: str
    reason: str
    ratio: float = math.nan
    ci_low: float = math.nan
    ci_high: float = math.nan
    threshold: str = ""
    base: str = ""     # of tests without a contrast
    variant: str = ""


def contrast(results: rs.Results, name: str, n: int) -> contrasts.Contrast:
    measured = contrasts.at(results, name, n)
    if not measured.known or not measured.enough:
        raise rs.Absent(measured.reason)
    return measured


def values(results: rs.Results, file: str, value: str = "value", call: str = "", **where) -> pd.DataFrame:
    """Rows of another CSV that have a number in the column `value`."""
    rows = results.rows(file.removesuffix(".csv"), call, **where)
    tb.refuse_lacking(results.file(file), [] if value in rows else [value])
    numbers = rows.assign(**{value: pd.to_numeric(rows[value], errors="coerce")}).dropna(subset=[value])
    if not len(numbers):
        why = next((r for r in rows["reason"] if r), "") if "reason" in rows else ""
        said = ", ".join(f"{c} is {w}" for c, w in (({"call": call} if call else {}) | where).items())
        raise rs.Absent(f"{file} has no {value} where {said}{': ' + why if why else ''}")
    return numbers


def median(results: rs.Results, file: str, call: str = "", **where) -> float:
    return float(values(results, file, call=call, **where)["value"].median())


def latency(results: rs.Results) -> float:
    """Cycles of a load from memory."""
    return median(results, "probes.csv", quantity="load_latency_memory", unit="cycles")


def threads_of(test: dict) -> int:
    """In a block of the test's call."""
    return int(rs.parse_call(test["variant"])[1]["block"])


# ------------------------------------------------------------------------------------------------ deciding


def decide(low: float, high: float, effect: float, expects: str, claimed: float | None = None) -> tuple[str, str]:
    """The verdict that an interval gives, and why. `expects` is what the claim says of the ratio."""
    up, down = 1 + effect, 1 / (1 + effect)
    band = f"{down:.3g} to {up:.3g}" if effect else "1"
    above, below, within = low > up, high < down, low >= down and high <= up
    if expects == "more" and above and claimed is not None and high < math.sqrt(claimed):
        return WEAKER, f"below half of the document's {claimed:g} in logarithms, {math.sqrt(claimed):.3g}"
    cases = {"more": [(above, HOLDS, f"above {up:.3g}"), (below, REVERSED, f"below {down:.3g}"),
                      (within, NONE, f"within {band}")],
             "no more": [(high <= up, HOLDS, f"not above {up:.3g}"), (above, REVERSED, f"above {up:.3g}")],
             "no less": [(low >= down, HOLDS, f"not below {down:.3g}"), (below, REVERSED, f"below {down:.3g}")],
             "different": [(above or below, HOLDS, f"outside {band}"), (within, NONE, f"within {band}")],
             "the same": [(above or below, REVERSED, f"outside {band}"), (within, HOLDS, f"within {band}")]}[expects]
    decided = next(((verdict, why) for so, verdict, why in cases if so), None)
    if decided:
        return decided
    bound = next(b for b in (up, down) if low <= b <= high)
    near = bound / NEAR_BY <= low and high <= bound * NEAR_BY
    return (NEAR if near else UNDECIDED,
            f"an effect of {100 * (low - 1):+.1f} % to {100 * (high - 1):+.1f} %, where {100 * (bound - 1):+.1f} % counts")


def threshold_of(test: dict) -> str:
    up, down = f"{1 + test['effect']:.4g}", f"{1 / (1 + test['effect']):.4g}"
    text = {"more": f"> {up}", "no more": f"<= {up}", "no less": f">= {down}", "different": f"< {down} or > {up}",
            "the same": f"{down} to {up}"}[test["expects"]]
    return text + (f"; weaker < {math.sqrt(test['told']):.3g}" if "told" in test else "")


def judge_ratio(results: rs.Results, test: dict, n: int) -> Found:
    c = contrast(results, test["contrast"], n)
    verdict, why = decide(c.low, c.high, test["effect"], test["expects"], test.get("told"))
    if (samples := fewest_samples(results, c, test, n)) <= FEW_SAMPLES:
        why += f"; a call has {samples:.0f} samples"
    part = "end to end less the device part, " if contrasts.asked()[c.name].points[0][2:] == ["rest"] else ""
    return Found(verdict, f"{why} ({part}{c.experiment}.csv)", c.value, c.low, c.high, threshold_of(test))


def fewest_samples(results: rs.Results, c: contrasts.Contrast, test: dict, n: int) -> float:
    """Of the two calls of a speedup; infinite where that is not known."""
    counts = [math.inf]
    for call in (test["base"], test["variant"]):
        with suppress(rs.Absent):
            counts += results.rows(c.experiment, call, n=n, status="ok")["n_samples"].dropna().tolist()
    return min(counts)


def limited(test: dict, value: float, why: str) -> Found:
    """Of a quantity that the claim says is at most so much."""
    return Found(HOLDS if value <= test["most"] else REVERSED, why, value, threshold=f"<= {test['most']:g}")


def quantity(results: rs.Results, test: dict, side) -> tuple[float, str]:
    """One side of a quotient, and its name: a number, what a profiler counted, or the median or the most of a CSV's
    values."""
    if isinstance(side, (int, float)):
        return float(side), f"{side:g}"
    if "call" in side:
        value = median(results, test["file"], side["call"], metric=side["metric"], n=side["n"])
        return (0.0 if value < side.get("none_below", 0) else value), f"{side['metric']} of {side['call']}"
    column, take = side.get("value", "value"), side.get("take", "median")
    measured = values(results, test["file"], column, **side["where"])[column]
    return float({"median": measured.median, "most": measured.max}[take]()), " ".join(side["where"].values())


def judge_quotient(results: rs.Results, test: dict, _n: int | None) -> Found:
    (mine, counter), (base, over) = (quantity(results, test, test[side]) for side in ("of", "over"))
    ratio = mine / base if base else math.inf if mine else 1.0  # of nothing and nothing: neither is more
    verdict, why = decide(ratio, ratio, test["effect"], test["expects"], test.get("told"))
    return Found(verdict, f"{why} ({mine:.4g} over {base:.4g}, {test['file']})", ratio, threshold=threshold_of(test),
                 base=over, variant=counter)


def judge_order(results: rs.Results, test: dict, n: int) -> Found:
    """Whether the kernels' speed goes with a counter: Kendall's rank correlation over all pairs of kernels."""
    calls = [contrasts.asked()[name].calls(1)[0] for name in test["contrasts"]]

    def counted_by(metric: str) -> list[float]:
        return [median(results, test["file"], call, metric=metric, n=n) for call in calls]

    counted = counted_by(test["metric"])
    if "of" in test:
        # A rate of what is the same in all kernels is the time again, and goes with speed whatever they do.
        parts = [test["of"]] if isinstance(test["of"], str) else test["of"]
        amounts = [sum(amounts_of_call) for amounts_of_call in zip(*map(counted_by, parts))]
        if max(amounts) <= (1 + test["effect"]) * min(amounts):
            apart = 100 * (max(amounts) / min(amounts) - 1)
            raise rs.Absent(f"{len(amounts)} kernels have the same {' + '.join(parts)}, to within {apart:.2g} %, so "
                            f"the rate is the time again ({test['file']})")
    speeds, tied = [1 / contrast(results, name, n).value for name in test["contrasts"]], test.get("tied", 0.0)
    tau = kendall(speeds, counted, tied)
    verdict = (HOLDS if tau >= test["holds"] else WEAKER if tau >= test["weaker"] else
               NONE if tau > -test["weaker"] else REVERSED)
    why = f"rank correlation {tau:.3g} of speed and {test['metric']}, {len(speeds)} kernels"
    if tied:
        alike = np.divide.outer(speeds, speeds)[order(counted, tied) == 0].max()
        why += (f"{BESIDES}up to {100 * tied:g} % apart is a tie ({kendall(speeds, counted):.3g} without ties), and kernels "
                f"whose counts tie are up to {alike:.3g} times apart")
    return Found(verdict, why, tau, threshold=f">= {test['holds']:g}; weaker >= {test['weaker']:g}")


def order(values: list[float], tied: float) -> np.ndarray:
    """Of each two 1 where the one is greater, -1 where the other is, 0 where they differ by no more than this share."""
    numbers = np.array(values, float)
    apart = np.subtract.outer(numbers, numbers)
    return np.sign(apart) * (abs(apart) > tied * np.minimum.outer(abs(numbers), abs(numbers)))


def kendall(first: list[float], other: list[float], tied: float = 0.0) -> float:
    """Kendall's tau-b; 0 where either is the same throughout."""
    mine, theirs = order(first, tied), order(other, tied)
    untied = math.sqrt((mine * mine).sum() * (theirs * theirs).sum())
    return float((mine * theirs).sum() / untied) if untied else 0.0


def judge_apart(results: rs.Results, test: dict, n: int) -> Found:
    """How far the SMs' clocks are apart, as a share of the cycles that the run takes."""
    offsets = values(results, "probes.csv", quantity="sm_clock_offset", unit="cycles")
    rate = median(results, "probes.csv", quantity="sm_clock_rate")
    by_sm = offsets.groupby("sm")["value"].median()
    spread, cycles = float(by_sm.max() - by_sm.min()), contrast(results, test["contrast"], n).value * 1e9 * rate
    return limited(test, spread / cycles, f"the clocks of {len(by_sm)} SMs are {spread:.4g} cycles apart, and the run "
                                          f"takes {cycles:.4g} (probes.csv)")


def judge_hidden(results: rs.Results, test: dict, n: int) -> Found:
    """The cycles of a load's latency that do not show: those that a thread does not take for each of its elements. Its
    threads are said to hide one each."""
    of_load, threads = latency(results), threads_of(test)
    hidden = of_load - contrast(results, test["contrast"], n).value * threads / n
    return limited(test, hidden / threads, f"of a load's {of_load:.4g} cycles {hidden:.4g} are hidden, "
                                           f"{hidden / threads:.3g} for each of {threads} threads (probes.csv)")


def judge_filled(results: rs.Results, test: dict, n: int) -> Found:
    """How many cycles of a load's latency other threads fill with their work: one thread's work for an element takes no
    more of a multiprocessor than all of its threads take for one each, and that is measured where each has one load
    under way."""
    of_load, threads = latency(results), threads_of(test)
    each = contrast(results, test["contrast"], n).value / n
    taken = each * threads
    if taken < of_load:
        raise rs.Absent(f"{test['variant']} takes {taken:.4g} cycles for each element, of a load's {of_load:.4g}: a "
                        f"thread has several loads under way (probes.csv)")
    why = (f"{threads} threads with one load each take {taken:.3g} cycles, {each:.3g} each: {test['threads']} fill at "
           f"most {test['threads'] * each:.3g} of a load's {of_load:.3g} (probes.csv)")
    limit = limited(test, each, why)
    if limit.verdict == REVERSED and taken <= LATENCY_BOUND * of_load:
        limit.verdict = UNDECIDED  # most of that may be the wait for the load, and no work
    return limit


def judge_copied(results: rs.Results, test: dict, n: int) -> Found:
    """The copies of one partial sum for each block of one load a thread, over a quarter of the bytes."""
    size = 4 * n // test["block"]
    row = values(results, test["file"], "over_quarter", memory=test["memory"], bytes=size).iloc[0]
    low, high = (float(row[c]) for c in ("over_quarter_low", "over_quarter_high"))
    verdict, why = decide(low, high, test["effect"], test["expects"])
    return Found(verdict, f"{why} ({size:,} bytes to {test['memory']} memory take {1e6 * row['time_s']:.3g} us, "
                          f"{row['gpu']}, {test['file']})", float(row["over_quarter"]), low, high, threshold_of(test),
                 f"copy of {size // 4} bytes", f"copy of {size} bytes")


def judge_printed(results: rs.Results, test: dict, _n: int | None) -> Found:
    """The document's code as printed gives the right sum in each block."""
    rows = values(results, test["file"], "wrong", **test["where"])
    wrong, blocks = int(rows["wrong"].sum()), int(rows["blocks"].sum())
    return Found(REVERSED if wrong else HOLDS, f"{wrong:,} of {blocks:,} blocks wrong ({rows['gpu'].iloc[0]}, "
                                               f"{test['file']})")


def judge_measured(results: rs.Results, test: dict, n: int) -> Found:
    """A variant whose result was checked against the exact sum does what the claim says cannot be done."""
    c = contrast(results, test["contrast"], n)
    return Found(test["verdict"], f"{test['reason']} (verified in {c.experiment}.csv)")


def judge_shown(_results: rs.Results, test: dict, _n: int | None) -> Found:
    """What a test of this repository shows, whatever the machine."""
    return Found(test["verdict"], f"{test['reason']} ({test['by']})")


JUDGES = {"ratio": judge_ratio, "quotient": judge_quotient, "order": judge_order, "apart": judge_apart,
          "hidden": judge_hidden, "filled": judge_filled, "copied": judge_copied,
          "printed": judge_printed, "measured": judge_measured, "shown": judge_shown}


def judge(results: rs.Results, test: dict, n: int) -> Found:
    try:
        judged = JUDGES[test["kind"]](results, test, n)
    except rs.Absent as why:
        judged = Found(UNDECIDED, str(why), threshold=threshold_of(test) if "expects" in test else "")
    if "contrast" in test:
        judged.base, judged.variant = test["base"], test["variant"]
    return judged


def worst(judgements: list[Found]) -> Found:
    return min(judgements, key=lambda f: WORST_FIRST.index(f.verdict))


Judged = tuple[Found, int | None, dict]  # what a test found, at which size, and the test


def together(judged: list[Judged]) -> Found:
    """What a claim's tests give together: the worst verdict. Over a range a claim that holds at some values alone is
    mixed; the reason says at which."""
    judgements, tests = [f for f, *_ in judged], [t for *_, t in judged]
    least = worst(judgements)
    if not all("at" in test for test in tests):
        return Found(least.verdict, reasons_of(judgements))
    at = {v: worst([f for f, t in zip(judgements, tests) if t["at"] == v]) for v in dict.fromkeys(t["at"] for t in tests)}
    if any(math.isnan(f.ratio) for f in at.values()):
        return least
    holding = [f.verdict in (HOLDS, WEAKER) for f in at.values()]
    verdicts = dict.fromkeys(sorted((f.verdict for f in at.values()), key=VERDICTS.index))
    unit = "" if isinstance(tests[0]["at"], str) else f" {tests[0]['each']}"  # names need none
    where = "; ".join(f"{verdict} at {in_a_row([v for v, f in at.items() if f.verdict == verdict])}{unit}"
                      for verdict in verdicts)
    return Found(MIXED if any(holding) and not all(holding) else least.verdict, where)


def reasons_of(judgements: list[Found]) -> str:
    """What each of several tests found; once where all found the same."""
    each = dict.fromkeys((f.verdict, f.reason) for f in judgements)
    if len(each) == 1:
        return f"each of {len(judgements)} tests: {judgements[0].reason}" if len(judgements) > 1 else judgements[0].reason
    alike = len({f.verdict for f in judgements}) == 1
    return NEXT_TEST.join(reason if alike else f"{verdict}: {reason}" for verdict, reason in each)


def in_a_row(values: list[int]) -> str:
    """"2", "2 and 4", "2, 4 and 8"."""
    return " and ".join(filter(None, [", ".join(map(str, values[:-1])), str(values[-1])]))


# ------------------------------------------------------------------------------------------- verdicts.csv


def verdicts(results: rs.Results) -> pd.DataFrame:
    """verdicts.csv: of each claim its verdict, that at 2^28 where its tests reach so far, its tests where they are
    several, and what is told beside."""
    listed, rows = claims.listed(), []
    for claim in listed["claims"]:
        deciding, beside = ([t for t in claim["tests"] if bool(t.get("beside")) == is_beside] for is_beside in (False, True))

        def judged(tests: list[dict], which: int) -> list[Judged]:
            """What these tests find at the document's own size or at 2^28. What is of no size says the same at each,
            but alone has no verdict at 2^28."""
            wholes = [test_of(listed, claim, test) for test in tests]
            sized = [(t, None if t["kind"] in OF_NO_SIZE else t["n"][which]) for t in wholes
                     if t["kind"] in OF_NO_SIZE or len(t["n"]) > which]
            if which and not any(n for _, n in sized):
                return []
            return [(judge(results, t, n), n, t) for t, n in sized]

        for role, which in ((CLAIM, 0), (AT_LARGE, 1)):
            steps = judged(deciding, which)
            if not steps:
                continue
            earlier = [judged(change["before"], which) for change in claim.get("changes", [])]
            before = THEN.join(together(those).verdict if those else "" for those in earlier)
            if len(steps) == 1:
                told_rows = [(role, before, steps[0])]
            else:
                size = next((n for _, n, _ in steps if n), None)
                told_rows = [(role, before, (together(steps), size, {})), *((STEP, "", step) for step in steps)]
            told_rows += [(BESIDE, "", outcome) for test in beside for outcome in judged([test], which)]
            rows += [{**{c: claim[c] for c in ("document", "statement", "text_figure")}, "claim": claim["id"], "n": n,
                      **{c: test[c] for c in OF_A_ROW if n and test}, **vars(judgement), "role": row,
                      BEFORE: earlier_verdicts}
                     for row, earlier_verdicts, (judgement, n, test) in told_rows]
    return pd.DataFrame(rows, columns=tb.VERDICTS.names).astype({"n": "Int64"})


def with_tests(table: pd.DataFrame, claim: str, role: str) -> tuple[pd.Series | None, pd.DataFrame]:
    """A claim's verdict, that counts or at 2^28, and the rows of its tests, which follow it where it has several."""
    rows = table[table["claim"] == claim]
    for _, group in rows.groupby((rows["role"] != STEP).cumsum()):
        if group["role"].iloc[0] == role:
            return group.iloc[0], group[1:] if len(group) > 1 else group
    return None, rows[:0]


def counts(verdicts) -> dict[str, int]:
    return pd.Series(verdicts).value_counts().reindex(VERDICTS, fill_value=0).to_dict()


def as_first_set(table: pd.DataFrame) -> pd.Series:
    """Of each claim its verdict by its tests as they were first set."""
    own = table[table["role"] == CLAIM].set_index("claim")
    first = own[BEFORE].str.partition(THEN)[0]
    return first.where(first != "", own["verdict"])


def in_words(counted: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counted.items())


def write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


# ------------------------------------------------------------------------------------------- two folders


def print_differences(here: Path, beside: Path) -> None:
    """All rows of two folders' verdicts.csv whose verdicts differ, single steps of claims included; and how many do."""
    mine, theirs = (claims.verdicts(rs.Results(folder)) for folder in (here, beside))
    for folder, table in ((here, mine), (beside, theirs)):
        if table is None:
            raise rs.ResultsError(f"there is no {folder / 'verdicts.csv'}: run `python paper/verdicts.py {folder}`")
    same, calls = ["claim", "role", "n"], ["base", "variant"]  # one that lacks data may name no calls
    other = (mine[calls] != theirs[calls]) & (mine[calls] != "") & (theirs[calls] != "")
    if not mine[same].equals(theirs[same]) or other.any(axis=None):
        raise rs.ResultsError(f"{here} and {beside} were judged by different tests: judge both again by "
                              f"`python paper/verdicts.py`")
    both = mine.join(theirs[["verdict", "ratio"]].add_suffix("_there"))
    differ = both["verdict"] != both["verdict_there"]
    if differ.any():
        changed = both.loc[differ, [*same, *calls, "verdict", "ratio", "verdict_there", "ratio_there"]]
        print(f"_there: {beside.resolve().name}\n" + changed.astype({"n": "Int64"}).to_string(index=False, na_rep="") + "\n")
    decided = ~both["verdict"].isin(OPEN) & ~both["verdict_there"].isin(OPEN)
    for role, words in ((CLAIM, "the documents' own sizes"), (AT_LARGE, "2^28")):
        in_role = both["role"] == role
        otherwise = (in_role & decided & differ).sum()
        how = f"{(in_role & decided).sum() - otherwise} alike and {otherwise} otherwise" if otherwise else "all alike"
        print(f"at {words}: both decide {(in_role & decided).sum()} of {in_role.sum()} verdicts, {how}")


@one_line("verdicts.py: error")
def main(arguments: list[str] | None) -> None:
    parser = Parser(prog="verdicts.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="results folder to judge by; verdicts.csv is written into it")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--cpu-results", type=Path, metavar="DIR",
                        help="folder to read cpu.csv from (default: the same)")
    either.add_argument("--beside", type=Path, metavar="DIR",
                        help="judge nothing: print in which verdicts FOLDER differs from this other results folder")
    options = parser.parse_args(arguments)
    if options.beside is not None:
        return print_differences(options.folder, options.beside)
    results = rs.Results(options.folder, options.cpu_results)
    table = verdicts(results)
    write(table, options.folder / "verdicts.csv")
    tests = [test for claim in claims.listed()["claims"] for test in claim["tests"]]
    for name in sorted({"contrasts.csv", "probes.csv"} | {test["file"] for test in tests if "file" in test}):
        if not results.file(name).exists():
            print(f"  no {name}: claims that need it are not decidable here")
    print(f"  by the tests as first set: {in_words(counts(as_first_set(table)))}")
    print(f"{options.folder / 'verdicts.csv'}: {in_words(counts(table.loc[table['role'] == CLAIM, 'verdict']))}")


if __name__ == "__main__":
    sys.exit(main())
