"""What known wrong load_tiles kernels give back, for naming the mistake in one that fails.

A model reads the flat memory behind q, k and v as its kernel does. What lies behind their ends is NaN on a GPU, and on
CPU a load there is refused. Where the kernel could not come to an end, for that reason or because two tiles do not fit,
the model gives the words of the message.
"""

import functools

import torch

_NAN = float("nan")
_INF = float("inf")


class _StoppedError(Exception):
    """The kernel does not come to its end; holds a pattern of the message."""


_MISFIT = _StoppedError("Two tiles of different shapes meet here")


def _read(case, x, address, live, other=0.0):
    """tl.load(x_ptr + address, mask=live, other=other)."""
    try:
        live = live.expand(address.shape)
    except RuntimeError as error:
        raise _MISFIT from error
    behind = live & (address >= x.numel())
    if bool(behind.any()) and case["device"] == "cpu":
        raise _StoppedError(r"loads outside [qkv]\b")
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
    found = {
        name: torch.empty((tiles_m, tiles_n, block_m if name == "q" else block_n, head), dtype=torch.float64)
        for name in loads
    }
    try:
        for i in range(tiles_m):
            for j in range(tiles_n):
                offs_m, offs_n = i * block_m + torch.arange(block_m), j * block_n + torch.arange(block_n)
                for name, load in loads.items():
                    tile = load(offs_m, offs_n)
                    if tile.shape != found[name].shape[2:]:
                        raise _StoppedError(f"returns {name} with shape")
                    found[name][i, j] = tile
    except _StoppedError as stopped:
        return str(stopped)
    return found


def _each(case, inputs, load, names="qkv"):
    """The same mistake in the loads of all of ``names``: ``load`` makes a tile from a tensor and its rows."""
    loads = {
        "q": lambda offs_m, offs_n: load(inputs["q"], offs_m),
        "k": lambda offs_m, offs_n: load(inputs["k"], offs_n),
        "v": lambda offs_m, offs_n: load(inputs["v"], offs_n),
    }
    found = _pairs(case, inputs, **{name: loads[name] for name in names})
    return found.replace("[qkv]", f"[{names}]") if isinstance(found, str) else found


def _keys_loaded(case, inputs, names, rows=None, live=None):
    """k, v or both with other rows in the offsets, or other rows in the mask."""

    def load(name):
        return lambda offs_m, offs_n: _rows(
            case, inputs[name], (rows or _key)(offs_m, offs_n), (live or _key)(offs_m, offs_n)[:, None] < case["nseq"]
        )

    return _pairs(case, inputs, **{name: load(name) for name in names})


def _query(offs_m, offs_n):
    return offs_m


def _key(offs_m, offs_n):
    return offs_n


def _from(case, inputs, **pointers):
    """Tiles loaded by their own rows from the tensors ``pointers``."""
    loads = {
        name: lambda offs_m, offs_n, name=name, x=x: _rows(case, inputs[x], offs_m if name == "q" else offs_n)
        for name, x in pointers.items()
    }
    return _pairs(case, inputs, **loads)


def no_mask(case, inputs, names="qkv"):
    """No mask stops at NSEQ: ghost rows read the memory that lies behind the tensor.

    Which rows of a tile exist? Find what limits a load, and try NSEQ = 20 with a tile of 32 on paper.
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, torch.tensor(True)), names)


def query_load_without_mask(case, inputs):
    """The loads of k and v stop at NSEQ and the load of q does not: the last query tile reads beyond its tensor.

    Compare the load of q with the other two. What does offs_m hold in the last tile?
    """
    return _pairs(case, inputs, q=lambda offs_m, offs_n: _rows(case, inputs["q"], offs_m, torch.tensor(True)))


def mask_along_columns(case, inputs, names="qkv"):
    """The mask cuts columns off instead of rows: the index along the head is compared with NSEQ.

    NSEQ counts rows. Which of the offs_ vectors holds rows, and along which axis of the tile does it run?
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, torch.arange(case["head"]) < case["nseq"]), names)


def mask_inverted(case, inputs, names="qkv"):
    """The mask is the wrong way round: real rows come back as 0, and ghost rows are read.

    A lane is loaded where the mask is true. For which rows is it true here?
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] >= case["nseq"]), names)


def one_row_too_many(case, inputs, names="qkv"):
    """The mask lets one row too many through: the first ghost row, NSEQ, is read as well.

    Rows are counted from 0. What is the index of the last one, and does the comparison stop there?
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] <= case["nseq"]), names)


def last_row_dropped(case, inputs, names="qkv"):
    """The mask stops one row too early: the last real row comes back as 0.

    Rows are counted from 0. Check the comparison for a sequence of a single row.
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, rows[:, None] < case["nseq"] - 1), names)


def flat_mask(case, inputs, names="qkv"):
    """The mask compares flat offsets with NSEQ: only the first NSEQ elements are read, not the first NSEQ rows.

    The offset of an element is its row times the row length plus its column. Which part of it has NSEQ as its limit?
    """

    def load(x, rows):
        address = rows[:, None] * case["head"] + torch.arange(case["head"])
        return _read(case, x, address, address < case["nseq"])

    return _each(case, inputs, load, names)


def no_other(case, inputs, names="qkv"):
    """Ghost rows are masked, but nothing says what a masked lane reads as: it is undefined.

    The docstring asks for exactly 0 there. See what tl.load takes besides the mask.
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x, rows, other=_NAN), names)


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


def row_stride_forgotten(case, inputs, names="qkv"):
    """Each row begins one element after the one before it: the row index is not multiplied by the row length.

    Work out the offset of row 1, column 0 of a contiguous (NSEQ, HEAD) matrix.
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] + torch.arange(case["head"]), rows[:, None] < case["nseq"])

    return _each(case, inputs, load, names)


def row_stride_is_length(case, inputs, names="qkv"):
    """Each row begins NSEQ elements after the one before it, as if the sequence length were the row length.

    How many elements does a row of a contiguous (NSEQ, HEAD) matrix have?
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] * case["nseq"] + torch.arange(case["head"]), rows[:, None] < case["nseq"])

    return _each(case, inputs, load, names)


def column_major(case, inputs, names="qkv"):
    """Memory is read as column-major: rows lie 1 apart and columns NSEQ apart.

    Torch's matrices are row-major here. Which neighbours lie side by side in memory, and which are a row length apart?
    """

    def load(x, rows):
        return _read(case, x, rows[:, None] + torch.arange(case["head"]) * case["nseq"], rows[:, None] < case["nseq"])

    return _each(case, inputs, load, names)


def keys_by_query_rows(case, inputs, names="kv", live=_query):
    """k and v are loaded by the query rows, offs_m, and not by the key rows.

    It goes unnoticed while there is one tile of each. Which index does each of the three tensors take?
    """
    return _keys_loaded(case, inputs, names, rows=_query, live=live)


def key_mask_by_query_rows(case, inputs, names="kv"):
    """k and v are loaded by their own rows but masked by the query rows, offs_m.

    A load's offsets and its mask speak of the same lanes. Compare the two for k and for v.
    """
    return _keys_loaded(case, inputs, names, live=_query)


def queries_by_key_rows(case, inputs, rows="offs_n", live="offs_n"):
    """q goes by the key rows, offs_n, in its offsets, in its mask or in both.

    It goes unnoticed while there is one tile of each. Which index does each of the three tensors take?
    """

    def load(offs_m, offs_n):
        index = {"offs_m": offs_m, "offs_n": offs_n}
        return _rows(case, inputs["q"], index[rows], index[live][:, None] < case["nseq"])

    return _pairs(case, inputs, q=load)


def value_from_key_pointer(case, inputs):
    """v holds the values of k: it seems to be loaded from the other pointer.

    Read the line that loads v from left to right.
    """
    return _from(case, inputs, v="k")


def key_from_value_pointer(case, inputs):
    """k holds the values of v: it seems to be loaded from the other pointer.

    Read the line that loads k from left to right.
    """
    return _from(case, inputs, k="v")


def keys_and_values_swapped(case, inputs):
    """k and v have changed places: each holds the values of the other.

    Compare the order of what is returned with the docstring, and the pointer in each load with its name.
    """
    return _from(case, inputs, k="v", v="k")


def query_pointer_swapped(case, inputs, pointers="kqv"):
    """A tile that should hold values of q holds those of another tensor, or the other way round.

    Compare the order of what is returned with the docstring, and the pointer in each load with its name.
    """
    return _from(case, inputs, **dict(zip("qkv", pointers, strict=True)))


def key_tile_transposed(case, inputs):
    """k comes back transposed, as (BLOCK_D, BLOCK_N).

    The docstring names the shape of each tile. The kernel that calls this function turns k round itself.
    """
    return _pairs(case, inputs, k=lambda offs_m, offs_n: _rows(case, inputs["k"], offs_n).T)


def offsets_along_one_axis(case, inputs, names="qkv"):
    """All rows of a tile are the same: its offsets have one axis, so that row and column grow together.

    An offset is needed for each row and each column. Which of the two vectors runs down the rows, with [:, None], and
    which along the columns, with [None, :]?
    """

    def load(x, rows):
        if len(rows) != case["head"]:
            raise _MISFIT
        diagonal = (rows * case["head"] + torch.arange(case["head"])).expand(len(rows), -1)
        return _read(case, x, diagonal, rows[:, None] < case["nseq"])

    found = _each(case, inputs, load, names)
    # Which of the two stops a kernel first depends on the order of its lines.
    return rf"{_MISFIT}|loads outside [{names}]\b" if isinstance(found, str) else found


def tiles_in_half_precision(case, inputs, names="qkv"):
    """The values come back rounded to float16: most of them have lost their last digits.

    The tensors are float32 and stay so. Look for a conversion on the way from the load to the return.
    """
    return _each(case, inputs, lambda x, rows: _rows(case, x.half().double(), rows), names)


def _variant(model, suffix, doc=None, **arguments):
    """The same mistake in some of the loads only, or in a kernel written another way."""

    @functools.wraps(model)
    def variant(case, inputs):
        return model(case, inputs, **arguments)

    variant.__name__ = f"{model.__name__}_{suffix}"
    variant.__doc__ = doc or model.__doc__
    return variant


def _of_one(model, name):
    """What a model of k and v says, of one of them."""
    return model.__doc__.replace("k and v are", f"{name} is", 1).replace("their own", "its own")


_ONLY = {"q": "the load of q", "k": "the load of k", "v": "the load of v", "kv": "the loads of k and v"}
_OWN_NAMES = {("no_mask", "q"), ("no_other", "v")}  # those have models, and words, of their own

_IN_SOME_LOADS = (
    no_mask,
    mask_along_columns,
    mask_inverted,
    one_row_too_many,
    last_row_dropped,
    flat_mask,
    no_other,
    row_stride_forgotten,
    row_stride_is_length,
    column_major,
    offsets_along_one_axis,
    tiles_in_half_precision,
)

_VARIANTS = (
    *(
        (model, _variant(model, f"in_{names}", f"Look at {where} alone. {model.__doc__}", names=names))
        for model in _IN_SOME_LOADS
        for names, where in _ONLY.items()
        if (model.__name__, names) not in _OWN_NAMES
    ),
    *(
        (model, _variant(model, f"in_{name}", _of_one(model, name), names=name))
        for model in (keys_by_query_rows, key_mask_by_query_rows)
        for name in "kv"
    ),
    *(
        (keys_by_query_rows, _variant(keys_by_query_rows, f"own_mask_{names}", doc, names=names, live=_key))
        for names, doc in {
            "kv": keys_by_query_rows.__doc__,
            **{name: _of_one(keys_by_query_rows, name) for name in "kv"},
        }.items()
    ),
    (queries_by_key_rows, _variant(queries_by_key_rows, "own_mask", live="offs_m")),
    (queries_by_key_rows, _variant(queries_by_key_rows, "own_offsets", rows="offs_m")),
    *(
        (query_pointer_swapped, _variant(query_pointer_swapped, pointers, pointers=pointers))
        for pointers in ("kkv", "vkv", "qqv", "qkq", "vkq")
    ),
)

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
    queries_by_key_rows,
    value_from_key_pointer,
    key_from_value_pointer,
    keys_and_values_swapped,
    query_pointer_swapped,
    key_tile_transposed,
    offsets_along_one_axis,
    tiles_in_half_precision,
    *(variant for _, variant in _VARIANTS),
)

ALIASES = {variant.__name__: model.__name__ for model, variant in _VARIANTS}
