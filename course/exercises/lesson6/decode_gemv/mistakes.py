"""What wrong split sums and reductions store: a model of each known mistake, with what to tell the student about it."""

import math

import torch

NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
UNKNOWN = torch.finfo(torch.float64).max  # an element of which a model says nothing


def _spans(case):
    """The first column of each split and the one behind its last."""
    starts = range(0, case["columns"], case["chunk"])
    return [(first, min(first + case["chunk"], case["columns"])) for first in starts]


def _sum(inputs, first, last, x_first=None):
    """The sum over some columns of w, with x from the same column on or from another."""
    x_first = first if x_first is None else x_first
    return inputs["w"][:, first:last] @ inputs["x"][x_first : x_first + last - first]


def _split(inputs, parts):
    """What comes of wrong parts that are added up right."""
    partial = torch.stack(parts)
    return {"partial": partial, "y": partial.sum(0)}


def _right(case, inputs):
    return _split(inputs, [_sum(inputs, first, last) for first, last in _spans(case)])


def _reduced(case, inputs, reduce):
    """What comes of right parts that are added up wrong."""
    partial = _right(case, inputs)["partial"]
    return {"partial": partial, "y": reduce(partial)}


def _tiles(case, columns):
    return math.ceil(columns / case["block_k"])


def _uneven(case):
    """Whether the last split has fewer tiles than the others: how many steps a loop makes there differs."""
    first, last = _spans(case)[-1]
    return _tiles(case, last - first) < _tiles(case, case["chunk"])


def every_split_takes_all(case, inputs):
    """Every split adds up all columns: y is too large by the number of splits.

    Look at where the loop begins and ends, and what the split's number has to do with it.
    """
    return _split(inputs, [inputs["w"] @ inputs["x"] for _ in _spans(case)])


def to_the_end_of_k(case, inputs):
    """Every split goes on to the last column of W: the later a column stands, the more often it is counted.

    A split has CHUNK columns. Look at where the loop ends, and at which column the mask stops.
    """
    return _split(inputs, [_sum(inputs, first, case["columns"]) for first, _ in _spans(case)])


def first_columns_for_all(case, inputs):
    """Every split begins at column 0 and takes the first columns of W.

    Split s begins at s * CHUNK. Look at where the loop begins, or at what is added to its counter.
    """
    reach = _tiles(case, case["chunk"]) * case["block_k"]
    return _split(inputs, [_sum(inputs, 0, min(reach, end)) for _, end in _spans(case)])


def first_columns_up_to_k(case, inputs):
    reach = _tiles(case, case["chunk"]) * case["block_k"]
    return _split(inputs, [_sum(inputs, 0, min(reach, case["columns"])) for _ in _spans(case)])


first_columns_up_to_k.__doc__ = first_columns_for_all.__doc__


def parts_one_apart(case, inputs):
    """Split s stores its parts s elements further on, over those of the split before: most of partial is never written.

    partial is (SPLITS, N). How many elements lie between row 0 of one split and row 0 of the next?
    """
    outputs = _right(case, inputs)
    if len(_spans(case)) == 1:
        return outputs
    parts = outputs["partial"]
    stored = torch.full((parts.numel(),), UNWRITTEN, dtype=parts.dtype)
    for start in range(0, case["rows"], case["block_n"]):
        for split, part in enumerate(parts):
            tile = part[start : start + case["block_n"]]
            if split + start + len(tile) > len(stored):
                return r"(?:stores outside|wrote past the end of) partial\b"
            place = stored[split + start : split + start + len(tile)]
            # On a GPU it is a matter of order which of two parts stands in one place in the end.
            chance = (place != UNWRITTEN) & (case["device"] == "cuda")
            place.copy_(torch.where(chance, UNKNOWN, tile))
    return {"partial": stored.reshape(parts.shape)}


def chunk_end_ignored(case, inputs):
    """The last tile of a split takes in columns of the next one, which are counted twice.

    A split need not end where a tile does. At which column does the mask stop?
    """
    ends = [min(first + _tiles(case, last - first) * case["block_k"], case["columns"]) for first, last in _spans(case)]
    return _split(inputs, [_sum(inputs, first, end) for (first, _), end in zip(_spans(case), ends, strict=True)])


def columns_behind_the_end(case, inputs):
    """Columns behind a split's end are loaded: the next split's, and in the last one what lies behind x.

    Which columns of its last tile are the split's? Look at what limits the loads of x and W, up to the very last column.
    """
    if _uneven(case):
        return {}
    first, last = _spans(case)[-1]
    behind = (last - first) % case["block_k"] != 0
    if behind and case["device"] == "cpu":
        return r"loads outside [xw]\b"
    outputs = chunk_end_ignored(case, inputs)
    if behind:
        outputs["partial"][-1], outputs["y"][:] = NAN, NAN
    return outputs


def columns_without_other(case, inputs):
    """Where a split ends within a tile, the sums are NaN: undefined columns take part.

    Do the masks stop every column that the split does not have, and what does a masked one read as? See what tl.load
    takes besides the mask.
    """
    if _uneven(case):
        return {}
    parts = [
        _sum(inputs, first, last) * (NAN if (last - first) % case["block_k"] else 1.0) for first, last in _spans(case)
    ]
    return _split(inputs, parts)


def splits_a_tile_apart(case, inputs):
    """Split s begins at column s * BLOCK_K, as if a split were one tile: later splits take columns of earlier ones.

    How many columns does a split take? Look at where the loop begins.
    """
    parts = []
    for number in range(len(_spans(case))):
        first = number * case["block_k"]
        parts.append(_sum(inputs, first, min(first + case["chunk"], case["columns"])))
    return _split(inputs, parts)


def x_from_its_start(case, inputs):
    """Every split takes x from its first element on: W's columns and x's belong together only in the first split.

    Compare the address of x with that of W.
    """
    return _split(inputs, [_sum(inputs, first, last, 0) for first, last in _spans(case)])


def only_the_last_tile(case, inputs):
    """Of each split, only the last tile of columns counts: the sum is overwritten in every step.

    Look at the line of the loop that makes the new sum: does the old one come into it?
    """
    if _uneven(case):
        return {}
    size = case["block_k"]
    return _split(
        inputs, [_sum(inputs, first + (_tiles(case, last - first) - 1) * size, last) for first, last in _spans(case)]
    )


def only_the_first_tile(case, inputs):
    """Of each split, only the first tile of columns counts.

    Either the loop makes one step, or its later steps land behind the end. Work out by hand where the second one does.
    """
    return _split(inputs, [_sum(inputs, first, min(first + case["block_k"], last)) for first, last in _spans(case)])


def weights_transposed(case, inputs):
    """W is read as if it were (K, N): rows and columns have changed places.

    W is (N, K), row after row. How far apart are two neighbours in a row, and how far two rows?
    """
    w = inputs["w"].flatten().reshape(case["columns"], case["rows"]).T
    return _right(case, {"x": inputs["x"], "w": w})


def parts_in_one_row(case, inputs):
    """All splits store to the first row of partial, and the other rows are never written.

    Look at the address of the store: what has the split's number to do with it?
    """
    outputs = _right(case, inputs)
    if len(_spans(case)) == 1:
        return outputs
    if case["device"] == "cuda":
        return {}  # whose part is last in the first row is a matter of order
    partial = torch.full_like(outputs["partial"], UNWRITTEN)
    partial[0] = outputs["partial"][-1]
    return {"partial": partial}


def parts_transposed(case, inputs):
    """The parts of one row of W lie side by side, as if partial were (N, SPLITS).

    partial is (SPLITS, N). How far apart are the parts of two splits?
    """
    partial = _right(case, inputs)["partial"]
    partial = partial.T.flatten().reshape(partial.shape)
    return {"partial": partial, "y": partial.sum(0)}


def program_ids_swapped(case, inputs):
    """Tiles of rows and splits have changed places: where there are more splits than tiles, later parts are not written.

    The docstring says what program_id(0) and program_id(1) are.
    """
    tiles, partial = math.ceil(case["rows"] / case["block_n"]), _right(case, inputs)["partial"]
    if tiles > len(partial):
        return r"(?:stores outside|wrote past the end of) partial\b"
    if tiles == len(partial):
        return _right(case, inputs)
    partial[tiles:] = UNWRITTEN
    return {"partial": partial}


def part_store_unmasked(case, inputs):
    """Parts are stored for rows that do not exist: in partial, those are the next split's first ones.

    Look at the store to partial: which rows of a tile does W have?
    """
    if case["rows"] % case["block_n"] == 0:
        return _right(case, inputs)
    behind = len(_spans(case))
    return rf"stores outside partial\b.*: row {behind}, column 0\b|wrote past the end of partial\b"


def first_part_only(case, inputs):
    """y is the first split's part alone.

    Look at how many splits the second kernel goes through.
    """
    return _reduced(case, inputs, lambda partial: partial[0])


def last_part_left_out(case, inputs):
    """The last split's part is missing in y.

    Look at the bounds of the loop over splits: is the end of a range included?
    """
    if len(_spans(case)) == 1:
        return {"partial": _right(case, inputs)["partial"]}
    return _reduced(case, inputs, lambda partial: partial[:-1].sum(0))


def parts_overwritten(case, inputs):
    """y is the last split's part alone: the sum is overwritten in every step.

    Look at the line of the loop over splits that makes the new sum: does the old one come into it?
    """
    return _reduced(case, inputs, lambda partial: partial[-1])


def parts_averaged(case, inputs):
    """y is the average of the parts, and should be their sum.

    Look at what happens between the loop and the store.
    """
    return _reduced(case, inputs, lambda partial: partial.mean(0))


def parts_a_tile_apart(case, inputs):
    """The rows of partial are taken to lie BLOCK_N apart, where they lie N apart.

    How many parts does a split have? Work out the address of split 1, row 0.
    """
    partial = _right(case, inputs)["partial"]
    at = torch.arange(len(partial))[:, None] * case["block_n"] + torch.arange(case["rows"])
    behind = at >= partial.numel()
    if bool(behind.any()) and case["device"] == "cpu":
        return r"loads outside partial_sums\b"
    taken = torch.where(behind, NAN, partial.flatten()[at.clamp(max=partial.numel() - 1)])
    return {"partial": partial, "y": taken.sum(0)}


MISTAKES = (
    every_split_takes_all,
    to_the_end_of_k,
    first_columns_for_all,
    first_columns_up_to_k,
    chunk_end_ignored,
    columns_behind_the_end,
    columns_without_other,
    splits_a_tile_apart,
    x_from_its_start,
    only_the_last_tile,
    only_the_first_tile,
    weights_transposed,
    parts_in_one_row,
    parts_one_apart,
    parts_transposed,
    program_ids_swapped,
    part_store_unmasked,
    first_part_only,
    last_part_left_out,
    parts_overwritten,
    parts_averaged,
    parts_a_tile_apart,
)

ALIASES = {
    "first_columns_up_to_k": "first_columns_for_all",
    "columns_unmasked": "columns_behind_the_end",  # one column too many looks the same
    # With chunks below BLOCK_K * BLOCK_K columns, steps that are that far apart reach nothing behind the first.
    "columns_skipped_over": "only_the_first_tile",
}

# On a GPU, whose part stands in the row that all of them store to is a matter of order, and what lies behind a tensor is
# as undefined as a masked column.
GPU_ALIASES = {"parts_in_one_row": "second_part_not_written", "columns_behind_the_end": "columns_without_other"}

# For what outputs cannot tell. A message is a sign of no more than what it says.
SIGNS = (
    (
        "second_kernel_stores_nothing",
        "fail",
        r"All of y was never written",
        "gemv_reduce_kernel stores nothing: y is its output.\n\n"
        "The exercise asks for two kernels. The first one's parts are in partial; what does the second make of them?",
    ),
    (
        "rows_meet_columns",
        "compile-error",
        r"shapes meet here: (?:32 against 64|64 against 32) along (?:axis|dimension) [01]\.",
        "Two values meet here of which one is as long as a tile has rows, and the other as it has columns.\n\n"
        "W's tile is (BLOCK_N, BLOCK_K), x has one number for each column, and a split's sums have one for each row. Along "
        "which axis of the tile does each of them run, and which axis has to go in the sum?",
    ),
    (
        "second_part_not_written",
        "fail",
        r"^(?:Row|Split) 1 of partial (?:was|were) never written",
        "Of the two splits of this case, only the first has its part in partial.\n\n"
        "Work out, for the second split, where its store goes and which elements its mask lets through.",
    ),
    (
        "reads_all_keeps_part",
        "fail",
        r"elements of w are loaded in all",
        "The sums are right, but W is read more than once: programs load weights that are not their split's.\n\n"
        "Reading is all the cost there is. Where do a split's columns begin, and could its loop begin and end there?",
    ),
)
