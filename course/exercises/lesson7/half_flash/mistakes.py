"""What wrong kernels of FlashAttention in 16 bits store: a torch model of each known mistake, with words for it."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _attention(case, inputs, v, steps):
    """Query tile by query tile, chunk by chunk; each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return steps.get(name, _STEPS[name])(t)

    nq, nk, block_m, block_n = case["seqlen_q"], case["seqlen_k"], case["block_m"], case["block_n"]
    dtype = getattr(torch, case["dtype"])
    o, lse = (torch.empty(math.ceil(nq / block_m) * block_m, width, dtype=torch.float64) for width in (case["head"], 1))
    for first in range(0, nq, block_m):
        t = SimpleNamespace(**case, offset=nk - nq)
        t.half = lambda x: x.float().to(dtype).double()
        t.i = first + torch.arange(block_m)
        t.row = t.i[:, None]
        t.q = torch.where(t.row < nq, inputs["q"][t.i.clamp(max=nq - 1)], 0.0)
        t.m, t.l = (torch.full((block_m, 1), x).double() for x in (step("lowest"), 0.0))
        t.acc = torch.zeros(block_m, case["head"]).double()
        for start in range(0, nk, block_n):
            j = start + torch.arange(block_n)
            t.column, real = j[None, :], (j < nk)[:, None]
            t.k = torch.where(real, inputs["k"][j.clamp(max=nk - 1)], 0.0)
            t.v = torch.where(real, v[j.clamp(max=nk - 1)], step("other"))
            t.raw = _f32(step("scores"))
            t.s = torch.where(step("keep"), t.raw, -INF)
            t.m_new = torch.maximum(t.m, t.s.amax(1, keepdim=True))
            t.anchor = step("anchor")
            t.alpha, t.p = step("alpha"), _f32(torch.exp(t.s - t.anchor))
            t.l, t.acc = _f32(step("l")), _f32(step("acc"))
            t.m = step("m")
        t.safe = torch.where(t.l == 0, 1.0, t.l)
        o[first : first + block_m] = t.half(step("o"))
        lse[first : first + block_m] = step("lse")
    return o[:nq], lse[:nq, 0]


def _kernel(case, inputs, **steps):
    o, lse = _attention(case, inputs, inputs["v"], steps)
    if not case["twin"]:
        return {"o": o, "lse": lse}
    o_twin, lse_twin = _attention(case, inputs, inputs["v_twin"], steps)
    return {"o": o, "lse": lse, "doubled": (o_twin == 2 * o).all(1) & (lse_twin == lse)}


_STEPS = {
    "lowest": lambda t: -INF,
    "other": lambda t: 0.0,
    "scores": lambda t: _f32(t.q @ t.k.T) * t.scale,
    "keep": lambda t: (t.column < t.seqlen_k) & _seen(t),
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "alpha": lambda t: _f32(torch.exp(t.m - t.anchor)),
    "l": lambda t: t.l * t.alpha + t.p.sum(1, keepdim=True),
    "acc": lambda t: t.acc * t.alpha + t.half(t.p) @ t.v,
    "m": lambda t: t.m_new,
    "o": lambda t: t.acc / t.safe,
    "lse": lambda t: t.m + t.safe.log(),
}


def _seen(t):
    return (t.column <= t.row + t.offset) | (not t.causal)


def acc_in_half(case, inputs):
    """The accumulator is kept in 16 bits: it is rounded at every chunk, and infinite above 65504.

    A sum of 16-bit products needs more bits than its terms. Look at the dtype that acc has from chunk to chunk.
    """
    return _kernel(case, inputs, acc=lambda t: t.half(t.acc * t.alpha + t.half(t.p) @ t.v))


def sum_in_half(case, inputs):
    """The running sum is kept in 16 bits: lse has three digits, and o suffers with it.

    Look at the dtype that l_i has from chunk to chunk.
    """
    return _kernel(case, inputs, l=lambda t: t.half(t.l * t.alpha + t.p.sum(1, keepdim=True)))


def scores_in_half(case, inputs):
    """The scores are rounded to 16 bits before the scale: three digits are left, and none above 65504.

    tl.dot gives float32 for 16-bit tiles if it is left to. Look at its arguments, and at what becomes of its result.
    """
    return _kernel(case, inputs, scores=lambda t: t.half(t.q @ t.k.T) * t.scale)


def scaled_queries_in_half(case, inputs):
    """The scale, or the product of the queries and the scale, is rounded to 16 bits, which moves every score.

    Both have more digits than 16 bits hold. What can be scaled instead, and which dtype does the scale have there?
    """
    return _kernel(case, inputs, scores=lambda t: t.half(_f32(t.q * t.scale)) @ t.k.T)


def sum_of_rounded_weights(case, inputs):
    """The weights are rounded to 16 bits before they are added up: lse has three or four digits.

    The second product takes 16-bit weights, and the sum need not. In which order are they rounded and added?
    """
    return _kernel(case, inputs, l=lambda t: t.l * t.alpha + t.half(t.p).sum(1, keepdim=True))


def rounded_before_the_division(case, inputs):
    """The accumulator is rounded to 16 bits before it is divided: above 65504 the output is infinite.

    The sum of p v may be far larger than the output. Where does a value become one of 16 bits?
    """
    return _kernel(case, inputs, o=lambda t: t.half(t.acc) / t.safe)


def maximum_in_half(case, inputs):
    """The running maximum is rounded to 16 bits between chunks, and the weights are measured from another.

    l_i and acc are measured from the maximum to all its digits. Look at the dtype that m_i has from chunk to chunk.
    """
    return _kernel(case, inputs, m=lambda t: t.half(t.m_new))


def no_max_subtraction(case, inputs):
    """exp is taken of the scores as they are: in 16 bits a weight is infinite for a score of 12 already.

    Look at what is subtracted from s before exp, and what exp(12) becomes in float16.
    """
    return _kernel(
        case,
        inputs,
        anchor=lambda t: torch.zeros_like(t.m),
        alpha=lambda t: torch.ones_like(t.m),
        lse=lambda t: torch.where(t.l == 0, -INF, t.safe.log()),
    )


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum; l_i is right.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc + t.half(t.p) @ t.v)


def product_in_half(case, inputs):
    """The product of weights and values is rounded to 16 bits in every chunk: above 65504 it is infinite.

    A chunk's sum of p v may be far larger than any of its values. Look at the dtype of what is added to acc.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc * t.alpha + t.half(t.half(t.p) @ t.v))


def maximum_starts_at_zero(case, inputs, **steps):
    """A row's maximum is 0, or another number above all of its scores: where these lie far below, their weights vanish.

    What is exp(-200) in float32? Look at what the running maximum starts with, and at what hidden scores are set to.
    """
    return _kernel(case, inputs, lowest=lambda t: 0.0, **steps)


def maximum_starts_at_zero_with_lse_guarded(case, inputs):
    """The same mistake in a kernel that knows dead rows by their sum."""
    return maximum_starts_at_zero(case, inputs, lse=lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log()))


maximum_starts_at_zero_with_lse_guarded.__doc__ = maximum_starts_at_zero.__doc__


def ghost_columns_unmasked(case, inputs):
    """Keys that do not exist take part in the softmax with a score of 0: they take weight from the real keys.

    Look at the columns behind the end of the keys, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, keep=_seen)


def causal_top_left(case, inputs):
    """The causal mask is aligned at the first key: it is right only where there are as many queries as keys.

    The last query sees the last key. Which is the last key that query 0 sees?
    """
    return _kernel(case, inputs, keep=lambda t: (t.column < t.seqlen_k) & ((t.column <= t.row) | (not t.causal)))


def value_without_other(case, inputs):
    """Values that do not exist read as NaN here, and 0 times NaN is NaN: a ragged last chunk spoils every row.

    The load of v masks lanes off. What do those read as, and what are they multiplied by?
    """
    return _kernel(case, inputs, other=lambda t: NAN)


def store_without_mask(case, inputs):
    """Rows of a query tile that do not exist are stored too, behind the end of o.

    Compare the mask of the store of o with that of the load of q.
    """
    if case["seqlen_q"] % case["block_m"]:
        return r"(?:stores outside|wrote past the end of) o(?:_twin)?\b"
    return _kernel(case, inputs)


MISTAKES = (
    acc_in_half,
    sum_in_half,
    scores_in_half,
    scaled_queries_in_half,
    sum_of_rounded_weights,
    rounded_before_the_division,
    maximum_in_half,
    no_max_subtraction,
    acc_not_rescaled,
    product_in_half,
    maximum_starts_at_zero,
    maximum_starts_at_zero_with_lse_guarded,
    ghost_columns_unmasked,
    causal_top_left,
    value_without_other,
    store_without_mask,
)

# What a tile is converted to does not show in the message.
ALIASES = {
    "scale_in_half": "scaled_queries_in_half",
    "weights_not_converted": "product_of_two_types",
    "float16_by_name": "product_of_two_types",
    "maximum_starts_at_zero_with_lse_guarded": "maximum_starts_at_zero",
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
        "product_of_two_types",
        "compile-error",
        r"tl\.dot takes two tiles of one dtype",
        "tl.dot is given tiles of two dtypes.\n\nThe weights come out of exp in float32, and the values have the dtype of "
        "their pointer, which is float16 here and bfloat16 there. What has to be converted, and to what?",
    ),
)
