"""The nodes of pytest's tree: a stub file, its exercises, their checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from autograder.pytest_plugin._runs import RUNS

if TYPE_CHECKING:
    from autograder.catalogue import Exercise
    from autograder.result import CheckResult, ExerciseResult

OPEN = ("autograder", "open")  # on the report of what says nothing yet: not started, or after a failure


class StubFile(pytest.File):
    """One stub file: a collector of its exercises, in the course's order."""

    root: Path
    exercises: tuple[Exercise, ...]

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, root: Path, exercises: tuple[Exercise, ...]) -> StubFile:
        node: StubFile = cls.from_parent(parent, path=path)
        node.root, node.exercises = root, exercises
        return node

    def collect(self) -> Iterator[pytest.Collector]:
        for exercise in self.exercises:
            node: ExerciseNode = ExerciseNode.from_parent(self, name=exercise.id)
            node.root, node.exercise = self.root, exercise
            yield node


class ExerciseNode(pytest.Class):
    """One exercise: a collector of its public checks, and of the one on GPU targets.

    There is no class behind it: editors draw a level of their tree for each ``pytest.Class``, and for nothing else.
    """

    root: Path
    exercise: Exercise

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        line = _line_of(self.path, self.exercise)
        course = self.config.stash[RUNS].course(self.root)
        names = [(check.id, check.proves) for check in self.exercise.checks]
        if course.gpu_targets:
            names.append(("gpu_targets", "The kernels compile for the course's GPUs."))
        for name, proves in names:
            item: CheckItem = CheckItem.from_parent(self, name=name)
            item.root, item.exercise, item.proves, item.line = self.root, self.exercise, proves, line
            yield item


class CheckItem(pytest.Item):
    """One check.  The first of an exercise to run has the exercise graded; the others read its result."""

    root: Path
    exercise: Exercise
    proves: str
    line: int

    def runtest(self) -> None:
        """Pass, fail with what `grade` says, or be skipped with the reason."""
        result = self.config.stash[RUNS].result(self.root, self.exercise)
        check = next((check for check in result.checks if check.id == self.name), None)
        if result.outcome == "not-started":
            self.user_properties.append(OPEN)
            self._skip(result.message or "Not started: the stub is as it was handed out.")
        if check is None or check.outcome == "skipped":
            self._not_run(result, check)
        elif check.outcome != "pass":
            raise AssertionError(_story(result, check))

    def _not_run(self, result: ExerciseResult, check: CheckResult | None) -> None:
        """Skipped for good where this machine cannot run it; otherwise until what stands in its way is put right."""
        from autograder.result import AFTER_A_FAILURE

        ran = [other for other in result.checks if other.outcome != "skipped"]
        if not ran and result.outcome != "skipped":
            raise AssertionError(_story(result, None))  # refused, or a fault of the grader: there is no check to say so
        if result.counts and not (check is not None and ran and check.message != AFTER_A_FAILURE):
            self.user_properties.append(OPEN)
        reason = check.message if check is not None and ran else result.message
        self._skip(reason or "Not run.")

    def _skip(self, reason: str) -> NoReturn:
        skipped = pytest.skip.Exception(reason)
        skipped._use_item_location = True  # then the summary names the stub's line, and not this one
        raise skipped

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """What `grade` says, without a traceback; faults of other kinds as pytest shows them.

        A check that failed raises a plain AssertionError: editors take any other exception for a broken test.
        """
        from autograder.errors import AutograderError

        if isinstance(excinfo.value, (AssertionError, AutograderError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line of the exercise's function (from 0), and the item in words."""
        return self.path, self.line, f"{self.exercise.id}: {self.name}"


def _line_of(path: Path, exercise: Exercise) -> int:
    """Where an exercise's function begins, from 0; the file's first line where it has none."""
    from autograder.handin import definitions, read_text

    try:
        found = definitions(read_text(path.read_bytes()) or "")
    except OSError:
        return 0
    lines = [found[function.name][-1] for function in exercise.functions if function.name in found]
    return min(lines, default=1) - 1


def _story(result: ExerciseResult, check: CheckResult | None) -> str:
    """What the terminal's report says of one check that failed, or of an exercise of which nothing ran."""
    import io
    from dataclasses import replace

    from autograder.reports.terminal import make_console, print_story

    told = result
    if check is not None:
        first = next((other for other in result.checks if other.outcome not in ("pass", "skipped")), check)
        told = replace(result, checks=(check,))
        if check.id != first.id:  # what was seen and concluded is told once, with the first
            told = replace(told, clues=(), diagnosis=(), remarks=())
    stream = io.StringIO()
    print_story(make_console(stream, plain=True), told, plain=True, folder="assignments")
    return stream.getvalue().rstrip()
