"""Homework of lesson 7: hidden cases find what no public one does, waste is seen, and look-alikes get no wrong name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.result import ExerciseResult
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
MISTAKES = ROOT / "tests" / "mistakes"
EXERCISES = ("sliding_window", "attention_bias", "varlen")

Grade = Callable[[str, str], ExerciseResult]


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        yield grader


@pytest.fixture
def official(course: Course, grader: Grader, tmp_path: Path) -> Grade:
    """Grades an exercise as the course does, with ``text`` in the place of its solution."""

    def grade(exercise_id: str, text: str) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        path = tmp_path / exercise.stub
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        request = Request(tmp_path, (exercise,), reference=Reference.load(course, None), diagnose=True)
        return grader.grade(request).exercises[0]

    return grade


def solution(course: Course, exercise_id: str) -> str:
    return (ROOT / "solutions" / course.exercise(exercise_id).stub).read_text(encoding="utf-8")


def not_passed(result: ExerciseResult) -> set[str]:
    """Of the checks that can run without a GPU."""
    return {check.id for check in result.checks if check.outcome not in ("pass", "skipped")}


# A line of each solution, and the same line gone wrong for a single size, which a hidden case has and no public one.
WRONG_FOR_ONE_SIZE = {
    "sliding_window": ("o = acc / l_safe[:, None]", "o = acc / l_safe[:, None] * (seqlen_k != 109)", "hidden_window"),
    "attention_bias": ("acc / l_safe[:, None], mask", "acc / l_safe[:, None] * (seqlen_k != 59), mask", "hidden_bias"),
    "varlen": ("acc / l_safe[:, None], mask", "acc / l_safe[:, None] * (total_q != 90), mask", "hidden_lengths"),
}


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_a_hidden_case_finds_what_no_public_one_does(course: Course, official: Grade, exercise_id: str) -> None:
    line, wrong, hidden = WRONG_FOR_ONE_SIZE[exercise_id]
    text = solution(course, exercise_id)
    assert text.count(line) == 1
    assert not_passed(official(exercise_id, text.replace(line, wrong))) == {hidden}


@pytest.mark.parametrize(
    ("exercise_id", "name", "check"),
    [
        ("sliding_window", "all_chunks_read", "long_sequence"),
        ("varlen", "tiles_without_queries_read", "long_and_short"),
    ],
)
def test_a_kernel_that_reads_too_much_is_right_and_fails(
    course: Course, official: Grade, exercise_id: str, name: str, check: str
) -> None:
    wrong = (MISTAKES / exercise_id / f"{name}.py").read_text(encoding="utf-8")
    result = official(exercise_id, f"{solution(course, exercise_id)}\n\n{wrong}")
    assert not_passed(result) == {check, "hidden_long"}
    assert next(item for item in result.checks if item.id == check).message.startswith("The result is right")
    assert [item.mistake for item in result.diagnosis] == [name]


def test_the_guard_that_carries_zero_on_passes_as_long_as_scores_are_near_zero(course: Course, official: Grade) -> None:
    """The printed guard: only scores that lie far below zero show it."""
    wrong = (MISTAKES / "sliding_window" / "guard_carried_on.py").read_text(encoding="utf-8")
    result = official("sliding_window", f"{solution(course, 'sliding_window')}\n\n{wrong}")
    outcomes = {check.id: check.outcome for check in result.checks}
    assert outcomes["masked_chunks"] == "pass"
    assert outcomes["far_below_zero"] == "fail"
    assert [item.mistake for item in result.diagnosis] == ["guard_carried_on"]


@pytest.mark.parametrize(
    "path",
    sorted(path for exercise_id in EXERCISES for path in (MISTAKES / exercise_id / "look_alikes").glob("*.py")),
    ids=lambda path: f"{path.parts[-3]}/{path.stem}",
)
def test_a_look_alike_loses_points_and_gets_no_name(course: Course, official: Grade, path: Path) -> None:
    exercise_id = path.parts[-3]
    result = official(exercise_id, f"{solution(course, exercise_id)}\n\n{path.read_text(encoding='utf-8')}")
    assert {"fail"} <= {check.outcome for check in result.checks} <= {"pass", "fail", "skipped"}
    assert result.diagnosis == ()
