"""What known wrong online_softmax_update kernels lead to, for naming the mistake in one that fails.

A model streams the chunks as the harness does, in float32, since overflow and underflow of exp are often what shows.
"""

import inspect
import math

import torch

_INF = float("inf")
_LOG2E = 1 / math.log(2)


class _Chunk:
    """What an update works with: the state before it, and what a right kernel computes from the chunk."""

    def __init__(self, m, l, acc, s, v):
        self.m, self.l, self.acc = m, l, acc  # (tiles, BLOCK_M), the same, (tiles, BLOCK_M, BLOCK_D)
        self.s, self.v = s, v  # (tiles, BLOCK_M, BLOCK_N), (BLOCK_N, BLOCK_D)
        self.top = s.amax(2)
        self.go_by(torch.maximum(m, self.top))

    def go_by(self, m_new):
        """Measure alpha and p against another new maximum."""
        self.m_new, self.m_safe = m_new, _finite(m_new)
        self.alpha = torch.exp(self.m - self.m_safe)
        self.p = torch.exp(self.s - self.m_safe[..., None])
        return self

    def state(self, l=None, acc=None, alpha=None, p=None, m=None):
        """The right new state, with parts of it replaced."""
        alpha = self.alpha if alpha is None else alpha
        p = self.p if p is None else p
        l = self.l * alpha + p.sum(2) if l is None else l
        acc = self.acc * alpha[..., None] + p @ self.v if acc is None else acc
        return self.m_new if m is None else m, l, acc


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def _finite(m):
    return torch.where(m == -_INF, 0.0, m)


def _same(m):
    return m


def _stream(case, inputs, update, fits=True, carry=_same):
    """o and lse after all chunks.

    ``fits`` is false where tiles of two shapes meet: no kernel gives +inf there.  ``carry`` is what a kernel hands on of
    its maximum: with `_finite` a row that has seen nothing goes on with 0, as in the lesson's guard.
    """
    s, v = inputs["s"].float(), inputs["v"].float()
    rows, head, block_n = s.shape[0], v.shape[1], case["block_n"]
    if not fits:
        return {"o": torch.full((rows, head), _INF), "lse": torch.full((rows,), _INF)}
    s = s.reshape(-1, case["block_m"], s.shape[1])
    m, l, acc = torch.full(s.shape[:2], -_INF), torch.zeros(s.shape[:2]), torch.zeros(*s.shape[:2], head)
    for start in range(0, s.shape[2], block_n):
        m, l, acc = update(_Chunk(m, l, acc, s[:, :, start : start + block_n], v[start : start + block_n]))
        m = carry(m)
    m, l, acc = m.flatten().double(), l.flatten().double(), acc.reshape(rows, head).double()
    empty = (l == 0)[:, None]
    return {"o": torch.where(empty, 0.0, acc / torch.where(empty, 1.0, l[:, None])), "lse": m + torch.log(l)}


def _from_zero(model):
    """The same mistake beside the lesson's guard."""

    def variant(case, inputs):
        return model(case, inputs, carry=_finite)

    variant.__name__ = f"{model.__name__}_from_zero"
    variant.__doc__ = model.__doc__
    return variant


def acc_not_rescaled(case, inputs):
    """acc keeps its old scale when a later chunk raises the maximum, while l is brought over to the new one.

    acc and l are sums of the same weights. Compare the line that updates acc with the one that updates l.
    """
    return _stream(case, inputs, lambda c: c.state(acc=c.acc + c.p @ c.v))


def l_not_rescaled(case, inputs):
    """l keeps its old scale when a later chunk raises the maximum, while acc is brought over to the new one.

    acc and l are sums of the same weights. Compare the line that updates l with the one that updates acc.
    """
    return _stream(case, inputs, lambda c: c.state(l=c.l + c.p.sum(2)))


def nothing_rescaled(case, inputs):
    """Neither l nor acc is brought over to a new maximum: what earlier chunks left keeps its old scale.

    Is there a factor on the old sums, and is it ever different from 1? It needs the maximum from before the chunk.
    """
    return _stream(case, inputs, lambda c: c.state(alpha=torch.ones_like(c.alpha)))


def acc_rescaled_after(case, inputs):
    """acc is rescaled after the chunk is added, so the chunk is rescaled too, though it goes by the new maximum already.

    Which part of acc is measured against the old maximum? Check the order of the two steps.
    """
    return _stream(case, inputs, lambda c: c.state(acc=(c.acc + c.p @ c.v) * c.alpha[..., None]))


def l_rescaled_after(case, inputs):
    """l is rescaled after the chunk's sum is added, so this sum is rescaled too, which it does not need.

    Which part of l is measured against the old maximum? Check the order of the two steps.
    """
    return _stream(case, inputs, lambda c: c.state(l=(c.l + c.p.sum(2)) * c.alpha))


def acc_overwritten(case, inputs):
    """acc holds the last chunk only: what earlier chunks left in it is gone.

    What has to happen to the old acc before and after the product of p and v?
    """
    return _stream(case, inputs, lambda c: c.state(acc=c.p @ c.v))


def alpha_on_the_new_part(case, inputs, carry=_same):
    """The factor exp(old m - new m) is applied to the new chunk, and the old sums stay as they are.

    The chunk is measured against the new maximum already. Which sums are still measured against the old one?
    """

    def update(c):
        return c.state(l=c.l + c.p.sum(2) * c.alpha, acc=c.acc + c.p @ c.v * c.alpha[..., None])

    return _stream(case, inputs, update, carry=carry)


def alpha_inverted(case, inputs):
    """Everything is NaN from the first chunk on, as when the factor exp(old m - new m) does not come out as 0 there.

    m_i is -inf before the first chunk. Work out that factor by hand then: which sign does its exponent have, and
    what is exp of
    it?
    """
    return _stream(case, inputs, lambda c: c.state(alpha=torch.exp(c.m_safe - c.m)))


def alpha_along_columns(case, inputs, carry=_same):
    """The factor exp(old m - new m) is spread along the columns of acc, where every row has its own.

    acc is (BLOCK_M, BLOCK_D) and the factor is (BLOCK_M,). Along which axis of acc does it have to run?
    """

    def update(c):
        return c.state(acc=c.acc * c.alpha[:, None, :] + c.p @ c.v)

    return _stream(case, inputs, update, case["block_m"] == case["head"], carry)


def alpha_per_chunk_max(case, inputs):
    """The factor for the old sums goes by the maximum of the chunk alone: it is above 1 when a chunk stays below the
    running maximum.

    The weights p and the factor exp(old m - new m) have to be measured against one and the same maximum. Which one
    is it in each of them?
    """
    return _stream(case, inputs, lambda c: c.state(alpha=torch.exp(c.m - torch.where(c.top == -_INF, c.m_safe, c.top))))


def p_uses_chunk_max(case, inputs):
    """p is measured against the maximum of its own chunk, while l and acc go by the running one.

    The weights p and the factor exp(old m - new m) have to be measured against one and the same maximum. Which one
    is it in each of them?
    """
    return _stream(case, inputs, lambda c: c.state(p=torch.exp(c.s - _finite(c.top)[..., None])))


def p_uses_old_max(case, inputs):
    """p is measured against the maximum from before the chunk: at the first chunk this is -inf, and p is infinite.

    Follow m_i through the first call. Which maximum keeps exp at 1 and below?
    """
    return _stream(case, inputs, lambda c: c.state(p=torch.exp(c.s - c.m[..., None])))


def chunk_max(case, inputs):
    """The chunk's maximum replaces the running one: when scores fall far, the factor exp(old m - new m) overflows.

    The running maximum never falls. What should it be after a chunk that lies below it?
    """
    outputs = _stream(case, inputs, lambda c: c.go_by(c.top).state())
    if case["hidden_last_chunks"]:  # it hangs on the guard
        del outputs["lse"]
    return outputs


def maximum_not_kept(case, inputs):
    """The old maximum is handed back: for the next chunk it is -inf again, and all before that is forgotten.

    The loop passes on what the function returns. Compare the first value returned with what p is measured against.
    """
    return _stream(case, inputs, lambda c: c.state(m=c.m))


def measured_from_zero(case, inputs):
    """The weights of a row whose scores are all far below 0 vanish, as if 0 were subtracted and not their maximum.

    Work out what is subtracted from scores of -120 and -130: with what does the running maximum begin, and does a guard
    take a maximum that is merely low for none?
    """
    return _stream(case, inputs, lambda c: c.go_by(torch.maximum(c.m, c.top).clamp(min=0.0)).state())


def maximum_down_the_columns(case, inputs):
    """The maximum is taken down the columns of s instead of along its rows.

    s is (BLOCK_M, BLOCK_N) and the maximum is (BLOCK_M,). Which axis has to go?
    """
    fits = case["block_m"] == case["block_n"]
    return _stream(case, inputs, lambda c: c.go_by(torch.maximum(c.m, c.s.amax(1))).state(), fits)


def sum_down_the_columns(case, inputs):
    """The weights are summed down the columns of p instead of along its rows.

    p is (BLOCK_M, BLOCK_N) and l is (BLOCK_M,). Which axis has to go?
    """
    fits = case["block_m"] == case["block_n"]
    return _stream(case, inputs, lambda c: c.state(l=c.l * c.alpha + c.p.sum(1)), fits)


def l_is_the_maximum(case, inputs):
    """l grows by the chunk's largest weight instead of the sum of its weights.

    With all scores equal every key gets the same share. What is l then, and what does it grow by here?
    """
    return _stream(case, inputs, lambda c: c.state(l=c.l * c.alpha + c.p.amax(2)))


def divided_in_the_loop(case, inputs):
    """acc is divided by l at every chunk, and the next chunk is added as if acc were still a sum.

    The caller divides by l at the end. What is acc meant to be between two chunks?
    """

    def update(c):
        m, l, acc = c.state()
        return m, l, acc / torch.where(l == 0, 1.0, l)[..., None]

    return _stream(case, inputs, update)


def softmax_per_chunk(case, inputs):
    """The weights of each chunk are divided by their own sum, so that every chunk counts as a softmax of its own.

    The caller divides by l at the end. Which weights does acc add up?
    """

    def update(c):
        l = c.p.sum(2)
        share = c.p / torch.where(l == 0, 1.0, l)[..., None]
        return c.state(acc=c.acc * c.alpha[..., None] + share @ c.v)

    return _stream(case, inputs, update)


def no_max_subtraction(case, inputs):
    """exp is taken of the raw scores, without a maximum: scores above 88 are infinite, and far below 0 they vanish.

    exp(s - m) stays at 1 and below. What does the function do with m_i?
    """

    def update(c):
        p = torch.exp(c.s)
        return torch.zeros_like(c.m), c.l + p.sum(2), c.acc + p @ c.v

    return _stream(case, inputs, update)


def scores_clamped(case, inputs):
    """Large scores are clamped to 80 and become equal, so keys with different scores get the same weight.

    Once the maximum is subtracted nothing can overflow. Which scores does the softmax need?
    """

    def update(c):
        return _Chunk(c.m, c.l, c.acc, c.s.clamp(max=80.0), c.v).state()

    return _stream(case, inputs, update)


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 and not of e: all keys count as if their scores were smaller.

    exp(x) is exp2(x * log2(e)). Check what goes into each exp2.
    """
    return _stream(case, inputs, lambda c: c.state(alpha=torch.exp2(c.m - c.m_safe), p=_powers_of_2(c)))


def _powers_of_2(c):
    return torch.exp2(c.s - c.m_safe[..., None])


def exp2_in_alpha_only(case, inputs):
    """The factor for the old sums is a power of 2, and p a power of e: the old sums shrink too little when the
    maximum grows.

    Both rescale the same weights. Which function is used for each of them, and with which factor?
    """
    return _stream(case, inputs, lambda c: c.state(alpha=torch.exp2(c.m - c.m_safe)))


def maximum_in_base_two(case, inputs):
    """The average is right, and the maximum comes back multiplied by log2(e).

    The caller expects m_i in natural units. Which units do the scores have when their maximum is taken?
    """
    outputs = _stream(case, inputs, lambda c: c.state())
    top = inputs["s"].amax(1)
    return outputs | {"lse": torch.where(top == -_INF, top, outputs["lse"] + top * (_LOG2E - 1))}


def no_guard(case, inputs):
    """Rows that have not seen a key yet turn to NaN: their maximum is -inf, and (-inf) - (-inf) is NaN.

    Both exponents meet it, in the factor exp(old m - new m) and in the weights p. What could they subtract while the
    new maximum is still -inf?
    """

    def update(c):
        return c.state(alpha=torch.exp(c.m - c.m_new), p=torch.exp(c.s - c.m_new[..., None]))

    return _stream(case, inputs, update)


def guard_by_chunk(case, inputs):
    """A later chunk without a visible key spoils what was there: the old sums are rescaled to 0 and not to the maximum.

    Look at the condition of the guard. When is there really no maximum yet?
    """

    def update(c):
        m_safe = torch.where(c.top == -_INF, 0.0, c.m_new)
        return c.state(alpha=torch.exp(c.m - m_safe), p=torch.exp(c.s - m_safe[..., None]))

    return _stream(case, inputs, update)


def hidden_scores_finite(case, inputs):
    """Hidden scores are made finite: a row that sees no key at all averages the keys that are hidden from it.

    Such a row has to end with l = 0. What weight does a hidden key get while no other key is in sight?
    """

    def update(c):
        return _Chunk(c.m, c.l, c.acc, c.s.clamp(min=-1e4), c.v).state()

    return {"o": _stream(case, inputs, update)["o"]}  # the log-sum-exp hangs on the number


def weights_in_half(case, inputs):
    """p and v are rounded to float16 for the product, so the output keeps three digits only.

    The tensors are float32 and stay so. Look at what goes into tl.dot.
    """

    def update(c):
        product = c.p.half().float() @ c.v.half().float()
        return c.state(acc=c.acc * c.alpha[..., None] + product)

    return _stream(case, inputs, update)


def tf32(case, inputs):
    """The product of p and v is rounded to TF32 on GPUs from sm_80 on, which leaves about three digits.

    The docstring asks for true float32. See the arguments of tl.dot that set the precision.
    """
    return _stream(case, inputs, lambda c: c.state(acc=c.acc * c.alpha[..., None] + _tf32(c.p) @ _tf32(c.v)))


_VARIANTS = tuple(_from_zero(model) for model in (alpha_on_the_new_part, alpha_along_columns))

MISTAKES = (
    acc_not_rescaled,
    l_not_rescaled,
    nothing_rescaled,
    acc_rescaled_after,
    l_rescaled_after,
    acc_overwritten,
    alpha_on_the_new_part,
    alpha_inverted,
    alpha_along_columns,
    alpha_per_chunk_max,
    p_uses_chunk_max,
    p_uses_old_max,
    chunk_max,
    maximum_not_kept,
    measured_from_zero,
    maximum_down_the_columns,
    sum_down_the_columns,
    l_is_the_maximum,
    divided_in_the_loop,
    softmax_per_chunk,
    no_max_subtraction,
    scores_clamped,
    exp2_without_log2e,
    exp2_in_alpha_only,
    maximum_in_base_two,
    no_guard,
    guard_by_chunk,
    hidden_scores_finite,
    weights_in_half,
    tf32,
    *_VARIANTS,
)

ALIASES = {
    # a guard that takes a low maximum for none does the same
    "maximum_from_zero": "measured_from_zero",
    # alpha is 1 throughout
    "maximum_set_too_early": "nothing_rescaled",
    # a NaN in alpha or in p is enough: both go into l and into acc
    "guard_in_alpha_only": "no_guard",
    "guard_in_p_only": "no_guard",
    "nan_patched_in_p": "no_guard",
    **{model.__name__: model.__name__.removesuffix("_from_zero") for model in _VARIANTS},
}

SIGNS = (
    (
        "rows_meet_columns",
        "compile-error",
        r"shapes meet here: (?:32 against 16|16 against 32) along axis 0\.(?!.*it came out when)",
        "Two values meet here of which one is as long as a tile has rows, and the other as a tile has columns.\n\n"
        "m_i, l_i and the factor between maxima have one number for each row. Which axis has to go in a reduction, "
        "and which index "
        "belongs to which axis?",
    ),
    (
        "dot_of_two_types",
        "compile-error",
        r"tl\.dot takes two tiles of one dtype",
        "The two tiles of tl.dot have different dtypes.\n\n"
        "p is float32. Which dtype does the other operand have, and where is one of them converted?",
    ),
    (
        "loop_carried_type",
        "compile-error",
        r"\b(?:m_i|l_i|acc) changes its type within the loop",
        "A running value comes back with another dtype than it went in with, which the GPU's compiler refuses in a loop.\n\n"
        "m_i, l_i and acc go in as float32. Look for a conversion on the way to what is returned.",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
