"""Zips of feedback pages that Canvas and Moodle take back: each page under the name that leads to its student.

Canvas finds the student by the ids in the name of a file that it handed out itself: user and attachment, the first
two numbers between underscores (``anon_<id>_<attachment>`` if anonymous).  Without an attachment's id it passes a file
over.  It shows the page under the name of the hand-in that it answers, so that the page for a zip is put into a zip.

Moodle finds the student by the participant's id in the name of the folder, ``Full Name_123_assignsubmission_file_``,
as it writes them itself; the name before the first underscore is for people.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.bulk.grades import StudentGrade
from autograder.bulk.submissions import Submission
from autograder.errors import UsageError
from autograder.release.files import EPOCH, write_whole, zip_bytes

CANVAS, MOODLE = "canvas", "moodle"
_TITLES = {CANVAS: "Canvas", MOODLE: "Moodle"}

_PAGE = "feedback.html"
_LONGEST = 255  # bytes in a file's name, on nearly all file systems
_ATTACHMENT = re.compile(r"(?:^|_)(?:anon_[^_]+|\d+)_\d+_(?!link)")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|_]+")


@dataclass(frozen=True, slots=True)
class Zips:
    """The zips that were written, with the number of students in each, and sentences on who is in none."""

    written: Mapping[Path, int]
    notes: tuple[str, ...]


def write_zips(feedback: Path, students: Sequence[StudentGrade]) -> Zips:
    """Put the pages in ``feedback`` into ``canvas.zip`` and ``moodle.zip`` there; a platform without students has none.

    Raises:
        UsageError: a zip cannot be written, or a page cannot be read.
    """
    written: dict[Path, int] = {}
    notes: list[str] = []
    for lms, name_of in ((CANVAS, canvas_name), (MOODLE, moodle_name)):
        path = feedback / f"{lms}.zip"
        title = _TITLES[lms]
        theirs = [item for item in students if item.submission and item.submission.lms.casefold() == lms]
        named = [(name, item) for item in theirs if (name := name_of(item)) is not None]
        unnamed = [item.student for item in theirs if name_of(item) is None]
        if not theirs:
            notes.append(f"No zip for {title}: no hand-in was collected from a {title} download.")
        elif unnamed:
            notes.append(
                f"Not in the zip for {title}, since what it called their hand-in is not known: {', '.join(unnamed)}. "
                "Run `course collect` and `course grade` again."
            )
        if named:
            write_whole(path, _zip((name, feedback / f"{item.student}.html") for name, item in named))
            written[path] = len(named)
        else:
            path.unlink(missing_ok=True)  # one of an earlier class would be taken for this one's
    return Zips(written, tuple(notes))


def canvas_name(student: StudentGrade) -> str | None:
    """The name of a page in Canvas's zip; None if no name of the student's files in the download is known."""
    names = [PurePosixPath(name).name for name in (student.submission.original if student.submission else ())]
    known = sorted((name for name in names if _ATTACHMENT.search(name)), key=lambda name: not _is_zip(name))
    if not known:
        return None
    return known[0] if _is_zip(known[0]) or known[0].lower().endswith(".html") else _fitting(known[0], ".html")


def moodle_name(student: StudentGrade) -> str | None:
    """The name of a page in Moodle's zip; None if the participant's id is not known."""
    submission = student.submission
    number = _participant(submission) if submission else None
    if submission is None or number is None:
        return None
    name = _UNSAFE.sub(" ", submission.name or student.name).strip(" .") or "Participant"
    return f"{name[:60]}_{number}_assignsubmission_file_/{_PAGE}"


def _participant(submission: Submission) -> str | None:
    found = re.search(r"(\d+)\s*$", submission.lms_id or "", re.ASCII)
    return found[1] if found else None


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _fitting(name: str, ending: str) -> str:
    """``name`` with another ending, cut where it would be too long; the ids come first, and stay."""
    while len((name + ending).encode("utf-8", "surrogateescape")) > _LONGEST:
        name = name[:-1]
    return name + ending


def _zip(pages: Iterable[tuple[str, Path]]) -> bytes:
    """The same bytes for the same pages; one page at a time is held besides."""
    stream = io.BytesIO()
    seen: set[str] = set()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(pages):
            if name in seen:
                raise UsageError(f"Two students have {name} in the download. Run `course collect` again.")
            seen.add(name)
            try:
                data = path.read_bytes()
            except OSError as error:
                raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from None
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, wherever it is made
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, zip_bytes({_PAGE: data}) if _is_zip(name) else data)
    return stream.getvalue()
