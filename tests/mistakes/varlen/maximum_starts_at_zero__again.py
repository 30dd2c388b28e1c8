"""Starts the running maximum at 0.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def varlen_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    cu_seqlens_q_ptr,
    cu_seqlens_k_ptr,
    total_q,
    HEADS,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK_M
    sequence = tl.program_id(1)
    head = tl.program_id(2)
    offs_m = first_row + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.zeros((BLOCK_M,), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    start_q = tl.load(cu_seqlens_q_ptr + sequence)
    start_k = tl.load(cu_seqlens_k_ptr + sequence)
    seqlen_q = tl.load(cu_seqlens_q_ptr + sequence + 1) - start_q
    seqlen_k = tl.load(cu_seqlens_k_ptr + sequence + 1) - start_k
    q_ptr += start_q * HEADS * HEAD
    o_ptr += start_q * HEADS * HEAD
    k_ptr += start_k * HEADS * HEAD
    v_ptr += start_k * HEADS * HEAD
    rows = offs_m < seqlen_q
    q_rows = offs_m * HEADS + head
    q_offsets = q_rows[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None], other=0.0)
    end = tl.where(first_row < seqlen_q, seqlen_k, 0)
    for start_n in range(0, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        keys = offs_n < seqlen_k
        kv_rows = offs_n * HEADS + head
        kv_offsets = kv_rows[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + kv_offsets, mask=keys[:, None], other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=keys[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :]
        if CAUSAL:
            seen = seen & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    tl.store(o_ptr + q_offsets, acc / l_safe[:, None], mask=rows[:, None])
    lse_rows = head.to(tl.int64) * total_q + start_q + offs_m
    tl.store(lse_ptr + lse_rows, tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe)), mask=rows)
