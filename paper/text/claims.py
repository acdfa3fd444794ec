"""What the documents claim, and the verdicts of a results folder's verdicts.csv on it: the paper's two tables."""

from __future__ import annotations

import re

import pandas as pd

import contrasts
import results as rs
import verdicts as vd
from results import Results
from text import latex

MISSING = "---"
FIRST_OTHERWISE = r"$^{\dagger}$"


def ratios(tests: pd.DataFrame) -> str:
    """Of the tests that are speedups: with its interval if it is one, the bare ratios of several; "" where none is
    known."""
    known = tests["ci_low"].notna()
    # One of several that is lacking keeps its place.
    shown = tests[known | (tests["ratio"].isna() & (tests["base"] != "") & (tests["variant"] != ""))]
    if not known.any():
        return ""
    if len(shown) == 1:
        only = shown.iloc[0]
        return latex.interval({"ratio": only["ratio"], "low": only["ci_low"], "high": only["ci_high"]})
    if len(shown) > 3 and shown["ratio"].notna().all():
        return " to ".join(latex.digits(r) for r in (shown["ratio"].min(), shown["ratio"].max()))
    return ", ".join(MISSING if pd.isna(r) else latex.digits(r) for r in shown["ratio"])


def verdict(table: pd.DataFrame, claim: str) -> tuple[str, str]:
    """The verdict that counts, and that at 2^28 where it is another one."""
    at_own, _ = vd.with_tests(table, claim, vd.CLAIM)
    at_large, _ = vd.with_tests(table, claim, vd.AT_LARGE)
    other = at_large["verdict"] if at_large is not None and at_large["verdict"] != at_own["verdict"] else ""
    return at_own["verdict"], other


# --------------------------------------------------------------------------------------------------- LaTeX


def as_latex(text: str) -> str:
    """Text of claims.json and of verdicts: `code`, "quoted", and numbers."""
    parts = [rf"\id{{{latex.escape(p)}}}" if k % 2 else latex.numbers(latex.escape(p)) for k, p in enumerate(text.split("`"))]
    return re.sub(r'"([^"]*)"', r"``\1''", "".join(parts))


def body(results: Results, documents: tuple[str, ...] = rs.DOCUMENTS) -> list[str]:
    """The lines of the paper's table, a claim each, under a line for each document. Without verdicts.csv the claims
    stand there without."""
    table, claims, lines = results.verdicts, rs.claims(), []
    first = vd.as_first_set(table) if table is not None else {}
    for document in documents:
        problem = claims["documents"][document]
        lines.append(rf"\addlinespace[2pt]\multicolumn{{7}}{{@{{}}l}}{{\id{{{document}}}: "
                     rf"{rs.OPERATION_LABELS[problem['operation']]} of {problem['element_type']}, at "
                     rf"{latex.power(problem['n'][0])}}} \\")
        for claim in (c for c in claims["claims"] if c["document"] == document):
            figure = rf"\documentfigure{{{as_latex(claim['text_figure'])}}}" if claim["text_figure"] else ""
            found = [MISSING] * 4
            if table is not None:
                own, other = verdict(table, claim["id"])
                at = [vd.with_tests(table, claim["id"], role) for role in (vd.CLAIM, vd.AT_LARGE)]
                ratio = [ratios(tests) for _, tests in at]
                mark = FIRST_OTHERWISE if first[claim["id"]] != own else ""
                found = [ratio[0] or MISSING, ": ".join(filter(None, [ratio[1], latex.escape(other)])) if ratio[1] else MISSING,
                         latex.escape(own) + mark,
                         why(at[0][0]["reason"])]
            lines.append(" & ".join([claim["id"], as_latex(claim["statement"]), figure, *found]) + r" \\")
    return lines


def why(reason: str) -> str:
    """A verdict's reason, in short; it may hold long names of metrics and files, which may be broken after "_", "." and
    "/"."""
    each = [r.partition(vd.BESIDES)[0] if "rank correlation" in r else r for r in reason.split(vd.NEXT_TEST)]
    return re.sub(r"(\\_|(?<=[A-Za-z_])[./](?=[a-z]))", r"\1\\allowbreak{}", as_latex("; ".join(each)))


def caption(results: Results) -> str:
    effects = contrasts.effects()
    judged_by = ("These results hold no verdicts. " if results.verdicts is None else
                 rf"The ratio is the speedup that the claim speaks of, with its 95\,\% interval, or one for each step "
                 rf"where there are several, all of which must hold. The verdict is that at the document's own size; "
                 rf"another at {latex.power(vd.LARGE)} stands by the ratio there. ``Not decidable here'' is what these "
                 rf"results lack data for, or whose interval reaches across the effect that counts, {100 * effects['device']:g}\,\% by the "
                 rf"GPU's clock and {100 * effects['end_to_end']:g}\,\% by the host's. "
                 rf"{FIRST_OTHERWISE}: another verdict by the tests as first set. "
                 rf"T5 and U7 are of the CPU, at other sizes. ")
    return ("What the documents claim, and what becomes of it. Figures of the documents are theirs, on their hardware. "
            + judged_by + r"Table~\ref{tab:changes} lists what was changed of a test after there were data.")


def before_and_after(table: pd.DataFrame | None) -> list[tuple[dict, list[tuple[str, str, str]]]]:
    """Each change of claims' tests after there were data that they read, and of each claim that had it the id and the
    verdicts before it and after it, "" where they are not known."""
    made, found, seen = vd.changes(rs.claims()), {}, {}
    if table is not None:
        found = {r["claim"]: [*filter(None, r[vd.BEFORE].split(vd.THEN)), r["verdict"]]
                 for r in table[table["role"] == vd.CLAIM].to_dict("records")}
    told: dict[tuple, tuple[dict, list[tuple[str, str, str]]]] = {}
    for change in made:
        claim = change["claim"]
        k = seen[claim] = seen.get(claim, -1) + 1
        of = found.get(claim, [])
        # What was judged before claims.json had this change has fewer.
        verdicts = of[k:k + 2] if len(of) == 1 + sum(c["claim"] == claim for c in made) else ("", "")
        told.setdefault(tuple(change[key] for key in ("date", "what", "why")), (change, []))[1].append((claim, *verdicts))
    return list(told.values())


def changed_rows(table: pd.DataFrame | None) -> list[list[str]]:
    """For a table: claim, date, the verdicts before and after, what was changed of its test, and why. What several claims
    had is told of the first of them."""
    out = []
    for change, of in before_and_after(table):
        for claim, *verdicts in of:
            first = of[0][0]
            told = [change["what"], change["why"]] if claim == first else [f"as {first}", ""]
            out.append([claim, change["date"], *(v or MISSING for v in verdicts), *told])
    return out


CHANGED_HEAD = ["claim", "changed on", "before", "after", "what was changed", "because"]
CHANGED_CAPTION = ("What was changed of a claim's tests after there were data that they read, in the order of the changes, with "
                   "the claim's verdicts on these data by the tests before the change and after it.")


def changes_body(results: Results) -> list[str]:
    """The lines of the paper's table of changes."""
    return [" & ".join([*fields[:2], *(v if v == MISSING else latex.escape(v) for v in fields[2:4]), *map(as_latex, fields[4:])])
            + r" \\" for fields in changed_rows(results.verdicts)]
