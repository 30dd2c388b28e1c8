"""Starts the running maximum at 0.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def grouped_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    heads_q,
    heads_kv,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    share = heads_q // heads_kv
    pair = tl.program_id(1)
    tile = tl.program_id(0)
    rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)
    i = rows // share
    member = rows - i * share
    d = tl.arange(0, BLOCK_D)
    n = tl.arange(0, BLOCK_N)
    live = rows < seqlen_q * share
    first_head = pair * share
    place = ((first_head + member) * seqlen_q + i) * HEAD
    queries = tl.load(q_ptr + place[:, None] + d[None, :], mask=live[:, None], other=0.0)
    k_tile = k_ptr + (pair * seqlen_k + n)[None, :] * HEAD + d[:, None]
    v_tile = v_ptr + (pair * seqlen_k + n)[:, None] * HEAD + d[None, :]
    top = tl.zeros((BLOCK_M,), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    done = 0
    while done < seqlen_k:
        k_turned = tl.load(k_tile, mask=(done + n)[None, :] < seqlen_k, other=0.0)
        values = tl.load(v_tile, mask=(done + n)[:, None] < seqlen_k, other=0.0)
        scores = tl.dot(queries, k_turned, input_precision="ieee")
        scores = tl.where((done + n)[None, :] < seqlen_k, scores * scale, float("-inf"))
        if CAUSAL:
            scores = tl.where((done + n)[None, :] - i[:, None] <= seqlen_k - seqlen_q, scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp(scores - anchor[:, None])
        shrink = tl.exp(top - anchor)
        total = total * shrink + tl.sum(weights, 1)
        out = tl.dot(weights, values, out * shrink[:, None], input_precision="ieee")
        top = higher
        k_tile += BLOCK_N * HEAD
        v_tile += BLOCK_N * HEAD
        done += BLOCK_N
    out = out / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(o_ptr + place[:, None] + d[None, :], out, mask=live[:, None])
