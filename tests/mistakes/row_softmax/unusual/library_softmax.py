"""tl.softmax along the rows."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    inside = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    x = tl.load(x_ptr + (offs_m * N)[:, None] + offs_n[None, :], mask=inside, other=float("-inf"))
    tl.store(y_ptr + (offs_m * N)[:, None] + offs_n[None, :], tl.softmax(x, 1), mask=inside)
