"""Where a function stands is said in one way everywhere, and a function that is defined twice is named."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import plan_exercises
from autograder.reports.terminal import make_console, print_run
from autograder.result import from_document, to_document
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
NAME = "one_shot_attention.py"
STUB = "@triton.jit\ndef mask_scores(s, offs_m, offs_n, NSEQ: tl.constexpr, CAUSAL: tl.constexpr):\n    return s\n"


def solution() -> str:
    return (ROOT / "solutions" / "lesson7" / NAME).read_text(encoding="utf-8")


def notes(course: Course, path: Path) -> tuple[str, ...]:
    return tuple(note for note in plan_exercises(course, path, course.exercises, None)[1] if "defined" in note)


def line_of(text: str, start: str = "def mask_scores(") -> int:
    return next(number for number, row in enumerate(text.split("\n"), 1) if row.startswith(start))


def test_a_function_that_is_defined_twice_is_named(course: Course, tmp_path: Path) -> None:
    text = solution()
    again = text + STUB
    (tmp_path / NAME).write_text(again)
    first, second = line_of(text), again.count("\n") - 1
    assert notes(course, tmp_path) == (f"mask_scores is defined in lines {first} and {second}; the last one counts.",)
    (tmp_path / NAME).write_text(again + STUB + "def helper(:\n")
    assert notes(course, tmp_path) == (
        f"mask_scores is defined in lines {first}, {second} and {second + 3}; the last one counts.",
    )
    (tmp_path / NAME).write_text(text + STUB * 1000)
    assert notes(course, tmp_path) == (
        f"mask_scores is defined in line {first}; line {second}; line {second + 3}; 997 more places and line "
        f"{second + 3 * 999}; the last one counts.",
    )


def test_what_is_defined_once_is_not(course: Course, tmp_path: Path) -> None:
    quoted = f'"""Before:\n{STUB}"""\n'
    for text in (
        solution(),
        f"{quoted}{solution()}",
        f"{solution()}def helper():\n    pass\ndef helper():\n    pass\n",
    ):
        (tmp_path / NAME).write_text(text)
        assert notes(course, tmp_path) == ()


def make_notebook(path: Path, *cells: str) -> Path:
    found = [{"cell_type": "markdown", "source": ["# Title"]}]
    found += [{"cell_type": "code", "source": [cell], "outputs": []} for cell in cells]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": found}))
    return path


def test_in_a_notebook_cells_are_named(course: Course, cpu_grader: Grader, tmp_path: Path) -> None:
    path = make_notebook(tmp_path / "work.ipynb", "import triton\nimport triton.language as tl", STUB, f"\n{STUB}")
    assert notes(course, path) == ("mask_scores is defined in cell 2, line 2 and cell 3, line 3; the last one counts.",)
    result = cpu_grader.grade(Request(path, (course.exercise("score_mask"),)))
    [exercise] = result.exercises
    assert (exercise.cell, exercise.line, exercise.begins) == (3, 3, "cell 3, line 3")
    assert from_document(to_document(result)).exercises[0].begins == exercise.begins
    stream = io.StringIO()
    print_run(make_console(stream, plain=True), result, plain=True)
    assert "in work.ipynb, from cell 3, line 3\n" in stream.getvalue()
    assert "from line" not in stream.getvalue()


@pytest.mark.parametrize("broken", ["    import os\n", "    s = (\n"])
def test_a_refused_function_is_shown_from_its_own_line(course: Course, tmp_path: Path, broken: str) -> None:
    text = solution()
    at = line_of(text)
    head, tail = text.split("def mask_scores(")
    signature, body = tail.split('    """', 1)
    (tmp_path / NAME).write_text(f'{head}def mask_scores({signature}    """{body.split(chr(10))[0]}\n\n{broken}')
    [plan] = plan_exercises(course, tmp_path, (course.exercise("score_mask"),), None)[0]
    assert plan.outcome in ("refused", "compile-error")
    assert plan.line == at
    assert plan.message.startswith("Line ")


def test_a_file_without_any_of_the_functions_is_not_called_unchanged(course: Course, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / NAME).write_text(solution())
    (tmp_path / NAME).write_text("# nothing here\n")
    said = plan_exercises(course, tmp_path, course.exercises, None)[1]
    assert f"For lesson7/{NAME}, old/{NAME} is read, not {NAME} (none of the functions is in it)." in said
