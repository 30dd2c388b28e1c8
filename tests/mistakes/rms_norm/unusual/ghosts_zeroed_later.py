"""Lets ghosts be undefined when loaded and takes them out with tl.where."""

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
    columns = tl.arange(0, BLOCK)
    live = columns < WIDTH
    rows = tl.program_id(0) * WIDTH + columns
    h = tl.load(x_ptr + rows, mask=live) + tl.load(residual_ptr + rows, mask=live)
    squares = tl.where(live, h * h, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) * (1.0 / WIDTH) + eps)
    tl.store(y_ptr + rows, h * scale * tl.load(weight_ptr + columns, mask=live), mask=live)
    tl.store(h_ptr + rows, h, mask=live)
