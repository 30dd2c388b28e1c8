"""Has the two ways to pair the wrong way round.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def columns_of_pairs(HEAD: tl.constexpr, INTERLEAVED: tl.constexpr):
    number = tl.arange(0, HEAD // 2)
    step = 2 if INTERLEAVED else 1
    apart = 1 if INTERLEAVED else HEAD // 2
    return number * step, number * step + apart


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
    which = tl.program_id(0)
    place = tl.load(positions_ptr + which)
    angle = place * (HEAD // 2) + tl.arange(0, HEAD // 2)
    c = tl.load(cos_ptr + angle)[None, :]
    s = tl.load(sin_ptr + angle)[None, :]
    real, imaginary = columns_of_pairs(HEAD, not INTERLEAVED)
    head = tl.arange(0, BLOCK_H)
    there = (head < HEADS)[:, None]
    start = which * HEADS * HEAD + (head * HEAD)[:, None]
    u = tl.load(x_ptr + (start + real[None, :]), mask=there, other=0.0)
    w = tl.load(x_ptr + (start + imaginary[None, :]), mask=there, other=0.0)
    turned_u = u * c - w * s
    turned_w = u * s + w * c
    tl.store(y_ptr + (start + real[None, :]), turned_u, mask=there)
    tl.store(y_ptr + (start + imaginary[None, :]), turned_w, mask=there)
