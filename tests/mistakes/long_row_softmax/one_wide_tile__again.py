"""Takes the whole row into one wide tile.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    WIDTH: tl.constexpr = 2048
    column = tl.arange(0, WIDTH)
    for number in range(BLOCK_M):
        row = tl.program_id(0) * BLOCK_M + number
        inside = (column < N) & (row < M)
        score = tl.load(x_ptr + row * N + column, mask=inside, other=float("-inf"))
        weight = tl.exp(score - tl.max(tl.where(row < M, score, 0.0), 0))
        tl.store(y_ptr + row * N + column, weight / tl.sum(weight, 0), mask=inside)
