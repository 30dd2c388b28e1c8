"""Lesson 7: the backward pass of FlashAttention, from the log-sum-exps that the forward pass has saved.

With s = scale * q k^T, p = softmax(s) by rows and o = p v, and with do the gradient of a loss by o, the gradients are

    dv = p^T do
    dp = do v^T
    ds = p * (dp - delta)       delta = the sum of each row of o * do
    dq = scale * ds k
    dk = scale * ds^T q

p is (seqlen_q, seqlen_k), too large to have been stored; exp(s - lse) makes any tile of it anew, without a running
maximum. dq sums over keys, dk and dv sum over queries. So that no two programs add to the same place, there are two
walks: a program with a tile of queries walks over the keys, one with a tile of keys walks over the queries. A small
kernel comes first and works out delta, one number a query.

Shapes: q, o, do and dq are (seqlen_q, HEAD), k, v, dk and dv (seqlen_k, HEAD), lse and delta (seqlen_q,); float32,
contiguous. HEAD is a power of two. With CAUSAL the last query is aligned with the last key: query i sees key j if
j <= i + seqlen_k - seqlen_q. A query that sees no key has lse = -inf and o = 0; its dq is 0, and it adds nothing to dk
and dv.
"""

import triton
import triton.language as tl


@triton.jit
def backward_delta_kernel(o_ptr, do_ptr, delta_ptr, seqlen_q, HEAD: tl.constexpr, BLOCK_M: tl.constexpr):
    """delta = the sum of each row of o * do, for one tile of query rows.

    o_ptr, do_ptr  pointers to (seqlen_q, HEAD) float32
    delta_ptr      pointer to (seqlen_q,) float32
    grid           (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    Writes the elements of delta that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    ### BEGIN SOLUTION
    #: # TODO: load the rows of o and do, and store the sum of their products, row by row.
    exists = offs_m < seqlen_q
    cells = offs_m[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, HEAD)
    o = tl.load(o_ptr + cells, mask=exists[:, None], other=0.0)
    do = tl.load(do_ptr + cells, mask=exists[:, None], other=0.0)
    tl.store(delta_ptr + offs_m, tl.sum(o * do, 1), mask=exists)
    ### END SOLUTION


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
    """dq for one tile of query rows: a walk over the keys.

    q_ptr, do_ptr, dq_ptr  pointers to (seqlen_q, HEAD) float32
    k_ptr, v_ptr           pointers to (seqlen_k, HEAD) float32
    lse_ptr, delta_ptr     pointers to (seqlen_q,) float32; lse is -inf for a query that sees no key
    scale                  float32, as in the forward pass
    grid                   (cdiv(seqlen_q, BLOCK_M),); program_id(0) is the query tile

    No tile holds more than BLOCK_N keys. Writes the rows of dq that exist, and nothing else.
    """
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    ### BEGIN SOLUTION
    #: # TODO: load what belongs to the queries.
    #: # TODO: walk over the keys in chunks of BLOCK_N: p from the saved log-sum-exps, then dp, ds, and the chunk's part
    #: # of dq, in true float32; mind ghosts, hidden keys, and queries that see none.
    #: # TODO: store dq.
    exists = offs_m < seqlen_q
    rows = offs_m[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, HEAD)
    q = tl.load(q_ptr + rows, mask=exists[:, None], other=0.0)
    do = tl.load(do_ptr + rows, mask=exists[:, None], other=0.0)
    lse = tl.load(lse_ptr + offs_m, mask=exists, other=0.0)  # (BLOCK_M,)
    delta = tl.load(delta_ptr + offs_m, mask=exists, other=0.0)
    dq = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, seqlen_k, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        columns = offs_n[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, HEAD)
        k = tl.load(k_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        v = tl.load(v_ptr + columns, mask=offs_n[:, None] < seqlen_k, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BLOCK_M, BLOCK_N)
        visible = offs_n[None, :] < seqlen_k
        if CAUSAL:
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
        # A query that sees no key has lse = -inf: the choice comes after exp, which may overflow where nothing is seen.
        p = tl.where(visible, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee")
    tl.store(dq_ptr + rows, dq * scale, mask=exists[:, None])
    ### END SOLUTION


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
    """dk and dv for one tile of keys: a walk over the queries.

    q_ptr, do_ptr                 pointers to (seqlen_q, HEAD) float32
    k_ptr, v_ptr, dk_ptr, dv_ptr  pointers to (seqlen_k, HEAD) float32
    lse_ptr, delta_ptr            pointers to (seqlen_q,) float32; lse is -inf for a query that sees no key
    scale                         float32, as in the forward pass
    grid                          (cdiv(seqlen_k, BLOCK_N),); program_id(0) is the tile of keys

    No tile holds more than BLOCK_M queries. Writes the rows of dk and dv that exist, and nothing else.
    """
    offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    ### BEGIN SOLUTION
    #: # TODO: load what belongs to the keys.
    #: # TODO: walk over the queries in chunks of BLOCK_M: their p, dp and ds, and the chunk's parts of dk and dv, in
    #: # true float32; mind ghosts, hidden keys, and queries that see none.
    #: # TODO: store dk and dv.
    exists = offs_n < seqlen_k
    columns = offs_n[:, None] * HEAD + offs_d[None, :]  # (BLOCK_N, HEAD)
    k = tl.load(k_ptr + columns, mask=exists[:, None], other=0.0)
    v = tl.load(v_ptr + columns, mask=exists[:, None], other=0.0)
    dk = tl.zeros((BLOCK_N, HEAD), tl.float32)
    dv = tl.zeros((BLOCK_N, HEAD), tl.float32)
    for start in range(0, seqlen_q, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M)
        live = offs_m < seqlen_q
        rows = offs_m[:, None] * HEAD + offs_d[None, :]  # (BLOCK_M, HEAD)
        q = tl.load(q_ptr + rows, mask=live[:, None], other=0.0)
        do = tl.load(do_ptr + rows, mask=live[:, None], other=0.0)
        lse = tl.load(lse_ptr + offs_m, mask=live, other=0.0)  # (BLOCK_M,)
        delta = tl.load(delta_ptr + offs_m, mask=live, other=0.0)
        # Everything is turned round, keys down and queries across, so that no tile of p has to be turned.
        s = tl.dot(k, tl.trans(q), input_precision="ieee") * scale  # (BLOCK_N, BLOCK_M)
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
    ### END SOLUTION
