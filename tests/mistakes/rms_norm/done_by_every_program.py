"""Has every program take all rows."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, h_ptr, y_ptr, WIDTH, eps, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    real = columns < WIDTH
    weight = tl.load(weight_ptr + columns, mask=real, other=0.0)
    for row in range(tl.num_programs(0)):
        offsets = row * WIDTH + columns
        h = tl.load(x_ptr + offsets, mask=real, other=0.0) + tl.load(residual_ptr + offsets, mask=real, other=0.0)
        tl.store(h_ptr + offsets, h, mask=real)
        tl.store(y_ptr + offsets, h / tl.sqrt(tl.sum(h * h, 0) / WIDTH + eps) * weight, mask=real)
