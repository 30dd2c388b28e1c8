"""What wrong kernels for the log-sum-exp of rows store: a torch model of each known mistake, with words for the student."""

import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) lse\b"
_LOAD_OUTSIDE = r"loads outside x\b"


def _f32(x):
    """Rounded to float32, with its overflow and underflow."""
    return x.float().double()


def _exp(x):
    return _f32(torch.exp(x))


def _kernel(case, inputs, ghost_rows=-INF, *, other=-INF, step=None, stride=None, **steps):
    """Tile by tile, each of ``steps`` replaced by a function of the tile t; ``ghost_rows`` is what rows past the end hold."""
    m, n, block_m, block_n = case["m"], case["n"], case["block_m"], case["block_n"]
    flat = inputs["x"].flatten()
    lse = torch.full((m,), UNWRITTEN, dtype=torch.float64)
    for program in range(math.ceil(m / block_m)):
        i = program * (block_m if step is None else step) + torch.arange(block_m)
        t = SimpleNamespace(case=case, row=i[:, None], column=torch.arange(block_n)[None, :])
        read = steps["reads"](t) & (t.row < m) if "reads" in steps else (t.row < m) & (t.column < n)
        address = t.row * (stride or n) + t.column
        behind = read & (address >= flat.numel())
        if case["device"] == "cpu" and bool(behind.any()):
            return _LOAD_OUTSIDE
        if bool(behind.any()):
            return {}  # a GPU's maximum passes over NaN: what comes of it depends on how a kernel is written
        t.x = torch.where(read, flat[address.clamp(max=flat.numel() - 1)], other)
        t.x = torch.where(t.row < m, t.x, torch.where(t.column < n, ghost_rows, other))
        t.m = steps.get("maximum", _guarded)(t)
        t.l = _f32(steps.get("weights", _weights)(t).sum(1))
        t.lse = _f32(steps.get("result", _result)(t))
        lse[i[i < m]] = t.lse[i < m]
    return {"lse": lse}


def _top(t):
    return t.x.amax(1)


def _guarded(t):
    return torch.where(_top(t) == -INF, 0.0, _top(t))


def _weights(t):
    return _exp(t.x - t.m[:, None])


def _result(t):
    return t.m + torch.log(t.l)


def ghost_columns_zero(case, inputs):
    """Columns past the end of a row take part with a score of 0, and add to the sum.

    exp(0) is 1. What has a ghost column to read as, for exp to make 0 of it?
    """
    return _kernel(case, inputs, other=0.0)


def finite_fill_too_small(case, inputs):
    """Columns past the end read as -10000: a row that is -inf throughout gets the log-sum-exp of its ghosts.

    No finite score is small enough for every row. Which number is below all of them?
    """
    return _kernel(case, inputs, other=-1e4)


def no_other(case, inputs):
    """Columns past the end of a row make NaN of it: what they read as is undefined, NaN or infinite.

    What a ghost column reads as goes into the maximum and the sum of its row. See what tl.load takes besides the mask, and
    which number does no harm there.
    """
    return _kernel(case, inputs, NAN, other=NAN)


def columns_not_masked(case, inputs):
    """Columns past the end of a row are read: what lies there is the beginning of the next row.

    The mask of a tile has two sides. Which of them keeps the columns within N?
    """
    return _kernel(case, inputs, reads=lambda t: t.column >= 0)


def rows_not_masked(case, inputs):
    """The last tile loads rows of x that do not exist.

    The mask of a tile has two sides. Which of them keeps the rows within M?
    """
    if case["device"] == "cuda":
        return {}  # such rows are stored nowhere
    return _LOAD_OUTSIDE if case["m"] % case["block_m"] else _kernel(case, inputs)


def row_stride_is_block(case, inputs):
    """Rows of x are taken to lie BLOCK_N elements apart.

    In memory a row follows the one before it without a gap. How many elements does a row of x have?
    """
    return _kernel(case, inputs, stride=case["block_n"])


def no_max_subtraction(case, inputs):
    """exp is taken of the scores as they are: it overflows above 88, and far below 0 the sum is 0.

    log(exp(x - m) + ...) is the log-sum-exp less m. Which m keeps exp at 1 and below, and where does it come back in?
    """
    return _kernel(case, inputs, maximum=lambda t: 0.0 * torch.ones(len(t.x)))


def scores_clamped(case, inputs):
    """Scores are cut off at 80 so that exp does not overflow: what lies above is lost.

    The log-sum-exp of a single score is that score, 200 too. Look for another way to keep exp small.
    """
    return _kernel(
        case, inputs, maximum=lambda t: 0.0 * torch.ones(len(t.x)), weights=lambda t: _exp(t.x.clamp(max=80.0))
    )


def maximum_not_added(case, inputs):
    """The maximum that was subtracted is not added again: the result does not depend on where a row lies.

    A row with the single score 3 has a log-sum-exp of 3. What becomes of m after the sum?
    """
    return _kernel(case, inputs, result=lambda t: torch.log(t.l))


def log_forgotten(case, inputs):
    """The sum of the weights is added to the maximum, and not its log.

    A row with the single score 3 has a log-sum-exp of 3. What is l there, and what is added to m?
    """
    return _kernel(case, inputs, result=lambda t: t.m + t.l)


def log2_of_the_sum(case, inputs):
    """The log of the sum is taken in base 2, and the maximum is in natural units.

    log2(l) is log(l) times a constant. In which units is the result asked for?
    """
    return _kernel(case, inputs, result=lambda t: t.m + torch.log2(t.l))


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 where powers of e belong: small scores count for too much.

    exp(x) is exp2 of something. What has x to be multiplied by?
    """
    return _kernel(case, inputs, weights=lambda t: _f32(torch.exp2(t.x - t.m[:, None])))


def maximum_alone(case, inputs):
    """What comes back is the largest score of each row.

    Two scores of 0 have a log-sum-exp of log 2. What do the scores below the largest add?
    """
    return _kernel(case, inputs, result=_top)


def log_of_the_mean(case, inputs):
    """The sum is divided by the number of columns before its log is taken.

    Two scores of 0 have a log-sum-exp of log 2. What is l there?
    """
    return _kernel(case, inputs, result=lambda t: t.m + torch.log(t.l / case["n"]))


def maximum_of_the_tile(case, inputs):
    """One maximum is subtracted from the whole tile: rows that lie far below it have nothing left.

    Look at the shape of the maximum. How many numbers does a tile of BLOCK_M rows need?
    """
    return _kernel(case, inputs, maximum=lambda t: t.x.max().expand(len(t.x)))


def measured_from_zero(case, inputs):
    """What is subtracted is never below 0: a row whose scores all lie far below it has nothing left after exp.

    Look at what stands in for the maximum where there is none. Does it do so for rows that are merely low, too?
    """
    return _kernel(case, inputs, maximum=lambda t: _top(t).clamp(min=0.0))


def dead_row_nan(case, inputs):
    """A row that is -inf throughout comes out as NaN: its maximum is -inf, and (-inf) - (-inf) is NaN.

    What could be subtracted from such a row instead, so that its weights are 0?
    """
    return _kernel(case, inputs, maximum=_top)


def dead_row_zero(case, inputs):
    """A row that is -inf throughout comes out as 0, which is the log of 1.

    The log of an empty sum is -inf. Work out what m and l are for such a row, and whether l needs a stand-in at all.
    """
    return _kernel(case, inputs, result=lambda t: t.m + torch.log(torch.where(t.l == 0, 1.0, t.l)))


def only_the_first_tile(case, inputs):
    """Only the rows of the first tile are written.

    Work out offs_m for the second program by hand. Which rows does it own?
    """
    return _kernel(case, inputs, step=0)


def store_without_mask(case, inputs):
    """The store goes beyond lse.

    The last tile may have rows that x does not have. What keeps them from being stored?
    """
    return _STORE_OUTSIDE if case["m"] % case["block_m"] else _kernel(case, inputs)


MISTAKES = (
    ghost_columns_zero,
    finite_fill_too_small,
    no_other,
    columns_not_masked,
    rows_not_masked,
    row_stride_is_block,
    no_max_subtraction,
    scores_clamped,
    maximum_not_added,
    log_forgotten,
    log2_of_the_sum,
    exp2_without_log2e,
    maximum_alone,
    log_of_the_mean,
    maximum_of_the_tile,
    measured_from_zero,
    dead_row_nan,
    dead_row_zero,
    only_the_first_tile,
    store_without_mask,
)

SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of x are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
    (
        "rows_meet_columns",
        "compile-error",
        r"shapes meet here: (?:32 against 16|16 against 32) along (?:axis|dimension) [01]\.",
        "Two values meet here of which one is as long as a tile has rows, and the other as a tile has columns.\n\n"
        "Rows run down the tile and columns across it. Where a vector with one number for each row meets them, it has to be "
        "a column, by [:, None]; and a maximum or a sum along the row leaves one number for each row.",
    ),
)
