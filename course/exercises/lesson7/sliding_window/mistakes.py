"""What wrong kernels for a sliding window store: a torch model of each known mistake, with words for the student."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_KEYS_OUTSIDE = r"loads outside [kv]\b"


def _exp(x):
    """In float32, with its underflow."""
    return torch.exp(x).float().double()


def _rows(x, index, other=0.0):
    """The rows of x at ``index``, ``other`` behind its end, and NaN before its start, as on a GPU."""
    rows = torch.where((index < len(x))[:, None], x[index.clamp(0, len(x) - 1)], other)
    return torch.where((index >= 0)[:, None], rows, NAN)


def _reach(t):
    """How far the window goes to both sides; a side without an end goes past all keys."""
    far = t.seqlen_q + t.seqlen_k
    return far if t.left < 0 else t.left, far if t.right < 0 else t.right


def _band(t):
    """The keys that the tile's rows see, from the first to behind the last."""
    left, right = t.reach
    return max(t.first_place - left, 0), min(t.first_place + t.block_m + right, t.seqlen_k)


def _seen(t):
    left, right = t.reach
    return (t.j >= t.place - left) & (t.j <= t.place + right)


def _no_left(t):
    return t.j <= t.place + t.reach[1]


def _no_right(t):
    return t.j >= t.place - t.reach[0]


# Which chunks are read: those of the band from a multiple of BLOCK_N on, the same from the band's first key on, or all.
_CHUNKS = {
    "aligned": lambda t: range(t.band[0] // t.block_n * t.block_n, t.band[1], t.block_n),
    "unaligned": lambda t: range(*t.band, t.block_n),
    "all": lambda t: range(0, t.seqlen_k, t.block_n),
}

_STEPS = {
    "starts": _CHUNKS["aligned"],
    "reach": _reach,
    "band": _band,
    "first_place": lambda t: t.first_row + t.seqlen_k - t.seqlen_q,
    "place": lambda t: t.first_place + torch.arange(t.block_m)[:, None],
    "seen": _seen,
    "mask": lambda t: torch.where(t.real & t.seen, t.raw, -INF),
    "maximum": lambda t: torch.maximum(t.m, t.s.amax(1, keepdim=True)),
    "anchor": lambda t: torch.where(t.m_new == -INF, 0.0, t.m_new),
    "alpha": lambda t: _exp(t.m - t.anchor),
    "acc": lambda t: t.acc * t.alpha + t.p @ t.v,
    "o": lambda t: t.acc / t.safe,
    "lse": lambda t: torch.where(t.l == 0, -INF, t.m + t.safe.log()),
}


def _kernel(case, inputs, *, other=0.0, **steps):
    """The kernel by query tile and chunk. Each of ``steps`` replaces one step by a function of the state t."""

    def step(name):
        return steps.get(name, _STEPS[name])(t)

    nq, nk, block_m = case["seqlen_q"], case["seqlen_k"], case["block_m"]
    o, lse = (torch.full((nq, width), UNWRITTEN, dtype=torch.float64) for width in (case["head"], 1))
    for program in range(math.ceil(nq / block_m)):
        t = SimpleNamespace(**case, first_row=program * block_m)
        rows = slice(t.first_row, t.first_row + block_m)
        t.q = _rows(inputs["q"], t.first_row + torch.arange(block_m))
        for name in ("reach", "first_place", "place", "band"):
            setattr(t, name, step(name))
        t.m, t.l = (torch.full((block_m, 1), x).double() for x in (-INF, 0.0))
        t.acc = torch.zeros(block_m, case["head"]).double()
        for start in step("starts"):
            index = start + torch.arange(case["block_n"])
            t.j, t.k, t.v = index[None, :], _rows(inputs["k"], index), _rows(inputs["v"], index, other)
            t.raw, t.real = t.q @ t.k.T * t.scale, t.j < nk
            t.seen = step("seen")
            t.s = step("mask")
            t.m_new = step("maximum")
            t.anchor = step("anchor")
            t.alpha, t.p = step("alpha"), _exp(t.s - t.anchor)
            t.l, t.acc, t.m = t.l * t.alpha + t.p.sum(1, keepdim=True), step("acc"), t.m_new
        t.safe = torch.where(t.l == 0, 1.0, t.l)
        exists = len(o[rows])
        o[rows], lse[rows] = step("o")[:exists], step("lse")[:exists]
    return {"o": o, "lse": lse[:, 0]}


# Chunks that are masked throughout


def guard_missing(case, inputs, chunks="aligned"):
    """A row whose first chunk is masked throughout turns to NaN: its maximum is -inf still, and (-inf) - (-inf) is NaN.

    Two exponents meet that maximum, the one of alpha and the one of the weights. What could they subtract meanwhile?
    """
    return _kernel(case, inputs, anchor=lambda t: t.m_new, starts=_CHUNKS[chunks])


def guard_carried_on(case, inputs, chunks="aligned"):
    """The 0 that stands in for a missing maximum is kept as the maximum: rows whose scores lie far below 0 vanish.

    Look at what m_i is after a chunk that is masked throughout. Does the next chunk still know that nothing was seen?
    """

    def maximum(t):
        m_new = _STEPS["maximum"](t)
        return torch.where(m_new == -INF, 0.0, m_new)

    return _kernel(case, inputs, maximum=maximum, starts=_CHUNKS[chunks])


def hidden_scores_zero(case, inputs, chunks="aligned"):
    """Keys outside the window get a score of 0 instead of none at all, and take weight.

    What does exp make of a score of 0, and what would a score have to be for its weight to vanish?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.real & t.seen, t.raw, 0.0), starts=_CHUNKS[chunks])


def dead_row_average(case, inputs, chunks="aligned"):
    """Hidden keys get a very low finite score: a query that sees no key averages the values of the keys it may not see.

    What is exp(s - m) when every score of a row is the same low number?
    """
    low = -1.0e30
    found = _kernel(case, inputs, mask=lambda t: torch.where(t.real & t.seen, t.raw, low), starts=_CHUNKS[chunks])
    if (found["lse"] < low / 2).any():
        del found["lse"]  # it is that low number in dead rows, whichever it is
    return found


def dead_row_divided_by_zero(case, inputs):
    """A query that sees no key is divided by a sum of 0: its output is NaN instead of 0.

    What is l_i of a row that has seen no key? Look at the last division.
    """
    return _kernel(case, inputs, o=lambda t: t.acc / t.l)


# The window


def left_forgotten(case, inputs, chunks="aligned"):
    """Keys further back than the window reaches take part: its left side is not masked.

    Which is the first key that a row sees? A bound of the loop keeps whole chunks out, and it is one for all rows.
    """
    return _kernel(case, inputs, seen=_no_left, starts=_CHUNKS[chunks])


def right_forgotten(case, inputs, chunks="aligned"):
    """Keys further ahead than the window reaches take part: its right side is not masked.

    Which is the last key that a row sees? A bound of the loop keeps whole chunks out, and it is one for all rows.
    """
    return _kernel(case, inputs, seen=_no_right, starts=_CHUNKS[chunks])


def left_one_short(case, inputs):
    """The window ends one key too soon on its left side: window_left counts the query's own place as one of its keys.

    With window_left = 0, how many keys does a query see, and with 1? Look at the comparison on the left.
    """
    return _kernel(case, inputs, seen=lambda t: _seen(t) & ((t.j > t.place - t.reach[0]) | (t.left < 0)))


def sides_swapped(case, inputs):
    """The two sides of the window have changed places: window_left is how far a query sees ahead.

    Work out by hand which keys query 3 of 8 sees with window_left = 2 and window_right = 0.
    """
    return _kernel({**case, "left": case["right"], "right": case["left"]}, inputs)


def window_top_left(case, inputs):
    """The window lies around key i for query i: that is right only where there are as many queries as keys.

    The last query is aligned with the last key. At which key does query 0 stand if there are 2 queries and 5 keys?
    """
    return _kernel(case, inputs, first_place=lambda t: t.first_row)


def window_of_the_tile(case, inputs):
    """The window is one for all rows of a query tile: each sees what any of them may see.

    Look at the shape of the mask: does it depend on the row?
    """
    return _kernel(case, inputs, seen=lambda t: (t.j >= t.band[0]) & (t.j < t.band[1]))


def window_by_tile_row(case, inputs, chunks="all"):
    """Rows are counted from the start of the tile: only the window of the first query tile lies where it should.

    Look at which row index the keys are compared with: is it the query's number in the sequence?
    """

    def place(t):
        return t.seqlen_k - t.seqlen_q + torch.arange(t.block_m)[:, None]

    return _kernel(case, inputs, place=place, starts=_CHUNKS[chunks])


def minus_one_is_a_number(case, inputs):
    """-1 is taken for the length of a side: the window ends beside the query's own place instead of nowhere.

    What does -1 mean for window_left and window_right? Look at where the two are compared, or made part of a bound.
    """
    return _kernel(case, inputs, reach=lambda t: (t.left, t.right))


def ghost_columns_unmasked(case, inputs, chunks="aligned"):
    """Ghost keys take part with a score of 0 wherever the window reaches past the last key.

    With window_right = 0 no row that exists sees a ghost. What hides them when the window goes further?
    """
    return _kernel(case, inputs, mask=lambda t: torch.where(t.seen, t.raw, -INF), starts=_CHUNKS[chunks])


# Which chunks are read


def start_by_the_last_row(case, inputs, chunks="aligned"):
    """The loop begins where the window of the tile's last row does: the first rows miss keys.

    Which row of a tile looks back furthest? Look at the first value of the loop variable.
    """

    def band(t):
        return max(t.first_place + t.block_m - 1 - t.reach[0], 0), _band(t)[1]

    return _kernel(case, inputs, band=band, starts=_CHUNKS[chunks])


def end_by_the_first_row(case, inputs, chunks="aligned"):
    """The loop ends where the window of the tile's first row does: the last rows miss keys.

    Which row of a tile looks ahead furthest? Look at the end of the loop.
    """

    def band(t):
        return _band(t)[0], min(t.first_place + 1 + t.reach[1], t.seqlen_k)

    return _kernel(case, inputs, band=band, starts=_CHUNKS[chunks])


def start_one_key_late(case, inputs, chunks="aligned"):
    """The loop begins behind the first key that the tile sees: where a chunk ends with that key, it is left out.

    If the first row of a tile sees keys from number 15 on, with which chunk of 16 does the loop begin?
    """

    def band(t):
        return max(t.first_place - t.reach[0] + 1, 0), _band(t)[1]

    return _kernel(case, inputs, band=band, starts=_CHUNKS[chunks])


def end_one_key_short(case, inputs, chunks="aligned"):
    """The loop ends before the last key that the tile sees: where a chunk begins with that key, it is left out.

    If the last row of a tile sees keys up to number 32, is the end of the range 32? Is the end of a range in it?
    """

    def band(t):
        return _band(t)[0], min(t.first_place + t.block_m - 1 + t.reach[1], t.seqlen_k)

    return _kernel(case, inputs, band=band, starts=_CHUNKS[chunks])


def no_end_at_seqlen_k(case, inputs):
    """-1 is taken for seqlen_k: on the right, that is too short for a query that stands before the first key.

    With more queries than keys, where does the first query stand? How far is it from there to the last key?
    """
    return _kernel(case, inputs, reach=lambda t: tuple(t.seqlen_k if x < 0 else x for x in (t.left, t.right)))


def start_before_the_keys(case, inputs, chunks="aligned"):
    """The loop begins before the first key, where the window reaches back further than there are keys.

    At which key does the window of query 0 begin, with window_left = 8? Look at the first value of the loop variable,
    and at the masks of k and v.
    """
    if case["left"] < 0:
        return {}  # an open side has a bound of its own, or none
    block_n = case["block_n"]

    def start(t):
        first = t.first_place - t.reach[0]
        return math.trunc(first / block_n) * block_n if chunks == "aligned" else first  # // cuts off, as in C

    before = case["seqlen_k"] - case["seqlen_q"] - case["left"] <= (-block_n if chunks == "aligned" else -1)
    if before and case["device"] == "cpu":
        return _KEYS_OUTSIDE
    return _kernel(case, inputs, starts=lambda t: range(start(t), t.band[1], block_n))


def values_without_other(case, inputs, chunks="aligned"):
    """Ghost rows of v are undefined, and 0 times something undefined is not 0: the output becomes NaN.

    Look at the load of v: which rows does its mask let through, and what is read where the mask is off?
    """
    return _kernel(case, inputs, other=NAN, starts=_CHUNKS[chunks])


# The running softmax


def acc_not_rescaled(case, inputs):
    """acc keeps its old measure when a later chunk raises the maximum; l_i is right.

    Look at what happens to acc when m_new is larger than m_i, and compare it with l_i.
    """
    return _kernel(case, inputs, acc=lambda t: t.acc + t.p @ t.v)


def lse_without_max(case, inputs):
    """lse is the logarithm of l_i alone; o is right.

    l_i adds up exp(s - m_i). Which number is the logarithm of the sum of exp(s)?
    """
    return _kernel(case, inputs, lse=lambda t: torch.where(t.l == 0, -INF, t.safe.log()))


def _other_chunks(model, chunks):
    """The same mistake in a kernel that reads other chunks."""

    def other(case, inputs):
        return model(case, inputs, chunks=chunks)

    other.__name__, other.__doc__ = f"{model.__name__}_{chunks}", model.__doc__
    return other


# What these give depends on which chunks are read.
_BY_CHUNKS = (
    guard_missing,
    guard_carried_on,
    hidden_scores_zero,
    dead_row_average,
    left_forgotten,
    right_forgotten,
    ghost_columns_unmasked,
    values_without_other,
)
_OTHERS = {_other_chunks(model, chunks): model for model in _BY_CHUNKS for chunks in ("unaligned", "all")}
for _model in (
    start_by_the_last_row,
    end_by_the_first_row,
    start_one_key_late,
    end_one_key_short,
    start_before_the_keys,
):
    _OTHERS[_other_chunks(_model, "unaligned")] = _model
_OTHERS[_other_chunks(window_by_tile_row, "aligned")] = window_by_tile_row

MISTAKES = (
    *_BY_CHUNKS,
    dead_row_divided_by_zero,
    left_one_short,
    sides_swapped,
    window_top_left,
    window_of_the_tile,
    window_by_tile_row,
    minus_one_is_a_number,
    start_by_the_last_row,
    end_by_the_first_row,
    start_one_key_late,
    end_one_key_short,
    no_end_at_seqlen_k,
    start_before_the_keys,
    acc_not_rescaled,
    lse_without_max,
    *_OTHERS,
)

ALIASES = {other.__name__: model.__name__ for other, model in _OTHERS.items()}

SIGNS = (
    (
        "does_the_work_of_others",
        "fail",
        r"\bone program stores",
        "A program writes more than its own part, as where one does the work of all and the others do none.\n\n"
        "Which part is its own, and where does its number say so?",
    ),
    (
        "all_chunks_read",
        "fail",
        r"The result is right.* elements of [kv] are loaded in all",
        "More is loaded than the windows of the tiles hold: chunks are read that no row of the tile sees, or the same "
        "ones again.\n\n"
        "Which keys does the first row of a tile see at the earliest, and the last row at the latest? The loop can "
        "begin and end there.",
    ),
)
