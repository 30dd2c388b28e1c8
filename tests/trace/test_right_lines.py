"""No right line is blamed, however a kernel is written: the fault is told of where it is, or it is not told of."""

from __future__ import annotations

import pytest

from . import kernels as shapes
from .conftest import ROOT, STUB, Trace
from .kernels import put

LSE = ("m_i + tl.log(l_safe)", "m_i + tl.log(l_safe) * 1.01")
OUT = ("acc / l_safe[:, None]", "acc / l_safe[:, None] * 1.01")
KEPT = ("acc * alpha[:, None] + ", "acc + ")
LARGEST = ("tl.sum(p, 1)", "tl.max(p, 1)")

# Right kernels whose state is read, and right ones of which a part is not.
RIGHT = {
    "two loops": shapes.TWO_LOOPS,
    "first chunk before the loop": shapes.FIRST_PEELED,
    "half chunks": shapes.HALF_CHUNKS,
    "two chunks a pass": shapes.TWO_A_PASS,
    "a key at a time": shapes.KEY_BY_KEY,
    "backwards, loading ahead": shapes.BACKWARDS_AHEAD,
    "maximum first": shapes.MAXIMUM_FIRST,
    "running lse": shapes.RUNNING_LSE,
    "m and l swapped": shapes.SWAPPED,
}
PARTLY = {
    "lse first": (shapes.LSE_FIRST, ["m", "l"]),
    "minus m": (shapes.MINUS_M, ["l", "|acc|"]),
    "unscaled m": (shapes.UNSCALED, ["l", "|acc|"]),
    "acc a chunk late": (shapes.LATE, ["m", "l"]),
    "halves": (shapes.HALVES, ["m", "l"]),
    "divided in the last pass": (shapes.DIVIDED_LAST, ["m", "l"]),
}
# The loop is right and what follows is not; with the columns that are shown.
ALL = ["m", "l", "|acc|"]
AFTER = {
    "two loops, lse": (put(shapes.TWO_LOOPS, LSE), ALL),
    "first chunk before the loop, lse": (put(shapes.FIRST_PEELED, LSE), ALL),
    "half chunks, lse": (put(shapes.HALF_CHUNKS, LSE), ALL),
    "two chunks a pass, o": (put(shapes.TWO_A_PASS, OUT), ALL),
    "a key at a time, lse": (put(shapes.KEY_BY_KEY, LSE), ALL),
    "backwards, loading ahead, lse": (put(shapes.BACKWARDS_AHEAD, LSE), ALL),
    "minus m, o": (put(shapes.MINUS_M, OUT), ["l", "|acc|"]),
    "unscaled m, o": (put(shapes.UNSCALED, OUT), ["l", "|acc|"]),
    "chunk-local names, o": (
        put(shapes.CHUNK_LOCAL, ("big_acc / l_safe", "big_acc * 1.01 / l_safe")),
        ALL,
    ),
    "halves, lse": (put(shapes.HALVES, LSE), ["m", "l"]),
    "divided in the last pass, lse": (put(shapes.DIVIDED_LAST, LSE), ["m", "l"]),
}
# A line of a loop is wrong, and blamed.
BLAMED = {
    "two loops, acc in the second": (put(shapes.TWO_LOOPS, KEPT), 2, "acc", "acc = acc + tl.dot"),
    "maximum first, l": (put(shapes.MAXIMUM_FIRST, LARGEST), 0, "l", "l_i = l_i + tl.max(p, 1)"),
    "maximum first, acc": (put(shapes.MAXIMUM_FIRST, ("acc + tl.dot", "tl.dot")), 1, "acc", "acc = tl.dot"),
    "fixed m, l": (put(shapes.FIXED, LARGEST), 0, "l", "l_i = l_i * alpha + tl.max(p, 1)"),
    "powers of two, acc": (put(shapes.BASE_TWO, ("tl.load(v_ptr", "tl.load(k_ptr")), 0, "acc", "acc = acc * alpha"),
    "powers of two, l": (put(shapes.BASE_TWO, LARGEST), 0, "l", "l_i = l_i * alpha + tl.max(p, 1)"),
    "running lse, acc": (
        put(shapes.RUNNING_LSE, ("acc * tl.exp(m_i - unit)[:, None] + ", "acc + ")),
        1,
        "acc",
        "acc = acc + tl.dot",
    ),
    "m and l swapped, acc": (put(shapes.SWAPPED, KEPT), 1, "acc", "acc = acc + tl.dot"),
    "m and l swapped, l": (put(shapes.SWAPPED, LARGEST), 0, "l", "m_i = m_i * alpha + tl.max(p, 1)"),
    "chunk-local names, acc": (
        put(shapes.CHUNK_LOCAL, ("big_acc * alpha[:, None] + acc", "big_acc + acc")),
        1,
        "acc",
        "big_acc = big_acc + acc",
    ),
    "a helper with another contract, acc": (put(shapes.HELPED, KEPT), 1, "acc", "m_i, l_i, acc = online_step("),
}
# Which line is wrong cannot be told from the states.
SILENT = {
    "lse first, scale": (put(shapes.LSE_FIRST, (" * scale\n", "\n")), "holds acc"),
    "lse first, v": (put(shapes.LSE_FIRST, ("v_ptr + places", "v_ptr + places - start_n * HEAD")), "holds acc"),
    "acc a chunk late, o": (put(shapes.LATE, OUT), "holds acc"),
    "halves, acc": (put(shapes.HALVES, ("right * alpha[:, None] + ", "right + ")), "holds acc"),
    "a name too long, acc": (put(shapes.LONG_NAME, ("a" * 70 + " * alpha[:, None] + ", "a" * 70 + " + ")), "holds acc"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("shape", RIGHT)
def test_a_right_state_is_read_however_it_is_kept(traced: Trace, shape: str) -> None:
    found = traced(more=RIGHT[shape], case="ragged_chunks")
    assert found.outcome == "same", found
    steps = found.cases[0].steps
    assert all(step.same for step in steps)
    taken = [key for step in steps if step.keys is not None for key in range(step.keys[0], step.keys[1] + 1)]
    before = range(32) if shape == "first chunk before the loop" else ()
    assert sorted([*taken, *before]) == list(range(72))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", PARTLY)
def test_of_a_right_state_what_is_not_read_is_said(traced: Trace, shape: str) -> None:
    text, shown = PARTLY[shape]
    found = traced(more=text, case="ragged_chunks").cases[0]
    assert found.outcome == "unrecognised", found
    assert list(found.steps[0].got) == shown
    assert all(step.same for step in found.steps)
    assert found.message.startswith("It could not be told which of your variables holds ")
    assert found.message.endswith("The output is right.")


@pytest.mark.sampled
@pytest.mark.parametrize("shape", AFTER)
def test_a_right_loop_is_not_blamed_for_what_follows(traced: Trace, shape: str) -> None:
    text, shown = AFTER[shape]
    found = traced(more=text, case="ragged_chunks").cases[0]
    assert found.outcome == "after", found
    assert found.difference is None
    assert list(found.steps[0].got) == shown
    assert all(step.same for step in found.steps)
    number = int(found.message.rpartition(" ")[2].rstrip("?"))
    assert found.message.endswith(f"What happens after the loop in line {number}?")
    assert line_of(text, "for ") == number


def line_of(text: str, words: str) -> int:
    """The number of the last line that begins with these words, in the solution's file with ``text`` behind it."""
    whole = (ROOT / "solutions" / STUB).read_text(encoding="utf-8") + "\n" + text
    return max(number for number, row in enumerate(whole.split("\n"), 1) if row.strip().startswith(words))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", BLAMED)
def test_a_wrong_line_is_blamed_however_the_kernel_is_written(traced: Trace, shape: str) -> None:
    text, step, part, words = BLAMED[shape]
    found = traced(more=text, case="ragged_chunks").cases[0]
    assert found.outcome == "differs", found
    assert found.difference is not None
    assert (found.difference.step, found.difference.part) == (step, part)
    assert found.difference.at is not None
    assert found.difference.at.source.startswith(words)
    assert found.difference.at.line == line_of(text, words)
    assert [shown.same for shown in found.steps[: step + 1]] == [True] * step + [False]
    assert not any("was given" in sentence for sentence in found.difference.sentences)


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SILENT)
def test_what_cannot_be_told_is_not_told(traced: Trace, shape: str) -> None:
    text, words = SILENT[shape]
    found = traced(more=text, case="ragged_chunks").cases[0]
    assert found.outcome == "unrecognised", found
    assert found.difference is None
    assert found.message.startswith(f"It could not be told which of your variables {words}, so the table shows m and l")
    assert "line" not in found.message
    assert all(step.same for step in found.steps)


def test_an_invariant_is_named_without_a_line_where_both_sums_are_off(traced: Trace) -> None:
    """The maximum over all keys is a scale as good as another; of l and acc neither shows that it is the other."""
    text = put(shapes.MAXIMUM_FIRST, ("tl.exp(s - m_safe[:, None])", "tl.exp2(s - m_safe[:, None])"))
    difference = traced(more=text, case="ragged_chunks").cases[0].difference
    assert difference is not None
    assert (difference.name, difference.part, difference.at) == ("m + log(l)", None, None)
    assert len(difference.sentences) == 1


def test_v_of_another_chunk_is_named_where_the_weights_are_right(traced: Trace) -> None:
    text = put(
        shapes.PLAIN, ("v_ptr + places, mask=offs_n[:, None] <", "v_ptr + places + HEAD, mask=offs_n[:, None] + 1 <")
    )
    difference = traced(more=text, case="ragged_chunks").cases[0].difference
    assert difference is not None
    assert "In this pass rows 1 to 32 of v were loaded, and rows 0 to 31 belong there." in difference.sentences


def test_a_right_range_is_not_blamed_where_a_pass_loads_nothing(traced: Trace) -> None:
    found = traced(more=put(shapes.PLAIN, ("offs_n = start_n +", "offs_n = start_n * BLOCK_N +")), case="ragged_chunks")
    assert found.cases[0].message == (
        "The state is right for the keys that are loaded, and no pass loads keys 32-63 and keys 64-71."
    )


def test_rows_that_are_loaded_again_are_told_of_by_chunk(traced: Trace) -> None:
    text = put(shapes.PLAIN, ("offs_n = start_n +", "offs_n = start_n // BLOCK_N +"))
    difference = traced(more=text, case="ragged_chunks").cases[0].difference
    assert difference is not None
    assert difference.step == 1
    assert "In this pass rows 1 to 32 of k were loaded, and rows 32 to 63 belong there." in difference.sentences


HOSTILE = 'acc = acc + tl.dot(p, v, input_precision="ieee")'


@pytest.mark.parametrize(
    ("tail", "shown"),
    [
        (" # \x1b[31mred\x1b]0;title\x07 \u202eabc \u2066", ""),
        ('; "\x1b[31m\u202e\u2066 # no comment"', '; "\ufffd[31m\ufffd\ufffd # no comment"'),
        ('; "' + "x" * 2000 + '"', None),
    ],
)
def test_a_line_moves_no_cursor(traced: Trace, tail: str, shown: str | None) -> None:
    old = 'acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")'
    difference = traced(more=put(shapes.PLAIN, (old, HOSTILE + tail)), case="ragged_chunks").cases[0].difference
    assert difference is not None
    assert difference.at is not None
    source = difference.at.source
    if shown is None:
        assert source.startswith(HOSTILE)
        assert source.endswith(" ...")
        assert len(source) <= 400
    else:
        assert source == HOSTILE + shown
    assert any(source in sentence for sentence in difference.sentences)
