"""Results of a course's first exercise, made by hand."""

from __future__ import annotations

from typing import Any

from autograder.catalogue import Course
from autograder.result import CheckResult, Diagnosis, Environment, ExerciseResult, RunResult, Sandbox

ENVIRONMENT = Environment("cpu", None, "3.9", "2.13", "2.4", "3.11")


def result(
    outcome: str = "fail",
    source: str | None = "a",
    check: str = "ghost_rows",
    message: str = "q is off.",
    exercise: str = "kernel_loads",
    mistake: str = "",
    **where: Any,
) -> ExerciseResult:
    """An exercise whose ``check`` failed with ``message``, and ``where`` it is wrong."""
    failed = CheckResult(check, "tiny", 1.0, False, outcome, "", message, {}, where or None)
    diagnosis = (Diagnosis(mistake, "", 0.0, None),) if mistake else ()
    return ExerciseResult(
        id=exercise,
        lesson=7,
        title="",
        points=1.0,
        score=1.0 if outcome == "pass" else 0.25,
        optional=False,
        outcome=outcome,
        seconds=0.1,
        file="x.py",
        line=1,
        checks=() if outcome == "pass" else (failed,),
        diagnosis=diagnosis,
        source=source,
    )


def run(
    *results: ExerciseResult,
    course: Course,
    seed: int = 7,
    environment: Environment = ENVIRONMENT,
    hidden: bool = False,
) -> RunResult:
    return RunResult("0.1", course.title, seed, hidden, environment, Sandbox(), results)


def counted(wrong: int, tiles: int | None = None, whole: bool = True, output: str = "q") -> dict[str, Any]:
    """Where an output is wrong."""
    more = {"tiles": {"of": "query tile", "wrong": tiles, "all": 8}} if tiles is not None else {}
    return {"output": output, "wrong": wrong, "of": 1000, "whole": whole, **more}
