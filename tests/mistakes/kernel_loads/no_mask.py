"""Loads the tiles without a mask: ghost rows read whatever lies behind the tensor."""

import triton
import triton.language as tl


@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    rows_q = offs_m[:, None] * HEAD + offs_d[None, :]
    rows_kv = offs_n[:, None] * HEAD + offs_d[None, :]
    q = tl.load(q_ptr + rows_q)
    k = tl.load(k_ptr + rows_kv)
    v = tl.load(v_ptr + rows_kv)
    return q, k, v
