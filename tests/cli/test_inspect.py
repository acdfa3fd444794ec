"""inspect and draw: counts that a GPU agrees with, and trees that were really added."""

import csv
import gzip
import json
import os
import re

import pytest
from conftest import call
from project import SOURCE

RACY = """
#include <reductio/plugin.h>
__global__ void sum(const float* in, float* out, unsigned n) {
  __shared__ float s[32];
  unsigned t = threadIdx.x;
  s[t] = t < n ? in[t] : 0;
  for (unsigned k = 16; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) *out = s[0];
}
static void mine(const float* in, size_t n, float* out, void*, cudaStream_t stream) {
  sum<<<1, 32, 0, stream>>>(in, out, (unsigned)n);
}
REDUCTIO_SUM_F32("mine/racy", mine)
"""


def run(*words, fails=0):
    outcome = call(*words)
    assert outcome.code == fails, outcome.err
    return outcome


def tree(svg: str) -> str:
    return re.search("<desc>(.*)</desc>", svg)[1]


NEIGHBOURS = "(((0 1) (2 3)) ((4 5) (6 7)))"
HALVES = "(((0 4) (2 6)) ((1 5) (3 7)))"


@pytest.mark.parametrize("variant, words", [
    ("levels/naive", NEIGHBOURS),
    ("levels/divergence-free", HALVES),
    ("unroll/neighbored", NEIGHBOURS),
    ("unroll/interleaved", HALVES),
    ("modern/shuffle", HALVES),
    ("multiblock/last-block", HALVES),
    ("twopass/warp-unrolled", HALVES),
])
def test_the_tree_is_the_one_that_was_added(variant, words):
    assert tree(run("draw", variant, "--n", "8").out) == words


def test_a_sum_that_an_atomic_brings_to_the_result_says_so():
    svg = run("draw", "levels/divergence-free").out
    assert tree(svg).count("(") == 31
    assert "by an atomic" in svg


def test_a_thread_that_walks_over_the_input_adds_in_that_order():
    svg = run("draw", "squares/multi-block-tree", "--n", "8", "--set", "grid=1,block=32").out
    assert sorted(map(int, re.findall(r"\d+", tree(svg)))) == list(range(8))


def contrast(a: str, b: str) -> float:
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)] if len(colour) == 7 else \
                [int(c * 2, 16) / 255 for c in colour[1:]]
        return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
                   for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_picture_is_small_repeatable_and_legible():
    svg = run("draw", "levels/naive").out
    assert svg == run("draw", "levels/naive").out
    assert len(svg) < 80_000
    assert 'width="468pt"' in svg
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', svg))) >= 8
    cells = set(re.findall(r'<rect [^>]*fill="(#\w+)"[^>]*/><text [^>]*fill="(#\w+)"', svg))
    assert len({fill for fill, _ in cells} - {"#fff"}) == 8
    assert all(contrast(fill, text) >= 4.5 for fill, text in cells)
    greys = sorted(contrast(fill, "#000") for fill, _ in cells if fill != "#fff")
    assert all(b / a > 1.15 for a, b in zip(greys, greys[1:], strict=False)), "print in grey keeps them apart"


@pytest.mark.parametrize("variant", ["levels/naive", "multiblock/last-block", "tuned/sum"])
def test_the_pages_show_what_is_drawn_today(variant):
    """But for lines and columns. REDUCTIO_REWRITE=1 draws them anew."""
    page = SOURCE / "docs" / f"tree-{variant.replace('/', '-')}.svg"
    drawn = run("draw", variant).out
    if os.environ.get("REDUCTIO_REWRITE"):
        page.write_text(drawn)
    places = re.compile(r"[\w./-]+:\d+:\d+")
    assert places.sub("", page.read_text()) == places.sub("", drawn)


def test_steps_are_one_page_that_needs_nothing_else(tmp_path):
    page = tmp_path / "steps.html"
    assert run("draw", "modern/shuffle", "--n", "8", "--steps", "-o", str(page)).code == 0
    text = page.read_text()
    assert tree(text) == HALVES and text.count('class="row"') > 4
    assert not re.findall(r'(?:src|href)="(?!#)', text)


def test_a_race_is_drawn_where_it_happened(tmp_path):
    source = tmp_path / "racy.cu"
    source.write_text(RACY)
    outcome = run("draw", str(source), "--n", "16", "-o", str(tmp_path / "racy.svg"), fails=2)
    assert "racy.cu:6:8" in outcome.err
    svg = (tmp_path / "racy.svg").read_text()
    assert "where the call was ended" in svg and "racy.cu:6:8" in " ".join(re.findall(r">([^<]*)<", svg))
    assert "racy.cu:6:8" in run("inspect", str(source), "--n", "16", fails=2).err


def agreement():
    """What experiments/counts.py wrote on an H200."""
    with gzip.open(SOURCE / "experiments/results/nvidia-h200-counts/counts.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def may_differ(row):
    """nvcc keeps in registers what clang++ loads again, and the hardware counts what it repeats, as collisions of warps."""
    return "load=chained" in row["settings"] or row["counter"].startswith("shared")


def test_requests_and_sectors_are_those_of_the_profiler():
    rows = [row for row in agreement() if not may_differ(row)]
    assert len(rows) > 1000
    assert [row for row in rows if row["simulated"] != row["profiled"]] == []


def test_the_counts_are_still_those_that_were_compared():
    """Of small calls, one of each kernel."""
    calls = {}
    for row in agreement():
        if row["n"] == "16384" and row["element_type"] == "f32":
            calls.setdefault(row["variant"], {}).setdefault(row["settings"], {})[row["counter"]] = int(row["simulated"])
    assert len(calls) > 20
    for variant, by_settings in calls.items():
        settings, counts = next(iter(by_settings.items()))
        out = run("inspect", variant, "--n", "16384", "--types", "f32", "--like", "nvidia-h200", "--json",
                  *(["--set", settings.replace(";", ",")] if settings else [])).out
        totals = [kernel["totals"] for kernel in json.loads(out)["kernels"]]
        for counter, count in counts.items():
            kind, unit = counter.rsplit(" ", 1)
            assert sum(t[kind][unit] for t in totals) == count, (variant, settings, counter)


def test_counts_by_line_as_json_and_csv():
    csv_rows = list(csv.DictReader(run("inspect", "levels/naive", "--n", "1024", "--csv").out.splitlines()))
    places = json.loads(run("inspect", "levels/naive", "--n", "1024", "--json").out)["kernels"][0]["places"]
    assert [int(row["sectors"]) for row in csv_rows] == [place["sectors"] for place in places]
    assert {place["kind"] for place in places} == {"global load", "global atomic", "shared load", "shared store",
                                                   "block barrier"}


@pytest.mark.parametrize("words, message", [
    (["draw"], "name a variant"),
    (["draw", "levels/naive", "--n", "64"], "--n 64 cannot be drawn: a picture has 1 to 32 elements"),
    (["draw", "squares/multi-block", "--n", "32"], "1 to 26 elements of f64"),
    (["draw", "exact/sum"], "keeps its partial sums in another form"),
    (["inspect", "modern/segment-by-warp"], "sums rows, columns or segments"),
    (["draw", "host/plain"], "host/plain does not run on the simulated device"),
    (["draw", "levels/naive", "-o", "/nope/x.svg"], "cannot write '/nope/x.svg'"),
    (["inspect", "levels/naive", "--like", "nvidia-x"], "nvidia-x"),
    (["inspect", "levels/naive", "--set", "block=3"], "no selected variant allows block=3"),
])
def test_bad_input_is_one_line(words, message):
    outcome = run(*words, fails=1)
    assert message in outcome.err and outcome.err.count("\n") == 1
