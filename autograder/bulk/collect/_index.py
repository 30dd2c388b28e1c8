"""Which student of the LMS each folder is: what a later run needs, and what makes a folder known as collect's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import UsageError
from autograder.release.files import write_whole

KEPT = ".attempts"
INDEX = ".index.json"


@dataclass(frozen=True, slots=True)
class Known:
    """A student by the key that the LMS gives; ``order`` is that of the attempt in the folder, if it has one."""

    key: str
    order: int | float | None = None


def save_index(path: Path, known: Mapping[str, Known]) -> None:
    """Write the students by their ids, whole or not at all."""
    students = {student: {"key": one.key, "order": one.order} for student, one in sorted(known.items())}
    # In ASCII: the name of a plain folder may hold bytes that are no text.
    write_whole(path, (json.dumps({"schema": 1, "students": students}, indent=1) + "\n").encode())


def load_index(path: Path) -> Mapping[str, Known]:
    """The students by their ids; none if there is no such file.

    Raises:
        UsageError: it is not a file that `save_index` wrote.
    """
    try:
        students = json.loads(path.read_text(encoding="utf-8"))["students"]
        known = {student: Known(record["key"], record["order"]) for student, record in students.items()}
        if not all(isinstance(one.key, str) and isinstance(one.order, int | float | None) for one in known.values()):
            raise TypeError
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path} is damaged. Collect into a new folder.") from None
    return known
