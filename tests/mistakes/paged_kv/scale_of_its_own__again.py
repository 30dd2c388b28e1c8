"""Divides by the root of the head size instead of taking the scale.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def paged_attention_kernel(
    q_ptr,
    k_pages_ptr,
    v_pages_ptr,
    table_ptr,
    seqlens_ptr,
    o_ptr,
    lse_ptr,
    HEADS,
    MAX_PAGES,
    scale,
    HEAD: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_H: tl.constexpr,
):
    b = tl.program_id(0)
    row = tl.arange(0, BLOCK_H)
    column = tl.arange(0, HEAD)
    slot = tl.arange(0, PAGE)
    live = (row < HEADS)[:, None]
    length = tl.load(seqlens_ptr + b)
    own_table = table_ptr + b * MAX_PAGES
    queries = tl.load(q_ptr + (b * HEADS + row)[:, None] * HEAD + column[None, :], mask=live, other=0.0)
    best = tl.full((BLOCK_H, 1), float("-inf"), tl.float32)
    mass = tl.zeros((BLOCK_H, 1), tl.float32)
    mix = tl.zeros((BLOCK_H, HEAD), tl.float32)
    for start in range(0, length, PAGE):
        page = tl.load(own_table + start // PAGE)
        first = page * PAGE * HEAD
        there = slot < length - start
        turned = slot[None, :] * HEAD + column[:, None]  # (HEAD, PAGE)
        keys = tl.load(k_pages_ptr + first + turned, mask=there[None, :], other=0.0)
        score = tl.dot(queries, keys, input_precision="ieee") * tl.rsqrt(HEAD * 1.0)
        score = tl.where(there[None, :], score, float("-inf"))
        higher = tl.maximum(best, tl.max(score, axis=1, keep_dims=True))
        shrink = tl.exp(best - higher)
        weight = tl.exp(score - higher)
        upright = slot[:, None] * HEAD + column[None, :]  # (PAGE, HEAD)
        values = tl.load(v_pages_ptr + first + upright, mask=there[:, None], other=0.0)
        mass = shrink * mass + tl.sum(weight, axis=1, keep_dims=True)
        mix = shrink * mix + tl.dot(weight, values, input_precision="ieee")
        best = higher
    norm = tl.where(mass == 0.0, 1.0, mass)
    tl.store(o_ptr + (b * HEADS + row)[:, None] * HEAD + column[None, :], mix / norm, mask=live)
    tl.store(lse_ptr + (b * HEADS + row)[:, None], best + tl.log(norm), mask=live)
