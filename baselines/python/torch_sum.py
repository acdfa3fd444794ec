"""PyTorch's own sum."""

import torch

import reductio


@reductio.variant("torch/sum", types=["i8", "i32", "i64", "f16", "bf16", "f32", "f64"],
                  operations=["sum", "wide_sum", "row_sums", "column_sums"], title="torch.sum")
def torch_sum(x, out, stream, axis):
    torch.sum(x, axis, dtype=out.dtype, out=out)
