"""Works in powers of 2 and comes back to natural units at the end; dead rows are named at the end."""

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    LOG2E: tl.constexpr = 1.4426950408889634
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    here = (row < M)[None, :] & (column < N)[:, None]
    x = tl.load(x_ptr + (row * N)[None, :] + column[:, None], mask=here, other=float("-inf"))
    m = tl.max(x, 0)
    l = tl.sum(tl.exp2((x - m[None, :]) * LOG2E), 0)
    lse = tl.where(m == float("-inf"), m, m + tl.log2(l) / LOG2E)
    tl.store(lse_ptr + row, lse, mask=row < M)
