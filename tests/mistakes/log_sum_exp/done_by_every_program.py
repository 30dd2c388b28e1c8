"""Has every program take all rows."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    for start_m in range(0, M, BLOCK_M):
        offs_m = start_m + tl.arange(0, BLOCK_M)
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=real, other=float("-inf"))
        m = tl.max(x, 1)
        m = tl.where(m == float("-inf"), 0.0, m)
        l = tl.sum(tl.exp(x - m[:, None]), 1)
        tl.store(lse_ptr + offs_m, m + tl.log(l), mask=offs_m < M)
