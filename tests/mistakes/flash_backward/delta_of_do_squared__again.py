"""Adds up the squares of do in delta.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def backward_delta_kernel(o_ptr, do_ptr, delta_ptr, seqlen_q, HEAD: tl.constexpr, BLOCK_M: tl.constexpr):
    row = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]
    place = row * HEAD + tl.arange(0, HEAD)[None, :]
    grad = tl.load(do_ptr + place, mask=row < seqlen_q, other=0.0)
    total = tl.sum(grad * grad, axis=1, keep_dims=True)
    tl.store(delta_ptr + row, total, mask=row < seqlen_q)
