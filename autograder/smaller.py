"""The smallest case on which a failing check still fails: lengths halved and flags turned off, one after another.

Deterministic, and bounded: the same kernel gives the same case, after at most `MOST_RUNS` runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from autograder.catalogue import TARGET_TIER, Check, Course
from autograder.one_case import Tried, least, planned, run_cases, step
from autograder.plan import Plan
from autograder.result import ExerciseResult
from autograder.scoring import SHRINKABLE
from autograder.session import Grader, Request

MOST_RUNS = 60


@dataclass(frozen=True, slots=True)
class Smallest:
    """What is left of a failing check: the smallest case that fails, and what it was made from.

    ``runs`` is the number of cases that were run, ``complete`` whether the search came to its end within its bound.
    """

    check: Check
    tried: Tried
    runs: int
    complete: bool

    @property
    def settings(self) -> Mapping[str, Any]:
        """What differs from the check's own case."""
        return {key: value for key, value in self.tried.check.case.items() if value != self.check.case[key]}


def failing_check(exercises: Sequence[ExerciseResult]) -> tuple[str, str] | None:
    """The exercise and the id of the first public check that failed and whose case may be made smaller."""
    for exercise in exercises:
        for check in exercise.checks:
            if check.outcome in SHRINKABLE and not check.hidden and check.tier != TARGET_TIER:
                return exercise.id, check.id
    return None


def smallest_failing(
    course: Course, grader: Grader, request: Request, exercise_id: str, check_id: str
) -> Smallest | None:
    """Search for the smallest case of one check on which a hand-in still fails; None if not even the check fails now.

    Raises:
        HandInError: there is nothing readable at the hand-in's place.
        CourseError: the exercise's oracle fails on a case that its exercise.toml allows.
        WorkerError: the worker is gone.
    """
    exercise = course.exercise(exercise_id)
    check = next(check for check in exercise.checks if check.id == check_id)
    plan = planned(course, request.handin, exercise)
    if plan.outcome is not None:
        return None
    search = _Search(grader, plan, request.seed)
    start = search.first_failing([check])
    if start is None:
        return None
    while search.left > 0:
        smaller = _one_round(search, check, start)
        if smaller is None:
            break
        start = smaller
    return Smallest(check, start, search.runs, search.left > 0)


class _Search:
    """Runs cases and counts them; a failure of another kind is another failure."""

    def __init__(self, grader: Grader, plan: Plan, seed: int) -> None:
        self._grader = grader
        self.plan = plan
        self._seed = seed
        self._outcome: str | None = None
        self._passed: set[tuple[Any, ...]] = set()
        self.runs = 0

    @property
    def left(self) -> int:
        return MOST_RUNS - self.runs

    def first_failing(self, checks: Sequence[Check]) -> Tried | None:
        """The first of some cases that fails as the check does; none is run twice, and no more than are left."""
        new = [check for check in checks if _key(check) not in self._passed][: self.left]
        found: list[Tried] = []

        def take(tried: Tried) -> bool:
            self.runs += 1
            if tried.outcome in SHRINKABLE and self._outcome in (None, tried.outcome):
                self._outcome = tried.outcome
                found.append(tried)
                return False
            self._passed.add(_key(tried.check))
            return True

        if new:
            run_cases(self._grader.pool, self.plan, new, self._seed, self._grader.device, take)
        return found[0] if found else None


def _one_round(search: _Search, check: Check, start: Tried) -> Tried | None:
    """Each setting made as small as it goes, by itself; None if nothing could be made smaller."""
    best = start
    for key in search.plan.exercise.shrink:
        while key in check.case and search.left > 0:
            smaller = search.first_failing(list(_smaller(search.plan, check, best.check, key)))
            if smaller is None:
                break
            best = smaller
    return best if best is not start else None


def _smaller(plan: Plan, check: Check, now: Check, key: str) -> Iterator[Check]:
    """A case with smaller and smaller changes of one setting: first all the way, then half of it, then a quarter ..."""
    value, target = now.case[key], least(plan.exercise, check, key)
    if isinstance(value, bool) or not isinstance(value, int):
        if value != target:
            yield _with(now, key, target)
        return
    unit = step(plan.exercise, check, key)
    low = -(-target // unit)
    steps = value // unit - low
    while steps > 0:
        yield _with(now, key, (value // unit - steps) * unit)
        steps //= 2


def _with(check: Check, key: str, value: Any) -> Check:
    return replace(check, case=MappingProxyType({**check.case, key: value}))


def _key(check: Check) -> tuple[Any, ...]:
    return tuple(sorted(check.case.items()))
