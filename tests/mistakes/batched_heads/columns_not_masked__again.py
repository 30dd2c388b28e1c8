"""Loads and stores all of BLOCK_D columns.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def corner(tensor, batch, head, stride_batch, stride_head):
    return tensor + batch.to(tl.int64) * stride_batch + head.to(tl.int64) * stride_head


@triton.jit
def batched_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_qd,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_kd,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_vd,
    stride_ob,
    stride_oh,
    stride_om,
    stride_od,
    heads,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) - batch * heads
    d = tl.arange(0, BLOCK_D).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.arange(0, BLOCK_N)
    reach = rows + (seqlen_k - seqlen_q)
    live_rows = rows < seqlen_q
    live_d = d < BLOCK_D
    from_q = corner(q_ptr, batch, head, stride_qb, stride_qh)
    from_k = corner(k_ptr, batch, head, stride_kb, stride_kh)
    from_v = corner(v_ptr, batch, head, stride_vb, stride_vh)
    to_o = corner(o_ptr, batch, head, stride_ob, stride_oh)
    q_tile = from_q + rows[:, None].to(tl.int64) * stride_qm + d[None, :] * stride_qd
    queries = tl.load(q_tile, mask=live_rows[:, None] & live_d[None, :], other=0.0) * scale
    k_tile = from_k + d[:, None] * stride_kd + keys[None, :].to(tl.int64) * stride_kn
    v_tile = from_v + keys[:, None].to(tl.int64) * stride_vn + d[None, :] * stride_vd
    top = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    out = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    left = seqlen_k
    while left > 0:
        live_keys = keys < left
        k_turned = tl.load(k_tile, mask=live_d[:, None] & live_keys[None, :], other=0.0)
        values = tl.load(v_tile, mask=live_keys[:, None] & live_d[None, :], other=0.0)
        scores = tl.dot(queries, k_turned, input_precision="ieee")
        scores = tl.where(live_keys[None, :], scores, float("-inf"))
        if CAUSAL:
            scores = tl.where((seqlen_k - left + keys)[None, :] <= reach[:, None], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        weights = tl.exp(scores - anchor[:, None])
        shrink = tl.exp(top - anchor)
        total = total * shrink + tl.sum(weights, 1)
        out = tl.dot(weights, values, out * shrink[:, None], input_precision="ieee")
        top = higher
        k_tile += stride_kn.to(tl.int64) * BLOCK_N
        v_tile += stride_vn.to(tl.int64) * BLOCK_N
        left -= BLOCK_N
    out = out / tl.where(total == 0.0, 1.0, total)[:, None]
    o_tile = to_o + rows[:, None].to(tl.int64) * stride_om + d[None, :] * stride_od
    tl.store(o_tile, out, mask=live_rows[:, None] & live_d[None, :])
