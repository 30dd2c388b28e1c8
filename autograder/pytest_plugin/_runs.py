"""What was graded in a session of pytest: each exercise once, with one worker for each course."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from autograder.catalogue import Course, Exercise
    from autograder.result import ExerciseResult, RunResult
    from autograder.session import Grader

FOLDER = "assignments"


class Runs:
    """The courses met, one warm grader for each, and the result of every exercise that was asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._courses: dict[Path, Course] = {}
        self._graders: dict[Path, Grader] = {}
        self._results: dict[Path, dict[str, RunResult | Exception]] = {}
        self.open: set[str] = set()

    def course(self, root: Path) -> Course:
        """The course of a root, read once.

        Raises:
            CourseError: it is malformed.
        """
        if root not in self._courses:
            from autograder.catalogue import load_course

            self._courses[root] = load_course(root)
        return self._courses[root]

    def exercises(self, root: Path, path: Path) -> tuple[Exercise, ...]:
        """The exercises whose stub is the file ``path``, if it is one."""
        stub = path.relative_to(root / FOLDER).as_posix()
        return tuple(exercise for exercise in self.course(root).exercises if exercise.stub == stub)

    def result(self, root: Path, exercise: Exercise) -> ExerciseResult:
        """The result of an exercise, graded at the first call.

        Raises:
            AutograderError: it cannot be graded; every check of it says the same.
        """
        results = self._results.setdefault(root, {})
        if exercise.id not in results:
            try:
                results[exercise.id] = self._graded(root, exercise)
            except Exception as error:  # noqa: BLE001 - kept, to be raised for every check
                results[exercise.id] = error
        found = results[exercise.id]
        if isinstance(found, Exception):
            raise found
        return found.exercises[0]

    def reports(self) -> Iterator[str]:
        """For each course the report of what was graded, as plain text."""
        import io
        from dataclasses import replace

        for root, results in self._results.items():
            runs = {id: found for id, found in results.items() if not isinstance(found, Exception)}
            graded = [runs[exercise.id] for exercise in self.course(root).exercises if exercise.id in runs]
            if graded:
                from autograder.reports.terminal import make_console, print_run

                exercises = tuple(run.exercises[0] for run in graded)
                notes = tuple(dict.fromkeys(note for run in graded for note in run.notes))
                stream = io.StringIO()
                whole = replace(graded[0], exercises=exercises, notes=notes)
                print_run(make_console(stream, plain=True), whole, plain=True, folder="assignments")
                yield stream.getvalue().rstrip()

    def close(self) -> None:
        """End the workers."""
        while self._graders:
            self._graders.popitem()[1].close()

    def _graded(self, root: Path, exercise: Exercise) -> RunResult:
        from autograder.session import DEFAULT_SEED, Request

        if root not in self._graders:
            self._graders[root] = open_grader(self.course(root), self._config.getoption("--grade-device"))
        seed = self._config.getoption("--grade-seed")
        request = Request(root / FOLDER, (exercise,), DEFAULT_SEED if seed is None else seed)
        return self._graders[root].grade(request)


RUNS = pytest.StashKey[Runs]()


def open_grader(course: Course, device: str) -> Grader:
    """The grader of this session, as `grade` makes it.

    Raises:
        EnvironmentProblem: this machine lacks what is needed.
        WorkerError: the worker cannot be started.
    """
    from autograder import warm

    return warm.open_grader(course, device)
