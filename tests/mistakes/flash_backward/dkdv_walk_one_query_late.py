"""Begins the walk over the queries one query too late."""

import triton
import triton.language as tl


@triton.jit
def backward_dkdv_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    do_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    seqlen_q,
    seqlen_k,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    exists = offs_n < seqlen_k
    columns = offs_n[:, None] * HEAD + offs_d[None, :]
    k = tl.load(k_ptr + columns, mask=exists[:, None], other=0.0)
    v = tl.load(v_ptr + columns, mask=exists[:, None], other=0.0)
    dk = tl.zeros((BLOCK_N, HEAD), tl.float32)
    dv = tl.zeros((BLOCK_N, HEAD), tl.float32)
    begin = 0
    if CAUSAL:
        begin = tl.maximum(tl.program_id(0) * BLOCK_N + 1 - seqlen_k + seqlen_q, 0) // BLOCK_M * BLOCK_M
    for start in range(begin, seqlen_q, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M)
        live = offs_m < seqlen_q
        rows = offs_m[:, None] * HEAD + offs_d[None, :]
        q = tl.load(q_ptr + rows, mask=live[:, None], other=0.0)
        do = tl.load(do_ptr + rows, mask=live[:, None], other=0.0)
        lse = tl.load(lse_ptr + offs_m, mask=live, other=0.0)
        delta = tl.load(delta_ptr + offs_m, mask=live, other=0.0)
        s = tl.dot(k, tl.trans(q), input_precision="ieee") * scale
        visible = live[None, :]
        if CAUSAL:
            visible = visible & (offs_n[:, None] <= offs_m[None, :] + seqlen_k - seqlen_q)
        p = tl.where(visible, tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(p, do, input_precision="ieee")
        dp = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds = p * (dp - delta[None, :])
        dk += tl.dot(ds, q, input_precision="ieee")
    tl.store(dk_ptr + columns, dk * scale, mask=exists[:, None])
    tl.store(dv_ptr + columns, dv, mask=exists[:, None])
