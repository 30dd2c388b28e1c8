"""exp(x - lse), with the division done in the exponent."""

import triton
import triton.language as tl


@triton.jit
def row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    here = (row < M) & (column < N)
    x = tl.load(x_ptr + row * N + column, mask=here, other=-1e30)
    shifted = x - tl.max(x, 1)[:, None]
    shifted = shifted - tl.log(tl.sum(tl.exp(shifted), 1))[:, None]
    tl.store(y_ptr + row * N + column, tl.exp(shifted), mask=here)
