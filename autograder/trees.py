"""Python text to a syntax tree, one at a time in this process."""

from __future__ import annotations

import ast
import threading
import warnings

# CPython counts the depth of syntax trees for all threads together, and two at once may end in a SystemError
# (python/cpython#106905).
_one_at_a_time = threading.Lock()


def parse(text: str | bytes) -> ast.Module:
    """The tree of a text, or of a file's bytes.

    What Python would warn of, such as "\\d" in somebody's string, is not ours to complain about.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot read it.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
