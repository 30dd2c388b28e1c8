"""Sends padding to slot 0, where it overwrites somebody's row.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def copy_rows(from_ptr, to_ptr, at, to, exists, STRIDE, WIDTH, BLOCK_W: tl.constexpr):
    lane = tl.arange(0, BLOCK_W)[None, :]
    live = exists[:, None] & (lane < WIDTH)
    rows = tl.load(from_ptr + at[:, None] * STRIDE + lane, mask=live)
    tl.store(to_ptr + to[:, None] * WIDTH + lane, rows, mask=live)


@triton.jit
def kv_cache_append_kernel(
    k_ptr,
    v_ptr,
    slots_ptr,
    k_cache_ptr,
    v_cache_ptr,
    TOKENS,
    STRIDE,
    WIDTH,
    BLOCK_T: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    number = tl.arange(0, BLOCK_T) + BLOCK_T * tl.program_id(0)
    there = number < TOKENS
    slot = tl.load(slots_ptr + number, mask=there, other=0)
    slot = tl.where(slot == -1, 0, slot)
    wanted = there
    copy_rows(k_ptr, k_cache_ptr, number, slot, wanted, STRIDE, WIDTH, BLOCK_W)
    copy_rows(v_ptr, v_cache_ptr, number, slot, wanted, STRIDE, WIDTH, BLOCK_W)
