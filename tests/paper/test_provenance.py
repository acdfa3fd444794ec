"""Each experiment's date, revision and card, as machine.json has them."""

import re

import pytest
import synthetic
from project import SOURCE

import results as rs
from text import provenance, tables

RUN = {"run_id": "synthetic", "started_utc": "2026-01-02T03:04:05Z", "git_revision": "0123456789abcdef", "git_dirty": True,
       "machine_id": "GPU-12345678-9abc-def0", "rules": {"allocations": 12}}
COMMITTED = SOURCE / "experiments" / "results" / "nvidia-h200"


@pytest.fixture
def results(tmp_path):
    rows = synthetic.gpu_rows(types=("f32",), sizes=[2**20])
    return rs.read_results(synthetic.write_folder(tmp_path / "m", rows, limits=synthetic.limits_rows(),
                                                  machine={**synthetic.MACHINE, "runs": [RUN]}))


def test_the_table_has_date_revision_and_card_of_each_experiment(results):
    (results.folder / "probes.csv").write_text("quantity,value\nx,1\n")
    lines = provenance.rows(results)
    assert r"\id{comparison} & 2026-01-02 03:04:05 & 01234567 & yes & GPU-12345678 & 12 \\" in lines
    assert lines[-1] == r"\id{probes.csv} & \multicolumn{5}{l}{date and card not recorded} \\" and len(lines) == 3
    results.machine.record["runs"] = []
    assert r"\label{tab:provenance}" in tables.provenance_table(results) and not provenance.rows(results)


def test_a_figure_has_the_date_of_its_own_experiment():
    made = provenance.macros(rs.read_results(COMMITTED, COMMITTED.parent / "cpu-intel-xeon"))
    dates = {o.experiment: o.dates for o in provenance.origins(rs.read_results(COMMITTED))}
    assert made["DateTuned"] == provenance.span(dates["tuned"]) and made["DateSpeedup"] == provenance.span(dates["comparison"])
    assert made["DateClocks"] == provenance.NOT_RECORDED
    assert made["DataDate"] == provenance.span(d for of in dates.values() for d in of)


def test_every_figures_date_is_that_of_a_figure():
    source = (SOURCE / "paper" / "main.tex").read_text() + "".join(
        p.read_text() for p in (SOURCE / "paper" / "text").glob("*.py") if p.name != "provenance.py")
    used = set(re.findall(r"\\Date([A-Z][a-z]+)", source))
    assert used == set(provenance.FIGURES)


@pytest.mark.parametrize("dates, shown", [([], provenance.NOT_RECORDED), (["b"], "b"), (["c", "a", "b"], "a to c")])
def test_spans(dates, shown):
    assert provenance.span(dates) == shown
