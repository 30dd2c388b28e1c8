"""What Triton says is put into words that a student can use, and nothing of its inner names is left in them."""

from __future__ import annotations

import pytest

from autograder.worker.plain_words import in_plain_words

SAID = {
    "'NoneType' object is not subscriptable": "Nothing comes back from the function. Is the `return` missing?",
    """TypeError("'NoneType' object is not subscriptable")""": "Nothing comes back",
    "cannot convert None of type <class 'NoneType'> to tensor": "Nothing comes back",
    "Expected pointer argument to have shape ['constexpr[32]', 'constexpr[32]'] but got ['constexpr[32]']": (
        "A tile of shape (32, 32) is stored where the pointers have shape (32). "
    ),
    "input and other must have equal ranks >= 2": "two tiles of two axes each",
    "input and other must have equal reduction dimensions": "Is one of them to be transposed?",
    """AttributeError("'constexpr' object has no attribute 'handle'")""": "A plain number stands",
    "Boolean value of Tensor with more than one value is ambiguous": "`tl.where(condition, a, b)`",
    "Logical operators 'and' and 'or' are deprecated for non-scalar tensors; please use '&'": "write & and |",
    """AssertionError("Ternary expression with dynamic condition has inconsistent types fp32 and <['16'], fp32>")""": (
        "both sides need one type, and here they are fp32 and (16) fp32. Where the condition is a tile"
    ),
    "ValueError('Cannot bitcast data-type of size 32 to data-type of size 1')": "Numbers of 32 bits stand",
    "min requires at least 2 values": "`tl.max(tile, axis)`",
    "simultaneous multiple comparison is not supported": "joined with &",
    "where() missing 1 required positional argument: 'y'": "`where` is given too few arguments here.",
    "TypeError(\"where() missing 2 required positional arguments: 'x' and 'y'\")": "It takes x and y as well.",
    "max() got an unexpected keyword argument 'dims'": "There is no argument `dims` here.",
    "tensor.to() takes from 2 to 5 positional arguments but 6 were given": "`to` is given more arguments here",
    "sum() got multiple values for argument 'axis'": "its argument `axis` twice",
    "TypeError('For loop bounds and step must all be ints, are (int32, fp32, int32)')": "must be whole numbers",
    "invalid axis 2. Expected -2 <= axis < 2": "There is no axis 2 here.",
    "axis 2 out of bounds for shape ['constexpr[32]', 'constexpr[32]']": "There is no axis 2 here.",
    "too many indices for tensor of rank 0": "this value has 0",
    "Expected dtype ['fp32', 'fp64'] but got fp16": "takes fp32, fp64, and is given fp16",
    "mask has unsupported dtype": "Is the comparison missing?",
    "Mask must have boolean scalar type": "Is the comparison missing?",
    "invalid operands of type pointer<fp32> and triton.language.float32": "and here it is float32. Is there a `/`",
    "IncompatibleTypeErrorImpl('invalid operands of type pointer<fp32> and fp32')": "and here it is fp32. Is there a ",
    "invalid operands of type pointer<fp32> and pointer<fp32>": "Two pointers are combined here.",
    "cannot add pointers together": "Two pointers are combined here.",
    "invalid operands of type triton.language.float32 and triton.language.int1": (
        "in this way: float32 and int1. `&`, `|`, `^` and shifts take whole numbers"
    ),
    "invalid operands of type triton.language.int32 and pointer<fp32>": "int32 and a pointer to fp32.",
    "`other` cannot be provided without `mask`": "this `tl.load` has no `mask=`.",
    "ValueError('`other` cannot be provided without `mask`')": "this `tl.load` has no `mask=`.",
    "Mask argument cannot be block type if pointer argument is not a block": "Is the `tl.arange` missing",
    "Unsupported ptr type <['16'], int32> in `tl.load`": "`tl.load` takes a pointer first, and is given (16) int32",
    "Unsupported ptr type triton.language.int32 in `tl.store`": "is given int32 here.",
    "Cannot broadcast, rank mismatch: ['16'], ['16', '16']": "only axes of length 1 can be",
    "unexpected type pointer<fp32>": "Is a `tl.load` missing?",
    "wrong type argument to unary invert (triton.language.float32)": "it is float32.",
    "arange's end argument must be greater than the start argument": "end is not above start",
    "program_id axis must be 0, 1, or 2 but got 3": "`tl.program_id` takes the axis of the grid",
    "error encountered during parsing": "The compiler gave up and named no line.",
    "Loop-carried variable l_i has initial type <['16'], fp32> but is re-assigned to <['16', '16'], fp32> in loop!": (
        "l_i changes its type within the loop, from (16) fp32 to (16, 16) fp32."
    ),
}


@pytest.mark.parametrize(("complaint", "words"), SAID.items())
def test_complaints_are_put_into_plain_words(complaint: str, words: str) -> None:
    plain = in_plain_words(complaint)
    assert plain is not None
    assert words in plain
    for inner in ("constexpr[", "NoneType", "handle", "'16'", "Tensor"):
        assert inner not in plain
    assert len(plain.split(". ")) <= 3


def test_what_is_not_known_has_no_plain_words() -> None:
    assert in_plain_words("a complaint of another kind") is None


@pytest.mark.parametrize(
    ("found", "dtypes", "says"),
    [
        (
            "fp16 and fp32",
            {"float32"},
            "The inputs are float32: look for what made one tile fp16, and leave that",
        ),
        ("fp32 and bf16", {"float32", "int32"}, "what made one tile bf16"),
        ("fp32 and fp16", {"float16"}, "The inputs are float16: convert the fp32 tile with .to(tl.float16)."),
        ("fp32 and bf16", {"float16"}, "convert both with .to(tl.float16)."),
        ("fp32 and fp16", {"float16", "float32"}, "Which of them was converted on its way?"),
        ("fp32 and fp16", set(), "Which of them was converted on its way?"),
    ],
)
def test_two_types_in_a_dot_are_brought_to_that_of_the_inputs(found: str, dtypes: set[str], says: str) -> None:
    plain = in_plain_words(f"Both operands must be same dtype. Got {found}", dtypes)
    assert plain is not None
    assert f"these are {found}." in plain
    assert says in plain
