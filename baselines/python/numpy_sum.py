"""NumPy's sum, and Python's own math.fsum, which rounds once; both on the CPU, by one thread."""

import math

import numpy

import reductio


@reductio.variant("numpy/sum", types=["i8", "i32", "i64", "f32", "f64"], operations=["sum", "wide_sum", "row_sums", "column_sums"],
                  repeats="same_per_shape", title="numpy.sum")
def numpy_sum(x, out, stream, axis):
    numpy.sum(x, axis, dtype=out.dtype, out=out)


@reductio.variant("python/fsum", types=["f32", "f64"], operations=["sum", "wide_sum"], repeats="same_per_shape",
                  title="math.fsum")
def fsum(x, out, stream):
    try:
        out[()] = math.fsum(memoryview(x))
    except ValueError:  # infinities of both signs
        out[()] = math.nan
    except OverflowError:  # on the way; half as large they may not
        out[()] = 2 * math.fsum(0.5 * v for v in memoryview(x))
