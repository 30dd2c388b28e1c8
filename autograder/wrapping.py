"""Whether workers are put into bubblewrap: what the environment variable AUTOGRADER_BUBBLEWRAP asks for."""

from __future__ import annotations

import os

from autograder.errors import UsageError

VARIABLE = "AUTOGRADER_BUBBLEWRAP"
OFF, CUDA = "off", "cuda"


def asked() -> str:
    """``off`` for nowhere, ``cuda`` for everywhere; empty if nothing is asked for: then on CPU alone.

    Raises:
        UsageError: the variable holds another word.
    """
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value not in ("", OFF, CUDA):
        raise UsageError(
            f"The environment variable {VARIABLE} is {value[:20]!r}. Set it to off (no bubblewrap) or cuda (on GPUs as "
            "well), or unset it (on CPU alone)."
        )
    return value


def is_wanted(device: str) -> bool:
    """Whether a worker for ``device`` is to be in bubblewrap, where the machine has it.

    On CUDA only who asks for it: there it has not been tried.

    Raises:
        UsageError: as `asked`.
    """
    return asked() == CUDA if device == "cuda" else asked() != OFF
