"""The texts that are compared: each student's file for each stub, as grading finds them.

Of a notebook, which answers many stubs, each gets its own cells: the rest is another stub's, or the same for everyone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from autograder.bulk.hand_ins import HandInPath
from autograder.catalogue import Course
from autograder.errors import HandInError
from autograder.handin import Place, Source, definitions, read_handin, split_lines
from autograder.plan import started_in


@dataclass(frozen=True, slots=True)
class File:
    """One student's text for one stub; of a notebook with empty lines where other cells are.

    ``answers`` are all stubs of which it has functions.
    """

    student: str
    stub: str
    source: Source
    text: str
    answers: frozenset[str]


def files_of(course: Course, hand_ins: Sequence[HandInPath], unread: list[str]) -> Iterator[File]:
    """Every file of every hand-in that is read as text; what could not be goes to ``unread``: students, and files.

    Raises:
        CourseError: a stub of the course is broken.
    """
    started = started_in(course)
    names: dict[Place, frozenset[str]] = {}
    for exercise in course.exercises:
        place = Place(exercise.lesson, exercise.file)
        names[place] = names.get(place, frozenset()) | {function.name for function in exercise.functions}
    owned = frozenset[str]().union(*names.values())
    for hand_in in hand_ins:
        try:
            found = read_handin(hand_in.path, tuple(names), names, started)
        except HandInError:
            unread.append(hand_in.student)
            continue
        refused = {source.path for source in found.sources.values() if source.text is None}
        unread += [f"{hand_in.student}: {path}" for path in sorted(refused)]
        for place, source in found.sources.items():
            if source.text is not None:
                text = _own_cells(source, names[place], owned)
                found_in = definitions(text).keys()
                answers = frozenset(str(other) for other, functions in names.items() if functions & found_in)
                yield File(hand_in.student, str(place), source, text, answers)


def _own_cells(source: Source, own: Collection[str], owned: Collection[str]) -> str:
    """The text without the cells that define nothing, or functions of other stubs (``owned`` by any) and none here."""
    assert source.text is not None
    if not source.cells:
        return source.text
    starts = sorted(source.cells)
    defined: dict[int, set[str]] = {}
    for name, lines in definitions(source.text).items():
        for line in lines:
            defined.setdefault(_cell(starts, line), set()).add(name)
    kept = {cell for cell, names in defined.items() if not names.isdisjoint(own) or names.isdisjoint(owned)}
    numbered = enumerate(split_lines(source.text), 1)
    return "\n".join(line if _cell(starts, number) in kept else "" for number, line in numbered)


def _cell(starts: Sequence[int], line: int) -> int:
    """Which of the cells, that begin at the lines ``starts``, a line is in."""
    return bisect_right(starts, line)
