"""What a kernel can do wrong while it runs; the text of each is for the student."""

from __future__ import annotations

import warnings

_WARNING = "Logical operators 'and' and 'or' are deprecated for non-scalar tensors"


_TILES_JOINED = (
    "`and` and `or` join single truth values, and here is a tile of them. "
    "Between tiles write & and |, with parentheses around comparisons."
)
SINGLE_TRUTHS = {
    "and": _TILES_JOINED,
    "if": (
        "`if` takes a single truth value, and this is a tile of them. "
        "Choose element by element with `tl.where(condition, a, b)`."
    ),
    "else": (
        "`a if condition else b` takes a single truth value, and this is a tile of them. "
        "Choose element by element with `tl.where(condition, a, b)`."
    ),
    "while": (
        "`while` takes a single truth value, and this is a tile of them. "
        "Reduce the tile to one value, as `tl.max` does, or count with a number."
    ),
    "max": (
        "Python's `max` and `min` compare two values or more. "
        "The largest or smallest of a tile is `tl.max(tile, axis)` or `tl.min(tile, axis)`."
    ),
    "": (
        "A single truth value is wanted here, and this is a tile of them. "
        "Compare two tiles at a time, join with & and |, and choose with `tl.where`."
    ),
}
"""By what stands in the line: that a tile is no single truth value, and what to write."""


class Violation(Exception):
    """A memory access outside the buffers, or a change of what must not change."""


class NotOneTruth(Exception):
    """A tile was used where Python wants a single truth value."""


def refuse_tiles_as_truth() -> None:
    """Have the compiler refuse `and` and `or` between tiles, as the interpreter does: as yet Triton only warns."""
    warnings.filterwarnings("error", message=_WARNING, category=UserWarning)
