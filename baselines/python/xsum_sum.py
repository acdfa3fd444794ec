"""xsum: exact sums by Radford Neal's superaccumulators, on the CPU, by one thread (wheel `xsum`)."""

import numpy
import xsum

import reductio


@reductio.variant("xsum/sum", types=["f64"], repeats="same", title="xsum, large superaccumulator")
def large(x, out, stream):
    total = xsum.xsum_large()
    total.add(x)
    out[()] = numpy.float64(total.round())
