"""A kernel with another mistake is not called by the name of one that looks alike: better no name than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
PART_A, PART_B = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"
FILES = {"kernel_loads": PART_A, "one_shot_attention": PART_A, "flash_attention": PART_B}

# (exercise, what is changed in its solution, to what, the name it gets or none).
CHANGES = {
    "q one column too far": (
        "kernel_loads",
        "q_ptr + q_rows * HEAD + columns",
        "q_ptr + q_rows * HEAD + columns + 1",
        None,
    ),
    "q masked by HEAD": ("kernel_loads", "mask=q_rows < NSEQ", "mask=q_rows < HEAD", None),
    "q by the key rows": ("kernel_loads", "q_ptr + q_rows", "q_ptr + kv_rows", "queries_by_key_rows"),
    "k by the query rows": ("kernel_loads", "k_ptr + kv_rows", "k_ptr + q_rows", "keys_by_query_rows"),
    "k masked by <=": (
        "kernel_loads",
        "k = tl.load(k_ptr + kv_rows * HEAD + columns, mask=kv_rows < NSEQ",
        "k = tl.load(k_ptr + kv_rows * HEAD + columns, mask=kv_rows <= NSEQ",
        "one_row_too_many",
    ),
    "stored one column too far": ("one_shot_attention", "offs_d[None, :], o", "offs_d[None, :] + 1, o", None),
    "stored one row too far": ("one_shot_attention", "o_ptr + offs_m[:, None]", "o_ptr + (offs_m[:, None] + 1)", None),
    "the head's index as wide as the keys": (
        "one_shot_attention",
        "tl.arange(0, BLOCK_D)",
        "tl.arange(0, BLOCK_N)",
        None,
    ),
    "keys by program": (
        "one_shot_attention",
        "offs_n = tl.arange(0, BLOCK_N)",
        "offs_n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)",
        None,
    ),
    "tiles NSEQ apart": (
        "one_shot_attention",
        "program_id(0) * BLOCK_M",
        "program_id(0) * NSEQ",
        "later_tiles_not_written",
    ),
    "a loop of two chunks": ("flash_attention", "range(0, seqlen_k, BLOCK_N)", "range(0, 2 * BLOCK_N, BLOCK_N)", None),
    "output stored by the rows of the keys": (
        "flash_attention",
        "o_ptr + offs_m[:, None]",
        "o_ptr + offs_n[:, None]",
        None,
    ),
    "lse one too far": ("flash_attention", "lse_ptr + offs_m", "lse_ptr + offs_m + 1", None),
    "q loaded by its length": (
        "flash_attention",
        "q_ptr + offs_m[:, None] * HEAD",
        "q_ptr + offs_m[:, None] * seqlen_q",
        None,
    ),
    "k and v loaded by their length": ("flash_attention", "offs_n[:, None] * HEAD", "offs_n[:, None] * seqlen_k", None),
    "q masked by the keys": (
        "flash_attention",
        "mask=offs_m[:, None] < seqlen_q, other",
        "mask=offs_m[:, None] < seqlen_k, other",
        None,
    ),
    "keys masked by the chunk": (
        "flash_attention",
        "keep = offs_n[None, :] < seqlen_k",
        "keep = offs_n[None, :] < BLOCK_N",
        "only_the_first_chunk",
    ),
    "lse masked by the keys": (
        "flash_attention",
        "mask=offs_m < seqlen_q",
        "mask=offs_m < seqlen_k",
        "stored_by_key_length",
    ),
}


# Whole kernels that end like another mistake's; the names that are true of one stand in it.
LOOK_ALIKES = sorted((ROOT / "tests" / "mistakes").glob("*/look_alikes/*.py"))
_MAY_BE_CALLED = re.compile(r"^# may be called: (.+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        yield grader


@pytest.fixture(scope="module")
def grader_with_targets(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="if-passed") as grader:
        yield grader


@pytest.mark.sampled
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gets_its_own_name_or_none(course: Course, grader: Grader, tmp_path: Path, change: str) -> None:
    exercise_id, right, wrong, name = CHANGES[change]
    for file in (PART_A, PART_B):
        text = (ROOT / "solutions" / file).read_text(encoding="utf-8")
        if file == FILES[exercise_id]:
            assert right in text
            text = text.replace(right, wrong)
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    exercise = next(exercise for exercise in course.exercises if exercise.id == exercise_id)
    result = grader.grade(Request(tmp_path, (exercise,))).exercises[0]
    assert not result.passed
    assert [item.mistake for item in result.diagnosis] == ([name] if name else [])


@pytest.mark.sampled
@pytest.mark.parametrize("path", LOOK_ALIKES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_look_alike_gets_a_name_that_is_true_of_it_or_none(
    course: Course, grader_with_targets: Grader, tmp_path: Path, path: Path
) -> None:
    exercise = next(exercise for exercise in course.exercises if exercise.id == path.parts[-3])
    kernel = path.read_text(encoding="utf-8")
    true = match[1].split(", ") if (match := _MAY_BE_CALLED.search(kernel)) else []
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    (tmp_path / exercise.stub).parent.mkdir()
    (tmp_path / exercise.stub).write_text(f"{text}\n\n{kernel}", encoding="utf-8")
    result = grader_with_targets.grade(Request(tmp_path, (exercise,))).exercises[0]
    assert not result.passed
    assert result.outcome != "not-started"
    assert {item.mistake for item in result.diagnosis} <= {*true}


def test_a_value_that_a_loop_alone_sets_is_not_called_one_of_an_if(
    course: Course, grader_with_targets: Grader, tmp_path: Path
) -> None:
    exercise = next(exercise for exercise in course.exercises if exercise.id == "flash_attention")
    kernel = ROOT / "tests" / "mistakes" / "flash_attention" / "look_alikes" / "value_set_in_a_loop.py"
    (tmp_path / PART_B).parent.mkdir()
    solution = (ROOT / "solutions" / PART_B).read_text(encoding="utf-8")
    (tmp_path / PART_B).write_text(f"{solution}\n\n{kernel.read_text(encoding='utf-8')}", encoding="utf-8")
    result = grader_with_targets.grade(Request(tmp_path, (exercise,))).exercises[0]
    message = next(check.message for check in result.checks if check.outcome == "compile-error")
    assert "l_safe may have no value here" in message
    assert "within an `if` or a loop" in message
