"""Subtracts the smallest number of a row.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    inside = (row < M) & (column < N)
    scores = tl.load(x_ptr + row * N + column, mask=inside, other=float("-inf"))
    lowest = tl.expand_dims(tl.min(scores, axis=1), 1)
    weights = tl.exp(scores - lowest)
    total = tl.expand_dims(tl.sum(weights, axis=1), 1)
    tl.store(y_ptr + (row * N + column), weights / total, mask=inside)
