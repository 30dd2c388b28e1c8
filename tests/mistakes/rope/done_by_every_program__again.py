"""Has every program turn all tokens.

The same mistake, written another way.
"""

# seen on: cpu

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
    HALF: tl.constexpr = HEAD // 2
    STEP: tl.constexpr = 2 if INTERLEAVED else 1
    FAR: tl.constexpr = 1 if INTERLEAVED else HALF
    pair = tl.arange(0, HALF)
    for number in range(tl.num_programs(0) * HEADS):
        place = tl.load(positions_ptr + number // HEADS) * HALF + pair
        cos = tl.load(cos_ptr + place)
        sin = tl.load(sin_ptr + place)
        left = number * HEAD + pair * STEP
        a = tl.load(x_ptr + left)
        b = tl.load(x_ptr + left + FAR)
        tl.store(y_ptr + left, a * cos - b * sin)
        tl.store(y_ptr + left + FAR, a * sin + b * cos)
