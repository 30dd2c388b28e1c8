"""Walks over the tile's tokens and decides about each with an if."""

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
    columns = tl.arange(0, BLOCK_W)
    real = columns < WIDTH
    for place in range(BLOCK_T):
        token = tl.program_id(0) * BLOCK_T + place
        if token < TOKENS:
            slot = tl.load(slots_ptr + token)
            if slot >= 0:
                k = tl.load(k_ptr + token * STRIDE + columns, mask=real)
                v = tl.load(v_ptr + token * STRIDE + columns, mask=real)
                tl.store(k_cache_ptr + slot * WIDTH + columns, k, mask=real)
                tl.store(v_cache_ptr + slot * WIDTH + columns, v, mask=real)
