"""On a CUDA GPU: what the target check foretells on CPU is what happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.devices import find_gpu
from autograder.plan import Reference
from autograder.session import Grader, Request
from tests.targets.refused import REFUSED

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    gpu = find_gpu()
    if gpu is None:
        pytest.skip("no CUDA GPU on this machine")
    with Grader(course, "cuda", gpu.name, targets="off") as grader:
        yield grader


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_no_target_takes_fails_on_the_gpu(course: Course, grader: Grader, tmp_path: Path, name: str) -> None:
    exercise_id, text, _ = REFUSED[name]
    exercise = course.exercise(exercise_id)
    for stub in {item.stub for item in course.exercises}:
        (tmp_path / stub).parent.mkdir(exist_ok=True)
        solution = (course.root / "solutions" / stub).read_text(encoding="utf-8")
        (tmp_path / stub).write_text(solution + (f"\n\n{text}\n" if stub == exercise.stub else ""))
    reference = Reference.load(course, None)
    result = grader.grade(Request(tmp_path, (exercise,), reference=reference)).exercises[0]
    assert result.outcome == "compile-error"
    assert result.score == 0
