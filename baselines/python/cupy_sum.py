"""CuPy's sum: by CUB, as it is installed, and by CuPy's own kernels."""

import cupy
from cupy import _core

import reductio

now = None


def use(accelerators):
    """CuPy's choice is one for all calls."""
    global now
    if now != accelerators:
        _core.set_routine_accelerators(accelerators)
        _core.set_reduction_accelerators(accelerators)
        now = accelerators


@reductio.variant("cupy/sum", types=["i8", "i32", "i64", "f16", "f32", "f64"],
                  operations=["sum", "row_sums", "column_sums"], title="cupy.sum")
def by_cub(x, out, stream, axis):
    use(["cub"])
    cupy.sum(x, axis, dtype=out.dtype, out=out)


@reductio.variant("cupy/sum-plain", types=["i8", "i32", "i64", "f16", "f32", "f64"],
                  operations=["sum", "row_sums", "column_sums"], title="cupy.sum without CUB")
def plain(x, out, stream, axis):
    use([])
    cupy.sum(x, axis, dtype=out.dtype, out=out)
