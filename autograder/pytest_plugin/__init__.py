"""A pytest plugin: a course's stub files are collected as exercises and checks; docs/pytest.md explains it.

A stub file is never imported: its items come from the course, and what they say from one grading run an exercise.
Anything else is none of this plugin's business.  Nothing but pytest is imported until a stub file is met.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder.pytest_plugin._items import OPEN, StubFile
from autograder.pytest_plugin._runs import FOLDER, RUNS, Runs

_LARGEST_SEED = 2**31 - 1


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
    seed = config.getoption("--grade-seed")
    if seed is not None and not 0 <= seed <= _LARGEST_SEED:
        raise pytest.UsageError(f"--grade-seed is a whole number from 0 to {_LARGEST_SEED}.")
    config.stash[RUNS] = runs = Runs(config)
    config.pluginmanager.register(_Watch(runs), "autograder-watch")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (runs := config.stash.get(RUNS, None)) is not None:  # it is not there where the options are wrong
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
                    create_missing_stubs(session.config.stash[RUNS].course(folder))
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
        exercises = parent.config.stash[RUNS].exercises(root, file_path)
    except AutograderError as error:
        raise pytest.UsageError(str(error)) from None
    return [StubFile.of(parent, file_path, root, exercises)] if exercises else found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """A stub file that is gone, or no file, is still there to be done: its checks are items as well."""
    for place in _folders(config):
        for folder in (place, *place.parents):
            if (folder / "course" / "course.toml").is_file():
                for path in _gone(config, folder, place):
                    node = StubFile.of(session, path, folder, config.stash[RUNS].exercises(folder, path))
                    known = {item.nodeid for item in items}
                    items += [item for item in session.genitems(node) if item.nodeid not in known]
                break


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What `grade` prints, of the exercises that were graded."""
    runs = config.stash[RUNS]
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
    if exitstatus == pytest.ExitCode.OK and session.config.stash[RUNS].open:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


class _Watch:
    """Sees all reports of a session, also those that other processes of pytest-xdist send."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if OPEN in map(tuple, report.user_properties):
            self._runs.open.add(report.nodeid)


def _folders(config: pytest.Config) -> Iterator[Path]:
    """The folders that pytest was asked to collect."""
    for argument in config.args:
        place = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        if "::" not in argument and place.is_dir():
            yield place


def _gone(config: pytest.Config, root: Path, place: Path) -> Iterator[Path]:
    """The stub files of a course within ``place`` that are not there.

    Raises:
        pytest.UsageError: the course is malformed.
    """
    assignments = root / FOLDER
    if not (assignments.is_relative_to(place) or place.is_relative_to(assignments)):
        return
    from autograder.errors import AutograderError

    try:
        exercises = config.stash[RUNS].course(root).exercises
    except AutograderError as error:
        raise pytest.UsageError(str(error)) from None
    for stub in dict.fromkeys(exercise.stub for exercise in exercises):
        path = assignments / stub
        if path.is_relative_to(place) and not path.is_file():
            yield path


def _root_of(path: Path) -> Path | None:
    """The course root of a file that may be a stub: one in a lesson's folder, in ``assignments`` beside ``course``."""
    if path.suffix != ".py" or len(path.parents) < 3 or path.parents[1].name != FOLDER:
        return None
    root = path.parents[2]
    return root if (root / "course" / "course.toml").is_file() else None
