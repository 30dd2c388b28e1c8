"""Has every program take all rows.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, h_ptr, y_ptr, WIDTH, eps, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    exists = place < WIDTH
    scale = tl.load(weight_ptr + place, mask=exists, other=0.0)
    for _ in range(tl.num_programs(0)):
        total = tl.load(residual_ptr + place, mask=exists, other=0.0)
        total += tl.load(x_ptr + place, mask=exists, other=0.0)
        mean_square = tl.sum(total * total, axis=0) / WIDTH
        tl.store(h_ptr + place, total, mask=exists)
        tl.store(y_ptr + place, total * tl.rsqrt(mean_square + eps) * scale, mask=exists)
        place += WIDTH
