"""What wrong kernels of Part B store: a torch model of each known mistake, with what to tell the student about it."""

import functools
import inspect
import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
LOG2E = 1 / math.log(2)
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written

# What stops a kernel, as patterns of the message.
_QUERY_OUTSIDE = r"loads outside q\b"
_KEYS_OUTSIDE = r"loads outside [kv]\b"
_MISFIT = r"Two tiles of different shapes meet here"
_OUTSIDE = r"(?:stores outside|wrote past the end of)"


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _half(x):
    return x.half().double()


def _tf32(x):
    """As tensor cores read a float32 operand of a product in TF32: the lowest 13 bits are left out."""
    return (x.float().contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).double()


def _rows(x, index, other=0.0):
    """The rows of x at ``index``, and ``other`` behind its end."""
    return torch.where((index < len(x))[:, None], x[index.clamp(max=len(x) - 1)], other)


def _kernel(case, inputs, *, tile_step=None, first_m=-INF, first_l=0.0, other=0.0, **steps):
    """Part B by query tile and chunk of keys. Each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return steps.get(name, _STEPS[name])(t)

    nq, nk, block_m, block_n = case["seqlen_q"], case["seqlen_k"], case["block_m"], case["block_n"]
    o, lse = (torch.full((nq, width), UNWRITTEN, dtype=torch.float64) for width in (case["head"], 1))
    for program in range(math.ceil(nq / block_m)):
        t = SimpleNamespace(**case, program=program, offset=nk - nq, first_row=program * (tile_step or block_m))
        t.i, t.lane = t.first_row + torch.arange(block_m), torch.arange(block_n)
        t.q, t.row = _rows(inputs["q"], t.i), t.i[:, None]
        t.m, t.l = (torch.full((block_m, 1), x).double() for x in (first_m, first_l))
        t.acc = torch.zeros(block_m, case["head"]).double()
        for t.start in step("starts"):
            t.j = step("keys")
            t.column = t.j[None, :]
            t.k, t.v = _rows(inputs["k"], step("k_rows")), _rows(inputs["v"], step("v_rows"), other)
            t.raw = step("scores")
            t.real, t.seen = t.column < nk, step("seen") if case["causal"] else torch.tensor(True)
            t.s = step("mask")
            t.m_new = step("maximum")
            t.anchor = step("anchor")
            t.alpha, t.p = step("alpha"), step("p")
            t.l, t.acc, t.m = _f32(step("l")), _f32(step("acc")), t.m_new
            step("after")
        t.safe = torch.where(t.l == 0, 1.0, t.l)
        exists = t.i < nq
        o[step("to")[exists]] = step("o")[exists]
        lse[step("lse_to")[exists]] = step("lse").double()[exists]
    return {"o": o, "lse": lse[:, 0]}


def _pv(t):
    return (t.p.float() @ t.v.float()).double()


def _sum(t):
    return t.p.sum(1, keepdim=True)


def _lse(t):
    return torch.where(t.l == 0, -INF, t.m + t.safe.log())


def _lse_unguarded(t):
    """Right as well, as long as l_i is 0 only where m_i is -inf."""
    return t.m + t.safe.log()


_STEPS = {
    "starts": lambda t: range(0, t.seqlen_k, t.block_n),
    "keys": lambda t: t.start + t.lane,
    "k_rows": lambda t: t.j,
    "v_rows": lambda t: t.j,
    "scores": lambda t: t.q @ t.k.T * t.scale,
    "seen": lambda t: t.column <= t.row + t.offset,
    "mask": lambda t: torch.where(t.real & t.seen, t.raw, -INF),
    "maximum": lambda t: torch.maximum(t.m, t.s.amax(1, keepdim=True)),
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "alpha": lambda t: _exp(t.m - t.anchor),
    "p": lambda t: _exp(t.s - t.anchor),
    "l": lambda t: t.l * t.alpha + _sum(t),
    "acc": lambda t: t.acc * t.alpha + _pv(t),
    "after": lambda t: None,
    "o": lambda t: t.acc / t.safe,
    "lse": _lse,
    "to": lambda t: t.i,
    "lse_to": lambda t: t.i,
}


# The running softmax


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum; l_i is right.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc + _pv(t))


def l_not_rescaled(case, inputs):
    """l_i keeps its old measure when a later chunk raises the maximum; acc is right.

    Look at what happens to l_i when m_new is larger than m_i, and compare it with acc.
    """
    return _kernel(case, inputs, l=lambda t: t.l + _sum(t))


def acc_rescaled_after(case, inputs):
    """acc is rescaled after the chunk has been added, and the new chunk is rescaled with it.

    By which maximum is p of the new chunk measured? Look at the order of the two steps.
    """
    return _kernel(case, inputs, acc=lambda t: (t.acc + _pv(t)) * t.alpha)


def alpha_inverted(case, inputs):
    """Everything is NaN from the first chunk on, as when the factor exp(old m - new m) does not come out as 0 there.

    Work out that factor by hand, for an old maximum of 1 and a new one of 3, and for the maximum of no keys at all.
    Should it
    be larger or smaller than 1?
    """
    return _kernel(case, inputs, alpha=lambda t: _exp(t.anchor - t.m))


def p_uses_old_max(case, inputs):
    """The weights of a chunk are measured against the maximum before it, which is -inf at the first one.

    Look at which maximum is subtracted in p: what is it when the loop begins?
    """
    return _kernel(case, inputs, p=lambda t: _exp(t.s - t.m))


def chunk_max(case, inputs):
    """Each chunk is measured against its own maximum, and the sums of different measures are added up.

    Look at how m_new is made: which scores does it have to be the maximum of?
    """
    return _kernel(
        case,
        inputs,
        maximum=lambda t: t.s.amax(1, keepdim=True),
        alpha=lambda t: torch.ones_like(t.m),
    )


def state_reset_in_the_loop(case, inputs):
    """Only the last chunk counts, as if the running values started anew at every chunk.

    Look at where m_i, l_i and acc get their first values, and at where a chunk is taken in: before, in or after the loop?
    """
    return _kernel(
        case,
        inputs,
        maximum=lambda t: t.s.amax(1, keepdim=True),
        alpha=lambda t: torch.zeros_like(t.m),
    )


def no_max_subtraction(case, inputs, lse=_lse):
    """exp is taken of the scores as they are: it overflows for large ones, and underflows far below 0.

    Look at what is subtracted from s before exp, and what a score of 100 becomes in float32.
    """
    return _kernel(
        case,
        inputs,
        maximum=lambda t: torch.zeros_like(t.m),
        alpha=lambda t: torch.ones_like(t.m),
        first_m=0.0,
        lse=lse,
    )


def scores_clamped(case, inputs, limit=80.0):
    """Scores are cut off at a limit so that exp does not overflow: all keys above it get the same weight.

    Two keys with scores 200 and 300: what weights should they have? The running maximum keeps exp small already.
    """
    return _kernel(case, inputs, mask=lambda t: _STEPS["mask"](t).clamp(max=limit))


def measured_from_zero(case, inputs, lse=_lse):
    """Rows whose scores are all far below 0 underflow, as if 0 were subtracted from them and not their maximum.

    What is the maximum of no scores at all? Look at the first value of m_i, and at whether a guard takes a maximum that
    is merely low for none.
    """
    return _kernel(case, inputs, first_m=0.0, lse=lse)


def phantom_key(case, inputs):
    """The state starts at maximum 0 and sum 1, as if a key with score 0 had been seen before the first chunk.

    What are the maximum and the sum over no keys at all? Look at the first values of m_i and l_i.
    """
    return _kernel(case, inputs, first_m=0.0, first_l=1.0)


def maximum_before_mask(case, inputs, lse=_lse):
    """The maximum is taken over hidden and ghost keys too: where they are far above, all visible ones underflow.

    Compare the line that takes the maximum with the line that masks: which comes first?
    """
    return _kernel(case, inputs, maximum=_unmasked_maximum, lse=lse)


def masked_probabilities_only(case, inputs):
    """p is masked after the sum: the weight of hidden and ghost keys is still in l_i.

    Look at which keys have been counted in l_i by the time the mask is applied.
    """
    return _kernel(
        case,
        inputs,
        maximum=_unmasked_maximum,
        l=lambda t: t.l * t.alpha + _exp(t.raw - t.anchor).sum(1, keepdim=True),
    )


def guard_missing(case, inputs):
    """A row that has seen no key yet has maximum -inf, and -inf minus -inf makes it NaN for good.

    Look at both exponents, of the factor exp(old m - new m) and of the weights p, for a row of which every score so
    far is -inf.
    """
    return _kernel(case, inputs, anchor=lambda t: t.m_new)


def guard_by_chunk(case, inputs, lse=_lse):
    """A later chunk without a visible key makes a row rescale to 0 instead of to its running maximum.

    Look at the condition of the guard: which of the two maxima may be -inf although the row has seen keys?
    """
    return _kernel(case, inputs, anchor=lambda t: torch.where(t.s.amax(1, keepdim=True) == -INF, 0.0, t.m_new), lse=lse)


def dead_row_lse_zero(case, inputs):
    """A query that sees no key ends with maximum 0, and its lse is 0 instead of -inf.

    Look at what is carried on as m_i after a chunk: is it the maximum or its finite stand-in?
    """
    return _kernel(case, inputs, maximum=_carried_stand_in, lse=_lse_unguarded)


def dead_row_average(case, inputs):
    """Hidden keys get a very low finite score: a query that sees no key averages all of v.

    What is exp(s - m) when every score of the row is the same low number?
    """
    outputs = _kernel(case, inputs, mask=lambda t: torch.where(t.real & t.seen, t.raw, -1.0e30))
    if case["causal"] and case["seqlen_q"] > case["seqlen_k"]:
        del outputs["lse"]  # it is that low number, whichever it is
    return outputs


def finite_fill_too_small(case, inputs):
    """Hidden keys get a finite score that is not low enough: among scores below it, hidden keys win.

    Look at the value that hidden scores are set to. Which scores can a row have, and which value is below them all?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.real & t.seen, t.raw, -100.0))


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 where powers of e belong: the softmax comes out flatter.

    exp(x) is exp2 of something: what has x to be multiplied by?
    """
    return _kernel(case, inputs, alpha=lambda t: torch.exp2(t.m - t.anchor), p=lambda t: torch.exp2(t.s - t.anchor))


def accumulator_in_half(case, inputs):
    """acc is kept in float16 and rounded at every chunk.

    Look at the dtype that acc starts with, and at the one that it is converted to.
    """
    return _kernel(case, inputs, acc=lambda t: _half(t.acc * t.alpha + _pv(t)))


def weights_in_half(case, inputs):
    """The weights and the values are rounded to float16 before their product: about three digits are left.

    Look at the dtypes of the operands of the second tl.dot.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc * t.alpha + _half(t.p) @ _half(t.v))


def tf32(case, inputs, scores="scores", acc=True):
    """A tl.dot rounds float32 to TF32, as on newer GPUs it does unless told not to: about three digits are left.

    Look at the arguments of both tl.dot calls.
    """
    steps = {"acc": lambda t: t.acc * t.alpha + _tf32(t.p) @ _tf32(t.v)} if acc else {}
    if scores:
        steps["scores"] = _TF32_SCORES[scores]
    return _kernel(case, inputs, **steps)


_TF32_SCORES = {
    "scores": lambda t: _tf32(t.q) @ _tf32(t.k).T * t.scale,
    "scaled_queries": lambda t: _tf32(_f32(t.q * t.scale)) @ _tf32(t.k).T,
}


# The end


def division_forgotten(case, inputs):
    """acc is stored without being divided by l_i.

    Look at what happens between the last chunk and the store of o.
    """
    return _kernel(case, inputs, o=lambda t: t.acc)


def divided_in_the_loop(case, inputs, guarded=True):
    """acc is divided by l_i at every chunk, and the next chunk is added to it as if it were still a sum.

    Look at where the division stands, and at what acc means when the next chunk begins.
    """
    return _kernel(case, inputs, after=_divide(guarded), o=lambda t: t.acc)


def divided_in_the_loop_and_after(case, inputs, guarded=True):
    """acc is divided by l_i at every chunk, and once more after the last one: the output comes out far too small.

    How often does a softmax divide by its sum? Look at each place where acc is divided, and at whether it is in the
    loop.
    """
    return _kernel(case, inputs, after=_divide(guarded))


def _divide(guarded):
    """Divides acc by l_i after each chunk; where that is 0, by 1 if ``guarded``."""

    def after(t):
        t.acc = t.acc / (torch.where(t.l == 0, 1.0, t.l) if guarded else t.l)

    return after


def divided_by_the_maximum(case, inputs):
    """acc is divided by the running maximum instead of the running sum.

    Look at the divisor of acc: which of the running values makes the weights add up to 1?
    """
    return _kernel(case, inputs, o=lambda t: t.acc / t.m)


def l_along_columns(case, inputs):
    """Column j is divided by the running sum of row j, where each row has a sum of its own.

    A (BLOCK_M,) beside a tile of two axes runs along the last of them. Which axis of acc belongs to l_i?
    """
    if case["block_m"] != case["head"]:
        return _MISFIT
    return _kernel(case, inputs, o=lambda t: t.acc / t.safe.T)


def dead_row_divided_by_zero(case, inputs):
    """A query that sees no key is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i of a row that has seen no key? Look at the last division.
    """
    return _kernel(case, inputs, o=lambda t: t.acc / t.l)


def lse_base_two(case, inputs):
    """lse is stored in base 2; o is right.

    lse is in natural units. Look at what the running maximum and the logarithm are measured in.
    """
    return _kernel(case, inputs, lse=lambda t: _lse(t) * LOG2E)


def lse_log2_of_l(case, inputs):
    """lse adds a logarithm in base 2 to a maximum in natural units; o is right.

    Look at which logarithm is taken of l_i.
    """
    return _kernel(case, inputs, lse=lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log2()))


def lse_without_max(case, inputs):
    """lse is the logarithm of l_i alone; o is right.

    l_i adds up exp(s - m_i). Which number is the logarithm of the sum of exp(s)?
    """
    return _kernel(case, inputs, lse=lambda t: torch.where(t.l == 0, -INF, t.safe.log()))


def lse_without_log(case, inputs):
    """lse adds l_i itself to the maximum, not its logarithm; o is right.

    Look at the formula of lse in the handout, and what it does with l_i.
    """
    return _kernel(case, inputs, lse=lambda t: t.m + t.l)


def lse_is_the_maximum(case, inputs):
    """The running maximum is stored as lse; o is right.

    The maximum is only a part of lse. What of the other running value?
    """
    return _kernel(case, inputs, lse=lambda t: t.m)


def lse_is_the_sum(case, inputs, of_a_dead_row=0.0):
    """The running sum l_i is stored as lse; o is right.

    l_i adds up exp(s - m_i). Which number is the logarithm of the sum of exp(s)?
    """
    return _kernel(case, inputs, lse=lambda t: torch.where(t.l == 0, of_a_dead_row, t.l))


def o_not_stored(case, inputs):
    """o is never written; lse is right.

    The kernel has two outputs. Look for the store of each.
    """
    return _kernel(case, inputs, o=lambda t: torch.full_like(t.acc, UNWRITTEN))


def nothing_stored(case, inputs):
    """Neither o nor lse is ever written.

    Look for the stores: are they on every way through the kernel, and which elements do their masks let through?
    """
    return _kernel(case, inputs, **dict.fromkeys(("o", "lse"), lambda t: torch.full_like(t.l, UNWRITTEN)))


def lse_not_stored(case, inputs):
    """lse is never written; o is right.

    The kernel has two outputs. Look for the store of each.
    """
    return _kernel(case, inputs, lse=lambda t: torch.full_like(t.l, UNWRITTEN))


# The mask


def ghost_columns_unmasked(case, inputs):
    """Ghost keys take part in the softmax with a score of 0: they take weight from the real keys.

    Look at the columns behind the end of the keys, where k reads as 0. What is their score when exp comes?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.seen, t.raw, -INF))


def causal_forgotten(case, inputs):
    """Every query sees all keys, the future too: CAUSAL makes no difference.

    Look for what depends on CAUSAL, and at which keys the first query may see.
    """
    return _seen(case, inputs, lambda t: torch.tensor(True))


def causal_always(case, inputs):
    """The future is hidden even where CAUSAL is off.

    Look for what depends on CAUSAL: the causal mask should apply only if it is set.
    """
    return _kernel({**case, "causal": True}, inputs)


def causal_reversed(case, inputs):
    """The causal mask is turned around: a query sees the future and not the past.

    Take 3 queries and 5 keys as in the handout, and work out by hand which keys query 0 sees.
    """
    return _seen(case, inputs, lambda t: t.column >= t.row + t.offset)


def causal_strict(case, inputs):
    """The causal mask hides the diagonal too: a query does not see the last key that it may see.

    Does the last query see the last key? Look at the comparison in the causal mask.
    """
    return _seen(case, inputs, lambda t: t.column < t.row + t.offset)


def causal_off_by_one(case, inputs):
    """The causal mask lets a query see one key too many.

    Take the query before the last one, and work out by hand whether it sees the last key.
    """
    return _seen(case, inputs, lambda t: t.column <= t.row + t.offset + 1)


def causal_top_left(case, inputs):
    """The causal mask is aligned at the first key: it is right only where there are as many queries as keys.

    Look at the picture of 3 queries and 5 keys in the handout: which key is the last that query 0 sees?
    """
    return _seen(case, inputs, lambda t: t.column <= t.row)


def causal_offset_reversed(case, inputs):
    """The difference of the two lengths moves the causal mask the wrong way.

    With 3 queries and 5 keys, which key is the last that query 0 sees? Look at the sign of the difference.
    """
    return _seen(case, inputs, lambda t: t.column <= t.row - t.offset)


def causal_by_tile_row(case, inputs):
    """The causal mask counts rows from the start of the tile, so that only the first query tile is masked right.

    Look at which row index is compared with the keys: is it the query's number in the sequence?
    """
    return _seen(case, inputs, lambda t: t.column <= t.row % t.block_m + t.offset)


def causal_by_chunk_column(case, inputs):
    """The causal mask counts keys from the start of the chunk, so that only the first chunk is masked right.

    Look at which column index is compared with the rows: is it the key's number in the sequence?
    """
    return _seen(case, inputs, lambda t: t.lane[None, :] <= t.row + t.offset)


def causal_by_blocks(case, inputs):
    """The causal mask is the same for all rows of a query tile: each sees what the last of them may see.

    Look at the shape of the causal mask: does it depend on the row?
    """
    return _seen(case, inputs, lambda t: t.column <= t.i[-1] + t.offset)


def causal_fill_zero(case, inputs):
    """Hidden keys get a score of 0 instead of none at all, and still take weight.

    What does exp make of a score of 0, and what would a score have to be for its weight to vanish?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.real, torch.where(t.seen, t.raw, 0.0), -INF))


def hidden_scores_zero(case, inputs):
    """Hidden keys and ghost keys get a score of 0 instead of none at all, and still take weight.

    What does exp make of a score of 0, and what would a score have to be for its weight to vanish?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.real & t.seen, t.raw, 0.0))


# The loop


def only_the_first_chunk(case, inputs):
    """Only the keys of the first chunk are ever seen.

    Work out the second chunk by hand, for 64 keys and a BLOCK_N of 32: does the loop reach it, and what is in offs_n?
    """
    return _starts(case, inputs, lambda t: range(1))


def chunk_start_multiplied_again(case, inputs):
    """After the first chunk, keys are passed over: each start is multiplied by BLOCK_N where it counts keys already.

    Work out offs_n by hand for the second chunk: what does the loop variable count, chunks or keys?
    """
    return _kernel(case, inputs, keys=lambda t: t.start * t.block_n + t.lane)


def diagonal_skipped(case, inputs, rounded=False):
    """The causal loop ends before the chunks on the diagonal: their visible keys are never seen.

    Which is the last key that the last row of a query tile may see? The loop has to reach it.
    """

    def end(t):
        key = t.first_row + t.offset
        return key // t.block_n * t.block_n if rounded else key

    return _causal_end(case, inputs, end)


def causal_bound_without_offset(case, inputs):
    """The causal loop ends at the query's own number: with fewer queries than keys it stops too soon.

    Which is the last key that a query may see if there are more keys than queries? Look at the end of the loop.
    """
    return _causal_end(case, inputs, lambda t: t.first_row + t.block_m)


def causal_bound_by_key_tile(case, inputs, from_row=False):
    """The end of the causal loop is worked out with BLOCK_N where the height of the query tile counts.

    Which is the last row of a query tile? Look at the end of the loop where BLOCK_M and BLOCK_N differ.
    """

    def end(t):
        return (t.first_row if from_row else t.program * t.block_n) + t.block_n + t.offset

    return _causal_end(case, inputs, end)


def tail_chunk_dropped(case, inputs):
    """The keys of the last, incomplete chunk are never seen.

    Work out by hand how many chunks the loop takes for 70 keys and a BLOCK_N of 32.
    """
    return _starts(case, inputs, lambda t: range(0, t.seqlen_k // t.block_n * t.block_n, t.block_n))


def last_full_chunk_dropped(case, inputs):
    """The loop ends one chunk early, and the last keys are never seen.

    Work out by hand which chunks the loop takes for 64 keys and a BLOCK_N of 32.
    """
    return _starts(case, inputs, lambda t: range(0, t.seqlen_k - t.block_n, t.block_n))


def first_chunk_skipped(case, inputs):
    """The loop starts at the second chunk, and the first keys are never seen.

    Look at the first value of the loop variable.
    """
    return _starts(case, inputs, lambda t: range(t.block_n, t.seqlen_k, t.block_n))


def loop_over_query_length(case, inputs):
    """The loop over the keys ends at the number of queries.

    The two lengths may differ. Look at the end of the loop.
    """
    return _starts(case, inputs, lambda t: range(0, t.seqlen_q, t.block_n))


def chunk_step_is_query_tile(case, inputs):
    """The loop steps through the keys by BLOCK_M: chunks overlap or leave gaps where the two sizes differ.

    How many keys does one chunk hold? Look at the step of the loop.
    """
    return _starts(case, inputs, lambda t: range(0, t.seqlen_k, t.block_m))


def chunks_by_count(case, inputs):
    """The number of a chunk is taken for its first key: the chunks overlap, and later keys are never seen.

    Work out offs_n by hand for the second chunk.
    """
    return _starts(case, inputs, lambda t: range(math.ceil(t.seqlen_k / t.block_n)))


def chunks_by_one(case, inputs):
    """The loop steps from key to key and takes BLOCK_N keys each time: most keys are counted over and over.

    How many keys does one chunk hold? Look at the step of the loop.
    """
    if case["seqlen_k"] > 500:
        return {}  # it takes too long
    return _starts(case, inputs, lambda t: range(t.seqlen_k))


def chunk_stuck(case, inputs, mask_moves=False):
    """Every turn of the loop reads the first chunk again.

    Look at which of the offsets or pointers of k and v depend on the loop variable.
    """
    stuck = ("k_rows", "v_rows") if mask_moves else ("keys",)
    return _kernel(case, inputs, **dict.fromkeys(stuck, lambda t: t.lane))


def pointers_moved_by_rows(case, inputs):
    """From chunk to chunk, k and v move on by BLOCK_N elements where a chunk is BLOCK_N whole rows.

    How many elements lie between the first rows of two chunks? Look at how the pointers move.
    """

    def moved(name, t):
        flat = inputs[name].flatten()
        index = t.start + t.lane[:, None] * t.head + torch.arange(t.head)
        return torch.where((t.j < t.seqlen_k)[:, None], flat[index.clamp(max=len(flat) - 1)], 0.0)

    def scores(t):
        t.k, t.v = moved("k", t), moved("v", t)
        return _STEPS["scores"](t)

    return _kernel(case, inputs, scores=scores)


def value_pointer_stuck(case, inputs):
    """k moves on from chunk to chunk but v does not: later weights meet the values of the first chunk.

    Compare the offsets, or the moves of the pointers, of k and of v.
    """
    return _kernel(case, inputs, v_rows=lambda t: t.lane)


# Loads, scores and stores


def keys_masked_by_query_length(case, inputs):
    """Keys are masked by the number of queries.

    The two lengths may differ. Look at the bound in the masks of k and v.
    """
    if case["seqlen_q"] > case["seqlen_k"]:
        return {}  # a load behind k is refused
    few = {name: x if name == "q" else x[: case["seqlen_q"]] for name, x in inputs.items()}
    return _kernel(case, few, mask=lambda t: torch.where((t.column < t.seqlen_q) & t.seen, t.raw, -INF))


def key_strides_swapped(case, inputs):
    """k is read as if it were stored column after column.

    Look at the offsets of k: which of its two indices takes steps of 1 in memory?
    """
    return _kernel(case, {**inputs, "k": inputs["k"].reshape(case["head"], case["seqlen_k"]).T})


def key_tile_not_transposed(case, inputs):
    """q is multiplied with k as it lies: keys and columns of the head have changed places.

    Write down the shapes: (BLOCK_M, BLOCK_D) times what gives (BLOCK_M, BLOCK_N)?
    """
    if case["block_n"] != case["head"]:
        return {}  # the shapes do not fit
    return _kernel(case, inputs, scores=lambda t: t.q @ t.k * t.scale)


def value_from_key_pointer(case, inputs):
    """The output is an average of rows of k instead of rows of v.

    Look at the pointer that the values are loaded from.
    """
    return _kernel(case, {**inputs, "v": inputs["k"]})


def value_without_other(case, inputs):
    """Ghost rows of v are undefined, and 0 times something undefined is not 0: the output becomes NaN.

    Look at the load of v: which rows does its mask let through, and what is read where the mask is off?
    """
    return _kernel(case, inputs, other=NAN)


def scale_forgotten(case, inputs):
    """The scores are not multiplied by the scale.

    Look for the places where scale is used.
    """
    return _kernel({**case, "scale": 1.0}, inputs)


def scale_divided(case, inputs):
    """The scores are divided by the scale, and should be multiplied by it.

    The scale is 1 / sqrt(HEAD) as a rule. Should scores become larger by it, or smaller?
    """
    return _kernel({**case, "scale": 1 / case["scale"]}, inputs)


def scale_twice(case, inputs):
    """The scores are multiplied by the scale twice.

    Look for all places where scale comes in, in q and in the exponent too.
    """
    return _kernel({**case, "scale": case["scale"] ** 2}, inputs)


def scale_one_over_d(case, inputs):
    """The scores are divided by the head size, whatever scale is handed in.

    Look at what the scores are multiplied by, and which parameter says what it should be.
    """
    return _kernel({**case, "scale": 1.0 / case["head"]}, inputs)


def own_scale(case, inputs):
    """The scores are divided by the square root of the head size, whatever scale is handed in.

    As a rule the two are the same, but not always. Look at where the factor of the scores comes from.
    """
    return _kernel({**case, "scale": case["head"] ** -0.5}, inputs)


def wrong_tile_height(case, inputs):
    """Query tiles are BLOCK_N rows apart instead of BLOCK_M: where the two differ, rows are left out or done twice.

    Look at the first row of a program: how many rows does each program before it own?
    """
    return _kernel(case, inputs, tile_step=case["block_n"])


def only_the_first_tile(case, inputs):
    """Only the rows of the first query tile are ever written.

    Work out offs_m and the masks of the stores by hand for the second program: which rows does it own?
    """
    return _first_tile(_kernel(case, inputs), case["block_m"], "o", "lse")


def only_the_first_tile_of_o(case, inputs):
    """Of o only the rows of the first query tile are ever written; lse is right.

    Compare the two stores. Which rows does the second program own, and does the store of o go by them?
    """
    return _first_tile(_kernel(case, inputs), case["block_m"], "o")


def only_the_first_tile_of_lse(case, inputs):
    """Of lse only the rows of the first query tile are ever written; o is right.

    Compare the two stores. Which rows does the second program own, and does the store of lse go by them?
    """
    return _first_tile(_kernel(case, inputs), case["block_m"], "lse")


def program_is_a_row(case, inputs):
    """The program id is taken for the first row: neighbouring tiles overlap, and the last rows are never written.

    How many rows does one program own? Work out offs_m by hand for the second program.
    """
    return _kernel(case, inputs, tile_step=1)


def stored_in_the_first_tile(case, inputs, steps=("to",)):
    """Every program stores o, lse or both in the rows of the first tile.

    Look at the rows in the stores of o and lse, and compare them with those that q is loaded from.
    """
    if case["device"] == "cuda":
        return {}  # which of them wins is not known
    return _kernel(case, inputs, **dict.fromkeys(steps, lambda t: t.i - t.first_row))


def stored_by_key_length(case, inputs, names=("o", "lse")):
    """A store is masked by the number of keys instead of queries: rows are left out or written behind the end.

    The two lengths may differ. Look at the masks of the stores.
    """
    nq, nk = case["seqlen_q"], case["seqlen_k"]
    if nk > nq and nq % case["block_m"]:
        return rf"{_OUTSIDE} (?:{'|'.join(names)})\b"
    return _first_tile(_kernel(case, inputs), nk, *names)


def store_without_mask(case, inputs, name="o"):
    """The last query tile stores rows behind the end of o.

    Look at the mask of the store: which rows of the tile does the sequence have?
    """
    return rf"{_OUTSIDE} {name}\b" if case["seqlen_q"] % case["block_m"] else _kernel(case, inputs)


def lse_store_without_mask(case, inputs):
    """The last query tile stores numbers behind the end of lse.

    Look at the mask of the store of lse: which rows of the tile does the sequence have?
    """
    return store_without_mask(case, inputs, "lse")


def lse_by_head(case, inputs):
    """lse is stored with steps of the head size from row to row; it has one number a row.

    Look at the offsets in the store of lse.
    """
    if case["seqlen_q"] == 1:
        return _kernel(case, inputs)
    first = -(-case["seqlen_q"] // case["head"]) * case["head"]  # the first of them that lies behind the end
    return rf"stores outside lse\b.*: element {first}\b|wrote past the end of lse\b"


def query_load_without_mask(case, inputs):
    """The last query tile loads rows of q that do not exist.

    Look at the load of q: which of its rows are behind the end of the sequence?
    """
    if case["device"] == "cuda":
        return {}  # such rows are stored nowhere
    return _QUERY_OUTSIDE if case["seqlen_q"] % case["block_m"] else _kernel(case, inputs)


def key_loads_without_mask(case, inputs):
    """The last chunk loads ghost keys from behind the end of k or v.

    Look at the loads of k and v: which of the BLOCK_N rows are there in the last chunk?
    """
    if case["device"] == "cuda":
        return {}  # what lies there is as undefined as a masked lane
    return _KEYS_OUTSIDE if case["seqlen_k"] % case["block_n"] else _kernel(case, inputs)


def _first_tile(outputs, rows, *names):
    """The outputs, of which those of ``names`` are written in the first ``rows`` rows only."""
    for name in names:
        outputs[name][rows:] = UNWRITTEN
    return outputs


def _unmasked_maximum(t):
    return torch.maximum(t.m, t.raw.amax(1, keepdim=True))


def _carried_stand_in(t):
    m_new = _STEPS["maximum"](t)
    return torch.where(m_new == -INF, 0.0, m_new)


def _seen(case, inputs, seen):
    return _kernel(case, inputs, seen=seen)


def _starts(case, inputs, starts):
    return _kernel(case, inputs, starts=starts)


def _causal_end(case, inputs, end):
    """With CAUSAL, the loop ends at ``end``."""
    return _starts(case, inputs, lambda t: range(0, min(end(t), t.seqlen_k) if t.causal else t.seqlen_k, t.block_n))


def _variant(model, suffix, *arguments):
    """The same mistake in a kernel written another way."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, *arguments)

    variant.__name__ = f"{model.__name__}_{suffix}"
    return variant


_WITH_L_OF_ZERO = (no_max_subtraction, measured_from_zero, maximum_before_mask, guard_by_chunk)

_VARIANTS = (
    *((model, _variant(model, "lse_unguarded", _lse_unguarded)) for model in _WITH_L_OF_ZERO),
    *((scores_clamped, _variant(scores_clamped, f"at_{limit}", float(limit))) for limit in (50, 60, 88)),
    *((tf32, _variant(tf32, f"in_{scores}", scores, False)) for scores in _TF32_SCORES),
    *((model, _variant(model, "unguarded", False)) for model in (divided_in_the_loop, divided_in_the_loop_and_after)),
    (tf32, _variant(tf32, "in_acc", "")),
    (tf32, _variant(tf32, "in_scaled_queries_and_acc", "scaled_queries")),
    (diagonal_skipped, _variant(diagonal_skipped, "rounded", True)),
    (causal_bound_by_key_tile, _variant(causal_bound_by_key_tile, "from_row", True)),
    (chunk_stuck, _variant(chunk_stuck, "mask_moves", True)),
    *((lse_is_the_sum, _variant(lse_is_the_sum, f"dead_{x}".replace("-", "minus_"), x)) for x in (1.0, -INF)),
    (only_the_first_tile, only_the_first_tile_of_o),
    (only_the_first_tile, only_the_first_tile_of_lse),
    (stored_in_the_first_tile, _variant(stored_in_the_first_tile, "both", ("to", "lse_to"))),
    (stored_in_the_first_tile, _variant(stored_in_the_first_tile, "lse", ("lse_to",))),
    *((stored_by_key_length, _variant(stored_by_key_length, name, (name,))) for name in ("o", "lse")),
)

MISTAKES = (
    acc_not_rescaled,
    l_not_rescaled,
    acc_rescaled_after,
    alpha_inverted,
    p_uses_old_max,
    chunk_max,
    state_reset_in_the_loop,
    no_max_subtraction,
    scores_clamped,
    measured_from_zero,
    phantom_key,
    maximum_before_mask,
    masked_probabilities_only,
    guard_missing,
    guard_by_chunk,
    dead_row_lse_zero,
    dead_row_average,
    finite_fill_too_small,
    exp2_without_log2e,
    accumulator_in_half,
    weights_in_half,
    tf32,
    division_forgotten,
    divided_in_the_loop,
    divided_in_the_loop_and_after,
    divided_by_the_maximum,
    l_along_columns,
    dead_row_divided_by_zero,
    lse_base_two,
    lse_log2_of_l,
    lse_without_max,
    lse_without_log,
    lse_is_the_maximum,
    lse_is_the_sum,
    o_not_stored,
    nothing_stored,
    lse_not_stored,
    ghost_columns_unmasked,
    causal_forgotten,
    causal_always,
    causal_reversed,
    causal_strict,
    causal_off_by_one,
    causal_top_left,
    causal_offset_reversed,
    causal_by_tile_row,
    causal_by_chunk_column,
    causal_by_blocks,
    causal_fill_zero,
    hidden_scores_zero,
    only_the_first_chunk,
    chunk_start_multiplied_again,
    diagonal_skipped,
    causal_bound_without_offset,
    causal_bound_by_key_tile,
    tail_chunk_dropped,
    last_full_chunk_dropped,
    first_chunk_skipped,
    loop_over_query_length,
    chunk_step_is_query_tile,
    chunks_by_count,
    chunks_by_one,
    chunk_stuck,
    pointers_moved_by_rows,
    value_pointer_stuck,
    keys_masked_by_query_length,
    key_strides_swapped,
    key_tile_not_transposed,
    value_from_key_pointer,
    value_without_other,
    scale_forgotten,
    scale_divided,
    scale_twice,
    scale_one_over_d,
    own_scale,
    only_the_first_tile,
    wrong_tile_height,
    program_is_a_row,
    stored_in_the_first_tile,
    stored_by_key_length,
    store_without_mask,
    lse_store_without_mask,
    lse_by_head,
    query_load_without_mask,
    key_loads_without_mask,
    *(variant for _, variant in _VARIANTS),
)

ALIASES = {
    "ghost_columns_zero": "ghost_columns_unmasked",  # a ghost key of 0 scores 0 anyway
    "maximum_from_zero": "measured_from_zero",  # a guard that takes a low maximum for none does the same
    # One message each, whatever is loaded too much of.
    "all_keys_in_one_tile": "tile_too_large",
    "chunk_too_wide": "tile_too_large",
    "three_passes": "keys_read_again",
    "value_set_in_a_branch": "value_not_set_before",  # or in a loop
    **{variant.__name__: model.__name__ for model, variant in _VARIANTS},
    # On a GPU programs that all store to one place may look like it; and in one case a mask that ends there.
    **dict.fromkeys(
        ("only_the_first_tile", "only_the_first_tile_of_o", "only_the_first_tile_of_lse"), "later_tiles_not_written"
    ),
}

# What lies behind the end of v is as undefined as a masked lane; and which program's rows win is a GPU's secret.
GPU_ALIASES = {"key_loads_without_mask": "value_without_other", "stored_in_the_first_tile": "later_tiles_not_written"}

# For what outputs cannot tell. A message is a sign of no more than what it says: the words must hold for every kernel
# that it may be said of. Where programs store to one place, what is left empty is all that a GPU tells.
SIGNS = (
    (
        "later_tiles_not_written",
        "fail",
        r"^Rows 32-69 of o were never written",
        "Of the three query tiles of this case, only the rows of the first are written.\n\n"
        "Work out offs_m, the rows of the store and its mask by hand for the second program.",
    ),
    (
        "tile_too_large",
        "fail",
        r"one load takes 131072 elements of [kv] at once",  # 4096 keys of 32
        "One load takes as many elements as all keys of the long sequence have together.\n\n"
        "The point of Part B is that no tile grows with the sequence. How many keys is a chunk to hold, and does the load "
        "take each of them once?",
    ),
    (
        "tile_too_large",
        "fail",
        r"one load takes \d+ elements of [kv] at once",
        "One load takes more elements than BLOCK_N keys have.\n\n"
        "How many keys is a chunk to hold, and does the load take each of them once? Look at the tl.arange that the rows "
        "come from, and at the shape of the pointers.",
    ),
    (
        "tile_too_large",
        "compile-error",
        r"bytes of shared memory a block, and this GPU has",
        "A tile is too large for this GPU. Does it grow with the number of keys?\n\n"
        "The point of Part B is that no tile grows with the sequence. How many keys is a chunk to hold?",
    ),
    (
        "keys_read_again",
        "fail",
        r"elements of [kv] are loaded in all",
        "More than twice as much is loaded as one walk over the keys for each query tile takes.\n\n"
        "What is loaded again: by another walk, as for a maximum of its own, by loads ahead of their turn, or for each of "
        "several groups of rows? One walk is enough if l_i and acc follow the maximum when it rises.",
    ),
    (
        "arange_end_inclusive",
        "compile-error",
        r"tl\.arange must span a power of two",
        "A tl.arange has a length that is no power of two. Its end is not included: arange(0, 32) has 32 numbers.\n\n"
        "Look at the bounds of each tl.arange.",
    ),
    (
        "arange_of_the_length",
        "compile-error",
        r"tl\.arange takes compile-time constants only",
        "A tl.arange has a bound that is known only when the kernel runs, such as a length or the start of a chunk.\n\n"
        "Tiles have fixed sizes. What can keep the keys that do not exist out of the result?",
    ),
    (
        "dot_of_two_types",
        "compile-error",
        r"tl\.dot takes two tiles of one dtype",
        "tl.dot is given tiles of two dtypes.\n\nAll inputs are float32. Look for a conversion of one of the operands.",
    ),
    (
        "loop_carried_type",
        "compile-error",
        r"changes its type within the loop",
        "A running value begins with another dtype or shape than it has after a chunk, which a GPU does not accept.\n\n"
        "Look at the first value of the variable that is named: which dtype and which shape does it have in the loop?",
    ),
    (
        "value_not_set_before",
        "compile-error",
        r"may have no value here",
        "A variable is used that has no value on some way through the kernel.\n\n"
        "Where is it set first: within an `if`, or in a loop? What is it worth if that is left out? Give it a value before.",
    ),
    (
        "tf32",
        "fail",
        r"tl\.dot rounds its float32 tiles to TF32",
        inspect.getdoc(tf32),
    ),
)
