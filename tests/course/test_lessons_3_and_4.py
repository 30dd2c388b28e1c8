"""Lessons 3 and 4: each hidden case finds what no public one does; rounding and streaming are seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.result import ExerciseResult
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
MISTAKES = ROOT / "tests" / "mistakes"

Grade = Callable[[str, str], ExerciseResult]


@pytest.fixture
def official(course: Course, cpu_grader: Grader, tmp_path: Path) -> Grade:
    """Grades an exercise as the course does, with ``text`` in the place of its solution."""

    def grade(exercise_id: str, text: str) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        path = tmp_path / exercise.stub
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        return cpu_grader.grade(Request(tmp_path, (exercise,), reference=Reference.load(course, None))).exercises[0]

    return grade


def solution(course: Course, exercise_id: str) -> str:
    return (ROOT / "solutions" / course.exercise(exercise_id).stub).read_text(encoding="utf-8")


def not_passed(result: ExerciseResult) -> set[str]:
    return {check.id for check in result.checks if check.outcome != "pass"}


# A line of each solution, and the same line gone wrong for a single size, which a hidden case has and no public one.
WRONG_FOR_ONE_SIZE = {
    "row_softmax": ("p / l[:, None], mask=real)", "p / l[:, None] * (N != 53), mask=real)", "hidden_rows"),
    "log_sum_exp": ("m + tl.log(l), mask=offs_m < M)", "m + tl.log(l) * (N != 51), mask=offs_m < M)", "hidden_rows"),
    "long_row_softmax": ("l_i[:, None], mask=real)", "l_i[:, None] * (N != 1473), mask=real)", "hidden_long"),
    "tiled_matmul": ('input_precision="ieee")', 'input_precision="ieee") * (K != 83)', "hidden_sizes"),
    "half_matmul": ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b, acc) * (K != 117)", "hidden_sizes"),
}


@pytest.mark.parametrize("exercise_id", WRONG_FOR_ONE_SIZE)
def test_a_hidden_case_finds_what_no_public_one_does(course: Course, official: Grade, exercise_id: str) -> None:
    line, wrong, hidden = WRONG_FOR_ONE_SIZE[exercise_id]
    text = solution(course, exercise_id)
    assert text.count(line) == 1
    assert not_passed(official(exercise_id, text.replace(line, wrong))) == {hidden}


def test_tf32_is_seen_in_the_compiled_code_and_nowhere_else_on_cpu(course: Course, official: Grade) -> None:
    text = solution(course, "tiled_matmul").replace(', input_precision="ieee"', "")
    result = official("tiled_matmul", text)
    assert not_passed(result) == {"gpu_targets"}
    assert [item.mistake for item in result.diagnosis] == ["tf32"]


def test_a_float16_matrix_may_be_widened_at_any_precision(course: Course, official: Grade) -> None:
    """TF32 holds each float16 exactly."""
    text = solution(course, "half_matmul").replace(
        "tl.dot(a, b, acc)", "tl.dot(a.to(tl.float32), b.to(tl.float32), acc)"
    )
    assert not_passed(official("half_matmul", text)) == set()


@pytest.mark.parametrize("name", ["three_passes", "one_wide_tile"])
def test_a_long_row_that_is_not_streamed_is_right_and_fails(course: Course, official: Grade, name: str) -> None:
    wrong = (MISTAKES / "long_row_softmax" / f"{name}.py").read_text(encoding="utf-8")
    result = official("long_row_softmax", f"{solution(course, 'long_row_softmax')}\n\n{wrong}")
    assert {"long_row", "hidden_long"} <= not_passed(result) <= {"long_row", "hidden_long", "gpu_targets"}
    assert next(check for check in result.checks if check.id == "long_row").message.startswith("The result is right")
