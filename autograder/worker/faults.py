"""What a kernel can do wrong while it runs; the text of each is for the student."""

from __future__ import annotations

import warnings

_WARNING = "Logical operators 'and' and 'or' are deprecated for non-scalar tensors"


class Violation(Exception):
    """A memory access outside the buffers, or a change of what must not change."""


class NotOneTruth(Exception):
    """A tile was used where Python wants a single truth value."""


def refuse_tiles_as_truth() -> None:
    """Have the compiler refuse `and` and `or` between tiles, as the interpreter does: as yet Triton only warns."""
    warnings.filterwarnings("error", message=_WARNING, category=UserWarning)
