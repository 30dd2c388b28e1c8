"""How much of a download is read and copied.  The grader has its own, smaller limits for what it reads of a hand-in."""

from __future__ import annotations

MB = 1_000_000
MAX_FILE_BYTES = 100 * MB  # a zip with much beside the sources may be big; the grader picks what it reads
MAX_ATTEMPT_BYTES = 200 * MB
MAX_ATTEMPT_FILES = 2000
MAX_DEPTH = 20
MAX_NAME_BYTES = 255  # of any file system
MAX_ID_BYTES = 120  # a result is kept under the id with an ending, and a copy of it under a longer name

MAX_ENTRIES = 200_000  # of a download
MAX_TOP_ENTRIES = 20_000  # below one entry of a folder
MAX_LIST_BYTES = 32 * MB  # the list at the end of a zip
MAX_METADATA_BYTES = 200 * MB  # Gradescope's holds the output of every test of every student

# Deflate reaches 1030 to 1.  Sources and notebooks stay under 50, and what is small does no harm.
BOMB_RATIO = 100
BOMB_BYTES = 10 * MB


def is_bomb(size: int, packed: int | None) -> bool:
    """Whether ``size`` bytes out of ``packed`` ones are more than honest files give."""
    return packed is not None and size > BOMB_BYTES and size > BOMB_RATIO * packed
