"""Every program works out delta for all tiles, from the last to the first."""

# seen on: cpu

import triton
import triton.language as tl


@triton.jit
def backward_delta_kernel(o_ptr, do_ptr, delta_ptr, seqlen_q, HEAD: tl.constexpr, BLOCK_M: tl.constexpr):
    tiles = tl.num_programs(0)
    for back in range(tiles):
        rows = (tiles - 1 - back) * BLOCK_M + tl.arange(0, BLOCK_M)
        there = rows < seqlen_q
        at = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
        products = tl.load(o_ptr + at, mask=there[:, None], other=0.0)
        products *= tl.load(do_ptr + at, mask=there[:, None], other=0.0)
        tl.store(delta_ptr + rows, tl.sum(products, 1), mask=there)


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
    rows = offs_m[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + rows, mask=exists[:, None], other=0.0)
    do = tl.load(do_ptr + rows, mask=exists[:, None], other=0.0)
    lse = tl.load(lse_ptr + offs_m, mask=exists, other=0.0)
    delta = tl.load(delta_ptr + offs_m, mask=exists, other=0.0)
    dq = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, seqlen_k, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        columns = offs_n[:, None] * HEAD + offs_d[None, :]
        k = tl.load(k_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        visible = offs_n[None, :] < seqlen_k
        if CAUSAL:
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)

        p = tl.where(visible, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee")
    tl.store(dq_ptr + rows, dq * scale, mask=exists[:, None])


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
    for start in range(0, seqlen_q, BLOCK_M):
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
