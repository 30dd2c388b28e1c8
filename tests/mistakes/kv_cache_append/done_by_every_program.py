"""Has every program copy all tokens."""

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
    columns = tl.arange(0, BLOCK_W)
    for first in range(0, TOKENS, BLOCK_T):
        tokens = first + tl.arange(0, BLOCK_T)
        slots = tl.load(slots_ptr + tokens, mask=tokens < TOKENS, other=-1)
        keep = (slots[:, None] >= 0) & (columns[None, :] < WIDTH)
        source = tokens[:, None] * STRIDE + columns[None, :]
        target = slots[:, None] * WIDTH + columns[None, :]
        tl.store(k_cache_ptr + target, tl.load(k_ptr + source, mask=keep), mask=keep)
        tl.store(v_cache_ptr + target, tl.load(v_ptr + source, mask=keep), mask=keep)
