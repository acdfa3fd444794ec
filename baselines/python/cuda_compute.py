"""cuda.compute, by which CUB is called from Python (package cuda-cccl)."""

import cuda.compute
import cupy
import numpy

import reductio


@reductio.variant("cuda-compute/reduce", types=["i8", "i32", "i64", "f16", "f32", "f64"], prepared=True,
                  arrays="cupy", repeats="same_per_shape", title="cuda.compute's reduce")
def reduce(problem):
    reducer = room = None

    def call(x, out, stream):
        nonlocal reducer, room
        how = dict(d_in=x, d_out=out, num_items=problem.n, op=cuda.compute.OpKind.PLUS, h_init=zero, stream=stream)
        if reducer is None:
            reducer = cuda.compute.make_reduce_into(d_in=x, d_out=out, op=how["op"], h_init=zero)
            room = cupy.empty(max(1, reducer(temp_storage=None, **how)), numpy.uint8)
        reducer(temp_storage=room, **how)

    zero = numpy.zeros(1, {"i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}[problem.result_type])
    return call
