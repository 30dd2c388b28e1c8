"""Walks over the row in chunks of half a block: a running sum of squares, then a second walk."""

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
    HALF: tl.constexpr = BLOCK // 2
    row = tl.program_id(0)
    total = tl.zeros((HALF,), tl.float32)
    for start in range(0, WIDTH, HALF):
        columns = start + tl.arange(0, HALF)
        live = columns < WIDTH
        h = tl.load(x_ptr + row * WIDTH + columns, mask=live, other=0.0)
        h += tl.load(residual_ptr + row * WIDTH + columns, mask=live, other=0.0)
        tl.store(h_ptr + row * WIDTH + columns, h, mask=live)
        total += h * h
    factor = tl.rsqrt(tl.sum(total) / WIDTH + eps)
    for start in range(0, WIDTH, HALF):
        columns = start + tl.arange(0, HALF)
        live = columns < WIDTH
        h = tl.load(x_ptr + row * WIDTH + columns, mask=live, other=0.0)
        h += tl.load(residual_ptr + row * WIDTH + columns, mask=live, other=0.0)
        weight = tl.load(weight_ptr + columns, mask=live, other=0.0)
        tl.store(y_ptr + row * WIDTH + columns, h * factor * weight, mask=live)
