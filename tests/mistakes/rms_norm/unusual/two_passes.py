"""Loads the row twice, once for the mean and once for the result, and weights last."""

import triton
import triton.language as tl


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
    row = tl.program_id(0)
    place = row * WIDTH + tl.arange(0, BLOCK)
    end = (row + 1) * WIDTH
    both = tl.load(x_ptr + place, mask=place < end, other=0.0) + tl.load(
        residual_ptr + place, mask=place < end, other=0.0
    )
    norm = tl.sqrt(eps + tl.sum(both * both) / WIDTH)
    x = tl.load(x_ptr + place, mask=place < end, other=0.0)
    residual = tl.load(residual_ptr + place, mask=place < end, other=0.0)
    weight = tl.load(weight_ptr + place - row * WIDTH, mask=place < end, other=0.0)
    tl.store(h_ptr + place, residual + x, mask=place < end)
    tl.store(y_ptr + place, weight * ((residual + x) / norm), mask=place < end)
