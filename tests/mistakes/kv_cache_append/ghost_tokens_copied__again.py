"""Lets the slots of tokens that do not exist read as 0, which is a slot.

The same mistake, written another way.
"""

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
    token = (tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T))[:, None]
    column = tl.arange(0, BLOCK_W)[None, :]
    slot = tl.load(slots_ptr + token, mask=token < TOKENS, other=0)
    copied = (column < WIDTH) & (slot > -1)
    row = token * STRIDE + column
    key = tl.load(k_ptr + row, mask=copied)
    value = tl.load(v_ptr + row, mask=copied)
    place = slot * WIDTH + column
    tl.store(k_cache_ptr + place, key, mask=copied)
    tl.store(v_cache_ptr + place, value, mask=copied)
