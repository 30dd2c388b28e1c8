"""Takes one row after another."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    column = tl.arange(0, BLOCK_N)
    first = tl.program_id(0) * BLOCK_M
    for row in range(first, tl.minimum(first + BLOCK_M, M)):
        x = tl.load(x_ptr + row * N + column, mask=column < N, other=float("-inf"))
        p = tl.exp(x - tl.max(x, 0))
        tl.store(y_ptr + row * N + column, p / tl.sum(p, 0), mask=column < N)
