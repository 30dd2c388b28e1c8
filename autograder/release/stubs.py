"""Stubs: made from the solutions where these are at hand, read from the pristine copies where they are not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.catalogue import Course
from autograder.errors import CourseError
from autograder.release.markers import make_stub

PRISTINE = Path("course") / "pristine"


def stub_files(course: Course) -> tuple[str, ...]:
    """The stub files of a course, such as ``lesson7/flash_attention.py``, in teaching order."""
    return tuple(dict.fromkeys(exercise.stub for exercise in course.exercises))


def generate_stubs(course: Course) -> Mapping[str, str]:
    """Every stub's text, by its path, made from the solutions.

    Raises:
        CourseError: a solution is missing or its markers are wrong.
    """
    stubs = {}
    for stub in stub_files(course):
        path = course.root / "solutions" / stub
        try:
            stubs[stub] = make_stub(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
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
