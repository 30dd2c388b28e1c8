"""Walks over the heads in a loop, so that no head is a ghost."""

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
    pair = tl.arange(0, HEAD // 2)
    row = tl.load(positions_ptr + token) * (HEAD // 2)
    c, s = tl.load(cos_ptr + row + pair), tl.load(sin_ptr + row + pair)
    first = pair * 2 if INTERLEAVED else pair
    second = first + (1 if INTERLEAVED else HEAD // 2)
    for head in range(HEADS):
        start = (token * HEADS + head) * HEAD
        a, b = tl.load(x_ptr + start + first), tl.load(x_ptr + start + second)
        tl.store(y_ptr + start + first, c * a - s * b)
        tl.store(y_ptr + start + second, s * a + c * b)
