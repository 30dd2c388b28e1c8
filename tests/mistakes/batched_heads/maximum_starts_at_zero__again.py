"""Starts the running maximum at 0.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def batched_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    heads,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    pair = tl.program_id(1)
    first_row = (tl.program_id(0) * BLOCK_M).to(tl.int64)
    batch, head = (pair // heads).to(tl.int64), (pair % heads).to(tl.int64)
    m = tl.arange(0, BLOCK_M).to(tl.int64)
    n = tl.arange(0, BLOCK_N).to(tl.int64)
    d = tl.arange(0, BLOCK_D).to(tl.int64)
    row = first_row + m
    q_at = q_ptr + batch * stride_qb + head * stride_qh + first_row * stride_qm
    o_at = o_ptr + batch * stride_ob + head * stride_oh + first_row * stride_om
    k_at = k_ptr + batch * stride_kb + head * stride_kh
    v_at = v_ptr + batch * stride_vb + head * stride_vh
    q = tl.load(
        q_at + m[:, None] * stride_qm + d[None, :] * stride_qd,
        mask=(row[:, None] < seqlen_q) & (d[None, :] < HEAD),
        other=0.0,
    )
    m_i = tl.full((BLOCK_M,), 0.0, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for chunk in range(tl.cdiv(seqlen_k, BLOCK_N)):
        key = chunk * BLOCK_N + n
        exists = (key[:, None] < seqlen_k) & (d[None, :] < HEAD)
        k = tl.load(k_at + key[:, None] * stride_kn + d[None, :] * stride_kd, mask=exists, other=0.0)
        v = tl.load(v_at + key[:, None] * stride_vn + d[None, :] * stride_vd, mask=exists, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        keep = tl.broadcast_to(key[None, :] < seqlen_k, (BLOCK_M, BLOCK_N))
        if CAUSAL:
            keep = keep & (key[None, :] - row[:, None] <= seqlen_k - seqlen_q)
        m_new = tl.maximum(m_i, tl.max(tl.where(keep, s, -1.0e30), 1))
        p = tl.where(keep, tl.exp(s - m_new[:, None]), 0.0)
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc += tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i > 0, l_i, 1.0)[:, None]
    tl.store(
        o_at + m[:, None] * stride_om + d[None, :] * stride_od,
        o,
        mask=(row[:, None] < seqlen_q) & (d[None, :] < HEAD),
    )
