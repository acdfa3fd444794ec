"""inspect and draw: counts that a GPU agrees with, and trees that were really added."""

import csv
import json
import os
import re
import resource
import subprocess
import sys

import gallery
import pytest
from conftest import BIN, call
from project import SOURCE

from report import results as rs
from report import tables as tb

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
    assert len(svg) < 30_000
    legible(svg)
    assert len({fill for fill, _ in cells_of(svg)} - {"#fff"}) == 8


def cells_of(svg: str) -> set[tuple[str, str]]:
    """Fill and text colour of the cells that have text."""
    colours = dict(re.findall(r"\.(\w+)\{fill:(#\w+)", svg))
    return {(colours[fill], "#fff" if white else "#000")
            for fill, white in re.findall(r'<path class="(c\d?)[^>]*/><text [^>]*?( class="w")?>', svg)}


def legible(svg: str) -> None:
    assert 'width="468pt"' in svg
    assert min(map(float, re.findall(r'font-size="([\d.]+)"', svg))) >= 8 and "font-size:" not in svg
    cells = cells_of(svg)
    assert all(contrast(fill, text) >= 4.5 for fill, text in cells)
    greys = sorted(contrast(fill, "#000") for fill, _ in cells if fill != "#fff")
    assert all(b / a > 1.15 for a, b in zip(greys, greys[1:], strict=False)), "print in grey keeps them apart"


PICTURES = gallery.pictures()


def test_each_kernel_of_the_documents_and_of_modern_has_a_picture_and_no_picture_is_left_over():
    drawn = {variant for variant, *_ in PICTURES.values()}
    listed = {v["variant"]: v for v in csv.DictReader(run("list", "--csv").out.splitlines())}
    wanted = {id for id, v in listed.items() if "sim" in v["devices"] and not v["operations"].endswith("_sums")
              and (v["kind"] == "document" or v["group"] == "modern")}
    assert wanted - drawn - gallery.LEFT_OUT == set()
    assert {file.name for file in (SOURCE / "docs" / "kernels").iterdir()} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_the_gallery_shows_what_is_drawn_today(name):
    """But for lines and columns. tools/gallery.py draws it anew."""
    variant, _, options = PICTURES[name]
    page, drawn = (SOURCE / "docs" / "kernels" / name).read_text(), gallery.draw(str(BIN), variant, options)
    places = re.compile(r"[\w./-]+:\d+:\d+")
    assert places.sub("", page) == places.sub("", drawn)
    assert len(page) < 25_000
    legible(page)


def test_steps_are_a_page_that_needs_nothing_else_and_a_picture_each(tmp_path):
    run("draw", "modern/shuffle", "--n", "8", "--steps", "-o", str(tmp_path / "steps.svg"))
    text = (tmp_path / "steps.html").read_text()
    steps = text.count('class="row"')
    assert tree(text) == HALVES and steps > 4
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    pictures = [(tmp_path / f"steps-{i}.svg").read_text() for i in range(1, steps + 1)]
    assert [p.count('class="row"') for p in pictures] == list(range(1, steps + 1))
    assert pictures[-1] == run("draw", "modern/shuffle", "--n", "8").out
    run("draw", "modern/shuffle", "--n", "8", "--steps", "-o", str(tmp_path / "alone.html"))
    assert (tmp_path / "alone.html").read_text() == text and len(list(tmp_path.iterdir())) == steps + 2


def test_a_race_is_drawn_where_it_happened(tmp_path):
    source = tmp_path / "racy.cu"
    source.write_text(RACY)
    outcome = run("draw", str(source), "--n", "16", "-o", str(tmp_path / "racy.svg"), fails=2)
    assert "racy.cu:6:8" in outcome.err
    svg = (tmp_path / "racy.svg").read_text()
    assert "where the call was ended" in svg and "racy.cu:6:8" in " ".join(re.findall(r">([^<]*)<", svg))
    assert "racy.cu:6:8" in run("inspect", str(source), "--n", "16", fails=2).err


# One lane reads an element too many; a block reads what another stored with no fence between.
PAST = RACY.replace("t < n ?", "t <= n ?").replace("if (t < k) s[t] += s[t + k];\n    __syncthreads();",
                                                   "__syncthreads();\n    if (t < k) s[t] += s[t + k];")
UNFENCED = """
#include <reductio/plugin.h>
__global__ void sum(const float* in, float* out, float* partial, unsigned* arrived, unsigned n) {
  unsigned i = blockIdx.x * 4 + threadIdx.x;
  float s = threadIdx.x < 4 && i < n ? in[i] : 0;
  for (int k = 2; k > 0; k /= 2) s += __shfl_down_sync(~0u, s, k);
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = s;
  if (atomicAdd(arrived, 1) != gridDim.x - 1) return;
  float all = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
  *out = all;
}
static void mine(const float* in, size_t n, float* out, void*, cudaStream_t stream) {
  static float* partial;
  static unsigned* arrived;
  if (!partial) cudaMalloc(&partial, 8 * sizeof(float)), cudaMalloc(&arrived, sizeof(unsigned));
  cudaMemsetAsync(arrived, 0, sizeof(unsigned), stream);
  sum<<<4, 32, 0, stream>>>(in, out, partial, arrived, (unsigned)n);
}
REDUCTIO_SUM_F32("mine/unfenced", mine)
"""


@pytest.mark.parametrize("text, what, where", [(PAST, "out of bounds", "fault.cu:6:"), (UNFENCED, "race", "fault.cu:11:")])
def test_a_read_past_the_end_and_a_missing_fence_are_drawn_and_verify_names_the_command(tmp_path, text, what, where):
    source = tmp_path / "fault.cu"
    source.write_text(text)
    outcome = run("draw", str(source), "--n", "16", "-o", str(tmp_path / "fault.svg"), fails=2)
    assert what in outcome.err and where in outcome.err
    svg = (tmp_path / "fault.svg").read_text()
    assert "where the call was ended" in svg and where in " ".join(re.findall(r">([^<]*)<", svg))
    verified = run("verify", "--plugin", str(source), "--variants", "^mine/", "--device", "sim", "--sizes", "16", fails=2)
    (drawn, *_) = re.findall(r"drawn: \S+ (draw .*)", verified.out)
    assert what in run(*drawn.split(), "-o", str(tmp_path / "again.svg"), fails=2).err


def test_a_full_disk_is_one_line(tmp_path):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for more in ([], ["--steps"]):
        done = subprocess.run([BIN, "draw", "levels/naive", "-o", "x.svg", *more], cwd=tmp_path, capture_output=True,
                              text=True, preexec_fn=limited)
        assert done.returncode == 1 and re.fullmatch(r"reductio: cannot write x\S*: File too large\n", done.stderr)
        assert list(tmp_path.iterdir()) == []


def test_a_program_is_no_plugin(tmp_path):
    source = tmp_path / "program.cu"
    source.write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }\n")
    for command in ("draw", "inspect"):
        error = run(command, str(source), fails=1).err
        assert "is a program with its own main(): run 'reductio simulate', or make its kernel a plug-in" in error


def test_counts_are_those_of_the_profiler_but_for_loads_that_nvcc_leaves_out_and_collisions():
    """As experiments/counts.py wrote them on an H200."""
    rows = rs.read_csv(gallery.PROFILED).to_dict("records")
    assert len(rows) > 3000
    for row in rows:
        executed, profiled = row["simulated"] - gallery.left_out_by_nvcc(row), row["profiled"]
        collides = "wavefronts" in row["counter"]
        assert executed <= profiled <= executed * (1.05 if collides else 1), row


def test_a_log_that_is_not_there_is_named(tmp_path):
    done = subprocess.run([sys.executable, SOURCE / "experiments" / "counts.py", tmp_path, "--log", tmp_path / "no.log"],
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"counts.py: there is no {tmp_path}/no.log; --save runs ncu and keeps there what it prints\n"


def test_counts_of_all_variants_are_those_that_are_committed(tmp_path):
    """Of some, with the columns that the table has. experiments/counts.py experiments/results writes it anew."""
    done = subprocess.run([sys.executable, SOURCE / "experiments" / "counts.py", tmp_path, "--reductio", BIN,
                           "--variants", "^(levels|multiblock|modern)/"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "counts.csv").open() as file:
        counted = list(csv.DictReader(file))
    committed = tb.read_words(gallery.COUNTS).to_dict("records")
    assert counted == [row for row in committed if re.match("(levels|multiblock|modern)/", row["variant"])]
    assert {"levels/naive", "modern/shuffle", "tuned/sum", "exact/sum"} < {row["variant"] for row in committed}


def test_counts_of_ncu_stand_beside_those_of_the_same_call(monkeypatch):
    """And none of a metric that this ncu lacks, or of the harness's own kernel."""
    monkeypatch.syspath_prepend(SOURCE / "experiments")
    import counts
    metrics = [counts.COUNTERS[name][2] for name in ("global load requests", "global load sectors")]
    log = "\n".join(['"ID","Kernel Name","' + '","'.join(metrics) + '"', '"","","",""', '"0","store_word","7","7"',
                     '"1","naive","512","2,049"', "==PROF== done",
                     "reductio: note: levels/naive block=256;finish=atomic;test=bits sum f32 n=16384 profiled"])
    rows = list(counts.rows_beside_ncu(log, str(BIN), "nvidia-h200"))
    assert [(row["counter"], row["simulated"], row["profiled"]) for row in rows] == [
        ("global load requests", 512, 512), ("global load sectors", 2048, 2049)]


@pytest.mark.parametrize("words, chain", [
    (["levels/divergence-free", "--n", "256"], 8),  # 8 levels, and an atomic to a zero
    (["squares/chunked", "--n", "4096", "--types", "f32", "--set", "block=32,finish=host"], 127 + 31),  # thread and host
    (["compensated/in-double", "--n", "4096"], 1),
    (["unroll/neighbored", "--n", "1024", "--types", "i32"], None),
])
def test_the_longest_chain_is_that_of_additions_that_round(words, chain):
    counted = json.loads(run("inspect", *words, "--json").out)
    assert counted["longest_chain"] == chain
    assert ("longest chain" in run("inspect", *words).out) == (chain is not None)


def test_only_the_counters_that_are_asked_for_are_shown():
    out = run("inspect", "levels/naive", "--n", "1024", "--csv", "--counters", "sectors,requests").out
    assert out.splitlines()[0].endswith(",column,sectors,requests")
    words = run("inspect", "levels/naive", "--n", "1024", "--counters", "sectors").out
    assert "sectors" in words and "wavefronts" not in words


def test_the_counts_are_still_those_that_were_compared():
    """Of small calls, one of each kernel."""
    calls = {}
    for row in rs.read_csv(gallery.PROFILED).to_dict("records"):
        if row["n"] == 16384 and row["element_type"] == "f32":
            calls.setdefault(row["variant"], {}).setdefault(row["settings"], {})[row["counter"]] = row["simulated"]
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
    (["inspect", "levels/naive", "--counters", "sectors,misses"],
     "there is no counter 'misses'; the counters are threads, requests, bytes, sectors, wavefronts, conflicts"),
    (["draw", "levels/naive", "-o", "full"], "cannot write full: No space left on device"),
    (["draw", "levels/naive", "--steps", "-o", "/nope/x.svg"], "cannot write '/nope/x"),
    (["draw", "levels/nave"], "did you mean 'levels/naive'"),
    (["draw", "./none.cu"], "there is no plug-in './none.cu'"),
])
def test_bad_input_is_one_line(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").symlink_to("/dev/full")
    outcome = run(*words, fails=1)
    assert message in outcome.err and outcome.err.count("\n") == 1
