"""What wrong kernels for the softmax of long rows store: a torch model of each known mistake, with words for the student."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_STORE_BEHIND = r"stores outside y(?:_other)?\b.*: row {}, column 0\b|wrote past the end of y(?:_other)?\b"
_LOAD_OUTSIDE = r"loads outside x\b"


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _finite(m):
    return torch.where(m == -INF, 0.0, m)


class _StoppedError(Exception):
    """The kernel does not come to its end; holds a pattern of the message."""


def _read(case, x, column, other, reads):
    """A chunk of all rows; ``reads`` says which of its columns are loaded, of which those behind the end of x are NaN."""
    live = (reads(case, column) & (column >= 0)).expand(case["m"], len(column))
    address = torch.arange(case["m"])[:, None] * case["n"] + column
    behind = live & (address >= x.numel())
    if case["device"] == "cpu" and bool(behind.any()):
        raise _StoppedError(_LOAD_OUTSIDE)
    read = torch.where(live, x.flatten()[address.clamp(max=x.numel() - 1)], other)
    return torch.where(behind, NAN, read)


def _real(case, column):
    return column < case["n"]


def _stream(case, inputs, update=None, result=None, *, other=-INF, reads=_real, early=False):
    """Pass 1 takes each chunk c into m and l by ``update``, pass 2 stores ``result``; with ``early`` pass 1 stores."""
    m_rows, n, block_n = case["m"], case["n"], case["block_n"]
    update, result = update or _update, result or _result
    m, l = torch.full((m_rows, 1), -INF).double(), torch.zeros(m_rows, 1).double()
    y = torch.full((m_rows, math.ceil(n / block_n) * block_n), UNWRITTEN, dtype=torch.float64)
    try:
        for start in range(0, n, block_n):
            column = start + torch.arange(block_n)
            c = SimpleNamespace(case=case, m=m, l=l, x=_read(case, inputs["x"], column, other, reads))
            c.top = c.x.amax(1, keepdim=True)
            c.m_new = torch.maximum(m, c.top)
            m, l = update(c)
            m, l = _f32(m), _f32(l)
            if early:
                y[:, start : start + block_n] = result(SimpleNamespace(case=case, m=m, l=l, x=c.x))
        for start in range(0, 0 if early else n, block_n):
            column = start + torch.arange(block_n)
            c = SimpleNamespace(case=case, m=m, l=l, x=_read(case, inputs["x"], column, other, reads))
            y[:, start : start + block_n] = _f32(result(c))
    except _StoppedError as stopped:
        return str(stopped)
    return {"y": y[:, :n]}


def _alpha(c):
    return _exp(c.m - _finite(c.m_new))


def _sum(c):
    return _exp(c.x - _finite(c.m_new)).sum(1, keepdim=True)


def _update(c):
    return c.m_new, c.l * _alpha(c) + _sum(c)


def _result(c):
    return _exp(c.x - c.m) / c.l


def l_not_rescaled(case, inputs):
    """The sum so far stays as it is when the maximum grows: the weights of a row add up to less than 1.

    Each term of the sum is exp(x - m). What is the old sum worth, once m is another one?
    """
    return _stream(case, inputs, lambda c: (c.m_new, c.l + _sum(c)))


def l_rescaled_after(case, inputs):
    """The new chunk is rescaled together with the old sum, although it is measured against the new maximum already.

    Which of the two terms of the sum was measured against the old maximum?
    """
    return _stream(case, inputs, lambda c: (c.m_new, (c.l + _sum(c)) * _alpha(c)))


def l_overwritten(case, inputs):
    """The sum holds the last chunk alone: what came before is forgotten.

    Look at what becomes of the old value of l_i when a chunk comes in.
    """
    return _stream(case, inputs, lambda c: (c.m_new, _sum(c)))


def alpha_inverted(case, inputs):
    """The sum so far is multiplied by exp(m_new - m_i), which is above 1, and infinite at the first chunk.

    When the maximum grows, should the old sum become larger by it, or smaller?
    """
    return _stream(case, inputs, lambda c: (c.m_new, c.l * _exp(_finite(c.m_new) - c.m) + _sum(c)))


def p_uses_old_max(case, inputs):
    """A chunk is measured against the maximum from before it: at the first chunk that is -inf, and exp is infinite.

    Follow m_i through the first chunk. Which maximum keeps exp at 1 and below?
    """
    return _stream(case, inputs, lambda c: (c.m_new, c.l * _alpha(c) + _exp(c.x - c.m).sum(1, keepdim=True)))


def chunk_max(case, inputs):
    """The maximum of a chunk replaces the running one: where scores fall along a row, the weights overflow.

    The running maximum never falls. What should it be after a chunk that lies below it?
    """
    return _stream(
        case,
        inputs,
        lambda c: (c.top, c.l * _exp(c.m - _finite(c.top)) + _exp(c.x - _finite(c.top)).sum(1, keepdim=True)),
    )


def no_guard(case, inputs):
    """Rows that begin with -inf turn to NaN: their maximum so far is -inf, and (-inf) - (-inf) is NaN.

    Two exponents meet it, that of the chunk and that of the old sum. What could they subtract in the meantime?
    """

    def update(c):
        return c.m_new, c.l * _exp(c.m - c.m_new) + _exp(c.x - c.m_new).sum(1, keepdim=True)

    return _stream(case, inputs, update)


def guard_carried_on(case, inputs):
    """The 0 that stands in for a missing maximum is kept as the maximum: scores far below 0 that come later vanish.

    Look at what m_i is after a chunk of -inf. Does the next chunk still know that nothing has been seen?
    """

    def update(c):
        m_new = _finite(c.m_new)
        return m_new, c.l * _exp(c.m - m_new) + _exp(c.x - m_new).sum(1, keepdim=True)

    return _stream(case, inputs, update)


def measured_from_zero(case, inputs):
    """The maximum is never below 0: a row whose scores all lie far below it has nothing left after exp.

    Look at what stands in for the maximum where there is none. Does it do so for rows that are merely low, too?
    """

    def update(c):
        m_new = c.m_new.clamp(min=0.0)
        return m_new, c.l * _exp(c.m - m_new) + _exp(c.x - m_new).sum(1, keepdim=True)

    return _stream(case, inputs, update)


def maximum_of_the_tile(case, inputs):
    """One maximum is kept for the whole tile: rows that lie far below it vanish.

    Look at the shape of m_i after a chunk. How many numbers does a tile of BLOCK_M rows need?
    """

    def update(c):
        tiles = c.m_new.split(case["block_m"])
        m_new = torch.cat([tile.max().expand(len(tile), 1) for tile in tiles])
        return m_new, c.l * _exp(c.m - _finite(m_new)) + _exp(c.x - _finite(m_new)).sum(1, keepdim=True)

    return _stream(case, inputs, update)


def finite_fill_too_small(case, inputs):
    """Columns past the end read as -10000: where all real scores lie below that, the ghosts take all the weight.

    No finite score is small enough for every row. Which number is below all of them?
    """
    return _stream(case, inputs, other=-1e4)


def no_max_subtraction(case, inputs):
    """exp is taken of the scores as they are: it overflows above 88, and far below 0 all weights vanish.

    What does the kernel do with m_i, in both loops?
    """
    return _stream(
        case,
        inputs,
        lambda c: (c.m_new, c.l + _exp(c.x).sum(1, keepdim=True)),
        lambda c: _exp(c.x) / c.l,
    )


def softmax_per_chunk(case, inputs):
    """Each chunk is a softmax of its own: the weights of a row add up to the number of its chunks.

    Which maximum and which sum belong to the whole row, and when are they complete?
    """

    def result(c):
        p = _exp(c.x - _finite(c.x.amax(1, keepdim=True)))
        return p / p.sum(1, keepdim=True)

    def guarded(c):
        p = _exp(c.x - c.x.amax(1, keepdim=True))
        return p / p.sum(1, keepdim=True)

    return _stream(case, inputs, None, guarded if case["padded"] else result)


def stored_too_early(case, inputs):
    """The weights of a chunk are final only once the whole row has been seen; here the state of that moment is used.

    The last chunk is right, and the first one is not. What do m_i and l_i still have to take in when it is stored?
    """
    return _stream(case, inputs, early=True)


def division_forgotten(case, inputs):
    """The weights of a row do not add up to 1: they are not divided by their sum.

    The largest weight of each row is 1 here. What is still to come?
    """
    return _stream(case, inputs, None, lambda c: _exp(c.x - c.m))


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 where powers of e belong: they come out too even.

    exp(x) is exp2 of something. What has x to be multiplied by?
    """

    def update(c):
        safe = _finite(c.m_new)
        return c.m_new, c.l * torch.exp2(c.m - safe) + _f32(torch.exp2(c.x - safe)).sum(1, keepdim=True)

    return _stream(case, inputs, update, lambda c: _f32(torch.exp2(c.x - c.m)) / c.l)


def ghost_columns_zero(case, inputs):
    """Columns past the end of the last chunk take part with a score of 0, and take weight from those that exist.

    exp(0) is 1. What has a ghost column to read as, for exp to make 0 of it?
    """
    return _stream(case, inputs, other=0.0)


def no_other(case, inputs):
    """Columns past the end of a row make NaN of it: what they read as is undefined, NaN or infinite.

    What a ghost column reads as goes into the maximum and the sum of its row. See what tl.load takes besides the mask, and
    which number does no harm there.
    """
    return _stream(case, inputs, other=NAN)


def columns_not_masked(case, inputs):
    """Columns past the end of a row are read: what lies there is the beginning of the next row.

    The mask of a chunk has two sides. Which of them keeps the columns within N?
    """
    return _stream(case, inputs, reads=lambda case, column: column >= 0)


def rows_not_masked(case, inputs):
    """The last tile loads rows of x that do not exist.

    The mask of a chunk has two sides. Which of them keeps the rows within M?
    """
    if case["device"] == "cuda":
        return {}  # such rows are stored nowhere
    return _LOAD_OUTSIDE if case["m"] % case["block_m"] else _stream(case, inputs)


def store_without_mask(case, inputs):
    """The store goes beyond y.

    A tile that is not full has elements that y does not have. What keeps them from being stored?
    """
    blocks = [case["block_n"], case["other_block"] or case["block_n"]]
    ragged = case["m"] % case["block_m"] or any(case["n"] % block for block in blocks)
    return _STORE_BEHIND.format(case["m"]) if ragged else _stream(case, inputs)


def stored_in_the_first_chunk(case, inputs):
    """Every chunk is stored in the columns of the first one: all others are never written.

    Look at the offsets of the store. Which columns does a chunk begin with?
    """
    found = _stream(case, inputs)["y"]
    y = torch.full_like(found, UNWRITTEN)
    for start in range(0, case["n"], case["block_n"]):
        chunk = found[:, start : start + case["block_n"]]
        y[:, : chunk.shape[1]] = chunk
    return {"y": y}


MISTAKES = (
    l_not_rescaled,
    l_rescaled_after,
    l_overwritten,
    alpha_inverted,
    p_uses_old_max,
    chunk_max,
    no_guard,
    guard_carried_on,
    measured_from_zero,
    maximum_of_the_tile,
    finite_fill_too_small,
    no_max_subtraction,
    softmax_per_chunk,
    stored_too_early,
    division_forgotten,
    exp2_without_log2e,
    ghost_columns_zero,
    no_other,
    columns_not_masked,
    rows_not_masked,
    store_without_mask,
    stored_in_the_first_chunk,
)

SIGNS = (
    (
        "three_passes",
        "fail",
        r"elements of x are loaded in all",
        "x is read more often than twice.\n\n"
        "The plain way is three passes: one for the maximum, one for the sum, one for the result. Which two of them can be "
        "one, and what has to happen to the sum when the maximum grows?",
    ),
    (
        "y_read_back",
        "fail",
        r"elements of y are loaded",
        "y is read: what the kernel has stored there comes back from memory, which is a pass more.\n\n"
        "y is only to be written. What can the second loop make its weights of?",
    ),
    (
        "rows_meet_columns",
        "compile-error",
        r"shapes meet here: (?:32 against 16|16 against 32) along (?:axis|dimension) [01]\.",
        "Two values meet here of which one is as long as a tile has rows, and the other as a chunk has columns.\n\n"
        "Rows run down the chunk and columns across it. Where a vector with one number for each row meets them, it has to be "
        "a column, by [:, None]; and a maximum or a sum along the row leaves one number for each row.",
    ),
)
