"""What is at work can be told to stop from another thread; the workers stay warm and take the next hand-in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import WorkStopped
from autograder.result import ExerciseResult
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
STUB = "lesson7/one_shot_attention.py"
ENDLESS = "    m = 0\n    while m < 1:\n        m = m * 1\n    return q, k, v\n"


def stopped(grader: Grader, request: Request, at_work: Callable[[], bool]) -> Exception | None:
    """What comes of a request that is told to stop once it is at work."""
    found: list[Exception] = []

    def grade() -> None:
        try:
            grader.grade(request)
        except WorkStopped as error:
            found.append(error)

    thread = threading.Thread(target=grade)
    thread.start()
    while thread.is_alive() and not at_work():
        time.sleep(0.01)
    while thread.is_alive():
        grader.stop()
        thread.join(0.05)
    return found[0] if found else None


def busy(grader: Grader) -> bool:
    """Whether a child is doing a job."""
    return any(crew._busy for crew in list(grader.pool._crews))


def test_checks_stop_and_the_worker_stays(cpu_grader: Grader, course: Course, tmp_path: Path) -> None:
    text = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
    (tmp_path / "lesson7").mkdir()
    (tmp_path / STUB).write_text(text.replace("    return q, k, v\n", ENDLESS, 1), encoding="utf-8")
    exercise = course.exercise("kernel_loads")
    worker = cpu_grader.pool._process.pid
    request = Request(tmp_path, (exercise,), targets=False)
    assert isinstance(stopped(cpu_grader, request, lambda: busy(cpu_grader)), WorkStopped)
    result = cpu_grader.grade(Request(ROOT / "solutions", (exercise,), seed=4711, targets=False))
    assert result.all_passed
    assert cpu_grader.pool._process.pid == worker


def test_without_targets_there_is_no_check_of_them(cpu_grader: Grader, course: Course) -> None:
    """And with them the verdicts of before are taken, so that only the compiler has something to do."""
    exercise = course.exercise("score_mask")
    request = Request(ROOT / "solutions", (exercise,), seed=4711, targets=False)
    (first,) = cpu_grader.grade(request).exercises
    assert [check.id for check in first.checks] == [check.id for check in exercise.checks]
    assert first.passed
    (second,) = cpu_grader.grade(Request(ROOT / "solutions", (exercise,), seed=4711)).exercises
    assert second.checks[:-1] == first.checks
    assert second.checks[-1].id == "gpu_targets"
    assert second.source == first.source


def test_told_to_forget_it_runs_again(cpu_grader: Grader, course: Course) -> None:
    request = Request(ROOT / "solutions", (course.exercise("score_mask"),), seed=4712, targets=False)
    seconds = [
        [check.measurements["seconds"] for check in cpu_grader.grade(request).exercises[0].checks] for _ in range(2)
    ]
    assert seconds[0] == seconds[1]
    cpu_grader.forget()
    again = [check.measurements["seconds"] for check in cpu_grader.grade(request).exercises[0].checks]
    assert again != seconds[0]


def test_a_failure_is_told_before_it_is_known_why(cpu_grader: Grader, course: Course, tmp_path: Path) -> None:
    """Only of what fails: a pass has nothing to be asked about."""
    text = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
    (tmp_path / "lesson7").mkdir()
    (tmp_path / STUB).write_text(text.replace("    return q, k, v\n", "    return q, v, k\n", 1), encoding="utf-8")
    exercises = (course.exercise("kernel_loads"), course.exercise("score_mask"))
    told: list[ExerciseResult] = []
    result = cpu_grader.grade(Request(tmp_path, exercises, targets=False), early=told.append)
    (early,) = told
    assert early.id == "kernel_loads"
    assert early.diagnosis == ()
    whole = result.exercises[0]
    assert whole.diagnosis != ()
    assert (early.outcome, early.score, early.checks) == (whole.outcome, whole.score, whole.checks)


def test_the_compiler_stops_too(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    with Grader(course, "cpu") as grader:
        checks = grader._targets

        def compiling() -> bool:
            return checks._pool is not None and any(crew._busy for crew in list(checks._pool._crews))

        request = Request(ROOT / "solutions", course.exercises[:1])
        assert isinstance(stopped(grader, request, compiling), WorkStopped)
        assert grader.grade(request).all_passed
