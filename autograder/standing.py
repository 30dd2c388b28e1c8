"""Where a student stands in the course, from what was graded on this machine and the files as they are now.

Nothing is run: the files are parsed, and an outcome counts only for the source that it was found on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.attempts import History, Memory
from autograder.catalogue import Course, Exercise
from autograder.errors import HandInError
from autograder.plan import Plan, plan_exercises

PASSED, PARTIAL, FAILING = "passed", "partial", "failing"
CHANGED = "changed"  # since it was graded
UNGRADED = "not graded"  # begun, and never graded
NOT_STARTED = "not started"
STATES = (PASSED, PARTIAL, FAILING, CHANGED, UNGRADED, NOT_STARTED)


@dataclass(frozen=True, slots=True)
class Standing:
    """One exercise: its state, the score of the last attempt (None before the first) and the number of attempts.

    ``waits_for`` are the exercises that it builds on and that are not passed, ``unlocks`` those that build on it
    and wait for nothing; ``source`` is a hash of the file's part as it is now.
    """

    exercise: Exercise
    state: str
    score: float | None = None
    attempts: int = 0
    waits_for: tuple[str, ...] = ()
    unlocks: tuple[str, ...] = ()
    source: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether this is a good exercise to work at now."""
        return self.state != PASSED and not self.waits_for


def standings(course: Course, handin: Path, device: str | None = None) -> tuple[Standing, ...]:
    """All exercises in the course's order; of attempts on ``device`` alone, if one is named.

    Raises:
        CourseError: a stub of the course is broken.
    """
    histories = Memory(course, handin).histories()
    try:
        plans = {plan.exercise.id: plan for plan in plan_exercises(course, handin, course.exercises, None)[0]}
    except HandInError:  # nothing there: nothing started
        plans = {}
    found = []
    for exercise in course.exercises:
        known = histories.get(exercise.id, {})
        chosen = [history for name, history in known.items() if device in (None, name)]
        found.append(_standing(exercise, plans.get(exercise.id), chosen))
    passed = {item.exercise.id for item in found if item.state == PASSED}
    return tuple(_linked(course, item, passed) for item in found)


def _standing(exercise: Exercise, plan: Plan | None, histories: Collection[History]) -> Standing:
    """What the last attempt says, if it was at the file as it is."""
    attempts = sum(history.count for history in histories)
    newest = [history.recent[-1] for history in histories if history.recent]
    if plan is None or plan.outcome == "not-started":
        return Standing(exercise, NOT_STARTED, None, attempts)
    digest, mark = exercise.digest()[:16], plan.mark
    known = [attempt for attempt in newest if (attempt.source, attempt.checks) == (mark, digest)]
    if not known:
        score = newest[-1].score if newest else None
        return Standing(exercise, CHANGED if newest else UNGRADED, score, attempts, source=mark)
    # Of two devices the lower one tells what there is left to do.
    last = min(known, key=lambda attempt: (attempt.passed, attempt.score))
    state = PASSED if last.passed else PARTIAL if last.outcome == "partial" else FAILING
    return Standing(exercise, state, last.score, attempts, source=mark)


def _linked(course: Course, item: Standing, passed: Set[str]) -> Standing:
    waits_for = tuple(need for need in item.exercise.needs if need not in passed)
    builds_on_it = [other for other in course.exercises if item.exercise.id in other.needs]
    unlocks = tuple(other.id for other in builds_on_it if set(other.needs) <= passed)
    return replace(item, waits_for=waits_for, unlocks=unlocks)


def by_id(found: Collection[Standing]) -> Mapping[str, Standing]:
    return {item.exercise.id: item for item in found}
