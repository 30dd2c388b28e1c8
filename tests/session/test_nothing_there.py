"""Where an exercise's function is not found, it is said why: a slip in its name, an empty file, or no text at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import plan_exercises

ROOT = Path(__file__).parents[2]
NAME = "one_shot_attention.py"


def said(course: Course, folder: Path, data: bytes, exercise: str = "score_mask") -> str:
    (folder / NAME).write_bytes(data)
    [plan] = [
        plan for plan in plan_exercises(course, folder, course.exercises, None)[0] if plan.exercise.id == exercise
    ]
    assert plan.outcome == "not-started"
    return plan.message


def test_a_function_of_nearly_that_name_is_pointed_at(course: Course, tmp_path: Path) -> None:
    text = (ROOT / "solutions" / "lesson7" / NAME).read_text().replace("mask_scores", "mask_score")
    assert said(course, tmp_path, text.encode()) == (
        f"There is no function mask_scores in {NAME}, but there is mask_score. Is it mask_scores? Then rename it."
    )
    text = text.replace("mask_score(", "something_else(")
    assert said(course, tmp_path, text.encode()) == f"There is no function mask_scores in {NAME}."


def test_another_exercises_function_is_not_taken_for_a_slip(course: Course, tmp_path: Path) -> None:
    text = "def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL):\n    return s\n\n\ndef load_tile():\n    pass\n"
    assert "there is load_tile. Is it load_tiles?" in said(course, tmp_path, text.encode(), "kernel_loads")
    assert "mask_scores" not in said(course, tmp_path, text.encode(), "ghost_row_pin")


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n \r\n\t\n"])
def test_an_empty_file_is_called_empty(course: Course, tmp_path: Path, data: bytes) -> None:
    assert said(course, tmp_path, data) == f"{NAME} is empty."


@pytest.mark.parametrize("data", [b"\1\2\3", b"PK\3\4 rubbish", b"def x():\n\x1b"])
def test_what_is_no_text_is_called_that(course: Course, tmp_path: Path, data: bytes) -> None:
    assert said(course, tmp_path, data).startswith(f"{NAME} is no Python text: ")
