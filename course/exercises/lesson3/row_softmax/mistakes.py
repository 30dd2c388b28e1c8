"""What wrong kernels for the softmax of rows store: a torch model of each known mistake, with words for the student."""

import functools
import math
from types import SimpleNamespace

import torch

NAN, INF = float("nan"), float("inf")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_STORE_OUTSIDE = r"(?:stores outside|wrote past the end of) y\b"
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
    y = torch.full((m, n), UNWRITTEN, dtype=torch.float64)
    for program in range(math.ceil(m / block_m)):
        i = program * (block_m if step is None else step) + torch.arange(block_m)
        t = SimpleNamespace(case=case, row=i[:, None], column=torch.arange(block_n)[None, :])
        t.real = (t.row < m) & (t.column < n)
        read = steps["reads"](t) & (t.row < m) if "reads" in steps else t.real
        address = t.row * (stride or n) + t.column
        behind = read & (address >= flat.numel())
        if case["device"] == "cpu" and bool(behind.any()):
            return _LOAD_OUTSIDE
        t.x = torch.where(read, flat[address.clamp(max=flat.numel() - 1)], other)
        t.x = torch.where(behind, NAN, t.x)
        t.x = torch.where(t.row < m, t.x, torch.where(t.column < n, ghost_rows, other))
        t.m = steps.get("maximum", _maximum)(t)
        t.x = steps.get("mask", _as_it_is)(t)
        t.p = steps.get("weights", _weights)(t)
        t.l = _f32(steps.get("total", _total)(t))
        result = _f32(t.p / t.l).expand(block_m, block_n)
        here = (i < m) & (i >= 0)
        y[i[here]] = result[here][:, :n]
    return {"y": y}


def _maximum(t):
    return t.x.amax(1, keepdim=True)


def _as_it_is(t):
    return t.x


def _weights(t):
    return _exp(t.x - t.m)


def _total(t):
    return t.p.sum(1, keepdim=True)


def ghost_columns_zero(case, inputs):
    """Columns past the end of a row take part with a score of 0, and take weight from those that exist.

    exp(0) is 1. What has a ghost column to read as, for exp to make 0 of it?
    """
    return _kernel(case, inputs, other=0.0)


def finite_fill_too_small(case, inputs):
    """Columns past the end read as -10000: where all real scores lie below that, the ghosts take all the weight.

    No finite score is small enough for every row. Which number is below all of them?
    """
    return _kernel(case, inputs, other=-1e4)


def no_other(case, inputs):
    """Columns past the end of a row make NaN of it: what they read as is undefined, NaN or infinite.

    What a ghost column reads as goes into the maximum and the sum of its row. See what tl.load takes besides the mask, and
    which number does no harm there.
    """
    return _kernel(case, inputs, other=NAN, ghost_rows=NAN)


def one_column_too_many(case, inputs):
    """One column too many is read: behind the end of a row lies the first score of the next one.

    Columns are counted from 0. What is the index of the last one, and does the comparison stop there?
    """
    return _kernel(case, inputs, reads=lambda t: t.column <= t.case["n"])


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


def rows_block_apart(case, inputs):
    """The rows of x and of y are taken to lie BLOCK_N elements apart.

    In memory a row follows the one before it without a gap. How many elements does a row have?
    """
    found = _kernel(case, inputs, stride=case["block_n"])
    stays = case["n"] == case["block_n"] or case["m"] == 1
    return found if stays or isinstance(found, str) else _STORE_OUTSIDE


def minimum_for_maximum(case, inputs):
    """The smallest number of a row is subtracted, not the largest: beside a -inf or a range of 88 that overflows.

    Which number of a row keeps exp at 1 and below?
    """
    return _kernel(case, inputs, maximum=lambda t: t.x.amin(1, keepdim=True))


def no_max_subtraction(case, inputs):
    """exp is taken of the scores as they are: it overflows above 88, and far below 0 all weights vanish.

    Subtracting one number from a whole row changes nothing in its softmax. Which number keeps exp at 1 and below?
    """
    return _kernel(case, inputs, weights=lambda t: _exp(t.x))


def scores_clamped(case, inputs):
    """Scores are cut off at 80 so that exp does not overflow: all that lie above it get the same weight.

    Two scores of 200 and 300: what weights should they have? Look for another way to keep exp small.
    """
    return _kernel(case, inputs, weights=lambda t: _exp(t.x.clamp(max=80.0)))


def maximum_before_mask(case, inputs):
    """Columns past the end go into the maximum with a 0: a row that lies far below 0 has nothing left after exp.

    Compare the line that takes the maximum with the line that masks. Which comes first?
    """
    ghosts = torch.arange(case["block_n"])[None, :] >= case["n"]

    def maximum(t):
        return torch.where(ghosts, 0.0, t.x).amax(1, keepdim=True)

    return _kernel(case, inputs, maximum=maximum)


def maximum_of_the_tile(case, inputs, ghost_rows=-INF):
    """One maximum is subtracted from the whole tile: rows that lie far below it vanish.

    Look at the shape of the maximum. How many numbers does a tile of BLOCK_M rows need?
    """
    return _kernel(case, inputs, ghost_rows, maximum=lambda t: t.x.max().expand(len(t.x), 1))


def sum_of_the_tile(case, inputs, ghost_rows=-INF):
    """All rows of a tile are divided by one sum, that of the whole tile.

    Look at the shape of the sum. How many numbers does a tile of BLOCK_M rows need?
    """
    return _kernel(case, inputs, ghost_rows, total=lambda t: t.p.sum().expand(len(t.p), 1))


def softmax_of_columns(case, inputs, ghost_rows=-INF):
    """The weights of each column add up to 1, where those of each row should.

    x is (BLOCK_M, BLOCK_N). Along which axis does a row run, and which one has to go in the maximum and in the sum?
    """
    return _kernel(
        case,
        inputs,
        ghost_rows,
        maximum=lambda t: t.x.amax(0, keepdim=True),
        total=lambda t: t.p.sum(0, keepdim=True),
    )


def division_forgotten(case, inputs):
    """The weights of a row do not add up to 1: they are not divided by their sum.

    The largest weight of each row is 1 here. What is still to come?
    """
    return _kernel(case, inputs, total=lambda t: torch.ones(len(t.p), 1).double())


def divided_by_the_length(case, inputs):
    """The weights of a row are divided by the number of columns instead of their sum.

    What do the weights of a row add up to before they are divided?
    """
    return _kernel(case, inputs, total=lambda t: torch.full((len(t.p), 1), float(case["n"])).double())


def exp2_without_log2e(case, inputs):
    """Weights are powers of 2 where powers of e belong: they come out too even.

    exp(x) is exp2 of something. What has x to be multiplied by?
    """
    return _kernel(case, inputs, weights=lambda t: _f32(torch.exp2(t.x - t.m)))


def only_the_first_tile(case, inputs):
    """Only the rows of the first tile are written.

    Work out offs_m for the second program by hand. Which rows does it own?
    """
    return _kernel(case, inputs, step=0)


def store_without_mask(case, inputs):
    """The store goes beyond y.

    A tile that is not full has elements that y does not have. What keeps them from being stored?
    """
    ragged = case["m"] % case["block_m"] or case["n"] < case["block_n"]
    return _STORE_OUTSIDE if ragged else _kernel(case, inputs)


def _with_ghost_rows_zero(model):
    """The same mistake where rows past the end read as 0, and not as -inf: they meet the others here."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, 0.0)

    variant.__name__ = f"{model.__name__}_ghost_rows_zero"
    return variant


_VARIANTS = tuple(_with_ghost_rows_zero(model) for model in (maximum_of_the_tile, sum_of_the_tile, softmax_of_columns))

MISTAKES = (
    ghost_columns_zero,
    finite_fill_too_small,
    no_other,
    one_column_too_many,
    columns_not_masked,
    rows_not_masked,
    row_stride_is_block,
    rows_block_apart,
    minimum_for_maximum,
    no_max_subtraction,
    scores_clamped,
    maximum_before_mask,
    maximum_of_the_tile,
    sum_of_the_tile,
    softmax_of_columns,
    division_forgotten,
    divided_by_the_length,
    exp2_without_log2e,
    only_the_first_tile,
    store_without_mask,
    *_VARIANTS,
)

ALIASES = {model.__name__: model.__name__.removesuffix("_ghost_rows_zero") for model in _VARIANTS}

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
