"""reductio.sum, mean, norm, exact_sum, exact_sum_of_squares and exact_moments: our own sums of arrays of torch, CuPy and
whatever else has __cuda_array_interface__; exact sums of what is in host memory, too (_exact.py)."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

from . import _arrays
from ._library import RESULTS, TYPES, Error, library


def sum(x: Any, out: Any = None, *, axis: Any = None, stream: int | None = None) -> Any:
    """The sum of all elements of `x`, or of those along an axis, on the GPU, by one launch of tuned/sum, tuned/rows or
    tuned/columns; the bits are those of the call from C++.

    x       a contiguous array in GPU memory, of any shape, of i8, i32, i64, f16, bf16, f32 or f64. With axis= also
            columns [a:b] of a matrix
    out     where the result goes: an array in GPU memory, of one element or one for each sum; by default a new array
            of torch or CuPy, whichever `x` is. Its type is i32 for i8, f32 for f16 and bf16, else that of x
    axis    the axis to add up along, from the end where negative, or several neighbouring ones; by default all
    stream  a cudaStream_t as a number; by default torch's or CuPy's current stream, else the default stream

    Returns `out`, on which the work may not have ended. The first call on a stream allocates 0.3 MB there, the first
    one with axis= about 10 MB, so make one before a CUDA graph is captured. Raises Error for another array."""
    return _summed("reductio_sum", TYPES, x, out, stream) if axis is None else _along("sum", x, out, axis, stream)


def mean(x: Any, *, axis: Any = None) -> Any:
    """`sum(x, axis=axis)` over the number of elements that it adds up, by torch's or CuPy's division: a new array."""
    _theirs("mean", x)
    total, (shape, _, first, behind) = sum(x, axis=axis), _axes(x, axis)
    return total / math.prod(shape[first:behind])


def norm(x: Any, *, axis: Any = None) -> Any:
    """The Euclidean norm of all elements of `x`, or of those along an axis: a new array of torch or CuPy. Sums of squares
    are those of `sum`, of f16, bf16, f32 and f64; torch or CuPy takes their roots."""
    library = _theirs("norm", x)
    return library.sqrt(_along("norm", x, None, axis, None))


def _theirs(function: str, x: Any):
    """The library of the array, torch or CuPy."""
    name = "torch" if _arrays.is_torch(x) else x.__class__.__module__.split(".")[0]
    if name not in ("torch", "cupy"):
        raise Error(f"{function} takes arrays of torch and CuPy; this {_arrays.builtin_name(x)} is neither's: pass it to torch.as_tensor() or cupy.asarray() first")
    return sys.modules[name]


def exact_sum(x: Any, out: Any = None, *, axis: Any = None, dtype: Any = None, threads: int | None = None,
              stream: int | None = None) -> Any:
    """The real sum of all elements of `x`, rounded once: the same bits on every GPU and CPU, in any order.

    In GPU memory `x` has f32 or f64; arguments and result are those of `sum`, with axis=, too. In host memory `x` is what
    numpy.asarray takes, with any strides and byte order:

    x        floats of 16, 32 or 64 bits, integers or bool: arrays, lists, Series, tensors, numbers. Elements that a mask
             of numpy.ma hides are left out; missing values (NA, None) are refused
    axis     the axis to add up along, or several; by default all
    dtype    what to round to, "f32" or "f64"; by default f64, of f16 and f32 an f32. Integers are not rounded then: the
             result is Python's integer, with axis= an array of them
    threads  by default as many as pay

    Returns a number of numpy, with axis= an array; of torch's `x` a tensor."""
    return _exact("exact_sum", x, out, axis, dtype, threads, stream)


def exact_sum_of_squares(x: Any, out: Any = None, *, axis: Any = None, dtype: Any = None, threads: int | None = None,
                         stream: int | None = None) -> Any:
    """The same of the squares, none of which is rounded before it is added."""
    return _exact("exact_sum_of_squares", x, out, axis, dtype, threads, stream)


def exact_moments(x: Any, out: Any = None, *, axis: Any = None, dtype: Any = None, threads: int | None = None,
                  stream: int | None = None) -> Any:
    """Both, the exact sum and the exact sum of squares, from one read of `x`: an array of two, of shape (2,).

        total, squares = reductio.exact_moments(x)

    `out`, if given, has two elements. With axis= the result is two arrays in one."""
    return _exact("exact_moments", x, out, axis, dtype, threads, stream)


def _exact(function: str, x: Any, out: Any, axis: Any, dtype: Any, threads: int | None, stream: int | None) -> Any:
    if _arrays.is_on_gpu(x):
        if dtype is not None or threads is not None:
            raise Error(f"{function} of an array in GPU memory takes no dtype= and threads=")
        if axis is not None and function == "exact_sum":
            return _along(function, x, out, axis, stream)
        if axis is not None:
            raise Error(f"{function} of an array in GPU memory adds up all of it; it takes no axis=")
        return _summed(f"reductio_{function}", EXACT, x, out, stream)
    if out is not None or stream is not None:
        raise Error(f"{function} of an array in host memory returns its result; it takes no out= and no stream=")
    from ._exact import exact
    return exact(function, x, axis, dtype, threads)


EXACT = ("f32", "f64")
FLOATS = ("f16", "bf16", "f32", "f64")
ALONG = {"sum": (0, tuple(TYPES)), "norm": (1, FLOATS), "exact_sum": (2, EXACT)}  # reductio_along_axis', and of what


def _axes(x: Any, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None, int, int]:
    """Shape and strides of `x`, and the axes `first` to `behind` - 1, of which the result has none."""
    shape, strides = _arrays.layout(x)
    if axis is None:
        return shape, strides, 0, len(shape)
    try:
        axes = [operator.index(a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    except TypeError:
        raise Error(f"axis={axis!r} is neither an integer nor a tuple of integers") from None
    for a in axes:
        if not -len(shape) <= a < len(shape):
            raise Error(f"axis {a} is out of range for an array of {len(shape)} axes")
    axes = sorted(a % len(shape) for a in axes)
    if not axes or any(b != a + 1 for a, b in zip(axes, axes[1:])):
        raise Error(f"axis={axis!r} is no tuple of neighbouring axes; add up along one after the other")
    return shape, strides, axes[0], axes[-1] + 1


def _in_words(words) -> str:
    """f16, bf16 and f32."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _along(function: str, x: Any, out: Any, axis: Any, stream: int | None) -> Any:
    type, pointer, _, device = _arrays.described(x, may_have_pitch=True)
    what, types = ALONG[function]
    if type not in types:
        raise Error(f"{function} takes {_in_words(types)}; the array has {type}")
    shape, strides, first, behind = _axes(x, axis)
    outer, n, inner = (math.prod(part) for part in (shape[:first], shape[first:behind], shape[behind:]))
    pitch = n if inner == 1 else inner
    if _arrays.has_pitch(shape, strides):
        if first == 0 and inner == 1:
            raise Error(f"the array is not contiguous (strides {strides}, in elements); copy it first")
        pitch = strides[0]
    result = shape[:first] + shape[behind:]
    return _call(x, out, stream, type, device, result, f"the sums of {type} are {math.prod(result)}",
                 lambda target, on: outer * inner and library().reductio_along_axis(
                     what, TYPES[type], pointer, outer, n, inner, pitch, target, on))


def _summed(function: str, types, x: Any, out: Any, stream: int | None) -> Any:
    type, pointer, n, device = _arrays.described(x)
    if type not in types:
        raise Error(f"{function.removeprefix('reductio_')} takes {_in_words(types)}; the array has {type}")
    shape, told = ((2,), "moments of {} are two") if function == "reductio_exact_moments" else ((), "sum of {} is one")
    return _call(x, out, stream, type, device, shape, f"the {told.format(type)}",
                 lambda target, on: getattr(library(), function)(TYPES[type], pointer, n, target, on))


def _call(x: Any, out: Any, stream: int | None, type: str, device: tuple[int, int], shape: tuple[int, ...],
          told: str, call) -> Any:
    """call(pointer to the result, stream), which returns what is wrong, with a result of that shape, which is told so."""
    owner = "torch" if _arrays.is_torch(x) else x.__class__.__module__.split(".")[0]
    result_type = RESULTS.get(type, type)
    if stream is None:
        stream = _current_stream(owner, device[1])
    if out is None:
        out = _new(owner, result_type, device[1], shape)
    got, target, count, where = _arrays.described(out)
    if got != result_type or count != math.prod(shape):
        raise Error(f"out has {count} elements of {got}; {told} {result_type}")
    if where != device:
        raise Error(f"out is on GPU {where[1]}, x on GPU {device[1]}")
    with _on(owner, device[1]):
        error = call(target, stream)
    if error:
        raise Error(error.decode())
    return out


def _current_stream(owner: str, gpu: int) -> int:
    if owner == "torch":
        return sys.modules["torch"].cuda.current_stream(gpu).cuda_stream
    if owner == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def _new(owner: str, type: str, gpu: int, shape: tuple[int, ...]):
    names = {short: name for name, short in _arrays.NAMES.items()}
    if owner == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, names[type]), device=f"cuda:{gpu}")
    if owner == "cupy":
        return sys.modules["cupy"].empty(shape, dtype=names[type])
    raise Error(f"give out=, an array for the result: {owner} is neither torch nor CuPy")


class _on:
    """The GPU of the array is current, as the library's CUDA runtime sees it."""

    def __init__(self, owner: str, gpu: int):
        self._guard = sys.modules["torch"].cuda.device(gpu) if owner == "torch" else None

    def __enter__(self):
        if self._guard is not None:
            self._guard.__enter__()

    def __exit__(self, *error):
        if self._guard is not None:
            self._guard.__exit__(*error)
