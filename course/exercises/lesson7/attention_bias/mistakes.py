"""What wrong kernels with a bias store: a torch model of each known mistake, with words for the student."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
LOG2E = 1 / math.log(2)
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_BIAS_OUTSIDE = r"loads outside bias(?:_again)?\b"


def _exp(x):
    """In float32, with its underflow and overflow."""
    return torch.exp(x).float().double()


class _StoppedError(Exception):
    """The kernel does not come to its end; holds a pattern of the message, empty where nothing is known of it."""


def _strides(t):
    """Of head and row, 0 for what is shared."""
    heads, rows, keys = t.bias.shape
    return (rows * keys if heads > 1 else 0), (keys if rows > 1 else 0)


def _bias(t, head=None, i=None, j=None, strides=None):
    """The bias of all rows and all columns of all chunks of one head, read by its addresses; 0 for ghosts."""
    sh, sm = strides or _strides(t)
    address = (t.h if head is None else head) * sh + (t.i if i is None else i) * sm + (t.j if j is None else j)
    live = (t.real & torch.ones_like(t.i, dtype=torch.bool)).expand(t.nq, t.columns)
    flat, address = t.bias.flatten(), address.expand(t.nq, t.columns)
    behind = live & (address >= len(flat))
    if bool(behind.any()):
        raise _StoppedError(_BIAS_OUTSIDE if t.device == "cpu" else "")
    return torch.where(live, flat[address.clamp(max=len(flat) - 1)], 0.0)


_STEPS = {
    "heads": lambda t: (t.h, t.h, t.h),
    "bias": _bias,
    "slope": lambda t: t.slopes[t.h],
    "distance": lambda t: (t.place - t.j).abs(),
    "scores": lambda t: t.qk * t.scale + t.b - t.slope * t.distance,
    "place": lambda t: t.i + t.seqlen_k - t.seqlen_q,
    "mask": lambda t: torch.where(t.seen, t.s, -INF),
    "maximum": lambda t: torch.maximum(t.m, t.chunk.amax(1, keepdim=True)),
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "acc": lambda t: t.acc * t.alpha + t.p @ t.v[t.at],
    "exp": lambda t, x: _exp(x),
    "o": lambda t: t.acc / t.safe,
    "lse": lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log()),
}


def _launch(case, inputs, name, **steps):
    """One launch by head and chunk, all rows at once. Each of ``steps`` replaces one step by a function of t."""

    def step(name, *more):
        return steps.get(name, _STEPS[name])(t, *more)

    nq, nk, block_n = case["seqlen_q"], case["seqlen_k"], case["block_n"]
    o, lse = [], []
    for h in range(case["heads"]):
        t = SimpleNamespace(**case | {"bias": inputs[f"bias{name}"], "slopes": inputs[f"slopes{name}"]}, h=h, nq=nq)
        t.columns = math.ceil(nk / block_n) * block_n
        t.i, t.j = torch.arange(nq)[:, None], torch.arange(t.columns)[None, :]
        t.real, t.place = t.j < nk, step("place")
        q, k, v = (inputs[name][of] for name, of in zip("qkv", step("heads"), strict=True))
        t.k, t.v = (torch.nn.functional.pad(x, (0, 0, 0, t.columns - nk)) for x in (k, v))
        t.qk, t.b, t.slope, t.distance = q @ t.k.T, step("bias"), step("slope"), step("distance")
        t.s = step("scores")
        t.seen = t.real & (t.j <= t.place) if case["causal"] else t.real.expand(nq, -1)
        t.s = step("mask")
        t.m, t.l, t.acc = torch.full((nq, 1), -INF).double(), torch.zeros(nq, 1).double(), torch.zeros_like(q)
        for start in range(0, nk, block_n):
            t.at = slice(start, start + block_n)
            t.chunk = t.s[:, t.at]
            t.m_new = step("maximum")
            t.anchor = step("anchor")
            t.alpha, t.p = step("exp", t.m - t.anchor), step("exp", t.chunk - t.anchor)
            t.l, t.acc, t.m = t.l * t.alpha + t.p.sum(1, keepdim=True), step("acc"), t.m_new
        t.safe = torch.where(t.l == 0, 1.0, t.l)
        o.append(step("o"))
        lse.append(step("lse")[:, 0])
    return {"o": torch.stack(o), "lse": torch.stack(lse)}


def _kernel(case, inputs, **steps):
    try:
        found = _launch(case, inputs, "", **steps)
        if case["again"] != "none":
            _launch(case, inputs, "_again", **steps)  # it may be stopped, too
    except _StoppedError as stopped:
        return str(stopped) or {}
    return found


# Where the bias is read


def bias_forgotten(case, inputs):
    """The scores have no bias added.

    Look for the load of the bias, and for what becomes of it.
    """
    return _kernel(case, inputs, bias=lambda t: torch.zeros(()))


def bias_of_the_first_head(case, inputs):
    """Every head takes the bias of the first one.

    Which of the two strides leads from one head to the next? Look at where the bias of a program begins.
    """
    return _kernel(case, inputs, bias=lambda t: _bias(t, head=0))


def bias_of_the_tile_row(case, inputs):
    """Every query tile takes the bias of the first rows.

    Look at the row index in the offsets of the bias: is it the query's number in the sequence?
    """
    return _kernel(case, inputs, bias=lambda t: _bias(t, i=t.i % t.block_m))


def bias_of_the_first_chunk(case, inputs):
    """Every chunk of keys takes the bias of the first one.

    Which of the offsets of the bias depend on the loop variable?
    """
    return _kernel(case, inputs, bias=lambda t: _bias(t, j=t.j % t.block_n))


def bias_strides_ignored(case, inputs):
    """The bias is read as if it were (HEADS, seqlen_q, seqlen_k) without a gap, whatever its strides are.

    Two strides are handed in. What do they say of a bias that all queries share, or whose rows are further apart?
    """
    return _kernel(case, inputs, bias=lambda t: _bias(t, strides=(t.seqlen_q * t.seqlen_k, t.seqlen_k)))


def bias_transposed(case, inputs):
    """The bias is read with query and key in each other's place.

    Which of the two indices takes steps of 1 in memory, and which one steps of stride_bm?
    """
    return _kernel(case, inputs, bias=lambda t: _bias(t, i=t.j, j=t.i))


def bias_ghosts_read(case, inputs):
    """Behind the last key, and behind the last query, the bias is read where it has no element.

    A tile of the bias has ghosts along two axes. Which of them does its mask stop?
    """
    if case["device"] == "cuda":
        return {}  # ghosts are hidden, and not stored
    heads, rows, keys = inputs["bias"].shape
    t = SimpleNamespace(bias=inputs["bias"])
    sh, sm = _strides(t)
    last_row = math.ceil(case["seqlen_q"] / case["block_m"]) * case["block_m"] - 1
    last_key = math.ceil(case["seqlen_k"] / case["block_n"]) * case["block_n"] - 1
    last = (case["heads"] - 1) * sh + last_row * sm + last_key
    return _BIAS_OUTSIDE if last >= heads * rows * keys else _kernel(case, inputs)


# What is added


def bias_scaled(case, inputs):
    """The bias is multiplied by the scale together with q k^T.

    scale belongs to q k^T alone. Where is the bias added, before the product with scale or after it?
    """
    return _kernel(case, inputs, scores=lambda t: (t.qk + t.b) * t.scale - t.slope * t.distance)


def bias_subtracted(case, inputs):
    """The bias is taken off the scores instead of added to them.

    What does a bias of -inf have to do with the score of its key?
    """
    return _kernel(case, inputs, scores=lambda t: t.qk * t.scale - t.b - t.slope * t.distance)


def maximum_before_bias(case, inputs):
    """The maximum is taken before the bias is added: a large bias makes exp overflow, a low one makes it 0.

    Compare the line that takes the maximum with the one that adds the bias: which comes first?
    """

    def scores(t):
        t.without = torch.where(t.real & ((t.j <= t.place) | (not t.causal)), t.qk * t.scale, -INF)
        return _STEPS["scores"](t)

    def maximum(t):
        return torch.maximum(t.m, t.without[:, t.at].amax(1, keepdim=True))

    return _kernel(case, inputs, scores=scores, maximum=maximum, lse=_plain_lse)


def _plain_lse(t):
    return t.m + t.safe.log()


def bias_not_in_base_two(case, inputs):
    """Weights are powers of 2, for which q k^T is converted and the bias is not.

    exp(x) is exp2(x log2(e)). What is x here, and which of its parts has been multiplied?
    """
    return _kernel(
        case,
        inputs,
        scores=lambda t: t.qk * t.scale * LOG2E + t.b - t.slope * t.distance,
        exp=lambda t, x: torch.exp2(x).float().double(),
        lse=lambda t: torch.where(t.l == 0, -INF, (t.m + t.safe.log2()) / LOG2E),
    )


# ALiBi


def slopes_forgotten(case, inputs):
    """The scores do not fall with the distance of the key.

    Look for the slope of the head, and for what becomes of it.
    """
    return _kernel(case, inputs, slope=lambda t: torch.zeros(()))


def slope_of_the_first_head(case, inputs):
    """Every head takes the slope of the first one.

    Each head has a slope of its own. Which element of slopes does a program load?
    """
    return _kernel(case, inputs, slope=lambda t: t.slopes[0])


def slopes_by_formula(case, inputs):
    """Slopes are made from the number of the head, as ALiBi's paper proposes them, and slopes_ptr is not read.

    A model may have other slopes, or none. Where does the kernel get the slope of its head from?
    """
    return _kernel(case, inputs, slope=lambda t: 2.0 ** (-8.0 * (t.h + 1) / t.heads))


def slope_added(case, inputs):
    """Scores rise with the distance: the keys furthest away are favoured.

    ALiBi takes something off for each step between query and key. Look at the sign.
    """
    return _kernel(case, inputs, slope=lambda t: -t.slopes[t.h])


def slope_scaled(case, inputs):
    """What ALiBi takes off is multiplied by the scale together with q k^T.

    scale belongs to q k^T alone. Look at what it multiplies.
    """
    return _kernel(case, inputs, scores=lambda t: (t.qk - t.slope * t.distance) * t.scale + t.b)


def distance_signed(case, inputs):
    """What ALiBi takes off is negative for keys behind the query's place: the further ahead, the more they count.

    A distance has no sign. What does place less key give for a key that comes later?
    """
    return _kernel(case, inputs, distance=lambda t: t.place - t.j)


def distance_top_left(case, inputs):
    """The distance is counted from key i for query i: that is right only where there are as many queries as keys.

    The last query is aligned with the last key. At which key does query 0 stand if there are 2 queries and 5 keys?
    """
    return _kernel(case, inputs, distance=lambda t: (t.i - t.j).abs())


# The running softmax, and heads


def guard_missing(case, inputs):
    """A row whose first chunk is -inf throughout turns to NaN: its maximum is -inf still, and (-inf) - (-inf) is NaN.

    A bias may hide a whole chunk. Two exponents meet that maximum. What could they subtract meanwhile?
    """
    return _kernel(case, inputs, anchor=lambda t: t.m_new)


def guard_carried_on(case, inputs):
    """The 0 that stands in for a missing maximum is kept as the maximum: rows whose scores lie far below 0 vanish.

    Look at what m_i is after a chunk of -inf. Does the next chunk still know that nothing has been seen?
    """

    def maximum(t):
        m_new = _STEPS["maximum"](t)
        return torch.where(m_new == -INF, 0.0, m_new)

    return _kernel(case, inputs, maximum=maximum)


def dead_row_divided_by_zero(case, inputs):
    """A query that sees no key is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i of a row that has seen no key? Look at the last division.
    """
    return _kernel(case, inputs, o=lambda t: t.acc / t.l)


def ghost_columns_unmasked(case, inputs):
    """Ghost keys take part with a score that the bias and the slope give them.

    The bias hides the keys that it is told to hide. What hides the columns behind the last key?
    """

    def mask(t):
        return torch.where(t.j <= t.place, t.s, -INF) if t.causal else t.s

    return _kernel(case, inputs, mask=mask)


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum; l_i is right.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc + t.p @ t.v[t.at])


def keys_of_the_first_head(case, inputs):
    """Every head takes the keys and values of the first one.

    Where do k and v of a head begin? How many elements lie before them?
    """
    return _kernel(case, inputs, heads=lambda t: (t.h, 0, 0))


MISTAKES = (
    bias_forgotten,
    bias_of_the_first_head,
    bias_of_the_tile_row,
    bias_of_the_first_chunk,
    bias_strides_ignored,
    bias_transposed,
    bias_ghosts_read,
    bias_scaled,
    bias_subtracted,
    maximum_before_bias,
    bias_not_in_base_two,
    slopes_forgotten,
    slope_of_the_first_head,
    slopes_by_formula,
    slope_added,
    slope_scaled,
    distance_signed,
    distance_top_left,
    guard_missing,
    guard_carried_on,
    dead_row_divided_by_zero,
    ghost_columns_unmasked,
    acc_not_rescaled,
    keys_of_the_first_head,
)

# What outputs cannot tell: how much a program writes.
SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
)
