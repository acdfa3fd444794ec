"""Two Triton kernels: the first leaves a sum of each program, the second adds them up. It repeats bit by bit."""

import torch
import triton
import triton.language as tl

import reductio

BLOCK, MOST_PROGRAMS = 4096, 1024


@triton.jit
def add_up(x, sums, n, BLOCK: tl.constexpr):
    mine = tl.zeros((BLOCK,), sums.dtype.element_ty)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        mine += tl.load(x + i, i < n, 0).to(sums.dtype.element_ty)
    tl.store(sums + tl.program_id(0), tl.sum(mine))


@reductio.variant("triton/two-launch", types=["i8", "i32", "i64", "f16", "bf16", "f32", "f64"], prepared=True,
                  arrays="torch", repeats="same_per_shape", title="Triton, two launches")
def triton_two_launch(problem):
    sms = torch.cuda.get_device_properties(problem.gpu).multi_processor_count
    programs = max(1, min(triton.cdiv(problem.n, BLOCK), 4 * sms, MOST_PROGRAMS))
    kinds = {"i32": torch.int32, "i64": torch.int64, "f32": torch.float32, "f64": torch.float64}
    sums = torch.empty(programs, dtype=kinds[problem.result_type], device="cuda")

    def call(x, out, stream):
        add_up[(programs,)](x, sums, problem.n, BLOCK=BLOCK)
        add_up[(1,)](sums, out, programs, BLOCK=MOST_PROGRAMS)

    return call
