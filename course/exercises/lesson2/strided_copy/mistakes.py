"""What known wrong strided_copy kernels store, for naming the mistake in one that fails.

A model goes through the programs one by one, in the order of the interpreter. What lies behind the end of x stops a
kernel on CPU; on a GPU it reads as NaN there, and a store behind the end of y is noticed afterwards. Where programs
store different values to one place, a GPU's result cannot be known.
"""

import torch

_NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
# What a lane that is masked off without `other`, and what lies behind the end on a GPU, read as in whole numbers: the
# first is also what an output is filled with before the kernel runs.
_UNDEFINED = {"int32": UNWRITTEN}
_BEHIND = {"int32": float(0x3C3C3C3C)}
_MISFIT = r"Two tiles of different shapes meet here"


class _Tile:
    """One tile on its way: its indices as a column and a row, what exists of it, and the strides."""

    def __init__(self, case, pid_m, pid_n, start=None):
        self.case, self.m, self.n, self.gap = case, case["m"], case["n"], case["gap"]
        block_m, block_n = case["block_m"], case["block_n"]
        first_m, first_n = start(case, pid_m, pid_n) if start else (pid_m * block_m, pid_n * block_n)
        self.i = first_m + torch.arange(block_m)[:, None]
        self.j = first_n + torch.arange(block_n)[None, :]
        self.exists = (self.i < self.m) & (self.j < self.n)
        step_m, step_n = case["step_m"], case["step_n"]
        row_major = (step_m * step_n * self.n, step_n)
        self.stride_xm, self.stride_xn = (step_m, step_n * step_m * self.m) if case["columns_first"] else row_major
        self.stride_ym = case.get("step_y", 1)
        self.stride_yn = self.m * self.stride_ym + self.gap


def _source(t):
    return t.i * t.stride_xm + t.j * t.stride_xn


def _target(t):
    return t.i * t.stride_ym + t.j * t.stride_yn


def _exists(t):
    return t.exists


def _all(t):
    return torch.ones_like(t.exists)


def _kernel(
    case, inputs, *, start=None, source=_source, target=_target, loads=_exists, stores=_exists, turned=False, other=None
):
    """The kernel with some parts replaced; ``turned`` is whether the tile is transposed before it is stored.

    ``other`` is what a masked lane of the load reads as, None where nothing is said of it.
    """
    if case.get("twice"):
        return {}
    x, gap, block_m, block_n = inputs["x"].double(), case["gap"], case["block_m"], case["block_n"]
    rows, step = case["n"] + case.get("spare", 0), case.get("step_y", 1)
    width = case["m"] * step + gap
    y = torch.full((rows * width,), UNWRITTEN, dtype=torch.float64)
    undefined = _UNDEFINED.get(case["dtype"], _NAN) if other is None else other
    clash = False
    for pid_m in range(-(-case["m"] // block_m)):
        for pid_n in range(-(-case["n"] // block_n)):
            t = _Tile(case, pid_m, pid_n, start)
            live, kept, place = loads(t), stores(t), source(t)
            behind = live & (place >= len(x))
            if case["device"] == "cpu" and bool(behind.any()):
                return r"loads (?:outside x\b|far outside)"
            tile = torch.where(live, x[place.clamp(max=len(x) - 1)], undefined)
            tile = torch.where(behind, _BEHIND.get(case["dtype"], _NAN), tile)
            guessed = (~live) & (other is None) | behind
            if turned:
                tile, guessed = tile.T, guessed.T
            if tile.shape != kept.shape:
                return _MISFIT
            to, values = target(t)[kept], tile[kept]
            past = to >= len(y)
            if case["device"] == "cuda" and bool((guessed[kept] & ~past).any()):
                return {}
            if bool(past.any()):
                if case["device"] == "cuda" and bool((behind.T if turned else behind)[kept][past].all()):
                    return {}  # what lies behind x was put behind y, where it lies as well
                return r"(?:stores (?:outside y\b|far outside)|wrote past the end of y\b)"
            clash = clash or bool(((y[to] != UNWRITTEN) & (y[to] != values)).any()) or len(to.unique()) < len(to)
            y[to] = values
    if clash and case["device"] == "cuda":
        return {}
    y = y.reshape(rows, width)
    if width == case["m"]:
        return {"y": y}
    own = torch.zeros(width, dtype=torch.bool)
    own[: width - gap : step] = True
    unwritten = y == UNWRITTEN
    return {"y": torch.where(unwritten, _NAN, y)[:, own], "between": unwritten[:, ~own]}


def not_transposed(case, inputs):
    """The tile is stored with the strides of y the wrong way round, as if y were no transpose.

    stride_ym leads from one i to the next. Which index does each of the two strides of y belong to?
    """
    return _kernel(case, inputs, target=lambda t: t.i * t.stride_yn + t.j * t.stride_ym)


def strides_of_x_for_y(case, inputs):
    """y is written with the strides of x: it gets a copy of x's memory, not its transpose.

    Each matrix has two strides of its own. Follow the four of them through the kernel.
    """
    return _kernel(case, inputs, target=_source)


def rows_of_x_n_apart(case, inputs):
    """x is read as if its rows were N long and lay one after another: its strides are not used.

    That is so in a matrix of its own, and not in a slice of a larger one. What are stride_xm and stride_xn for?
    """
    return _kernel(case, inputs, source=lambda t: t.i * t.n + t.j)


def column_stride_of_x_ignored(case, inputs):
    """Columns of x are taken to lie side by side, whatever stride_xn says.

    Work out where element (0, 1) of x lies if stride_xn is 3.
    """
    return _kernel(case, inputs, source=lambda t: t.i * t.stride_xm + t.j)


def rows_of_y_m_apart(case, inputs):
    """y is written as if its rows were M long and lay one after another: its strides are not used.

    y may be part of a wider matrix. What are stride_yn and stride_ym for?
    """
    return _kernel(case, inputs, target=lambda t: t.j * t.m + t.i)


def column_stride_of_y_ignored(case, inputs):
    """The elements of a row of y are taken to lie side by side, whatever stride_ym says.

    Work out where y[0, 1] lies if stride_ym is 3.
    """
    return _kernel(case, inputs, target=lambda t: t.j * t.stride_yn + t.i)


def x_strides_swapped(case, inputs):
    """x is read with its two strides in each other's place, which transposes it once more.

    stride_xm leads from one i to the next. Which index is multiplied by it?
    """
    return _kernel(case, inputs, source=lambda t: t.i * t.stride_xn + t.j * t.stride_xm)


def no_mask(case, inputs):
    """Nothing is masked: where a tile reaches beyond the matrix, it is read and written there too.

    Which i and which j of a tile exist, if M is 37 and BLOCK_M is 16?
    """
    return _kernel(case, inputs, loads=_all, stores=_all)


def load_without_mask(case, inputs):
    """The store is masked and the load is not: where a tile reaches beyond x, other memory is read.

    Compare what the store is given with what the load is given.
    """
    return _kernel(case, inputs, loads=_all)


def store_without_mask(case, inputs):
    """The store goes too far: where a tile reaches beyond the matrix, y is overwritten.

    Compare what the store is given with what exists. Where does (i, j) lie in y if i is M?
    """
    return _kernel(case, inputs, stores=_all)


def store_without_mask_of_zeros(case, inputs):
    return _kernel(case, inputs, stores=_all, other=0.0)


store_without_mask_of_zeros.__doc__ = store_without_mask.__doc__


def limits_of_the_store_swapped(case, inputs):
    """The store is masked by (N, M), as if i ran to N and j to M.

    In y the two indices change places; their limits do not. How far does i run, and how far j?
    """
    return _kernel(case, inputs, stores=lambda t: (t.i < t.n) & (t.j < t.m))


def only_rows_masked(case, inputs):
    """Only i is held to its limit: columns of x that do not exist are copied as well.

    A pair exists if its i and its j do. Which of the two does the mask ask about?
    """

    def rows(t):
        return (t.i < t.m).expand(t.exists.shape)

    return _kernel(case, inputs, loads=rows, stores=rows)


def only_columns_masked(case, inputs):
    """Only j is held to its limit: rows of x that do not exist are copied as well.

    A pair exists if its i and its j do. Which of the two does the mask ask about?
    """

    def columns(t):
        return (t.j < t.n).expand(t.exists.shape)

    return _kernel(case, inputs, loads=columns, stores=columns)


def program_ids_swapped(case, inputs):
    """The two program numbers have changed places: tiles are counted along N by the one that counts along M.

    The docstring says what each of them counts. It goes unnoticed while there are as many tiles one way as the other.
    """
    return _kernel(case, inputs, start=lambda case, p, q: (q * case["block_m"], p * case["block_n"]))


def block_m_both_ways(case, inputs):
    """Tiles begin BLOCK_M apart along N as well, and are BLOCK_N wide.

    Which of the two sizes belongs to j? They agree in a square tile only.
    """
    return _kernel(case, inputs, start=lambda case, p, q: (p * case["block_m"], q * case["block_m"]))


def first_tile_only(case, inputs):
    """Every program copies the first tile, and the others are never written.

    Where do the two program numbers come in?
    """
    return _kernel(case, inputs, start=lambda case, p, q: (0, 0))


def turned_twice(case, inputs):
    """The tile is transposed, and so is the place that each of its elements goes to: within a tile nothing is turned.

    Say of one element of the tile, (0, 1), where it comes from and where it goes.
    """
    return _kernel(case, inputs, turned=True)


MISTAKES = (
    not_transposed,
    strides_of_x_for_y,
    rows_of_x_n_apart,
    column_stride_of_x_ignored,
    rows_of_y_m_apart,
    column_stride_of_y_ignored,
    x_strides_swapped,
    no_mask,
    load_without_mask,
    store_without_mask,
    store_without_mask_of_zeros,
    limits_of_the_store_swapped,
    only_rows_masked,
    only_columns_masked,
    program_ids_swapped,
    block_m_both_ways,
    first_tile_only,
    turned_twice,
)

ALIASES = {"store_without_mask_of_zeros": "store_without_mask"}

# Where stores go too far, a GPU tells no more than that.
GPU_ALIASES = {
    "no_mask": "store_without_mask",
    "only_columns_masked": "store_without_mask",
    "only_rows_masked": "store_without_mask",
}

# What outputs cannot tell: how often something is read.
SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of x are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
)
