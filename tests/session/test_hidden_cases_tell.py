"""Hidden cases repeat nothing: a known mistake of lessons 5 and 6 passes all public checks and fails a hidden one."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "mistake",
    [
        "rms_norm/own_eps",
        "rope/ghost_heads_when_interleaved",
    ],
)
def test_a_mistake_that_public_checks_let_through_is_caught_and_named(
    course: Course, cpu_grader: Grader, tmp_path: Path, mistake: str
) -> None:
    id, name = mistake.split("/")
    exercise = course.exercise(id)
    wrong = (ROOT / "tests" / "mistakes" / id / f"{name}.py").read_text(encoding="utf-8")
    solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    stub = tmp_path / exercise.stub
    stub.parent.mkdir()
    stub.write_text(f"{solution}\n\n{wrong}", encoding="utf-8")
    for seed in (7, 1, 2):
        request = Request(tmp_path, (exercise,), seed, Reference.load(course, None))
        [result] = cpu_grader.grade(request).exercises
        assert {check.outcome for check in result.checks if not check.hidden} == {"pass"}
        assert "fail" in {check.outcome for check in result.checks if check.hidden}
        assert [found.mistake for found in result.diagnosis] == [name]
