"""What known wrong fused_scale_shift kernels store, for naming the mistake in one that fails.

A model goes through the programs one by one. What lies behind the end of a tensor stops a kernel on CPU; on a GPU it
reads as NaN there, and a store is noticed afterwards.
"""

import torch

_NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written


class _OutsideError(Exception):
    """The kernel is stopped; holds a pattern of the message."""


def _exists(case, offs):
    return offs < case["rows"] * case["columns"]


def _all(case, offs):
    return offs >= 0


def _wrapped(case, offs, place):
    return offs % case["columns"]


def _scaled_and_shifted(x, scale, shift):
    return x * scale + shift


def _read(case, tensor, index, live, name):
    """tl.load(pointer + index, mask=live)."""
    size = tensor.numel()
    if case["device"] == "cpu" and bool((live & (index >= size)).any()):
        raise _OutsideError(rf"loads outside {name}\b")
    return torch.where(live & (index < size), tensor.flatten()[index.clamp(max=size - 1)], _NAN)


def _kernel(
    case, inputs, *, column=_wrapped, loads=_exists, stores=_exists, value=_scaled_and_shifted, masked=False, other=_NAN
):
    """The kernel with some of its parts replaced; ``masked`` is whether scale and shift are loaded under the mask.

    ``other`` is what a masked lane of x reads as: undefined, if nothing is said of it.
    """
    size, block = inputs["x"].numel(), case["block"]
    y = torch.full((size,), UNWRITTEN, dtype=torch.float64)
    try:
        for program in range(-(-case["rows"] * case["columns"] // block)):
            place = torch.arange(block)
            offs = program * block + place
            live, at = loads(case, offs), column(case, offs, place)
            x = torch.where(live, _read(case, inputs["x"], offs, live, "x"), other)
            of_columns = live if masked else offs >= 0
            scale, shift = (_read(case, inputs[name], at, of_columns, "(?:scale|shift)") for name in ("scale", "shift"))
            stored = stores(case, offs)
            if bool((stored & (offs >= size)).any()):
                return r"(?:stores outside|wrote past the end of) y\b"
            y[offs[stored]] = value(x, scale, shift)[stored]
    except _OutsideError as outside:
        return str(outside)
    return {"y": y.reshape(inputs["x"].shape)}


def columns_not_wrapped(case, inputs):
    """Scale and shift are read on and on, past their last column: only the first row comes out right.

    scale and shift have n_columns elements each. In which column does element n_columns of the matrix lie?
    """
    return _kernel(case, inputs, column=lambda case, offs, place: offs, masked=True)


def row_for_column(case, inputs):
    """Each element gets the scale and shift that its row's number points to, not its column's.

    The matrix lies row after row. Of an index divided by n_columns, which part is the row, and which the column?
    """
    return _kernel(case, inputs, column=lambda case, offs, place: offs // case["columns"], masked=True)


def columns_begin_with_each_block(case, inputs):
    """Columns are counted from the start of each block, as if each block began with a row.

    A block may begin amid a row. Which index says where an element lies in the whole matrix?
    """
    return _kernel(case, inputs, column=lambda case, offs, place: place % case["columns"])


def place_for_column(case, inputs):
    """Scale and shift are taken by an element's place in its block, and past the last column there is none.

    Which column an element lies in follows from its place in the whole matrix: rows repeat, blocks do not keep to them.
    """

    def of_place(x, scale, shift):
        real = torch.arange(case["block"]) < case["columns"]
        return torch.where(real, x * scale + shift, _NAN)

    return _kernel(
        case,
        inputs,
        column=lambda case, offs, place: place.clamp(max=case["columns"] - 1),
        value=of_place,
    )


def first_column_for_all(case, inputs):
    """Every element gets the scale and the shift of column 0.

    A pointer by itself is the address of the first element. What has to be added to it for the other columns?
    """
    return _kernel(case, inputs, column=lambda case, offs, place: torch.zeros_like(offs))


def scale_and_shift_swapped(case, inputs):
    """The shift is multiplied by and the scale is added.

    Follow both from their pointers to the formula.
    """
    return _kernel(case, inputs, value=lambda x, scale, shift: x * shift + scale)


def shifted_first(case, inputs):
    """The shift is added before the scaling, so that it is scaled as well.

    Compare the order of the two operations with the formula in the docstring.
    """
    return _kernel(case, inputs, value=lambda x, scale, shift: (x + shift) * scale)


def shift_forgotten(case, inputs):
    """y holds x * scale: the shift is not in it.

    What becomes of the shift after it is loaded?
    """
    return _kernel(case, inputs, value=lambda x, scale, shift: x * scale)


def only_the_first_row(case, inputs):
    """The mask ends after n_columns elements: only the first row is written.

    Which number is how many elements there are in all?
    """

    def first_row(case, offs):
        return offs < case["columns"]

    return _kernel(case, inputs, loads=first_row, stores=first_row)


def no_mask(case, inputs):
    """Nothing stops the load of x at n: the last block reads what lies behind its end.

    With 21 elements and BLOCK = 32, which elements does the program own that do not exist?
    """
    return _kernel(case, inputs, loads=_all, stores=_all)


def load_without_mask(case, inputs):
    """The store stops at n and the load of x does not: the last block reads what lies behind the end of x.

    Compare what the store is given with what the load is given.
    """
    return _kernel(case, inputs, loads=_all)


def one_too_many(case, inputs):
    """One element too many passes for real: the one at index n.

    Indices start at 0. What is the index of the last element, and does the comparison stop there?
    """

    def reaches_n(case, offs):
        return offs <= case["rows"] * case["columns"]

    return _kernel(case, inputs, loads=reaches_n, stores=reaches_n)


def store_without_mask(case, inputs):
    """The load of x stops at n and the store does not: the last block writes behind the end of y.

    Compare what the load is given with what the store is given.
    """
    return _kernel(case, inputs, stores=_all)


def store_without_mask_of_zeros(case, inputs):
    return _kernel(case, inputs, stores=_all, other=0.0)


store_without_mask_of_zeros.__doc__ = store_without_mask.__doc__


def last_element_dropped(case, inputs):
    """The last element of the matrix is never written.

    Indices start at 0. Try the comparison of the mask with the last index.
    """

    def stops_early(case, offs):
        return offs < case["rows"] * case["columns"] - 1

    return _kernel(case, inputs, loads=stops_early, stores=stops_early)


def computed_in_half(case, inputs):
    """y has been rounded to float16 on its way: most of its elements have lost their last digits.

    Everything is float32 here and stays so. Look for a conversion between the loads and the store.
    """
    return _kernel(case, inputs, value=lambda x, scale, shift: (x * scale + shift).half().double())


MISTAKES = (
    columns_not_wrapped,
    row_for_column,
    columns_begin_with_each_block,
    place_for_column,
    first_column_for_all,
    scale_and_shift_swapped,
    shifted_first,
    shift_forgotten,
    only_the_first_row,
    no_mask,
    load_without_mask,
    one_too_many,
    store_without_mask,
    store_without_mask_of_zeros,
    last_element_dropped,
    computed_in_half,
)

ALIASES = {"store_without_mask_of_zeros": "store_without_mask"}

# The result is right either way: how often x and y are read is all that tells.
SIGNS = (
    (
        "two_passes",
        "fail",
        r"\belements of y are loaded\b",
        "Elements of y are read and not only written, as where the work is done in two passes over the matrix.\n\n"
        "What is read from y costs as much as x itself. What can be finished while the block is at hand?",
    ),
    (
        "x_read_again",
        "fail",
        r"\belements of x are loaded in all",
        "x is read more than once.\n\n"
        "A block that was loaded stays at hand, in registers. How often does a load of x stand in the kernel, and does "
        "another program load the same elements?",
    ),
)
