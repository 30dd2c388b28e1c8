"""Divides by the mean square itself, without the root."""

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
    columns = tl.arange(0, BLOCK)
    mask = columns < WIDTH
    x = tl.load(x_ptr + row * WIDTH + columns, mask=mask, other=0.0)
    residual = tl.load(residual_ptr + row * WIDTH + columns, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0)
    h = x + residual
    mean_square = tl.sum(h * h, 0) / WIDTH
    y = h / (mean_square + eps) * weight
    tl.store(h_ptr + row * WIDTH + columns, h, mask=mask)
    tl.store(y_ptr + row * WIDTH + columns, y, mask=mask)
