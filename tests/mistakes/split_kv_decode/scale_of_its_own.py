"""Divides by the root of the head size instead of taking the scale."""

import triton
import triton.language as tl


@triton.jit
def split_kv_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    seqlens_ptr,
    part_o_ptr,
    part_lse_ptr,
    CAPACITY,
    CHUNK,
    SPLITS,
    scale,
    HEAD: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    sequence = tl.program_id(0).to(tl.int64)
    split = tl.program_id(1)
    offs_d = tl.arange(0, HEAD)
    first = split * CHUNK
    last = tl.minimum(first + CHUNK, tl.load(seqlens_ptr + sequence))
    q = tl.load(q_ptr + sequence * HEAD + offs_d)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros((HEAD,), tl.float32)
    for start in range(first, last, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        mine = keys < last
        cells = (sequence * CAPACITY + keys[:, None]) * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + cells, mask=mine[:, None], other=0.0)
        v = tl.load(v_ptr + cells, mask=mine[:, None], other=0.0)
        s = tl.where(mine, tl.sum(k * q[None, :], 1) / tl.sqrt(HEAD * 1.0), float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 0))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new)
        l = l * alpha + tl.sum(p, 0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        m = m_new
    divisor = tl.where(l == 0.0, 1.0, l)
    place = sequence * SPLITS + split
    tl.store(part_o_ptr + place * HEAD + offs_d, acc / divisor)
    tl.store(part_lse_ptr + place, m + tl.log(divisor))
