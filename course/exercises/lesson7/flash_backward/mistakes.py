"""What wrong backward kernels store: a torch model of each known mistake, with what to tell the student about it."""

import inspect
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) dq(?:_doubled)?\b"


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _same(x):
    return x


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _model(
    case, inputs, *, delta=None, dq=None, dk=None, dv=None, dot=_same, walks=None, over_keys=None, over_queries=None
):
    """delta, then dq from a walk over the keys, then dk and dv from one over the queries.

    ``walks`` replaces steps of both walks by functions of the state t, ``over_keys`` and ``over_queries`` those of one;
    ``dot`` is what becomes of the operands of a product.
    """
    given = {name: inputs[name] for name in ("q", "k", "v", "do")}
    first = SimpleNamespace(o=inputs["o"], **given)
    found = {"delta": (delta or (lambda t: (t.o * t.do).sum(1)))(first)}
    given |= {"lse": inputs["lse"][:, None], "delta": found["delta"][:, None], "dot": dot}
    t = _walk(SimpleNamespace(**case, **given), {**(walks or {}), **(over_keys or {})})
    found["dq"] = (dq or _dq)(t)
    t = _walk(SimpleNamespace(**case, **given), {**(walks or {}), **(over_queries or {})})
    return {**found, "dk": (dk or _dk)(t), "dv": (dv or _dv)(t)}


def _walk(t, steps):
    """p, dp and ds of all queries (down) and keys (across) as one of the walks makes them."""

    def step(name):
        return {**_STEPS, **steps}[name](t)

    t.i, t.j = torch.arange(t.seqlen_q)[:, None], torch.arange(t.seqlen_k)[None, :]
    t.s = _f32(t.dot(t.q) @ t.dot(t.k).T * t.scale)
    t.visible = step("visible") if t.causal else torch.ones_like(t.s, dtype=torch.bool)
    t.p = step("p")
    t.dp = t.dot(t.do) @ t.dot(t.v).T
    t.ds = step("ds")
    return t


_STEPS = {
    "visible": lambda t: t.j <= t.i + t.seqlen_k - t.seqlen_q,
    "p": lambda t: torch.where(t.visible, _exp(t.s - t.lse), 0.0),
    "ds": lambda t: t.p * (t.dp - t.delta),
}


def _dq(t):
    return t.scale * (t.dot(t.ds) @ t.dot(t.k))


def _dk(t):
    return t.scale * (t.dot(t.ds).T @ t.dot(t.q))


def _dv(t):
    return t.dot(t.p).T @ t.dot(t.do)


def _has_dead_rows(case):
    return case["causal"] and case["seqlen_q"] > case["seqlen_k"]


# ds and delta


def delta_left_out(case, inputs):
    """delta does not come into ds, as if the weights of a row did not depend on each other; dv is right.

    When one weight of a row grows, the others shrink. Look at the formula of ds in the handout.
    """
    return _model(case, inputs, walks={"ds": lambda t: t.p * t.dp})


def delta_outside_the_product(case, inputs):
    """delta is subtracted from the product of p and dp, where it belongs to dp before the product; dv is right.

    Look at the brackets in the formula of ds: what is multiplied by p?
    """
    return _model(case, inputs, walks={"ds": lambda t: t.p * t.dp - t.delta})


def delta_of_do_squared(case, inputs):
    """delta is the sum of the squares of do, and dq and dk are made of it; dv is right.

    Of which two tensors does delta multiply the rows?
    """
    return _model(case, inputs, delta=lambda t: (t.do * t.do).sum(1))


def delta_per_key_tile(case, inputs):
    """In the walk over the queries, delta is taken at the numbers of the keys; dq and dv are right.

    To which of its two axes does delta belong, in a tile of queries and keys?
    """

    def ds(t):
        of_keys = t.dp.new_zeros(t.seqlen_k)
        count = min(t.seqlen_q, t.seqlen_k)
        of_keys[:count] = t.delta[:count, 0]
        return t.p * (t.dp - of_keys)

    return _model(case, inputs, over_queries={"ds": ds})


def scale_left_out_of_dq(case, inputs):
    """dq lacks the factor scale; dk and dv are right.

    s is scale * q.k. What is its derivative by q?
    """
    return _model(case, inputs, dq=lambda t: _dq(t) / t.scale)


def scale_left_out_of_dk(case, inputs):
    """dk lacks the factor scale; dq and dv are right.

    s is scale * q.k. What is its derivative by k?
    """
    return _model(case, inputs, dk=lambda t: _dk(t) / t.scale)


# p


def lse_left_out(case, inputs):
    """p is exp of the score alone: the weights of a query do not add up to 1.

    The forward pass has saved a number for each query. What has exp(s) to be divided by, and what is that in the exponent?
    """
    outputs = _model(case, inputs, walks={"p": lambda t: torch.where(t.visible, _exp(t.s), 0.0)})
    if bool(torch.isinf(_exp(inputs["lse"])).any()) and case["causal"] and case["seqlen_q"] >= case["seqlen_k"]:
        # The query that sees one key alone has dp = delta but for rounding, whose sign decides on the infinities of dq.
        del outputs["dq"]
    return outputs


def p_as_quotient(case, inputs):
    """exp(s) and exp(lse) are taken apart and then divided: far from 0 both overflow, or both are 0.

    What is exp(110) in float32? Where is the difference of the two logarithms to be taken?
    """
    return _model(case, inputs, walks={"p": lambda t: torch.where(t.visible, _f32(_exp(t.s) / _exp(t.lse)), 0.0)})


def exp2_without_log2e(case, inputs):
    """p is made of powers of 2, where powers of e belong.

    exp(x) is exp2 of something: what has x to be multiplied by?
    """
    return _model(case, inputs, walks={"p": lambda t: torch.where(t.visible, _f32(torch.exp2(t.s - t.lse)), 0.0)})


def dead_rows_nan(case, inputs):
    """A query that sees no key has a log-sum-exp of -inf, and -inf minus -inf is NaN: it spreads to dk and dv.

    What is the exponent, for a hidden score of such a query? Look at where hidden keys are taken out, before exp or after.
    """
    return _model(case, inputs, walks={"p": lambda t: _exp(torch.where(t.visible, t.s, -INF) - t.lse)})


# The walks


def dv_from_ds(case, inputs):
    """dv is made of ds, where p belongs; dq and dk are right.

    o = p v. What is its derivative by v?
    """
    return _model(case, inputs, dv=lambda t: t.ds.T @ t.do)


def p_not_turned(case, inputs, ghosts=True):
    """p is multiplied by do without being turned: what belongs to a query goes to the key of the same place in the tile.

    dv has a row for each key. Along which axis of p does its sum go, and along which one does tl.dot sum?
    """
    size = case["block_m"]
    if size != case["block_n"]:
        return {}

    def dv(t):
        def tiles(x, *axes):
            """x with ghosts of 0, so that its axes are whole numbers of tiles."""
            ends = [n for axis in reversed(range(2)) for n in (0, -x.shape[axis] % size if axis in axes else 0)]
            return torch.nn.functional.pad(x, ends)

        p, do = t.p, tiles(t.do, 0)
        if ghosts and -t.seqlen_k % size:  # keys that do not exist score 0, and no query sees them in a causal case
            weight = torch.zeros_like(t.lse) if t.causal else _exp(-t.lse)
            p = torch.cat([p, weight.expand(-1, -t.seqlen_k % size)], 1)
        p = tiles(p, 0, 1)
        p = p.reshape(len(p) // size, size, -1, size)  # query chunk, query, key tile, key
        return torch.einsum("aibj,ajd->bid", p, do.reshape(-1, size, t.head)).reshape(-1, t.head)[: t.seqlen_k]

    return _model(case, inputs, dv=dv)


def dk_and_dv_swapped(case, inputs):
    """dk holds what belongs in dv, and dv what belongs in dk.

    Compare the two stores with the sums in the loop.
    """
    return _model(case, inputs, dk=_dv, dv=_dk)


def causal_left_out_of_dkdv(case, inputs):
    """The walk over the queries has no causal mask: keys get gradients from queries that do not see them; dq is right.

    Which queries see a key? The mask belongs to both walks.
    """
    if _has_dead_rows(case):
        return {}  # infinities that depend on the order of the sums
    return _model(case, inputs, over_queries={"visible": lambda t: torch.ones_like(t.s, dtype=torch.bool)})


def causal_turned_in_dkdv(case, inputs):
    """The causal mask of the walk over the queries has keys and queries mixed up; dq is right.

    In that walk, the keys are the tile and the queries what is walked over. Which of the two runs along which axis?
    """
    if _has_dead_rows(case):
        return {}  # infinities that depend on the order of the sums
    return _model(case, inputs, over_queries={"visible": lambda t: t.i <= t.j + t.seqlen_k - t.seqlen_q})


def dq_walk_one_key_short(case, inputs):
    """The walk over the keys ends before the last one that the tile sees: a chunk that begins with it is left out of dq.

    If the last query of a tile sees keys up to number 32, is the end of the range 32? Is the end of a range in it?
    """

    def visible(t):
        behind = (t.i // t.block_m + 1) * t.block_m
        end = (behind.clamp(max=t.seqlen_q) - 1 + t.seqlen_k - t.seqlen_q).clamp(0, t.seqlen_k)
        return _STEPS["visible"](t) & (t.j < (end + t.block_n - 1) // t.block_n * t.block_n)

    return _model(case, inputs, over_keys={"visible": visible})


def dkdv_walk_one_query_late(case, inputs):
    """The walk over the queries begins behind the first one that sees the tile: dk and dv lack its chunk; dq is right.

    With as many queries as keys, which is the first query that sees key 32? In which chunk of 16 is it with a key more?
    """

    def visible(t):
        first = t.j // t.block_n * t.block_n + 1 - t.seqlen_k + t.seqlen_q
        return _STEPS["visible"](t) & (t.i >= first.clamp(min=0) // t.block_m * t.block_m)

    return _model(case, inputs, over_queries={"visible": visible})


def causal_aligned_at_the_start(case, inputs):
    """The causal mask is aligned at the first key: with other lengths, queries see too few keys or too many.

    The last query sees the last key. By how much is query 0 shifted then?
    """
    if _has_dead_rows(case):
        return {}  # infinities that depend on the order of the sums
    return _model(case, inputs, walks={"visible": lambda t: t.j <= t.i})


def last_queries_dropped(case, inputs):
    """The last chunk of queries is left out of dk and dv where it is not full; dq is right.

    How many chunks do 45 queries take, in chunks of 16? Look at where the walk over the queries ends.
    """
    walked = {"p": lambda t: torch.where(t.i < t.seqlen_q // t.block_m * t.block_m, _STEPS["p"](t), 0.0)}
    return _model(case, inputs, over_queries=walked)


def last_keys_dropped(case, inputs):
    """The last chunk of keys is left out of dq where it is not full; dk and dv are right.

    How many chunks do 70 keys take, in chunks of 32? Look at where the walk over the keys ends.
    """
    walked = {"p": lambda t: torch.where(t.j < t.seqlen_k // t.block_n * t.block_n, _STEPS["p"](t), 0.0)}
    return _model(case, inputs, over_keys=walked)


def dq_overwritten(case, inputs):
    """dq holds the part of the last chunk of keys alone; dk and dv are right.

    Look at the line of the loop that makes dq: does what was there before come into it?
    """
    last = {"p": lambda t: torch.where(t.j >= (t.seqlen_k - 1) // t.block_n * t.block_n, _STEPS["p"](t), 0.0)}
    return _model(case, inputs, over_keys=last)


def ghost_keys_take_part(case, inputs):
    """Ghost keys are not masked in the walk over the keys: where all scores are far below 0, dq is NaN.

    A ghost key scores 0, and its part of dq is a product with 0. What is its p for a query whose lse is -100?
    """

    def dq(t):
        ghosts = t.seqlen_k % t.block_n != 0 and not t.causal
        spoiled = torch.isinf(_exp(-t.lse)) & torch.tensor(ghosts)
        return torch.where(spoiled, NAN, _dq(t))

    return _model(case, inputs, dq=dq)


def ghost_queries_undefined(case, inputs):
    """Where the last chunk of queries is not full, dk and dv are NaN: nothing says what a ghost query reads as.

    Its weight is 0, and 0 times something undefined is not 0. What does tl.load take besides the mask?
    """
    ragged = case["seqlen_q"] % case["block_m"] != 0
    spoiled = (lambda t: torch.full_like(t.k, NAN)) if ragged else None
    return _model(case, inputs, dk=spoiled, dv=spoiled)


def dq_store_unmasked(case, inputs):
    """Rows of dq are stored that do not exist.

    Look at the store of dq: which rows of the last query tile are there?
    """
    return _STORE_OUTSIDE if case["seqlen_q"] % case["block_m"] else _model(case, inputs)


def tf32(case, inputs):
    """Products round float32 to TF32, as tl.dot does on newer GPUs unless told not to: about three digits are left.

    Look at the arguments of all tl.dot calls.
    """
    return _model(case, inputs, dot=_tf32)


def p_not_turned_without_ghosts(case, inputs):
    """p is multiplied by do without being turned: what belongs to a query goes to the key of the same place in the tile.

    dv has a row for each key. Along which axis of p does its sum go, and along which one does tl.dot sum?
    """
    return p_not_turned(case, inputs, ghosts=False)


MISTAKES = (
    delta_left_out,
    delta_outside_the_product,
    delta_of_do_squared,
    delta_per_key_tile,
    scale_left_out_of_dq,
    scale_left_out_of_dk,
    lse_left_out,
    p_as_quotient,
    exp2_without_log2e,
    dead_rows_nan,
    dv_from_ds,
    p_not_turned,
    p_not_turned_without_ghosts,
    dk_and_dv_swapped,
    causal_left_out_of_dkdv,
    causal_turned_in_dkdv,
    causal_aligned_at_the_start,
    dq_walk_one_key_short,
    dkdv_walk_one_query_late,
    last_queries_dropped,
    last_keys_dropped,
    dq_overwritten,
    ghost_keys_take_part,
    ghost_queries_undefined,
    dq_store_unmasked,
    tf32,
)

ALIASES = {"p_not_turned_without_ghosts": "p_not_turned"}

# For what outputs cannot tell. A message is a sign of no more than what it says.
SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "own_tile_loaded_in_the_loop",
        "fail",
        r"elements of (?:q|do) are loaded in all",
        "The gradients are right, but queries or their gradients are loaded more often than the two walks take.\n\n"
        "In the walk over the keys, what stays the same from chunk to chunk? In the walk over the queries, what is a chunk "
        "needed for more than once, and could one load do for all of it?",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
