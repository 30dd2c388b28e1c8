"""Stores x, without the residual, as the residual stream.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def inverse_root(values, count, eps):
    return tl.rsqrt(tl.sum(values * values, axis=0) / count + eps)


@triton.jit
def rms_norm_kernel(
    x_ptr,
    residual_ptr,
    weight_ptr,
    h_ptr,
    y_ptr,
    WIDTH,
    eps,
    BLOCK: tl.constexpr,
):
    place = tl.arange(0, BLOCK)
    start = tl.program_id(0) * WIDTH
    exists = place < WIDTH
    stream = tl.load(residual_ptr + start + place, mask=exists, other=0.0)
    new = tl.load(x_ptr + start + place, mask=exists, other=0.0)
    tl.store(h_ptr + start + place, new, mask=exists)
    stream += new
    factor = inverse_root(stream, WIDTH, eps)
    gain = tl.load(weight_ptr + place, mask=exists, other=0.0)
    tl.store(y_ptr + start + place, gain * (stream * factor), mask=exists)
