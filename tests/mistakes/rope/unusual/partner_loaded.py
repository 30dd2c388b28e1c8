"""Loads the whole head and, at the partner columns, the whole head again, with signed sines."""

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
    column = tl.arange(0, HEAD)
    if INTERLEAVED:
        pair = column // 2
        partner = column + 1 - 2 * (column % 2)
        is_first = column % 2 == 0
    else:
        pair = column % (HEAD // 2)
        partner = (column + HEAD // 2) % HEAD
        is_first = column < HEAD // 2
    head = tl.arange(0, BLOCK_H)[:, None]
    place = tl.load(positions_ptr + token)
    cos = tl.load(cos_ptr + place * (HEAD // 2) + pair)[None, :]
    sin = tl.load(sin_ptr + place * (HEAD // 2) + pair)[None, :]
    sin = tl.where(is_first[None, :], -sin, sin)
    base = x_ptr + (token * HEADS + head) * HEAD
    own = tl.load(base + column[None, :], mask=head < HEADS, other=0.0)
    other = tl.load(base + partner[None, :], mask=head < HEADS, other=0.0)
    tl.store(y_ptr + (token * HEADS + head) * HEAD + column[None, :], own * cos + other * sin, mask=head < HEADS)
