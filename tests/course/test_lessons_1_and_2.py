"""Lessons 1 and 2: a kernel that passes all that students see may still fail what they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]

# Of each exercise: what is changed in its solution, and the hidden check that alone notices it.
HIDDEN = {
    # As if no vector were longer than 256.
    "vector_add": ("exists = offs < n", "exists = (offs < n) & (offs < 256)", "hidden_length"),
    # The row by way of a reciprocal, which rounding puts below a whole number for some row lengths.
    "fused_scale_shift": (
        "offs % n_columns",
        "offs - (offs * (1.0 / n_columns)).to(tl.int32) * n_columns",
        "hidden_shape",
    ),
    # Neighbours are taken to be side by side down the columns, or across the rows.
    "row_tile_load": (
        "offs_n[None, :] * stride_n",
        "offs_n[None, :] * tl.where(stride_m > 1, tl.where(stride_n > stride_m, M, stride_n), stride_n)",
        "hidden_layout",
    ),
    # The same of x.
    "strided_copy": ("j * stride_xn", "j * tl.where(stride_xn > stride_xm, M, stride_xn)", "hidden_layout"),
}


@pytest.mark.parametrize("id", HIDDEN)
def test_a_kernel_that_passes_every_public_check_fails_a_hidden_one(
    id: str, course: Course, cpu_grader: Grader, tmp_path: Path
) -> None:
    exercise = course.exercise(id)
    right, wrong, noticed_by = HIDDEN[id]
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    assert right in text
    path = tmp_path / exercise.stub
    path.parent.mkdir()
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    result = cpu_grader.grade(Request(tmp_path, (exercise,), 7, Reference.load(course, None)))
    failed = {check.id for check in result.exercises[0].checks if check.outcome != "pass"}
    assert failed == {noticed_by}


@pytest.mark.parametrize("lesson", [1, 2])
def test_a_lesson_is_worth_what_its_exercises_are(course: Course, lesson: int) -> None:
    points = {exercise.id: exercise.points for exercise in course.exercises if exercise.lesson == lesson}
    assert (
        points
        == {
            1: {"vector_add": 2.0, "fused_scale_shift": 2.0},
            2: {"row_tile_load": 3.0, "strided_copy": 3.0},
        }[lesson]
    )
