"""The course's secret: 128 bits from which the inputs of hidden checks come; made at first use, never released."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from autograder.errors import CourseError

_BYTES = 16


def load_secret(path: Path) -> bytes:
    """The secret at ``path``, which is made if it is not there.

    Raises:
        CourseError: the file holds something else, or cannot be read or written.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(f"{secrets.token_bytes(_BYTES).hex()}\n")
    except FileExistsError:  # another `course grade` was quicker
        pass
    except OSError as error:
        raise CourseError(f"The course's secret {path} cannot be written ({error.strerror}).") from error
    return _read(path)


def _read(path: Path) -> bytes:
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError):
        text = ""
    if not re.fullmatch(r"[0-9a-f]{32}", text):
        raise CourseError(
            f"{path} does not hold the course's secret (32 hexadecimal digits). "
            "Put the right file there, or remove it to have a new one made; hidden inputs then change."
        )
    return bytes.fromhex(text)
