"""Lesson 6: the keys and values of new tokens go to their slots of the KV cache, and nothing else is touched.

A server holds the caches of many sequences in one pool of slots. Which slot a new token gets is up to its memory
manager: the slots of one sequence need not lie side by side (Kwon et al. 2023, arXiv 2309.06180). The kernel gets a
list with a slot for each token and copies. A batch is filled up to a fixed size with padding tokens, whose slot is -1.

Shapes: k and v are (TOKENS, STRIDE) float32, of which the first WIDTH columns count; slots is (TOKENS,) int64; the
caches are (slots in all, WIDTH) float32, contiguous. BLOCK_T and BLOCK_W are powers of two, BLOCK_W >= WIDTH.
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
    """Copy the rows of k and v for one tile of tokens to their slots of the caches.

    k_ptr, v_ptr              pointers to the first of TOKENS rows of WIDTH float32, whose starts are STRIDE apart
    slots_ptr                 pointer to (TOKENS,) int64: the row of the caches for each token, -1 for padding;
                              no slot is given twice
    k_cache_ptr, v_cache_ptr  pointers to (slots in all, WIDTH) float32, contiguous, in use
    grid                      (cdiv(TOKENS, BLOCK_T),); program_id(0) is the tile of tokens
    tiles                     BLOCK_W >= WIDTH; a column from WIDTH on is a ghost

    Every row of the caches that no token names keeps what it holds.
    """
    tokens = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    columns = tl.arange(0, BLOCK_W)
    # TODO: the slot of each token of the tile. Which of them are there to be copied?
    # TODO: copy these tokens' rows of k and v to their slots, and nothing besides.
