"""Releases of CUB side by side: none runs another's code, and one that cannot be had is told in a line."""

import hashlib
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from project import SOURCE

REDUCTIO = os.environ.get("REDUCTIO_BIN", "")
MODULE = SOURCE / "cmake" / "CcclReleases.cmake"
LAUNCHER = SOURCE / "cmake" / "release_or_none.sh"
LIST = (SOURCE / "cmake" / "cccl_releases.txt").read_text().splitlines()
KNOWN = [line.split()[0] for line in LIST if line[0] != "#"]

# Of the standard library, error.h and NVTX's versioned C functions.
ALIKE = (r"DW\.ref\.|_Z(T[ISV]|GV|Z)?(N[KVRO]*)?(S[tabsiod]|9__gnu_cxx|8reductio(11DeviceError|5Error))|"
         r"(_ZZ\d+)?nvtx\w+_v3|InitializeInjectionNvtx2_fnptr$")


def mergeable(object_file: Path) -> set[str]:
    """The symbols that the linker merges with another object's of the same name. nvcc names an anonymous namespace by
    its file and a process id, which may repeat: here ids do not tell names apart."""
    listed = subprocess.run(["nm", "--defined-only", object_file], capture_output=True, text=True, check=True).stdout
    names = (line.split()[-1] for line in listed.splitlines() if line.split()[-2] in "WVu")
    return {re.sub(r"(_GLOBAL__N__\w+?_cu_[0-9a-f]{8}_)\d+", r"\1", name) for name in names}


def shared(objects: list[Path]) -> list[str]:
    """What two objects share and may differ in."""
    owner, shared_names = {}, []
    for path in objects:
        for name in mergeable(path):
            if name in owner:
                shared_names.append(name)
            owner[name] = path
    return sorted(name for name in shared_names if not re.match(ALIKE, name))


def compiled() -> list[Path]:
    folder = Path(REDUCTIO).parent.parent / "baselines" / "CMakeFiles" if REDUCTIO else Path("/nonexistent")
    return sorted(folder.glob("reductio_cccl_*.dir/cccl_release.cu.o"))


def test_no_release_runs_the_code_of_another():
    objects = compiled()
    if len(objects) < 2:
        pytest.skip("built with fewer than two releases of CUB")
    assert all(len(mergeable(o)) > 20 for o in objects)
    assert shared(objects) == []


@pytest.mark.parametrize("source", [
    "namespace cub { template <class T> struct Agent { static T run(T x); }; "
    "template <class T> __attribute__((noinline)) T Agent<T>::run(T x) { return x + RELEASE; } "
    "template struct Agent<int>; }",
    "inline __attribute__((noinline)) int _GLOBAL__N__aca67070_15_cccl_release_cu_f8d0ea04_PID(int x) "
    "{ return x; } int use_RELEASE(int x) { return _GLOBAL__N__aca67070_15_cccl_release_cu_f8d0ea04_PID(x); }",
])
def test_releases_that_are_not_wrapped_are_found(tmp_path, source):
    objects = []
    for release in ("1", "2"):
        path = tmp_path / f"{release}.cpp"
        path.write_text(source.replace("RELEASE", release).replace("PID", "12" + release))
        objects.append(path.with_suffix(".o"))
        subprocess.run(["c++", "-c", path, "-o", objects[-1]], check=True)
    assert len(shared(objects)) == 1


@pytest.fixture
def fetch(tmp_path):
    """Asks for the headers of a release of a list of one, whose wheel lies in `net`."""
    net, project, kept = tmp_path / "net", tmp_path / "project", tmp_path / "kept"
    for folder in (net, project / "cmake", kept):
        folder.mkdir(parents=True)
    wheel = net / "cccl-9.8.7-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("nvidia/include/cub/version.cuh", "#define CUB_VERSION 900807\n")
    good = hashlib.sha256(wheel.read_bytes()).hexdigest()

    def asked(digest=good, releases=None):
        (project / "cmake" / "cccl_releases.txt").write_text(f"# list\n9.8.7 19.0 {digest} file://{wheel}\n")
        script = tmp_path / "ask.cmake"
        script.write_text("cmake_minimum_required(VERSION 3.25)\n"
                          f"set(PROJECT_SOURCE_DIR {project})\nset(PROJECT_BINARY_DIR {tmp_path}/build)\n"
                          f"set(REDUCTIO_CCCL_FOLDER {kept})\ninclude({MODULE})\n" +
                          (f'set(REDUCTIO_CCCL_RELEASES "{releases}")\nreductio_add_cccl_releases()\n' if releases else
                           'reductio_cccl_headers(9.8.7 dir why)\nmessage("dir=${dir}")\nmessage("why=${why}")\n'))
        done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True)
        return done.stderr

    asked.wheel, asked.kept = wheel, kept
    return asked


def test_headers_are_fetched_once_and_kept(fetch):
    for _ in range(2):
        said = fetch()
        folder = re.search("dir=(.+)", said)[1]
        assert (Path(folder) / "cub" / "version.cuh").is_file()
        fetch.wheel.unlink(missing_ok=True)  # the second time there is no network


def test_a_release_that_cannot_be_fetched_says_why(fetch):
    fetch.wheel.unlink()
    said = fetch()
    assert "dir=\n" in said
    assert re.search(r"why=its headers could not be fetched \(.+\); put cccl-9\.8\.7\S+\.whl into", said)


def test_a_wheel_with_another_hash_is_refused(fetch):
    said = fetch(digest="0" * 64)
    assert "dir=\n" in said and re.search(r"why=\S+\.whl is not the file that cmake/cccl_releases\.txt lists", said)


def test_an_unknown_release_lists_the_known(fetch):
    assert "no release '1.2.3'; known: 9.8.7, or all, or none" in " ".join(fetch(releases="1.2.3").split())


def test_a_release_that_does_not_compile_is_left_out(tmp_path):
    compiler = tmp_path / "nvcc"
    compiler.write_text('#!/bin/sh\nfor last; do :; done\n'
                        '[ "$last" = -DREDUCTIO_CCCL_UNCOMPILED ] || { echo "no such type"; exit 2; }\n')
    compiler.chmod(0o755)
    done = subprocess.run([LAUNCHER, "9.8.7", tmp_path / "log", compiler, "-c", "a.cu"], capture_output=True, text=True)
    assert done.returncode == 0
    assert re.fullmatch("reductio: CUB 9.8.7 does not compile with this nvcc.*\n", done.stderr)
    assert "no such type" in (tmp_path / "log").read_text()


def test_a_variant_of_a_release_that_is_not_built_says_why():
    if not compiled():
        pytest.skip("built without releases of CUB")
    built = {re.sub(r"reductio_cccl_(.*)\.dir", r"\1", o.parent.name).replace("_", ".") for o in compiled()}
    asked = {"9.9": "releases of CUB are " + ", ".join(KNOWN)}
    for release in [r for r in KNOWN if r not in built][:1]:
        asked[release] = f"without CUB {release}"
    for release, answer in asked.items():
        done = subprocess.run([REDUCTIO, "info", f"cub@{release}/sum"], capture_output=True, text=True)
        assert done.returncode == 1 and answer in done.stderr and done.stderr.count("\n") == 1, done.stderr
