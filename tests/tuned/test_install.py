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
    "tuned/long_accumulator.h", "tuned/finish.h", "tuned/cluster.cuh", "tuned/exact.h", "tuned/partial.h",
    "device/kernel.h", "device/cuda/kernel.cuh",
}
ARCHITECTURES = ("75", "80", "90", "120")  # as far as the toolkit has them: 120 came with 12.8
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


def build(prefix: Path, folder: Path) -> subprocess.CompletedProcess:
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    known = run(NVCC, "--list-gpu-arch").stdout.split()
    architectures = [a for a in ARCHITECTURES if f"compute_{a}" in known]
    assert {"80", "90"} <= set(architectures), known
    done = run("cmake", "-S", CONSUMER, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CUDA_COMPILER={NVCC}",
               f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(architectures)}", f"-DCMAKE_CUDA_FLAGS={' '.join(optimises_little(NVCC))}")
    assert done.returncode == 0, done.stderr
    return run("cmake", "--build", folder)


def test_what_is_installed_is_tuned_and_what_it_includes(installed):
    include = installed / "include" / "reductio"
    assert {p.relative_to(include).as_posix() for p in include.rglob("*") if p.is_file()} == HEADERS
    for header in HEADERS:
        assert (include / header).read_bytes() == (SOURCE / "src" / header).read_bytes()


def test_a_project_of_others_builds_and_runs(installed, tmp_path):
    done = build(installed, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = run(tmp_path / "consumer")
    if ran.returncode == NO_GPU:
        assert "no GPU" in ran.stdout
    else:
        assert (ran.returncode, ran.stdout) == (0, "all right\n")


def test_an_include_of_the_harness_would_be_found(installed, tmp_path):
    prefix = tmp_path / "prefix"
    shutil.copytree(installed, prefix)
    header = prefix / "include" / "reductio" / "tuned" / "launch_table.h"
    header.write_text(header.read_text() + '#include "core/types.h"\n')
    done = build(prefix, tmp_path / "build")
    assert done.returncode != 0 and "core/types.h" in done.stdout + done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_it_compiles_by_itself_for_the_simulated_device(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    (tmp_path / "alone.cpp").write_text('#include "tuned/tuned.h"\n'
                                        "template class reductio::tuned::Reduction<float, double>;\n"
                                        "template class reductio::tuned::Reduction<int, long long>;\n")
    done = run(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", SOURCE / "src",
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


def test_on_cuda_it_includes_no_library(installed, tmp_path):
    """What a user's file is spared: CUB, Thrust and cooperative groups take nvcc seconds."""
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    (tmp_path / "alone.cu").write_text("#include <reductio/tuned/tuned.h>\n")
    done = run(NVCC, "-std=c++17", "-M", f"-I{installed}/include", tmp_path / "alone.cu")
    assert done.returncode == 0, done.stderr
    assert "tuned/launch_table.h" in done.stdout
    assert [name for name in ("cub/", "thrust/", "cooperative_groups") if name in done.stdout] == []


def test_headers_of_a_users_own_are_not_taken_for_it(installed, tmp_path):
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    for header in HEADERS:
        of_the_user = tmp_path / "include" / header
        of_the_user.parent.mkdir(parents=True, exist_ok=True)
        of_the_user.write_text("#error of the user\n")
    (tmp_path / "alone.cu").write_text("#include <reductio/tuned/tuned.h>\n")
    done = run(NVCC, "-std=c++17", "-M", f"-I{tmp_path}/include", f"-I{installed}/include", tmp_path / "alone.cu")
    assert done.returncode == 0, done.stderr


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


def test_the_listing_of_the_document_compiles_as_it_stands(installed, tmp_path):
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    (listing,) = re.findall(r"^```cuda\n(.*?)^```", (SOURCE / "docs" / "tuned.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "sum.cu").write_text(listing)
    done = run(NVCC, "-std=c++17", "-Werror=all-warnings", "-c", "-arch=sm_90", *optimises_little(NVCC),
               f"-I{installed}/include", tmp_path / "sum.cu", "-o", tmp_path / "sum.o")
    assert done.returncode == 0, done.stderr


def test_files_for_different_gpus_share_no_function_that_launches(installed, tmp_path):
    """The linker would take one of two functions of one name, and with it the other file's kernels and capability."""
    if not (Path(NVCC).is_file() and shutil.which("nm")):
        pytest.skip("nvcc or nm is not there")
    (tmp_path / "call.cu").write_text(
        "#include <reductio/tuned/tuned.h>\nnamespace tuned = reductio::tuned;\n"
        "void FUNCTION(const float* in, float* out, std::uint64_t* workspace) {\n"
        "  tuned::sum(in, 100, out, workspace, tuned::current_gpu(), nullptr);\n}\n")
    symbols = []
    for name, archs in (("older", ["80"]), ("newer", ["80", "90"])):
        codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in archs]
        done = run(NVCC, "-std=c++17", "-c", f"-I{installed}/include", f"-DFUNCTION={name}", *codes,
                   *optimises_little(NVCC), tmp_path / "call.cu", "-o", tmp_path / f"{name}.o")
        assert done.returncode == 0, done.stderr
        listed = run("nm", "-C", tmp_path / f"{name}.o").stdout.splitlines()
        symbols.append({line.split(" ", 2)[2] for line in listed if " W " in line and "reductio" in line})
    assert any("current_gpu" in s for s in symbols[0]), symbols
    shared = symbols[0] & symbols[1]
    assert not [s for s in shared if re.search("current_gpu|Reduction|sum", s)], shared


def test_halves_are_added_up_where_their_conversions_are_switched_off(installed, tmp_path):
    """As PyTorch compiles its extensions."""
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    (tmp_path / "halves.cu").write_text(
        "#include <reductio/tuned/tuned.h>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
        "template class reductio::tuned::Reduction<__half, float>;\n"
        "template class reductio::tuned::Reduction<__nv_bfloat16, float>;\n")
    off = [f"-D__CUDA_NO_{what}__" for what in (
        "HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS", "BFLOAT16_OPERATORS")]
    done = run(NVCC, "-std=c++17", "-c", "-arch=sm_90", f"-I{installed}/include", *off, *optimises_little(NVCC),
               tmp_path / "halves.cu", "-o", tmp_path / "halves.o")
    assert done.returncode == 0, done.stderr


MESSAGE = "tuned: the result's type does not go with the elements': integers take an integer of 4 or 8 bytes"
MISMATCHED = [("double", "float"), ("int", "float"), ("long long", "int"), ("float", "int"), ("volatile float", "float"),
              ("float", "const float"), ("float", "volatile float")]
CALLS = ("sum", "sum_of_squares", "moments")


def test_a_result_that_does_not_go_with_its_elements_is_one_error(tmp_path):
    """double into float compiled, and rounded each element before it was added. One compilation of a line for each call."""
    lines = ['#include "tuned/tuned.h"', "using namespace reductio;"]
    for k, (element, result) in enumerate(MISMATCHED):
        lines.append(f"void f{k}(device::GlobalPtr<const {element}> in, device::GlobalPtr<{result}> out) {{")
        lines += [f"  tuned::{call}<{element}, {result}>(in, 1, out, {{}}, tuned::Gpu{{6, 2048}}, nullptr);" for call in CALLS]
        lines.append("}")
    (tmp_path / "calls.cpp").write_text("\n".join(lines) + "\n")
    done = run("g++", "-std=c++20", "-fsyntax-only", "-I", SOURCE / "src", tmp_path / "calls.cpp")
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    assert done.returncode != 0 and len(errors) == len(CALLS) * len(MISMATCHED), done.stderr
    assert all(MESSAGE in error for error in errors), errors
    named = {int(line) for line in re.findall(r"calls\.cpp:(\d+):\d+: +required from here", done.stderr)}
    assert named == {k for k, line in enumerate(lines, 1) if line.startswith("  tuned::")}, done.stderr


def test_cuda_names_a_result_that_does_not_go_with_its_elements(installed, tmp_path):
    if not Path(NVCC).is_file():
        pytest.skip("nvcc is not there, and g++ knows no CUDA")
    pairs = [("double", "float"), ("int", "float"), ("__half", "int"), ("__half", "__half")]
    calls = [f"void f{k}(const {i}* in, {o}* out) {{ tuned::Reduction<{i}, {o}> call(1, tuned::h200); }}\n"
             for k, (i, o) in enumerate(pairs)]
    (tmp_path / "call.cu").write_text(
        f"#include <cuda_fp16.h>\n#include <reductio/tuned/tuned.h>\nnamespace tuned = reductio::tuned;\n{''.join(calls)}"
        "void g(const double* in, float* out) { tuned::sum(in, 1, out, nullptr, tuned::h200, nullptr); }\n")
    done = run(NVCC, "-std=c++17", "-arch=sm_80", "-c", "-o", tmp_path / "call.o", f"-I{installed}/include",
               tmp_path / "call.cu")
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    assert done.returncode != 0 and sum(MESSAGE in error for error in errors) >= len(pairs), done.stderr
    assert MESSAGE in errors[0], done.stderr
