"""Loads k as (BLOCK_D, BLOCK_N) and turns it round; masks columns that can never be ghosts as well."""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    inside = offs_d < HEAD
    q = tl.load(
        q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=(offs_m[:, None] < NSEQ) & inside[None, :], other=0
    )
    kt = tl.load(
        k_ptr + offs_d[:, None] + offs_n[None, :] * HEAD, mask=inside[:, None] & (offs_n[None, :] < NSEQ), other=0
    )
    v = tl.load(
        v_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=(offs_n[:, None] < NSEQ) & inside[None, :], other=0
    )
    return q, tl.trans(kt), v
