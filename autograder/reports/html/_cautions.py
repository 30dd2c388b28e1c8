"""What an instructor should know before reading the numbers: our own faults, missing walls, mixed versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.bulk.grades import ClassGrades, StudentGrade, unread_files
from autograder.reports.html._words import counted

# How `course grade` begins its note on a hand-in that another version of the kit packed.
_SKEW = "Packed with version "


@dataclass(frozen=True, slots=True)
class Caution:
    """A sentence, the students it is about, each with an exercise or without one, and whether it is our fault."""

    text: str
    students: tuple[tuple[StudentGrade, str], ...] = field(default=())
    fault: bool = False


def cautions(grades: ClassGrades) -> tuple[Caution, ...]:
    """All cautions on a class, faults of the grader first."""
    students = grades.students
    return (
        *_faults(students),
        *_public_only(students),
        *_sandboxes(students),
        *_environments(students),
        *_skewed(students),
        *(Caution(note) for note in grades.notes),
    )


def without_hand_in(students: Sequence[StudentGrade]) -> tuple[tuple[StudentGrade, str], ...]:
    """Who has handed in nothing that could be graded, and why."""
    found = []
    for student in students:
        outcomes = {item.result.outcome for item in student.exercises}
        if "grader-error" in outcomes:
            continue
        if student.result.error is not None:
            found.append((student, student.result.error))
        elif unread := unread_files(student.result):
            found.append((student, unread))
        elif outcomes <= {"not-started"}:
            found.append((student, "Nothing is started."))
        elif outcomes <= {"not-started", "skipped"}:
            found.append((student, "Nothing that is started could run on this machine."))
    return tuple(found)


def _faults(students: Sequence[StudentGrade]) -> list[Caution]:
    found = [
        (student, item.result.id)
        for student in students
        for item in student.exercises
        if item.result.outcome == "grader-error"
    ]
    if not found:
        return []
    text = (
        f"The grader failed at {counted(len(found), 'exercise')}. That is no fault of the students: "
        "run `course grade` again, which grades these once more, before grades go out."
    )
    return [Caution(text, tuple(found), fault=True)]


def _public_only(students: Sequence[StudentGrade]) -> list[Caution]:
    found = tuple((student, "") for student in students if not student.result.hidden)
    if not found:
        return []
    return [Caution(f"Graded without hidden checks: {counted(len(found), 'result')}.", found)]


def _sandboxes(students: Sequence[StudentGrade]) -> list[Caution]:
    missing = Counter(layer for student in students for layer in student.result.sandbox.missing)
    return [
        Caution(f"Sandbox layer missing while {counted(number, 'hand-in')} ran: {layer.rstrip('.')}.")
        for layer, number in sorted(missing.items())
    ]


def _environments(students: Sequence[StudentGrade]) -> list[Caution]:
    groups: dict[str, list[StudentGrade]] = {}
    for student in students:
        groups.setdefault(environment_text(student), []).append(student)
    if len(groups) < 2:
        return []
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = [f"{text} ({counted(len(found), 'student')})" for text, found in ordered]
    return [Caution(f"Not all were graded alike: {'; '.join(parts)}.")]


def _skewed(students: Sequence[StudentGrade]) -> list[Caution]:
    groups: dict[str, list[tuple[StudentGrade, str]]] = {}
    for student in students:
        for note in student.result.notes:
            if note.startswith(_SKEW):
                groups.setdefault(note, []).append((student, ""))
    return [Caution(note, tuple(found)) for note, found in sorted(groups.items())]


def environment_text(student: StudentGrade) -> str:
    """Device and versions of one result."""
    result, where = student.result, student.result.environment
    versions = (("triton", where.triton), ("torch", where.torch), ("numpy", where.numpy), ("Python", where.python))
    return ", ".join(
        [f"kit {result.kit_version}", where.gpu or where.device.upper(), *(f"{n} {v}" for n, v in versions if v)]
    )
