"""What known wrong load_row_tile kernels give back, for naming the mistake in one that fails.

A model reads the memory of the matrix as its kernel does. What lies behind its end is NaN on a GPU, and on CPU a load
there is refused.
"""

import torch

_NAN, _INF = float("nan"), float("inf")
_OUTSIDE = r"loads outside x\b"
_MISFIT = r"Two tiles of different shapes meet here"


class _Tile:
    """One tile on its way: the indices as a column and a row, the strides, and what is real."""

    def __init__(self, case, pid):
        self.pid, self.m, self.n = pid, case["m"], case["n"]
        self.block_m, self.block_n = case["block_m"], case["block_n"]
        self.place = torch.arange(self.block_m)[:, None]
        self.row = pid * self.block_m + self.place
        self.column = torch.arange(self.block_n)[None, :]
        step = 1 + case["gap_n"]
        across = step * (self.m if case["columns_first"] else self.n) + case["gap_m"]
        self.stride_m, self.stride_n = (step, across) if case["columns_first"] else (across, step)


def _rows(t):
    return t.row


def _address(t, row):
    return row * t.stride_m + t.column * t.stride_n


def _real(t, row):
    return (row < t.m) & (t.column < t.n)


def _load(case, inputs, *, rows=_rows, address=_address, live=_real, other=0.0):
    """All tiles, with some parts of the load replaced; ``live`` and ``address`` are given the rows."""
    memory, tiles = inputs["x"], []
    for pid in range(-(-case["m"] // case["block_m"])):
        t = _Tile(case, pid)
        row = rows(t)
        where, there = torch.broadcast_tensors(address(t, row), live(t, row))
        behind = there & (where >= len(memory))
        if case["device"] == "cpu" and bool(behind.any()):
            return _OUTSIDE
        tile = torch.where(there, memory[where.clamp(max=len(memory) - 1)], other)
        tiles.append(torch.where(behind, _NAN, tile))
    return {"tile": torch.stack(tiles)}


def no_mask(case, inputs):
    """Nothing is masked: ghost rows and ghost columns read whatever lies there in memory.

    A tile has a fixed size and the matrix has any. Which rows and which columns of the tile exist?
    """
    return _load(case, inputs, live=lambda t, row: (row >= 0) & (t.column >= 0))


def ghost_columns_read(case, inputs):
    """Ghost rows are masked and ghost columns are not: behind the end of a row they read what follows in memory.

    An element is real if its row and its column are. Which of the two does the mask ask about?
    """
    return _load(case, inputs, live=lambda t, row: row < t.m)


def ghost_rows_read(case, inputs):
    """Ghost columns are masked and ghost rows are not: they read what lies behind the matrix.

    An element is real if its row and its column are. Which of the two does the mask ask about?
    """
    return _load(case, inputs, live=lambda t, row: t.column < t.n)


def or_for_and(case, inputs):
    """An element is read if its row or its column exists, so ghosts are read wherever one of the two is real.

    Look at how the two conditions are joined. What has to hold for an element to exist?
    """
    return _load(case, inputs, live=lambda t, row: (row < t.m) | (t.column < t.n))


def limits_swapped(case, inputs):
    """Rows are held to the number of columns, and columns to the number of rows.

    The matrix is (M, N). Which of the two limits which index?
    """
    return _load(case, inputs, live=lambda t, row: (row < t.n) & (t.column < t.m))


def one_row_too_many(case, inputs):
    """The first ghost row, at index M, passes for real.

    Indices start at 0. What is the last real row, and does the comparison stop there?
    """
    return _load(case, inputs, live=lambda t, row: (row <= t.m) & (t.column < t.n))


def one_column_too_many(case, inputs):
    """The first ghost column, at index N, passes for real.

    Indices start at 0. What is the last real column, and does the comparison stop there?
    """
    return _load(case, inputs, live=lambda t, row: (row < t.m) & (t.column <= t.n))


def no_other(case, inputs):
    """Ghosts are masked, but nothing says what a masked lane reads as: it is undefined.

    The docstring asks for exactly 0 there. See what tl.load takes besides the mask.
    """
    return _load(case, inputs, other=_NAN)


def ghosts_minus_inf(case, inputs):
    """Ghosts are filled with -inf, which belongs to the scores of a softmax.

    The docstring says what a ghost reads as here.
    """
    return _load(case, inputs, other=-_INF)


def row_stride_is_n(case, inputs):
    """Rows are taken to lie N elements apart, whatever stride_m says.

    That is so in a matrix of its own, and not in a slice of a wider one. What are the strides for?
    """
    return _load(case, inputs, address=lambda t, row: row * t.n + t.column * t.stride_n)


def columns_side_by_side(case, inputs):
    """Columns are taken to lie side by side, whatever stride_n says.

    Work out where element (0, 1) lies if stride_n is 3.
    """
    return _load(case, inputs, address=lambda t, row: row * t.stride_m + t.column)


def strides_swapped(case, inputs):
    """Rows are stride_n apart and columns stride_m: the two strides have changed places.

    stride_m leads from one row to the next. Which index is multiplied by it?
    """
    return _load(case, inputs, address=lambda t, row: row * t.stride_n + t.column * t.stride_m)


def strides_ignored(case, inputs):
    """The matrix is read as if its rows were N long and lay one after another: neither stride is used.

    The same formula has to serve a slice and a transpose. Which two numbers say how the matrix lies in memory?
    """
    return _load(case, inputs, address=lambda t, row: row * t.n + t.column)


def first_tile_for_all(case, inputs):
    """Every tile holds the rows of the first one.

    Which argument tells the programs from one another, and where does it come in?
    """
    return _load(case, inputs, rows=lambda t: t.place)


def program_for_pid(case, inputs):
    """Each program loads the tile that has the program's own number, and the argument pid is not used.

    The caller decides which tile it wants. Where does the function get that from?
    """
    found = _load(case, inputs)
    return {"tile": found["tile"].flip(0)} if case.get("backwards") else found


def tiles_overlap(case, inputs):
    """Each tile begins one row after the one before it, not BLOCK_M rows.

    Work out by hand which rows tile 1 holds, with BLOCK_M = 16.
    """
    return _load(case, inputs, rows=lambda t: t.pid + t.place)


def tile_height_is_block_n(case, inputs):
    """Tiles begin BLOCK_N rows apart, and are BLOCK_M rows high.

    Which of the two sizes belongs to rows? They agree in a square tile only.
    """
    return _load(case, inputs, rows=lambda t: t.pid * t.block_n + t.place)


def rows_dealt_out(case, inputs):
    """Rows are dealt out to the programs in turn, like cards.

    Each program owns rows that follow one another. Which are those of tile 0?
    """
    tiles = -(-case["m"] // case["block_m"])
    return _load(case, inputs, rows=lambda t: t.pid + t.place * tiles)


def tile_on_its_side(case, inputs):
    """The tile comes back on its side: rows run across it and columns down.

    The docstring names the shape that is returned. Which of the two vectors of indices is made a column?
    """
    if case["block_m"] != case["block_n"]:
        return _MISFIT
    found = _load(case, inputs)
    return {"tile": found["tile"].transpose(1, 2)}


MISTAKES = (
    no_mask,
    ghost_columns_read,
    ghost_rows_read,
    or_for_and,
    limits_swapped,
    one_row_too_many,
    one_column_too_many,
    no_other,
    ghosts_minus_inf,
    row_stride_is_n,
    columns_side_by_side,
    strides_swapped,
    strides_ignored,
    first_tile_for_all,
    program_for_pid,
    tiles_overlap,
    tile_height_is_block_n,
    rows_dealt_out,
    tile_on_its_side,
)

SIGNS = (
    (
        "reads_all_keeps_a_tile",
        "fail",
        r"\belements of x are loaded in all",
        "More of x is loaded than belongs to the tile.\n\n"
        "Reading is what costs time. Where do the tile's rows begin, and could the load begin and end there?",
    ),
    (
        "one_vector_for_both",
        "compile-error",
        r"shapes meet here: (?:32 against 16|16 against 32) along (?:axis|dimension) 0\.(?!.*the harness noticed)",
        "Two values meet here of which one is as long as a tile has rows, and the other as it has columns.\n\n"
        "One index runs down the tile and the other across it: a column meets a row, and a tile comes out. Which of the "
        "two gets the [:, None]?",
    ),
)
