"""Triton's commonest complaints in plain words: what is wrong at that line, and what to look at."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from autograder.worker.faults import SINGLE_TRUTHS

# (what Triton says, what we say); groups are filled in.  The wording of both interpreter and compiler is covered.
_COMPLAINTS: tuple[tuple[str, str], ...] = (
    (
        r"incompatible dimensions at index (\d+): (\d+) and (\d+)",
        "Two tiles of different shapes meet here: {1} against {2} along axis {0}. Which index belongs to which axis?",
    ),
    (
        r"could not be broadcast together with shapes? (.*)|shape mismatch: (.*)",
        "Two tiles of different shapes meet here ({0}). Which index belongs to which axis?",
    ),
    (r"arange's range must be a power of 2", "tl.arange must span a power of two, and here it does not."),
    (
        r"arange's arguments must be of type tl\.constexpr",
        "tl.arange takes compile-time constants only. A sequence length is known at run time: "
        "use the BLOCK sizes and a mask.",
    ),
    (
        r"Shape element \d+ must be a power of 2",
        "Every side of a tile must be a power of two, and here one is not.",
    ),
    (
        r"Both operands must be same dtype\. Got (\S+) and (\S+)",
        "tl.dot takes two tiles of one dtype, and these are {0} and {1}.",
    ),
    (
        r"Input shapes should have M >= (\d+), N >= (\d+) and K >= (\d+)",
        "tl.dot needs tiles of at least {0} x {2} times {2} x {1} on this target.",
    ),
    (
        r"First input shape \((.*?)\) and second input shape (.*?) are not compatible for matmul.*",
        "tl.dot cannot multiply tiles of shapes {0} and {1}: the inner sides differ. Is one of them to be transposed?",
    ),
    (
        r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop",
        "{0} changes its type within the loop, from {1} to {2}. A GPU kernel keeps a variable's dtype and shape.",
    ),
    (
        r"[Mm]ismatched type for (\w+) between (?:then|if) block \((.+?)\) and else block \((.+?)\)",
        "{0} has another type after the `if` than after the `else`: {1} against {2}.",
    ),
    (
        r"^NameError\('(\w+) is not defined'\)$",
        "{0} may have no value here. On a GPU a variable that is first set within an `if` or a loop does not exist "
        "after it: give it a value before.",
    ),
    (
        r"used as tl\.static_range (\w+) value is not a constexpr",
        "tl.static_range is unrolled while compiling and takes compile-time constants only; use range here.",
    ),
    (r"Logical operators 'and' and 'or' are deprecated for non-scalar tensors", SINGLE_TRUTHS["and"]),
    (r"Boolean value of Tensor with more than one value is ambiguous", SINGLE_TRUTHS["if"]),
    (
        r"Ternary expression with dynamic condition has inconsistent types (.+?) and ([^\"]+)",
        "In `a if condition else b` both sides need one type, and here they are {0} and {1}. "
        "Where the condition is a tile, choose with `tl.where(condition, a, b)`.",
    ),
    (r"(?:min|max) requires at least 2 values", SINGLE_TRUTHS["max"]),
    (
        r"simultaneous multiple comparison is not supported",
        "`a < b < c` is not known in this Triton. Write two comparisons, joined with &, with parentheses around each.",
    ),
    (
        r"Cannot bitcast data-type of size (\d+) to data-type of size 1\b",
        "Numbers of {0} bits stand where truth values are wanted, as behind `not`. Compare them with `== 0` or `!= 0`.",
    ),
    (
        r"input and other must have equal reduction dimensions",
        "tl.dot cannot multiply these two tiles: the first has not as many columns as the second has rows. "
        "Is one of them to be transposed?",
    ),
    (
        r"input and other must have equal ranks",
        "tl.dot takes two tiles of two axes each, and here one has more axes or fewer. "
        "Does a reduction before it keep its axis, or is there a `None` too many?",
    ),
    (
        r"Expected pointer argument to have shape \[(.*)\] but got \[(.*)\]",
        "A tile of shape ({0}) is stored where the pointers have shape ({1}). "
        "Does a reduction keep its axis (`keep_dims`), or does a `[:, None]` add one?",
    ),
    (
        r"'(?:constexpr|int|float|bool)' object has no attribute|exceeds dtype primitive_bitwidth",
        "A plain number stands where a tile is wanted. Functions of `tl` take tiles; of numbers that are known while "
        "compiling the kernel, write plain arithmetic, such as `x ** 0.5`.",
    ),
    (
        r"too many indices for tensor of rank (\d+)",
        "More indices than axes: this value has {0}. Was it reduced over all?",
    ),
    (
        r"(?:invalid axis|^axis) (-?\d+)",
        "There is no axis {0} here. Axes are counted from 0: a tile of rows and columns has 0 and 1.",
    ),
    (
        r"[Ff]or loop bounds and step must all be ints",
        "The bounds and the step of a loop must be whole numbers. Divide them with `//` or `tl.cdiv`.",
    ),
    (
        r"invalid operands of type pointer<.*?> and pointer<|cannot add pointers together",
        "Two pointers are combined here. Only whole numbers can be added to a pointer: the offsets from it.",
    ),
    (
        r"invalid operands of type pointer<.*?> and (?:<\[.*?\], )?(?:triton\.language\.)?((?:fp|bf|float|bfloat)\d+)",
        "An offset must be a whole number, and here it is {0}. Is there a `/` where `*` or `//` is meant, or a value "
        "that was loaded?",
    ),
    (
        r"invalid operands of type (.+?) and (.+?)(?:['\")]|$)",
        "These two cannot be combined in this way: {0} and {1}. `&`, `|`, `^` and shifts take whole numbers or truth "
        "values; around each comparison beside them put parentheses.",
    ),
    (
        r"`other` cannot be provided without `mask`",
        "`other=` says what stands where the mask is false, and this `tl.load` has no `mask=`. "
        "Which of its elements exist?",
    ),
    (
        r"(Mask|Other|Value) argument cannot be block type if pointer argument is not a block",
        "A tile is given here with one single address. Is the `tl.arange` missing in the offsets?",
    ),
    (
        r"Unsupported ptr type (.+?) in `(tl\.\w+)`",
        "`{1}` takes a pointer first, and is given {0} here. Is the pointer missing before the offsets?",
    ),
    (
        r"Cannot broadcast, ",
        "A tile is to take a shape that it cannot be stretched to: only axes of length 1 can be. "
        "Which index belongs to which axis?",
    ),
    (
        r"[Uu]nexpected type pointer<",
        "A pointer stands where a number is wanted. Is a `tl.load` missing?",
    ),
    (
        r"wrong type argument to unary (minus|invert) \((.+?)\)",
        "The sign before this value cannot be applied to it: it is {1}. `-` takes numbers, `~` whole numbers or truth "
        "values.",
    ),
    (
        r"arange's end argument must be greater than the start argument",
        "tl.arange(start, end) counts up from start to below end, and here end is not above start.",
    ),
    (
        r"(program_id|num_programs) axis must be 0, 1, or 2 but got (.+?)(?:['\")]|$)",
        "`tl.{0}` takes the axis of the grid, 0, 1 or 2, and is given {1}.",
    ),
    (
        r"mask has unsupported dtype|Mask must have boolean scalar type",
        "A mask holds true or false for each element. Is the comparison missing?",
    ),
    (
        r"Expected dtype \[(.*)\] but got (\w+)",
        "This function takes {0}, and is given {1} here. Convert it with .to(...).",
    ),
    (
        r"cannot convert None of type|'NoneType' object (?:is not|has no)|'NoneType' and|and 'NoneType'",
        "Nothing comes back from the function. Is the `return` missing?",
    ),
    (r"not enough values to unpack \(expected (\d+), got (\d+)\)", "{1} values come back where {0} are expected."),
    (r"too many values to unpack \(expected (\d+).*", "More values come back than the {0} that are expected."),
    (
        r"cannot unpack non-iterable .*",
        "One value, or none, comes back where several are expected. Is the `return` complete?",
    ),
    (
        r"(\w+)\(\) missing \d+ required positional arguments?: ('.*')",
        "`{0}` is given too few arguments here. It takes {1} as well.",
    ),
    (r"got an unexpected keyword argument '(\w+)'", "There is no argument `{0}` here. Is it called otherwise in `tl`?"),
    (r"(\w+)\(\) takes .* positional arguments? but .* given", "`{0}` is given more arguments here than it takes."),
    (r"(\w+)\(\) got multiple values for argument '(\w+)'", "`{0}` is given its argument `{1}` twice here."),
    (
        r"input_precision must be one of|Invalid input_precision",
        '`input_precision=` is given a text that it does not take: "ieee", "tf32" or "tf32x3".',
    ),
    (
        r"out of resource: shared memory, Required: (\d+), Hardware limit: (\d+).*",
        "The kernel needs {0} bytes of shared memory a block, and this GPU has {1}. Smaller tiles need less.",
    ),
    (
        r"numel \((\d+)\) exceeds triton maximum tensor numel \((\d+)\)",
        "A tile of {0} elements is too large: {1} are the most.",
    ),
    (
        r"^PassManager::run failed$|^error encountered during parsing$",
        "The compiler gave up and named no line. Does a kernel return a value, or a tile stand where `while` or `else` "
        "wants one truth value? Is a whole number given to `tl.sqrt` or such? Is a tile or unrolled loop too large?",
    ),
)
_QUOTED = re.compile(r"'(?:constexpr\[)?(\w+)\]?'")
_TYPE = re.compile(r"<\[(.*?)\], (\w+)>")
_INNER = re.compile(r"pointer<(?:triton\.language\.)?(\w+)>|triton\.language\.")
_PATTERNS = tuple((re.compile(pattern), text) for pattern, text in _COMPLAINTS)


def in_plain_words(complaint: str, dtypes: Set[str] = frozenset()) -> str | None:
    """The plain sentence for a complaint of Triton's, or None if it is not a known one.

    ``dtypes`` are those of the kernel's inputs, such as ``float32``.
    """
    for pattern, text in _PATTERNS:
        if match := pattern.search(complaint):
            groups = [_readable(group) for group in match.groups() if group is not None]
            return text.format(*groups) + (_which(groups, dtypes) if text.startswith("tl.dot takes two tiles") else "")
    return None


def _which(found: Sequence[str], dtypes: Set[str]) -> str:
    """Which of a dot's two types is to go, if all inputs are of one: a sentence with a space before it."""
    floats = [name for name in dtypes if "float" in name]
    if len(floats) != 1:
        return " Which of them was converted on its way?"
    name = floats[0]
    others = [dtype for dtype in found if dtype != _SHORT.get(name)]
    if name == "float32" and len(others) == 1:
        return f" The inputs are float32: look for what made one tile {others[0]}, and leave that out."
    which = f"convert the {others[0]} tile" if len(others) == 1 else "convert both"
    return f" The inputs are {name}: {which} with .to(tl.{name})."


_SHORT = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


def _readable(part: str) -> str:
    """What is quoted of Triton, without its way to write types and shapes: ``<['16'], fp32>`` becomes ``(16) fp32``."""
    return _INNER.sub(_plain_type, _QUOTED.sub(r"\1", _TYPE.sub(r"(\1) \2", part)))


def _plain_type(match: re.Match[str]) -> str:
    return f"a pointer to {match[1]}" if match[1] else ""
