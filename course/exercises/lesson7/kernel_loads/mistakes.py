"""What known wrong load_tiles kernels give back, for naming the mistake in one that fails.

A model reads the flat memory behind q, k and v as its kernel does. What lies behind their ends is NaN on a GPU, and on
CPU a load there is refused. Where the kernel could not come to an end, for that reason or because two tiles do not fit,
the model gives +inf, which no kernel makes of finite inputs.
"""

import inspect

import torch

_NAN = float("nan")
_INF = float("inf")


class _NoOutputError(Exception):
    """The kernel does not come to its end."""


def _read(case, x, address, live, other=0.0):
    """tl.load(x_ptr + address, mask=live, other=other)."""
    try:
        live = live.expand(address.shape)
    except RuntimeError as error:
        raise _NoOutputError from error
    behind = live & (address >= x.numel())
    if bool(behind.any()) and case["device"] == "cpu":
        raise _NoOutputError
    read = torch.where(live, x.flatten()[address.clamp(max=x.numel() - 1)], other)
    return torch.where(behind, _NAN, read)


def _rows(case, x, rows, live=None, other=0.0):
    """The right load of a tile, or one with another mask or another filling."""
    live = rows[:, None] < case["nseq"] if live is None else live
    return _read(case, x, rows[:, None] * case["head"] + torch.arange(case["head"]), live, other)


def _pairs(case, inputs, q=None, k=None, v=None):
    """All tiles of all pairs (query tile, key tile); q, k and v load a tile from offs_m and offs_n, None is right."""
    block_m, block_n, head = case["block_m"], case["block_n"], case["head"]
    tiles_m, tiles_n = -(-case["nseq"] // block_m), -(-case["nseq"] // block_n)
    loads = {
        "q": q or (lambda offs_m, offs_n: _rows(case, inputs["q"], offs_m)),
        "k": k or (lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n)),
        "v": v or (lambda offs_m, offs_n: _rows(case, inputs["v"], offs_n)),
    }
    tiles = {
        name: torch.full((tiles_m, tiles_n, block_m if name == "q" else block_n, head), _INF, dtype=torch.float64)
        for name in loads
    }
    found = {name: x.clone() for name, x in tiles.items()}
    try:
        for i in range(tiles_m):
            for j in range(tiles_n):
                offs_m, offs_n = i * block_m + torch.arange(block_m), j * block_n + torch.arange(block_n)
                for name, load in loads.items():
                    tile = load(offs_m, offs_n)
                    if tile.shape != found[name].shape[2:]:
                        raise _NoOutputError
                    found[name][i, j] = tile
    except _NoOutputError:
        return tiles
    return found


def _every(case, inputs, load):
    """The same mistake in all three loads: ``load`` makes a tile from a tensor and its rows."""
    return _pairs(
        case,
        inputs,
        q=lambda offs_m, offs_n: load(inputs["q"], offs_m),
        k=lambda offs_m, offs_n: load(inputs["k"], offs_n),
        v=lambda offs_m, offs_n: load(inputs["v"], offs_n),
    )


def no_mask(case, inputs):
    """The loads have no mask that stops at NSEQ: ghost rows read the memory that lies behind the tensor.

    Which rows of a tile exist? Find what limits each of the three loads, and try NSEQ = 20 with a tile of 32 on paper.
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, torch.tensor(True)))


def query_load_without_mask(case, inputs):
    """The loads of k and v stop at NSEQ and the load of q does not: the last query tile reads beyond its tensor.

    Compare the load of q with the other two. What does offs_m hold in the last tile?
    """
    return _pairs(case, inputs, q=lambda offs_m, offs_n: _rows(case, inputs["q"], offs_m, torch.tensor(True)))


def mask_along_columns(case, inputs):
    """The mask cuts columns off instead of rows: the index along the head is compared with NSEQ.

    NSEQ counts rows. Which of the offs_ vectors holds rows, and along which axis of the tile does it run?
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, torch.arange(case["head"]) < case["nseq"]))


def mask_inverted(case, inputs):
    """The mask is the wrong way round: real rows come back as 0, and ghost rows are read.

    A lane is loaded where the mask is true. For which rows is it true here?
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] >= case["nseq"]))


def one_row_too_many(case, inputs):
    """The mask lets one row too many through: the first ghost row, NSEQ, is read as well.

    Rows are counted from 0. What is the index of the last one, and does the comparison stop there?
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] <= case["nseq"]))


def last_row_dropped(case, inputs):
    """The mask stops one row too early: the last real row comes back as 0.

    Rows are counted from 0. Check the comparison for a sequence of a single row.
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] < case["nseq"] - 1))


def flat_mask(case, inputs):
    """The mask compares flat offsets with NSEQ: only the first NSEQ elements are read, not the first NSEQ rows.

    The offset of an element is its row times the row length plus its column. Which part of it has NSEQ as its limit?
    """

    def load(x, rows):
        address = rows[:, None] * case["head"] + torch.arange(case["head"])
        return _read(case, x, address, address < case["nseq"])

    return _every(case, inputs, load)


def no_other(case, inputs):
    """The loads are masked, but nothing says what a masked lane reads as: ghost rows are undefined.

    The docstring asks for exactly 0 there. See what tl.load takes besides the mask.
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x, rows, other=_NAN))


def value_without_other(case, inputs):
    """The ghost rows of q and k are 0 and those of v are undefined: its load does not say what a masked lane reads as.

    Compare the arguments of the three loads, one by one.
    """
    return _pairs(case, inputs, v=lambda offs_m, offs_n: _rows(case, inputs["v"], offs_n, other=_NAN))


def ghosts_minus_inf(case, inputs):
    """The ghost rows of k are filled with -inf, which belongs to masked scores and not to loads.

    A query row times -inf gives infinities and NaN. Which filling leaves a dot product as it is?
    """
    return _pairs(case, inputs, k=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n, other=-_INF))


def row_stride_forgotten(case, inputs):
    """Each row begins one element after the one before it: the row index is not multiplied by the row length.

    Work out the offset of row 1, column 0 of a contiguous (NSEQ, HEAD) matrix.
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] + torch.arange(case["head"]), rows[:, None] < case["nseq"])

    return _every(case, inputs, load)


def row_stride_is_length(case, inputs):
    """Each row begins NSEQ elements after the one before it, as if the sequence length were the row length.

    How many elements does a row of a contiguous (NSEQ, HEAD) matrix have?
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] * case["nseq"] + torch.arange(case["head"]), rows[:, None] < case["nseq"])

    return _every(case, inputs, load)


def column_major(case, inputs):
    """The matrices are read as column-major: rows lie 1 apart and columns NSEQ apart.

    Torch's matrices are row-major here. Which neighbours lie side by side in memory, and which are a row length apart?
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] + torch.arange(case["head"]) * case["nseq"], rows[:, None] < case["nseq"])

    return _every(case, inputs, load)


def keys_by_query_rows(case, inputs):
    """k and v are loaded by the query rows, offs_m, and not by the key rows.

    It goes unnoticed while there is one tile of each. Which index does each of the three tensors take?
    """
    return _pairs(
        case,
        inputs,
        k=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_m),
        v=lambda offs_m, offs_n: _rows(case, inputs["v"], offs_m),
    )


def key_mask_by_query_rows(case, inputs):
    """k and v are loaded by their own rows but masked by the query rows, offs_m.

    A load's offsets and its mask speak of the same lanes. Compare the two for k and for v.
    """
    return _pairs(
        case,
        inputs,
        k=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n, offs_m[:, None] < case["nseq"]),
        v=lambda offs_m, offs_n: _rows(case, inputs["v"], offs_n, offs_m[:, None] < case["nseq"]),
    )


def value_from_key_pointer(case, inputs):
    """v holds the values of k: it seems to be loaded from the other pointer.

    Read the line that loads v from left to right.
    """
    return _pairs(case, inputs, v=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n))


def key_tile_transposed(case, inputs):
    """k comes back transposed, as (BLOCK_D, BLOCK_N).

    The docstring names the shape of each tile. The kernel that calls this function turns k round itself.
    """
    return _pairs(case, inputs, k=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n).T)


def tiles_in_half_precision(case, inputs):
    """The values come back rounded to float16: most of them have lost their last digits.

    The tensors are float32 and stay so. Look for a conversion on the way from the load to the return.
    """
    return _every(case, inputs, lambda x, rows: _rows(case, x.half().double(), rows))


MISTAKES = (
    no_mask,
    query_load_without_mask,
    mask_along_columns,
    mask_inverted,
    one_row_too_many,
    last_row_dropped,
    flat_mask,
    no_other,
    value_without_other,
    ghosts_minus_inf,
    row_stride_forgotten,
    row_stride_is_length,
    column_major,
    keys_by_query_rows,
    key_mask_by_query_rows,
    value_from_key_pointer,
    key_tile_transposed,
    tiles_in_half_precision,
)

# For kernels that are refused or do not fit wherever they could be told apart; the first that fits counts. The shapes
# are those of the check many_tiles, where the first load beyond a tensor is one of k unless only q is without a mask.
SIGNS = (
    (
        "query_load_without_mask",
        "fail",
        r"loads outside q, which has shape \(45, 32\)",
        inspect.getdoc(query_load_without_mask),
    ),
    (
        "no_mask",
        "fail",
        r"loads outside [qkv],",
        "A load reaches rows beyond the sequence, which are not in the tensor.\n\n"
        "Check each load's mask: does it run along the rows, and which is the last row that it lets through?",
    ),
    (
        "keys_by_query_rows",
        "compile-error",
        r"shapes meet here: 32 against 16 along dimension 0\..*the harness noticed",
        inspect.getdoc(keys_by_query_rows),
    ),
    (
        "key_mask_by_query_rows",
        "compile-error",
        r"shapes meet here: 32 against 16 along dimension 0\.(?!.*the harness noticed)",
        inspect.getdoc(key_mask_by_query_rows),
    ),
)
