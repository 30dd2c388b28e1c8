"""Takes NSEQ - 1 for the number of rows: the last real row reads as 0.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_rows(matrix, index, columns, count, WIDTH: tl.constexpr):
    """Rows ``index`` of a (count, WIDTH) matrix."""
    where = index[:, None] * WIDTH + columns[None, :]
    real = (index < count)[:, None]
    return tl.load(matrix + where, mask=real, other=0.0)


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    last = NSEQ - 1
    q = load_rows(q_ptr, offs_m, offs_d, last, HEAD)
    k = load_rows(k_ptr, offs_n, offs_d, last, HEAD)
    v = load_rows(v_ptr, offs_n, offs_d, last, HEAD)
    return q, k, v
