"""``grade bench``: a kernel on this machine's GPU, over a range of sizes, beside what torch has and the GPU's roof.

Nothing here is graded.  Without a GPU there is the plan: the cases, with the bytes and operations of each.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.catalogue import Course, Exercise
from autograder.errors import CourseError, UsageError
from autograder.measured import Measured, measured, measuring_job
from autograder.one_case import case_job, planned
from autograder.plan import Plan
from autograder.pool import Pool
from autograder.protocol import RAN, CheckJob, CheckReply
from autograder.result import Environment


@dataclass(frozen=True, slots=True)
class Size:
    """One case: its length, the operations and the bytes that the task takes at least, and what came of it.

    ``outcome`` is ``pass``, ``fail`` (measured, but what it wrote is wrong), ``not-run`` without a GPU, or one of the
    worker's, with ``message``.
    """

    length: int
    flops: int
    moved: int
    outcome: str
    message: str = ""
    measured: Measured | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """The sizes of one variant of the case, such as ``causal on``; ``dtype`` is that of its arithmetic."""

    variant: Mapping[str, Any]
    dtype: str
    sizes: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Benched:
    """What `grade bench` found.  ``problem`` is set where there is nothing to measure."""

    exercise: str
    labels: Mapping[str, str]
    length: str
    environment: Environment
    series: tuple[Series, ...] = ()
    roof: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""

    @property
    def measured(self) -> bool:
        """Whether a GPU was there."""
        return any(size.outcome != "not-run" for series in self.series for size in series.sizes)

    @property
    def all_right(self) -> bool:
        return not self.problem and all(size.outcome in ("pass", "not-run") for x in self.series for size in x.sizes)


def benchable(course: Course, exercise: Exercise) -> None:
    """Raises UsageError where an exercise says nothing of how it is measured, with those that do."""
    if exercise.bench is None:
        known = ", ".join(one.id for one in course.exercises if one.bench is not None) or "none yet"
        raise UsageError(f"{exercise.id} has nothing to be measured against. Exercises that have: {known}.")


def bench(
    course: Course,
    handin: Path,
    exercise: Exercise,
    environment: Environment,
    progress: Callable[[int, int], None],
) -> Benched:
    """Measure one exercise of a hand-in; ``progress`` gets the number of cases done and of all.

    Raises:
        UsageError: the exercise has no [bench].
        HandInError: there is nothing readable at ``handin``.
        CourseError: its bench.py is broken.
        WorkerError: the worker is gone.
    """
    benchable(course, exercise)
    assert exercise.bench is not None
    plan = planned(course, handin, exercise)
    found = Benched(exercise.id, exercise.bench.baselines, exercise.bench.keys[0], environment)
    if plan.outcome is not None:
        why = plan.message or "The stub is as it was handed out."
        return replace(found, problem=f"{plan.outcome}: {why}")
    cases = [(variant, case) for variant in exercise.bench.variants for case in exercise.bench.cases(variant)]
    replies: list[CheckReply] = []
    if environment.device == "cuda":
        replies = _measured(plan, [case for _, case in cases], progress)
    return collected(found, exercise, replies)


def collected(found: Benched, exercise: Exercise, replies: list[CheckReply]) -> Benched:
    """``found`` with its series: what each reply says of its case, or the plan where there are none."""
    assert exercise.bench is not None
    counts = load_counts(exercise)
    series, roof = [], dict(found.roof)
    left = iter(replies)
    for variant in exercise.bench.variants:
        sizes = []
        cases = exercise.bench.cases(variant)
        for case, value in zip(cases, exercise.bench.values, strict=True):
            size = _size(value, case, counts, next(left, None))
            roof.update(size.measured.roof if size.measured else {})
            sizes.append(size)
        series.append(Series(variant, str(cases[0].get("dtype", "float32")), tuple(sizes)))
    return replace(found, series=tuple(series), roof=roof)


def load_counts(exercise: Exercise) -> types.SimpleNamespace:
    """The functions ``flops(case)`` and ``moved(case)`` of an exercise's bench.py.

    Raises:
        CourseError: it cannot be loaded, or lacks one of them.
    """
    module: dict[str, Any] = {"__name__": "bench", "__file__": str(exercise.bench_file)}
    try:
        exec(compile(exercise.bench_file.read_text(encoding="utf-8"), str(exercise.bench_file), "exec"), module)
        return types.SimpleNamespace(flops=module["flops"], moved=module["moved"])
    except KeyError as error:
        raise CourseError(f"{exercise.bench_file} has no function {error.args[0]}.") from error
    except Exception as error:
        raise CourseError(f"{exercise.bench_file} cannot be loaded: {error!r}") from error


def to_document(found: Benched) -> dict[str, Any]:
    """As it is written as JSON: seconds, bytes, operations."""
    return {"schema": 1, "measured": found.measured, "all_right": found.all_right, **asdict(_plain(found))}


def _plain(found: Benched) -> Benched:
    """The same, with ordinary dictionaries in it."""
    series = tuple(Series(dict(x.variant), x.dtype, x.sizes) for x in found.series)
    return replace(found, series=series, labels=dict(found.labels), roof=dict(found.roof))


def _measured(plan: Plan, cases: list[Mapping[str, Any]], progress: Callable[[int, int], None]) -> list[CheckReply]:
    replies: list[CheckReply] = []

    def take(reply: CheckReply, following: CheckJob | None) -> bool:
        replies.append(reply)
        progress(len(replies), len(cases))
        return True

    job = measuring_job(case_job(plan, plan.module(()), (), "cuda"), plan.exercise, cases)
    with Pool("cuda") as pool, pool.crew() as crew:
        crew.run_alone(job, take)
    module = plan.module(())
    return [
        reply
        if reply.outcome == RAN
        else CheckReply(reply.id, reply.outcome, plan.locate(reply.message, module.student_line(reply.line)))
        for reply in replies
    ]


def _size(length: int, case: Mapping[str, Any], counts: types.SimpleNamespace, reply: CheckReply | None) -> Size:
    flops, moved = int(counts.flops(case)), int(counts.moved(case))
    if reply is None:
        return Size(length, flops, moved, "not-run")
    if reply.outcome != RAN:
        outcome = {"violation": "fail"}.get(reply.outcome, reply.outcome)
        return Size(length, flops, moved, outcome, reply.message)
    one = measured(reply)
    if one is None:
        return Size(length, flops, moved, "grader-error", "The worker's answer has no times in it.")
    message = "" if one.right else f"Wrong by up to {one.error:.3g}, where {one.bar:.3g} is allowed."
    return Size(length, flops, moved, "pass" if one.right else "fail", message, one)
