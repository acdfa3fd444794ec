"""Plug-ins: what is loaded, what is refused and why, and what verification says of those that cheat."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import BIN, call
from project import SOURCE

FIXTURES = Path(__file__).with_name("fixtures")
NVCC = shutil.which(os.environ.get("NVCC", "nvcc")) or shutil.which("/usr/local/cuda/bin/nvcc")

CPU = """
#include <reductio/plugin.h>
static void plain(const float* in, size_t n, float* out) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += in[i];
  *out = (float)sum;
}
REDUCTIO_CPU_SUM_F32("mine/plain", plain)
"""


def listing() -> str:
    """The page's kernel."""
    return re.findall(r"^```cuda\n(.*?)^```", (SOURCE / "docs/plugins.md").read_text(), re.MULTILINE | re.DOTALL)[0]


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def reductio(tmp_path, cache):
    def run(*arguments, **options):
        return call(*arguments, **{"cwd": tmp_path, "XDG_CACHE_HOME": str(cache), **options})
    return run


@pytest.fixture
def mine(tmp_path) -> Path:
    (tmp_path / "mine.c").write_text(CPU)
    return tmp_path / "mine.c"


def library(folder: Path, *flags: str, source: Path = FIXTURES / "table.c", name: str = "mine.so") -> Path:
    made = subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wno-unused", "-Werror", "-shared", "-fPIC", *flags,
                           f"-I{SOURCE / 'src/plugin/include'}", source, "-o", folder / name], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return folder / name


# ---- the header ----

@pytest.mark.parametrize("compiler", ["gcc -std=c99", "clang -std=c99", "g++ -std=c++11", "g++ -std=c++20", "clang++ -std=c++20"])
def test_the_header_is_plain_c_and_cpp(compiler, tmp_path):
    program, dialect = compiler.split()
    if not shutil.which(program):
        pytest.skip(f"no {program} here")
    file = tmp_path / ("a.cpp" if "++" in program else "a.c")
    file.write_text(CPU)
    made = subprocess.run([program, dialect, "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{SOURCE / 'src/plugin/include'}", "-c", file,
                           "-o", tmp_path / "a.o"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_the_header_is_installed(tmp_path):
    done = subprocess.run(["cmake", "--install", BIN.parent.parent, "--prefix", tmp_path, "--component", "plugin"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()]
    assert files == ["include/reductio/plugin.h"]
    assert (tmp_path / files[0]).read_bytes() == (SOURCE / "src/plugin/include/reductio/plugin.h").read_bytes()


# ---- where a file may be named ----

def test_a_file_in_place_of_a_variant(reductio, mine):
    assert "mine/plain" in reductio("list", "./mine.c").ok()
    assert reductio("list", "--variants", "mine.c", "--csv").ok().count("mine/plain") >= 1
    assert re.search(r"plug-in +\./mine\.c", reductio("info", "./mine.c").ok())
    assert re.search(r"ok +cpu +mine/plain +\d+ passed", reductio("verify", "--variants", "./mine.c", "--tier", "quick").ok())
    rows = reductio("run", "cpu", "--quick", "--variants", "./mine.c", "--types", "f32", "--sizes", "1000", "--csv").rows()
    assert {(r["variant"], r["status"]) for r in rows} == {("mine/plain", "ok")}
    compared = reductio("compare", "host/plain", "./mine.c", "--sizes", "1000", "--contexts", "6", "--csv").rows()
    assert [r["variant"] for r in compared] == ["mine/plain"]


def test_an_option_adds_all_of_a_files_variants(reductio, tmp_path, mine):
    library(tmp_path, "-DCOUNT=1")
    listed = reductio("list", "--plugin", "mine.so", "--plugin", "mine.c", "--variants", "^(mine|table)/", "--csv").rows()
    assert [r["variant"] for r in listed] == ["mine/plain", "table/sum"]
    assert {r["kind"] for r in listed} == {"yours"}
    assert "host/plain" in reductio("list", "--plugin", "mine.so").ok()
    assert reductio("info", "--plugin", "mine.so", "table/sum").ok().startswith("table/sum\n")
    compared = reductio("compare", "--plugin", "mine.c", "mine/plain", "./mine.so:step=4", "--sizes", "1000",
                        "--contexts", "6", "--csv").rows()
    assert [(r["variant"], r["settings"]) for r in compared] == [("table/sum", "step=4")]


def test_what_a_failure_prints_loads_the_plugin_again(reductio, tmp_path):
    library(tmp_path, "-DENQUEUE=wrong", "-Dwrong=(const char*(*)(const reductio_problem*,void*,void*,void*,void*))prepare_wrong",
            source=with_line(tmp_path, "static const char* prepare_wrong(const reductio_problem* p, void* a, void* b, void* c, void* d)"
                                       "{ (void)p; (void)a; (void)b; *(float*)c = 1; (void)d; return 0; }"))
    failed = reductio("verify", "--variants", "./mine.so", "--tier", "quick", COLUMNS="2000")
    assert failed.code == 2
    again = re.search(r"again: \S+ (verify --plugin \./mine\.so .*)", failed.out)[1]
    assert reductio(*[word.strip("'") for word in again.split()]).code == 2


LATER = """
#include <reductio/plugin.h>
static void later(const float* in, size_t n, float* out) {
  static int calls;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += in[i];
  *out = (float)sum + (calls++ > 5);
}
REDUCTIO_CPU_SUM_F32("mine/later", later)
"""


def test_what_fails_after_other_cases_alone_is_found_again_with_them(reductio, tmp_path):
    (tmp_path / "later.c").write_text(LATER)
    done = reductio("verify", "--variants", "./later.c", "--tier", "quick")
    assert "this case passes alone: an earlier case leaves something behind" in done.out
    again = [shlex.split(line) for line in re.findall(r"again: (.*)", done.out)]
    assert any("--tier" in command for command in again), done.out
    for command in again:
        assert reductio(*command[1:]).code == done.code == 2, command


def with_line(folder: Path, line: str) -> Path:
    text = (FIXTURES / "table.c").read_text()
    (folder / "table.c").write_text(text.replace("static uint64_t plans", line + "\nstatic uint64_t plans"))
    return folder / "table.c"


def test_a_table_by_hand_with_settings_passes_the_battery(reductio, tmp_path):
    library(tmp_path)
    printed = reductio("verify", "--variants", "./mine.so").ok()
    assert "refused: table/sum: takes one element at least" in printed
    info = reductio("info", "./mine.so").ok()
    assert "the same bits for one n" in info and "1, 2, 4 (default 2)" in info


def test_what_was_compiled_for_version_1_still_loads(reductio, tmp_path):
    """By a header as it was then: the problem ends with the workspace."""
    header = tmp_path / "include" / "reductio" / "plugin.h"
    header.parent.mkdir(parents=True)
    text = (SOURCE / "src" / "plugin" / "include" / "reductio" / "plugin.h").read_text()
    before, fields, after = re.split(r"( +/\* For REDUCTIO_ROW_SUMS and .*?)(?=\} reductio_problem;)", text, flags=re.S)
    assert "offsets" in fields
    header.write_text((before + after).replace("VERSION 2u", "VERSION 1u"))
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{header.parents[1]}", str(FIXTURES / "table.c"), "-o", str(tmp_path / "old.so")],
                   check=True)
    reductio("verify", "--variants", "./old.so", "--tier", "quick").ok()


SHAPES = r"""
#include <reductio/plugin.h>
#ifndef PITCH
#define PITCH p->pitch
#endif
static const char* enqueue(const reductio_problem* p, void* plan, void* in, void* out, void* stream) {
  const float* x = (const float*)in;
  float* sums = (float*)out;
  uint64_t i, k, count = p->operation == REDUCTIO_ROW_SUMS ? p->rows : p->columns;
  (void)plan;
  (void)stream;
  if (p->operation == REDUCTIO_SEGMENT_SUMS) count = p->segments;
  for (i = 0; i < count; ++i) {
    sums[i] = 0;
    if (p->operation == REDUCTIO_ROW_SUMS)
      for (k = 0; k < p->columns; ++k) sums[i] += x[i * (PITCH) + k];
    else if (p->operation == REDUCTIO_COLUMN_SUMS)
      for (k = 0; k < p->rows; ++k) sums[i] += x[k * (PITCH) + i];
    else
      for (k = (uint64_t)p->offsets[i]; k < (uint64_t)p->offsets[i + 1]; ++k) sums[i] += x[k];
  }
  return 0;
}
static const reductio_variant variant = {
    "mine/shapes", 0, REDUCTIO_CPU, REDUCTIO_ROW_SUMS | REDUCTIO_COLUMN_SUMS | REDUCTIO_SEGMENT_SUMS, REDUCTIO_F32,
    REDUCTIO_ON_DEVICE, REDUCTIO_SAME, 0, 0, 0, 0, 0, 0, enqueue, 0, 0, 0};
REDUCTIO_ADD(variant)
"""


def test_rows_columns_and_segments_are_a_plug_in_s_too(reductio, tmp_path):
    (tmp_path / "shapes.c").write_text(SHAPES)
    assert " 0 failed, 0 refused" in reductio("verify", "--variants", "./shapes.c", "--tier", "quick").ok()
    (tmp_path / "wrong.c").write_text(SHAPES.replace("PITCH p->pitch", "PITCH p->columns").replace("mine/", "other/"))
    wrong = reductio("verify", "--variants", "./wrong.c", "--tier", "quick")
    assert wrong.code == 2 and re.search(r"row \d+ of \d+: got", wrong.out), wrong.out


# ---- what is wrong with a file ----

@pytest.mark.parametrize("flags, why", {
    ("-DWITHOUT",): "has no function reductio_plugin",
    ("-DVERSION=3",): "is for version 3 of the plug-in interface, this program for versions 1 to 2",
    ("-DVERSION=1", "-DOPERATIONS=16"): "is for version 1 of the plug-in interface, and variant 'table/sum' declares "
                                        "operations of version 2",
    ("-DTABLE=0",): "offers nothing: nothing today",
    ("-DCOUNT=0",): "has no variant in its table",
    ("-DVARIANT=0",): "has a null pointer in its table: variant 0",
    ("-DCOUNT=2",): "has two variants 'table/sum'; rename one",
    ("-DID=0",): "has a null pointer in variant 0: id",
    ('-DID="sum"',): "has a variant 'sum', whose id is not a group and a name",
    ('-DID="a/b/c"',): "has a variant 'a/b/c', whose id is not a group and a name",
    ('-DID="a/b c"',): "has a variant 'a/b c', whose id is not a group and a name",
    ('-DID="host/plain"',): "has a variant 'host/plain', which already exists, from 'baselines/host.cpp'; rename it",
    ("-DTYPES=256",): "has an unknown value in variant 'table/sum': types 256",
    ("-DTYPES=0",): "has no types in variant 'table/sum'",
    ("-DOPERATIONS=128",): "has an unknown value in variant 'table/sum': operations 128",
    ("-DDEVICE=3",): "has an unknown value in variant 'table/sum': device 3",
    ("-DRESULT=3",): "has an unknown value in variant 'table/sum': result 3",
    ("-DREPEATS=3",): "has an unknown value in variant 'table/sum': repeats 3",
    ("-DENQUEUE=0",): "has a null pointer in variant 'table/sum': enqueue",
    ("-DRESULT=1",): "has a null pointer in variant 'table/sum': finish",
    ('-DSETTING=0,"1",0',): "has a null pointer in variant 'table/sum': the name of a setting",
    ('-DSETTING="a",0,0',): "has a null pointer in variant 'table/sum': the values of a setting",
    ('-DSETTING="a","1,,2",0',): "has a setting 'a' of '1,,2' in variant 'table/sum': give a word",
    ('-DSETTING="a","1,2","3"',): "whose default, '3', is not one of its values",
    ('-DSETTING="finish","host",0',): "has a setting 'finish' in variant 'table/sum', which means something else",
}.items())
def test_a_table_that_is_wrong_is_one_line(flags, why, reductio, tmp_path):
    library(tmp_path, *flags)
    assert why in reductio("list", "--plugin", "mine.so").error()


def test_files_that_are_no_plugins(reductio, tmp_path, mine):
    assert "there is no plug-in './none.cu'" in reductio("compare", "host/plain", "./none.cu").error()
    assert "there is no plug-in 'none.so'" in reductio("list", "--plugin", "none.so").error()
    (tmp_path / "text.so").write_text("no library")
    assert "cannot load './text.so': " in reductio("info", "./text.so").error()
    (tmp_path / "empty.c").write_text("#include <reductio/plugin.h>\n")
    assert "offers nothing: it adds no variant" in reductio("list", "./empty.c").err.splitlines()[-1]
    for command in ["info", "list", "verify --variants"]:
        assert "there is no plug-in 'none.cu'" in reductio(*command.split(), "none.cu").error()


def test_an_id_that_ends_as_a_file_is_a_variant(reductio, tmp_path, mine):
    mine.write_text(CPU.replace("mine/plain", "mine/plain.c"))
    reductio("list", "./mine.c").ok()
    assert "mine/plain.c" in reductio("info", "--plugin", "mine.c", "mine/plain.c").ok()


def test_settings_behind_a_file(reductio, tmp_path):
    library(tmp_path)
    compared = reductio("compare", "./mine.so:step=1", "./mine.so:step=4", "--sizes", "1000", "--contexts", "6", "--csv")
    assert [r["settings"] for r in compared.rows()] == ["step=4"]
    for command in ["info", "verify --variants"]:
        assert "only compare takes settings after a file" in reductio(*command.split(), "./mine.so:step=1").error()


def test_one_that_has_several_variants_is_named_with_one(reductio):
    error = reductio("info", FIXTURES / "cheats.cpp").err.splitlines()[-1]
    assert "variants; name one: info --plugin" in error and "cheat/honest" in error


def test_ids_of_two_plugins_may_not_be_alike(reductio, tmp_path, mine):
    shutil.copy(mine, tmp_path / "other.c")
    error = reductio("list", "--plugin", "mine.c", "--plugin", "other.c").err.splitlines()[-1]
    assert "plug-in 'other.c' has a variant 'mine/plain', which already exists, from 'mine.c'; rename it" in error


# ---- compiling ----

def test_what_was_compiled_is_kept_until_something_changes(reductio, tmp_path, mine):
    (tmp_path / "times.h").write_text("#define TIMES 1\n")
    mine.write_text('#include "times.h"\n' + CPU)
    compiled = lambda **e: "compiling: " in reductio("list", "./mine.c", **e).err
    assert compiled() and not compiled()
    (tmp_path / "times.h").write_text("#define TIMES 2\n")
    assert compiled() and not compiled()
    mine.write_text(mine.read_text() + "\n")
    assert compiled() and not compiled()
    assert compiled(XDG_CACHE_HOME=str(tmp_path / "other"))


def test_a_library_without_its_list_is_not_taken_for_the_sources(reductio, tmp_path, mine, cache):
    reductio("list", "./mine.c").ok()
    (library,) = (file for file in (cache / "reductio").glob("mine-*.so")
                  if str(mine) in file.with_suffix(".made_of").read_text())
    mine.write_text(CPU.replace("mine/plain", "mine/changed"))
    earlier = library.rename(tmp_path / "earlier.so")
    (library / "in-the-way").mkdir(parents=True)
    assert reductio("list", "./mine.c").code == 1
    shutil.rmtree(library)
    earlier.rename(library)
    assert "mine/changed" in reductio("list", "./mine.c").ok()


@pytest.mark.parametrize("name", ["c#", "a $x", "it's"])
def test_changes_are_seen_in_folders_of_any_name(name, reductio, tmp_path):
    (tmp_path / name).mkdir()
    for sum_ in ("mine/one", "mine/two"):
        (tmp_path / name / "a.h").write_text(f'#define ID "{sum_}"\n')
        (tmp_path / name / "mine.c").write_text('#include "a.h"\n' + CPU.replace('"mine/plain"', "ID"))
        assert sum_ in reductio("list", f"./{name}/mine.c").ok()
        assert "compiling: " not in reductio("list", f"./{name}/mine.c").err


@pytest.mark.parametrize("begin", [[], ["env", "--ignore-signal=CHLD"]])  # as some leave it that start programs
def test_the_compilers_errors_are_shown(begin, reductio, tmp_path):
    (tmp_path / "bad.cpp").write_text("int f() { return undeclared; }\n")
    program, *before = [*begin, BIN]
    failed = reductio(*before, "list", "./bad.cpp", binary=program)
    assert failed.code == 1 and "undeclared" in failed.err
    assert re.search(r"cannot compile '\./bad\.cpp': \S+ failed with exit code 1; see its messages above$", failed.err.strip())


def test_a_compiler_that_is_not_there(reductio, tmp_path, mine):
    (tmp_path / "mine.cu").write_text(listing())
    assert "$NVCC is '/none/nvcc', which is not a program" in reductio("list", "./mine.cu", NVCC="/none/nvcc").error()
    assert "$CC is 'none-cc', which is not a program" in reductio("list", "./mine.c", CC="none-cc").error()
    (tmp_path / "broken-cc").write_text("no interpreter")
    (tmp_path / "broken-cc").chmod(0o755)
    assert "broken-cc: Exec format error" in reductio("list", "./mine.c", CC=str(tmp_path / "broken-cc")).err


def test_a_compiler_of_several_words(reductio, mine):
    listed = reductio("list", "./mine.c", CC="env LC_ALL=C cc -DREDUCTIO_TEST")
    assert "mine/plain" in listed.out and "/env LC_ALL=C cc -DREDUCTIO_TEST -O3" in listed.err
    assert "compiling: " not in reductio("list", "./mine.c", CC="env LC_ALL=C cc -DREDUCTIO_TEST").err
    assert "compiling: " in reductio("list", "./mine.c", CC="env LC_ALL=C cc -DREDUCTIO_OTHER").err


def test_a_cache_that_cannot_be_written(reductio, tmp_path, mine):
    (tmp_path / "file").write_text("")
    assert "set $XDG_CACHE_HOME to another folder" in reductio("list", "./mine.c", XDG_CACHE_HOME=str(tmp_path / "file")).error()


def test_a_run_is_not_resumed_with_another_plugin_of_that_name(reductio, mine):
    run = ["run", "cpu", "--variants", "./mine.c", "--types", "f32", "--sizes", "1000", "--quick"]
    reductio(*run).ok()
    reductio(*run, "--resume").ok()
    mine.write_text(CPU.replace("double sum = 0", "double sum = 0.0, more = 0").replace("(float)sum", "(float)(sum + more)"))
    assert "it comes from another build of the program" in reductio(*run, "--resume").err


# ---- on a GPU ----

def skip_without_gpu():
    """Before nvcc takes seconds."""
    if not json.loads(call("info", "--json").ok())["devices"][0]["available"]:
        pytest.skip("no GPU here")


@pytest.mark.skipif(not NVCC, reason="nvcc is not there")
def test_the_pages_kernel_of_the_gpu(reductio, tmp_path):
    """Whose block size is to be given here."""
    assert listing().count("528, 256, 0") == 1
    (tmp_path / "mine.cu").write_text(listing().replace("528, 256, 0", "528, BLOCK, 0"))
    failed = reductio("list", "./mine.cu")
    assert failed.code == 1 and "BLOCK" in failed.err  # nvcc's own words
    flags = "--nvcc-flags=-DBLOCK=256 -arch=compute_90"
    listed = reductio("list", "./mine.cu", flags, "--csv")
    assert [(r["variant"], r["devices"]) for r in listed.rows()] == [("mine/loaded", "cuda")]
    assert listed.err.count("-arch=") == 1 and "-gencode" not in listed.err
    checked = reductio("verify", "./mine.cu", flags, "--device", "sim", "--sizes", "1000").ok()
    assert "mine/loaded " in checked and "mine/loaded@O0 " in checked
    skip_without_gpu()
    assert "mine/loaded" in reductio("verify", "--variants", "./mine.cu", "--nvcc-flags=-DBLOCK=256", "--device", "cuda",
                                     "--sizes", "1000,2^20").ok()


CUB = """
#include <cub/device/device_reduce.cuh>
#include <reductio/plugin.h>
static void sum(const float* in, size_t n, float* out, void* workspace, cudaStream_t stream) {
  size_t bytes = REDUCTIO_WORKSPACE_BYTES;
  cub::DeviceReduce::Sum(workspace, bytes, in, out, static_cast<int>(n), stream);
}
REDUCTIO_SUM_F32("mine/cub", sum)
"""
ON_GPU = {
    "allocates": r"cannot be captured into a graph",
    "waits": r"cannot be captured into a graph",
    "old-graph": r"cannot be captured into a graph",
    "by-address": r"call 2 of one plan.*: got \S+, want \S+",
    "other-stream": r"the output was not written",
    "default-stream": r"the output was not written",
    "past-workspace": r"wrote to memory past its workspace of \d+ bytes",
    "changes-input": r"changed its input, which it does not declare",
    "bad-launch": r"invalid (argument|configuration)",
    "bad-address": r"an illegal memory access was encountered",
}


@pytest.mark.skipif(not NVCC, reason="nvcc is not there")
def test_cheats_on_a_gpu(reductio):
    skip_without_gpu()
    verified = reductio("verify", "--variants", FIXTURES / "gpu_cheats.cu", "--device", "cuda", "--tier", "quick", "--json")
    judged = {v["variant"]: v for v in json.loads(verified.out)["verified"]}
    assert set(judged) == {f"gpu/{v}" for v in [*ON_GPU, "honest", "in-graph"]}
    assert judged["gpu/honest"]["status"] == judged["gpu/in-graph"]["status"] == "ok", "of single calls"
    for cheat, why in ON_GPU.items():
        assert any(re.search(why, f["why"]) for f in judged[f"gpu/{cheat}"]["failures"]), judged[f"gpu/{cheat}"]


@pytest.mark.skipif(not NVCC, reason="nvcc is not there")
@pytest.mark.parametrize("cache", ["warm", "cold_clean"])
def test_who_skips_work_inside_a_graph_is_wrong_and_who_does_not_is_timed(reductio, cache):
    skip_without_gpu()
    done = reductio("compare", "gpu/honest", "gpu/in-graph", "--plugin", FIXTURES / "gpu_cheats.cu", "--device", "cuda",
                    "--modes", "graph", "--cache", cache, "--sizes", "2^20", "--csv")
    assert re.search(r"call 2 of \d+ in one graph: got nan, want ", done.out + done.err), done
    honest = reductio("compare", "cub/sum", "gpu/honest", "--plugin", FIXTURES / "gpu_cheats.cu", "--device", "cuda",
                      "--modes", "graph", "--cache", cache, "--sizes", "2^20", "--csv")
    assert [r["verdict"] for r in honest.rows()] in (["SLOWER"], ["SAME"], ["FASTER"], ["UNDECIDED"]), honest


@pytest.mark.skipif(not NVCC, reason="nvcc is not there")
def test_cub_built_in_and_in_a_plugin_take_as_long(reductio, tmp_path):
    skip_without_gpu()
    (tmp_path / "cub.cu").write_text(CUB)
    compared = reductio("compare", "cub/sum", "./cub.cu", "--device", "cuda", "--sizes", "2^22,2^26", "--effect", "2%", "--csv")
    assert [r["verdict"] for r in compared.rows()] == ["SAME", "SAME"]


# ---- those that cheat ----

CAUGHT = {
    "first-answer": r"got \S+, want",
    "by-n": r"got \S+, want",
    "by-address": r"call 2 of one plan.*: got \S+, want \S+",
    "by-content": r"was right before element \d+ of the input was changed: the result of an earlier call",
    "thread": r"50 ms later the output is another: the call returned before its work was done",
    "deferred": r"the output was not written, or with what stood there before the call",
    "changes-input": r"changed its input, which it does not declare",
    "past-output": r"past the output",
    "behind-workspace": r"wrote to memory past its workspace of 16 bytes",
    "before-workspace": r"wrote to memory before its workspace",
    "rounds-up": r"changed how this thread rounds and left it so",
    "crashes": r"ended the process by SIGSEGV",
    "ends-the-process": r"ended the process by exit\(0\)",
    "never-ends": r"did not end within 1 s and was killed",
    "throws": r"ended the process by SIGABRT",
    "fails": r"out of patience",
}
PASS = ["honest", "inside-workspace", "refuses"]


@pytest.fixture(scope="session")
def judged(cache) -> dict[str, dict]:
    """Of all at once, each of which costs the others nothing."""
    verified = call("verify", "--variants", FIXTURES / "cheats.cpp", "--patience", "1", "--json", XDG_CACHE_HOME=str(cache))
    assert verified.code == 2, verified.err
    return {v["variant"]: v for v in json.loads(verified.out)["verified"]}


@pytest.mark.parametrize("cheat", CAUGHT)
def test_a_cheat_is_named(cheat, judged):
    verdict = judged[f"cheat/{cheat}"]
    assert verdict["status"] == "failed"
    assert any(re.search(CAUGHT[cheat], f["why"]) for f in verdict["failures"]), [f["why"] for f in verdict["failures"]]


def test_others_are_not_blamed(judged):
    assert [v for v, verdict in judged.items() if verdict["status"] == "ok"] == sorted(f"cheat/{v}" for v in PASS)
    assert set(judged) == {f"cheat/{v}" for v in [*CAUGHT, *PASS]}


@pytest.mark.parametrize("cheat", ["by-n", "by-address", "by-content"])
def test_a_cheat_is_not_compared(cheat, reductio):
    compared = reductio("compare", "--plugin", FIXTURES / "cheats.cpp", "host/plain", f"cheat/{cheat}", "--sizes", "2^16",
                        "--contexts", "6")
    assert compared.code == 2 and f"cheat/{cheat} gave a wrong result" in compared.err


def off_by_one_percent(mine: Path) -> None:
    """So little, beside what rounding may do in 2^20 additions in a row, that no result of random data shows it."""
    mine.write_text(CPU.replace("(float)sum", "(float)(1.01 * sum)"))


def test_one_that_is_a_little_wrong_is_not_compared(reductio, mine):
    off_by_one_percent(mine)
    compared = reductio("compare", "host/plain", "./mine.c", "--sizes", "2^20")
    assert compared.code == 2
    assert re.fullmatch(r"reductio: mine/plain gave a wrong result: got \S+, want \S+ exactly, of data whose sum is exact in any order "
                        r"of adding; 'reductio verify' tells more", compared.err.splitlines()[-1])
    assert "FASTER" not in compared.out and "SLOWER" not in compared.out and "SAME" not in compared.out


def test_a_comparison_of_nothing_ends_at_once(reductio, tmp_path, mine):
    """The base alone is not worth its 20 contexts, each of which has a process."""
    off_by_one_percent(mine)
    (tmp_path / "base.c").write_text("#include <stdio.h>\n" + CPU.replace("mine/plain", "mine/base").replace(
        "  *out", '  static int calls;\n  FILE* const f = calls++ ? 0 : fopen("processes", "a");\n  if (f) fputc(\'x\', f), fclose(f);\n  *out'))
    assert reductio("compare", "./base.c", "./mine.c", "--sizes", "2^20").code == 2
    assert (tmp_path / "processes").read_text() == "xx"  # pilots, and one context


def test_one_that_is_a_little_wrong_costs_its_own_rows(reductio, mine):
    off_by_one_percent(mine)
    done = reductio("run", "cpu", "--quick", "--plugin", "mine.c", "--variants", "^(host|mine)/plain$", "--types", "f32", "--sizes", "2^20",
                    "--csv")
    assert done.code == 2, done.err
    rows = {r["variant"]: r for r in csv.DictReader(done.out.splitlines())}
    assert [rows[v]["status"] for v in ("host/plain", "mine/plain")] == ["ok", "wrong"] and not rows["mine/plain"]["time_median_s"]
    assert "of data whose sum is exact in any order" in rows["mine/plain"]["reason"]


@pytest.mark.parametrize("cheat, end", [
    ("crashes", "SIGSEGV (Segmentation fault)"), ("ends-the-process", "exit(0)"), ("throws", "SIGABRT (Aborted)")])
def test_one_that_ends_its_process_costs_its_own_rows(cheat, end, reductio):
    done = reductio("run", "cpu", "--quick", "--plugin", FIXTURES / "cheats.cpp", "--variants",
                    f"^(host/plain|cheat/{cheat})$", "--types", "f32", "--sizes", "2^10", "--csv")
    assert done.code == 1, done.err
    rows = {r["variant"]: (r["status"], r["reason"]) for r in csv.DictReader(done.out.splitlines())}
    assert rows.pop(f"cheat/{cheat}") == ("failed", f"its process was ended by {end}")
    assert [(v, status) for v, (status, _) in rows.items()] == [("host/plain", "ok")]


def test_exit_handlers_of_a_plugin_do_not_run(reductio, tmp_path):
    (tmp_path / "leaves.c").write_text(
        "#include <unistd.h>\n" + CPU.replace("(float)sum", "(float)sum + 1")
        + "__attribute__((destructor)) static void leave(void) { _exit(0); }\n")
    assert reductio("verify", "--variants", "./leaves.c", "--tier", "quick").code == 2


def test_a_clock_of_a_plugins_own_changes_no_time(reductio):
    rows = reductio("compare", "--plugin", FIXTURES / "cheats.cpp", "host/plain", "cheat/honest", "--sizes", "2^16",
                    "--contexts", "6", "--csv").rows()
    assert 1e-6 < float(rows[0]["time_s"]) < 1


# ---- the page ----

@pytest.mark.parametrize("language, ending, command", [
    ("rust", "rs", "rustc -O --crate-type cdylib"), ("fortran", "f90", "gfortran -O3 -shared -fPIC")])
def test_libraries_of_other_languages(language, ending, command, reductio, tmp_path):
    if not shutil.which(command.split()[0]):
        pytest.skip(f"no {command.split()[0]} here")
    text = (SOURCE / "src" / "plugin" / "examples" / f"mine.{ending}").read_text()
    assert all(f"{command} mine.{ending} -o libmine.so" in shown for shown in (text, (SOURCE / "docs" / "plugins.md").read_text()))
    (tmp_path / f"mine.{ending}").write_text(text)
    made = subprocess.run([*command.split(), f"mine.{ending}", "-o", "libmine.so"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert re.search(rf"ok +cpu +mine/{language} +\d+ passed", reductio("verify", "--variants", "./libmine.so").ok())


def test_the_example_in_c(reductio, tmp_path):
    shutil.copy(SOURCE / "src" / "plugin" / "examples" / "mine.c", tmp_path)
    assert re.search(r"ok +cpu +mine/steps +\d+ passed", reductio("verify", "--variants", "./mine.c").ok())


def test_outside_of_the_source_folder_new_writes_a_plugin(tmp_path):
    said, then = call("new", "mine/first-idea", cwd=tmp_path).ok().splitlines()
    (file,) = tmp_path.iterdir()
    assert said == (f"{file.name}: variant mine/first-idea, a plug-in; inside reductio's source folder it would join the "
                    "program")
    assert then.startswith("next: ") and f"verify --variants ./{file.name} && " in then and f" ./{file.name}" in then
    assert "already exists; choose another name" in call("new", "mine/first-idea", cwd=tmp_path).error(1)
    assert "--from chooses a kernel of reductio's source folder" in call("new", "mine/x", "--from", "atomic",
                                                                         cwd=tmp_path).error(1)
    if file.suffix == ".cpp":  # a kernel needs a GPU
        call("verify", "--variants", f"./{file.name}", "--tier", "quick", cwd=tmp_path).ok()
