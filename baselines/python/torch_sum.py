"""PyTorch's own sum."""

import torch

import reductio


@reductio.variant("torch/sum", types=["i8", "i32", "i64", "f16", "bf16", "f32", "f64"],
                  operations=["sum", "wide_sum"], title="torch.sum")
def torch_sum(x, out, stream):
    torch.sum(x, 0, dtype=out.dtype, out=out)
