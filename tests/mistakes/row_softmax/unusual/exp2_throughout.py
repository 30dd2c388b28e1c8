"""Powers of 2 of scores in units of log2(e), turned over to transposed tiles."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    LOG2E: tl.constexpr = 1.4426950408889634
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[None, :]
    column = tl.arange(0, BLOCK_N)[:, None]
    here = (row < M) & (column < N)
    x = tl.load(x_ptr + row * N + column, mask=here, other=float("-inf"))
    p = tl.exp2((x - tl.max(x, 0)[None, :]) * LOG2E)
    tl.store(y_ptr + row * N + column, p / tl.sum(p, 0)[None, :], mask=here)
