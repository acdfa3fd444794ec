"""What the documents claim, and a results folder's verdicts on it: the rows of the paper's table."""

import re

import pandas as pd

import claims
from report import results as rs
from text import latex
from text.latex import MISSING


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
    table, listed, lines = claims.verdicts(results), claims.LISTED, []
    for document, problem in claims.DOCUMENTS.items():
        lines.append(rf"\addlinespace[2pt]\multicolumn{{7}}{{@{{}}l}}{{\id{{{document}}}: "
                     rf"{problem['operation'].replace('_', ' ')} of {problem['element_type']}, at "
                     rf"{latex.power(problem['n'][0])}}} \\")
        for claim in (c for c in listed["claims"] if c["document"] == document):
            figure = rf"\documentfigure{{{as_latex(claim['text_figure'])}}}" if claim["text_figure"] else ""
            fields = [MISSING] * 4
            if table is not None:
                own, tests = claims.with_tests(table, claim["id"], claims.CLAIM)
                large, at_large = claims.with_tests(table, claim["id"], claims.AT_LARGE)
                other = f": {latex.escape(large['verdict'])}" if len(at_large) and large["verdict"] != own["verdict"] else ""
                fields = [ratios(tests) or MISSING, ratio + other if (ratio := ratios(at_large)) else MISSING,
                          latex.escape(own["verdict"]), why(own["reason"])]
            lines.append(latex.row(claim["id"], as_latex(claim["statement"]), figure, *fields))
    return lines


def why(reason: str) -> str:
    """A verdict's reason, in short; it may hold long names of metrics and files, which may be broken after "_", "." and
    "/"."""
    shown = as_latex(reason.replace(claims.NEXT_TEST, "; "))
    return re.sub(r"(\\_|(?<=[A-Za-z_])[./](?=[a-z]))", r"\1\\allowbreak{}", shown)
