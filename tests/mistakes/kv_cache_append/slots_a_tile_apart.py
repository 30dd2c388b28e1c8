"""Takes the rows of the caches to lie BLOCK_W apart, as if they filled the tile."""

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
    tokens = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    columns = tl.arange(0, BLOCK_W)
    slots = tl.load(slots_ptr + tokens, mask=tokens < TOKENS, other=-1)
    mask = (slots >= 0)[:, None] & (columns < WIDTH)[None, :]
    source = tokens[:, None] * STRIDE + columns[None, :]
    target = slots[:, None] * BLOCK_W + columns[None, :]
    k = tl.load(k_ptr + source, mask=mask, other=0.0)
    v = tl.load(v_ptr + source, mask=mask, other=0.0)
    tl.store(k_cache_ptr + target, k, mask=mask)
    tl.store(v_cache_ptr + target, v, mask=mask)
