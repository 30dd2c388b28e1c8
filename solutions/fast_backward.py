"""A fast backward pass of attention in half precision, beside the plain one of `lesson7/flash_backward.py`.

The plain one walks twice, so that no two programs add to the same place, and works out p and dp in both walks: seven
products.  Here is one walk, by tiles of keys, with five products for each pair of tiles:

    s^T = k q^T      p^T = exp(s^T - lse)      dv += p^T do
    dp^T = v do^T    ds^T = p^T * (dp^T - delta)      dk += ds^T q      dq += ds k

dk and dv stay in registers.  dq belongs to other tiles of keys too, so it is added to memory in float32: from sm_90 on
by the hardware that copies tiles (a descriptor's `atomic_add`), elsewhere number by number.  In which order is not
settled, so the last digits of dq differ from run to run.  A kernel before brings lse to base 2 and sums o * do by rows;
one after multiplies dq by the scale and rounds it.  exp2, the scale folded in, chunks at the diagonal apart, and
descriptors are those of `lesson7/go_fast.py`.

Nothing here is graded.  `attention_backward` runs it.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

LAUNCH = {
    64: {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
    128: {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
}  # one table for each HEAD: the fastest that `python benchmarks/attention.py --only backward` tries on an H200
ROWS = 64  # of the two small kernels


@triton.jit
def before_kernel(o_ptr, do_ptr, lse_ptr, delta_ptr, lse2_ptr, HEAD: tl.constexpr, ROWS: tl.constexpr):
    """delta = the sum of each row of o * do, and lse2 = lse * log2(e), for ROWS rows.

    o_ptr, do_ptr                pointers to (rows, HEAD), half precision
    lse_ptr, delta_ptr, lse2_ptr pointers to (rows,) float32
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cells = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]  # (ROWS, HEAD)
    product = tl.load(o_ptr + cells).to(tl.float32) * tl.load(do_ptr + cells).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(product, 1))
    tl.store(lse2_ptr + rows, tl.load(lse_ptr + rows) * 1.4426950408889634)


@triton.jit
def after_kernel(sum_ptr, dq_ptr, scale, HEAD: tl.constexpr, ROWS: tl.constexpr):
    """dq = scale * sum, rounded to dq's dtype, for ROWS rows of HEAD float32 numbers."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cells = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]  # (ROWS, HEAD)
    tl.store(dq_ptr + cells, (tl.load(sum_ptr + cells) * scale).to(dq_ptr.dtype.element_ty))


@triton.jit
def walk(
    dk, dv, k_tile, v_tile, q, do, dq, lse2_ptr, delta_ptr, base, start, end, offs_n, scale2,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, MASKED: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """A tile of keys meets the queries from ``start`` to ``end``; dk and dv (BLOCK_N, HEAD) come back with their parts.

    scale2 is the scale times log2(e); dk and what is added to dq lack the scale.
    """
    for start_m in tl.range(start, end, BLOCK_M):
        offs_m = start_m + tl.arange(0, BLOCK_M)
        q_tile = q.load([base + start_m, 0])  # (BLOCK_M, HEAD)
        st = tl.dot(k_tile, q_tile.T)  # (BLOCK_N, BLOCK_M): keys down and queries across, so that no p has to be turned
        pt = tl.math.exp2(st * scale2 - tl.load(lse2_ptr + base + offs_m)[None, :])
        if MASKED:
            pt = tl.where(offs_m[None, :] >= offs_n[:, None], pt, 0.0)
        do_tile = do.load([base + start_m, 0])  # (BLOCK_M, HEAD)
        dv = tl.dot(pt.to(do_tile.dtype), do_tile, dv)
        dpt = tl.dot(v_tile, do_tile.T)  # (BLOCK_N, BLOCK_M)
        dst = (pt * (dpt - tl.load(delta_ptr + base + offs_m)[None, :])).to(q_tile.dtype)
        dk = tl.dot(dst, q_tile, dk)
        part = tl.dot(dst.T, k_tile)  # (BLOCK_M, HEAD)
        if TILES:
            dq.atomic_add([base + start_m, 0], part)
        else:
            rows = (base + offs_m)[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
            tl.atomic_add(dq + rows, part, sem="relaxed")
    return dk, dv


@triton.jit
def backward_kernel(
    q, k, v, do, dq, dk, dv, lse2_ptr, delta_ptr, NSEQ, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
    TILES: tl.constexpr,
):  # fmt: skip
    """dk and dv of one tile of keys, and its part of dq.

    q, k, v, do  descriptors of (heads * NSEQ, HEAD), half precision, with tiles of BLOCK_M (q, do) or BLOCK_N rows
    dq           (heads * NSEQ, HEAD) float32, zeros at first: with TILES a descriptor with tiles of BLOCK_M rows, else
                 a pointer
    dk, dv       descriptors of (heads * NSEQ, HEAD), half precision, with tiles of BLOCK_N rows
    grid         (heads * NSEQ // BLOCK_N,): with a causal mask the first tiles of a head, which most queries see, first
    """
    tiles = NSEQ // BLOCK_N
    base = tl.program_id(0) // tiles * NSEQ
    key = tl.program_id(0) % tiles * BLOCK_N
    offs_n = key + tl.arange(0, BLOCK_N)
    scale2 = scale * 1.4426950408889634  # log2(e)
    k_tile = k.load([base + key, 0])  # (BLOCK_N, HEAD)
    v_tile = v.load([base + key, 0])
    dk_tile = tl.zeros((BLOCK_N, HEAD), tl.float32)
    dv_tile = tl.zeros((BLOCK_N, HEAD), tl.float32)
    clear = 0
    if CAUSAL:
        # Chunks of queries that meet the diagonal need a mask; those after them see the whole tile.
        clear = tl.cdiv(key + BLOCK_N, BLOCK_M) * BLOCK_M
        dk_tile, dv_tile = walk(
            dk_tile, dv_tile, k_tile, v_tile, q, do, dq, lse2_ptr, delta_ptr, base, key // BLOCK_M * BLOCK_M, clear,
            offs_n, scale2, HEAD, BLOCK_M, True, TILES,
        )  # fmt: skip
    dk_tile, dv_tile = walk(
        dk_tile, dv_tile, k_tile, v_tile, q, do, dq, lse2_ptr, delta_ptr, base, clear, NSEQ, offs_n, scale2, HEAD,
        BLOCK_M, False, TILES,
    )  # fmt: skip
    dk.store([base + key, 0], (dk_tile * scale).to(dk.dtype))
    dv.store([base + key, 0], dv_tile.to(dv.dtype))


def attention_backward(q, k, v, o, do, lse, causal, scale=None, settings=None):
    """The gradients dq, dk, dv of attention by q, k and v, and what the large kernel became when it was compiled.

    q, k, v, o and do (batch, heads, seqlen, head_dim), contiguous, bfloat16 or float16, head_dim 64 or 128, seqlen a
    multiple of 128; lse (batch, heads, seqlen) float32, the natural log-sum-exps of the scaled scores.

    Raises:
        ValueError: the inputs are others.
    """
    *_, seqlen, head = q.shape
    settings = dict(LAUNCH[head] if settings is None else settings)
    if seqlen % 128 or any(x.shape != q.shape or not x.is_contiguous() for x in (k, v, o, do)):
        raise ValueError("fast_backward takes contiguous tensors of one shape, with seqlen a multiple of 128.")
    rows = q.numel() // head
    scale = head**-0.5 if scale is None else scale
    sums = torch.zeros(rows, head, dtype=torch.float32, device=q.device)
    delta, lse2 = (torch.empty(rows, dtype=torch.float32, device=q.device) for _ in range(2))
    dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
    block_m, block_n = settings["BLOCK_M"], settings["BLOCK_N"]

    by_tiles = q.is_cuda and torch.cuda.get_device_capability(q.device) >= (9, 0)

    def tiles_of(x, height):
        return TensorDescriptor(x, [rows, head], [head, 1], [height, head])

    before_kernel[(rows // ROWS,)](o, do, lse, delta, lse2, HEAD=head, ROWS=ROWS)
    compiled = backward_kernel[(rows // block_n,)](
        *(tiles_of(x, height) for x, height in ((q, block_m), (k, block_n), (v, block_n), (do, block_m))),
        tiles_of(sums, block_m) if by_tiles else sums, tiles_of(dk, block_n), tiles_of(dv, block_n),
        lse2, delta, seqlen, scale, HEAD=head, CAUSAL=causal, TILES=by_tiles, **settings,
    )  # fmt: skip
    after_kernel[(rows // ROWS,)](sums, dq, scale, HEAD=head, ROWS=ROWS)
    return dq, dk, dv, compiled
