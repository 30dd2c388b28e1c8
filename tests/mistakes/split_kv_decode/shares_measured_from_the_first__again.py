"""Measures the shares from the log-sum-exp of the first split.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def combine_splits_kernel(part_o_ptr, part_lse_ptr, o_ptr, lse_ptr, SPLITS, HEAD: tl.constexpr, BLOCK_S: tl.constexpr):
    b = tl.program_id(0)
    column = tl.arange(0, HEAD)[:, None]
    part = tl.arange(0, BLOCK_S)[None, :]
    exists = part < SPLITS
    logs = tl.load(part_lse_ptr + b * SPLITS + part, mask=exists, other=float("-inf"))  # (1, BLOCK_S)
    anchor = tl.load(part_lse_ptr + b * SPLITS + tl.zeros((1, 1), tl.int32))
    anchor = tl.where(anchor == float("-inf"), 0.0, anchor)
    share = tl.exp(logs - anchor)
    mass = tl.sum(share, axis=1, keep_dims=True)  # (1, 1)
    norm = tl.where(mass == 0.0, 1.0, mass)
    outs = tl.load(part_o_ptr + (b * SPLITS + part) * HEAD + column, mask=exists, other=0.0)  # (HEAD, BLOCK_S)
    mixed = tl.sum(share / norm * outs, axis=1, keep_dims=True)
    tl.store(o_ptr + b * HEAD + column, mixed)
    tl.store(lse_ptr + b + tl.zeros((1, 1), tl.int32), tl.where(mass == 0.0, float("-inf"), anchor + tl.log(norm)))
