"""Numbers and tables are what the CSV gives, and change with it."""

import re

import pytest
from project import SOURCE, judge
from synthetic import (GPU, MACHINE, NEWEST_CUB, catalog_rows, gpu_rows, model_rows, row, speedup_of, timed, timing_rows,
                       write_checks, write_contrasts, write_folder)

import make
from report import results as rs
from text import claims, latex, tables

SIZES = [2**20, 2**24, 2**28]


def read(folder, rows, **more):
    return make.read_results(write_folder(folder, rows, **more))


# ---------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("show, value, shown", [
    *((latex.digits, *case) for case in ((0.98765, "0.988"), (1, "1.00"), (9.996, "10.0"), (123.4, "123"), (999.6, "1000"),
                                         (12345.6, "12346"), (0.00509, "0.00509"), (0, "0"))),
    *((latex.time, *case) for case in ((3.74e-6, r"3.74\,\textmu{}s"), (999.7e-6, r"1.00\,ms"), (0.25, r"250\,ms"),
                                       (2, r"2.00\,s"), (32e-9, r"32.0\,ns"))),
    (latex.bandwidth, 4.283e12, r"4.28\,TB/s"), (latex.bandwidth, 999.9e9, r"1.00\,TB/s"),
    (latex.binary, 60 * 2**20, r"60\,MiB"), (latex.power, 2**24, "$2^{24}$"), (latex.power, 10**8, "$10^{8}$"),
    (latex.power, 1000003, r"1\,000\,003"), (latex.percent, 0.954, r"95\,\%"),
    (latex.escape, "a_b & 50% {x} #1 $2 ~^\\ <|>",
     r"a\_b \& 50\% \{x\} \#1 \$2 \textasciitilde{}\textasciicircum{}\textbackslash{} \textless{}\textbar{}\textgreater{}"),
    (latex.escape, "归约", "??"), (latex.escape, "--full runs it; a-b", "-{}-full runs it; a-b"),  # two hyphens, not a dash
    (latex.numbers, latex.escape("2^28 of 2^k"), "$2^{28}$ of $2^{k}$"), (latex.numbers, "1e-12", r"$1\cdot10^{-12}$"),
    (latex.numbers, "8.06e+05 cycles", r"$8.06\cdot10^{5}$ cycles"), (latex.numbers, r"2 \% of it", r"2\,\% of it"),
    (latex.numbers, "page-locked, U10 and e+5", "page-locked, U10 and e+5")])
def test_numbers_and_text_as_latex(show, value, shown):
    assert show(value) == shown


# ----------------------------------------------------------------------------------------------- tables


def test_the_table_holds_every_variant_and_a_new_one(tmp_path):
    rows = gpu_rows(types=("f32",), sizes=SIZES) + [timed(50e-6, variant="mine/new_one", n=n) for n in SIZES]
    rows = [r | speedup_of(r["time_median_s"], 1e-4) if r["status"] == "ok" else r for r in rows]
    rows = [r | dict(speedup=1, speedup_ci_low=1, speedup_ci_high=1) if r["variant"] == "cub/sum" else r for r in rows]
    table = tables.times_rows(read(tmp_path / "m", rows))
    for variant in GPU:
        assert any(r"\texttt{" + variant + "}" in line for line in table), variant
    line = next(l for l in table if r"mine/new\_one" in l)
    assert line.split(" & ")[1:5] == ["50.0", "50.0", "50.0", "2.00 [1.98, 2.02]"]
    chunked = next(l for l in table if "squares/chunked" in l)
    assert chunked.split(" & ")[3] == "r" and r"$^{\ast}$" in chunked
    part = next(l for l in table if r"unroll/unroll8-warp" in l).split(" & ")
    assert r"$^{\ast}$" in part[3] and part[4] == tables.MISSING  # a part of a call, over the whole of another
    assert next(l for l in table if r"{cub/sum}" in l).split(" & ")[4] == "1"


def test_the_newest_cub_stands_beside_the_toolkits_by_default_and_in_any_order(tmp_path):
    gpu = GPU | NEWEST_CUB
    rows = gpu_rows(types=("f32",), sizes=SIZES, gpu=gpu)
    lines = tables.times_rows(read(tmp_path / "m", rows, catalog=catalog_rows(gpu)))
    cub = [line.split(" & ")[:2] for line in lines if "cub" in line and "cublas" not in line and "x^2" not in line]
    assert cub == [[r"\texttt{cub/sum}", "6.05"], [r"\texttt{cub@3.5.0/sum} run\_to\_run", "6.08"],
                   [r"\texttt{cub@3.5.0/sum} not\_guaranteed", "4.08"]]


def test_one_call_in_every_way_of_timing(tmp_path):
    results = read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), timing=timing_rows())
    lines = tables.timing_rows(results)
    assert r"\texttt{cub/sum} & in a graph & 6.00 & --- & 4.00 & 6.00 & --- & 4.00 \\" in lines
    assert r" & end to end & 18.0 & 19.0 & 16.0 & 18.0 & 19.0 & 16.0 \\" in lines
    many = next(l for l in lines if l.startswith(r"\texttt{squares/multi-block}"))
    assert many.split(" & ")[2:5] == ["100000"] * 3  # 1,000 times what the GPU's clock says


def test_machines_stand_side_by_side(tmp_path):
    rows = [r | speedup_of(r["time_median_s"], 1e-4) if r["status"] == "ok" else r
            for r in gpu_rows(types=("f32",), sizes=SIZES)]
    folder = write_folder(tmp_path / "m", rows)
    assert tables.machines_rows(make.read_results(folder)) == []
    write_checks(folder)
    lines = [l for l in tables.machines_rows(make.read_results(folder)) if l != tables.SPACE]
    assert [l.partition(" & ")[0] for l in lines] == [name for document in rs.DOCUMENTS for name in (document, "")]
    assert lines[0].startswith("squares & Synthetic GPU & end to end & ") and " & device & " in lines[-1]
    assert all(l.count(" & ") == 6 and tables.MISSING not in l for l in lines)


def test_each_run_stands_with_its_card(tmp_path):
    run = {"run_id": "synthetic", "experiment": "comparison", "started_utc": "2000-01-02T03:04:05Z", "git_revision": "0123456789",
           "git_dirty": True, "machine_id": "GPU-1-2-3", "rules": {"contexts": 12}}
    results = read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES),
                   machine={**MACHINE, "runs": [run, {**run, "run_id": "x"}]})
    assert r"\id{comparison} & 2000-01-02 03:04:05 & 01234567 & yes & GPU-1 & 12 \\" in tables.provenance_rows(results)


def test_the_paper_has_a_head_and_a_caption_for_each_table(tmp_path):
    named = re.findall(r"^\\generatedtable\{(\w+)\}", (SOURCE / "paper" / "main.tex").read_text(), re.M)
    assert sorted(named) == sorted(tables.TABLES)
    tables.write(read(tmp_path / "m", [timed(1e-5, variant="mine/x", n=2**20)]), tmp_path)
    for name in named:
        assert len((tmp_path / f"table-{name}.tex").read_text().splitlines()) > 1, name
    assert tables.ABSENT in (tmp_path / "table-models.tex").read_text()


def test_models_are_numbers_with_intervals_or_the_reason_why_not(tmp_path):
    results = read(tmp_path / "m", gpu_rows(types=("f32",), sizes=SIZES), models=model_rows())
    lines = tables.models_rows(results)
    assert (r"only reading & device & inside & 4.00 [5.90, 6.10] & 4.00 [3.90, 4.10] & 6.00 [5.00, 7.00] & "
            r"1.0\,\% at $2^{26}$ \\") in lines
    kernel = next(k for k, l in enumerate(lines) if "last-block-warp" in l)
    assert "inside & $-$1.50 [5.90, 6.10]" in lines[kernel] and "& --- &" in lines[kernel]
    assert lines[kernel + 1].startswith(" &  & beyond & 6.00")
    cub = next(k for k, l in enumerate(lines) if r"\texttt{cub/sum}" in l)
    assert lines[cub].endswith(r"inside & \multicolumn{3}{c}{the model does not fit} & 42\,\% at $2^{12}$ \\")
    assert "4.00 [3.90, ---]" in lines[cub + 1]  # no upper end
    thrust = next(l for l in lines if "thrust/reduce" in l)
    assert "& end to end & beyond &" in thrust and "too few sizes} & ---" in thrust
    assert len([l for l in lines if not l.startswith(" & ")]) == 4  # of the documents multiblock's alone has fits
    with pytest.raises(rs.Absent, match="no models.csv"):
        tables.models_rows(read(tmp_path / "n", gpu_rows(types=("f32",), sizes=SIZES)))


def test_reasons_that_differ_in_a_number_are_one_line(tmp_path):
    rows = [row(variant="mine/x", n=n, status="refused", reason=f"predicted {t} s a call")
            for n, t in zip(SIZES, ("0.31", "1.2", "4.9e+01"))]
    rows += [row(variant="mine/y", n=2**20, status="failed", reason="out of memory")]
    assert tables.refused_rows(read(tmp_path / "m", rows)) == [
        r"refused & 3 & predicted \ldots{} s a call & \texttt{mine/\allowbreak{}x} \\",
        r"failed & 1 & out of memory & \texttt{mine/\allowbreak{}y} \\"]


# ------------------------------------------------------------------------------------------ claims


def fields_of(results) -> dict[str, list[str]]:
    """The table's lines by their claim."""
    lines = [line.removesuffix(r" \\").split(" & ") for line in claims.body(results)]
    return {fields[0]: fields for fields in lines}


def test_the_table_of_claims_shows_ratios_and_verdicts(tmp_path):
    folder = write_contrasts(write_folder(tmp_path / "m"), {
        ("S1", 2**20): 3, ("S1", 2**28): 0.5, "U0a": 1.8, "U0b": 1.05, "U1a": None, "U1b": 1.4, "U1c": 1.5})
    assert fields_of(rs.Results(folder))["S1"][3:] == ["---"] * 4
    fields = fields_of(rs.Results(judge(folder)))
    assert fields["S1"][3:] == ["3.00 [2.97, 3.03]", "0.500 [0.495, 0.505]: reversed", "holds",
                                r"above 1.02 (squares.\allowbreak{}csv)"]
    assert fields["S1"][2].startswith(r"\documentfigure{3 times")
    assert fields["U0"][3:6] == ["1.80, 1.05", "1.80, 1.05", "holds but weaker"]
    assert fields["U0"][6].startswith("holds: above 1.02 (unrolling.")
    assert "; holds but weaker: below half of the document's 1.2" in fields["U0"][6]
    assert fields["U1"][3] == "---, 1.40, 1.50" and fields["T4"][3:6] == fields["U8"][3:6] == ["---", "---", "not decidable here"]
