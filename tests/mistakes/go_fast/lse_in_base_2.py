"""Stores the log-sum-exp in base 2."""

# seen on: cuda

import triton
import triton.language as tl


@triton.jit
def go_fast_kernel(
    q,
    k,
    v,
    o,
    lse_ptr,
    NSEQ,
    HEADS,
    scale,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    tiles = NSEQ // BLOCK_M
    base = tl.program_id(0) // tiles * NSEQ
    row = tl.program_id(0) % tiles * BLOCK_M
    offs_m = row + tl.arange(0, BLOCK_M)
    scale = scale * 1.4426950408889634
    q_tile = q.load([base + row, 0])
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start_n in tl.range(0, NSEQ, BLOCK_N):
        s = tl.dot(q_tile, k.load([base + start_n, 0]).T)
        if CAUSAL:
            offs_n = start_n + tl.arange(0, BLOCK_N)
            s = tl.where(offs_m[:, None] >= offs_n[None, :], s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v_tile = v.load([base + start_n, 0])
        acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
        m_i = m_new
    o.store([base + row, 0], (acc / l_i[:, None]).to(o.dtype))
    tl.store(lse_ptr + base + offs_m, m_i + tl.math.log2(l_i))
