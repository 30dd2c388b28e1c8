"""What is said of an attempt beside earlier ones is certain, or is not said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.attempts import Memory
from autograder.catalogue import Course
from autograder.result import ExerciseResult
from tests.attempts.making import ENVIRONMENT, counted, result, run

Say = Callable[..., str]


@pytest.fixture
def say(course: Course, tmp_path: Path) -> Say:
    """Takes one attempt after another, each with a source of its own, and returns what is said of the last."""
    memory = Memory(replace(course, root=tmp_path), tmp_path / "assignments")
    numbers = iter(range(1000))

    def take(*results: ExerciseResult, **how: object) -> str:
        said = ""
        for one in results:
            fresh = replace(one, source=f"source {next(numbers)}") if one.source == "a" else one
            said = memory.take(run(fresh, course=course, **how)).get(one.id, "")  # type: ignore[arg-type]
        return said

    return take


PASS, FAIL = result("pass"), result()
OTHER = result(message="q is not written.")


def test_a_first_failure_has_nothing_before_it(say: Say) -> None:
    assert say(FAIL) == ""


def test_a_first_pass_is_counted(say: Say) -> None:
    assert say(PASS) == "passed at the first attempt"
    assert say(PASS) == ""


def test_a_pass_after_failures(say: Say) -> None:
    assert say(FAIL, OTHER, FAIL, FAIL, OTHER, PASS) == "passed for the first time, after 5 attempts"
    assert say(FAIL) == "passed last time"
    assert say(PASS) == "passes again"


def test_the_same_failure_again(say: Say) -> None:
    assert say(FAIL, FAIL) == "same failure as last time"
    assert say(FAIL) == "same failure as last time, 3 times in a row"
    assert say(OTHER) == ""
    assert say(result(message="Another one."), FAIL) == "same failure as 3 attempts ago"


def test_failures_differ_by_check_outcome_message_and_cause(say: Say) -> None:
    others = (
        replace(FAIL, checks=(replace(FAIL.checks[0], id="many_tiles"),)),
        replace(FAIL, checks=(replace(FAIL.checks[0], outcome="crashed"),)),
        replace(FAIL, checks=(replace(FAIL.checks[0], message="q is off by more."),)),
        replace(FAIL, checks=(*FAIL.checks, replace(FAIL.checks[0], id="many_tiles"))),
        result(mistake="no_mask"),
        result("compile-error"),
    )
    for other in others:
        assert say(FAIL, other) == ""


def test_the_line_of_a_message_may_move(say: Say) -> None:
    assert say(result(message="Line 3: it stops."), result(message="Line 14: it stops.")) == "same failure as last time"
    assert say(result(message="Cell 2, line 3: it stops.")) == "same failure as last time, 3 times in a row"


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (counted(90, 4), counted(30, 2), "two fewer faulty tiles than last time"),
        (counted(90, 4), counted(95, 5), "one more faulty tile than last time"),
        (counted(90, 4), counted(30, 4), "60 fewer wrong elements than last time"),
        (counted(5), counted(6), "one more wrong element than last time"),
        (counted(90, 4, whole=False), counted(30, 2), ""),  # something else was wrong as well
        (counted(90, 4), counted(30, 2, whole=False), ""),
        (counted(90, 4), counted(30, 2, output="k"), ""),
        ({}, counted(30, 2), ""),
    ],
)
def test_fewer_and_more_is_said_of_the_same_check_and_output(
    say: Say, then: dict[str, object], now: dict[str, object], said: str
) -> None:
    first, second = result(message="Then.", **then), result(message="Now.", **now)
    assert say(first, second) == said
    assert say(first, replace(second, checks=(replace(second.checks[0], id="other"),))) == ""


@pytest.mark.parametrize("what", ["seed", "device", "version"])
def test_attempts_in_another_setting_are_not_compared(say: Say, what: str) -> None:
    say(FAIL)
    if what == "seed":
        assert say(FAIL, seed=8) == ""
    elif what == "device":
        assert say(FAIL, environment=replace(ENVIRONMENT, device="cuda")) == ""
        assert say(FAIL) == "same failure as last time"  # of this device
    else:
        assert say(FAIL, environment=replace(ENVIRONMENT, triton="3.6")) == ""
    assert say(FAIL) != ""


def test_a_run_without_a_change_is_no_attempt(say: Say) -> None:
    same = result(source="one")
    assert say(same, same, same) == ""
    assert say(FAIL) == "same failure as last time"
    assert (
        say(result("pass", source="two"), result("pass", source="two")) == "passed for the first time, after 2 attempts"
    )


def test_what_was_not_tried_is_no_attempt(say: Say) -> None:
    for outcome in ("not-started", "skipped", "grader-error"):
        say(result(outcome))
    say(result("refused", source=None))
    assert say(PASS) == "passed at the first attempt"


def test_what_the_compiler_says_later_makes_no_other_failure(say: Say) -> None:
    """`grade watch` has the verdict before the compiler's, `grade check` has both."""
    target = replace(FAIL.checks[0], id="gpu_targets", tier="target", message="Does not compile.")
    assert say(FAIL, replace(FAIL, checks=(*FAIL.checks, target))) == "same failure as last time"
    assert say(replace(FAIL, checks=(target,))) == ""
    assert say(replace(FAIL, checks=(target,))) == "same failure as last time"
