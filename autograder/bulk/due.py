"""What is due: each hand-in as grading found it, so that a result of an earlier one is not taken for its grade.

``OUT/hand-ins.json`` is written before anything is graded.  For each student it holds the fingerprints that a result
of today has: that of the hand-in, and of each exercise that a run was asked for.  Whatever stops that run, a result
with other fingerprints is known to be of an earlier hand-in, or of other checks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from autograder.bulk.hand_ins import HandInPath, fingerprint, list_hand_ins
from autograder.errors import UsageError
from autograder.release.files import write_whole
from autograder.result import RunResult

HAND_IN = "hand-in"  # the key of the hand-in's own fingerprint; the others are ids of exercises

Fingerprints = Mapping[str, str]


@dataclass(frozen=True)
class Due:
    """``students`` are all whose hand-ins the latest grading found, with what is known of each; ``folder`` held them.

    As long as the folder is there, what lies in it now counts, and not what grading found.
    """

    students: Mapping[str, Fingerprints] = field(default_factory=dict)
    folder: Path | None = None

    @cached_property
    def _there(self) -> Mapping[str, Path]:
        """The hand-ins that lie in the folder now; none if it is not at hand."""
        try:
            found = list_hand_ins(self.folder)[0] if self.folder is not None else ()
        except UsageError:
            return {}
        return {one.student: one.path for one in found if _is_readable(one.path)}

    @property
    def everyone(self) -> Collection[str]:
        """Ids of all who handed in, as far as is known."""
        return {*self.students, *self._there}

    def outdated(self, student: str, result: RunResult, exercises: Collection[str]) -> str:
        """What makes a result one of the past, completing "graded ..."; empty if nothing does.

        Only ``exercises``, those of the course, are looked at: no run grades another again.
        """
        due = self.students.get(student, {})
        there = self._there.get(student)
        hand_in = fingerprint(there) if there is not None and HAND_IN in result.fingerprints else due.get(HAND_IN)
        if _differ(hand_in, result.fingerprints.get(HAND_IN)):
            return "before the hand-in changed"
        changed = [
            item.id
            for item in result.exercises
            if item.id in exercises and _differ(due.get(item.id), result.fingerprints.get(item.id))
        ]
        return f"before {' and '.join(changed)} changed" if changed else ""

    def found(self, hand_ins: Iterable[HandInPath], folder: Path) -> Due:
        """As grading finds it: the hand-ins in ``folder`` as they are now.  One that cannot be read is as it was."""
        now = {}
        for one in hand_ins:
            known = self.students.get(one.student, {})
            now[one.student] = {**known, HAND_IN: fingerprint(one.path)} if _is_readable(one.path) else known
        return Due(now, folder.resolve())

    def asked_for(self, students: Iterable[str], marks: Fingerprints) -> Due:
        """With the exercises that a run is about to grade of ``students``, by the ``marks`` that their results get."""
        asked = {student: {**self.students.get(student, {}), **marks} for student in students}
        return replace(self, students={**self.students, **asked})


def _is_readable(path: Path) -> bool:
    return os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0))


def _differ(one: str | None, other: str | None) -> bool:
    """Whether both are known and not the same."""
    return one is not None and other is not None and one != other


def load_due(path: Path) -> Due:
    """What is due by the file at ``path``; nothing if there is none.

    Raises:
        UsageError: the file is damaged.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        students, folder = document["students"], document.get("folder")
        if isinstance(students, list):  # as versions wrote it that noted nothing but the ids
            students = {str(student): {} for student in students}
        found = {student: {key: str(value) for key, value in known.items()} for student, known in students.items()}
        return Due(found, Path(folder) if folder is not None else None)
    except FileNotFoundError:
        return Due()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path} is damaged. Run `course grade` again, or remove the file.") from None


def save_due(path: Path, due: Due) -> None:
    """Write what is due, whole or not at all.

    Raises:
        UsageError: it cannot be written there.
    """
    students = {student: dict(due.students[student]) for student in sorted(due.students)}
    document = {"schema": 2, "folder": str(due.folder) if due.folder is not None else None, "students": students}
    # In ASCII: the name of a folder may hold bytes that are no text.
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())
