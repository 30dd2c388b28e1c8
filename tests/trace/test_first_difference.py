"""The first difference that a trace names is true: right kernels have none, wrong ones have theirs, with its line."""

from __future__ import annotations

import pytest

from autograder.trace_words import only_output

from .conftest import ROOT, Trace, mistake

UNUSUAL = sorted(
    (path.parent.parent.name, path.stem)
    for exercise in ("flash_attention", "online_softmax_update")
    for path in (ROOT / "tests" / "mistakes" / exercise / "unusual").glob("*.py")
)

# Exercise, mistake, the step and the part that differ first, and words of the line that is blamed.
DIFFERENT = [
    ("flash_attention", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("flash_attention", "l_not_rescaled", 1, "l", "l_i = l_i + tl.sum(p, 1)"),
    ("flash_attention", "chunk_max", 1, "l", "l_i = l_i + tl.sum(p, 1)"),
    ("flash_attention", "acc_rescaled_after", 0, "acc", "* alpha[:, None]"),
    ("flash_attention", "divided_in_the_loop", 1, "acc", "acc = acc / tl.where"),
    ("flash_attention", "divided_in_the_loop_and_after", 0, "acc", "acc = acc / tl.where"),
    ("flash_attention", "scale_forgotten", 0, "m", "online_softmax_update(m_i, l_i, acc, s, v)"),
    ("flash_attention", "ghost_columns_unmasked", 2, "l", "online_softmax_update(m_i, l_i, acc, s, v)"),
    ("flash_attention", "value_pointer_stuck", 1, "acc", "online_softmax_update(m_i, l_i, acc, s, v)"),
    ("flash_attention", "exp2_without_log2e", 0, "l", "l_i = l_i * alpha"),
    ("online_softmax_update", "acc_not_rescaled", 1, "acc", "acc = acc + tl.dot"),
    ("online_softmax_update", "l_not_rescaled", 1, "l", "l_i = l_i + tl.sum(p, 1)"),
    ("online_softmax_update", "no_guard", 0, "l", "l_i = l_i * alpha"),
    ("online_softmax_update", "maximum_in_base_two", 0, "m", "m_new = tl.maximum"),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("exercise", "name"), UNUSUAL)
def test_a_right_kernel_has_no_difference_however_it_is_written(traced: Trace, exercise: str, name: str) -> None:
    found = traced(exercise, mistake(exercise, f"unusual/{name}"))
    assert found.outcome == "same", found
    assert all(step.same for case in found.cases for step in case.steps)
    assert len(found.cases) > 1


@pytest.mark.sampled
@pytest.mark.parametrize(("exercise", "name", "step", "part", "words"), DIFFERENT)
def test_a_wrong_kernel_differs_first_where_it_goes_wrong(
    traced: Trace, exercise: str, name: str, step: int, part: str, words: str
) -> None:
    found = traced(exercise, mistake(exercise, name))
    assert found.outcome == "differs"
    case = found.cases[-1]
    assert case.difference is not None
    assert (case.difference.step, case.difference.name) == (step, part)
    assert case.difference.at is not None
    assert words in case.difference.at.source
    assert [shown.same for shown in case.steps[: step + 1]] == [True] * step + [False]
    assert case.row == case.difference.index[0]
    # The sentence and the table speak of one quantity.
    column = part if part in case.steps[step].got else f"|{part}|"
    shown = case.steps[step]
    if column == part:
        assert shown.got[part] == pytest.approx(case.difference.got, nan_ok=True)
        assert shown.expected[part] == pytest.approx(case.difference.expected)
    else:
        assert not abs(case.difference.got) > shown.got[column]
        assert abs(case.difference.expected) <= shown.expected[column]
    assert not any("as good" in note for note in case.notes)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["acc_not_rescaled", "l_not_rescaled", "chunk_max", "scale_forgotten"])
def test_the_same_mistake_in_other_words_differs_in_the_same_place(traced: Trace, name: str) -> None:
    """Other names of variables, a `while` and powers of two."""
    first, again = (traced(more=mistake("flash_attention", stem)).cases[-1] for stem in (name, f"{name}__again"))
    assert first.difference is not None
    assert again.difference is not None
    assert (again.difference.step, again.difference.name) == (first.difference.step, first.difference.name)
    assert again.difference.index == first.difference.index
    assert again.difference.got == pytest.approx(first.difference.got, rel=1e-4)
    assert again.difference.variable != first.difference.variable


def test_scores_that_are_wrong_already_are_not_put_down_to_the_piece(traced: Trace) -> None:
    difference = traced(more=mistake("flash_attention", "causal_forgotten")).cases[-1].difference
    assert difference is not None
    assert any(text.startswith("s, which online_softmax_update was given, is ") for text in difference.sentences)
    assert any("where -inf belongs" in text for text in difference.sentences)
    right = traced(more=mistake("online_softmax_update", "l_not_rescaled")).cases[-1].difference
    assert right is not None
    assert right.helper is not None
    assert right.helper.source == "l_i = l_i + tl.sum(p, 1)"
    assert not any("was given" in text for text in right.sentences)


def test_rows_that_do_not_belong_in_a_chunk_are_named(traced: Trace) -> None:
    difference = traced(more=mistake("flash_attention", "chunk_stuck")).cases[-1].difference
    assert difference is not None
    assert "In this pass rows 0 to 31 of k were loaded, and rows 32 to 63 belong there." in difference.sentences


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("tail_chunk_dropped", 2, "The loop ended after 2 passes, without keys 64-71. See line"),
        ("first_chunk_skipped", 2, "without keys 0-31"),
        ("diagonal_skipped", 1, "without keys 32-63"),
        ("division_forgotten", 3, "Every state is as expected, and the output is not: o is off by"),
        ("lse_base_two", 3, "the output is not: lse is off by"),
    ],
)
def test_where_the_state_is_right_what_follows_is_told_of(traced: Trace, name: str, steps: int, words: str) -> None:
    found = traced(more=mistake("flash_attention", name))
    assert found.outcome == "after"
    assert len(found.cases[-1].steps) == steps
    assert all(step.same for step in found.cases[-1].steps)
    assert words in found.cases[-1].message


def test_a_state_in_another_scale_is_said_to_be_as_good(traced: Trace) -> None:
    found = traced(more=mistake("flash_attention", "unusual/two_passes"))
    assert "as good: each line is judged by m + log(l) and acc / l" in found.cases[0].notes[0]


def test_what_is_expected_is_shown_as_the_kernel_keeps_it(traced: Trace) -> None:
    case = traced(more=mistake("flash_attention", "divided_in_the_loop")).cases[0]
    first = case.steps[0]
    assert first.same
    assert first.got["|acc|"] == pytest.approx(first.expected["|acc|"], rel=1e-4)
    assert case.notes[0] == "Here acc is kept divided by l, as it seems; what is expected is shown in the same way."


def test_a_kernel_that_is_right_is_never_called_different(traced: Trace) -> None:
    """Three passes over the keys keep no such state at any time."""
    found = traced(more=mistake("flash_attention", "three_passes"))
    assert found.outcome == "unrecognised"
    assert found.cases[0].difference is None
    assert "The output is right." in found.cases[0].message


# How a loop is written ------------------------------------------------------------------------------------------------

FOR = "    for start_n in range(0, seqlen_k, BLOCK_N):\n"
SPELLINGS = {
    "over several lines": {FOR: "    for start_n in range(\n        0,\n        seqlen_k,\n        BLOCK_N,\n    ):\n"},
    "as a while": {
        FOR: "    start_n = 0\n    while start_n < seqlen_k:\n",
        "        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v)\n": (
            "        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v); start_n += BLOCK_N\n"
        ),
    },
    "with a loop in it": {FOR: f"{FOR}        for turn in range(2):\n            offs_d = offs_d + 0\n"},
    "within an if": {FOR: f"    if seqlen_q > 0:\n        offs_d = offs_d + 0\n{FOR}"},
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_passes_are_counted_however_the_loop_is_written(traced: Trace, spelling: str) -> None:
    found = traced(replace=SPELLINGS[spelling])
    assert found.outcome == "same", found
    assert [step.keys for step in found.cases[0].steps] == [(0, 31), (32, 63), (64, 71)]


def test_a_loop_on_one_line_has_its_passes_too(traced: Trace) -> None:
    body = """
@triton.jit
def step(q, k_ptr, v_ptr, m, l, acc, start_n, offs_d, seqlen_k, HEAD: tl.constexpr, scale, BLOCK_N: tl.constexpr):
    offs_n = start_n + tl.arange(0, BLOCK_N)
    at = offs_n[:, None] * HEAD + offs_d[None, :]
    k = tl.load(k_ptr + at, mask=offs_n[:, None] < seqlen_k, other=0.0)
    v = tl.load(v_ptr + at, mask=offs_n[:, None] < seqlen_k, other=0.0)
    s = tl.where(offs_n[None, :] < seqlen_k, tl.dot(q, tl.trans(k), input_precision="ieee") * scale, float("-inf"))
    return online_softmax_update(m, l, acc, s, v)
"""
    one = "m_i, l_i, acc = step(q, k_ptr, v_ptr, m_i, l_i, acc, start_n, offs_d, seqlen_k, HEAD, scale, BLOCK_N)"
    text = (ROOT / "solutions/lesson7/flash_attention.py").read_text()
    start, end = text.index(FOR), text.index("    l_safe = tl.where")
    end = text.rindex("    ### BEGIN SOLUTION", 0, end)
    found = traced(more=body, replace={text[start:end]: f"{FOR.rstrip()} {one}\n"}, case="ragged_chunks")
    assert found.outcome == "same", found
    assert len(found.cases[0].steps) == 3


# What is looked at ----------------------------------------------------------------------------------------------------


def test_the_program_of_the_first_wrong_row_is_shown_unless_told_otherwise(traced: Trace) -> None:
    wrong = mistake("flash_attention", "only_the_first_tile")
    assert traced(more=wrong).cases[-1].program == 1
    other = traced(more=wrong, program=0, case="ragged_chunks")
    assert other.cases[0].program == 0
    assert all(step.same for step in other.cases[0].steps)
    row = traced(more=mistake("flash_attention", "acc_not_rescaled"), row=17)
    assert (row.cases[0].program, row.cases[0].row) == (1, 17)
    assert row.cases[0].difference is not None
    assert row.cases[0].difference.index[0] == 17


def test_rows_that_are_right_are_said_to_be(traced: Trace) -> None:
    """And not that something is wrong behind the loop, which other rows have gone wrong in."""
    late = {"offs_n[None, :] < seqlen_k": "(offs_n[None, :] < seqlen_k) | (offs_m[:, None] >= 16)"}
    found = traced(replace=late, row=3, case="ragged_chunks").cases[0]
    assert (found.outcome, found.row) == ("after", 3)
    assert found.message.startswith("Row 3 is as expected to the end, and what is wrong lies elsewhere: o and lse are ")
    assert "wrong in rows 16-19. --row " in found.message
    assert "the loop" not in found.message
    found = traced(replace=late, program=0, case="ragged_chunks").cases[0]
    assert found.message.startswith("Rows 0 to 15 are as expected to the end")
    assert found.message.endswith("without --program the first difference is looked for.")
    row = int(found.message.partition("--row ")[2].partition(" ")[0])
    assert traced(replace=late, row=row, case="ragged_chunks").cases[0].difference is not None
    wrong = traced(more=mistake("flash_attention", "division_forgotten"), row=3).cases[0]
    assert "What happens after the loop in line" in wrong.message


def test_any_check_can_be_traced(traced: Trace) -> None:
    found = traced(case="cached_keys")
    assert found.outcome == "same"
    assert [step.keys for step in found.cases[0].steps][-1] == (80, 81)


def test_an_output_that_is_right_is_not_called_wrong() -> None:
    message = "The result is right here, but one store has several values for element 0 of o."
    assert only_output(None, message, ["m"], []) == f"Every state is as expected. {message}"
