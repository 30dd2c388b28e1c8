"""Has every program take all rows.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    column = tl.arange(0, BLOCK_N)
    for row in range(M):
        scores = tl.load(x_ptr + row * N + column, mask=column < N, other=float("-inf"))
        weights = tl.exp(scores - tl.max(scores, axis=0))
        tl.store(y_ptr + row * N + column, weights / tl.sum(weights, axis=0), mask=column < N)
