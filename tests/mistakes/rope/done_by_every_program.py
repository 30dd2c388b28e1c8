"""Has every program turn all tokens."""

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
    heads = tl.arange(0, BLOCK_H)
    pairs = tl.arange(0, HEAD // 2)
    real = heads[:, None] < HEADS
    if INTERLEAVED:
        first, second = 2 * pairs, 2 * pairs + 1
    else:
        first, second = pairs, pairs + HEAD // 2
    for token in range(tl.num_programs(0)):
        angles = tl.load(positions_ptr + token) * (HEAD // 2) + pairs
        cos = tl.load(cos_ptr + angles)[None, :]
        sin = tl.load(sin_ptr + angles)[None, :]
        rows = (token * HEADS + heads[:, None]) * HEAD
        a = tl.load(x_ptr + rows + first[None, :], mask=real)
        b = tl.load(x_ptr + rows + second[None, :], mask=real)
        tl.store(y_ptr + rows + first[None, :], a * cos - b * sin, mask=real)
        tl.store(y_ptr + rows + second[None, :], b * cos + a * sin, mask=real)
