"""Walks over the keys once for the maximum, once for the sum and once for the output.

The same mistake, written another way.
"""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def masked(s, row, col, seqlen_q, seqlen_k, CAUSAL: tl.constexpr):
    """-inf where there is no key or, if CAUSAL, where the key lies in the future."""
    s = tl.where(col[None, :] < seqlen_k, s, float("-inf"))
    if CAUSAL:
        s = tl.where(row[:, None] - col[None, :] >= seqlen_q - seqlen_k, s, float("-inf"))
    return s


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + row[:, None] * HEAD + d[None, :], mask=row[:, None] < seqlen_q, other=0.0)
    top = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for visit in tl.static_range(3):
        first = 0
        while first < seqlen_k:
            col = first + n
            k = tl.load(k_ptr + col[:, None] * HEAD + d[None, :], mask=col[:, None] < seqlen_k, other=0.0)
            s = tl.dot(q, k.T, input_precision="ieee") * scale
            s = masked(s, row, col, seqlen_q, seqlen_k, CAUSAL)
            if visit == 0:
                top = tl.maximum(top, tl.max(s, 1))
            if visit == 1:
                l += tl.sum(tl.exp(s - top[:, None]), 1)
            if visit == 2:
                v = tl.load(v_ptr + col[:, None] * HEAD + d[None, :], mask=col[:, None] < seqlen_k, other=0.0)
                o = tl.dot(tl.exp(s - top[:, None]), v, acc=o, input_precision="ieee")
            first += BLOCK_N
    dead = l == 0.0
    l = tl.where(dead, 1.0, l)
    tl.store(o_ptr + row[:, None] * HEAD + d[None, :], o / l[:, None], mask=row[:, None] < seqlen_q)
    tl.store(lse_ptr + row, tl.where(dead, float("-inf"), top + tl.log(l)), mask=row < seqlen_q)
