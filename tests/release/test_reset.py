"""Reset puts one exercise back, keeps the other work in the file, and always keeps a copy."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.release.reset import reset_exercise
from autograder.release.stubs import generate_stubs

from .making import ROOT

STUB = "lesson7/one_shot_attention.py"


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    path = tmp_path / "one_shot_attention.py"
    path.write_text((ROOT / "solutions" / STUB).read_text(encoding="utf-8"), encoding="utf-8")
    return path


def functions(text: str) -> dict[str, str]:
    return {node.name: ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def test_one_exercise_is_put_back_and_the_others_stay(course: Course, solved: Path) -> None:
    before = solved.read_text(encoding="utf-8")
    copy = reset_exercise(course, course.exercise("score_mask"), solved)
    after = functions(solved.read_text(encoding="utf-8"))
    assert after["mask_scores"] == functions(generate_stubs(course)[STUB])["mask_scores"]
    assert {k: v for k, v in after.items() if k != "mask_scores"} == {
        k: v for k, v in functions(before).items() if k != "mask_scores"
    }
    assert copy is not None
    assert copy.read_text(encoding="utf-8") == before


def test_resetting_every_exercise_gives_the_stub(course: Course, solved: Path) -> None:
    for exercise in course.exercises:
        if exercise.stub == STUB:
            reset_exercise(course, exercise, solved)
    assert functions(solved.read_text(encoding="utf-8")) == functions(generate_stubs(course)[STUB])


def test_copies_do_not_replace_one_another(course: Course, solved: Path) -> None:
    exercise = course.exercise("score_mask")
    work = solved.read_text(encoding="utf-8")
    copies = set()
    for _ in range(3):
        solved.write_text(work, encoding="utf-8")
        copies.add(reset_exercise(course, exercise, solved))
    assert len(copies) == 3


def test_nothing_is_copied_where_there_is_nothing_to_change(course: Course, solved: Path) -> None:
    exercise = course.exercise("score_mask")
    assert reset_exercise(course, exercise, solved) is not None
    assert reset_exercise(course, exercise, solved) is None


def test_a_missing_file_is_written_whole(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "new" / "one_shot_attention.py"
    assert reset_exercise(course, course.exercise("score_mask"), path) is None
    assert path.read_text(encoding="utf-8") == generate_stubs(course)[STUB]


def test_a_missing_function_is_appended(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "one_shot_attention.py"
    path.write_text("x = 1\n")
    reset_exercise(course, course.exercise("score_mask"), path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("x = 1\n")
    assert set(functions(text)) == {"mask_scores"}


def test_of_several_definitions_one_is_left(course: Course, solved: Path) -> None:
    solved.write_text(solved.read_text() + "\n\n@triton.jit\ndef mask_scores(s):\n    return s\n")
    reset_exercise(course, course.exercise("score_mask"), solved)
    assert solved.read_text(encoding="utf-8").count("def mask_scores(") == 1


@pytest.mark.parametrize("data", [b"def f(:\n", b"x = '\xff'\n", b"x = 1\0\n"])
def test_a_broken_file_is_left_alone_with_a_sentence(course: Course, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "one_shot_attention.py"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"reset again"):
        reset_exercise(course, course.exercise("score_mask"), path)
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_in_the_stubs_place_is_a_sentence(course: Course, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "one_shot_attention.py")
    with pytest.raises(UsageError, match="no ordinary file"):
        reset_exercise(course, course.exercise("score_mask"), tmp_path / "one_shot_attention.py")
