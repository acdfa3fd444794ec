"""reductio.sum: the project's own sum on arrays of torch, CuPy and whoever speaks __cuda_array_interface__."""

from __future__ import annotations

import sys
from typing import Any

from . import _arrays
from ._library import RESULTS, TYPES, Error, library


def sum(x: Any, out: Any = None, *, stream: int | None = None) -> Any:
    """The sum of all elements of `x`, on the GPU, by one launch of tuned/sum; the bits are those of the call from C++.

    x       a contiguous array in GPU memory, of any shape, of i8, i32, i64, f16, bf16, f32 or f64
    out     where the result goes: an array of one element in GPU memory; by default a new array of torch or CuPy,
            whichever `x` is, of shape (). Its type is i32 for i8, f32 for f16 and bf16, else that of x
    stream  a cudaStream_t as a number; by default torch's or CuPy's current stream, else the default stream

    Returns `out`, on which the work may not have ended. The first call on a stream allocates 0.3 MB there, so make one
    before a CUDA graph is captured. Raises Error for another array."""
    type, pointer, n, device = _arrays.described(x)
    owner = x.__class__.__module__.split(".")[0]
    result_type = RESULTS.get(type, type)
    if stream is None:
        stream = _current_stream(owner, device[1])
    if out is None:
        out = _new(owner, result_type, device[1])
    got, target, count, where = _arrays.described(out)
    if got != result_type or count != 1:
        raise Error(f"out has {count} elements of {got}; the sum of {type} is one {result_type}")
    if where != device:
        raise Error(f"out is on GPU {where[1]}, x on GPU {device[1]}")
    with _on(owner, device[1]):
        error = library().reductio_sum(TYPES[type], pointer, n, target, stream)
    if error:
        raise Error(error.decode())
    return out


def _current_stream(owner: str, gpu: int) -> int:
    if owner == "torch":
        return sys.modules["torch"].cuda.current_stream(gpu).cuda_stream
    if owner == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def _new(owner: str, type: str, gpu: int):
    names = {short: name for name, short in _arrays.NAMES.items()}
    if owner == "torch":
        torch = sys.modules["torch"]
        return torch.empty((), dtype=getattr(torch, names[type]), device=f"cuda:{gpu}")
    if owner == "cupy":
        return sys.modules["cupy"].empty((), dtype=names[type])
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
