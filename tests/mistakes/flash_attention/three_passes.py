"""Walks over the keys once for the maximum, once for the sum and once for the output."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def chunk_scores(
    q,
    k_ptr,
    offs_m,
    offs_n,
    offs_d,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    CAUSAL: tl.constexpr,
):
    k = tl.load(k_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=offs_n[:, None] < seqlen_k, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    keep = offs_n[None, :] < seqlen_k
    if CAUSAL:
        keep = keep & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
    return tl.where(keep, s, float("-inf"))


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
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start in range(0, seqlen_k, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        s = chunk_scores(q, k_ptr, offs_m, offs_n, offs_d, seqlen_q, seqlen_k, HEAD, scale, CAUSAL)
        m = tl.maximum(m, tl.max(s, 1))
    m_safe = tl.where(m == float("-inf"), 0.0, m)
    for start in range(0, seqlen_k, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        s = chunk_scores(q, k_ptr, offs_m, offs_n, offs_d, seqlen_q, seqlen_k, HEAD, scale, CAUSAL)
        l += tl.sum(tl.exp(s - m_safe[:, None]), 1)
    l_safe = tl.where(l == 0.0, 1.0, l)
    for start in range(0, seqlen_k, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        s = chunk_scores(q, k_ptr, offs_m, offs_n, offs_d, seqlen_q, seqlen_k, HEAD, scale, CAUSAL)
        p = tl.exp(s - m_safe[:, None]) / l_safe[:, None]
        kv_tile = offs_n[:, None] * HEAD + offs_d[None, :]
        v = tl.load(v_ptr + kv_tile, mask=offs_n[:, None] < seqlen_k, other=0.0)
        o += tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + q_tile, o, mask=offs_m[:, None] < seqlen_q)
    tl.store(lse_ptr + offs_m, m + tl.log(l_safe), mask=offs_m < seqlen_q)
