"""Text that a bundle holds for the grader and that nobody should read by accident.

The models of mistakes say in torch what a right kernel does.  Packing hides nothing from somebody who wants to see it:
it keeps a spoiler out of searches and of sight.  Standard library only.
"""

from __future__ import annotations

import base64
import textwrap
import zlib

_FIRST = "# Packed for the grader: it holds spoilers.\n"
_LARGEST = 4 * 1024 * 1024


def pack(text: str) -> str:
    """``text`` as lines that say nothing to a reader; the same for the same text."""
    return _FIRST + "\n".join(textwrap.wrap(base64.b64encode(zlib.compress(text.encode(), 9)).decode(), 100)) + "\n"


def unpack(packed: str) -> str:
    """What `pack` was given.

    Raises:
        ValueError: this is none of its results.
    """
    if not packed.startswith(_FIRST):
        raise ValueError("not a packed text")
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(packed.removeprefix(_FIRST)), _LARGEST)
    except zlib.error as error:
        raise ValueError(f"damaged ({error})") from error
    if not unpacker.eof:
        raise ValueError("damaged, or too large")
    return data.decode()
