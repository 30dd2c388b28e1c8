"""The student bundle: one zip with the public parts of the course, pristine stubs, and the wheel.

The zip holds no file under ``assignments/``, so that unpacking a newer bundle over an older one cannot touch started
work.  ``grade`` puts the stubs there at first use, from the copies under ``course/pristine`` (see ``stubs.py``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder import __version__
from autograder.catalogue import Course
from autograder.errors import CourseError, UsageError
from autograder.packed import pack
from autograder.release._student_readme import student_readme
from autograder.release._wheel import build_wheel, read_wheel
from autograder.release.files import copy_aside, write_whole, zip_bytes
from autograder.release.leaks import refuse_leaks
from autograder.release.lesson_notebooks import lesson_notebooks
from autograder.release.stubs import PRISTINE, generate_stubs

MANIFEST = "MANIFEST.json"
_EXERCISE_FILES = ("exercise.toml", "launch.py", "oracle.py", "handout.md", "hints.md")
SHARED_FOLDERS = ("companions", "lessons", "playground", "notebooks")
# With it `pytest` finds the exercises, and their names do not hang on the folder that it is called in.
_PYTEST_INI = b"[pytest]\ntestpaths = assignments\n"
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
_JUNK = re.compile(r"^[._]|~$|\.(?:pyc|bak.*|orig|rej|swp|tmp)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished bundle: its file name, its bytes, and what is in it by path."""

    name: str
    data: bytes
    files: Mapping[str, bytes]


def make_bundle(course: Course, wheel: Path | None = None) -> Bundle:
    """The student bundle of a course, checked for leaks; the same bytes for the same sources.

    Raises:
        LeakError: it would give something away.
        CourseError: a solution, hidden.toml or a public file of the course is missing or broken.
        UsageError: the wheel is none of this kit, or cannot be built.
    """
    stubs = generate_stubs(course)
    built = read_wheel(wheel) if wheel is not None else build_wheel(course.root)
    files = dict(_public_files(course))
    files |= {(PRISTINE / stub).as_posix(): text.encode() for stub, text in stubs.items()}
    files |= {name: text.encode() for name, text in lesson_notebooks(course, stubs, slug(course.title)).items()}
    files["pytest.ini"] = _PYTEST_INI
    files[f"wheels/{built.name}"] = built.data
    files["README.md"] = student_readme(course, built.name).encode()
    models = dict(_models(course))
    refuse_leaks(course, files | models)
    files |= _packed(models)
    files[MANIFEST] = _manifest(course, files)
    folders = {f"assignments/{Path(stub).parent.as_posix()}" for stub in stubs}
    return Bundle(f"{slug(course.title)}-{__version__}.zip", zip_bytes(files, folders), files)


def release(course: Course, out: Path, wheel: Path | None = None) -> tuple[Bundle, Path, Mapping[str, Path | None]]:
    """Write ``assignments/`` anew and the bundle into the folder ``out``; nothing is written if anything would leak.

    Returns the bundle, its path, and what `write_stubs` returns.

    Raises:
        LeakError, CourseError, UsageError: as ``make_bundle``, or ``out`` cannot be written.
    """
    bundle = make_bundle(course, wheel)
    path = out / bundle.name
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"The folder {out} cannot be made ({(error.strerror or str(error)).lower()}).") from error
    copies = write_stubs(course)
    write_whole(path, bundle.data)
    return bundle, path, copies


def write_stubs(course: Course) -> Mapping[str, Path | None]:
    """Write ``assignments/`` anew from the solutions; what differs from the new stub is copied aside first.

    Returns the copy, if one was made, by the path written, in teaching order.

    Raises:
        CourseError: a solution is missing or its markers are wrong.
        UsageError: a stub cannot be written.
    """
    copies: dict[str, Path | None] = {}
    for stub, text in generate_stubs(course).items():
        path = course.root / "assignments" / stub
        path.parent.mkdir(parents=True, exist_ok=True)
        differs = path.is_file() and path.read_bytes() != text.encode()
        copies[stub] = copy_aside(path) if differs else None
        write_whole(path, text.encode())
    return copies


def grading_files(course: Course) -> Mapping[str, bytes]:
    """What a student's machine needs to grade public checks, by path in the course, checked for leaks.

    Raises:
        LeakError, CourseError: as ``make_bundle``.
    """
    files = {name: data for name, data in _public_files(course) if name.split("/")[1] in ("course.toml", "exercises")}
    files |= {(PRISTINE / stub).as_posix(): text.encode() for stub, text in generate_stubs(course).items()}
    models = dict(_models(course))
    refuse_leaks(course, files | models)
    return files | _packed(models)


def slug(title: str) -> str:
    """A title as a file name: ``mini-flash-attention``, from ``Mini FlashAttention``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title)
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "course"


def _models(course: Course) -> Iterator[tuple[str, bytes]]:
    """The models of mistakes by path: students' graders need them, and students had better not read them."""
    for exercise in course.exercises:
        if exercise.mistakes.exists():
            yield exercise.mistakes.relative_to(course.root).as_posix(), _read(exercise.mistakes)


def _packed(models: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name.removesuffix(".py") + ".packed": pack(text.decode()).encode() for name, text in models.items()}


def _public_files(course: Course) -> Iterator[tuple[str, bytes]]:
    """Public parts by path in the bundle: named one by one or by folder, never whatever lies about."""
    folder = course.root / "course"
    yield "course/course.toml", _read(folder / "course.toml")
    for exercise in course.exercises:
        for name in (*_EXERCISE_FILES, *((exercise.bench_file.name,) if exercise.bench is not None else ())):
            path = exercise.folder / name
            yield path.relative_to(course.root).as_posix(), _read(path)
        for path in _files_below(exercise.folder):
            if path.suffix.lower() in _PICTURES:
                yield path.relative_to(course.root).as_posix(), _read(path)
    for name in SHARED_FOLDERS:
        for path in _files_below(folder / name):
            yield path.relative_to(course.root).as_posix(), _read(path)


def _files_below(folder: Path) -> Iterator[Path]:
    """Regular files of a folder, without junk, links, and what is for instructors by its name."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_symlink() or not path.is_file() or any(_JUNK.search(part) for part in parts):
            continue
        if not any("instructor" in part.lower() or part == "node_modules" for part in parts):
            yield path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}), and students need it.") from error


def _manifest(course: Course, files: Mapping[str, bytes]) -> bytes:
    document = {
        "schema": 1,
        "course": {"title": course.title},
        "kit_version": __version__,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
