"""Grade one submission as the course does, in Gradescope's container, and write its ``results.json``.

A fault of the grader writes no results: Gradescope then says that the autograder failed and gives no score, where a
score of 0 would be the student's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autograder import doctor
from autograder.bridges import checks_document
from autograder.bulk.secret import load_secret
from autograder.catalogue import Course, load_course
from autograder.errors import EXIT_FAULT, EXIT_OK, CourseError, EnvironmentProblem, HandInError
from autograder.gradescope._cores import allowed_cores
from autograder.plan import Reference
from autograder.protocol import printable
from autograder.release.files import write_whole
from autograder.result import RunResult
from autograder.session import Grader, Request, blank_run

SETTINGS = "gradescope.json"
# Each keeps what a kernel's process runs from reading the solutions, which only root may read.
_HIDING = ("spare uid", "landlock", "bubblewrap")
_CORES = 4  # more are not worth their memory for one hand-in


def check(source: Path) -> int:
    """Grade the solutions and print the layers of the sandbox; what is wrong shall show while the image is built.

    Raises:
        CourseError: a solution does not pass.
        EnvironmentProblem: nothing can be graded here, or not safely.
    """
    course = load_course(source)
    with _grader(course) as grader:
        result = grader.grade(_request(course, course.root / "solutions", _settings(source)))
        print("Layers around a submission: " + ", ".join(grader.sandbox.layers) + ".")
        for sentence in grader.sandbox.missing:
            print(f"Missing: {sentence}")
    for exercise in result.exercises:
        if exercise.counts and not exercise.passed:
            failed = next((one for one in exercise.checks if one.outcome not in ("pass", "skipped")), None)
            why = f"{failed.id}: {failed.message}" if failed is not None else exercise.message
            raise CourseError(f"The solution of {exercise.id} itself is {exercise.outcome} here ({why}).")
    print(f"The solutions pass: {result.score:g} of {result.points:g} points.")
    return EXIT_OK


def grade(source: Path, submission: Path, results: Path) -> int:
    """Grade ``submission`` and write ``results``.

    Raises:
        EnvironmentProblem: nothing can be graded here, or not safely.
        CourseError, WorkerError: the course or the machine is at fault.
    """
    results.unlink(missing_ok=True)
    course = load_course(source)
    settings = _settings(source)
    begin = time.monotonic()
    with _grader(course) as grader:
        request = _request(course, submission, settings)
        try:
            result = grader.grade(request)
        except HandInError as error:
            message = str(error).replace(str(submission), "your submission")
            message = f"{message[:1].upper()}{message[1:]}"
            result = blank_run(grader, request, "not-started", message)
    if faults := _faults(result):
        print("\n".join(["The grader failed, and no score was given:", *faults]))
        return EXIT_FAULT
    document = {**checks_document(result, settings.hidden_checks), "execution_time": round(time.monotonic() - begin)}
    results.parent.mkdir(parents=True, exist_ok=True)
    write_whole(results, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    print(f"{result.score:g} of {result.points:g} points.")
    return EXIT_OK


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the instructor chose when the zip was made; without a lesson it is the whole course."""

    hidden_checks: str
    lessons: tuple[int, ...]


def _settings(source: Path) -> _Settings:
    document = json.loads((source / SETTINGS).read_text(encoding="utf-8"))
    return _Settings(document["hidden_checks"], () if document["lesson"] is None else (document["lesson"],))


def _request(course: Course, hand_in: Path, settings: _Settings) -> Request:
    """What to grade, with its hidden checks; the student is called by the folder, which no message then shows."""
    secret = load_secret(course.root / "solutions" / ".secret")
    reference = Reference.load(course, secret)
    return Request(hand_in, course.select(lessons=settings.lessons), reference=reference, student=hand_in.name)


@contextmanager
def _grader(course: Course) -> Iterator[Grader]:
    """A grader for this container, in which the layers are enough.

    Raises:
        EnvironmentProblem: they are not, or the machine is not fit.
    """
    if sentence := doctor.blocking("cpu"):
        raise EnvironmentProblem(sentence)
    with Grader(course, "cpu", jobs=min(_CORES, allowed_cores())) as grader:
        layers = grader.sandbox.layers
        if grader.sandbox.weak or not set(_HIDING) & set(layers):
            why = " ".join((*grader.sandbox.weak, *grader.sandbox.missing))
            raise EnvironmentProblem(
                f"Nothing keeps a submission from reading the solutions here, so nothing is graded. {why}"
            )
        yield grader


def _faults(result: RunResult) -> list[str]:
    faults = []
    for exercise in result.exercises:
        if exercise.outcome == "grader-error":
            found = next((one.message for one in exercise.checks if one.outcome == "grader-error"), exercise.message)
            faults.append(printable(f"{exercise.id}: {found}"))
    return faults
