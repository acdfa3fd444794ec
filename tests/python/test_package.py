"""The Python package on the CPU: functions as variants, what is said of wrong ones, and the command line."""

import contextlib
import csv
import ctypes
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import types
import typing
from pathlib import Path

import pytest
from project import SOURCE

PACKAGE = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")).parents[1] / "python"
sys.path.insert(0, str(PACKAGE))
if not (PACKAGE / "reductio" / "libreductio.so").exists():
    pytest.skip("a sanitized build has no package", allow_module_level=True)

np = pytest.importorskip("numpy")
import reductio  # noqa: E402

FEW = dict(sizes="2^12", max_samples=12, contexts=6, timeout=0.01)
MINE = """
import numpy as np
import reductio

@reductio.variant("mine/sum", types=["f32"])
def mine(x, out, stream):
    np.sum(x, out=out)
"""


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    from reductio import _variants
    monkeypatch.setattr(_variants, "_registered", {})
    monkeypatch.setattr(_variants, "_into", _variants._registered)


def declared(function, **options):
    """A variant mine/NAME of a function that names no library."""
    return reductio.variant("mine/" + function.__name__, **{"types": ["f32"], "arrays": "numpy", **options})(function)


def python(*words, cwd=None, program=sys.executable, **environment):
    done = subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "COLUMNS": "1000", **environment})
    return done.returncode, done.stdout, done.stderr


# ---- what works ----

def test_a_function_is_verified_and_compared(capfd):
    @reductio.variant("mine/sum", types=["f32", "f64", "i32", "i8", "f16"])
    def mine(x, out, stream):
        assert stream is None
        np.sum(x, out=out, dtype=out.dtype)

    assert reductio.verify(mine, tier="quick")
    table = reductio.compare("host/plain", mine, **FEW)
    printed = capfd.readouterr().out
    assert "0 failed, 0 refused" in printed and str(table) in printed and "t(base)/t" in str(table)
    assert list(table["variant"]) == ["mine/sum"] and list(table["n"]) == [4096] and table["ratio"][0] > 0
    assert mine(np.ones(3, np.float32), np.zeros((), np.float32), None) is None  # still a function


def test_sums_of_rows_columns_and_segments(capfd):
    def shapes(x, out, stream, axis, offsets):
        assert x.shape == (len(x), *x.shape[1:]) and (offsets is None) == (x.ndim == 2)
        if offsets is None:
            np.sum(x, axis, out=out, dtype=out.dtype)
        else:
            out[:] = [x[a:b].sum(dtype=out.dtype) for a, b in zip(offsets[:-1], offsets[1:])]

    def other_axis(x, out, stream, axis):
        np.sum(x[:, :len(out)].T if axis else x[:len(out)], 0, out=out, dtype=out.dtype)

    every = ["row_sums", "column_sums", "segment_sums"]
    assert reductio.verify(declared(shapes, types=["f32", "i32"], operations=every), tier="quick")
    assert "takes rows one after the other, without a pitch" in capfd.readouterr().out
    assert not reductio.verify(declared(other_axis, operations=["column_sums"]), tier="quick")
    assert "column 0 of" in capfd.readouterr().out
    table = reductio.compare("host/rows", "numpy/sum", "mine/shapes", operations="row_sums", shapes="*x32", **FEW)
    assert list(table["variant"]) == ["numpy/sum", "mine/shapes"]

    def without_axis(x, out, stream):
        pass

    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        declared(without_axis, operations=["row_sums"])


def test_many_results_that_are_returned():
    def returned(x, axis):
        return np.sum(x, axis)

    assert reductio.verify(declared(returned, operations=["row_sums", "column_sums"], returns=True), tier="quick")


def test_moments_wide_sums_settings_and_chains():
    @reductio.variant("mine/moments", types=["f32"], operations=["moments", "wide_sum"], settings={"step": [4, 1]},
                      longest_chain=lambda p: p.n // p.step + 1)
    def moments(x, out, stream, step):
        assert step in (1, 4) and out.dtype == np.float32 or not out.shape
        out[...] = (x.sum(dtype=out.dtype), (x * x).sum()) if out.shape else x.sum(dtype=out.dtype)

    assert reductio.verify(moments, tier="quick", quiet=True)


def test_a_prepared_call_and_one_that_returns_its_result():
    def prepared(problem):
        buffer = np.empty(2, problem.result_type == "f64" and np.float64 or np.float32)
        def call(x, out, stream):
            buffer[0] = x.sum(dtype=buffer.dtype)
            out[()] = buffer[0]
        return call

    assert reductio.verify(declared(prepared, types=["f32", "f64"], prepared=True), tier="quick", quiet=True)
    returned = reductio.variant("mine/returned", types=["f32", "i32"], arrays="numpy", returns=True)
    assert reductio.verify(returned(lambda x: x.sum(dtype=x.dtype)), tier="quick", quiet=True)


def test_arrays_of_our_own_speak_dlpack_and_the_array_interface():
    memory = (ctypes.c_float * 3)(1, 2, 3)
    ours = reductio.Array(ctypes.addressof(memory), (3,), "f32", (1, 0))
    for array in (np.asarray(ours), np.from_dlpack(ours)):
        assert array.tolist() == [1, 2, 3] and array.ctypes.data == ctypes.addressof(memory)
    assert len(ours) == 3 and ours.__dlpack_device__() == (1, 0)
    theirs = reductio.Array(4096, (3,), "f16", (2, 1))
    assert theirs.__cuda_array_interface__["typestr"] == "<f2" and theirs.__cuda_array_interface__["data"] == (4096, False)
    assert not hasattr(reductio.Array(4096, (3,), "bf16", (2, 0)), "__cuda_array_interface__")


def test_a_workspace_is_the_harness_own():
    def roomy(problem):
        room = problem.workspace
        assert room.dtype == np.int8 and room.shape == (problem.n + 8,) and room.ctypes.data % 256 == 0
        def call(x, out, stream):
            room[:] = 7
            out[()] = x.sum()
        return call

    assert reductio.verify(declared(roomy, prepared=True, workspace=lambda p: p.n + 8), tier="quick", quiet=True)


def test_arrays_are_guessed():
    from reductio._arrays import guess
    torch, cupy = types.ModuleType("torch"), types.ModuleType("cupy.cuda")
    def closure(x, out, stream): cupy.sum(x)
    def imports(x, out, stream):
        import numba.cuda
        numba.cuda.add(x)
    def within(problem):
        return lambda x, out, stream: torch.sum(x)
    scope = dict(torch=torch, np=np, helper=lambda x: x)
    exec("def module(x, out, stream): torch.sum(x)\ndef calls(x, out, stream): helper(x)", scope)
    assert [guess(f) for f in (closure, imports, within)] == ["cupy", "numba", "torch"]
    assert guess(scope["module"]) == guess(scope["calls"]) == "torch" and guess(len) is None
    assert guess(eval("lambda x, out, stream: None", {})) is None and guess(eval("lambda x: 0", {"np": np})) == "numpy"


def test_captured_calls_take_memory_from_their_plans_pool(monkeypatch):
    """PyTorch aborts where a pool is destroyed while another is in use, so none ever is; two plans share none."""
    from reductio import _arrays, _library, _variants

    class Fake(_arrays.Pooled):
        on_gpu, made, current = False, [], None

        def array(self, a): return a
        def new_pool(self):
            self.made.append(len(self.made))
            return self.made[-1]
        @contextlib.contextmanager
        def allocating_from(self, pool):
            self.current = pool
            yield
            self.current = None

    fake, capturing, seen = Fake(), [False], []
    monkeypatch.setitem(_arrays._opened, ("numpy", False), fake)
    monkeypatch.setattr(_arrays, "is_capturing", lambda stream: capturing[0])
    def pooled(x, out, stream): seen.append(fake.current)
    entry = _variants._entry(declared(pooled))
    problem = _library.Problem(operation=1, type=_library.TYPES["f32"], n=4)

    def plan():
        handle = ctypes.c_void_p()
        assert entry.prepare(ctypes.pointer(problem), ctypes.pointer(handle)) is None
        return handle

    def call(handle, captured, stream=1):
        capturing[0] = captured
        assert entry.enqueue(ctypes.addressof(problem), handle, 64, 128, stream) is None
        return seen[-1]

    first, second = plan(), plan()
    assert [call(first, False), call(first, True), call(first, True, 2), call(second, True), call(second, False)] == [None, 0, 0, 1, None]
    entry.destroy(first)
    three = plan()
    assert call(three, True) == 0 and call(second, True) == 1 and fake.made == [0, 1]
    entry.destroy(second), entry.destroy(three)


def test_experiments_are_run(tmp_path):
    def own(x, out, stream):
        out[()] = x.sum()

    out = reductio.run("cpu", variants=["host/plain", declared(own)], out=tmp_path / "results", types="f32", sizes="2^10",
                       quick=True)
    (file,) = out.glob("*/cpu.csv")
    rows = list(csv.DictReader(file.open()))
    assert {r["variant"] for r in rows} == {"host/plain", "mine/own"} and {r["status"] for r in rows} == {"ok"}


def test_errors_of_what_is_called_on_a_cpu(tmp_path):
    out = reductio.run("frontier-python", out=tmp_path / "results", device="cpu", types="f64", sizes="2^12",
                       quick=True, max_samples=1)
    (file,) = out.glob("*/frontier-python.csv")
    rows = list(csv.DictReader(file.open()))
    ok = [r for r in rows if r["status"] == "ok"]
    assert {r["variant"] for r in ok} >= {"numpy/sum", "python/fsum", "exact/cpu"}
    assert {r["dataset"] for r in ok} == {"random", "spread", "ill-conditioned"}
    assert all(r["variant"] == "xsum/sum" and "needs the Python package xsum" in r["reason"] for r in rows if r not in ok)
    error = {(r["variant"], r["dataset"]): float(r["abs_error"]) for r in ok}
    for dataset in ("random", "spread", "ill-conditioned"):  # rounded once, both are as far off the same array's sum
        assert error["python/fsum", dataset] == error["exact/cpu", dataset] <= error["numpy/sum", dataset]
    assert error["numpy/sum", "ill-conditioned"] > 1000 * error["exact/cpu", "ill-conditioned"]


def test_another_thread_of_python_does_not_stop_it():
    def steady(x, out, stream):
        out[()] = x.sum()

    stop = threading.Event()
    thread = threading.Thread(target=lambda: [sum(range(1000)) for _ in iter(stop.is_set, True)])
    thread.start()
    try:
        assert reductio.verify(declared(steady), sizes="1000", quiet=True)
    finally:
        stop.set()
        thread.join()


def test_a_cell_of_a_notebook_runs_again():
    def cell():
        def again(x, out, stream):
            out[()] = x.sum()
        return declared(again)
    assert cell() is not cell()


def test_a_table_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")

    def drawn(x, out, stream):
        out[()] = x.sum()

    table = reductio.compare("host/plain", declared(drawn), show=False, **{**FEW, "sizes": "2^10,2^12"})
    figure = table.plot(tmp_path / "speedup.png")
    assert (tmp_path / "speedup.png").stat().st_size > 1000 and figure.axes[0].get_xlabel() == "n (elements)"


# ---- what is wrong ----

def test_a_function_that_raises_costs_its_own_rows(capfd):
    def good(x, out, stream):
        out[()] = x.sum()

    def bad(x, out, stream):
        raise ValueError("of two\nlines")

    table = reductio.compare("host/plain", declared(good), declared(bad), **FEW)
    assert table["ratio"].notna().tolist() == [True, False]
    assert "bad raised ValueError: of two lines" in table["reason"][1]
    error = capfd.readouterr().err
    assert "in bad\n    raise ValueError" in error and "reductio: mine/bad failed: bad raised" in error
    assert "reductio/_variants.py" not in error


def test_a_function_that_ends_the_process_costs_its_own_rows(capfd):
    def good(x, out, stream):
        out[()] = x.sum()

    def fatal(x, out, stream):
        os.abort()

    table = reductio.compare("host/plain", declared(good), declared(fatal), **FEW)
    assert table["ratio"].notna().tolist() == [True, False] and "SIGABRT" in table["reason"][1]


def test_a_function_that_raises_while_it_prepares(capfd):
    def unprepared(problem):
        raise MemoryError("no room")

    def asks(problem): ...
    def number(problem):
        return 1 / 0

    for variant, said in ((declared(unprepared, prepared=True), "unprepared raised MemoryError: no room"),
                          (declared(asks, prepared=True, workspace=number), "asks raised ZeroDivisionError: division by zero"),
                          (declared(asks, prepared=True), "asks returned a NoneType, not the function to call")):
        assert not reductio.verify(variant, sizes="1000")
        printed = capfd.readouterr()
        assert f"refused: {variant.id}: {said}" in " ".join(printed.out.split())
        assert "Traceback" in printed.err or "returned" in said


@pytest.mark.parametrize("value, said", [(None, "returned nothing"), ("two", "returned a str that is not one f32"),
                                         (np.ones(3), "returned a ndarray that is not one f32")])
def test_a_function_that_returns_another_thing_than_its_result(value, said, capfd):
    def returned(x):
        return value

    assert not reductio.verify(declared(returned, returns=True), sizes="1000")
    assert said in " ".join(capfd.readouterr().out.split())


@pytest.mark.parametrize("value, said", [(1.5, "float"), (np.float32(1), "float32")])
def test_a_function_that_returns_something(value, said, capfd):
    def wordy(x, out, stream):
        return value

    assert not reductio.verify(declared(wordy), sizes="1000")
    assert f"wordy returned a {said}; a variant writes its result to out" in " ".join(capfd.readouterr().out.split())


def test_wrong_sums_are_found(capfd):
    def wrong(x, out, stream):
        out[()] = x[1:].sum()

    assert not reductio.verify(declared(wrong), sizes="1000", quiet=True)


def test_sums_that_are_a_little_wrong_are_not_compared(capfd):
    def off(x, out, stream):
        out[()] = 1.01 * x.sum()

    with pytest.raises(reductio.Error, match="mine/off: wrong, got .* of data whose sum is exact in any order of adding"):
        reductio.compare("host/plain", declared(off), **{**FEW, "sizes": "2^20"})
    assert "reductio: mine/off gave a wrong result: got " in capfd.readouterr().err


def test_other_arguments():
    with pytest.raises(TypeError, match=r"mine/two.*calls two\(x, out, stream\), which takes \(x, out\)"):
        def two(x, out): ...
        declared(two)
    with pytest.raises(TypeError, match="calls step"):
        def step(x, out, stream): ...
        declared(step, settings={"step": [1]})


def test_names_that_exist():
    def first(x, out, stream): ...
    def second(x, out, stream): ...
    with pytest.raises(reductio.Error, match="the program already has a variant 'host/plain'"):
        reductio.variant("host/plain", types=["f32"], arrays="numpy")(first)
    reductio.variant("mine/one", types=["f32"], arrays="numpy")(first)
    with pytest.raises(reductio.Error, match="variant 'mine/one' already exists, first of .*test_package.py"):
        reductio.variant("mine/one", types=["f32"], arrays="numpy")(second)


@pytest.mark.parametrize("options, said", [
    (dict(types=["f31"]), "unknown types 'f31'"), (dict(device="tpu"), "unknown device 'tpu'"),
    (dict(arrays="list"), "unknown arrays 'list'"), (dict(device="gpu"), "numpy has no arrays on a GPU"),
    (dict(operations=["max"]), "unknown operations 'max'"), (dict(workspace=8), "say prepared=True, too")])
def test_declarations_are_checked(options, said):
    def plain(x, out, stream): ...
    with pytest.raises(reductio.Error, match=said):
        declared(plain, **options)
    with pytest.raises(reductio.Error, match="'mine' is not a group and a name"):
        reductio.variant("mine", types=["f32"], arrays="numpy")(plain)
    with pytest.raises(TypeError, match="takes a function, not a int"):
        reductio.variant("mine/three", types=["f32"], arrays="numpy")(3)


def test_what_is_no_variant():
    def plain(x, out, stream): ...
    with pytest.raises(TypeError, match="plain is not a variant: declare it with @reductio.variant"):
        reductio.compare("host/plain", plain)
    with pytest.raises(reductio.Error, match="unknown variant 'host/plan'.*did you mean 'host/plain'"):
        reductio.compare("host/plan", "host/plain")
    with pytest.raises(reductio.Error, match="unknown option '--size'"):
        reductio.compare("host/plain", "host/unroll2", size="2^10")


def test_numba_that_cannot_compile(tmp_path, monkeypatch):
    """It names parts of NumPy, which may be gone, not before it compiles."""
    (tmp_path / "numba.py").write_text("from types import SimpleNamespace\nimport numpy\ncuda = SimpleNamespace(\n"
                                       "    compile_ptx=lambda *a, **k: numpy.no_such_name)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    from reductio import _variants
    def numbed(x, out, stream): ...
    said = _variants._missing(declared(numbed, arrays="numba"))
    assert said.startswith("needs Numba, which cannot compile here: AttributeError: module 'numpy' has no attribute")
    sys.modules.pop("numba")


def test_a_package_that_is_absent():
    def absent(x, out, stream): ...
    with pytest.raises(reductio.Error, match="nothing was verified: mine/absent: needs the Python package no_such_package, "
                                             "which is not installed"):
        reductio.verify(declared(absent, needs="no_such_package"), sizes="1000")


def test_sums_are_of_gpu_memory():
    with pytest.raises(reductio.Error, match="the array is in host memory"):
        reductio.sum(np.ones(3))
    with pytest.raises(reductio.Error, match="a list is not an array"):
        reductio.sum([1, 2])

    class Fake:
        def __init__(self, typestr="<f4", shape=(8,), strides=None):
            self.__cuda_array_interface__ = dict(typestr=typestr, shape=shape, strides=strides, data=(256, False), version=3)

    for fake, said in ((Fake("<c8"), "elements of type <c8 are not supported"), (Fake(strides=(8,)), "not contiguous"),
                       (Fake(), "give out=, an array for the result")):
        with pytest.raises(reductio.Error, match=said):
            reductio.sum(fake)
    for out, said in ((Fake("<f8", ()), "out has 1 elements of f64; the sum of f32 is one f32"), (Fake(), "out has 8")):
        with pytest.raises(reductio.Error, match=said):
            reductio.sum(Fake(), out)


class OnGpu:
    """What says that it is an array in GPU memory."""

    def __init__(self, shape=(8,), typestr="<f4", pointer=256, strides=None):
        self.__cuda_array_interface__ = dict(typestr=typestr, shape=shape, strides=strides, data=(pointer, False),
                                             version=3)


@pytest.fixture
def called(monkeypatch):
    """Calls of the library's functions on GPU memory, which are not made."""
    from reductio import _sum

    class Library:
        calls = []

        def __getattr__(self, name):
            return lambda *arguments: self.calls.append((name, *arguments))

    monkeypatch.setattr(Library, "calls", [])
    monkeypatch.setattr(_sum, "library", Library)
    return Library.calls


def test_exact_moments_of_gpu_memory_are_two_values(called, monkeypatch):
    x, out = OnGpu(), OnGpu((2,), pointer=512)
    assert reductio.exact_moments(x, out, stream=7) is out
    assert called == [("reductio_exact_moments", 32, 256, 8, 512, 7)]
    for function, wrong, said in (("exact_moments", OnGpu(()), "out has 1 elements of f32; the moments of f32 are two f32"),
                                  ("exact_moments", OnGpu((2,), "<f8"), "out has 2 elements of f64; the moments"),
                                  ("exact_sum", OnGpu((2,)), "out has 2 elements of f32; the sum of f32 is one f32")):
        with pytest.raises(reductio.Error, match=said):
            getattr(reductio, function)(x, wrong)
    with pytest.raises(reductio.Error, match="exact_moments takes f32 and f64; the array has i32"):
        reductio.exact_moments(OnGpu(typestr="<i4"))
    with pytest.raises(reductio.Error, match="give out=, an array for the result"):
        reductio.exact_moments(x)


class OfCupy(OnGpu):
    """A result tells what was done to it."""
    __module__ = "cupy"

    def __truediv__(self, n):
        return self, "over", n


@pytest.fixture
def cupy(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda shape, dtype: OfCupy(shape, {"float64": "<f8", "float32": "<f4", "int32": "<i4"}[dtype], 1024)
    cupy.sqrt = lambda x: (x, "rooted")
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=9))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def shape_of(result):
    return result.__cuda_array_interface__["shape"]


def test_sums_along_an_axis_are_of_rows_or_of_columns(called, cupy):
    """A call has what, type, pointer, outer, n, inner, pitch, result and stream."""
    for shape, axis, sums, numbers in (((4, 6), 1, (4,), (4, 6, 1, 6)), ((4, 6), -1, (4,), (4, 6, 1, 6)),
                                       ((4, 6), 0, (6,), (1, 4, 6, 6)), ((2, 3, 5), 1, (2, 5), (2, 3, 5, 5)),
                                       ((2, 3, 5), (0, 1), (5,), (1, 6, 5, 5)), ((2, 3, 5), (-1, 1), (2,), (2, 15, 1, 15)),
                                       ((2, 3, 5), (2, 0, 1), (), (1, 30, 1, 30)), ((8,), 0, (), (1, 8, 1, 8)),
                                       ((2, 0, 5), 1, (2, 5), (2, 0, 5, 5))):
        called.clear()
        assert shape_of(reductio.sum(OfCupy(shape), axis=axis)) == sums
        assert called == [("reductio_along_axis", 0, 32, 256, *numbers, 1024, 9)], (shape, axis)
    called.clear()
    assert shape_of(reductio.sum(OfCupy((3, 0)), axis=0)) == (0,) and called == []  # nothing to be launched
    reductio.sum(OfCupy((4, 6), "|i1"), axis=1)
    assert shape_of(reductio.exact_sum(OfCupy((4, 6), "<f8"), axis=0)) == (6,)
    out = OnGpu((2,), pointer=512)
    assert reductio.sum(OnGpu((2, 3)), out, axis=1, stream=7) is out
    assert [call[1:3] + call[-2:] for call in called] == [(0, 1, 1024, 9), (2, 64, 1024, 9), (0, 32, 512, 7)]


def test_sums_along_an_axis_of_part_of_a_matrix(called):
    """Columns [1:4] of 4 rows of 6 floats."""
    with pytest.raises(reductio.Error, match="no multiples of its 4 bytes"):
        reductio.sum(OnGpu((4, 3), strides=(24, 6)), axis=0)
    part = OnGpu((4, 3), strides=(24, 4))
    for axis, sums, numbers in ((1, 4, (4, 3, 1, 6)), (0, 3, (1, 4, 3, 6))):
        called.clear()
        reductio.sum(part, OnGpu((sums,)), axis=axis)
        assert called == [("reductio_along_axis", 0, 32, 256, *numbers, 256, 0)]
    for array, axis in ((part, (0, 1)), (OnGpu((4, 1), strides=(24, 4)), 0), (OnGpu((3, 4), strides=(4, 12)), 0),
                        (OnGpu((2, 2, 2), strides=(32, 8, 4)), 2), (part, None)):
        with pytest.raises(reductio.Error, match=r"^the array is not contiguous \(strides .*\); copy it first$"):
            reductio.sum(array, axis=axis)


def test_means_and_norms_are_of_sums_along_an_axis(called, cupy):
    x = OfCupy((2, 3, 5))
    (total, over, n), (root, rooted) = reductio.mean(x, axis=1), reductio.norm(x, axis=(1, 2))
    assert (shape_of(total), over, n, shape_of(root), rooted) == ((2, 5), "over", 3, (2,), "rooted")
    assert reductio.mean(x)[1:] == ("over", 30) and shape_of(reductio.norm(x)[0]) == ()
    assert [call[:2] + call[4:8] for call in called] == [
        ("reductio_along_axis", 0, 2, 3, 5, 5), ("reductio_along_axis", 1, 2, 15, 1, 15), called[2][:2] + called[2][4:8],
        ("reductio_along_axis", 1, 1, 30, 1, 30)]
    assert called[2][0] == "reductio_sum"


@pytest.mark.parametrize("call, said", [
    (lambda: reductio.sum(OnGpu((2, 3)), axis=2), "axis 2 is out of range for an array of 2 axes"),
    (lambda: reductio.sum(OnGpu((2, 3)), axis=-3), "axis -3 is out of range for an array of 2 axes"),
    (lambda: reductio.sum(OnGpu(()), axis=0), "axis 0 is out of range for an array of 0 axes"),
    (lambda: reductio.sum(OnGpu((2, 3)), axis="x"), "axis='x' is neither an integer nor a tuple of integers"),
    (lambda: reductio.sum(OnGpu((2, 3, 5)), axis=(0, 2)), r"axis=\(0, 2\) is no tuple of neighbouring axes; add up along"),
    (lambda: reductio.sum(OnGpu((2, 3)), axis=(1, -1)), r"axis=\(1, -1\) is no tuple of neighbouring axes"),
    (lambda: reductio.sum(OnGpu((2, 3)), axis=()), r"axis=\(\) is no tuple of neighbouring axes"),
    (lambda: reductio.sum(OnGpu((2, 3), "<c8"), axis=0), "elements of type <c8 are not supported"),
    (lambda: reductio.sum(OnGpu((2, 3)), OnGpu((2,)), axis=0), "out has 2 elements of f32; the sums of f32 are 3 f32"),
    (lambda: reductio.sum(OnGpu((2, 3), "|i1"), OnGpu((2,)), axis=1), "out has 2 .* f32; the sums of i8 are 2 i32"),
    (lambda: reductio.sum(OnGpu((2, 3)), axis=0), "give out=, an array for the result"),
    (lambda: reductio.exact_sum(OnGpu((2, 3), "<f2"), axis=0), "exact_sum takes f32 and f64; the array has f16"),
    (lambda: reductio.norm(OfCupy((2, 3), "<i4")), "norm takes f16, bf16, f32 and f64; the array has i32"),
    (lambda: reductio.norm(OnGpu()), "norm takes arrays of torch and CuPy; this OnGpu is neither's"),
    (lambda: reductio.mean(np.ones(3)), "mean takes arrays of torch and CuPy; this ndarray is neither's")])
def test_what_has_no_sums_along_an_axis(call, said, cupy):
    with pytest.raises(reductio.Error, match=f"^{said}"):
        call()


def test_exact_moments_are_a_new_array_of_the_inputs_library(called, cupy):
    out = reductio.exact_moments(OfCupy(typestr="<f8"))
    assert out.__cuda_array_interface__["shape"] == (2,) and called == [("reductio_exact_moments", 64, 256, 8, 1024, 9)]


def test_without_cuda_the_call_that_was_made_is_named():
    if "built without CUDA" not in python("--version", program=str(PACKAGE.parent / "bin" / "reductio"))[1]:
        pytest.skip("this build has CUDA")
    for function in ("sum", "exact_sum", "exact_sum_of_squares", "exact_moments"):
        out = OnGpu((2,) if function == "exact_moments" else ())
        with pytest.raises(reductio.Error, match=rf"^this build has no CUDA, which reductio\.{function} needs"):
            getattr(reductio, function)(OnGpu(), out)
    for function in ("sum", "exact_sum"):
        with pytest.raises(reductio.Error, match=rf"^this build has no CUDA, which reductio\.{function} needs"):
            getattr(reductio, function)(OnGpu((2, 3)), OnGpu((2,)), axis=1)


def test_hints_name_files_alone(capfd, tmp_path):
    scope = {"np": np, "reductio": reductio}
    exec(MINE.replace("np.sum(x, out=out)", "out[()] = 1"), scope)  # as in a notebook: in no file
    assert not reductio.verify(scope["mine"], sizes="1000")
    again = re.search(r"again: (reductio\.verify\(.*?\))$", capfd.readouterr().out, re.DOTALL | re.MULTILINE).group(1)
    assert not eval(again, scope), "the same case fails again"
    assert "0 passed, 1 failed" in capfd.readouterr().out, again
    exec(MINE.replace("mine/sum", "mine/right"), scope)
    reductio.run("cpu", variants=["host/plain", scope["mine"]], out=tmp_path, types="f32", sizes="2^10", quick=True)
    printed = capfd.readouterr()
    assert "a notebook" not in printed.out + printed.err


def test_functions_where_cuda_has_started(monkeypatch):
    def forked(x, out, stream): ...
    monkeypatch.setattr("reductio._arrays.cuda_has_started", lambda: True)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(reductio.Error, match="CUDA has started in this process.*install cloudpickle"):
        reductio.verify(declared(forked))
    # The program's own need no function to be sent.
    assert reductio.verify("host/plain", sizes="1000", quiet=True)


def test_a_function_is_sent_to_a_new_process(monkeypatch, tmp_path, capfd):
    """In cloudpickle's place stands a pickle of what the new process can import."""
    (tmp_path / "sent.py").write_text(MINE)
    (tmp_path / "cloudpickle.py").write_text("from pickle import dumps")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("reductio._arrays.cuda_has_started", lambda: True)
    import sent
    assert reductio.verify(sent.mine, sizes="1000")
    assert "mine/sum" in capfd.readouterr().out


def test_a_file_that_calls_reductio_while_it_is_loaded(tmp_path):
    (tmp_path / "mine.py").write_text(MINE + "reductio.verify(mine, tier='quick')\n")
    code, out, error = python("-m", "reductio", "list", "./mine.py", cwd=tmp_path)
    assert code == 1 and error.splitlines()[-1] == (
        "reductio: plug-in './mine.py' cannot be loaded: ./mine.py calls reductio while it is loaded; put the call under "
        'if __name__ == "__main__":')
    code, out, error = python("mine.py", cwd=tmp_path)  # as a script it is right
    assert code == 0 and "0 failed, 0 refused" in out, error


def test_compare_raises_where_nothing_could_be_compared():
    def fails(x, out, stream):
        raise ValueError("always")
    with pytest.raises(reductio.Error, match="nothing could be compared: mine/fails: failed, fails raised ValueError: always"):
        reductio.compare("host/plain", declared(fails), show=False, **FEW)


def test_compare_raises_where_something_became_slower():
    def sleeps(x, out, stream):
        time.sleep(0.002)
        np.sum(x, out=out)
    slow = declared(sleeps)
    with pytest.raises(reductio.Error, match="^SLOWER than host/plain: mine/sleeps at n = 4096, f32, end_to_end: 0.00") as e:
        reductio.compare("host/plain", slow, fail_if_slower=True, show=False, **FEW)
    assert list(e.value.table["verdict"]) == ["SLOWER"]
    assert list(reductio.compare("host/plain", slow, show=False, **FEW)["verdict"]) == ["SLOWER"]  # a report, no gate


def test_compare_raises_where_a_gate_is_undecided(monkeypatch):
    def undecided(words, functions):
        file, = (word.partition("=")[2] for word in words if word.startswith("--json-to="))
        Path(file).write_text(json.dumps({"rows": [planted]}))
        return 4
    planted = json.loads(json.dumps(reductio.compare("host/plain", "host/plain", show=False, **FEW).rows()[0]))
    planted.update(verdict="UNDECIDED", ratio=1.001)
    monkeypatch.setattr(reductio, "_call", undecided)
    with pytest.raises(reductio.Error, match="^UNDECIDED beside host/plain: host/plain at n = 4096, f32, end_to_end: 1"):
        reductio.compare("host/plain", "host/plain", fail_if_slower=True, show=False, **FEW)
    assert list(reductio.compare("host/plain", "host/plain", show=False, **FEW)["verdict"]) == ["UNDECIDED"]


def test_compare_passes_where_a_gate_holds():
    def sleeps(x, out, stream):
        time.sleep(0.002)
        np.sum(x, out=out)
    table = reductio.compare(declared(sleeps), "host/plain", fail_if_slower=True, show=False, **FEW)
    assert list(table["verdict"]) == ["FASTER"]


def test_an_interrupt_stays_one(monkeypatch):
    from reductio import _program
    waited = []
    class Selector(_program.selectors.DefaultSelector):
        def select(self, timeout=None):
            if not waited:
                waited.append(True)
                raise KeyboardInterrupt
            return super().select(timeout)
    monkeypatch.setattr(_program.selectors, "DefaultSelector", Selector)
    with pytest.raises(KeyboardInterrupt):
        reductio.compare("host/plain", "host/unroll2", show=False, **{**FEW, "sizes": "2^24", "timeout": 60})


def test_warnings_of_numpy_do_not_leak(capfd):
    def overflows(x, out, stream):
        np.multiply(np.float32(1e38), np.float32(1e38))
        np.sum(x, out=out)
    assert reductio.verify(declared(overflows), sizes="1000", quiet=True)
    assert "RuntimeWarning" not in capfd.readouterr().err


def test_a_declared_function_keeps_its_name_and_text():
    import inspect
    def documented(x, out, stream):
        """Adds up."""
    function = declared(documented)
    assert (function.__name__, function.__doc__, function.__wrapped__) == ("documented", "Adds up.", documented)
    assert str(inspect.signature(function)) == "(x, out, stream)" and function.named == "documented"


def test_pandas_is_imported_when_a_table_is_made():
    code, out, error = python("-c", "import reductio, sys; print('pandas' in sys.modules, 'numpy' in sys.modules)\n"
                                    "import pydoc; print(len(pydoc.render_doc(reductio).splitlines()) < 1500)\n"
                                    "print('pandas' in sys.modules, reductio.Table.__name__, reductio.__version__)")
    assert code == 0 and out.splitlines()[:2] == ["False False", "True"], out + error
    version = out.splitlines()[2].split()
    assert version[:2] == ["False", "Table"]
    has_cuda = "built without CUDA" not in python("--version", program=str(PACKAGE.parent / "bin" / "reductio"))[1]
    assert version[2].endswith("+cpu") != has_cuda


@pytest.mark.parametrize("command, own", [("verify", {"variants", "quiet"}), ("compare", {"json-to"}),
                                          ("run", {"variants", "out"})])
def test_type_checkers_know_the_options_of_the_command_line(command, own):
    """`own`: named by the function itself."""
    from reductio import _options
    help = python(command, "--help", program=str(PACKAGE.parent / "bin" / "reductio"))[1]
    options = set(re.findall(r"^ +(?:-\w, *)?--([a-z][a-z-]+)", help, re.M)) - {"help"} - own
    known = typing.get_type_hints(getattr(_options, command.capitalize() + "Options"))
    assert {name.replace("_", "-") for name in known} == options


def test_a_notebook_shows_a_table_and_a_figure_once(monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt
    plt.close("all")
    plt.switch_backend("agg")  # which asks IPython, too
    shell = types.SimpleNamespace(execution_count=3)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0)))
    table = reductio.compare("host/plain", "host/unroll2", **FEW)
    assert repr(table) == "<reductio.Table of 1 rows over host/plain>" and "t(base)/t" in str(table)  # its cell printed it
    assert repr(table) in table._repr_html_().replace("&lt;", "<").replace("&gt;", ">")
    shell.execution_count = 4
    assert repr(table) == str(table) and "t(base)/t" in table._repr_html_()
    assert repr(reductio.compare("host/plain", "host/unroll2", show=False, **FEW)).count("t(base)/t") == 1
    assert "variant" in repr(reductio.Table([{"variant": "a"}]))  # made by hand
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    assert table.plot(tmp_path / "speedup.png").axes and not plt.get_fignums()


# ---- the command line ----

def test_the_command_line_takes_files_of_python(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    code, out, error = python("-m", "reductio", "compare", "host/plain", "./mine.py", "--sizes", "2^10", "--max-samples",
                              "12", "--csv", cwd=tmp_path)
    assert code == 0, error
    assert [row["variant"] for row in csv.DictReader(out.splitlines())] == ["mine/sum"]
    code, out, error = python("-m", "reductio", "list", "mine.py", cwd=tmp_path)
    assert code == 0 and "mine/sum" in out, error


def test_the_packages_own_are_listed_where_they_run():
    code, out, error = python("-m", "reductio", "list", "--variants", "^(torch|numpy)/sum$")
    assert code == 0, error
    assert [line.split()[0] for line in out.splitlines()[1:] if line][:4] == ["libraries", "torch/sum", "CPU", "numpy/sum"]


@pytest.mark.parametrize("text, said", [
    ("x = 1", "declares no variant with @reductio.variant"), ("1/0", "raised ZeroDivisionError: division by zero"),
    (MINE.replace("mine/sum", "host/plain"), "cannot be loaded: the program already has a variant 'host/plain'")])
def test_files_that_cannot_be_loaded(text, said, tmp_path):
    (tmp_path / "mine.py").write_text(text)
    code, out, error = python("-m", "reductio", "list", "./mine.py", cwd=tmp_path)
    assert code == 1 and error.splitlines()[-1].startswith("reductio: plug-in './mine.py' ") and said in error


def test_a_file_that_starts_cuda_is_not_loaded(tmp_path, monkeypatch):
    from reductio import _variants
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.setattr("reductio._arrays.cuda_has_started", lambda: "mine" in sys.modules)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    said = ctypes.string_at(_variants._load_file(str(tmp_path / "mine.py").encode())).decode()
    assert said.startswith("cannot be loaded: it starts CUDA while it is loaded, so that contexts cannot be forked")
    sys.modules.pop("mine"), sys.path.remove(str(tmp_path))


def test_the_program_alone_runs_no_python(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    code, out, error = python("list", "./mine.py", cwd=tmp_path, program=str(PACKAGE.parent / "bin" / "reductio"))
    assert code == 1 and error == "reductio: './mine.py' is a Python file; use 'python -m reductio' (docs/python.md)\n"


def test_without_pandas_a_table_is_a_list(tmp_path):
    (tmp_path / "pandas.py").write_text("raise ImportError")
    (tmp_path / "mine.py").write_text(MINE + textwrap.dedent("""
        table = reductio.compare("host/plain", mine, sizes="2^10", max_samples=12, show=False)
        print(type(table).__mro__[1].__name__, len(table), table[0]["variant"], "t(base)/t" in str(table))
        """))
    code, out, error = python(str(tmp_path / "mine.py"), PYTHONPATH=f"{tmp_path}:{PACKAGE}")
    assert (code, out) == (0, "list 1 mine/sum True\n"), error


def test_help_reads_well():
    import pydoc
    text = pydoc.plain(pydoc.render_doc(reductio, "%s"))
    for word in ("compare(base", "verify(*variants", "captured    False: the call waits or allocates", "sizes=\"2^10:2^28\""):
        assert word in text


# ---- the wheel ----

@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What a wheel holds, with no source folder near it."""
    site = tmp_path_factory.mktemp("wheel") / "site"
    done = subprocess.run(["cmake", "--install", PACKAGE.parent, "--prefix", site, "--component", "python"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.copytree(SOURCE / "experiments" / "results" / "cpu-intel-xeon", site.parent / "mine",
                    ignore=shutil.ignore_patterns("*.gz"))
    return site


@pytest.mark.parametrize("words", [("report", "mine", "--samples", "none", "--out", "x.html"),
                                   ("plot", "mine", "--types", "f32", "--out", "x.svg")])
def test_an_installed_package_reports_and_plots_by_the_python_that_runs_it(installed, words):
    if not all(map(importlib.util.find_spec, ("matplotlib", "pandas", "pyobsplot"))):
        pytest.skip("no packages of the report here: pip install -r requirements.txt")
    code, out, err = python("-m", "reductio", *words, cwd=installed.parent, PYTHONPATH=str(installed), PATH="/nowhere")
    assert (code, err) == (0, "") and out.startswith(f"{words[-1]}: ")
    assert (installed.parent / words[-1]).read_text().startswith("<")


def test_an_installed_package_says_how_the_report_is_installed(installed, tmp_path):
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(name='numpy')")
    code, _, err = python("-m", "reductio", "report", "mine", cwd=installed.parent,
                          PYTHONPATH=f"{tmp_path}{os.pathsep}{installed}")
    assert (code, err) == (1, "reductio: a report needs the Python package numpy: pip install 'reductio[report]'\n")


def test_the_extra_has_the_pins_of_the_project():
    extra = re.search(r"^report = \[(.*)\]$", (SOURCE / "pyproject.toml").read_text(), re.M)[1]
    pins = set(re.findall(r'"([^"]+)"', extra))
    assert {pin.partition("==")[0] for pin in pins} == {"matplotlib", "numpy", "pandas", "pyobsplot"}
    assert pins <= set((SOURCE / "requirements.txt").read_text().split("\n"))


@pytest.mark.parametrize("cuda, nvcc, kind", [("ON", "/nvcc", ""), ("OFF", "/nvcc", "+cpu"), ("no", "/nvcc", "+cpu")])
def test_the_two_kinds_of_wheel_have_names_that_differ(cuda, nvcc, kind, monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "tools"))
    import wheel_version
    monkeypatch.setenv("REDUCTIO_CUDA", cuda)
    monkeypatch.setenv("CUDACXX", nvcc)
    number = wheel_version.dynamic_metadata("version").removesuffix("+cpu")
    assert wheel_version.dynamic_metadata("version") == number + kind
    assert reductio.__version__.removesuffix("+cpu") == number
    monkeypatch.delenv("CUDACXX")
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert wheel_version.dynamic_metadata("version") == number + "+cpu"
