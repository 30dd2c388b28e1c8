"""Has every program take all rows."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_n = tl.arange(0, BLOCK_N)
    for start_m in range(0, M, BLOCK_M):
        offs_m = start_m + tl.arange(0, BLOCK_M)
        offsets = offs_m[:, None] * N + offs_n[None, :]
        real = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offsets, mask=real, other=float("-inf"))
        p = tl.exp(x - tl.max(x, 1)[:, None])
        tl.store(y_ptr + offsets, p / tl.sum(p, 1)[:, None], mask=real)
