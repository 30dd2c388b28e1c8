"""Loads k and v by their own rows but masks them by the query rows.

The same mistake, written another way.
"""

import triton
import triton.language as tl


@triton.jit
def load_live(matrix, index, columns, live, WIDTH: tl.constexpr):
    return tl.load(matrix + WIDTH * index[:, None] + columns[None, :], mask=live, other=0.0)


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    live = (offs_m < NSEQ)[:, None]
    q = load_live(q_ptr, offs_m, offs_d, live, HEAD)
    k = load_live(k_ptr, offs_n, offs_d, live, HEAD)
    v = load_live(v_ptr, offs_n, offs_d, live, HEAD)
    return q, k, v
