"""Lesson 7's homework keeps the lesson's state: over fewer chunks, behind masked ones, in 16 bits, in many heads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.pool import Pool
from autograder.session import DEFAULT_SEED
from autograder.traced import Traced
from autograder.tracing import TraceRequest, trace

from .conftest import ROOT, mistake

TraceOf = Callable[[str, str], Traced]

WITH_HEADS = ("batched_heads", "grouped_query", "attention_bias", "varlen", "paged_kv")
HOMEWORK = ("causal_skip", "half_flash", "sliding_window", *WITH_HEADS)
OWN_WAY = ("grouped_query", "unusual/head_by_head")  # keeps a state for each head
UNUSUAL = sorted(
    (exercise, f"unusual/{path.stem}")
    for exercise in HOMEWORK
    for path in (ROOT / "tests" / "mistakes" / exercise / "unusual").glob("*.py")
    if (exercise, f"unusual/{path.stem}") != OWN_WAY
)

# Exercise, mistake, the step and the part that differ first, and words of the line that is blamed.
DIFFERENT = [
    ("causal_skip", "aligned_at_the_first_key", 0, "m", "m_i = m_new"),
    ("causal_skip", "diagonal_twice", 4, "l", "l_i = l_i * alpha + tl.sum(p, 1)"),
    ("half_flash", "acc_in_half", 2, "acc", ".to(v.dtype)"),
    ("half_flash", "maximum_in_half", 0, "m", "m_new.to(v.dtype)"),
    ("half_flash", "sum_in_half", 0, "l", ".to(v.dtype)"),
    ("sliding_window", "guard_carried_on", 1, "m", "m_i = m_new"),
    ("sliding_window", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("batched_heads", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("batched_heads", "ghost_columns_unmasked", 2, "l", "l_i = l_i * alpha + tl.sum(p, 1)"),
    ("grouped_query", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("grouped_query", "ghost_columns_unmasked", 2, "l", "l_i = l_i * alpha + tl.sum(p, 1)"),
    ("attention_bias", "bias_of_the_first_chunk", 1, "m", "m_i = m_new"),
    ("attention_bias", "bias_of_the_first_head", 1, "m", "m_i = m_new"),
    ("attention_bias", "guard_missing", 0, "l", "l_i = l_i * alpha + tl.sum(p, 1)"),
    ("varlen", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("varlen", "next_sequence_seen", 2, "m", "m_i = m_new"),
    ("varlen", "keys_of_the_first_head", 0, "m", "m_i = m_new"),
    ("paged_kv", "l_not_rescaled", 1, "l", "l_i = l_i + tl.sum(p, 1)"),
    ("paged_kv", "last_page_taken_whole", 3, "m", "m_i = m_new"),
    ("paged_kv", "same_page_every_step", 1, "m", "m_i = m_new"),
]

# Exercise, mistake, and the rows of one head, or of one sequence, in which alone it shows.
ROWS = [
    ("attention_bias", "bias_of_the_first_head", range(20, 40)),
    ("varlen", "next_sequence_seen", range(20)),
    ("paged_kv", "first_sequences_table", range(6, 12)),
]

# Exercise, mistake and words of what is said: the state is right as far as the loop goes.
LEFT_OUT = [
    ("causal_skip", "diagonal_skipped", "without keys 64-71"),
    ("sliding_window", "start_by_the_last_row", "without keys 0-15 and keys 16-31"),
    ("varlen", "last_chunk_dropped", "without keys 64-71"),
    ("paged_kv", "last_page_dropped", "without keys 48-56"),
]


@pytest.fixture
def traced_of(course: Course, pool: Pool, tmp_path: Path) -> TraceOf:
    """Traces an exercise's solution with a file of its mistakes appended, if one is named."""

    def run(exercise_id: str, name: str) -> Traced:
        exercise = course.exercise(exercise_id)
        text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        path = tmp_path / exercise.stub
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n{mistake(exercise_id, name) if name else ''}", encoding="utf-8")
        return trace(course, TraceRequest(tmp_path, exercise, DEFAULT_SEED), pool)

    return run


@pytest.mark.sampled
@pytest.mark.parametrize(("exercise", "name"), [*((exercise, "") for exercise in HOMEWORK), *UNUSUAL])
def test_a_right_kernel_has_no_difference_however_it_is_written(traced_of: TraceOf, exercise: str, name: str) -> None:
    found = traced_of(exercise, name)
    assert found.outcome == "same", found
    assert all(step.same for case in found.cases for step in case.steps)
    assert len(found.cases) == 2


@pytest.mark.sampled
@pytest.mark.parametrize(("exercise", "name", "step", "part", "words"), DIFFERENT)
def test_a_wrong_kernel_differs_first_where_it_goes_wrong(
    traced_of: TraceOf, exercise: str, name: str, step: int, part: str, words: str
) -> None:
    found = traced_of(exercise, name)
    assert found.outcome == "differs"
    difference = found.cases[-1].difference
    assert difference is not None
    assert difference.at is not None
    assert (difference.step, difference.name) == (step, part)
    assert words in difference.at.source


@pytest.mark.parametrize(("exercise", "name", "words"), LEFT_OUT)
def test_chunks_that_a_walk_leaves_out_are_named(traced_of: TraceOf, exercise: str, name: str, words: str) -> None:
    found = traced_of(exercise, name)
    assert found.outcome == "after"
    assert words in found.cases[-1].message


@pytest.mark.parametrize(("exercise", "name", "rows"), ROWS)
def test_a_row_is_counted_through_all_heads(traced_of: TraceOf, exercise: str, name: str, rows: range) -> None:
    case = traced_of(exercise, name).cases[-1]
    assert case.difference is not None
    assert case.difference.index[0] in rows
    assert case.row == case.difference.index[0]


# Cases that are not for traces: sequences of different lengths, layouts in which keys are no rows, a head of 24 in 32.
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("exercise", "case", "outcome"),
    [
        ("varlen", "no_queries", "unrecognised"),
        ("varlen", "ragged", "same"),
        ("paged_kv", "no_keys", "same"),
        ("batched_heads", "four_layouts", "same"),
        ("batched_heads", "packed", "unrecognised"),
    ],
)
@pytest.mark.parametrize("program", [None, 1])
def test_other_cases_of_a_right_kernel_have_no_difference_either(
    course: Course, pool: Pool, exercise: str, case: str, outcome: str, program: int | None
) -> None:
    request = TraceRequest(ROOT / "solutions", course.exercise(exercise), DEFAULT_SEED, case, (), program)
    found = trace(course, request, pool)
    assert found.outcome in (("same", "unrecognised") if program else (outcome,))
