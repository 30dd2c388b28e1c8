"""One grader for all attacks; the solutions are graded first, so that what an attack leaves alone is known already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.result import RunResult
from autograder.session import Grader

from .making import RIGHT_PIN, function, grade, hostile, write


@pytest.fixture(scope="package")
def grader(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        folder = write(tmp_path_factory.mktemp("honest"), hostile(function("pin_ghost_rows", RIGHT_PIN)))
        result = grade(grader, course, folder)
        assert result.score == result.points
        yield grader


@pytest.fixture
def attack(grader: Grader, course: Course, tmp_path: Path) -> Callable[..., RunResult]:
    """Grades the solutions with a hostile text at the end of one file."""

    def attack(text: str, *stub: str, also: dict[str, str] | None = None) -> RunResult:
        return grade(grader, course, write(tmp_path / "handin", hostile(text, *stub) | (also or {})))

    return attack


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[str]:
    """The path, as a literal of Python, of a file that hostile code tries to create."""
    path = tmp_path / "trap"
    yield repr(str(path))
    assert not path.exists(), "code of the hand-in was run"
