"""Takes one row after another."""

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    column = tl.arange(0, BLOCK_N)
    first = tl.program_id(0) * BLOCK_M
    for row in range(first, tl.minimum(first + BLOCK_M, M)):
        x = tl.load(x_ptr + row * N + column, mask=column < N, other=float("-inf"))
        m = tl.max(x, 0)
        m = tl.where(m > float("-inf"), m, 0.0)
        tl.store(lse_ptr + row, m + tl.log(tl.sum(tl.exp(x - m), 0)))
