"""Then and now: the gain that each claim names in its document, and the one measured here, at the document's own n."""

from __future__ import annotations

import pandas as pd
from matplotlib.lines import Line2D

import results as rs
import verdicts as vd
from figures import studies, style
from figures.studies import Points
from results import Results

# What the legend says of each mark, shortly what verdicts.py decides.
MEANS = {vd.HOLDS: "as the claim says, a gain or none", vd.WEAKER: "below half the text's gain, in logarithms",
         vd.NONE: "no gain beyond 2 %, end to end 5 %", vd.REVERSED: "the opposite of the claim",
         vd.NEAR: "the interval is across it",
         vd.UNDECIDED: "the interval reaches across the threshold"}
COLORS = {vd.HOLDS: "#0072B2", vd.WEAKER: "#56B4E9", vd.NONE: "#7F7F7F", vd.NEAR: "#CC79A7", vd.REVERSED: "#D55E00",
          vd.UNDECIDED: "#E69F00"}
MARKS = {vd.HOLDS: "o", vd.WEAKER: "v", vd.NONE: "s", vd.NEAR: "D", vd.REVERSED: "X", vd.UNDECIDED: "P"}
STEP = dict(color="#C8C8C8", linewidth=2.2, solid_capstyle="butt", zorder=1.1)  # from then to now
THEN = dict(linestyle="", marker="D", markerfacecolor="white", markeredgewidth=0.8, color="black", zorder=1.9)
ROW, PANELS = 0.15, 2


def look(verdict: str) -> dict:
    return dict(linestyle="", marker=MARKS[verdict], color=COLORS[verdict], markersize=3.6)


def short_call(call: str, other: str) -> str:
    """A call without what both have in common: its kernel's name, and the settings in which the two differ."""
    variant, apart = call.partition(":")[0], other.partition(":")[0]
    name = rs.short_name(variant)
    if variant != apart:
        return name
    mine, theirs = studies.settings_of(call), studies.settings_of(other)
    words = [f"{k} {v}" for k, v in mine.items() if theirs.get(k) != v]
    return ", ".join(words)


def timed_apart(claims: dict, claim: dict, test: dict) -> str:
    """", end to end" where the test is timed otherwise than its document's others."""
    mode = test["timing_mode"]
    return f", {rs.MODE_LABELS[mode]}" if mode != claims["documents"][claim["document"]]["timing_mode"] else ""


def step_words(test: dict) -> str:
    """What a test goes from and to: "chunked → strided", "block 256 → 512"."""
    if "at" in test:
        return f"{test['at']} {test['each']}"
    base, variant = test["base"], test["variant"]
    before, after = short_call(base, variant), short_call(variant, base)
    if base.partition(":")[0] == variant.partition(":")[0]:
        key, _, value = after.partition(" ")
        after = value if before.startswith(key + " ") else after
        return f"{before} → {after}"
    opt = studies.settings_of(variant).get("opt")  # of the host's loops: one test a level
    return f"{before} → {after}" + (f" -{opt}" if opt else "")


def rows_of(table: pd.DataFrame) -> tuple[list[dict], list[str]]:
    """Each test that is a speedup, with the text's gain or None and what verdicts.csv has of it; and the claims without."""
    claims, rows, others = rs.claims(), [], []
    for claim in claims["claims"]:
        _, found = vd.with_tests(table, claim["id"], vd.CLAIM)
        tests = [vd.test_of(claims, claim, t) for t in claim["tests"] if not t.get("beside")]
        drawn = [(t, f) for t, (_, f) in zip(tests, found.iterrows()) if t["kind"] == "ratio" and t["timing_mode"] != "clock"]
        if any("at" in t for t, _ in drawn):  # over a range: its ends alone
            known = sorted((d for d in drawn if pd.notna(d[1]["ratio"])), key=lambda d: d[1]["ratio"])
            drawn = [known[0], known[-1]] if len(known) > 1 else known or drawn[:1]
        if not drawn:
            others.append(claim["id"])
        rows += [dict(claim=claim["id"], then=t.get("told"), ratio=f["ratio"], low=f["ci_low"],
                      high=f["ci_high"], verdict=f["verdict"],
                      words=step_words(t) + (timed_apart(claims, claim, t) if t["device"] == "cuda" else ""))
                 for t, f in drawn]
    return rows, others


def draw(results: Results):
    """None without verdicts.csv."""
    if results.verdicts is None:
        return None
    rows, others = rows_of(results.verdicts)
    half = -(-len(rows) // PANELS)
    # A claim's steps stay in one panel.
    while 0 < half < len(rows) and rows[half]["claim"] == rows[half - 1]["claim"]:
        half += 1
    parts = [rows[:half], rows[half:]]
    head, base, gap = 0.3, 1.4, 0.15
    height = head + ROW * max(map(len, parts)) + base
    figure = style.sheet(height)
    values = [v for r in rows for v in (r["then"], r["ratio"], r["low"], r["high"]) if v is not None and pd.notna(v)]
    width = (style.TEXT_WIDTH - 0.12 - gap) / PANELS
    for k, part in enumerate(parts):
        if not part:
            continue
        first = [r["claim"] if i == 0 or part[i - 1]["claim"] != r["claim"] else "" for i, r in enumerate(part)]
        names = [f"{r['words']}" for r in part]
        names_width = 0.36 + max(map(style.text_width, names))
        tall = ROW * len(part)
        axes = style.place(figure, 0.06 + k * (width + gap) + names_width, height - head - tall, width - names_width, tall,
                             f"claims:{k}")
        axes.set_xscale("log")
        for y, r in enumerate(part):
            if r["then"] and pd.notna(r["ratio"]):
                axes.plot([r["then"], r["ratio"]], [y, y], **STEP)
        for verdict in COLORS:
            studies.draw_points(axes, Points.of([(y, r["ratio"], r["low"], r["high"]) for y, r in enumerate(part)
                                                 if r["verdict"] == verdict and pd.notna(r["ratio"])]),
                                vertical=False, label=verdict, **look(verdict))
        studies.draw_points(axes, Points.of([(y, r["then"], r["then"], r["then"]) for y, r in enumerate(part)
                                             if r["then"]]), vertical=False, label="then", **THEN)
        for y, r in enumerate(part):
            if pd.isna(r["ratio"]):
                axes.text(min(values), y, "not measured", va="center", color=style.MARK_COLOR)
            if first[y] and y:
                axes.axhline(y - 0.5, color="#DDDDDD", linewidth=0.4, zorder=0.5)
        axes.set_xlim(min([*values, 0.8]) / 1.15, max([*values, 2]) * 1.2)
        studies.speedup_rows(axes, names)
        for y, word in enumerate(first):
            at = (height - head - ROW * (y + 0.5)) / height
            figure.text((0.06 + k * (width + gap)) / style.TEXT_WIDTH, at, word, va="center", fontweight="bold")
    verdicts = [v for v in vd.VERDICTS if any(r["verdict"] == v for r in rows)]
    style.title(figure, f"Then, in the documents, and now, on one {results.machine.gpu}")
    handles = [Line2D([], [], **THEN), Line2D([], [], **STEP), *(Line2D([], [], **look(v)) for v in verdicts)]
    style.legend(figure, handles, ["the gain that the document's text names", "from that gain to the one measured here",
                                   *(f"{v}: {MEANS[v]}" for v in verdicts)], 0.48, ncols=2)
    style.foot(figure, "Marks with a colour: the gain measured here at the document's own n, with its 95 % interval, and the "
                         "test's verdict.\nBold: the claim's id. Claims whose tests are no speedups: "
                         f"{', '.join(others) or 'none'}. \nOf claims judged over a range: the least and the largest ratio.")
    return figure
