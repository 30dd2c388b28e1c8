"""A kernel around a piece that loads tiles.

This module imports triton, so import it inside functions only: what runs where is decided before.
"""

import triton
import triton.language as tl


@triton.jit
def store_tile(
    x_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, load_tile: tl.constexpr
):
    """Store tile program_id(0) of a matrix, as ``load_tile`` returns it, below those before it: out is BLOCK_N wide."""
    pid = tl.program_id(0)
    tile = load_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M, BLOCK_N)
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(out_ptr + row[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :], tile)
