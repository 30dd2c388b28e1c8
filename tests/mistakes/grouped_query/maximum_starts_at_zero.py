"""Starts the running maximum at 0."""

import triton
import triton.language as tl


@triton.jit
def grouped_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    heads_q,
    heads_kv,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    packed = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    group = heads_q // heads_kv
    batch, head_kv = tl.program_id(1) // heads_kv, tl.program_id(1) % heads_kv
    query = packed // group
    head = head_kv * group + packed % group
    row_exists = query[:, None] < seqlen_q
    row = (batch * heads_q + head).to(tl.int64) * seqlen_q + query
    q = tl.load(q_ptr + row[:, None] * HEAD + offs_d[None, :], mask=row_exists, other=0.0)
    first_key = tl.program_id(1).to(tl.int64) * seqlen_k
    m_i = tl.zeros((BLOCK_M,), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        key_exists = offs_n[:, None] < seqlen_k
        kv_offsets = (first_key + offs_n)[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + kv_offsets, mask=key_exists, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=key_exists, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        keep = offs_n[None, :] < seqlen_k
        if CAUSAL:
            keep = keep & (offs_n[None, :] <= query[:, None] + seqlen_k - seqlen_q)
        s = tl.where(keep, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    tl.store(o_ptr + row[:, None] * HEAD + offs_d[None, :], acc / l_safe[:, None], mask=row_exists)
