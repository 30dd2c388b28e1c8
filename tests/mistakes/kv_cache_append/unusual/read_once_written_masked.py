"""Loads all rows that exist, padding too, and masks the stores only."""

import triton
import triton.language as tl


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
    token = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)[:, None]
    column = tl.arange(0, BLOCK_W)[None, :]
    there = (token < TOKENS) & (column < WIDTH)
    slot = tl.load(slots_ptr + token, mask=token < TOKENS, other=0)
    k = tl.load(k_ptr + token * STRIDE + column, mask=there, other=0.0)
    tl.store(k_cache_ptr + slot * WIDTH + column, k, mask=there & (slot > -1))
    v = tl.load(v_ptr + token * STRIDE + column, mask=there, other=0.0)
    tl.store(v_cache_ptr + slot * WIDTH + column, v, mask=there & (slot > -1))
