"""Stubs: made from the solutions where these are at hand, read from the pristine copies where they are not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from autograder.catalogue import Course
from autograder.errors import CourseError
from autograder.release.markers import make_stub, refuse_given_away

PRISTINE = Path("course") / "pristine"
_LEDGER = ".handed-out.json"


def stub_files(course: Course) -> tuple[str, ...]:
    """The stub files of a course, such as ``lesson7/flash_attention.py``, in teaching order."""
    return tuple(dict.fromkeys(exercise.stub for exercise in course.exercises))


def generate_stubs(course: Course) -> Mapping[str, str]:
    """Every stub's text, by its path, made from the solutions.

    Raises:
        CourseError: a solution is missing.
        MarkerError: its markers are wrong, or a function that students are to write has no region.
    """
    stubs = {}
    for stub in stub_files(course):
        path = course.root / "solutions" / stub
        try:
            solution = path.read_text(encoding="utf-8")
        except OSError as error:
            raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
        except UnicodeDecodeError as error:
            raise CourseError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
        stubs[stub] = make_stub(solution, str(path))
        owners = [exercise for exercise in course.exercises if exercise.stub == stub]
        names = [function.name for exercise in owners for function in exercise.functions]
        refuse_given_away(solution, stubs[stub], names, str(path))
    return stubs


def pristine_stubs(course: Course) -> Mapping[str, str]:
    """Every stub as it was handed out: a bundle carries copies, an instructor's course makes them from the solutions.

    Raises:
        CourseError: there is neither.
    """
    copies = course.root / PRISTINE
    if copies.is_dir():
        try:
            return {stub: (copies / stub).read_text(encoding="utf-8") for stub in stub_files(course)}
        except OSError as error:
            raise CourseError(
                f"A pristine stub is missing ({error.filename}). Unpack the course bundle again."
            ) from error
    return generate_stubs(course)


def create_missing_stubs(course: Course) -> tuple[str, ...]:
    """In a student bundle, put stubs that are not in ``assignments/`` there; the paths that were written.

    Bundles carry stubs as pristine copies only, so that unpacking one never touches a student's file.  A stub that is
    exactly as an earlier bundle had it is brought up to date; ``_LEDGER`` remembers what was put there.  Does nothing
    in an instructor's course, which has no pristine copies.

    Raises:
        CourseError: a pristine copy is missing, or ``assignments/`` cannot be written.
    """
    if not (course.root / PRISTINE).is_dir():
        return ()
    folder = course.root / "assignments"
    ledger = _read_ledger(folder / _LEDGER)
    written = []
    try:
        for stub, text in pristine_stubs(course).items():
            path, data = folder / stub, text.encode()
            present = path.read_bytes() if path.exists() else None
            if present == data or (present is not None and _digest(present) != ledger.get(stub)):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            ledger[stub] = _digest(data)
            written.append(stub)
        if written:
            (folder / _LEDGER).write_text(json.dumps(ledger, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CourseError(
            f"The stubs cannot be put into {folder} ({(error.strerror or str(error)).lower()}). "
            "Unpack the bundle where you may write."
        ) from error
    return tuple(written)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_ledger(path: Path) -> dict[str, str]:
    """What was put into ``assignments/`` before; nothing if that cannot be told, which only costs an update."""
    try:
        ledger = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(stub): str(digest) for stub, digest in ledger.items()} if isinstance(ledger, dict) else {}
