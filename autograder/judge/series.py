"""From which step on a result is wrong, found from outside: runs of one step, two, three, on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.probes import SeriesView

# How much a sentence tells, from most to least.
BETWEEN, FIRST, NOWHERE = 1, 3, 5

_RESULT = "the result"
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, slots=True)
class Course:
    """One series as it went: by output, for each number of steps, whether it was right."""

    view: SeriesView
    right: Mapping[str, tuple[bool, ...]]

    @property
    def all_right(self) -> bool:
        return all(all(steps) for steps in self.right.values())


def series_clue(courses: Sequence[Course], labels: Mapping[str, str]) -> tuple[int, str] | None:
    """How much it tells, and the sentence about the first series in which something is wrong."""
    told = _clue(courses, labels)
    if told is None:
        return None
    rank, text = told
    scope = courses[0].view.scope
    return (rank, f"{_capital(scope)}: {text}") if scope else (rank, _capital(text) if _is_a_word(text) else text)


def _is_a_word(text: str) -> bool:
    """Whether a sentence does not begin with the name of an output, which keeps its letters."""
    return text.startswith((_RESULT, "with"))


def _clue(courses: Sequence[Course], labels: Mapping[str, str]) -> tuple[int, str] | None:
    fine = [course for course in courses if course.all_right]
    bad = next((course for course in courses if not course.all_right), None)
    if bad is None:
        if not fine:
            return None
        return NOWHERE, f"{_fine(fine)}."
    before = [course for course in courses[: courses.index(bad)] if course.all_right]
    rank, text = _where(bad, labels)
    if before:
        return rank, f"{_fine(before)}; {bad.view.condition or 'elsewhere'}, {text}"
    return rank, text


def _fine(courses: Sequence[Course]) -> str:
    """``without the causal mask the result is right with one to four chunks of keys``."""
    view = courses[0].view
    conditions = " and ".join(course.view.condition for course in courses if course.view.condition)
    said = f"the result is right with one to {_NUMBERS[len(view.steps)]} {_plural(view.of)}"
    return f"{conditions} {said}" if conditions else said


def _where(course: Course, labels: Mapping[str, str]) -> tuple[int, str]:
    view = course.view
    kinds = {name: _kind(steps) for name, steps in course.right.items()}
    wrong = {name: kind for name, kind in kinds.items() if kind != "right"}
    if len(set(kinds.values())) == 1:
        kind = next(iter(kinds.values()))
        return _rank(kind), f"{_told(_RESULT, kind, view.of)}."
    groups: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        groups.setdefault(kind, []).append(labels.get(name, name))
    clauses = [_told(_subject(names, kind), kind, view.of) for kind, names in groups.items()]
    text = f"{', and '.join(clauses)}."
    if len(wrong) == 1 and (more := view.only.get(next(iter(wrong)))):
        text += f" {more}"
    return BETWEEN, text


def _subject(names: Sequence[str], kind: str) -> str:
    """What a clause is about; of several outputs that are right no list is made."""
    if len(names) == 1:
        return names[0]
    return "all else that was compared" if kind == "right" else f"each of {', '.join(names[:-1])} and {names[-1]}"


def _kind(steps: tuple[bool, ...]) -> str:
    """``right``, ``first`` (wrong from the first step on), a number (right before that step, wrong from it on)."""
    if all(steps):
        return "right"
    first = steps.index(False)
    if any(steps[first:]):
        return "now and then " + " and ".join(str(n) for n, ok in enumerate(steps, 1) if not ok)
    return "first" if first == 0 else str(first + 1)


def _rank(kind: str) -> int:
    return FIRST if kind == "first" else BETWEEN


def _told(subject: str, kind: str, of: str) -> str:
    if kind == "right":
        return f"{subject} is right throughout"
    if kind == "first":
        return f"{subject} is wrong already with a single {of}, before any are joined"
    if kind.startswith("now and then "):
        which = kind.removeprefix("now and then ")
        return f"{subject} is wrong with {which} {of if which == '1' else _plural(of)} and otherwise right"
    step = int(kind)
    few = f"{_NUMBERS[step - 1]} {of if step == 2 else _plural(of)}"
    return f"{subject} is right with {few} and wrong from the {_ORDINALS[step]} on"


def _plural(noun: str) -> str:
    """``chunks of keys`` of ``chunk of keys``."""
    head, *rest = noun.split(" ")
    return " ".join([f"{head}s", *rest])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
