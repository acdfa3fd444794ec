"""Exact sums against an oracle that is not ours: Python's integers of any length, and its own rounding. What is summed here
by exact::Partial has the bits of the GPU's and the simulated device's sums (exact_test.cpp)."""

import array
import math
import os
import pickle
import random
import struct
import sys
import threading
import types
from fractions import Fraction
from pathlib import Path

import pytest
from project import SOURCE

PACKAGE = Path(os.environ.get("REDUCTIO_BIN", SOURCE / "build" / "bin" / "reductio")).parents[1] / "python"
sys.path.insert(0, str(PACKAGE))
if not (PACKAGE / "reductio" / "libreductio.so").exists():
    pytest.skip("a sanitized build has no package", allow_module_level=True)
np = pytest.importorskip("numpy")
import reductio  # noqa: E402

FORMATS = {np.float32: (24, -149, 128), np.float64: (53, -1074, 1024)}


def rounded(exact: Fraction, precision: int, least: int, most: int) -> float:
    """To nearest, ties to even, by whole numbers alone; an infinity from half a unit above the largest number on."""
    size = abs(exact)
    if size == 0:
        return 0.0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - precision + 1, least)
    whole, rest = divmod(size, unit)
    whole += rest * 2 > unit or (rest * 2 == unit and whole % 2 == 1)
    value = math.inf if whole * unit >= Fraction(2) ** most else float(whole * unit)
    return -value if exact < 0 else value


def oracle(x, power=1) -> float:
    values = [float(v) for v in x]
    if power == 2:
        values = [abs(v) for v in values]
    if any(map(math.isnan, values)) or (math.inf in values and -math.inf in values):
        return math.nan
    if any(map(math.isinf, values)):
        return math.inf if math.inf in values else -math.inf
    if values and all(v == 0 and math.copysign(1, v) < 0 for v in values):
        return -0.0
    return rounded(sum(Fraction(v) ** power for v in values), *FORMATS[x.dtype.type])


def powers(type):
    precision, least, most = FORMATS[type]
    return np.array([math.ldexp(1.0, e) for e in range(least, most)], type)


def anderson(type):
    """Whose sum is far below its terms (Anderson 1999): random ones less their mean, twice."""
    x = np.array([random.Random(k).uniform(-1, 1) for k in range(3000)], type)
    for _ in range(2):
        x = (x - x.mean(dtype=type)).astype(type)
    return x


def rump(type):
    """Of a condition number beyond the type's own, as Ogita, Rump and Oishi make them: half of the terms at random, then
    each that brings the sum so far back, with less and less left."""
    source, terms = random.Random(8), []
    exponents = range(-60, 60) if type is np.float64 else range(-30, 30)
    terms = [type(math.ldexp(source.uniform(-1, 1), source.choice(exponents))) for _ in range(300)]
    exact = sum(map(Fraction, map(float, terms)))
    for k in range(300):
        target = math.ldexp(source.uniform(-1, 1), exponents[-1] - exponents[-1] * 2 * k // 300)
        terms.append(type(float(Fraction(target) - exact)))
        exact += Fraction(float(terms[-1]))
    return np.array(terms, type)


def data(type):
    precision, least, most = FORMATS[type]
    info, two = np.finfo(type), lambda e: math.ldexp(1.0, e)
    tiny, largest, half = two(least), float(info.max), two(-precision)
    source = random.Random(7)

    def spread(n, low, high):
        return [source.choice((-1, 1)) * math.ldexp(source.uniform(1, 1.99), source.randrange(low, high)) for _ in range(n)]

    some = np.array(spread(2000, least + precision, most - 1), type).tolist()
    yield "nothing", []
    yield "minus zeros", [-0.0] * 3000
    yield "zeros of both signs", [-0.0] * 2000 + [0.0]
    yield "powers", powers(type)
    yield "powers, cancelled to the last bit", [*powers(type), *-powers(type)[1:]]
    for k in (-1, 0, 1):
        yield f"half-way, {k} least numbers off", [1.0, half, k * tiny]
        yield f"half-way to even above, {k} off", [1.0 + 2 * half, half, k * tiny]
        yield f"half-way to infinity, {k} off", [largest, two(most - precision - 1), k * tiny]
        yield f"half-way among terms that cancel, {k} off", [*some, 1.0, half, k * tiny, *(-v for v in some)]
    yield "all subnormal", [source.choice((-1, 1)) * source.randrange(1, 2 ** (precision - 1)) * tiny for _ in range(3000)]
    yield "subnormal and the least normal", [float(info.tiny), -tiny]
    yield "overflow and back", [largest] * 2000 + [-largest] * 1999
    yield "overflow", [-largest] * 2000
    yield "the whole range", spread(4000, least + precision, most - 1)
    yield "close exponents", spread(5000, -3, 3)
    yield "positive", [abs(v) for v in spread(5000, -8, 8)]
    yield "infinity", [*some, math.inf]
    yield "two infinities", [math.inf, *some, -math.inf]
    yield "NaN", [math.nan, -math.inf]
    yield "Anderson's", anderson(type)
    yield "Rump's", rump(type)


def data_for_squares(type):
    """Whose squares are half-way between two numbers, or at an end of the range, or reach far below the least number."""
    precision, least, most = FORMATS[type]
    source, two = random.Random(9), lambda e: math.ldexp(1.0, e)
    yield from data(type)
    root = two(most // 2)
    yield "an infinity", [root]
    yield "the last finite one", [float(np.nextafter(type(root), type(0)))]
    yield "overflow of many", [root / 4] * 3000
    yield "NaN among large ones", [root, math.nan]
    # n squares of 2^e: half of the least number; e such that n is a power of two, and with one more or less of any size.
    e = (least - 11) // 2
    n = 2 ** (least - 1 - 2 * e)
    for name, values in (("", [two(e)] * n), (", less", [two(e)] * (n - 1)), (", more", [*[two(e)] * n, two(least)])):
        yield f"half of the least number{name}", values
    yield "many of the least number", [two(least)] * 5000
    # (1 + 2^-k)^2 = 1 + 2^(1 - k) + 2^-2k: half-way bits far below, and one that decides.
    k = precision // 2 + 1
    for more in ([], [two(least)], [two(-precision)]):
        yield f"close to half-way {len(more)}", [1 + two(-k), *more]
        yield f"half-way {len(more)}", [two(precision // 2), *[two(-1)] * (2 if precision % 2 else 1), *more]
    for low, high in ((least, least // 2), (least // 2 - 8, least // 2 + 8), (-8, 8), (most // 2 - 20, most // 2 - 7),
                      (least, most // 2 - 7)):
        yield f"from 2^{low} on", [math.ldexp(source.uniform(1, 1.99), source.randrange(low, high)) for _ in range(4000)]


CASES = [(function, type) for function in ("exact_sum", "exact_sum_of_squares") for type in FORMATS]


@pytest.mark.parametrize("function, type", CASES)
def test_sums_have_the_bits_of_pythons_integers(function, type):
    squares = function == "exact_sum_of_squares"
    for name, values in data_for_squares(type) if squares else data(type):
        x = np.array(values, type)
        want = type(oracle(x, 2 if squares else 1))
        for seed in range(3):  # in any order
            got = getattr(reductio, function)(x)
            assert got.dtype == type
            assert got.tobytes() == want.tobytes() or (np.isnan(got) and np.isnan(want)), (name, got, want)
            x = np.random.default_rng(seed).permutation(x)


@pytest.mark.parametrize("type", FORMATS)
def test_moments_have_the_bits_of_both(type):
    for name, values in [*data(type), *data_for_squares(type)]:
        x = np.array(values, type)
        got, want = reductio.exact_moments(x), np.array([reductio.exact_sum(x), reductio.exact_sum_of_squares(x)], type)
        assert got.dtype == type and got.shape == (2,)
        assert got.tobytes() == want.tobytes() or np.array_equal(got, want, equal_nan=True), (name, got, want)
    for n in (0, 1, 4095, 4096, 4097, 20000):
        x = np.random.default_rng(n).standard_normal(n).astype(type)
        total, squares = reductio.exact_moments(x)
        assert total == type(oracle(x, 1)) and squares == type(oracle(x, 2)), n


def test_the_oracle_agrees_with_pythons_own_rounding():
    for x in powers(np.float64):
        assert rounded(Fraction(float(x)) * 3 / 8, *FORMATS[np.float64]) == float(Fraction(float(x)) * 3 / 8)
    assert rounded(Fraction(2) ** 1024, *FORMATS[np.float64]) == math.inf
    assert struct.pack("<f", rounded(Fraction(1, 3), *FORMATS[np.float32])) == np.float32(1 / 3).tobytes()


def test_bins_of_wide_data_are_emptied_in_time():
    """So many mantissas of ones go to one bin that it would overflow; the small numbers between make all blocks wide."""
    x = np.full(2 ** 22 + 2 ** 13, np.nextafter(2.0, 1.0))
    x[::1000] = 2.0 ** -900
    small = len(x[::1000])
    want = (len(x) - small) * Fraction(float(x[1])) + small * Fraction(2.0 ** -900)
    for threads in (1, 3):
        assert reductio.exact_sum(x, threads=threads) == rounded(want, *FORMATS[np.float64])
        assert reductio.exact_sum(-x, threads=threads) == -rounded(want, *FORMATS[np.float64])


def test_threads_change_no_bit():
    x = np.array([math.ldexp(v, k % 1800 - 900) for k, v in enumerate(np.random.default_rng(2).uniform(-1, 1, 30000))])
    assert {reductio.exact_sum(x, threads=threads) for threads in (None, 1, 2, 5)} == {math.fsum(x)}
    many = [None] * 8
    def add_up(i): many[i] = reductio.exact_sum(x)
    running = [threading.Thread(target=add_up, args=(i,)) for i in range(8)]
    [thread.start() for thread in running], [thread.join() for thread in running]
    assert set(many) == {math.fsum(x)}


def as_arrays():
    values = np.random.default_rng(5).standard_normal((40, 30))
    yield values, values
    yield values[::-2, ::3], values[::-2, ::3]
    yield values.T, values
    yield values.astype(">f8"), values
    yield np.broadcast_to(values[:, :1], (40, 30)), np.repeat(values[:, 0], 30)
    yield values.tolist(), values
    yield array.array("d", values[0]), values[0]
    yield memoryview(values), values
    yield np.frombuffer(b"x" + values.tobytes(), np.float64, offset=1), values
    yield np.float64(2.5), np.array([2.5])
    yield np.array(2.5, ">f8"), np.array([2.5])
    yield 2.5, np.array([2.5])
    many = np.random.default_rng(6).standard_normal((1 << 19, 2))
    yield many[:, 1], many[:, 1]


def test_whatever_numpy_takes_is_added_up():
    for given, values in as_arrays():
        want = math.fsum(np.ravel(values))
        got = reductio.exact_sum(given)
        assert got == want and got.dtype == np.float64, type(given)
        assert reductio.exact_sum_of_squares(given) == oracle(np.ravel(values), 2), type(given)
    for given in (np.float16(values[:99]), np.float32(values[:99]), np.float32(values[:99]).astype(">f4")):
        got, wide = reductio.exact_sum(given), reductio.exact_sum(given, dtype="f64")
        assert got.dtype == np.float32 and got == np.float32(oracle(np.float32(given)))
        assert wide.dtype == np.float64 and wide == math.fsum(given.ravel())
    pd = pytest.importorskip("pandas")
    assert reductio.exact_sum(pd.Series([0.1] * 10)) == math.fsum([0.1] * 10)
    assert reductio.exact_sum(pd.DataFrame({"a": [0.1, 2], "b": [3, 4]}), axis=0).tolist() == [2.1, 7]
    class OverDlpack:
        __dlpack__, __dlpack_device__ = values.__dlpack__, values.__dlpack_device__
    assert reductio.exact_sum(OverDlpack()) == math.fsum(values.ravel())


def test_integers_and_bool_are_not_rounded():
    for type in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64):
        low, high = np.iinfo(type).min, np.iinfo(type).max
        x = np.array([low, high, high, high - 1, 3] * 1000, type)
        total, squares = sum(map(int, x)), sum(int(v) ** 2 for v in x)
        assert reductio.exact_sum(x) == total and reductio.exact_sum_of_squares(x) == squares, type
        assert list(reductio.exact_moments(x)) == [total, squares] and isinstance(reductio.exact_sum(x), int)
        assert reductio.exact_sum(x, dtype="f64") == float(total)
        assert reductio.exact_moments(x.reshape(5, 1000), axis=0).tolist()[0] == [sum(map(int, c)) for c in x.reshape(5, -1).T]
    assert reductio.exact_sum([True, True, False]) == 2 and reductio.exact_sum([]) == 0
    assert reductio.exact_sum([2 ** 70, -1]) == 2 ** 70 - 1
    assert reductio.exact_sum([2 ** 53 + 1, -2.0 ** 53]) == 1  # as numpy's doubles they add up to 0


@pytest.mark.parametrize("type", FORMATS)
def test_axes(type):
    x = np.random.default_rng(1).standard_normal((5, 7, 1200)).astype(type)
    for axis in (0, 1, 2, -1, (0, 2), (2, 0), (0, 1, 2), ()):
        got, moved = reductio.exact_sum(x, axis=axis), np.sum(x, axis=axis)
        assert got.shape == moved.shape and got.dtype == type, axis
        assert np.allclose(got, moved, rtol=1e-3, atol=1e-3), axis
    for i in range(5):
        assert reductio.exact_sum(x, axis=(1, 2))[i] == reductio.exact_sum(x[i])
        assert np.array_equal(reductio.exact_moments(x, axis=(1, 2))[:, i], reductio.exact_moments(x[i]))
    assert reductio.exact_sum(np.zeros((3, 0), type), axis=1).tolist() == [0, 0, 0]
    assert reductio.exact_sum(np.zeros((0, 3), type), axis=1).tolist() == []
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        reductio.exact_sum(x, axis=3)


def test_masked_elements_are_left_out():
    x = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    assert reductio.exact_sum(x) == 4 and reductio.exact_sum_of_squares(x) == 10
    assert reductio.exact_moments(x).tolist() == [4, 10] and reductio.Partial(x).round() == 4
    assert reductio.exact_sum(np.ma.array([-0.0, np.nan], mask=[0, 1])).tobytes() == np.float64(-0.0).tobytes()
    assert reductio.exact_sum(np.ma.array([1, 2, 3], mask=[0, 0, 1])) == 3 and reductio.exact_sum(np.ma.array([1.5, 2])) == 3.5
    table = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [1, 1]])
    assert reductio.exact_sum(table.T) == 1 and reductio.exact_sum(table, axis=0).tolist() == [1, None]
    assert reductio.exact_sum(table, axis=1).tolist() == [1, None] and reductio.exact_sum(table[1]) is np.ma.masked


def test_what_numpy_reads_as_a_plain_array_keeps_its_mask_or_is_refused():
    """numpy.asarray drops the masks of these without a word."""
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    class OfAFile:  # as a variable of netCDF4 is read
        def __array__(self, dtype=None, copy=None): return masked
    assert reductio.exact_sum(OfAFile()) == 4 and reductio.Partial(OfAFile()).round() == 4
    assert reductio.exact_sum(np.matrix([[1.0, 2.0]])) == 3
    class ByInterface:
        __array_interface__ = {**np.ones(3).__array_interface__, "mask": object()}
    arrow = types.SimpleNamespace(columns=[types.SimpleNamespace(null_count=n) for n in (0, 2)])
    polars = types.SimpleNamespace(null_count=lambda: np.array([[0, 2]]))
    for x, said in (([masked, masked], r"the list holds an array with a mask.*numpy.ma.stack\(x\)"),
                    (([1.0], (masked,)), "the tuple holds an array with a mask"), ([1.0, np.ma.masked], "holds an array with a mask"),
                    (ByInterface(), "a ByInterface has a mask"), (arrow, "2 of the values are missing"),
                    (polars, "2 of the values are missing"), ([type("Series", (), {"null_count": 1})()], "1 of the values")):
        for function in (reductio.exact_sum, reductio.exact_moments, reductio.Partial):
            with pytest.raises(reductio.Error, match=said):
                function(x)
    assert reductio.exact_sum([np.ma.array([1.0, 2.0]), [3.0, 4.0]]) == 10  # nothing is masked


def test_missing_values_are_refused():
    pd = pytest.importorskip("pandas")
    for x in (pd.Series([1, None], dtype="Int64"), pd.Series([1.5, None], dtype="Float64"), pd.Series([True, None]),
              pd.array([1, None], dtype="Int8"), pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], "Int64")}),
              types.SimpleNamespace(null_count=1), types.SimpleNamespace(null_count=lambda: 1)):
        for function in (reductio.exact_sum, reductio.exact_moments, reductio.Partial):
            with pytest.raises(reductio.Error, match=r"^1 of the values are missing; leave them out, for example with x.dropna\(\)"):
                function(x)
    for dtype in ("Int64", "boolean"):
        assert reductio.exact_sum(pd.Series([1, 1], dtype=dtype)) == 2
    assert np.isnan(reductio.exact_sum(pd.Series([1.0, np.nan])))  # a number of IEEE's, and so told
    Masked = type("Masked", (np.ndarray,), {"mask": np.array([True])})
    with pytest.raises(reductio.Error, match="a Masked has a mask, which is read of numpy.ma alone"):
        reductio.exact_sum(np.ones(1).view(Masked))
    with pytest.raises(reductio.Error, match="column 'a' has integers that float64 does not hold beside the other columns"):
        reductio.exact_sum(pd.DataFrame({"a": [2 ** 53 + 1], "b": [0.5]}))


class FakeTensor:
    """What reductio asks of a tensor of PyTorch, which may not be installed."""
    requires_grad, is_nested = False, False
    layout = "torch.strided"

    def __init__(self, values, device="cpu"):
        self.values, self.device, self.dtype = values, types.SimpleNamespace(type=device), "torch.float64"

    def data_ptr(self): return self.values.ctypes.data
    def is_neg(self): return False
    def __array__(self, dtype=None, copy=None): return self.values


FakeTensor.__module__ = "torch"


def test_tensors_on_the_cpu(monkeypatch):
    given = FakeTensor(np.array([0.1, 0.2, 0.3]))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(as_tensor=lambda x: ("tensor", x)))
    assert reductio.exact_sum(given) == ("tensor", math.fsum(given.values))
    kind, moments = reductio.exact_moments(given)
    assert kind == "tensor" and moments.shape == (2,)
    halves = FakeTensor(np.array([1.5]))
    halves.dtype, halves.float = "torch.bfloat16", lambda: FakeTensor(np.float32([1.5]))
    assert reductio.exact_sum(halves)[1].dtype == np.float32
    for change, said in ((dict(requires_grad=True), r"requires a gradient, which reductio does not record; x.detach\(\)"),
                         (dict(is_neg=lambda: True), r"a negated view of memory; x.resolve_neg\(\) is not"),
                         (dict(layout="torch.sparse_coo"), r"not of strided memory but torch.sparse_coo; x.to_dense\(\)"),
                         (dict(get_mask=None), "the tensor has a mask, which is not read"),
                         (dict(device=types.SimpleNamespace(type="meta")), r"exact_sum takes those of CUDA and the CPU")):
        tensor = FakeTensor(np.ones(3))
        vars(tensor).update(change)
        with pytest.raises(reductio.Error, match=said):
            reductio.exact_sum(tensor)


def test_partial_sums():
    x = np.array([math.ldexp(v, k % 200 - 100) for k, v in enumerate(np.random.default_rng(3).uniform(-1, 1, 5000))])
    parts = [reductio.Partial(share) for share in np.array_split(x, 7)]
    sent = [pickle.loads(pickle.dumps(part)) for part in parts]
    assert sum(sent).round() == parts[0].merge(sum(parts[1:])).round() == math.fsum(x) == float(sum(sent))
    assert sum(sent).round("f32") == np.float32(oracle(x)) and sum(sent).round("f32").dtype == np.float32
    both = np.frombuffer(bytes(sent[0]), np.int64) + np.frombuffer(bytes(sent[1]), np.int64)  # as MPI adds them up
    assert reductio.Partial.from_bytes(both.tobytes()).round() == (sent[0] + sent[1]).round()
    squares = reductio.Partial().add_squares(x[:50])
    squares += reductio.Partial().add_squares(x[50:], threads=2)
    assert squares.round() == oracle(x, 2)
    mixed = reductio.Partial([2 ** 100, 1]).add(np.array([-2.0 ** 100])).add(np.array([3], np.int8)).add(np.float16(0.5))
    assert mixed.round() == 4.5 and repr(mixed) == "<reductio.Partial of 4.5>"
    assert reductio.Partial().add_squares([-2 ** 63]).round() == 2.0 ** 126
    assert str(reductio.Partial([-0.0]).round()) == "-0.0" and str(reductio.Partial([-0.0]).add([0]).round()) == "0.0"
    with pytest.raises(reductio.Error, match="rounded to f32 or f64, not to int8"):
        mixed.round("int8")
    with pytest.raises(reductio.Error, match="a Partial has 768 bytes, not 3"):
        reductio.Partial.from_bytes(b"abc")
    with pytest.raises(TypeError):
        mixed + 1
    with pytest.raises(reductio.Error, match="an integer of 1201 bits is beyond"):
        reductio.Partial([2 ** 1200])


def test_other_arrays_are_declined():
    takes = "takes floats of 16, 32 and 64 bits, integers and bool; the array has"
    for x, why in ((np.zeros(3, complex), f"exact_sum {takes} complex128; add up x.real and x.imag"),
                   (["a"], f"exact_sum {takes} <U1"), ([1.0, None], "takes numbers; the array holds a NoneType"),
                   (np.zeros(3, np.longdouble), takes), (np.zeros(3, "M8[s]"), takes), (iter([1.0]), "as numpy.asarray sees a"),
                   ([[1.0], [2.0, 3.0]], "exact_sum cannot read a list as an array: .*inhomogeneous")):
        with pytest.raises(reductio.Error, match=why):
            reductio.exact_sum(x)
    with pytest.raises(reductio.Error, match="exact_sum of an array in host memory .* takes no out= and no stream="):
        reductio.exact_sum(np.zeros(3), np.zeros(1))
    with pytest.raises(reductio.Error, match="exact_moments of an array in host memory .* takes no out="):
        reductio.exact_moments(np.zeros(3), stream=1)


def test_arrays_on_a_gpu_with_a_mask_are_declined():
    on_gpu = dict(typestr="<f8", shape=(8,), strides=None, data=(256, False), version=3)
    x = types.SimpleNamespace(__cuda_array_interface__={**on_gpu, "mask": object()})
    for function in (reductio.sum, reductio.exact_sum, reductio.exact_moments):
        with pytest.raises(reductio.Error, match="the array has a mask of missing values, which is not read"):
            function(x)
    x = types.SimpleNamespace(__cuda_array_interface__=on_gpu)
    with pytest.raises(reductio.Error, match="exact_moments of an array in GPU memory adds up all of it; it takes no axis="):
        reductio.exact_moments(x, axis=0)
    with pytest.raises(reductio.Error, match="exact_sum of an array in GPU memory takes no dtype= and threads="):
        reductio.exact_sum(x, axis=0, dtype="f64")
