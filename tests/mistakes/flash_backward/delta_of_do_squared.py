"""Adds up the squares of do in delta."""

import triton
import triton.language as tl


@triton.jit
def backward_delta_kernel(o_ptr, do_ptr, delta_ptr, seqlen_q, HEAD: tl.constexpr, BLOCK_M: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    exists = offs_m < seqlen_q
    cells = offs_m[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, HEAD)
    do = tl.load(do_ptr + cells, mask=exists[:, None], other=0.0)
    tl.store(delta_ptr + offs_m, tl.sum(do * do, 1), mask=exists)
