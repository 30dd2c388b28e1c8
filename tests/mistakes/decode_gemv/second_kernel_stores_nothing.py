"""Adds up the parts and does not store the sums."""

import triton
import triton.language as tl


@triton.jit
def gemv_reduce_kernel(partial_ptr, y_ptr, N, SPLITS, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_N,), tl.float32)
    for split in range(SPLITS):
        total += tl.load(partial_ptr + split * N + rows, mask=rows < N, other=0.0)
