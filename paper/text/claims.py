"""What the documents claim, and a results folder's verdicts on it: the rows of the paper's two tables."""

import re
from collections import Counter

import pandas as pd

import series as sr
import claims
from report import results as rs
import verdicts as vd
from text import latex
from text.latex import MISSING

FIRST_OTHERWISE = r"$^{\dagger}$"


def ratios(tests: pd.DataFrame, interval=latex.interval, digits=latex.digits) -> str:
    """Of the tests that are speedups: with its interval if it is one, the bare ratios of several; "" where none is
    known."""
    known = tests["ci_low"].notna()
    # One of several that is lacking keeps its place.
    shown = tests[known | (tests["ratio"].isna() & (tests["base"] != "") & (tests["variant"] != ""))]
    if not known.any():
        return ""
    if len(shown) == 1:
        return interval(*shown.iloc[0][["ratio", "ci_low", "ci_high"]])
    if len(shown) > 3 and shown["ratio"].notna().all():
        return " to ".join(digits(r) for r in (shown["ratio"].min(), shown["ratio"].max()))
    return ", ".join(MISSING if pd.isna(r) else digits(r) for r in shown["ratio"])


def as_latex(text: str) -> str:
    """Text of claims.json and of verdicts: `code`, "quoted", and numbers."""
    parts = [rf"\id{{{latex.escape(p)}}}" if k % 2 else latex.numbers(latex.escape(p)) for k, p in enumerate(text.split("`"))]
    return re.sub(r'"([^"]*)"', r"``\1''", "".join(parts))


def body(results: rs.Results) -> list[str]:
    """A claim each, under a line for each document. Without verdicts.csv the claims stand there without."""
    table, listed, lines = claims.verdicts(results), claims.listed(), []
    first = vd.as_first_set(table) if table is not None else {}
    for document, problem in listed["documents"].items():
        lines.append(rf"\addlinespace[2pt]\multicolumn{{7}}{{@{{}}l}}{{\id{{{document}}}: "
                     rf"{sr.OPERATION_LABELS[problem['operation']]} of {problem['element_type']}, at "
                     rf"{latex.power(problem['n'][0])}}} \\")
        for claim in (c for c in listed["claims"] if c["document"] == document):
            figure = rf"\documentfigure{{{as_latex(claim['text_figure'])}}}" if claim["text_figure"] else ""
            fields = [MISSING] * 4
            if table is not None:
                own, tests = vd.with_tests(table, claim["id"], vd.CLAIM)
                large, at_large = vd.with_tests(table, claim["id"], vd.AT_LARGE)
                verdict, ratio = own["verdict"], ratios(at_large)
                other = latex.escape(large["verdict"]) if large is not None and large["verdict"] != verdict else ""
                fields = [ratios(tests) or MISSING, ": ".join(filter(None, [ratio, other])) if ratio else MISSING,
                          latex.escape(verdict) + (FIRST_OTHERWISE if first[claim["id"]] != verdict else ""),
                          why(own["reason"])]
            lines.append(latex.row(claim["id"], as_latex(claim["statement"]), figure, *fields))
    return lines


def why(reason: str) -> str:
    """A verdict's reason, in short; it may hold long names of metrics and files, which may be broken after "_", "." and
    "/"."""
    each = [r.partition(vd.BESIDES)[0] for r in reason.split(vd.NEXT_TEST)]
    return re.sub(r"(\\_|(?<=[A-Za-z_])[./](?=[a-z]))", r"\1\\allowbreak{}", as_latex("; ".join(each)))


def changes_body(results: rs.Results) -> list[str]:
    """Of each change of a claim's tests after there were data that they read: claim, date, the verdicts before and
    after, what was changed, and why; what several claims had is told of the first of them."""
    made, table = vd.changes(claims.listed()), claims.verdicts(results)
    own = table[table["role"] == vd.CLAIM].to_dict("records") if table is not None else []
    verdicts = {r["claim"]: [*filter(None, r[vd.BEFORE].split(vd.THEN)), r["verdict"]] for r in own}
    total, seen, by_change = Counter(change["claim"] for change in made), Counter(), {}
    for change in made:
        claim = change["claim"]
        # What was judged before claims.json had this change has fewer.
        known = len(verdicts.get(claim, [])) == 1 + total[claim]
        verdict_pair = map(latex.escape, verdicts[claim][seen[claim]:seen[claim] + 2]) if known else [MISSING] * 2
        seen[claim] += 1
        first, lines = by_change.setdefault((change["date"], change["what"], change["why"]), (claim, []))
        what = map(as_latex, (change["what"], change["why"])) if first == claim else [f"as {first}", ""]
        lines.append(latex.row(claim, change["date"], *verdict_pair, *what))
    return [line for _, lines in by_change.values() for line in lines]
