"""The texts that are compared: each student's file for each stub, as grading finds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.bulk.hand_ins import HandInPath
from autograder.catalogue import Course
from autograder.errors import HandInError
from autograder.handin import Place, Source, read_handin
from autograder.plan import started_in


@dataclass(frozen=True, slots=True)
class File:
    """One student's text for one stub."""

    student: str
    stub: str
    source: Source
    text: str


def files_of(course: Course, hand_ins: Sequence[HandInPath], unread: list[str]) -> Iterator[File]:
    """Every file of every hand-in that is read as text; students of whom nothing could be read go to ``unread``.

    Raises:
        CourseError: a stub of the course is broken.
    """
    started = started_in(course)
    names: dict[Place, frozenset[str]] = {}
    for exercise in course.exercises:
        place = Place(exercise.lesson, exercise.file)
        names[place] = names.get(place, frozenset()) | {function.name for function in exercise.functions}
    for hand_in in hand_ins:
        try:
            found = read_handin(hand_in.path, tuple(names), names, started)
        except HandInError:
            unread.append(hand_in.student)
            continue
        for place, source in found.sources.items():
            if source.text is not None:
                yield File(hand_in.student, str(place), source, source.text)
