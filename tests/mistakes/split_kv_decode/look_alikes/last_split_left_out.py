"""Combines all splits but the last."""

import triton
import triton.language as tl


@triton.jit
def combine_splits_kernel(part_o_ptr, part_lse_ptr, o_ptr, lse_ptr, SPLITS, HEAD: tl.constexpr, BLOCK_S: tl.constexpr):
    b = tl.program_id(0)
    column = tl.arange(0, HEAD)
    top = float("-inf")
    total = 0.0
    mix = tl.zeros((HEAD,), tl.float32)
    for part in range(SPLITS - 1):
        log = tl.load(part_lse_ptr + b * SPLITS + part)
        higher = tl.maximum(top, log)
        anchor = tl.where(higher == float("-inf"), 0.0, higher)
        old, new = tl.exp(top - anchor), tl.exp(log - anchor)
        total = total * old + new
        mix = mix * old + new * tl.load(part_o_ptr + (b * SPLITS + part) * HEAD + column)
        top = higher
    norm = tl.where(total == 0.0, 1.0, total)
    tl.store(o_ptr + b * HEAD + column, mix / norm)
    tl.store(lse_ptr + b, top + tl.log(norm))
