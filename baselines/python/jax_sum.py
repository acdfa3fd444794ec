"""JAX's sum, compiled by XLA. It has streams and memory of its own, so its calls are timed end to end alone."""

import functools
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most of the GPU's memory

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import reductio  # noqa: E402

jax.config.update("jax_enable_x64", True)
WIDER = {"int8": jnp.int32, "float16": jnp.float32, "bfloat16": jnp.float32}


@functools.partial(jax.jit, static_argnums=1)
def total(x, axis):
    return jnp.sum(x, axis, dtype=WIDER.get(x.dtype.name, x.dtype))


@reductio.variant("jax/sum", types=["i8", "i32", "i64", "f16", "bf16", "f32", "f64"], returns=True, arrays="jax",
                  operations=["sum", "row_sums", "column_sums"], title="jax.numpy.sum")
def jax_sum(x, axis):
    return total(x, axis)
