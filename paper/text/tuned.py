"""goals.csv as tables: the goals of the project's own reduction, for docs/tuned.md and the paper, and its speedups by type
and way of timing."""

import re

import pandas as pd

from report.results import Results
from series import CACHE_LABELS
from text import latex

TYPES = ("i32", "f32", "f64")
WAYS = {**{("device", state): words for state, words in CACHE_LABELS.items()}, ("graph", "warm"): "in a graph, L2 warm"}
# Of each quantity how a value is shown, what is demanded, and what was measured.
SHOWN = {"slower": ("{:.0f}", "{} slower", "{} of {n} slower"), "undecided": ("{:.1%}", "at most {} undecided", "{} undecided"),
         "speedup": ("{:.3f}", "mean speedup at least {}", "mean {}"),
         "least_speedup": ("{:.3f}", "least speedup {}", "least {}"),
         "ceiling": ("{:.1%}", "mean at least {} of the read ceiling", "mean {}"),
         "least_ceiling": ("{:.1%}", "at least {} of the read ceiling", "least {}"),
         "over_empty_s": ("{:.2f} us", "within {}", "{} above it")}
WORST_FIRST = "missed", "not measured", "met"


def goals(results: Results) -> list[tuple[str, list[dict]]]:
    """Of each goal what it is of, and its rows that demand something."""
    rows = results.rows("goals")
    asked = rows[rows["demanded"].notna()].groupby("goal", sort=False)
    return [("; ".join(filter(None, group["what"])), group.to_dict("records")) for _, group in asked]


def demand(row: dict) -> tuple[str, str]:
    """What is demanded and what was measured, with the interval of the point that an extreme is of."""
    show, demanded, measured = SHOWN[row["quantity"]]

    def shown(value: float) -> str:
        text = show.format(1e6 * value if row["quantity"] == "over_empty_s" else value)
        return text.replace("%", " %")

    said = "not measured" if pd.isna(row["measured"]) else measured.format(shown(row["measured"]), n=row["points"])
    if row["at"]:
        ends = ", ".join(re.sub(" (%|us)", "", shown(row[end])) for end in ("low", "high"))
        said += f" [{ends}] ({row['at'].replace('_', ' ')}, {power(row['at_n'])})"
    asked = re.sub(r"\.?0+(?= |$)", "", shown(row["demanded"])) if row["demanded"] else "none"
    return demanded.format(asked), said


def power(n) -> str:
    """2^12, or the number."""
    n = int(n)
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else f"{n:,}"


def in_latex(text: str) -> str:
    """Plain text as above: 2^10, 2^k + 1, 5 %, 1.5 us, thrust::reduce."""
    out = re.sub(r"\$ ([+-]) 1\b", r"\1 1$", latex.numbers(latex.escape(text)))
    out = re.sub(r"(?<=\d) us\b", r"\\,\\textmu{}s", out)
    return re.sub(r"\b(thrust::reduce|tuned/sum)\b", r"\\id{\1}", out)


def goals_body(results: Results) -> list[str]:
    """Of each goal what it is of, what it demands, what was measured, and whether that meets all of it."""
    return [latex.row(*map(in_latex, [what, *map("; ".join, zip(*map(demand, rows))),
                                      min((row["verdict"] for row in rows), key=WORST_FIRST.index)]))
            for what, rows in goals(results)]


def parts_body(results: Results) -> list[str]:
    """A line for each way of timing, with the three types' means."""
    rows = results.rows("goals", quantity="speedup")
    speedups = rows[rows["demanded"].isna()].set_index(["timing_mode", "cache_state", "element_type"])["measured"]
    return [latex.row(words, *(f"{speedups[(*way, t)]:.3f}" if (*way, t) in speedups else latex.MISSING for t in TYPES))
            for way, words in WAYS.items()]
