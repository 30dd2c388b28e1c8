"""Triton's commonest complaints in plain words: what is wrong at that line, and what to look at."""

from __future__ import annotations

import re

# (what Triton says, what we say); groups are filled in.  The wording of both interpreter and compiler is covered.
_COMPLAINTS: tuple[tuple[str, str], ...] = (
    (
        r"incompatible dimensions at index (\d+): (\d+) and (\d+)",
        "Two tiles of different shapes meet here: {1} against {2} along dimension {0}. "
        "Which index belongs to which axis?",
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
        "tl.dot takes two tiles of one dtype, and these are {0} and {1}. Convert one of them with .to(...).",
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
        "{0} may have no value here. On a GPU a variable that is set within an `if` does not exist after it: "
        "give it a value before.",
    ),
    (
        r"used as tl\.static_range (\w+) value is not a constexpr",
        "tl.static_range is unrolled while compiling and takes compile-time constants only; use range here.",
    ),
    (
        r"Logical operators 'and' and 'or' are deprecated for non-scalar tensors",
        "`and`, `or`, `not` and `if` take a single truth value, and this is a tile of them. "
        "Between tiles write &, | and ~, with parentheses around comparisons.",
    ),
    (r"cannot convert None of type", "Nothing comes back from the function. Is the `return` missing?"),
    (r"not enough values to unpack \(expected (\d+), got (\d+)\)", "{1} values come back where {0} are expected."),
    (r"too many values to unpack \(expected (\d+).*", "More values come back than the {0} that are expected."),
    (
        r"cannot unpack non-iterable .*",
        "One value, or none, comes back where several are expected. Is the `return` complete?",
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
        r"^PassManager::run failed$",
        "The compiler gave up and named no line. Does a kernel return a value? Is a tile or unrolled loop too large?",
    ),
)
_PATTERNS = tuple((re.compile(pattern), text) for pattern, text in _COMPLAINTS)


def in_plain_words(complaint: str) -> str | None:
    """The plain sentence for a complaint of Triton's, or None if it is not a known one."""
    for pattern, text in _PATTERNS:
        if match := pattern.search(complaint):
            return text.format(*[group for group in match.groups() if group is not None])
    return None
