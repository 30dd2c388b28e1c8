"""The reference of `go_fast` with a switch for each of its optimisations, so that each can be measured by itself.

With the switches that `benchmarks/attention.py` reads from `solutions/lesson7/go_fast.py` it does what that does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# Constants of the kernel, all but AHEAD and GROUP on.
FULL: Mapping[str, Any] = {
    "EXP2": True,
    "SPLIT": True,
    "DESCRIPTORS": True,
    # 1: scores beside the softmax, and weights carried over in float32, in registers; 2: rounded, in shared memory;
    # 3: the weighted sum of the chunk before beside the softmax; 4: that, and the scores of the chunk to come
    "AHEAD": 0,
    "LONG_FIRST": True,
    "GROUP": 1,  # with a causal mask, heads whose tiles of one length go together; divides the number of heads
    "PRECISION": "ieee",  # of float32 dots; the others have no choice
}
# What is turned off, by the name that tables and the lesson have for it.
OFF: Mapping[str, Mapping[str, Any]] = {
    "exp instead of exp2, scaled apart": {"EXP2": False},
    "every chunk masked": {"SPLIT": False},
    "pointers instead of descriptors": {"DESCRIPTORS": False},
    "no pipelining (num_stages=1)": {"num_stages": 1},
    "short tiles first": {"LONG_FIRST": False},
    "one head after another": {"GROUP": 1},
}
CAUSAL_ONLY = ("short tiles first", "one head after another")


@triton.jit
def _weights(s, m_i, l_i, scale, EXP2: tl.constexpr):
    """p (BLOCK_M, BLOCK_N), alpha, m_i and l_i (BLOCK_M,) after one more chunk of scores."""
    if EXP2:  # the scale has log2(e) in it, and is taken off with the maximum: one multiplication and addition
        m_new = tl.maximum(m_i, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - m_new[:, None])
        alpha = tl.math.exp2(m_i - m_new)
    else:
        s = s * (scale * 0.6931471805599453)
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
    return p, alpha, m_new, l_i * alpha + tl.sum(p, 1)


@triton.jit
def _chunk(x, row, HEAD: tl.constexpr, BLOCK_N: tl.constexpr, DESCRIPTORS: tl.constexpr):
    """Rows row to row + BLOCK_N - 1 of x."""
    if DESCRIPTORS:
        tile = x.load([row, 0])
    else:
        rows = row + tl.arange(0, BLOCK_N)
        tile = tl.load(x + rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :])
    return tile


@triton.jit
def _visible(s, reach, start_n, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    if MASKED:
        s = tl.where(reach[:, None] >= start_n + tl.arange(0, BLOCK_N)[None, :], s, float("-inf"))
    return s


@triton.jit
def _attend(
    acc, m_i, l_i, q, k, v, base, start, end, reach, scale,
    HEAD: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
    EXP2: tl.constexpr, DESCRIPTORS: tl.constexpr, AHEAD: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Chunks of keys from start to end; row i sees keys up to reach[i]."""
    if AHEAD > 0:
        # A turn of the loop begins with the weighted sum of the chunk before, waits for it, and sends the scores of the
        # chunk to come on their way: the tensor cores work on them during this chunk's softmax.
        if start < end:
            s = tl.dot(q, _chunk(k, base + start, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
            s = _visible(s, reach, start, BLOCK_N, MASKED)
            p, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
            acc = acc * alpha[:, None]
            if AHEAD == 2:
                p = p.to(q.dtype)
            if start + BLOCK_N < end:
                s = tl.dot(
                    q, _chunk(k, base + start + BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION
                )
                for start_n in tl.range(start + BLOCK_N, end - BLOCK_N, BLOCK_N):
                    v_before = _chunk(v, base + start_n - BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS)
                    acc = tl.dot(p.to(q.dtype), v_before, acc, input_precision=PRECISION)
                    k_next = _chunk(k, base + start_n + BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS)
                    following = tl.dot(q, k_next.T, input_precision=PRECISION)
                    s = _visible(s, reach, start_n, BLOCK_N, MASKED)
                    weights, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
                    acc = acc * alpha[:, None]
                    p = weights
                    if AHEAD == 2:
                        p = weights.to(q.dtype)
                    s = following
                v_before = _chunk(v, base + end - 2 * BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS)
                acc = tl.dot(p.to(q.dtype), v_before, acc, input_precision=PRECISION)
                s = _visible(s, reach, end - BLOCK_N, BLOCK_N, MASKED)
                weights, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
                acc = acc * alpha[:, None]
                p = weights
                if AHEAD == 2:
                    p = weights.to(q.dtype)
            v_last = _chunk(v, base + end - BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS)
            acc = tl.dot(p.to(q.dtype), v_last, acc, input_precision=PRECISION)
    else:
        for start_n in tl.range(start, end, BLOCK_N):
            s = tl.dot(q, _chunk(k, base + start_n, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
            s = _visible(s, reach, start_n, BLOCK_N, MASKED)
            p, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
            v_chunk = _chunk(v, base + start_n, HEAD, BLOCK_N, DESCRIPTORS)
            acc = tl.dot(p.to(v_chunk.dtype), v_chunk, acc * alpha[:, None], input_precision=PRECISION)
    return acc, m_i, l_i


@triton.jit
def _attend_beside(
    acc, m_i, l_i, q, k, v, base, last, reach, scale,
    HEAD: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr, MASKED_LAST: tl.constexpr,
    EXP2: tl.constexpr, DESCRIPTORS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The chunk of keys that begins at last, and then all before it; row i sees keys up to reach[i].

    A turn of the loop waits for its scores, and sends the weighted sum of the chunk before on its way: the tensor cores
    work on it during the softmax. In no turn is anything copied that they still read or write, since the weights are
    carried over in float32 and rounded behind the wait: else the compiler would have all products done one by one.
    """
    s = tl.dot(q, _chunk(k, base + last, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
    s = _visible(s, reach, last, BLOCK_N, MASKED_LAST)
    p, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
    for start_n in tl.range(0, last, BLOCK_N):
        s = tl.dot(q, _chunk(k, base + start_n, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
        before = tl.where(start_n == 0, last, start_n - BLOCK_N)  # not carried over: loads could not run ahead
        v_before = _chunk(v, base + before, HEAD, BLOCK_N, DESCRIPTORS)
        acc = tl.dot(p.to(q.dtype), v_before, acc * alpha[:, None], input_precision=PRECISION)
        s = _visible(s, reach, start_n, BLOCK_N, MASKED)
        p, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
    before = tl.where(last == 0, last, last - BLOCK_N)
    v_before = _chunk(v, base + before, HEAD, BLOCK_N, DESCRIPTORS)
    return tl.dot(p.to(q.dtype), v_before, acc * alpha[:, None], input_precision=PRECISION), m_i, l_i


@triton.jit
def _attend_between(
    acc, m_i, l_i, q, k, v, base, last, reach, scale, zero,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr, MASKED_LAST: tl.constexpr,
    EXP2: tl.constexpr, DESCRIPTORS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """As _attend_beside, and the scores of the chunk to come are on their way as well during the softmax.

    Triton waits for products behind one that is used at once: a small one, of zeros.  The scores that are there then
    are copied, before the next ones are written in their place; zero is 0, which the compiler does not know.
    """
    s = tl.dot(q, _chunk(k, base + last, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
    s = _visible(s, reach, last, BLOCK_N, MASKED_LAST)
    p, alpha, m_i, l_i = _weights(s, m_i, l_i, scale, EXP2)
    s = tl.dot(q, _chunk(k, base, HEAD, BLOCK_N, DESCRIPTORS).T, input_precision=PRECISION)
    few = tl.zeros((BLOCK_M, 16), q.dtype)
    square = tl.zeros((16, 16), q.dtype)
    for start_n in tl.range(0, last, BLOCK_N):
        l_i += tl.sum(tl.dot(few, square), 1)
        here = (s.to(tl.int32, bitcast=True) ^ zero).to(tl.float32, bitcast=True)
        before = tl.where(start_n == 0, last, start_n - BLOCK_N)
        v_before = _chunk(v, base + before, HEAD, BLOCK_N, DESCRIPTORS)
        acc = tl.dot(p.to(q.dtype), v_before, acc * alpha[:, None], input_precision=PRECISION)
        k_next = _chunk(k, base + start_n + BLOCK_N, HEAD, BLOCK_N, DESCRIPTORS)
        s = tl.dot(q, k_next.T, input_precision=PRECISION)
        here = _visible(here, reach, start_n, BLOCK_N, MASKED)
        p, alpha, m_i, l_i = _weights(here, m_i, l_i, scale, EXP2)
    before = tl.where(last == 0, last, last - BLOCK_N)
    v_before = _chunk(v, base + before, HEAD, BLOCK_N, DESCRIPTORS)
    return tl.dot(p.to(q.dtype), v_before, acc * alpha[:, None], input_precision=PRECISION), m_i, l_i


@triton.jit
def steps_kernel(
    q, k, v, o, lse_ptr, NSEQ, HEADS, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
    EXP2: tl.constexpr, SPLIT: tl.constexpr, DESCRIPTORS: tl.constexpr, AHEAD: tl.constexpr,
    LONG_FIRST: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """As go_fast_kernel, with switches."""
    tiles = NSEQ // BLOCK_M
    head = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    if CAUSAL:
        within = tl.program_id(0) % (tiles * GROUP)
        head = tl.program_id(0) // (tiles * GROUP) * GROUP + within % GROUP
        tile = within // GROUP
        if LONG_FIRST:
            tile = tiles - 1 - tile
    base = head * NSEQ
    row = tile * BLOCK_M
    offs_m = row + tl.arange(0, BLOCK_M)
    reach = offs_m if CAUSAL else offs_m * 0 + NSEQ - 1  # (BLOCK_M,) the last key that each row sees
    scale = scale * 1.4426950408889634
    q_tile = _chunk(q, base + row, HEAD, BLOCK_M, DESCRIPTORS)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    if AHEAD >= 3:
        last = NSEQ - BLOCK_N
        if CAUSAL:
            tl.static_assert(BLOCK_M <= BLOCK_N, "each row has to see a key of the chunk that comes first")
            last = row // BLOCK_N * BLOCK_N
        if AHEAD == 3:
            acc, m_i, l_i = _attend_beside(
                acc, m_i, l_i, q_tile, k, v, base, last, reach, scale,
                HEAD, BLOCK_N, not SPLIT, CAUSAL or not SPLIT, EXP2, DESCRIPTORS, PRECISION,
            )  # fmt: skip
        else:
            acc, m_i, l_i = _attend_between(
                acc, m_i, l_i, q_tile, k, v, base, last, reach, scale, HEADS >> 31,
                HEAD, BLOCK_M, BLOCK_N, not SPLIT, CAUSAL or not SPLIT, EXP2, DESCRIPTORS, PRECISION,
            )  # fmt: skip
    elif CAUSAL:
        end = row + BLOCK_M
        if end % BLOCK_N != 0:  # a chunk longer than the tile
            end += BLOCK_N - end % BLOCK_N
        if SPLIT:
            below = row // BLOCK_N * BLOCK_N
            acc, m_i, l_i = _attend(
                acc, m_i, l_i, q_tile, k, v, base, 0, below, reach, scale,
                HEAD, BLOCK_N, False, EXP2, DESCRIPTORS, AHEAD, PRECISION,
            )  # fmt: skip
            acc, m_i, l_i = _attend(
                acc, m_i, l_i, q_tile, k, v, base, below, end, reach, scale,
                HEAD, BLOCK_N, True, EXP2, DESCRIPTORS, 0, PRECISION,
            )  # fmt: skip
        else:
            acc, m_i, l_i = _attend(
                acc, m_i, l_i, q_tile, k, v, base, 0, end, reach, scale,
                HEAD, BLOCK_N, True, EXP2, DESCRIPTORS, AHEAD, PRECISION,
            )  # fmt: skip
    else:
        acc, m_i, l_i = _attend(
            acc, m_i, l_i, q_tile, k, v, base, 0, NSEQ, reach, scale,
            HEAD, BLOCK_N, not SPLIT, EXP2, DESCRIPTORS, AHEAD, PRECISION,
        )  # fmt: skip
    out = acc / l_i[:, None]
    if EXP2:
        lse = (m_i + tl.math.log2(l_i)) * 0.6931471805599453
    else:
        lse = m_i + tl.log(l_i)
    tl.store(lse_ptr + base + offs_m, lse)
    if DESCRIPTORS:
        o.store([base + row, 0], out.to(o.dtype))
    else:
        rows = base + offs_m
        tl.store(o + rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :], out.to(o.dtype.element_ty))


def launch(q, k, v, out, lse, causal, settings, switches=FULL):  # type: ignore[no-untyped-def]
    """Launch on q, k, v, out (batch, heads, seqlen, head_dim); returns the compiled kernel.

    ``settings`` has BLOCK_M, BLOCK_N and options such as num_warps and num_stages.
    """
    batch, heads, seqlen, head_dim = q.shape
    switches = {**FULL, **switches}
    options = {name: switches.pop(name) for name in ("num_stages", "num_warps") if name in switches}
    block_m, block_n = settings["BLOCK_M"], settings["BLOCK_N"]
    args = [q, k, v, out]
    if switches["DESCRIPTORS"]:
        shape, strides = [batch * heads * seqlen, head_dim], [head_dim, 1]
        rows = (block_m, block_n, block_n, block_m)
        args = [TensorDescriptor(x, shape, strides, [r, head_dim]) for x, r in zip(args, rows, strict=True)]
    grid = (batch * heads * (seqlen // block_m),)
    return steps_kernel[grid](
        *args, lse, seqlen, batch * heads, head_dim**-0.5, HEAD=head_dim, CAUSAL=causal, **switches,
        **{**settings, **options},
    )  # fmt: skip
