"""Has every program take all rows.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    column = tl.arange(0, BLOCK_N)
    for row in range(M):
        scores = tl.load(x_ptr + row * N + column, mask=column < N, other=float("-inf"))
        top = tl.max(scores, axis=0)
        level = tl.where(top > float("-inf"), top, 0.0)
        tl.store(lse_ptr + row, level + tl.log(tl.sum(tl.exp(scores - level), axis=0)))
