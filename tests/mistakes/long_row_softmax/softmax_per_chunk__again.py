"""Makes a softmax of each chunk by itself.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def chunk_of(matrix, row, column, M, N):
    inside = (row < M)[:, None] & (column < N)[None, :]
    return tl.load(matrix + (row * N)[:, None] + column[None, :], mask=inside, other=float("-inf"))


@triton.jit
def long_row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.arange(0, BLOCK_N)
    for chunk in range(tl.cdiv(N, BLOCK_N)):
        here = chunk * BLOCK_N + column
        scores = chunk_of(x_ptr, row, here, M, N)
        weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        weights = weights * (1.0 / tl.sum(weights, axis=1))[:, None]
        tl.store(y_ptr + (row * N)[:, None] + here[None, :], weights, mask=(row < M)[:, None] & (here < N)[None, :])
