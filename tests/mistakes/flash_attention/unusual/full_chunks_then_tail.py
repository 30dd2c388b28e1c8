"""Streams the full chunks without a column mask and the tail with one."""

import triton
import triton.language as tl


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
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + row[:, None] * HEAD + d[None, :], mask=row[:, None] < seqlen_q, other=0.0) * scale
    m = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK_M,), tl.float32)
    o = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    reach = row + seqlen_k - seqlen_q if CAUSAL else row * 0 + seqlen_k
    tail = seqlen_k // BLOCK_N * BLOCK_N
    for first in tl.range(0, tail, BLOCK_N):
        n = first + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + n[:, None] * HEAD + d[None, :])
        v = tl.load(v_ptr + n[:, None] * HEAD + d[None, :])
        s = tl.where(n[None, :] <= reach[:, None], tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
        m, l, o = online_softmax_update(m, l, o, s, v)
    if tail < seqlen_k:
        n = tail + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + n[:, None] * HEAD + d[None, :], mask=n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + n[:, None] * HEAD + d[None, :], mask=n[:, None] < seqlen_k, other=0.0)
        visible = (n[None, :] <= reach[:, None]) & (n < seqlen_k)[None, :]
        s = tl.where(visible, tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
        m, l, o = online_softmax_update(m, l, o, s, v)
    l = tl.where(l > 0, l, 1.0)
    tl.store(o_ptr + row[:, None] * HEAD + d[None, :], o / l[:, None], mask=row[:, None] < seqlen_q)
    tl.store(lse_ptr + row, m + tl.log(l), mask=row < seqlen_q)
