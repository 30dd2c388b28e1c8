"""Steps from row to row by the sequence length instead of the head size.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_rows(matrix, index, columns, count, width):
    """Rows ``index`` of a (count, width) matrix."""
    where = index[:, None] * width + columns[None, :]
    real = (index < count)[:, None]
    return tl.load(matrix + where, mask=real, other=0.0)


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    q = load_rows(q_ptr, offs_m, offs_d, NSEQ, NSEQ)
    k = load_rows(k_ptr, offs_n, offs_d, NSEQ, NSEQ)
    v = load_rows(v_ptr, offs_n, offs_d, NSEQ, NSEQ)
    return q, k, v
