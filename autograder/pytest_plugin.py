"""A pytest plugin: a course's stub files are collected as exercises and checks; docs/pytest.md explains it.

A stub file is never imported: its items come from the course, and what they say from one grading run an exercise.
Anything else is none of this plugin's business.  Nothing but pytest is imported until a stub file is met.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from autograder.catalogue import Course, Exercise
    from autograder.result import CheckResult, ExerciseResult, RunResult
    from autograder.session import Grader

_FOLDER = "assignments"
_OPEN = ("autograder", "open")  # on what says nothing yet: not started, or after a failure


class CheckFailed(Exception):
    """A check that did not pass; its text is what `grade` says of it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("autograder", "exercises of a course (autograder)")
    group.addoption(
        "--grade-device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where exercises' kernels run: cpu is Triton's interpreter",
    )
    group.addoption("--grade-seed", type=int, default=None, help="seed of the exercises' inputs, as of `grade --seed`")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RUNS] = runs = Runs(config)
    config.pluginmanager.register(_Watch(runs), "autograder-watch")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (runs := config.stash.get(_RUNS, None)) is not None:
        runs.close()


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a student bundle whose stubs are not in place yet, put them there, as `grade` does."""
    here = session.config.invocation_params.dir
    for folder in (here, *here.parents):
        if (folder / "course" / "course.toml").is_file():
            if (folder / "course" / "pristine").is_dir():
                from autograder.errors import AutograderError
                from autograder.release.stubs import create_missing_stubs

                try:
                    create_missing_stubs(session.config.stash[_RUNS].course(folder))
                except AutograderError as error:
                    raise pytest.UsageError(str(error)) from None
            return


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """A stub file is ours alone: pytest's own collectors would import it, whatever its name is."""
    found = yield
    root = _root_of(file_path)
    if root is None:
        return found
    from autograder.errors import AutograderError

    try:
        exercises = parent.config.stash[_RUNS].exercises(root, file_path)
    except AutograderError as error:
        raise pytest.UsageError(str(error)) from None
    return [StubFile.of(parent, file_path, root, exercises)] if exercises else found


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What `grade` prints, of the exercises that were graded."""
    runs = config.stash[_RUNS]
    for text in runs.reports():
        terminalreporter.section("grade")
        terminalreporter.write_line(text)
    if runs.open:
        many = len(runs.open)
        terminalreporter.write_line(
            f"\n{many} check{'s' if many > 1 else ''} skipped for now: not started, or after a failure. Until "
            f"{'they run and pass' if many > 1 else 'it runs and passes'}, this is no success."
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """As with `grade`, only what is passed is a success: checks that say nothing yet are none."""
    if exitstatus == pytest.ExitCode.OK and session.config.stash[_RUNS].open:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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


class ExerciseNode(pytest.Collector):
    """One exercise: a collector of its public checks, and of the one on GPU targets."""

    root: Path
    exercise: Exercise

    def collect(self) -> Iterable[pytest.Item]:
        line = _line_of(self.path, self.exercise)
        course = self.config.stash[_RUNS].course(self.root)
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
        result = self.config.stash[_RUNS].result(self.root, self.exercise)
        check = next((check for check in result.checks if check.id == self.name), None)
        if result.outcome == "not-started":
            self.user_properties.append(_OPEN)
            self._skip(result.message or "Not started: the stub is as it was handed out.")
        if check is None or check.outcome == "skipped":
            self._not_run(result, check)
        elif check.outcome != "pass":
            raise CheckFailed(_story(result, check))

    def _not_run(self, result: ExerciseResult, check: CheckResult | None) -> None:
        """Skipped for good where this machine cannot run it; otherwise until what stands in its way is put right."""
        from autograder.result import AFTER_A_FAILURE

        ran = [other for other in result.checks if other.outcome != "skipped"]
        if not ran and result.outcome != "skipped":
            raise CheckFailed(_story(result, None))  # refused, or a fault of the grader: there is no check to say so
        if result.counts and not (check is not None and ran and check.message != AFTER_A_FAILURE):
            self.user_properties.append(_OPEN)
        reason = check.message if check is not None and ran else result.message
        self._skip(reason or "Not run.")

    def _skip(self, reason: str) -> NoReturn:
        skipped = pytest.skip.Exception(reason)
        skipped._use_item_location = True  # then the summary names the stub's line, and not this one
        raise skipped

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """What `grade` says, without a traceback; faults of other kinds as pytest shows them."""
        from autograder.errors import AutograderError

        if isinstance(excinfo.value, (CheckFailed, AutograderError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, the line of the exercise's function (from 0), and the item in words."""
        return self.path, self.line, f"{self.exercise.id}: {self.name}"


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
        stub = path.relative_to(root / _FOLDER).as_posix()
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
                print_run(make_console(stream, plain=True), whole, plain=True)
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
        request = Request(root / _FOLDER, (exercise,), DEFAULT_SEED if seed is None else seed)
        return self._graders[root].grade(request)


class _Watch:
    """Sees all reports of a session, also those that other processes of pytest-xdist send."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if _OPEN in map(tuple, report.user_properties):
            self._runs.open.add(report.nodeid)


_RUNS = pytest.StashKey[Runs]()


def open_grader(course: Course, device: str) -> Grader:
    """The grader of this session, as `grade` makes it.

    Raises:
        EnvironmentProblem: this machine lacks what is needed.
        WorkerError: the worker cannot be started.
    """
    from autograder import warm

    return warm.open_grader(course, device)


def _root_of(path: Path) -> Path | None:
    """The course root of a file that may be a stub: one in a lesson's folder, in ``assignments`` beside ``course``."""
    if path.suffix != ".py" or len(path.parents) < 3 or path.parents[1].name != _FOLDER:
        return None
    root = path.parents[2]
    return root if (root / "course" / "course.toml").is_file() else None


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
    print_story(make_console(stream, plain=True), told, plain=True)
    return stream.getvalue().rstrip()
