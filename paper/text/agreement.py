"""What carries over from one machine to another: the verdicts of other folders beside this one's, as agreement.csv has them.
Sentences for the paper and docs/, a table and the place of the figure for the paper; all empty without agreement.csv."""

from __future__ import annotations

import pandas as pd

import results as rs
import verdicts as vd
from results import Results
from text import claims, latex

# Those of the CPU are judged by the same rows for every GPU, so nothing carries over.
CLAIMS = [c["id"] for c in vd.read_claims()["claims"] if any(t.get("device") != "cpu" for t in c["tests"])]


def sentences(results: Results) -> list[str]:
    """For each other folder how many verdicts are the same, which claims are decided otherwise, and which single steps of
    others; plain text."""
    said = []
    for name, table in vd.read_agreement(results.folder).items():
        otherwise = table[table["agree"] == vd.OTHERWISE]
        counted = vd.differences(table, vd.CLAIM)[1]
        said.append(f"Beside {name}, results of an {table['gpu'].iloc[0]}: {counted}.")
        for which, those in (("Otherwise decided are", otherwise[otherwise["role"] != vd.STEP]),
                             ("Of claims with several steps, single steps are decided otherwise:",
                              otherwise[otherwise["role"] == vd.STEP])):
            if len(those):
                said[-1] += f" {which} {latex.listing([told(row) for row in those.to_dict('records')])}."
    return said


def told(row: dict) -> str:
    """A row of agreement.csv that is decided otherwise: "U1 unroll2 to unroll4 (holds there, reversed here)"."""
    at_large = row["n"] == vd.LARGE and row["role"] != vd.CLAIM
    calls = [rs.short_name(row[side].partition(":")[0]) for side in ("base", "variant") if row[side]]
    step = f" {' to '.join(calls)}" if row["role"] == vd.STEP and calls else ""
    return (f"{row['claim']}{step}{' at 2^28' if at_large else ''} ({row['verdict_beside']} there, {row['verdict']} here)")


def finding(results: Results) -> str:
    said = sentences(results)
    where = r" Table~\ref{tab:agreement} and Figure~\ref{fig:agreement} have them with their ratios." if said else ""
    return latex.powers(" ".join(map(latex.escape, said))) + where


def compared(results: Results) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each claim that measurements of this folder's GPU and of another's decide, with ratio and verdict in this one and in
    each other."""
    others = vd.read_agreement(results.folder)
    if not others:
        return []
    measured = {c for t in others.values() for c in t[(t["role"] == vd.CLAIM) & t["agree"].isin([vd.SAME, vd.OTHERWISE])]["claim"]}
    tables = [vd.sides(next(iter(others.values())))[0], *(vd.sides(t)[1] for t in others.values())]
    rows = []
    for claim in CLAIMS:
        found = [(own["verdict"], claims.ratios(tests)) for own, tests in
                 (claims.with_tests(t, claim, vd.CLAIM) for t in tables)]
        if claim in measured:
            rows.append((claim, [(ratio, verdict) for verdict, ratio in found]))
    return rows


def body(results: Results) -> list[str]:
    """The table's lines: a verdict that is the same is not repeated."""
    lines = []
    for claim, ((ratio, verdict), *others) in compared(results):
        fields = [claim, ratio or claims.MISSING, verdict]
        for there, otherwise in others:
            fields += [there or claims.MISSING, "the same" if otherwise == verdict else rf"\emph{{{otherwise}}}"]
        lines.append(" & ".join(fields) + r" \\")
    return lines


def head(results: Results) -> str:
    others = vd.read_agreement(results.folder)
    names = [r"\multicolumn{2}{c}{here}", *(rf"\multicolumn{{2}}{{c}}{{\id{{{latex.escape(name)}}}}}" for name in others)]
    rules = "".join(rf"\cmidrule(lr){{{2 * k + 2}-{2 * k + 3}}}" for k in range(len(names)))
    return " & " + " & ".join(names) + " \\\\\n" + rules + "\nclaim" + " & ratio & verdict" * len(names) + r" \\"


CAPTION = ("What carries over: the claims that these results and others decide, each at its document's own size, with the "
           r"ratio as in Table~\ref{tab:claims}.")
FIGURE = r"""\begin{figure*}[tp]
\centering
\generatedfigure{agreement}
\caption{What carries over: the speedups that the claims speak of, here (\GpuName, \DateAgreement) and by other results, with
their \confidence{} intervals. Where marks of one row lie above each other the speedup is the same. An
orange band behind a row: two results decide it, and otherwise than each other; a grey one: one of two alone decides it.}\label{fig:agreement}
\end{figure*}
"""


def markdown(results: Results) -> str:
    """A line for each other folder."""
    return "\n".join(f"- {said}" for said in sentences(results)) or "No other results lie beside these."
