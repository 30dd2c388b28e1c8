"""Reset puts one exercise back, keeps the other work in the file, and always keeps a copy."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.release.reset import Reset, is_reset_whole, reset_exercise
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
    copy = reset_exercise(course, course.exercise("score_mask"), solved).copy
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
        copies.add(reset_exercise(course, exercise, solved).copy)
    assert len(copies) == 3


def test_nothing_is_copied_where_there_is_nothing_to_change(course: Course, solved: Path) -> None:
    exercise = course.exercise("score_mask")
    solved.write_bytes(solved.read_bytes().replace(b"\n", b"\r\n"))
    assert reset_exercise(course, exercise, solved).copy is not None
    solved.write_bytes(solved.read_bytes().replace(b"\n", b"\r\n"))
    assert reset_exercise(course, exercise, solved) == Reset(None, whole=False)


def test_a_missing_file_is_written_whole(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "new" / "one_shot_attention.py"
    assert is_reset_whole(path)
    assert reset_exercise(course, course.exercise("score_mask"), path) == Reset(None, whole=True)
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


HALF_TYPED = {
    "an open bracket": ("def load_tiles(", "def load_tiles(", "    q = tl.load(q_ptr + (\n"),
    "an open text": ("def load_tiles(", "def load_tiles(", '    """never closed\n'),
    "a broken def": ("def load_tiles(", "def load_tiles((", ""),
}


@pytest.mark.parametrize("slip", HALF_TYPED)
def test_functions_are_told_apart_in_a_file_that_does_not_parse(course: Course, solved: Path, slip: str) -> None:
    """The other functions of the file stay as they are, and the broken one is gone."""
    before = solved.read_text(encoding="utf-8")
    found, broken, line = HALF_TYPED[slip]
    head, _, tail = before.partition(found)
    signature, docstring, body = tail.partition('    """')
    solved.write_text(head + broken + signature + line + docstring + body, encoding="utf-8")
    with pytest.raises(SyntaxError):
        ast.parse(solved.read_text(encoding="utf-8"))
    done = reset_exercise(course, course.exercise("kernel_loads"), solved)
    after = functions(solved.read_text(encoding="utf-8"))
    assert after == {**functions(before), "load_tiles": functions(generate_stubs(course)[STUB])["load_tiles"]}
    assert done.copy is not None
    assert line in done.copy.read_text(encoding="utf-8")
    assert not done.whole


def test_another_broken_function_stays_as_it_is(course: Course, solved: Path) -> None:
    text = solved.read_text(encoding="utf-8").replace("def pin_ghost_rows(", "def pin_ghost_rows((")
    solved.write_text(text, encoding="utf-8")
    reset_exercise(course, course.exercise("score_mask"), solved)
    after = solved.read_text(encoding="utf-8")
    assert "def pin_ghost_rows((" in after
    assert (
        functions(after.replace("rows((", "rows("))["mask_scores"]
        == functions(generate_stubs(course)[STUB])["mask_scores"]
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "latin-1"])
def test_files_in_other_encodings_keep_the_other_work(course: Course, solved: Path, encoding: str) -> None:
    before = solved.read_text(encoding="utf-8")
    solved.write_bytes((before + "# \u00e9\n").encode(encoding))
    done = reset_exercise(course, course.exercise("score_mask"), solved)
    after = functions(solved.read_text(encoding="utf-8"))
    assert after["mask_scores"] == functions(generate_stubs(course)[STUB])["mask_scores"]
    assert {**after, "mask_scores": ""} == {**functions(before), "mask_scores": ""}
    assert done.copy is not None
    assert done.copy.read_bytes() == (before + "# \u00e9\n").encode(encoding)


@pytest.mark.parametrize("data", [b"x = 1\0\n", bytes(range(256)), "x = 1\n".encode("utf-16-le")])
def test_what_is_no_text_is_put_back_whole_and_kept(course: Course, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "one_shot_attention.py"
    path.write_bytes(data)
    assert is_reset_whole(path)
    done = reset_exercise(course, course.exercise("score_mask"), path)
    assert done.whole
    assert done.copy is not None
    assert done.copy.read_bytes() == data
    assert path.read_text(encoding="utf-8") == generate_stubs(course)[STUB]


def test_a_pipe_in_the_stubs_place_is_a_sentence(course: Course, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "one_shot_attention.py")
    with pytest.raises(UsageError, match="no ordinary file"):
        reset_exercise(course, course.exercise("score_mask"), tmp_path / "one_shot_attention.py")
