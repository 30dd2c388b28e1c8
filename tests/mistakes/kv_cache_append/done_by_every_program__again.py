"""Has every program copy all tokens.

The same mistake, written another way.
"""

# seen on: cpu

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
    column = tl.arange(0, BLOCK_W)
    for token in range(TOKENS):
        slot = tl.load(slots_ptr + token)
        copied = (column < WIDTH) & (slot >= 0)
        key = tl.load(k_ptr + token * STRIDE + column, mask=copied)
        value = tl.load(v_ptr + token * STRIDE + column, mask=copied)
        tl.store(k_cache_ptr + slot * WIDTH + column, key, mask=copied)
        tl.store(v_cache_ptr + slot * WIDTH + column, value, mask=copied)
