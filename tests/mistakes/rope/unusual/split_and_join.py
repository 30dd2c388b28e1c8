"""Loads whole heads and takes pairs apart and together in registers."""

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
    head = tl.arange(0, BLOCK_H)[:, None]
    column = tl.arange(0, HEAD)[None, :]
    offsets = (token * HEADS + head) * HEAD + column
    x = tl.load(x_ptr + offsets, mask=head < HEADS, other=0.0)
    angle = tl.load(positions_ptr + token) * (HEAD // 2) + tl.arange(0, HEAD // 2)
    c, s = tl.load(cos_ptr + angle)[None, :], tl.load(sin_ptr + angle)[None, :]
    if INTERLEAVED:
        a, b = tl.split(tl.reshape(x, (BLOCK_H, HEAD // 2, 2)))
        y = tl.interleave(a * c - b * s, b * c + a * s)
    else:
        a, b = tl.split(tl.permute(tl.reshape(x, (BLOCK_H, 2, HEAD // 2)), (0, 2, 1)))
        joined = tl.permute(tl.join(a * c - b * s, b * c + a * s), (0, 2, 1))
        y = tl.reshape(joined, (BLOCK_H, HEAD))
    tl.store(y_ptr + offsets, y, mask=head < HEADS)
