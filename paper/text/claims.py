"""What the documents claim, and the verdicts of a results folder's verdicts.csv on it: a table and a sentence for the
paper, a table and a sentence for docs/ and README."""

from __future__ import annotations

import re

import pandas as pd

import results as rs
import verdicts as vd
from results import Results
from text import latex

CLAIMS = {document: [c["id"] for c in vd.read_claims()["claims"] if c["document"] == document]
          for document in rs.DOCUMENTS}
MISSING = "---"
FIRST_OTHERWISE = r"$^{\dagger}$"


def judged(results: Results) -> pd.DataFrame | None:
    """The folder's verdicts.csv, checked; None if there is none."""
    path = results.folder / "verdicts.csv"
    return vd.read(path) if path.exists() else None


def counted(table: pd.DataFrame) -> dict[str, int]:
    """How many claims have each verdict, in the order of vd.VERDICTS."""
    return vd.counts(table.to_dict("records"))


def as_first_set(table: pd.DataFrame) -> dict[str, str]:
    """Of each claim whose verdict is another by its tests as first set: that verdict."""
    own = table[table["role"] == vd.CLAIM]
    return {r["claim"]: vd.as_first_set(r) for r in own.to_dict("records") if vd.as_first_set(r) != r["verdict"]}


def counted_as_first_set(table: pd.DataFrame) -> str:
    """"12 hold, 3 hold but more weakly, ..." by the tests as first set; "" where no verdict was another."""
    return sentence(vd.counts_as_first_set(table.to_dict("records"))) if as_first_set(table) else ""


def sentence(of: dict[str, int]) -> str:
    """"7 hold, 1 holds but more weakly, 3 have no effect, 7 are reversed and 18 are not decidable here"."""
    one_many = {vd.HOLDS: ("holds", "hold"), vd.WEAKER: ("holds but more weakly", "hold but more weakly"),
                vd.NONE: ("has no effect", "have no effect"), vd.REVERSED: ("is reversed", "are reversed"),
                vd.UNDECIDED: ("is not decidable here", "are not decidable here")}
    return latex.listing([f"{n} {one_many[v][n != 1]}" for v, n in of.items() if n])


def with_tests(table: pd.DataFrame, claim: str, role: str) -> tuple[pd.Series | None, pd.DataFrame]:
    """A claim's verdict, that counts or at 2^28, and the rows of its tests."""
    rows = table[table["claim"] == claim].reset_index(drop=True)
    where = rows.index[rows["role"] == role]
    if not len(where):
        return None, rows.iloc[:0]
    # The tests of a claim that has several follow it.
    steps = rows.iloc[where[0] + 1:]
    others = steps.index[steps["role"] != vd.STEP]
    steps = steps.loc[:others[0] - 1] if len(others) else steps
    return rows.iloc[where[0]], steps if len(steps) else rows.iloc[where[0]:where[0] + 1]


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
    return ", ".join(MISSING if pd.isna(r) else latex.digits(r) for r in shown["ratio"])


def known(row: dict) -> str:
    """A row's speedup with its interval, or why there is none."""
    if pd.isna(row["ratio"]):
        return row["reason"]
    return latex.interval({"ratio": row["ratio"], "low": row["ci_low"], "high": row["ci_high"]})


def verdict(table: pd.DataFrame, claim: str) -> tuple[str, str]:
    """The verdict that counts, and that at 2^28 where it is another one."""
    at_own, _ = with_tests(table, claim, vd.CLAIM)
    at_large, _ = with_tests(table, claim, vd.AT_LARGE)
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
    table, claims, lines = judged(results), vd.read_claims(), []
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
                at = [with_tests(table, claim["id"], role) for role in (vd.CLAIM, vd.AT_LARGE)]
                ratio = [ratios(tests) for _, tests in at]
                mark = FIRST_OTHERWISE if claim["id"] in as_first_set(table) else ""
                found = [ratio[0] or MISSING, ": ".join(filter(None, [ratio[1], other])) if ratio[1] else MISSING, own + mark,
                         why(at[0][0]["reason"])]
            lines.append(" & ".join([claim["id"], as_latex(claim["statement"]), figure, *found]) + r" \\")
    return lines


def why(reason: str) -> str:
    """A verdict's reason, in short; it may hold long names of metrics and files, which may be broken after "_", "." and
    "/"."""
    least = reason.partition(vd.BESIDES)[0] if "rank correlation" in reason else reason
    short = re.sub(r"^the worst of (\d+) tests: ", r"worst of \1: ", least)
    return re.sub(r"(\\_|(?<=[A-Za-z_])[./](?=[a-z]))", r"\1\\allowbreak{}", as_latex(short))


def caption(results: Results) -> str:
    effects = vd.read_claims()["effects"]
    judged_by = ("These results hold no verdicts. " if judged(results) is None else
                 rf"The ratio is the speedup that the claim speaks of, with its 95\,\% interval, or one for each step "
                 rf"where there are several, all of which must hold. The verdict is that at the document's own size; "
                 rf"another at {latex.power(vd.LARGE)} stands by the ratio there. ``Not decidable here'' is what these "
                 rf"results lack data for, or whose interval reaches across the effect that counts, {100 * effects['device']:g}\,\% by the "
                 rf"GPU's clock and {100 * effects['end_to_end']:g}\,\% by the host's. "
                 rf"{FIRST_OTHERWISE}: another verdict by the tests as first set. "
                 rf"T5 and U7 are of the CPU, at other sizes. ")
    return ("What the documents claim, and what becomes of it. Figures of the documents are theirs, on their hardware. "
            + judged_by + r"Appendix~\ref{sec:mended} lists what was changed of a test after there were data.")


def before_and_after(table: pd.DataFrame | None) -> list[tuple[dict, list[tuple[str, str, str]]]]:
    """Each change of claims' tests after there were data that they read, and of each claim that had it the id and the
    verdicts before it and after it, "" where they are not known."""
    made, found, seen = vd.changes(vd.read_claims()), {}, {}
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
UNCHANGED = "Sizes, ways of timing and thresholds are as they were committed before the claims' own experiments were run."
CHANGED_CAPTION = ("What was changed of a claim's tests after there were data that they read, in the order of the changes, with "
                   "the claim's verdicts on these data by the tests before the change and after it.")


def changes(results: Results) -> str:
    """How many claims' tests were changed after there were data that they read."""
    table = judged(results)
    made = before_and_after(table)
    if not made:
        return UNCHANGED
    of = [claim for _, claims in made for claim in claims]
    turned = {claim for claim, before, after in of if before != after}
    said = (rf"Table~\ref{{tab:changes}} has what was changed of the tests of "
            f"{latex.number_of(len({claim for claim, *_ in of}), 'claim', 'claims')} after there were data that they read")
    return said + (f"; it turned the verdict of {len(turned) or 'none'} of them." if table is not None else ".")


def changes_body(results: Results) -> list[str]:
    """The lines of the paper's table of changes."""
    return [" & ".join([*fields[:4], *map(as_latex, fields[4:])]) + r" \\" for fields in changed_rows(judged(results))]


def finding(results: Results) -> str:
    """How many claims have which verdict."""
    table = judged(results)
    if table is None:
        return r"\emph{(these results hold no verdicts)}"
    of = counted(table)
    return f"Of the {sum(of.values())} claims, {sentence(of)}."


def carried_over(results: Results) -> list[str]:
    """Of each folder beside that was judged, too: which of its verdicts are the same. Plain text. One that was judged by
    an older claims.json is named on the standard output and left out."""
    said = []
    for path in sorted(results.folder.resolve().parent.glob("*/verdicts.csv")) if judged(results) is not None else ():
        if path.parent == results.folder.resolve():
            continue
        try:
            gpu = rs.read_machine(path.parent / "machine.json", path.parent.name).get("gpu.name", default=path.parent.name)
            both = vd.set_beside(results.folder, path.parent)
        except rs.ResultsError as error:
            print(f"  verdicts of {path.parent.name} are left out: {error}")
            continue
        (own, otherwise), (_, at_large) = (vd.alike(both, role) for role in (vd.CLAIM, vd.AT_LARGE))
        told = [f"{r['claim']}{at} ({r['verdict_there']} there, {r['verdict']} here)" for rows, at in
                ((otherwise, ""), (at_large, " at 2^28")) for r in rows.to_dict("records")]
        said.append(f"Beside {path.parent.name} ({gpu}): {own}."
                    + (f" Decided otherwise: {latex.listing(told)}." if told else ""))
    return said


def carried_over_finding(results: Results) -> str:
    return latex.powers(" ".join(map(latex.escape, carried_over(results))))


def by_verdict(results: Results) -> str:
    """Which claims have which verdict, and which have another at 2^28."""
    table = judged(results)
    if table is None:
        return ""
    words = {vd.HOLDS: ("holds", "hold"), vd.WEAKER: ("holds but more weakly", "hold but more weakly"),
             vd.NONE: ("has no effect", "have no effect"), vd.REVERSED: ("is reversed", "are reversed"),
             vd.UNDECIDED: ("is not decidable", "are not decidable")}
    found = {c: verdict(table, c) for ids in CLAIMS.values() for c in ids}
    said = []
    for v in vd.VERDICTS:
        those = [c for c, (own, _) in found.items() if own == v]
        if those:
            said.append(f"{latex.listing(those)} {words[v][len(those) > 1]}")
    others = [f"{c} {words[other][0]}" for c, (_, other) in found.items() if other not in ("", vd.UNDECIDED)]
    at_large = f" At {latex.power(vd.LARGE)} another verdict is found: {latex.listing(others)}." if others else ""
    first = as_first_set(table)
    by_first = [([c for c, verdict in first.items() if verdict == v], words[v]) for v in vd.VERDICTS]
    before = (f" By the tests as first set (changed after there were data as Appendix~\\ref{{sec:mended}} lists) "
              f"{counted_as_first_set(table)}: "
              + "; ".join(f"{latex.listing(those)} {word[len(those) > 1]}" for those, word in by_first if those) + "."
              if first else "")
    return f"At the documents' own sizes {'; '.join(said)}.{at_large}{before}"


# ------------------------------------------------------------------------------------------------ Markdown


def markdown(results: Results) -> str:
    """Every claim with its verdict and the reason, and how they were judged; empty without verdicts.csv."""
    table, claims = judged(results), vd.read_claims()
    if table is None:
        return ""
    gpu = results.machine.get("gpu.name", default=results.machine.name)

    def cell(text: str) -> str:
        return text.replace("|", r"\|")

    first = as_first_set(table)
    by_first = f" By the tests as first set, {counted_as_first_set(table)}." if first else ""
    lines = [f"On one {gpu}, {sentence(counted(table))}.{by_first}", "",
             "| | claim | the document's figure | ratio | at 2^28 | verdict | why |", "|---|---|---|--:|--:|---|---|"]
    for claim in claims["claims"]:
        own, other = verdict(table, claim["id"])
        figure = "; ".join(filter(None, [claim["text_figure"], claim.get("note", "")]))
        at = [with_tests(table, claim["id"], role) for role in (vd.CLAIM, vd.AT_LARGE)]
        lines.append("| " + " | ".join(map(cell, [claim["id"], claim["statement"], figure, *(ratios(t) for _, t in at),
                                                  f"**{own}**" + (f"; at 2^28: {other}" if other else "")
                                                  + (f"; as first set: {first[claim['id']]}" if claim["id"] in first else ""),
                                                  at[0][0]["reason"]])) + " |")
    beside = table[(table["role"] == vd.BESIDE)]
    if len(beside):
        lines += ["", "Told beside, and deciding nothing:", ""]
        lines += [f"- {r['claim']}, n = {int(r['n']):,}: `{r['variant']}` over `{r['base']}`, "
                  f"{rs.MODE_LABELS.get(r['timing_mode'], r['timing_mode'])}: {known(r)}"
                  for r in beside.to_dict("records")]
    lines += ["", "How a claim is judged:", "", *claims["reading"], ""]
    changed = changed_rows(table)
    if changed:
        lines += [CHANGED_CAPTION, "", f"| {' | '.join(CHANGED_HEAD)} |", "|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(map(cell, fields)) + " |" for fields in changed]
    else:
        lines += [UNCHANGED]
    return "\n".join(line.rstrip() for line in lines)


def line(results: Results) -> str:
    """README's line; empty without verdicts.csv."""
    table = judged(results)
    if table is None:
        return ""
    of = counted(table)
    first = (latex.listing([str(n) for n in vd.counts_as_first_set(table.to_dict("records")).values()]) if as_first_set(table)
             else "")
    return (f"Of the documents' {sum(of.values())} claims, {sentence(of)} ([why](docs/claims.md))"
            + (f"; by their tests as first set {first}." if first else "."))
