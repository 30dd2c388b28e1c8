"""Turns a mask around with `not`, which a GPU does element by element, and forgets the ghost columns."""

# may be called: ghost_columns_kept, tile_as_one_truth_value

import triton
import triton.language as tl


@triton.jit
def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):
    gone = offs_m[:, None] + 0 * offs_n[None, :] >= NSEQ
    if CAUSAL:
        gone = gone | (offs_n[None, :] > offs_m[:, None])
    return tl.where(not gone, s, float("-inf"))
