"""Exact sums against an oracle that is not ours: Python's integers of any length, and its own rounding. What is summed here
by exact::Partial has the bits of the GPU's and the simulated device's sums (exact_test.cpp)."""

import math
import os
import random
import struct
import sys
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


def test_other_arrays_are_declined():
    for x, why in ((np.zeros(3, np.int32), "exact_sum takes f32 and f64; the array has int32"),
                   (np.zeros((4, 4))[:, 1], "the array is not contiguous"), ([1.0], "a list is no array")):
        with pytest.raises(reductio.Error, match=why):
            reductio.exact_sum(x)
    with pytest.raises(reductio.Error, match="exact_sum of an array in host memory .* takes no out= and no stream="):
        reductio.exact_sum(np.zeros(3), np.zeros(1))
    with pytest.raises(reductio.Error, match="exact_moments takes f32 and f64; the array has int32"):
        reductio.exact_moments(np.zeros(3, np.int32))
    with pytest.raises(reductio.Error, match="exact_moments of an array in host memory .* takes no out="):
        reductio.exact_moments(np.zeros(3), stream=1)
