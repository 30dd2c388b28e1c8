"""Has a plus in both formulas: no turn, and lengths change."""

import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr,
    positions_ptr,
    cos_ptr,
    sin_ptr,
    y_ptr,
    HEADS,
    HEAD: tl.constexpr,
    BLOCK_H: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    token = tl.program_id(0)
    heads = tl.arange(0, BLOCK_H)[:, None]
    pairs = tl.arange(0, HEAD // 2)[None, :]
    position = tl.load(positions_ptr + token)
    cos = tl.load(cos_ptr + position * (HEAD // 2) + pairs)
    sin = tl.load(sin_ptr + position * (HEAD // 2) + pairs)
    if INTERLEAVED:
        first = 2 * pairs
        second = 2 * pairs + 1
    else:
        first = pairs
        second = pairs + HEAD // 2
    rows = (token * HEADS + heads) * HEAD
    mask = heads < HEADS
    a = tl.load(x_ptr + rows + first, mask=mask, other=0.0)
    b = tl.load(x_ptr + rows + second, mask=mask, other=0.0)
    tl.store(y_ptr + rows + first, a * cos + b * sin, mask=mask)
    tl.store(y_ptr + rows + second, b * cos + a * sin, mask=mask)
