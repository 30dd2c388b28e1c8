"""Measures the shares from the log-sum-exp of the first split."""

import triton
import triton.language as tl


@triton.jit
def combine_splits_kernel(
    part_o_ptr,
    part_lse_ptr,
    o_ptr,
    lse_ptr,
    SPLITS,
    HEAD: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    sequence = tl.program_id(0)
    offs_d = tl.arange(0, HEAD)
    splits = tl.arange(0, BLOCK_S)
    place = sequence * SPLITS + splits
    part_lse = tl.load(part_lse_ptr + place, mask=splits < SPLITS, other=float("-inf"))
    top = tl.max(tl.where(splits == 0, part_lse, float("-inf")), 0)
    base = tl.where(top == float("-inf"), 0.0, top)
    weight = tl.exp(part_lse - base)
    total = tl.sum(weight, 0)
    divisor = tl.where(total == 0.0, 1.0, total)
    part_o = tl.load(part_o_ptr + place[:, None] * HEAD + offs_d[None, :], mask=splits[:, None] < SPLITS, other=0.0)
    o = tl.sum(part_o * weight[:, None], 0) / divisor
    tl.store(o_ptr + sequence * HEAD + offs_d, o)
    tl.store(lse_ptr + sequence, top + tl.log(divisor))
