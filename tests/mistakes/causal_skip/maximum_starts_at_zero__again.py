"""Starts the running maximum at 0.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def take_in(top, total, out, scores, values):
    higher = tl.maximum(top, tl.max(scores, 1))
    anchor = tl.where(higher == float("-inf"), 0.0, higher)
    weights = tl.exp(scores - anchor[:, None])
    shrink = tl.exp(top - anchor)
    out = tl.dot(weights, values, out * shrink[:, None], input_precision="ieee")
    return higher, total * shrink + tl.sum(weights, 1), out


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
    tile = tl.program_id(0)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    live = rows < seqlen_q
    ahead = seqlen_k - seqlen_q
    at_rows = rows[:, None] * HEAD + d[None, :]
    queries = tl.load(q_ptr + at_rows, mask=live[:, None], other=0.0) * scale
    top = tl.full((BLOCK_M,), 0.0, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    last_row = tl.minimum(tile * BLOCK_M + BLOCK_M, seqlen_q) - 1
    last_key = last_row + ahead
    keys = tl.arange(0, BLOCK_N)
    while tl.min(keys) <= last_key:
        at_keys = keys[:, None] * HEAD + d[None, :]
        real = keys[:, None] < seqlen_k
        k_tile = tl.load(k_ptr + at_keys, mask=real, other=0.0)
        v_tile = tl.load(v_ptr + at_keys, mask=real, other=0.0)
        scores = tl.dot(queries, tl.trans(k_tile), input_precision="ieee")
        visible = keys[None, :] - rows[:, None] <= ahead
        scores = tl.where(visible & (keys[None, :] < seqlen_k), scores, float("-inf"))
        top, total, out = take_in(top, total, out, scores, v_tile)
        keys += BLOCK_N
    saw = total != 0
    denominator = tl.where(saw, total, 1.0)
    tl.store(o_ptr + at_rows, out / denominator[:, None], mask=live[:, None])
    tl.store(lse_ptr + rows, tl.where(saw, top + tl.log(denominator), float("-inf")), mask=live)
