"""From which step on a result is wrong is said as it was seen, and no more."""

from __future__ import annotations

import pytest

from autograder.judge.series import Course, series_clue
from autograder.probes import SeriesView

RIGHT = (True, True, True, True)


def view(condition: str = "", scope: str = "", **only: str) -> SeriesView:
    return SeriesView(("c_1", "c_2", "c_3", "c_4"), (1, 2, 3, 4), "chunk of keys", condition, scope, only)


def said(*courses: Course) -> str | None:
    found = series_clue(courses, {"o": "acc / l"})
    return found[1] if found is not None else None


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ((True, False, False, False), "The result is right with one chunk of keys and wrong from the second on."),
        ((True, True, True, False), "The result is right with three chunks of keys and wrong from the fourth on."),
        ((False,) * 4, "The result is wrong already with a single chunk of keys, before any are joined."),
        ((True, False, True, False), "The result is wrong with 2 and 4 chunks of keys and otherwise right."),
        ((False, True, True, True), "The result is wrong with 1 chunk of keys and otherwise right."),
        (RIGHT, "The result is right with one to four chunks of keys."),
    ],
)
def test_one_output(steps: tuple[bool, ...], text: str) -> None:
    assert said(Course(view(), {"o": steps, "lse": steps})) == text


def test_outputs_that_part_are_told_apart_with_what_that_means() -> None:
    late = (True, False, False, False)
    only = view(o="Look at acc.", lse="Look at lse.")
    assert said(Course(only, {"o": late, "lse": RIGHT})) == (
        "acc / l is right with one chunk of keys and wrong from the second on, and lse is right throughout. "
        "Look at acc."
    )
    assert said(Course(only, {"o": RIGHT, "lse": (False,) * 4})) == (
        "acc / l is right throughout, and lse is wrong already with a single chunk of keys, before any are joined. "
        "Look at lse."
    )
    assert said(Course(only, {"o": late, "lse": (False,) * 4})) == (
        "acc / l is right with one chunk of keys and wrong from the second on, and lse is wrong already with a single "
        "chunk of keys, before any are joined."
    )


def test_several_series_tell_under_which_condition_it_goes_wrong() -> None:
    plain, causal = view("without the mask"), view("with the mask")
    fine, wrong = {"o": RIGHT}, {"o": (True, False, False, False)}
    assert said(Course(plain, fine), Course(causal, wrong)) == (
        "Without the mask the result is right with one to four chunks of keys; with the mask, the result is "
        "right with one chunk of keys and wrong from the second on."
    )
    assert said(Course(plain, wrong), Course(causal, fine)) == (
        "The result is right with one chunk of keys and wrong from the second on."
    )
    assert said(Course(plain, fine), Course(causal, fine)) == (
        "Without the mask and with the mask the result is right with one to four chunks of keys."
    )
    assert said() is None


def test_what_need_not_hold_elsewhere_is_said_first() -> None:
    late = (True, False, False, False)
    assert said(Course(view(scope="with one query"), {"o": late, "lse": late})) == (
        "With one query: the result is right with one chunk of keys and wrong from the second on."
    )


def test_outputs_of_which_the_same_is_to_be_said_are_told_together() -> None:
    late = (True, False, False, False)
    steps = {"y": late, "p": RIGHT, "q": RIGHT, "r": RIGHT}
    assert said(Course(view(), steps)) == (
        "y is right with one chunk of keys and wrong from the second on, and all else that was compared is right "
        "throughout."
    )
    assert said(Course(view(), {"y": late, "z": late, "p": RIGHT})) == (
        "each of y and z is right with one chunk of keys and wrong from the second on, and p is right throughout."
    )
