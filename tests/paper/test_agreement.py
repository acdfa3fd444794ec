"""What carries over from one results folder to others: agreement.csv, and what paper and docs/ make of it."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import synthetic
from drawn import axes_of, legible_and_inside, line, texts
from project import SOURCE
from test_verdicts import one_line, rows_of, run, write

import results as rs
import verdicts as vd
from figures import agreement as figure
from text import agreement, tables

RESULTS = SOURCE / "experiments" / "results"
HERE = [("S1", [3]), ("U0", [1.8, 1.3]), ("T2", [0.5]), ("L3", [1.0])]


def judged(folder, claims, gpu="NVIDIA H200"):
    machine = {**synthetic.MACHINE, "gpu": {**synthetic.MACHINE["gpu"], "name": gpu}}
    write(folder, [r for claim, ratios in claims for r in rows_of(claim, ratios)], machine)
    run(folder)
    return folder


@pytest.fixture
def here(tmp_path):
    """Results that another card's differ from in S1, a third machine's in nothing but what they lack."""
    synthetic.write_folder(tmp_path / "here", synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    first = judged(tmp_path / "here", HERE)
    second = judged(tmp_path / "second", [("S1", [0.5]), *HERE[1:]])
    third = judged(tmp_path / "third", HERE[:2], "NVIDIA H100")
    assert run(first, "--beside", second, third) == 0
    return first


def of_claim(table: pd.DataFrame, claim: str, role: str = vd.CLAIM) -> pd.Series:
    return table[(table["claim"] == claim) & (table["role"] == role)].iloc[0]


def test_each_claim_stands_beside_the_others_with_both_ratios(here):
    found = vd.read_agreement(here)
    assert list(found) == ["second", "third"] and len(found["second"]) == len(vd.read(here / "verdicts.csv"))
    assert list(found["second"]) == vd.AGREEMENT_COLUMNS
    s1 = of_claim(found["second"], "S1")
    assert (s1["verdict"], s1["verdict_beside"], s1["agree"]) == (vd.HOLDS, vd.REVERSED, vd.OTHERWISE)
    assert s1["n"] == 2**20 and s1["gpu"] == "NVIDIA H200"
    assert (s1["ratio"], s1["ratio_beside"]) == pytest.approx((3, 0.5), rel=1e-3)
    assert s1["ci_low"] < 3 < s1["ci_high"] and s1["ci_low_beside"] < 0.5 < s1["ci_high_beside"]
    assert of_claim(found["second"], "T2")["agree"] == vd.SAME
    t2 = of_claim(found["third"], "T2")
    assert t2["agree"] == vd.ONE_ALONE and pd.isna(t2["ratio_beside"]) and t2["gpu"] == "NVIDIA H100"


def test_how_many_agree_is_told_and_which_do_not(here):
    second, third = agreement.sentences(rs.read_results(here))
    assert second == ("Beside second, results of an NVIDIA H200: measurements of both GPUs decide 4 of 36 verdicts, 3 alike "
                      "and 1 otherwise; 0 are decidable on one alone and 27 on neither; 5 are of the CPU or of "
                      "what is right on any GPU. Otherwise decided are S1 (reversed there, holds here) and "
                      "S1 at 2^28 (reversed there, holds here).")
    assert third.endswith("decide 2 of 36 verdicts, all alike; 2 are decidable on one alone and 27 on neither; 5 are of the CPU or "
                          "of what is right on any GPU.")
    assert agreement.markdown(rs.read_results(here)) == f"- {second}\n- {third}"
    assert r"\ref{tab:agreement}" in agreement.finding(rs.read_results(here))


@pytest.mark.parametrize("mine, theirs, of_gpus, said", [
    (vd.HOLDS, vd.HOLDS, True, vd.SAME), (vd.HOLDS, vd.NONE, True, vd.OTHERWISE), (vd.HOLDS, vd.UNDECIDED, True, vd.ONE_ALONE),
    (vd.UNDECIDED, vd.UNDECIDED, True, vd.NEITHER), (vd.REVERSED, vd.REVERSED, False, vd.NOT_OF_GPUS),
    (vd.UNDECIDED, vd.UNDECIDED, False, vd.NOT_OF_GPUS), (vd.HOLDS, vd.UNDECIDED, False, vd.ONE_ALONE)])
def test_only_what_both_measure_and_decide_agrees(mine, theirs, of_gpus, said):
    assert vd.agree(mine, theirs, of_gpus) == said


def test_what_no_gpu_measured_agrees_with_nothing(here):
    second = vd.read_agreement(here)["second"]
    # Races and multiples of 32 are shown by tests, T5 and U7 are of the CPU; of T1 its gain is measured, its verdict is not.
    assert {c for c in second["claim"] if of_claim(second, c)["agree"] == vd.NOT_OF_GPUS} == {
        "T1", "T4", "T5", "T7", "U7"}
    assert of_claim(second, "M1")["agree"] == vd.NEITHER


def test_a_single_step_that_is_decided_otherwise_is_told(tmp_path):
    synthetic.write_folder(tmp_path / "here", synthetic.gpu_rows(types=("f32",), sizes=[2**20]))
    first = judged(tmp_path / "here", [("U1", [1.8, 1.4, 1.1])])
    judged(tmp_path / "second", [("U1", [1.8, 1.1, 1.1])])
    assert run(first, "--beside", tmp_path / "second") == 0
    said, = agreement.sentences(rs.read_results(first))
    assert said.endswith("Of claims with several steps, single steps are decided otherwise: U1 unroll2 to unroll4 (holds but "
                         "weaker there, holds here) and U1 unroll2 to unroll4 at 2^28 (holds but weaker there, holds here).")
    assert ", all alike;" in said


def test_the_table_has_what_two_decide(here):
    results = rs.read_results(here)
    table = tables.agreement_table(results)
    lines = dict(l.removesuffix(r" \\").split(" & ", 1) for l in re.findall(r"^[A-Z]\d+ & .*$", table, re.M))
    assert list(lines) == ["S1", "T2", "U0", "L3"]  # not T1 and T7, which tests of this repository decide
    assert lines["S1"] == (r"3.000 [2.996, 3.004] & holds & 0.500 [0.499, 0.501] & \emph{reversed} & "
                           "3.000 [2.996, 3.004] & the same")
    assert lines["U0"] == "1.80, 1.30 & holds & 1.80, 1.30 & the same & 1.80, 1.30 & the same"
    assert lines["T2"].endswith(r"& --- & \emph{not decidable here}")
    assert table.count(r"\label{tab:agreement}") == table.count(r"\label{fig:agreement}") == 1


def test_the_figure_has_each_speedup_of_two(here):
    drawn = figure.draw(vd.Folder(here))
    axes = axes_of(drawn, "agreement")
    names = [t.get_text() for t in axes.get_yticklabels()]
    assert len(names) == 5  # two of U0, one of each other
    at = {label: {round(float(y)): float(x) for x, y in line(axes, label)[0]} for label in ("here", "second", "third")}
    s1, t2 = names.index("chunked → strided"), names.index("warp-unrolled → template-unrolled")
    assert at["here"][s1] == pytest.approx(3, rel=1e-3) and at["second"][s1] == pytest.approx(0.5, rel=1e-3)
    assert t2 in at["second"] and t2 not in at["third"]
    middles = {round(axes.transData.inverted().transform(p.get_window_extent().get_points()).mean(axis=0)[1])
               for p in axes.patches}
    assert middles == {s1, t2, names.index("naive → divergence-free")}  # where verdicts are not the same
    assert "decided otherwise" in texts(drawn) and "second: NVIDIA H200" in texts(drawn)
    drawn.canvas.draw()
    legible_and_inside({"agreement": drawn})
    plt.close(drawn)


def test_without_other_results_nothing_is_said(here):
    (here / "agreement.csv").unlink()
    results = rs.read_results(here)
    assert agreement.finding(results) == "" and tables.agreement_table(results) == ""
    assert figure.draw(vd.Folder(here)) is None and agreement.markdown(results) == "No other results lie beside these."


def test_an_agreement_of_other_verdicts_is_left_out(here):
    text = (here / "verdicts.csv").read_text()
    (here / "verdicts.csv").write_text(text.replace(vd.HOLDS, vd.NONE, 1))
    assert vd.read_agreement(here) == {}


def test_bad_input_is_one_line(here, tmp_path, capsys):
    path, text = tmp_path / "second" / "verdicts.csv", (tmp_path / "second" / "verdicts.csv").read_text()
    capsys.readouterr()
    path.write_text(text.replace(",1048576,", ",1048577,"))
    assert run(here, "--beside", tmp_path / "second") == 1 and "were judged by different tests" in one_line(capsys)
    (here / "agreement.csv").write_text((here / "agreement.csv").read_text().replace(",agree", ",agreed", 1))
    with pytest.raises(rs.ResultsError, match="agreement.csv lacks the column agree: run `python paper/verdicts.py FOLDER --be"):
        vd.read_agreement(here)


@pytest.mark.parametrize("folder", sorted(p.parent.name for p in RESULTS.glob("*/agreement.csv")))
def test_a_committed_agreement_follows_from_the_committed_verdicts(folder):
    found = vd.read_agreement(RESULTS / folder)
    assert found, f"run python paper/verdicts.py {RESULTS / folder} --beside, with the folders that it is of"
    for name, table in found.items():
        pd.testing.assert_frame_equal(vd.set_beside(RESULTS / folder, RESULTS / name), table, check_dtype=False)


def test_what_is_told_beside_a_claim_shifts_no_row(tmp_path):
    """Each row of a folder's verdicts is asked for once, whatever is told beside a claim."""
    table = vd.read(RESULTS / "nvidia-h200" / "verdicts.csv")
    found = vd.are_of_gpus(table)
    assert len(found) == len(table)
    told = {(c, r): of for c, r, of in zip(table["claim"], table["role"], found) if r in (vd.CLAIM, vd.BESIDE)}
    assert [c for (c, r), of in told.items() if r == vd.CLAIM and not of] == ["T1", "T4", "T5", "T7", "U7"]
    assert all(of for (_, r), of in told.items() if r == vd.BESIDE)
