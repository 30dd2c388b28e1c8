"""Homework on heads: hidden cases find what public ones do not; far tensors are far; poison is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograder.catalogue import Course
from autograder.judge.oracles import load_oracle
from autograder.plan import Reference
from autograder.result import ExerciseResult
from autograder.session import Grader, Request
from autograder.worker.loader import load_launch

ROOT = Path(__file__).parents[2]

# A line of each solution, and the same line gone wrong for a single size, which a hidden case has and no public one.
WRONG_FOR_ONE_SIZE = {
    "batched_heads": ("o = acc / l_safe[:, None]", "o = acc / l_safe[:, None] * (seqlen_k != 51)", "hidden_batch"),
    "causal_skip": ("acc / l_safe[:, None], mask", "acc / l_safe[:, None] * (seqlen_k != 117), mask", "hidden_lengths"),
    "half_flash": ("o = acc / l_safe[:, None]", "o = acc / l_safe[:, None] * (seqlen_k != 115)", "hidden_lengths"),
    "grouped_query": ("acc / l_safe[:, None], mask", "acc / l_safe[:, None] * (group != 7), mask", "hidden_one_query"),
}


@pytest.fixture
def official(course: Course, cpu_grader: Grader, tmp_path: Path) -> Callable[[str, str], ExerciseResult]:
    """Grades an exercise as the course does, with ``text`` in the place of its solution."""

    def grade(exercise_id: str, text: str) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        path = tmp_path / exercise.stub
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        return cpu_grader.grade(Request(tmp_path, (exercise,), reference=Reference.load(course, None))).exercises[0]

    return grade


@pytest.mark.parametrize("exercise_id", WRONG_FOR_ONE_SIZE)
def test_a_hidden_case_finds_what_no_public_one_does(
    course: Course, official: Callable[[str, str], ExerciseResult], exercise_id: str
) -> None:
    line, wrong, hidden = WRONG_FOR_ONE_SIZE[exercise_id]
    text = (ROOT / "solutions" / course.exercise(exercise_id).stub).read_text(encoding="utf-8")
    assert text.count(line) == 1
    result = official(exercise_id, text.replace(line, wrong))
    failed = {check.id for check in result.checks if check.outcome not in ("pass", "skipped")}
    assert failed == {hidden}


def test_far_tensors_reach_beyond_32_bits_by_strides_that_fit_in_them(course: Course) -> None:
    exercise = course.exercise("batched_heads")
    far = [check for check in Reference.load(course, None).hidden[exercise.id] if check.gpu_memory]
    launch = load_launch(exercise.launch)
    assert len(far) == 4
    for check in far:
        assert check.devices == ("cuda",)
        case = check.case
        name = next(name for name in "qkvo" if "far" in case[name])
        rows = case["seqlen_q" if name in "qo" else "seqlen_k"]
        strides = launch.strides(case)[name]
        sizes = (case["batch"], case["heads"], rows, case["head"])
        assert max(strides) < 2**31 <= sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
        elements = 1 + sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True))
        assert 4 * elements < check.gpu_memory * 2**30


def test_poison_lies_where_the_tiles_that_count_need_not_look(course: Course) -> None:
    exercise = course.exercise("causal_skip")
    hidden = Reference.load(course, None).hidden[exercise.id]
    poisoned = [check for check in (*exercise.checks, *hidden) if check.case["poisoned"]]
    assert len(poisoned) >= 4
    for check in poisoned:
        case, offset = check.case, check.case["seqlen_k"] - check.case["seqlen_q"]
        inputs = load_oracle(exercise.oracle).inputs(check, 1)
        clean_keys, clean_rows = case["seqlen_k"] - case["poisoned"], case["seqlen_q"] - case["poisoned"]
        assert torch.isnan(inputs["v"][clean_keys:]).all()
        assert not torch.isnan(inputs["v"][:clean_keys]).any()
        assert clean_rows % case["block_m"] == 0
        assert clean_keys % case["block_n"] == 0
        assert clean_rows + offset == clean_keys
