"""A kernel in Numba: threads that stride over the input, shuffles in a warp, an atomic addition of each warp."""

from numba import cuda

import reductio

BLOCK, BLOCKS_PER_SM, WARP = 256, 8, 32


@cuda.jit
def clear(out):
    out[0] = 0


@cuda.jit
def add_all(x, out):
    total = x.dtype.type(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    distance = WARP // 2
    while distance > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, distance)
        distance //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


@reductio.variant("numba/kernel", types=["i32", "i64", "f32", "f64"], prepared=True, arrays="numba", title="Numba, a kernel")
def numba_kernel(problem):
    blocks = BLOCKS_PER_SM * cuda.get_current_device().MULTIPROCESSOR_COUNT
    blocks = max(1, min(blocks, (problem.n + BLOCK - 1) // BLOCK))

    def call(x, out, stream):
        clear[1, 1, stream](out)
        add_all[blocks, BLOCK, stream](x, out)

    return call
