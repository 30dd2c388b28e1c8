"""Results, rosters and courses made by hand, for rules that need no kernel."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.catalogue import Course, LatePolicy
from autograder.result import Environment, ExerciseResult, RunResult, Sandbox

ENVIRONMENT = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11.7")


def exercise(id: str, score: float, points: float = 2.0, outcome: str | None = None, **more: object) -> ExerciseResult:
    outcome = outcome or ("pass" if score == points else "partial" if score else "fail")
    values = {"lesson": 7, "title": id.replace("_", " ").title(), "optional": False, "seconds": 0.1}
    values |= {"file": "x.py", "line": 3, **more}
    return ExerciseResult(id=id, points=points, score=score, outcome=outcome, **values)  # type: ignore[arg-type]


def run_of(student: str, *exercises: ExerciseResult, error: str | None = None) -> RunResult:
    return RunResult("0.1.0", "Course", 7, True, ENVIRONMENT, Sandbox(), exercises, student=student, error=error)


def write(out: Path, *runs: RunResult) -> Store:
    store = Store(out)
    for run in runs:
        assert run.student is not None
        store.write(run.student, run)
    return store


def with_rules(course: Course, deadline: datetime | None, **policy: object) -> Course:
    lessons = tuple(replace(lesson, deadline=deadline) for lesson in course.lessons)
    return replace(course, lessons=lessons, late=LatePolicy(**policy))  # type: ignore[arg-type]


def asking_for_nothing(course: Course) -> Course:
    """The course without its exercises: whatever a result holds is all there is."""
    return replace(course, lessons=tuple(replace(lesson, exercises=()) for lesson in course.lessons))


def handed_in(student: str, submitted: str | None = None, **more: object) -> Submission:
    time = datetime.fromisoformat(submitted) if submitted else None
    return Submission(student=student, submitted=time, **more)  # type: ignore[arg-type]
