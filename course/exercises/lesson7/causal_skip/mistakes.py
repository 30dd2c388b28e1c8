"""What wrong kernels store that leave out chunks of the future: a torch model of each known mistake, with words for it.

In poisoned cases the rows that see poison are left out, as the oracle leaves them out.
"""

import functools
import inspect
from types import SimpleNamespace

import torch

INF = float("inf")


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _exp(x):
    """In float32, with its underflow."""
    return torch.exp(x).float().double()


def _kernel(case, inputs, **steps):
    """Query tile by query tile, chunk by chunk; each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return steps.get(name, _STEPS[name])(t)

    nq, nk, block_m, block_n = case["seqlen_q"], case["seqlen_k"], case["block_m"], case["block_n"]
    o, lse = (torch.empty(nq, width, dtype=torch.float64) for width in (case["head"], 1))
    for first in range(0, nq, block_m):
        t = SimpleNamespace(**case, first=first, offset=nk - nq)
        t.row = (first + torch.arange(block_m))[:, None]
        t.q = inputs["q"][t.row[:, 0].clamp(max=nq - 1)]
        t.m, t.l = (torch.full((block_m, 1), x).double() for x in (step("lowest"), 0.0))
        t.acc = torch.zeros(block_m, case["head"]).double()
        for start in step("starts"):
            j = start + torch.arange(block_n)
            t.column, real = j[None, :], (j < nk)[:, None]
            t.k, t.v = (torch.where(real, inputs[name][j.clamp(max=nk - 1)], 0.0) for name in "kv")
            s = torch.where(step("seen"), step("scores"), -INF)
            m_new = torch.maximum(t.m, s.amax(1, keepdim=True))
            t.m_new = m_new
            anchor = step("anchor")
            alpha, t.p = _exp(t.m - anchor), _exp(s - anchor)
            t.l, t.acc, t.m = t.l * alpha + t.p.sum(1, keepdim=True), t.acc * alpha + step("product"), m_new
        t.safe = torch.where(t.l == 0, 1.0, t.l)
        rows = min(block_m, nq - first)
        o[first : first + rows] = (t.acc / step("divisor"))[:rows]
        lse[first : first + rows] = step("lse")[:rows]
    clean = nq - case["poisoned"]
    return {"o": o[:clean], "lse": lse[:clean, 0]}


def _end(t):
    return min(t.first + t.block_m + t.offset, t.seqlen_k)


def _until(end):
    return {"starts": lambda t: range(0, end(t), t.block_n)}


_STEPS = {
    "lowest": lambda t: -INF,
    **_until(_end),
    "scores": lambda t: t.q @ t.k.T * t.scale,
    "product": lambda t: t.p @ t.v,
    "seen": lambda t: (t.column <= t.row + t.offset) & (t.column < t.seqlen_k),
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "divisor": lambda t: t.safe,
    "lse": lambda t: t.m + t.safe.log(),
}


def nothing_skipped(case, inputs):
    """Every query tile walks over all keys, those in its future too, and hides them afterwards.

    A weight of 0 does not help against a value that is NaN. Which is the last key that the last row of a tile sees?
    The walk can end there.
    """
    return _kernel(case, inputs, **_until(lambda t: t.seqlen_k))


def diagonal_skipped(case, inputs):
    """The walk ends before the chunks on the diagonal: their visible keys are never seen.

    Which is the last key that the last row of a query tile may see? The walk has to reach it.
    """
    return _kernel(case, inputs, **_until(lambda t: t.first + t.offset))


def bound_without_offset(case, inputs, existing=False):
    """The walk ends at the row's own number: with fewer queries than keys it stops too soon, with more too late.

    Which is the last key that a query may see if there are more keys than queries? Look at the end of the walk.
    """

    def end(t):
        last = min(t.first + t.block_m, t.seqlen_q) if existing else t.first + t.block_m  # the last row, or its place
        return min(last, t.seqlen_k)

    return _kernel(case, inputs, **_until(end))


def bound_by_key_tile(case, inputs):
    """The end of the walk is worked out with BLOCK_N where the height of the query tile counts.

    Which is the last row of a query tile? Look at the end of the walk where BLOCK_M and BLOCK_N differ.
    """

    def end(t):
        return min((t.first // t.block_m + 1) * t.block_n + t.offset, t.seqlen_k)

    return _kernel(case, inputs, **_until(end))


def whole_chunks_only(case, inputs):
    """The last chunk that a tile needs is left out where only a part of it is visible.

    If the last visible key is number 40 and BLOCK_N is 32, how many chunks does the tile need?
    """
    return _kernel(case, inputs, **_until(lambda t: _end(t) // t.block_n * t.block_n))


def last_key_not_counted(case, inputs):
    """The walk ends before the last key that the tile sees: where a chunk begins with that key, it is left out.

    If the last visible key is number 32 and BLOCK_N is 32, at which key does the walk end? Is the end of a range in it?
    """
    return _kernel(case, inputs, **_until(lambda t: min(t.first + t.block_m - 1 + t.offset, t.seqlen_k)))


def one_chunk_too_many(case, inputs):
    """Where the visible keys end with a chunk, the one behind it is read as well.

    If the last visible key is number 31 and BLOCK_N is 32, at which key does the walk end? Is the end of a range in it?
    """
    return _kernel(case, inputs, **_until(lambda t: min(_end(t) + 1, t.seqlen_k)))


def mask_left_out(case, inputs):
    """Chunks of the future are left out, and within the chunks that are read nothing is hidden.

    A chunk on the diagonal is visible to some rows of the tile and not to others. What keeps them apart?
    """
    return _kernel(case, inputs, seen=lambda t: t.column < t.seqlen_k)


def aligned_at_the_first_key(case, inputs):
    """Mask and walk are aligned at the first key: right only where there are as many queries as keys.

    The last query sees the last key. Which is the last key that query 0 sees, with 3 queries and 5 keys?
    """
    return _kernel(
        case,
        inputs,
        seen=lambda t: (t.column <= t.row) & (t.column < t.seqlen_k),
        **_until(lambda t: min(t.first + t.block_m, t.seqlen_k)),
    )


def causal_strict(case, inputs):
    """The mask hides the diagonal too: a query does not see the last key that it may see.

    Does the last query see the last key? Look at the comparison in the mask.
    """
    return _kernel(case, inputs, seen=lambda t: (t.column < t.row + t.offset) & (t.column < t.seqlen_k))


def first_chunk_always(case, inputs):
    """A query tile that sees no key reads the first chunk all the same.

    With 64 queries and 32 keys, which keys does query 31 see? Where does the walk of its tile end?
    """
    return _kernel(case, inputs, **_until(lambda t: max(_end(t), 1)))


def diagonal_twice(case, inputs):
    """The chunk before the last one that a tile needs is taken in twice.

    Where does the walk over the chunks that all rows see end, and where does the one over the rest begin?
    """

    def starts(t):
        chunks = list(range(0, _end(t), t.block_n))
        return chunks if len(chunks) < 2 else [*chunks[:-1], *chunks[-2:]]

    return _kernel(case, inputs, starts=starts)


def guard_missing(case, inputs):
    """A row that has seen no key yet has maximum -inf, and -inf minus -inf makes it NaN for good.

    In a tile with the first rows that see a key, others see none. Look at both exponents for such a row.
    """
    return _kernel(case, inputs, anchor=lambda t: t.m_new)


def maximum_starts_at_zero(case, inputs, guarded=False):
    """A row's maximum is 0, or another number above all of its scores: where these lie far below, their weights vanish.

    What is exp(-200) in float32? Look at what the running maximum starts with, and at what hidden scores are set to.
    """
    steps = {"lse": lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log())} if guarded else {}
    return _kernel(case, inputs, lowest=lambda t: 0.0, **steps)


def dead_row_divided_by_zero(case, inputs):
    """A query that sees no key is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i of a row that has seen no key? Look at the last division.
    """
    return _kernel(case, inputs, divisor=lambda t: t.l)


def tf32(case, inputs, scores="scores", weights=True):
    """A tl.dot rounds float32 to TF32, as on newer GPUs it does unless told not to: about three digits are left.

    Look at the arguments of both tl.dot calls.
    """
    steps = {"product": lambda t: _tf32(t.p) @ _tf32(t.v)} if weights else {}
    if scores:
        steps["scores"] = _TF32_SCORES[scores]
    return _kernel(case, inputs, **steps)


_TF32_SCORES = {
    "scores": lambda t: _tf32(t.q) @ _tf32(t.k).T * t.scale,
    "scaled_queries": lambda t: _tf32(t.q * t.scale) @ _tf32(t.k).T,
}


def _variant(model, suffix, *arguments):
    """The same mistake in a kernel written another way."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, *arguments)

    variant.__name__ = f"{model.__name__}_{suffix}"
    return variant


_TF32 = (
    _variant(tf32, "in_scaled_queries_and_weights", "scaled_queries"),
    _variant(tf32, "in_scores", "scores", False),
    _variant(tf32, "in_scaled_queries", "scaled_queries", False),
    _variant(tf32, "in_weights", ""),
)

_EXISTING = _variant(bound_without_offset, "of_rows_that_exist", True)
_GUARDED = _variant(maximum_starts_at_zero, "with_lse_guarded", True)

MISTAKES = (
    nothing_skipped,
    diagonal_skipped,
    bound_without_offset,
    _EXISTING,
    bound_by_key_tile,
    whole_chunks_only,
    last_key_not_counted,
    one_chunk_too_many,
    mask_left_out,
    aligned_at_the_first_key,
    causal_strict,
    first_chunk_always,
    diagonal_twice,
    guard_missing,
    dead_row_divided_by_zero,
    maximum_starts_at_zero,
    _GUARDED,
    tf32,
    *_TF32,
)

# Only their counts tell these from a right kernel, and the counts do not tell them apart.
ALIASES = {
    _EXISTING.__name__: "bound_without_offset",
    _GUARDED.__name__: "maximum_starts_at_zero",
    **dict.fromkeys(("next_chunk_ahead", "loaded_and_left", "two_walks"), "chunks_read_too_often"),
    **{variant.__name__: "tf32" for variant in _TF32},
}

SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "chunks_read_too_often",
        "fail",
        r"elements of [kv] are loaded in all",
        "More of k or v is loaded than the chunks that a row of each query tile may see, once each.\n\n"
        "What is read ahead of its turn, before it is asked whether anybody may see it, or in a second walk? A load "
        "takes its time whether its values are used or not.",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
