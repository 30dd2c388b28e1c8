"""Divides by the root of the head size instead of taking the scale.

The same mistake, written another way.
"""

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
    b = tl.program_id(0)
    part = tl.program_id(1)
    column = tl.arange(0, HEAD)[None, :]
    query = tl.load(q_ptr + b * HEAD + column)  # (1, HEAD)
    length = tl.load(seqlens_ptr + b)
    begin = part * CHUNK
    stop = tl.minimum(length, begin + CHUNK)
    cache = b * CAPACITY * HEAD
    biggest = tl.full((1, 1), float("-inf"), tl.float32)
    total = tl.zeros((1, 1), tl.float32)
    mix = tl.zeros((1, HEAD), tl.float32)
    for step in range(tl.cdiv(stop - begin, BLOCK_N)):
        row = begin + step * BLOCK_N + tl.arange(0, BLOCK_N)[:, None]
        live = row < stop
        keys = tl.load(k_ptr + cache + row * HEAD + column, mask=live, other=0.0)
        values = tl.load(v_ptr + cache + row * HEAD + column, mask=live, other=0.0)
        score = tl.sum(keys * query, axis=1, keep_dims=True) * tl.rsqrt(HEAD * 1.0)  # (BLOCK_N, 1)
        score = tl.where(live, score, float("-inf"))
        higher = tl.maximum(biggest, tl.max(score, axis=0, keep_dims=True))
        shrink = tl.exp(biggest - higher)
        weight = tl.exp(score - higher)
        total = shrink * total + tl.sum(weight, axis=0, keep_dims=True)
        mix = shrink * mix + tl.sum(weight * values, axis=0, keep_dims=True)
        biggest = higher
    empty = total == 0.0
    norm = tl.where(empty, 1.0, total)
    at = b * SPLITS + part
    tl.store(part_o_ptr + at * HEAD + column, mix / norm)
    tl.store(part_lse_ptr + at + tl.zeros((1, 1), tl.int32), biggest + tl.log(norm))
