"""The autograder zip for Gradescope: two scripts, the course with its solutions, the wheel, and what to install.

It follows "Autograder Specifications" of Gradescope's autograder documentation,
https://gradescope-autograders.readthedocs.io/en/latest/specs/: ``setup.sh`` runs once as root while an image is built,
``run_autograder`` for each submission, and the zip's contents lie in ``/autograder/source``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder import __version__
from autograder.bulk.secret import load_secret
from autograder.catalogue import Course
from autograder.errors import CourseError
from autograder.gradescope._grading import SETTINGS
from autograder.gradescope._scripts import README, RUN, SETUP
from autograder.machine import version_of
from autograder.release._wheel import build_wheel, read_wheel
from autograder.release.bundle import slug
from autograder.release.files import zip_bytes

# What Gradescope calls the times at which students may read a test.
VISIBILITIES = ("after_published", "after_due_date", "hidden")
_PINNED = ("torch", "triton", "numpy")
_JUNK = ("__pycache__",)


@dataclass(frozen=True, slots=True)
class Package:
    """A finished zip: its file name, its bytes, and what is in it by path."""

    name: str
    data: bytes
    files: Mapping[str, bytes]


def make_package(
    course: Course, hidden_checks: str = VISIBILITIES[0], wheel: Path | None = None, lesson: int | None = None
) -> Package:
    """The autograder zip; ``hidden_checks`` is one of `VISIBILITIES`.  It holds the solutions and the secret.

    With a ``lesson`` it grades that lesson alone; the whole course goes along, as lessons build on each other.

    Raises:
        CourseError: a file of the course cannot be read.
        UsageError: the wheel is none of this kit, or cannot be built; or there is no such lesson.
    """
    exercises = course.select(lessons=() if lesson is None else (lesson,))
    built = read_wheel(wheel) if wheel is not None else build_wheel(course.root)
    load_secret(course.root / "solutions" / ".secret")  # made now, so that `course grade` here draws the same inputs
    files = dict(_course_files(course))
    files[f"wheels/{built.name}"] = built.data
    files["requirements.txt"] = _requirements().encode()
    settings = {"schema": 1, "hidden_checks": hidden_checks, "lesson": lesson}
    files[SETTINGS] = (json.dumps(settings) + "\n").encode()
    part = "" if lesson is None else f", lesson {lesson}"
    points = sum(exercise.points for exercise in exercises if not exercise.optional)
    files["README.txt"] = README.format(title=course.title, part=part, points=f"{points:g}").encode()
    files["setup.sh"], files["run_autograder"] = SETUP.encode(), RUN.encode()
    data = zip_bytes(files, programs=("setup.sh", "run_autograder"))
    name = slug(course.title) + ("" if lesson is None else f"-lesson{lesson}")
    return Package(f"{name}-{__version__}-gradescope-autograder.zip", data, files)


def _requirements() -> str:
    """The versions that this machine grades with, so that the same hand-in gets the same grade there."""
    found = ((name, version_of(name)) for name in _PINNED)
    return "".join(f"{name}=={version.partition('+')[0]}\n" for name, version in found if version is not None)


def _course_files(course: Course) -> Iterator[tuple[str, bytes]]:
    yield "course/course.toml", _read(course.root / "course" / "course.toml")
    for folder in (*(exercise.folder for exercise in course.exercises), course.root / "solutions"):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink() and not set(_JUNK) & set(path.parts):
                yield path.relative_to(course.root).as_posix(), _read(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}), and grading needs it.") from error
