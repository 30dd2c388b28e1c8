"""Walks over all keys and masks those of other splits after the load."""

# seen on: cpu

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
    q = tl.load(q_ptr + sequence * HEAD + offs_d)  # (HEAD,)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros((HEAD,), tl.float32)
    for start in range(0, tl.load(seqlens_ptr + sequence), BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        mine = (keys >= first) & (keys < last)
        cells = (sequence * CAPACITY + keys[:, None]) * HEAD + offs_d[None, :]  # (BLOCK_N, HEAD)
        k = tl.load(k_ptr + cells, mask=keys[:, None] < CAPACITY, other=0.0)
        v = tl.load(v_ptr + cells, mask=keys[:, None] < CAPACITY, other=0.0)
        s = tl.where(mine, tl.sum(k * q[None, :], 1) * scale, float("-inf"))  # (BLOCK_N,)
        m_new = tl.maximum(m, tl.max(s, 0))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        v = tl.where(mine[:, None], v, 0.0)
        alpha = tl.exp(m - m_safe)
        p = tl.exp(s - m_safe)  # (BLOCK_N,)
        l = l * alpha + tl.sum(p, 0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        m = m_new
    divisor = tl.where(l == 0.0, 1.0, l)
    place = sequence * SPLITS + split
    tl.store(part_o_ptr + place * HEAD + offs_d, acc / divisor)
    tl.store(part_lse_ptr + place, m + tl.log(divisor))
