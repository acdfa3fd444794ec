"""Exact sums of arrays in host memory: of what numpy.asarray takes, and Partial, a sum that is not rounded yet."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from . import _arrays
from ._library import Error, library

# Of a Partial (exact/partial.h): its words, those that are digits, the digit that counts in units of 1, its bits, and
# the word that tells of terms other than -0.
WORDS, DIGITS, UNITS, DIGIT_BITS, OTHERS = 96, 82, 54, 40, 82


class Partial:
    """An exact sum that is not rounded yet. Parts of several arrays, threads, processes or days are added in any order,
    and rounded last:

        total = reductio.Partial()
        total.add(x)                    # what exact_sum takes, in host memory; or add_squares(x)
        total += other                  # another Partial, as one that was pickled elsewhere; or merge(other)
        total.round()                   # as an f64, or round("f32")

    `bytes(total)` are the 96 words of reductio::tuned::exact::Partial in C++, which MPI and NCCL add up as i64:
    docs/exact.md. Give each thread a Partial of its own."""

    def __init__(self, x: Any = None):
        self._words = (ctypes.c_int64 * WORDS)()
        if x is not None:
            self.add(x)

    def add(self, x: Any, *, threads: int | None = None) -> "Partial":
        """Adds all elements of `x`. Returns itself."""
        return self._add(x, False, threads)

    def add_squares(self, x: Any, *, threads: int | None = None) -> "Partial":
        """Adds the squares of all elements of `x`. Returns itself."""
        return self._add(x, True, threads)

    def merge(self, other: "Partial") -> "Partial":
        """Adds another one. Returns itself."""
        library().reductio_exact_merge(self._words, other._words)
        return self

    def round(self, dtype: Any = "f64") -> Any:
        """The sum, rounded once: a number of numpy, f64 or f32."""
        to = _rounded_to(dtype)
        return to.type(library().reductio_exact_rounded(self._words, to.itemsize))

    def _add(self, x, squares, threads):
        array, mask, _ = host_array("Partial", x)
        array = array if mask is None else array[~mask]
        if array.dtype.kind == "f":
            self._add_floats(array, squares, threads)
        elif array.dtype.kind == "O":
            for number in array.flat:
                self._add_number(number, squares)
        else:
            self._add_integer(_integer_sums(array.reshape(1, -1), squares)[0], array.size)
        return self

    def _add_floats(self, array, squares, threads):
        import numpy
        native = _native(array)
        if _is_plain(array):
            blocks = [array]
        else:  # block by block, so that no second array is needed
            blocks = numpy.nditer(numpy.atleast_1d(array), ["external_loop", "buffered", "zerosize_ok"],
                                  [["readonly", "contig", "aligned"]], [native], order="K", casting="same_kind",
                                  buffersize=1 << 18)
        for block in blocks:
            if block.size:
                _check(library().reductio_exact_add(self._words, block.ctypes.data, block.size, native.itemsize, squares,
                                                    threads or 0))

    def _add_number(self, number, squares):
        import numpy
        if isinstance(number, int):
            self._add_integer(number * number if squares else number, 1)
        else:
            self._add_floats(numpy.array([number], numpy.float64), squares, 1)

    def _add_integer(self, value: int, terms: int):
        added, size = Partial(), abs(value)
        if size >> DIGIT_BITS * (DIGITS - UNITS):
            raise Error(f"an integer of {size.bit_length()} bits is beyond the range of an exact sum")
        for i in range(UNITS, DIGITS):
            digit = size >> DIGIT_BITS * (i - UNITS) & (1 << DIGIT_BITS) - 1
            added._words[i] = digit if value > 0 else -digit
        added._words[OTHERS] = int(terms > 0)
        self.merge(added)

    def __iadd__(self, other):
        return self.merge(other) if isinstance(other, Partial) else NotImplemented

    def __add__(self, other):
        return Partial().merge(self).merge(other) if isinstance(other, Partial) else NotImplemented

    def __radd__(self, other):
        return Partial().merge(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum(partials)

    def __float__(self) -> float:
        return library().reductio_exact_rounded(self._words, 8)

    def __bytes__(self) -> bytes:
        return bytes(self._words)

    @classmethod
    def from_bytes(cls, words: bytes) -> "Partial":
        """Of `bytes(partial)`, also after others' words were added to them as i64."""
        out = cls()
        if len(words) != ctypes.sizeof(out._words):
            raise Error(f"a Partial has {ctypes.sizeof(out._words)} bytes, not {len(words)}")
        ctypes.memmove(out._words, words, len(words))
        return out

    def __reduce__(self):
        return Partial.from_bytes, (bytes(self),)

    def __repr__(self) -> str:
        return f"<reductio.Partial of {float(self)!r}>"


def exact(function: str, x: Any, axis: Any, dtype: Any, threads: int | None) -> Any:
    """exact_sum, exact_sum_of_squares or exact_moments of `x` in host memory."""
    import numpy
    array, mask, owner = host_array(function, x)
    shape = ()
    if axis is None:
        rows = array.reshape(1, -1) if mask is not None else array.ravel("K").reshape(1, -1) \
            if _is_plain(array) or array.dtype.kind != "f" else None
    else:
        shape, rows = _rows_of(array, axis)
    if mask is not None:
        kept = ~(mask.reshape(1, -1) if axis is None else _rows_of(mask, axis)[1])
        rows = numpy.where(kept, rows, rows.dtype.type(-0.0))  # which changes no sum of anything
    wanted = [squares for squares, without in ((False, "exact_sum_of_squares"), (True, "exact_sum")) if function != without]
    if array.dtype.kind == "f":
        to = _rounded_to(dtype) if dtype is not None else _native(array)
        sums = _sums_of_floats(array, rows, wanted, to, threads or 0)
    elif dtype is None and all(isinstance(element, int) for element in (array.flat if array.dtype.kind == "O" else ())):
        sums = [_integer_sums(rows, squares) for squares in wanted]
    else:
        to = _rounded_to(dtype or "f64")
        sums = [numpy.array([Partial()._add(row, squares, threads).round(to) for row in rows], to) for squares in wanted]
    if mask is not None and not kept.any(axis=1).all():
        sums = [numpy.ma.array(column, mask=~kept.any(axis=1)) for column in sums]
    stack = numpy.stack if mask is None else numpy.ma.stack
    out = stack(sums).reshape(2, *shape) if len(sums) == 2 else sums[0].reshape(shape)[()]
    if owner == "torch" and getattr(out, "dtype", numpy.dtype(object)) != object:
        return sys.modules["torch"].as_tensor(out)
    return out


def _sums_of_floats(array, rows, wanted, to, threads):
    import numpy
    native = _native(array)
    if rows is None:  # neither contiguous nor native: block by block
        sums = []
        for squares in wanted:
            part = Partial()
            part._add_floats(array, squares, threads)
            sums.append(numpy.array([part.round(to)], to))
        return sums
    rows = numpy.require(rows, native, ["C_CONTIGUOUS", "ALIGNED"])
    sums = [numpy.empty(len(rows)) for _ in wanted]
    places = {squares: total.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for squares, total in zip(wanted, sums)}
    _check(library().reductio_exact_rows(rows.ctypes.data, len(rows), rows.shape[1], native.itemsize, to.itemsize, threads,
                                         places.get(False), places.get(True)))
    return [total.astype(to) for total in sums]  # they are rounded already


def _integer_sums(rows, squares: bool):
    """Of each row the exact sum, as Python's integers: of 32 bits of each at a time, so that nothing overflows."""
    import numpy
    out = numpy.zeros(len(rows), object)
    if rows.dtype.kind == "O":
        for i, row in enumerate(rows):
            out[i] = sum((int(v) ** 2 if squares else int(v)) for v in row)
        return out
    step = max(1, (1 << 18) // max(len(rows), 1))
    for first in range(0, rows.shape[1], step):
        for place, part in _halves(rows[:, first:first + step], squares):
            out += part.sum(axis=1, dtype=part.dtype).astype(object) * (1 << place)
    return out


def _halves(block, squares: bool):
    """(place, whole numbers below 2^32 or of 32 bits with a sign) that add up to the block, or its squares."""
    import numpy
    wide = block.astype(numpy.uint64 if block.dtype.kind == "u" else numpy.int64)  # a bool is an integer, too
    low32 = wide.dtype.type(0xffffffff)
    if not squares:
        return [(32, wide >> wide.dtype.type(32)), (0, wide & low32)]
    size = numpy.abs(wide).view(numpy.uint64)
    low32, by = numpy.uint64(0xffffffff), numpy.uint64(32)
    high, low = size >> by, size & low32
    products = [(64, high * high), (33, high * low), (0, low * low)]
    return [(place + more, part) for place, product in products for more, part in ((32, product >> by), (0, product & low32))]


def _rows_of(array, axis):
    """The shape of what is left without `axis`, one or a tuple, and the array as that many rows."""
    import numpy
    axes = numpy.lib.array_utils.normalize_axis_tuple(axis, array.ndim) if hasattr(numpy.lib, "array_utils") \
        else numpy.core.numeric.normalize_axis_tuple(axis, array.ndim)
    moved = numpy.moveaxis(array, axes, range(array.ndim - len(axes), array.ndim))
    shape = moved.shape[:array.ndim - len(axes)]
    count, length = 1, 1
    for extent in shape:
        count *= extent
    for extent in moved.shape[array.ndim - len(axes):]:
        length *= extent
    return shape, moved.reshape(count, length)


def _native(array):
    """f32 for what it holds, else f64."""
    import numpy
    return numpy.dtype(numpy.float32 if array.dtype.itemsize <= 4 else numpy.float64)


def _is_plain(array) -> bool:
    """Whether C++ reads it as it lies."""
    return array.dtype == _native(array) and array.flags.forc and array.flags.aligned


def _rounded_to(dtype):
    import numpy
    to = numpy.dtype({"f32": "float32", "f64": "float64"}.get(dtype, dtype) if isinstance(dtype, str) else dtype)
    if to not in (numpy.float32, numpy.float64):
        raise Error(f"an exact sum is rounded to f32 or f64, not to {to}")
    return to


def _check(error) -> None:
    if error:
        raise Error(error.decode())


# ---- what numpy.asarray takes, and what means more than its numbers ----

def host_array(function: str, x: Any):
    """(array of numpy, mask or None, "torch" or ""): numbers that are added up as they are. Raises Error where numpy's
    array would mean something else than `x`."""
    import numpy
    owner = "torch" if _arrays.is_torch(x) else ""
    if owner:
        x = _arrays.torch_on_cpu(function, x)
    _refuse_missing(x)
    mask = None
    array = _of_frame(function, x) if _is_frame(x) else _as_array(function, x)
    if isinstance(array, numpy.ma.MaskedArray):
        mask = numpy.ma.getmask(array)
        mask = numpy.broadcast_to(mask, array.shape) if numpy.any(mask) else None
        array = array.data
    array = numpy.asarray(array)
    if array.dtype.name == "bfloat16":
        array = array.astype(numpy.float32)
    if isinstance(x, (list, tuple)) and array.dtype.kind == "f" and not (abs(array) < 2.0 ** 53).all():
        array = numpy.array(x, object)  # it may hold integers that a double does not
    kind = array.dtype.kind
    if kind == "O":
        for element in array.flat:
            if not isinstance(element, (int, float, numpy.floating, numpy.integer)) or isinstance(element, numpy.longdouble):
                raise Error(f"{function} takes numbers; the array holds a {type(element).__name__}"
                            + ("" if array.shape else f", as numpy.asarray sees a {type(x).__name__}"))
        return numpy.array([int(v) if isinstance(v, numpy.integer) else v for v in array.flat] + [None],
                           object)[:-1].reshape(array.shape), mask, owner
    if kind not in "fiub" or (kind == "f" and array.dtype.itemsize > 8):
        advice = "; add up x.real and x.imag" if kind == "c" else ""
        raise Error(f"{function} takes floats of 16, 32 and 64 bits, integers and bool; the array has {array.dtype}{advice}")
    return array, mask, owner


def _as_array(function, x):
    import numpy
    numpy_type = getattr(getattr(x, "dtype", None), "numpy_dtype", None)  # of pandas' nullable types; none is missing
    if numpy_type is not None and hasattr(x, "to_numpy"):
        return x.to_numpy(dtype=numpy_type)
    speaks = hasattr(x, "__array__") or hasattr(x, "__array_interface__")
    try:
        if not speaks and hasattr(x, "__dlpack__"):
            return numpy.from_dlpack(x)
        return numpy.asanyarray(x)  # which keeps a mask, as of netCDF4's variables
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise Error(f"{function} cannot read a {type(x).__name__} as an array: {' '.join(str(error).split())}") from None


def _is_frame(x) -> bool:
    return hasattr(x, "iloc") and hasattr(x, "columns")


def _of_frame(function, frame):
    """Of pandas. Integers that the columns' common type does not hold are refused."""
    import numpy
    columns = [_as_array(function, frame.iloc[:, i]) for i in range(frame.shape[1])]
    if not columns:
        return numpy.empty(frame.shape)
    out = numpy.stack(columns, axis=1)
    for name, column, common in zip(frame.columns, columns, out.T):
        if column.dtype.kind in "iu" and common.dtype.kind == "f" and (common.astype(column.dtype) != column).any():
            raise Error(f"column {name!r} has integers that {common.dtype} does not hold beside the other columns; add it up "
                        "alone")
    return out


def _refuse_missing(x, within: str = "") -> None:
    """What is left out, if anything, is the caller's to say."""
    import numpy
    if isinstance(x, (list, tuple)):  # numpy reads what they hold as plain arrays
        for kind in set(map(type, x)) - {int, float, bool}:
            if issubclass(kind, (list, tuple)) or any(hasattr(kind, name) for name in ("mask", "null_count", "isna")):
                for element in x:
                    if type(element) is kind:
                        _refuse_missing(element, type(x).__name__)
        return
    missing = getattr(x, "null_count", 0)  # of Arrow and Polars, whose frames have one for each column
    missing = missing() if callable(missing) else missing
    missing = int(numpy.sum(numpy.asarray(missing)))
    for column in [x.iloc[:, i] for i in range(x.shape[1])] if _is_frame(x) else _columns(x):
        dtype = getattr(column, "dtype", None)  # pandas' NaN is a number, as numpy's; NA and None are none
        if hasattr(column, "isna") and (not isinstance(dtype, numpy.dtype) or dtype.kind == "O"):
            missing += int(column.isna().sum())
        elif column is not x:
            missing += getattr(column, "null_count", 0)
    if missing:
        raise Error(f"{missing} of the values are missing; leave them out, for example with x.dropna(), or fill them")
    if isinstance(x, numpy.ma.MaskedArray):
        if within and numpy.any(numpy.ma.getmask(x)):
            raise Error(f"the {within} holds an array with a mask, which is not read there; give numpy.ma.stack(x)")
        return
    mask = getattr(x, "mask", None)
    if mask is None and not isinstance(x, numpy.ndarray):
        interface = getattr(x, "__array_interface__", None)
        mask = interface.get("mask") if isinstance(interface, dict) else None
    if mask is not None and not callable(mask):
        raise Error(f"a {type(x).__name__} has a mask, which is read of numpy.ma alone; give the values that count")


def _columns(x) -> list:
    """Of a table of Arrow, else what is given."""
    columns = getattr(x, "columns", None)
    return columns if isinstance(columns, list) and all(hasattr(c, "null_count") for c in columns) else [x]
