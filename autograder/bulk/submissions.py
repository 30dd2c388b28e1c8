"""Who handed in what, and when: what `collect` learns from an LMS download and grading passes on to the exports.

Kept as ``.collected.json`` beside the students' folders, and as ``collected.json`` in the folder of the results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.errors import UsageError
from autograder.release.files import write_whole

COLLECTED = ".collected.json"
AN_EARLIER_ONE = "Nothing in the latest attempt could be used; an earlier one is in the folder."


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's latest attempt.

    ``student`` is the id that the whole kit uses: the name of the folder.  ``lms_id`` is what the download calls the
    student: Canvas's user id, Moodle's participant id, Gradescope's submission id.  ``submitted`` has a time zone, or
    is None where the download does not tell; ``late`` is the LMS's own flag.  ``original`` holds the names that the
    download gave the files (Canvas) or the folder (Moodle) of the latest attempt: feedback is sent back under them.
    """

    student: str
    name: str = ""
    lms: str = "folder"
    lms_id: str | None = None
    submitted: datetime | None = None
    late: bool = False
    attempts: int = 1
    notes: tuple[str, ...] = ()
    original: tuple[str, ...] = ()


def save(path: Path, submissions: Mapping[str, Submission]) -> None:
    """Write the submissions at ``path``, whole or not at all."""
    students = {}
    for student, submission in sorted(submissions.items()):
        record = asdict(submission)
        record["submitted"] = submission.submitted.isoformat() if submission.submitted else None
        students[student] = record
    text = json.dumps({"schema": 1, "students": students}, indent=1, ensure_ascii=False) + "\n"
    write_whole(path, text.encode())


def load(path: Path) -> Mapping[str, Submission]:
    """The submissions at ``path``; none if there is no such file.

    Raises:
        UsageError: it is not a file that `save` wrote.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {student: _submission(record) for student, record in document["students"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path} is damaged. Run `course collect` again, or remove the file.") from None


def _submission(record: Mapping[str, Any]) -> Submission:
    submitted = record["submitted"]
    return Submission(
        student=str(record["student"]),
        name=str(record["name"]),
        lms=str(record["lms"]),
        lms_id=record["lms_id"],
        submitted=datetime.fromisoformat(submitted) if submitted else None,
        late=bool(record["late"]),
        attempts=int(record["attempts"]),
        notes=tuple(record["notes"]),
        original=tuple(record.get("original", ())),
    )
