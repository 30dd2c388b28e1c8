"""Rounds the product of weights and values to 16 bits in every chunk.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def half_attention_kernel(
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
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    live = rows < seqlen_q
    at_rows = rows[:, None] * HEAD + d[None, :]
    queries = tl.load(q_ptr + at_rows, mask=live[:, None], other=0.0)
    reach = rows + (seqlen_k - seqlen_q)
    keys = tl.arange(0, BLOCK_N)
    k_tile = k_ptr + d[:, None] + keys[None, :] * HEAD
    v_tile = v_ptr + keys[:, None] * HEAD + d[None, :]
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    left = seqlen_k
    while left > 0:
        k_turned = tl.load(k_tile, mask=keys[None, :] < left, other=0.0)
        values = tl.load(v_tile, mask=keys[:, None] < left, other=0.0)
        scores = tl.dot(queries, k_turned)
        scores = tl.where(keys[None, :] < left, scores * scale, float("-inf"))
        if CAUSAL:
            scores = tl.where((seqlen_k - left + keys)[None, :] <= reach[:, None], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp(scores - anchor[:, None])
        shrink = tl.exp(top - anchor)
        total = total * shrink + tl.sum(weights, 1)
        out = out * shrink[:, None]
        out += tl.dot(weights.to(values.dtype), values).to(values.dtype).to(tl.float32)
        top = higher
        k_tile += BLOCK_N * HEAD
        v_tile += BLOCK_N * HEAD
        left -= BLOCK_N
    safe = tl.where(total == 0.0, 1.0, total)
    out = out / safe[:, None]
    tl.store(o_ptr + at_rows, out.to(o_ptr.dtype.element_ty), mask=live[:, None])
    tl.store(lse_ptr + rows, top + tl.log(safe), mask=live)
