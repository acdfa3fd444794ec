"""The macros of the paper's sentences stand for what the CSV hold, for "not measured", or for an error that names
them."""

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
ASKED = {name: Asked(name, {"n": n, "timing_mode": "clock" if name == "clock" else "device"}, points)
         for name, n, points in (("gain", [1024, 4096], RATIO), ("later", [1024, 4096], RATIO), ("time", [1024], TIME),
                                 ("clock", [4096], TIME), ("every", "all", RATIO), ("none", "all", RATIO))}


def contrast(name, n, value, low="", high="", element_type="f32") -> dict:
    return dict.fromkeys(tb.CONTRASTS.names, "") | dict(
        schema_version=tb.SCHEMA_VERSION, name=name, operation="sum", element_type=element_type, timing_mode="device",
        cache_state="warm", n=n, value=value, ci_low=low, ci_high=high, enough="yes", verdict="SAME")


@pytest.fixture
def made(tmp_path, monkeypatch):
    rows = [timed(2e-6, variant="a/b", settings=f"block={b};load=x", n=n, experiment="study",
                  timestamp_utc=f"2000-01-0{d}T00:00:00Z")
            for b, n, d in ((64, 1024, 1), (128, 1024, 2), (64, 4096, 3))]
    probes = [dict(quantity="q", value=v, unit=u) for v, u in ((300, "ns"), (100, "ns"), (7, "cycles"))]
    repeat = [dict(ratio_low=l, ratio_high=1.1) for l in (0.9, 0.9, 0.9, 1.05)]
    known = [contrast("gain", 1024, 1.5, 1.49, 1.51), contrast("gain", 4096, 0.98765, 0.98, 0.99),
             contrast("time", 1024, 2e-6), contrast("clock", 4096, 1234567.8), contrast("later", 1024, ""),
             contrast("every", 2**20, 2, 1.9, 2.1), contrast("every", 2**20, 4, 3.9, 4.1, element_type="i32")]
    folder = write_folder(tmp_path / "m", machine={**MACHINE, "runs": []}, probes=probes, repeat=repeat, contrasts=known,
                          study=rows)
    write_means(folder, {("probe.q.ns", "ns"): 200, ("probe.q.cycles", "cycles"): 7, "repeat.device": 0.21,
                         "launch-floor": 2.752e-6})
    monkeypatch.setattr(contrasts, "asked", lambda: ASKED)
    return numbers.Numbers(rs.Results(folder))


def resolved(made, macro: str) -> str:
    (_, name, option, arguments), = numbers.used(macro)
    return made.resolve(name, option, arguments)


@pytest.mark.parametrize("macro, shown", [
    (r"\ratio{gain}", "1.50 [1.49, 1.51]"), (r"\ratio[2^12]{gain}", "0.988 [0.980, 0.990]"),
    (r"\gain[4096]{gain}", "0.988"), (r"\seconds{time}", r"2.00\,\textmu{}s"),
    (r"\seconds{clock}", "1{,}234{,}568 cycles"),
    (r"\gain[i32]{every}", "4.00"), (r"\gain[2^20,f32]{every}", "2.00"),
    (r"\cell{study}{variant=a/b, block=128}{time_median_s}", r"2.00\,\textmu{}s"),
    (r"\cell{study}{block=64, n=2^10, load=x}{time_median_s}", r"2.00\,\textmu{}s"),
    (r"\cell[max]{study}{n<2^11}{bandwidth_bytes_per_s}", r"2.05\,GB/s"),
    (r"\cell[max]{probes}{quantity=q, unit=ns}{value}", r"300\,ns"), (r"\mean{probe.q.ns}", r"200\,ns"),
    (r"\mean{probe.q.cycles}", "7"), (r"\mean[percent]{repeat.device}", r"21\,\%"),
    (r"\mean{launch-floor}", r"2.75\,\textmu{}s"),
    (r"\cell{probes}{unit=cycles}{value}", "7"), (r"\cell[min,percent]{repeat}{}{ratio_low}", r"90\,\%"),
    (r"\rows{study}{}", "3"), (r"\rows[settings]{study}{}", "2"),
    (r"\share{repeat}{ratio_high>1}{ratio_low<=1}", r"75\,\%"), (r"\record{machine}{gpu.name}", "Synthetic GPU"),
    (r"\record{machine}{gpu.l2_bytes}", r"50\,MiB"), (r"\dates{study, none}", "2000-01-01 to 2000-01-03"),
    (r"\dates{*}", "2000-01-01 to 2000-01-03"), (r'\ask{len(rows("study"))}', "3"), (r"\ask[us]{2.5}", r"2.50\,\textmu{}s"),
    (r'\ask[percent]{min(rows("repeat")["ratio_low"]) - 0.4}', r"50\,\%")])
def test_what_each_macro_shows(made, macro, shown):
    assert resolved(made, macro) == shown


@pytest.mark.parametrize("macro", [
    r"\ratio{later}", r"\ratio[4096]{later}", r"\ratio{none}", r"\cell{none}{n=1}{value}",
    r"\cell{study}{n=7}{time_median_s}", r"\cell{study}{block=64, n=2^12}{cycles_median}",
    r"\cell{probes}{block=7}{value}", r"\rows{none}{}", r"\record{none}{a}",
    r"\record{machine}{gpu.none}", r"\dates{none}", r"\share{study}{n=7}{n=7}", r"\mean{memset}",
    r'\ask{len(rows("none"))}', r'\ask{len(other("none").rows("study"))}', r"\ask{min([])}"])
def test_what_a_folder_lacks_is_not_measured(made, macro):
    assert resolved(made, macro) == numbers.ABSENT


@pytest.mark.parametrize("macro, why", [
    (r"\ratio{other}", "contrasts.json has no other"), (r"\ratio{time}", "time is a time"),
    (r"\seconds{gain}", "gain is a ratio"), (r"\ratio[2048]{gain}", "gain has no size 2048"),
    (r"\ratio[large]{gain}", "'large' is no size"), (r"\gain{every}", "several types"),
    (r"\cell{study}{n=2^10}{time_median_s}", "2 rows of study.csv are alike"),
    (r"\cell[mean]{study}{}{n}", "[mean] is not"), (r"\cell[median]{study}{}{n}", "[median] is not"),
    (r"\mean{no-such}", "contrasts.json has no mean no-such"),
    (r"\cell{study}{block}{n}", "'block' is no condition"), (r"\rows{study}", "it takes 2 arguments"),
    (r"\ask{none_such(1)}", "name 'none_such' is not defined"), (r'\ask{rows("study")["n"].mean()}', ".mean is nothing")])
def test_what_no_folder_could_have_is_an_error_that_names_macro_and_line(made, tmp_path, macro, why):
    text = tmp_path / "text.tex"
    text.write_text(f"% \\ratio{{commented}}\nwords\nand {macro} more")
    with pytest.raises(rs.ResultsError) as error:
        numbers.write(made, tmp_path, text)
    message = str(error.value)
    name = macro.partition("{")[0].partition("[")[0]
    assert message.startswith(f"text.tex:3: {name}") and why in message and "\n" not in message


def test_macros_are_found_over_lines_and_written_once(made, tmp_path):
    text = tmp_path / "text.tex"
    text.write_text("a \\cell{study}{block=128,\n  n=2^10}{n} \\cell{study}{block=128, n=2^10}{n}, \\gain{gain} and "
                    "\\gainful{x}")
    lines = numbers.write(made, tmp_path, text).read_text().splitlines()
    written = [l for l in lines if l.startswith(r"\expandafter")]
    assert written == [r"\expandafter\def\csname numbers:cell::study:block=128, n=2^10:n\endcsname{1{,}024}",
                       r"\expandafter\def\csname numbers:gain::gain\endcsname{1.50}"]


def test_results_of_another_machine_and_a_sentence_that_is_no_longer_true_are_said_on_the_first_page(made, monkeypatch):
    assert r"\id{m}" in numbers.note(made.results)
    renamed = rs.Results(made.results.folder.rename(made.results.folder.with_name("nvidia-h200")))
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
