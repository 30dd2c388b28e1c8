"""The hand-in zip that a student sends: the files as they are, and a manifest that says with what they were made.

Nothing that is honest is refused: stubs that were not started and files that do not parse are packed as they are.
The manifest is a courtesy to whoever looks into the zip; the course grades the files and trusts none of it.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.catalogue import Course
from autograder.errors import HandInError, UsageError
from autograder.handin import HandIn, Place, read_handin
from autograder.handin._folder import list_folder
from autograder.handin._items import Item, Sieve
from autograder.handin._limits import Budget, Notes, Refused
from autograder.handin._names import Kind, kind_of, lesson_of, show
from autograder.protocol import printable
from autograder.release.bundle import slug
from autograder.release.files import write_whole, zip_bytes
from autograder.result import Environment, RunResult, to_document

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Packed:
    """A finished hand-in: where it is, the packed files with their sizes, and sentences about it."""

    path: Path
    files: Mapping[str, int]
    read_as: Mapping[str, str]
    notes: tuple[str, ...]


def gather(folder: Path) -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """The files to pack, by their path in the zip, and sentences about what was passed over or has another name there.

    ``folder`` may also be a single ``.py`` or ``.ipynb``.

    Raises:
        HandInError: there is no such folder, or no file to hand in.
    """
    try:
        real = folder.resolve(strict=True)
    except (OSError, RuntimeError):
        raise HandInError(f"There is no file or folder {folder}. Name the folder with your files by --dir.") from None
    if real.is_file():
        if kind_of(real.name) not in (Kind.PYTHON, Kind.NOTEBOOK):
            raise HandInError(f"{folder} is no .py or notebook to pack. A .zip can be handed in as it is.")
        name, notes = _name_in_zip(real.name, ()), Notes()
        _say_if_renamed(real.name, name, notes)
        return {name: real.read_bytes()}, notes.all()
    sieve = Sieve(Notes())
    items = list_folder(real, sieve, Budget())
    sieve.finish()
    # A folder that is itself lesson7/ keeps its name, which says where its files belong.
    prefix = f"{real.name}/" if lesson_of(real.name) is not None else ""
    files: dict[str, bytes] = {}
    for item in items:
        if item.kind in (Kind.PYTHON, Kind.NOTEBOOK):
            _pack(item, prefix, files, sieve.notes)
        elif item.kind is Kind.ZIP:
            sieve.notes.add(f"{item.shown} was not packed: an earlier zip would only be in the way.")
    if not files:
        raise HandInError(f"There is no .py or notebook to hand in in {folder}. Name the folder by --dir.")
    return files, sieve.notes.all()


def submit(
    course: Course,
    files: Mapping[str, bytes],
    out: Path,
    environment: Environment,
    score: RunResult | None,
    now: datetime.datetime,
    started: Callable[[Place, str], bool],
) -> Packed:
    """Write the hand-in zip and read it back, to say what the course will find in it.

    ``score`` is the result of a public run, or None.  ``started`` tells a text from the pristine stub of its place, as
    in grading: else another file would be named than the one that is graded.

    Raises:
        UsageError: as `refuse_target`, or ``out`` cannot be written.
    """
    refuse_target(out)
    manifest = _manifest(course, files, environment, score, now)
    write_whole(out, zip_bytes({**files, MANIFEST: manifest}))
    found = _read_back(course, out, started)
    read_as = {str(place): source.path.partition("!")[2] for place, source in found.sources.items()}
    return Packed(out, {name: len(data) for name, data in sorted(files.items())}, read_as, found.notes)


def refuse_target(out: Path) -> None:
    """Stop before work is done for a zip that has no place.

    Raises:
        UsageError: the folder of ``out`` does not exist, or ``out`` is there and no zip.
    """
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent}. Make it, or name another file with --out.")
    if out.exists() and not (out.is_file() and zipfile.is_zipfile(out)):  # a pipe would not end, and is read back
        raise UsageError(f"{out} is there already and is no zip. Name another file with --out.")


def default_out(course: Course, folder: Path, here: Path) -> Path:
    """Where the zip goes unless told: the current folder, but never among the files that are graded.

    A zip beside untouched stubs would be taken for the hand-in the next time.
    """
    name = f"{slug(course.title)}-hand-in.zip"
    inside = folder.resolve() if folder.is_dir() else folder.resolve().parent
    for place in (here.resolve(), course.root.resolve()):
        if not place.is_relative_to(inside):
            return place / name
    return inside.parent / name


def _pack(item: Item, prefix: str, files: dict[str, bytes], notes: Notes) -> None:
    if item.problem is not None:
        notes.add(f"{item.shown} was not packed: it {item.problem}.")
        return
    try:
        with item.open() as stream:
            data = stream.read()
    except Refused as refused:
        notes.add(f"{item.shown} {refused.reason}.")
    except OSError as error:
        notes.add(f"{item.shown} could not be read ({(error.strerror or str(error)).lower()}).")
    else:
        path = prefix + "/".join((*item.folders, item.name))
        name = _name_in_zip(path, files)
        _say_if_renamed(path, name, notes)
        files[name] = data


def _name_in_zip(path: str, taken: Collection[str]) -> str:
    """``path`` as any system can unpack it: bytes that are no UTF-8, line ends and backslashes are replaced."""
    name = re.sub(r"[\n\\]", "\ufffd", printable(path))
    stem, dot, end = name.rpartition(".")
    numbered = (f"{stem}_{number}{dot}{end}" for number in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free not in taken)


def _say_if_renamed(path: str, name: str, notes: Notes) -> None:
    if name != path:
        shown = "/".join(map(show, path.split("/")))
        notes.add(f"{shown} is packed as {name}: not every system could unpack its name.")


def _read_back(course: Course, path: Path, started: Callable[[Place, str], bool]) -> HandIn:
    places = tuple(dict.fromkeys(Place(exercise.lesson, exercise.file) for exercise in course.exercises))
    names = {
        place: frozenset(
            function.name
            for exercise in course.exercises
            if (exercise.lesson, exercise.file) == (place.lesson, place.file)
            for function in exercise.functions
        )
        for place in places
    }
    try:
        return read_handin(path, places, names, started)
    except HandInError as error:
        return HandIn(str(path), {}, (str(error),))


def _manifest(
    course: Course,
    files: Mapping[str, bytes],
    environment: Environment,
    score: RunResult | None,
    now: datetime.datetime,
) -> bytes:
    document = {
        "schema": 1,
        "course": {"title": course.title},
        "kit_version": __version__,
        "made": now.isoformat(timespec="seconds"),
        "environment": asdict(environment),
        "files": [
            {"path": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in sorted(files.items())
        ],
        "public_score": None if score is None else _public_score(score),
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _public_score(score: RunResult) -> dict[str, Any]:
    document = to_document(score)
    kept = ("id", "outcome", "score", "points")
    return {
        "seed": document["seed"],
        "total": document["total"],
        "exercises": [{name: exercise[name] for name in kept} for exercise in document["exercises"]],
    }
