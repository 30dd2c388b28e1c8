"""What this room hands on: the files of a download, and who handed them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """One file of a download.  ``parts`` are as they came and not yet safe; ``shown`` is safe to print.

    ``size`` is claimed and may lie; ``packed`` is its size in the zip, None on disk.  ``problem`` completes
    "<shown> ..." when the file must not be opened.
    """

    parts: Parts
    shown: str
    size: int
    packed: int | None
    open: Callable[[], BinaryIO]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Top:
    """One entry at the top of a download: a file, or a folder with all files below it."""

    name: str
    is_folder: bool
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A file, and where it goes within the student's folder."""

    parts: Parts
    file: File


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was handed in at one time.  ``order`` is larger for later ones; None if the download does not tell.

    ``names`` are those of its entries at the top of the download.
    """

    files: tuple[Placed, ...]
    order: int | float | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Handed:
    """One student of a download, with all attempts in it, the latest last.

    ``key`` names the student in this LMS for good.  ``label`` begins the id and ``tail``, which sets apart students of
    the same name, ends it; it is empty where the label alone is the id.  ``name`` is the person's, empty if not told.
    """

    key: str
    label: str
    tail: str
    name: str = ""
    lms_id: str | None = None
    late: bool = False
    submitted: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A download understood.  ``unknown`` are names, safe to print, that belong to no student."""

    lms: str
    students: tuple[Handed, ...]
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
