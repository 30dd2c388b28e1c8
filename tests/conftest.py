"""What all rooms' tests share: the course, and one grader that keeps its worker warm."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course, load_course
from autograder.pool import Pool
from autograder.pool import _pool as pool_module
from autograder.session import Grader

ROOT = Path(__file__).parents[1]

# A run in the background, or under nohup, ignores these signals, and so would every process that a test starts.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="session")
def cpu_grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu") as grader:
        yield grader


@pytest.fixture(scope="session")
def pool_without() -> Callable[..., Pool]:
    """Makes a pool, for a ``with``, whose worker lacks layers of the sandbox: ``pool_without("cpu", "landlock")``."""

    def make(device: str, *layers: str) -> Pool:
        with pytest.MonkeyPatch.context() as patch:
            program = str(ROOT / "tests" / "security" / "lacking_worker.py")
            patch.setattr(pool_module, "_PROGRAM", (program, ",".join(layers)))
            return Pool(device)

    return make


@pytest.fixture(scope="session")
def nbgrader_python() -> Path:
    """A Python with nbgrader: the running one, or that of .venv-nbgrader, which `make test-exhaustive` sets up."""
    for candidate in (Path(sys.executable), ROOT / ".venv-nbgrader" / "bin" / "python"):
        if candidate.exists():
            probe = subprocess.run([candidate, "-c", "import nbgrader.api"], capture_output=True, check=False)
            if probe.returncode == 0:
                return candidate
    pytest.skip("no nbgrader, neither here nor in .venv-nbgrader")


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def grade(tmp_path: Path) -> Run:
    """Runs ``grade`` as a user would, in another process, from an empty folder unless told otherwise."""
    return _runner("autograder.cli.grade", tmp_path)


@pytest.fixture
def course_command(tmp_path: Path) -> Run:
    """Runs ``course`` as a user would."""
    return _runner("autograder.cli.course", tmp_path)


def _runner(module: str, folder: Path) -> Run:
    def run(*arguments: str | Path, cwd: Path = folder, text: str | None = None) -> subprocess.CompletedProcess[str]:
        import os

        environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
        command = [sys.executable, "-m", module, *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, input=text, env=environment)

    return run


# Files that take minutes begin first, so that none is left to itself at the end (with `--no-loadscope-reorder`).
_LONGEST = ("tests/bulk/test_whole_class.py",)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is marked ``sampled`` all but the first of every three cases get the mark ``exhaustive``."""
    seen: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % 3:
                item.add_marker(pytest.mark.exhaustive)
            seen[test] += 1
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))
