"""tuned is usable outside: what `cmake --install` puts down is enough for a project that knows nothing of this one, for
every architecture that it promises. On a GPU the project's program checks graphs that are replayed and two streams at once."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from project import SOURCE, optimises_little

REDUCTIO = os.environ.get("REDUCTIO_BIN", "")
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
CONSUMER = Path(__file__).with_name("consumer")
HEADERS = {
    "tuned/tuned.h", "tuned/launch_table.h", "tuned/reading.h", "tuned/digits.h",
    "tuned/far_bands.h", "tuned/finish.h", "tuned/rows.h", "tuned/columns.h", "tuned/segments.h", "tuned/cluster.cuh",
    "exact/exact.h", "exact/tile.h", "exact/elements.h", "exact/window.h", "exact/finish.h", "exact/result.h",
    "exact/lanes.h", "exact/partial.h", "exact/lines.h",
    "device/kernel.h", "device/cuda/kernel.cuh",
}
FORMER = {f"tuned/{name}.h": f'#pragma once\n#include "../exact/{name}.h"\n' for name in ("exact", "partial")}
# As far as the toolkit has them: 120 came with 12.8. For 90 the document's listing is compiled, and where a GPU runs it all.
ARCHITECTURES = ("75", "80", *(["90"] if Path("/dev/nvidiactl").exists() else []), "120")
NO_GPU = 77


def run(*command) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    if not REDUCTIO:
        pytest.skip("REDUCTIO_BIN names no program, so no build folder to install from")
    prefix = tmp_path_factory.mktemp("prefix")
    done = run("cmake", "--install", Path(REDUCTIO).parent.parent, "--prefix", prefix, "--component", "tuned")
    assert done.returncode == 0, done.stderr
    return prefix


@pytest.fixture(scope="module")
def nvcc() -> str:
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    return NVCC


@pytest.fixture(scope="module")
def consumer(installed, nvcc, tmp_path_factory) -> Path:
    """The build folder of the project of others."""
    known = run(nvcc, "--list-gpu-arch").stdout.split()
    architectures = [a for a in ARCHITECTURES if f"compute_{a}" in known]
    assert {"75", "80"} <= set(architectures), known
    folder = tmp_path_factory.mktemp("consumer")
    flags = " ".join(optimises_little(nvcc))
    done = run("cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={installed}", f"-DCMAKE_CUDA_COMPILER={nvcc}",
               f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(architectures)}", f"-DCMAKE_CUDA_FLAGS={flags}")
    assert done.returncode == 0, done.stderr
    done = run("cmake", "--build", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_what_is_installed_is_tuned_and_what_it_includes(installed):
    include = installed / "include" / "reductio"
    assert {p.relative_to(include).as_posix() for p in include.rglob("*") if p.is_file()} == HEADERS | FORMER.keys()
    assert {name: (include / name).read_text() for name in FORMER} == FORMER
    for header in HEADERS:
        assert (include / header).read_bytes() == (SOURCE / "src" / header).read_bytes()


def test_a_project_of_others_builds_and_runs(consumer):
    ran = run(consumer / "consumer")
    if ran.returncode == NO_GPU:
        assert "no GPU" in ran.stdout
    else:
        assert (ran.returncode, ran.stdout) == (0, "all right\n")


def test_it_compiles_by_itself_for_the_simulated_device(tmp_path):
    """By g++ it is the first header of MISMATCHED's file."""
    if not shutil.which("clang++"):
        pytest.skip("no clang++ here")
    (tmp_path / "alone.cpp").write_text('#include "tuned/tuned.h"\n'
                                        "template class reductio::tuned::Reduction<float, double>;\n"
                                        "template class reductio::tuned::Reduction<int, long long>;\n")
    done = run("clang++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", SOURCE / "src",
               tmp_path / "alone.cpp")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cxx14_is_told_in_one_line(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    (tmp_path / "old.cpp").write_text('#include "tuned/tuned.h"\n')
    done = run(compiler, "-std=c++14", "-fsyntax-only", "-I", SOURCE / "src", tmp_path / "old.cpp")
    assert done.returncode != 0 and done.stderr.count("error:") == 1, done.stderr
    assert "needs C++17: compile with -std=c++17" in done.stderr


def headers_read(*includes: Path, folder: Path) -> subprocess.CompletedProcess:
    """The headers that nvcc reads of a file with tuned alone."""
    (folder / "alone.cu").write_text("#include <reductio/tuned/tuned.h>\n")
    return run(NVCC, "-std=c++17", "-M", *(f"-I{path}" for path in includes), folder / "alone.cu")


def test_on_cuda_it_includes_no_library_and_no_header_of_the_users(installed, nvcc, tmp_path):
    """What a user's file is spared: CUB, Thrust and cooperative groups take nvcc seconds."""
    for header in HEADERS:
        of_the_user = tmp_path / "include" / header
        of_the_user.parent.mkdir(parents=True, exist_ok=True)
        of_the_user.write_text("#error of the user\n")
    done = headers_read(tmp_path / "include", installed / "include", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "tuned/launch_table.h" in done.stdout
    assert [name for name in ("cub/", "thrust/", "cooperative_groups") if name in done.stdout] == []


def test_an_include_of_the_harness_would_be_found(installed, nvcc, tmp_path):
    header = shutil.copytree(installed, tmp_path / "prefix") / "include" / "reductio" / "tuned" / "launch_table.h"
    header.write_text(header.read_text() + '#include "core/types.h"\n')
    done = headers_read(tmp_path / "prefix" / "include", folder=tmp_path)
    assert done.returncode != 0 and "core/types.h" in done.stderr


def test_a_file_that_is_no_cuda_has_the_workspaces_size_and_is_told_of_the_rest(installed, tmp_path):
    """A class that .cpp files see may hold a Gpu and allocate a workspace."""
    (tmp_path / "size.cpp").write_text("#include <reductio/tuned/launch_table.h>\n"
                                       "using namespace reductio::tuned;\n"
                                       "static_assert(workspace_bytes > 0 && arrival_bytes(h200) > 0);\n")
    compiler = ["g++", "-std=c++17", "-fsyntax-only", f"-I{installed}/include"]
    done = run(*compiler, tmp_path / "size.cpp")
    assert done.returncode == 0, done.stderr
    (tmp_path / "call.cpp").write_text("#include <reductio/tuned/tuned.h>\n")
    done = run(*compiler, tmp_path / "call.cpp")
    assert done.returncode != 0 and "compile this file as CUDA" in done.stderr


def test_the_listing_of_the_document_compiles_as_it_stands_and_halves_without_their_conversions(installed, nvcc, tmp_path):
    """PyTorch compiles its extensions so, that halves have no conversions and no operators."""
    (listing,) = re.findall(r"^```cuda\n(.*?)^```", (SOURCE / "docs" / "tuned.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "sum.cu").write_text(listing + "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
                                     "template class reductio::tuned::Reduction<__half, float>;\n"
                                     "template class reductio::tuned::Reduction<__nv_bfloat16, float>;\n")
    off = [f"-D__CUDA_NO_{what}__" for what in (
        "HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS", "BFLOAT16_OPERATORS")]
    done = run(nvcc, "-std=c++17", "-Werror=all-warnings", "-c", "-arch=sm_90", *optimises_little(nvcc), *off,
               f"-I{installed}/include", tmp_path / "sum.cu", "-o", tmp_path / "sum.o")
    assert done.returncode == 0, done.stderr


def mergeable(object_file: Path) -> set[str]:
    """Our symbols of which the linker keeps one of several."""
    listed = run("nm", "-C", object_file).stdout.splitlines()
    return {line.split(" ", 2)[2] for line in listed if " W " in line and "reductio" in line}


def test_files_for_different_gpus_share_no_function_that_launches(installed, consumer, tmp_path):
    """The linker would take one of two functions of one name, and with it the other file's kernels and capability."""
    if not shutil.which("nm"):
        pytest.skip("nm is not there")
    (tmp_path / "older.cu").write_text(
        "#include <reductio/tuned/tuned.h>\nnamespace tuned = reductio::tuned;\n"
        "void older(const float* in, double* out, std::uint64_t* workspace) {\n"
        "  tuned::sum(in, 100, out, workspace, tuned::current_gpu(), nullptr);\n}\n")
    first = ARCHITECTURES[0]  # of those that the consumer is compiled for
    done = run(NVCC, "-std=c++17", "-c", f"-I{installed}/include", f"-gencode=arch=compute_{first},code=compute_{first}",
               *optimises_little(NVCC), tmp_path / "older.cu", "-o", tmp_path / "older.o")
    assert done.returncode == 0, done.stderr
    older, (newer,) = mergeable(tmp_path / "older.o"), map(mergeable, consumer.rglob("main.cu.o"))
    for function in ("current_gpu", "Reduction", "sum"):
        assert any(function in s for s in older) and any(function in s for s in newer)
        assert not [s for s in older & newer if function in s]


def test_a_program_and_a_library_in_it_launch_by_functions_of_their_own(consumer):
    """Each may have a CUDA runtime, which knows its own kernels and errors alone: what all kernels share must not be
    merged."""
    if not shutil.which("readelf"):
        pytest.skip("readelf is not there")
    object_file, = consumer.rglob("main.cu.o")
    weak = [line for line in run("readelf", "-sW", object_file).stdout.splitlines() if re.search(" FUNC +WEAK ", line)]
    for name in ("launch_any", "check_launch"):
        of_name = [line for line in weak if name in line]
        assert of_name and all(" HIDDEN " in line for line in of_name)


MESSAGE = "tuned: the result's type does not go with the elements': integers take an integer of 4 or 8 bytes"
MISMATCHED = [("double", "float"), ("int", "float"), ("long long", "int"), ("float", "int"), ("volatile float", "float"),
              ("float", "const float"), ("float", "volatile float")]
CALLS = ("sum", "sum_of_squares", "moments")


def test_a_result_that_does_not_go_with_its_elements_is_one_error(tmp_path):
    """double into float compiled, and rounded each element before it was added. One compilation of a line for each call."""
    lines = ['#include "tuned/tuned.h"', "using namespace reductio;"]
    for k, (element, result) in enumerate(MISMATCHED):
        lines.append(f"void f{k}(const {element}* in, {result}* out) {{")
        lines += [f"  tuned::{call}<{element}, {result}>(in, 1, out, {{}}, tuned::Gpu{{6, 2048}}, nullptr);" for call in CALLS]
        lines.append("}")
    (tmp_path / "calls.cpp").write_text("\n".join(lines) + "\n")
    done = run("g++", "-std=c++20", "-fsyntax-only", "-I", SOURCE / "src", tmp_path / "calls.cpp")
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    assert done.returncode != 0 and len(errors) == len(CALLS) * len(MISMATCHED), done.stderr
    assert all(MESSAGE in error for error in errors), errors
    named = {int(line) for line in re.findall(r"calls\.cpp:(\d+):\d+: +required from here", done.stderr)}
    assert named == {k for k, line in enumerate(lines, 1) if line.startswith("  tuned::")}, done.stderr


def test_cuda_names_a_result_that_does_not_go_with_its_elements(installed, nvcc, tmp_path):
    pairs = [("double", "float"), ("int", "float"), ("__half", "int"), ("__half", "__half")]
    calls = [f"void f{k}(const {i}* in, {o}* out) {{ tuned::Reduction<{i}, {o}> call(1, tuned::h200); }}\n"
             for k, (i, o) in enumerate(pairs)]
    (tmp_path / "call.cu").write_text(
        f"#include <cuda_fp16.h>\n#include <reductio/tuned/tuned.h>\nnamespace tuned = reductio::tuned;\n{''.join(calls)}"
        "void g(const double* in, float* out) { tuned::sum(in, 1, out, nullptr, tuned::h200, nullptr); }\n")
    done = run(nvcc, "-std=c++17", "-arch=sm_80", "-c", "-o", tmp_path / "call.o", f"-I{installed}/include",
               tmp_path / "call.cu")
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    assert done.returncode != 0 and sum(MESSAGE in error for error in errors) >= len(pairs), done.stderr
    assert MESSAGE in errors[0], done.stderr
