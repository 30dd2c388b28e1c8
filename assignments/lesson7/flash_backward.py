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
    # TODO: load the rows of o and do, and store the sum of their products, row by row.


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
    # TODO: load what belongs to the queries.
    # TODO: walk over the keys in chunks of BLOCK_N: p from the saved log-sum-exps, then dp, ds, and the chunk's part
    # of dq, in true float32; mind ghosts, hidden keys, and queries that see none.
    # TODO: store dq.


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
    # TODO: load what belongs to the keys.
    # TODO: walk over the queries in chunks of BLOCK_M: their p, dp and ds, and the chunk's parts of dk and dv, in
    # true float32; mind ghosts, hidden keys, and queries that see none.
    # TODO: store dk and dv.
