"""Computes the scores as (keys, queries) and works down the columns; k loaded without `other`."""

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    NSEQ,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    key = tl.arange(0, BLOCK_N)
    column = tl.arange(0, BLOCK_D)
    qt = tl.load(q_ptr + query[None, :] * HEAD + column[:, None], mask=query[None, :] < NSEQ)
    k = tl.load(k_ptr + key[:, None] * HEAD + column[None, :], mask=key[:, None] < NSEQ)
    vt = tl.load(v_ptr + key[None, :] * HEAD + column[:, None], mask=key[None, :] < NSEQ, other=0.0)
    st = tl.dot(k, qt, input_precision="ieee") * scale
    keep = key[:, None] < tl.where(query < NSEQ, NSEQ, 0)[None, :]
    if CAUSAL:
        keep &= key[:, None] <= query[None, :]
    st = tl.where(keep, st, -1.0e30)
    pt = tl.exp(st - tl.max(st, 0)[None, :])
    o_t = tl.dot(vt, pt, input_precision="ieee") / tl.sum(pt, 0)[None, :]
    tl.store(o_ptr + query[:, None] * HEAD + column[None, :], tl.trans(o_t), mask=query[:, None] < NSEQ)
