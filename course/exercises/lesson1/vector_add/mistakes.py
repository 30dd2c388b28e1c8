"""What known wrong vector_add kernels store, for naming the mistake in one that fails.

A model goes through the programs one by one. What lies behind the end of a vector stops a kernel on CPU; on a GPU it
reads as NaN there, and a store is noticed afterwards.
"""

import torch

_NAN = float("nan")
UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written


def _own(case, program):
    return program * case["block"] + torch.arange(case["block"])


def _exists(case, offs, program):
    return offs < case["n"]


def _all(case, offs, program):
    return offs >= 0


def _kernel(case, inputs, *, offs=_own, loads=_exists, stores=_exists, value=torch.add, unit=1, other=_NAN):
    """The kernel with some of its parts replaced; ``unit`` is how far apart in memory it takes elements to be.

    ``other`` is what a masked lane reads as: undefined, if nothing is said of it.
    """
    size = len(inputs["a"])
    c = torch.full((size,), UNWRITTEN, dtype=torch.float64)
    for program in range(-(-case["n"] // case["block"])):
        index = offs(case, program)
        loaded, stored = loads(case, index, program), stores(case, index, program)
        place = index * unit
        if case["device"] == "cpu" and bool((loaded & (place >= size)).any()):
            return r"loads outside [ab]\b"
        if bool((stored & (place >= size)).any()):
            return r"(?:stores outside|wrote past the end of) c\b"
        read = (torch.where(place < size, inputs[name][place.clamp(max=size - 1)], _NAN) for name in "ab")
        a, b = (torch.where(loaded, values, other) for values in read)
        c[place[stored]] = value(a, b)[stored]
    return {"c": c}


def no_mask(case, inputs):
    """Nothing stops the loads at n: the last block reads what lies behind the end of a and b.

    With n = 50 and BLOCK = 64, which elements does the program own that do not exist?
    """
    return _kernel(case, inputs, loads=_all, stores=_all)


def load_without_mask(case, inputs):
    """The store stops at n and a load does not: the last block reads what lies behind the end of its vector.

    Compare what the store is given with what the loads are given.
    """
    return _kernel(case, inputs, loads=_all)


def store_without_mask(case, inputs):
    """The loads stop at n and the store does not: the last block writes behind the end of c.

    Compare what the loads are given with what the store is given.
    """
    return _kernel(case, inputs, stores=_all)


def store_without_mask_of_zeros(case, inputs):
    return _kernel(case, inputs, stores=_all, other=0.0)


store_without_mask_of_zeros.__doc__ = store_without_mask.__doc__


def mask_within_the_block(case, inputs):
    """The mask counts from the start of each block, as if every block were the first.

    n is a number of elements of the whole vector. Which index has to be compared with it?
    """

    def first(case, offs, program):
        return offs - program * case["block"] < case["n"]

    return _kernel(case, inputs, loads=first, stores=first)


def one_too_many(case, inputs):
    """One element too many passes for real: the one at index n.

    Indices start at 0. What is the index of the last element, and does the comparison stop there?
    """

    def reaches_n(case, offs, program):
        return offs <= case["n"]

    return _kernel(case, inputs, loads=reaches_n, stores=reaches_n)


def last_element_dropped(case, inputs):
    """The last element of the vector is never added.

    Indices start at 0. Try the comparison of the mask with the last index, for a vector of a single element.
    """

    def stops_early(case, offs, program):
        return offs < case["n"] - 1

    return _kernel(case, inputs, loads=stops_early, stores=stops_early)


def first_block_only(case, inputs):
    """Every program adds the first block, and the others are never written.

    All programs run the same lines with the same arguments. Where does the program's number come in?
    """
    return _kernel(case, inputs, offs=lambda case, program: torch.arange(case["block"]))


def blocks_overlap(case, inputs):
    """Each program begins one element after the one before it, not one block.

    Work out by hand which elements program 1 owns, with BLOCK = 64.
    """
    return _kernel(case, inputs, offs=lambda case, program: program + torch.arange(case["block"]))


def byte_offsets(case, inputs):
    """Elements are taken to lie 4 apart, as if pointers counted bytes.

    A pointer to float32 plus 1 is the next float32, not the next byte. Look at what is added to the pointers.
    """
    return _kernel(case, inputs, unit=4)


def first_vector_twice(case, inputs):
    """c holds a + a: b takes no part.

    Read the two loads from left to right, and the sum.
    """
    return _kernel(case, inputs, value=lambda a, b: a + a)


def subtracted(case, inputs):
    """c holds a - b.

    Look at the line in which the two blocks meet.
    """
    return _kernel(case, inputs, value=torch.sub)


MISTAKES = (
    no_mask,
    load_without_mask,
    store_without_mask,
    store_without_mask_of_zeros,
    mask_within_the_block,
    one_too_many,
    last_element_dropped,
    first_block_only,
    blocks_overlap,
    byte_offsets,
    first_vector_twice,
    subtracted,
)

ALIASES = {"store_without_mask_of_zeros": "store_without_mask"}

SIGNS = (
    (
        "does_the_work_of_all",
        "fail",
        r"^The result is right\b.*\bone program stores",
        "One program does the work of all: its loop goes through the whole vectors.\n\n"
        "The launch starts a program for each block, and they run side by side. What is left of the loop if each program "
        "adds its own block only?",
    ),
    (
        "arange_of_n",
        "compile-error",
        r"tl\.arange takes compile-time constants only",
        "A tl.arange has a bound that is known only when the kernel runs, such as n.\n\n"
        "Blocks have a fixed size. What can keep the elements that do not exist out of the loads and the store?",
    ),
    (
        "tile_as_one_truth_value",
        "compile-error",
        r"\bsingle truth value",
        "A block of truth values stands where Python takes a single one, as after `if`.\n\n"
        "Some elements of a block exist and others do not. What lets each lane of a load or store decide for itself?",
    ),
)
