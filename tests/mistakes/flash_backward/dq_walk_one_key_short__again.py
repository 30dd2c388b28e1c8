"""Ends the walk over the keys one key too soon.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def backward_dq_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    exists = offs_m < seqlen_q
    rows = offs_m[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, HEAD)
    q = tl.load(q_ptr + rows, mask=exists[:, None], other=0.0)
    do = tl.load(do_ptr + rows, mask=exists[:, None], other=0.0)
    lse = tl.load(lse_ptr + offs_m, mask=exists, other=0.0)  # (BLOCK_M,)
    delta = tl.load(delta_ptr + offs_m, mask=exists, other=0.0)
    dq = tl.zeros((BLOCK_M, HEAD), tl.float32)
    end = seqlen_k
    if CAUSAL:
        last_row = tl.minimum(seqlen_q, (tl.program_id(0) + 1) * BLOCK_M) - 1
        end = tl.minimum(seqlen_k, last_row + seqlen_k - seqlen_q)
    for start in range(0, end, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        columns = offs_n[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, HEAD)
        k = tl.load(k_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        visible = offs_n[None, :] < seqlen_k
        if CAUSAL:
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        p = tl.where(visible, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee")
    tl.store(dq_ptr + rows, dq * scale, mask=exists[:, None])
