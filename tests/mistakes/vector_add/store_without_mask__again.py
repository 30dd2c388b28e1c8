"""Masks the loads and not the store: the last block writes behind the end of c.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    block = tl.program_id(0)
    where = BLOCK * block + tl.arange(0, BLOCK)
    total = tl.load(a_ptr + where, mask=n > where) + tl.load(b_ptr + where, mask=n > where)
    out = c_ptr + where
    tl.store(out, total)
