"""Takes the chunks that all rows see without a mask, and those on the diagonal with one."""

import triton
import triton.language as tl


@triton.jit
def causal_attention_kernel(
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
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    shift = seqlen_k - seqlen_q
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < seqlen_q, other=0.0)
    m_i = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    seen_by_all = tl.maximum(tl.program_id(0) * BLOCK_M + shift + 1, 0) // BLOCK_N * BLOCK_N
    seen_by_some = tl.minimum(tl.program_id(0) * BLOCK_M + BLOCK_M + shift, seqlen_k)
    for start_n in range(0, tl.minimum(seen_by_all, seqlen_k // BLOCK_N * BLOCK_N), BLOCK_N):
        offs = (start_n + tl.arange(0, BLOCK_N))[:, None] * HEAD + offs_d[None, :]
        s = tl.dot(q, tl.trans(tl.load(k_ptr + offs)), input_precision="ieee") * scale
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, tl.load(v_ptr + offs), input_precision="ieee")
        m_i = m_new
    for start_n in range(tl.minimum(seen_by_all, seqlen_k // BLOCK_N * BLOCK_N), seen_by_some, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        offs = offs_n[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + offs, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + offs, mask=offs_n[:, None] < seqlen_k, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        visible = (offs_n[None, :] <= offs_m[:, None] + shift) & (offs_n[None, :] < seqlen_k)
        m_new = tl.maximum(m_i, tl.max(tl.where(visible, s, -1.0e30), 1))
        p = tl.where(visible, tl.exp(s - m_new[:, None]), 0.0)
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    live = offs_m < seqlen_q
    l_safe = tl.where(l_i > 0, l_i, 1.0)
    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], acc / l_safe[:, None], mask=live[:, None])
    tl.store(lse_ptr + offs_m, tl.where(l_i > 0, m_i + tl.log(l_safe), float("-inf")), mask=live)
