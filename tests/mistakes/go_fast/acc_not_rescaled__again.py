"""Leaves acc in the measure of the old maximum, written otherwise."""

# seen on: cuda

import triton
import triton.language as tl

LAUNCH = {
    64: {"BLOCK_M": 64, "BLOCK_N": 32, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
    128: {"BLOCK_M": 32, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2, "descriptors": False, "programs": 0},
}


@triton.jit
def absorb(total, largest, weight, scores, values):
    top = tl.maximum(largest, tl.max(scores, 1))
    shrink = tl.exp(largest - top)
    exps = tl.exp(scores - top[:, None])
    return tl.dot(exps.to(values.dtype), values, total), top, weight * shrink + tl.sum(exps, 1)


@triton.jit
def go_fast_kernel(
    q,
    k,
    v,
    o,
    lse_ptr,
    NSEQ,
    HEADS,
    scale,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    head = tl.program_id(0) % HEADS
    mine = tl.program_id(0) // HEADS * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, HEAD)[None, :]
    queries = tl.load(q + (head * NSEQ + mine)[:, None] * HEAD + columns)
    total = tl.zeros((BLOCK_M, HEAD), tl.float32)
    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    weight = tl.zeros((BLOCK_M,), tl.float32)
    first = 0
    while first < NSEQ:
        keys = first + tl.arange(0, BLOCK_N)
        places = (head * NSEQ + keys)[:, None] * HEAD + columns
        scores = tl.dot(queries, tl.trans(tl.load(k + places))) * scale
        if CAUSAL:
            scores = tl.where(keys[None, :] <= mine[:, None], scores, float("-inf"))
        total, largest, weight = absorb(total, largest, weight, scores, tl.load(v + places))
        first += BLOCK_N
    rows = head * NSEQ + mine
    tl.store(o + rows[:, None] * HEAD + columns, (total / weight[:, None]).to(o.dtype.element_ty))
    tl.store(lse_ptr + rows, largest + tl.log(weight))
