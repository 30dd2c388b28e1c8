"""Divides acc by l at every chunk, and once more after the loop."""

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
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    q_tile = offs_m[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + q_tile, mask=offs_m[:, None] < seqlen_q, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, seqlen_k, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        kv_tile = offs_n[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + kv_tile, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + kv_tile, mask=offs_n[:, None] < seqlen_k, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        keep = offs_n[None, :] < seqlen_k
        if CAUSAL:
            keep = keep & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        s = tl.where(keep, s, float("-inf"))
        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v)
        acc = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc / l_safe[:, None]
    lse = m_i + tl.log(l_safe)
    tl.store(o_ptr + q_tile, o, mask=offs_m[:, None] < seqlen_q)
    tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)
