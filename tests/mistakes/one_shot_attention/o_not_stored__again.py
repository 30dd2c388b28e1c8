"""Forgets to store o.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def read_rows(matrix, index, columns, count, WIDTH: tl.constexpr):
    return tl.load(matrix + index[:, None] * WIDTH + columns[None, :], mask=index[:, None] < count, other=0.0)


@triton.jit
def row_softmax(scores):
    shifted = scores - tl.max(scores, axis=1)[:, None]
    weights = tl.exp(shifted)
    return weights / tl.sum(weights, axis=1)[:, None]


@triton.jit
def attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    NSEQ,
    HEAD: tl.constexpr,
    scale,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    query = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    key = tl.arange(0, BLOCK_N)
    column = tl.arange(0, BLOCK_D)
    queries = read_rows(q_ptr, query, column, NSEQ, HEAD) * scale
    keys = read_rows(k_ptr, key, column, NSEQ, HEAD)
    values = read_rows(v_ptr, key, column, NSEQ, HEAD)
    logits = tl.dot(queries, tl.trans(keys), input_precision="ieee")
    logits = tl.where((key < NSEQ)[None, :], logits, float("-inf"))
    if CAUSAL:
        logits = tl.where(query[:, None] >= key[None, :], logits, float("-inf"))
    weights = row_softmax(logits)
    _ = tl.dot(weights, values, input_precision="ieee")
