"""Of an exercise of several functions it is said which are still as they were handed out."""

from __future__ import annotations

from pathlib import Path

from autograder.catalogue import Course
from autograder.release.stubs import pristine_stubs
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
SPLIT, REDUCE = "gemv_split_kernel", "gemv_reduce_kernel"


def hand_in(course: Course, folder: Path, written: str) -> Path:
    """The stub with one of the two functions taken from the solution."""
    exercise = course.exercise("decode_gemv")
    solution, stub = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8"), pristine_stubs(course)
    texts = [stub[exercise.stub], solution]
    parts = [
        {name: text[text.index(f"def {name}(") :].split("@triton.jit")[0] for name in (SPLIT, REDUCE)} for text in texts
    ]
    text = texts[0].replace(parts[0][written], parts[1][written])
    path = folder / exercise.stub
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return folder


def test_a_second_piece_that_is_the_stubs_is_named(course: Course, cpu_grader: Grader, tmp_path: Path) -> None:
    request = Request(hand_in(course, tmp_path, SPLIT), (course.exercise("decode_gemv"),), targets=False)
    result = cpu_grader.grade(request).exercises[0]
    assert not result.passed
    assert result.message == f"Not started yet: {REDUCE} is still as handed out."
