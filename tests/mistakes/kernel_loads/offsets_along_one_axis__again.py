"""Adds the offsets of rows and of columns as they come, along one axis: all rows of a tile are the same.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_rows(matrix, index, columns, count, WIDTH: tl.constexpr):
    """Rows ``index`` of a (count, WIDTH) matrix."""
    where = columns + index * WIDTH
    real = (index < count)[:, None]
    return tl.load(matrix + where, mask=real, other=0.0)


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    q = load_rows(q_ptr, offs_m, offs_d, NSEQ, HEAD)
    k = load_rows(k_ptr, offs_n, offs_d, NSEQ, HEAD)
    v = load_rows(v_ptr, offs_n, offs_d, NSEQ, HEAD)
    return q, k, v
