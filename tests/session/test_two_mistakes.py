"""Two mistakes at once are called one of the two or nothing, and never a third."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.session import Grader, Request
from tests.synthetic_class import FLASH, solution

# What each changes in the solution of Part B.
EDITS = {
    "scale": ('input_precision="ieee") * scale', 'input_precision="ieee")'),
    "future": ("+ seqlen_k - seqlen_q)", "+ seqlen_k - seqlen_q + 1)"),
    "tail": ("range(0, seqlen_k, BLOCK_N)", "range(0, seqlen_k // BLOCK_N * BLOCK_N, BLOCK_N)"),
    "lse": ("m_i + tl.log(l_safe)", "m_i + l_safe"),
    "division": ("acc / l_safe[:, None]", "acc"),
    "value": ("tl.load(v_ptr + kv_offsets", "tl.load(k_ptr + kv_offsets"),
}


def named(course: Course, grader: Grader, folder: Path, *edits: str) -> set[str]:
    text = solution(FLASH)
    for edit in edits:
        old, new = EDITS[edit]
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / FLASH).write_text(text, encoding="utf-8")
    result = grader.grade(Request(folder, (course.exercise("flash_attention"),), 7)).exercises[0]
    assert not result.passed
    return {item.mistake for item in result.diagnosis}


@pytest.fixture(scope="module")
def alone(course: Course, cpu_grader: Grader, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    return {edit: named(course, cpu_grader, tmp_path_factory.mktemp(edit), edit) for edit in EDITS}


def test_each_alone_has_a_name_of_its_own(alone: dict[str, set[str]]) -> None:
    assert all(len(names) == 1 for names in alone.values()), alone
    assert len({name for names in alone.values() for name in names}) == len(EDITS)


@pytest.mark.sampled
@pytest.mark.parametrize("pair", list(itertools.combinations(EDITS, 2)), ids="-".join)
def test_a_pair_is_never_called_by_a_third_name(
    course: Course, cpu_grader: Grader, tmp_path: Path, alone: dict[str, set[str]], pair: tuple[str, str]
) -> None:
    assert named(course, cpu_grader, tmp_path, *pair) <= alone[pair[0]] | alone[pair[1]]
