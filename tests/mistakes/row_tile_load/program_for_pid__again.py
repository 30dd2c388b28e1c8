"""Takes the program's own number for the tile's, and leaves the argument pid alone.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    first = BLOCK_M * tl.program_id(0)
    row = tl.arange(0, BLOCK_M)[:, None]
    column = tl.arange(0, BLOCK_N)[None, :]
    place = (first + row) * stride_m + column * stride_n
    values = tl.load(x_ptr + place, mask=(row < M - first) & (column < N))
    return tl.where((row < M - first) & (column < N), values, 0.0)
