"""What the paper's sentences ask is shown as the CSV hold it, as "not measured", or is an error that names macro and
line."""

import pytest
from synthetic import MACHINE, timed, write_folder, write_means

import contrasts
import query
from report import results as rs
from report import tables as tb
from contrasts import Asked
from facts import PAPER, Fact
from text import numbers

RATIO, TIME = [[1, "a/b"], [-1, "a/c"]], [[1, "a/b"]]
ASKED = {name: Asked(name, {"n": n, "element_type": kind}, points)
         for name, n, kind, points in (("gain", [1024, 4096], "f32", RATIO), ("later", [1024, 4096], "f32", RATIO),
                                       ("time", [1024], "f32", TIME), ("none", "all", "f32", RATIO),
                                       ("every", "all", ["f32", "i32"], RATIO))}


def contrast(name, n, value, low="", high="") -> dict:
    return dict.fromkeys(tb.TABLES["contrasts"].names, "") | dict(
        schema_version=tb.SCHEMA_VERSION, name=name, operation="sum", element_type="f32", timing_mode="device",
        cache_state="warm", n=n, value=value, ci_low=low, ci_high=high, enough="yes", verdict="SAME")


@pytest.fixture
def made(tmp_path, monkeypatch):
    rows = [timed(2e-6, variant="a/b", settings=f"block={b};load=x", n=n, experiment="study",
                  timestamp_utc=f"2000-01-0{d}T00:00:00Z")
            for b, n, d in ((64, 1024, 1), (128, 1024, 2), (64, 4096, 3))]
    repeat = [dict(ratio=1, ratio_low=l, ratio_high=1.1) for l in (0.9, 0.9, 0.9, 1.05)] + [dict(ratio=0)]
    known = [contrast("gain", 1024, 1.5, 1.49, 1.51), contrast("gain", 4096, 0.98765, 0.98, 0.99),
             contrast("time", 1024, 2e-6), contrast("later", 1024, "")]
    folder = write_folder(tmp_path / "m", machine={**MACHINE, "runs": []}, repeat=repeat, contrasts=known, study=rows)
    write_means(folder, {("probe.q.ns", "ns"): 200, "repeat.device": 0.21, "nvbench-small": -0.051,
                         "launch-floor": 2.752e-6})
    monkeypatch.setattr(contrasts, "asked", lambda: ASKED)
    return rs.Results(folder)


def resolved(made, macro: str) -> str:
    (_, unit, asked), = numbers.used(macro)
    return numbers.resolve(made, unit, asked)


@pytest.mark.parametrize("macro, shown", [
    (r'\ask{contrast("gain")}', "1.50 [1.49, 1.51]"), (r'\ask{contrast("gain", 2**12)}', "0.988 [0.980, 0.990]"),
    (r'\ask{gain("gain", 4096)}', "0.988"), (r'\ask[s]{gain("time")}', r"2.00\,\textmu{}s"),
    (r'\ask[us]{us("a/b:block=128", 1024, "study")}', r"2.00\,\textmu{}s"),
    (r'\ask[B/s]{rows("study", n=2**10)["bandwidth_bytes_per_s"].max()}', r"2.05\,GB/s"),
    (r'\ask{mean("probe.q.ns")}', "200"), (r'\ask[percent]{mean("repeat.device")}', r"21\,\%"),
    (r'\ask[percent]{mean("nvbench-small")}', r"$-$5.1\,\%"), (r'\ask[s]{mean("launch-floor")}', r"2.75\,\textmu{}s"),
    (r'\ask[percent]{repeated("repeat")}', r"75\,\%"), (r'\ask{len(rows("study"))}', "3"),
    (r'\ask{1234567.0}', "1{,}234{,}567"), (r'\ask{rows("study")["n"].min() - 1024}', "0"),
    (r'\ask{machine("gpu.name")}', "Synthetic GPU"), (r'\ask[B]{machine("gpu.l2_bytes")}', r"50\,MiB"),
    (r'\ask{dates("study", "none")}', "2000-01-01 to 2000-01-03"), (r"\ask{dates()}", "2000-01-01 to 2000-01-03")])
def test_what_a_query_shows(made, macro, shown):
    assert resolved(made, macro) == shown


@pytest.mark.parametrize("macro", [
    r'\ask{contrast("later")}', r'\ask{gain("later", 4096)}', r'\ask{gain("none")}', r'\ask{row("none", n=1)["value"]}',
    r'\ask{row("study", "a/b", n=7)["time_median_s"]}', r'\ask{row("study", n=2**12)["cycles_median"]}',
    r'\ask{rows("study")["cycles_median"].max()}', r'\ask{record("none")["a"]}', r'\ask{machine("gpu.none")}',
    r'\ask{dates("none")}', r'\ask{repeated("repeat", ratio=7)}', r'\ask{mean("memset")}', r'\ask{len(rows("none"))}',
    r'\ask{len(other("none").rows("study"))}', r"\ask{min([])}"])
def test_what_a_folder_lacks_is_not_measured(made, macro):
    assert resolved(made, macro) == numbers.ABSENT


@pytest.mark.parametrize("macro, why", [
    (r'\ask{contrast("other")}', "contrasts.json has no other"), (r'\ask{gain("gain", 2048)}', "gain has no size 2048"),
    (r'\ask{gain("every")}', "several types"), (r'\ask{mean("no-such")}', "contrasts.json has no mean no-such"),
    (r'\ask{row("study", n=2**10)["n"]}', "study has 2 rows of"),
    (r'\ask{len(rows("study", size=1))}', "lacks the column size"),
    (r"\ask[mean]{1}", "[mean] is none of s, us"), (r"\ask[us] 1", "it takes a query in braces"),
    (r"\ask{none_such(1)}", "name 'none_such' is not defined"), (r"\ask{1 +}", "invalid syntax"),
    (r'\ask{gain("gain", size=1)}', "unexpected keyword argument 'size'"),
    (r"\ask{[1, 2]}", "must be a string or a real"),
    (r'\ask{rows("study")["n"].mean()}', ".mean is nothing")])
def test_what_no_folder_could_have_is_an_error_that_names_macro_and_line(made, tmp_path, macro, why):
    text = tmp_path / "text.tex"
    text.write_text(f"% \\ask{{commented}}\nwords\nand {macro} more")
    with pytest.raises(rs.ResultsError) as error:
        numbers.write(made, tmp_path, text)
    message = str(error.value)
    assert message.startswith(r"text.tex:3: \ask") and why in message and "\n" not in message


def test_queries_are_found_over_lines_and_written_once(made, tmp_path):
    text = tmp_path / "text.tex"
    text.write_text('a \\ask{len(rows("study",\n  n=2**10))} \\ask{len(rows("study", n=2**10))}, \\ask[s]{gain("time")}'
                    " and \\asked{x}")
    lines = numbers.write(made, tmp_path, text).read_text().splitlines()
    written = [l for l in lines if l.startswith(r"\expandafter")]
    assert written == [r'\expandafter\def\csname numbers::len(rows("study", n=2**10))\endcsname{2}',
                       r'\expandafter\def\csname numbers:s:gain("time")\endcsname{2.00\,\textmu{}s}']


def test_results_of_another_machine_and_a_sentence_that_is_no_longer_true_are_said_on_the_first_page(made, monkeypatch):
    assert r"\id{m}" in numbers.note(made)
    renamed = rs.Results(made.folder.rename(made.folder.with_name("nvidia-h200")))
    for holds in (True, False):
        monkeypatch.setattr(numbers, "facts", lambda: [Fact(PAPER, "Adding up an array is the first", str(holds))])
        assert (numbers.note(renamed) == "") == holds


def test_what_is_asked_everywhere_is_asked_of_each_committed_folder_that_has_it():
    names = query.everywhere(None, "machine('gpu.name')")
    assert {"NVIDIA H200", "NVIDIA H100 80GB HBM3"} <= set(names) and len(names) > len(set(names))
    assert 0 < len(query.everywhere(None, "len(rows('verdicts'))")) < len(names)
    assert query.everywhere(None, "rows('none')") == []


def test_bits_are_compared_where_two_models_of_gpu_added_up_the_same_input():
    same, both = query.same_bits(None, "exact/sum")
    assert 0 < same <= both < len(query.of_all_runs(None, "exact/sum"))
    device = query.of_all_runs(None, "tuned/sum", "device")
    assert set(device["timing_mode"]) == {"device"} and device["speedup"].notna().all()


def test_suites_are_asked_by_fault():
    races, bounds, none = (len(query.suite(None, "indigo", fault)) for fault in ("race", "bounds", "none"))
    assert races + bounds + none == len(query.suite(None, "indigo")) and min(races, bounds, none) > 100
