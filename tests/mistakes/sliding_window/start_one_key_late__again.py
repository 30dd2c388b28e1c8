"""The loop begins one key too late: the first key that the tile sees is left out.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def sliding_window_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    seqlen_q,
    seqlen_k,
    window_left,
    window_right,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK_M
    offs_m = first_row + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    q_mask = offs_m[:, None] < seqlen_q
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=q_mask, other=0.0)
    place = offs_m + (seqlen_k - seqlen_q)
    first_place = first_row + seqlen_k - seqlen_q
    start = 0
    end = seqlen_k
    if window_left >= 0:
        start = tl.maximum(first_place - (window_left - 1), 0) // BLOCK_N * BLOCK_N
    if window_right >= 0:
        end = tl.minimum(first_place + BLOCK_M + window_right, seqlen_k)
    for start_n in range(start, end, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv_mask = offs_n[:, None] < seqlen_k
        kv_offsets = offs_n[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
        v = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        ahead = offs_n[None, :] - place[:, None]
        seen = (
            ((window_left < 0) | (ahead >= -window_left))
            & ((window_right < 0) | (ahead <= window_right))
            & (offs_n[None, :] < seqlen_k)
        )
        s = tl.where(seen, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc / l_safe[:, None]
    lse = m_i + tl.log(l_safe)
    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o, mask=offs_m[:, None] < seqlen_q)
    tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)
