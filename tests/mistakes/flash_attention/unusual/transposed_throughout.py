"""Works with (keys, queries) tiles and keeps acc as (BLOCK_D, BLOCK_M)."""

import triton
import triton.language as tl


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
    d = tl.arange(0, BLOCK_D)
    qt = tl.load(q_ptr + row[None, :] * HEAD + d[:, None], mask=row[None, :] < seqlen_q, other=0.0)
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o_t = tl.zeros((BLOCK_D, BLOCK_M), tl.float32)
    for first in range(0, seqlen_k, BLOCK_N):
        n = first + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + n[:, None] * HEAD + d[None, :], mask=n[:, None] < seqlen_k, other=0.0)
        vt = tl.load(v_ptr + n[None, :] * HEAD + d[:, None], mask=n[None, :] < seqlen_k, other=0.0)
        st = tl.dot(k, qt, input_precision="ieee") * scale
        hidden = n[:, None] >= seqlen_k
        if CAUSAL:
            hidden = hidden | (n[:, None] - row[None, :] > seqlen_k - seqlen_q)
        st = tl.where(hidden, float("-inf"), st)
        m_new = tl.maximum(m, tl.max(st, 0))
        base = tl.maximum(m_new, -1.0e30)
        pt = tl.exp(st - base[None, :])
        alpha = tl.exp(m - base)
        o_t = o_t * alpha[None, :] + tl.dot(vt, pt, input_precision="ieee")
        l = l * alpha + tl.sum(pt, 0)
        m = m_new
    lse = tl.where(l == 0.0, float("-inf"), m + tl.log(tl.where(l == 0.0, 1.0, l)))
    o = tl.trans(o_t / tl.where(l == 0.0, 1.0, l)[None, :])
    tl.store(o_ptr + row[:, None] * HEAD + d[None, :], o, mask=row[:, None] < seqlen_q)
    tl.store(lse_ptr + row, lse, mask=row < seqlen_q)
