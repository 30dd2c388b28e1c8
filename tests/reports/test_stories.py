"""The terminal's story of an exercise: said once, with the next commands, and notes on what passed."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from autograder.catalogue import Course
from autograder.reports.repeats import first_to_say
from autograder.reports.terminal import print_run
from autograder.result import RunResult
from autograder.scoring import closer
from tests.reports.made import check, exercise, run

OUTSIDE = "Line 92: The kernel stores outside lse, which has shape ({n},): element {n}."


def printed(result: RunResult) -> str:
    stream = io.StringIO()
    print_run(Console(file=stream, width=80, highlight=False, emoji=False), result, plain=True)
    return stream.getvalue()


def test_failures_of_one_line_that_say_the_same_are_told_once() -> None:
    checks = [check(f"c{n}", "fail", message=OUTSIDE.format(n=n)) for n in (70, 45)]
    checks += [check("gpu", "fail", message=f"Line 92: Does not compile for sm_75 (T4): {OUTSIDE[9:].format(n=7)}")]
    checks += [check("other", "fail", message=OUTSIDE.replace("92", "93").format(n=1)), check("fine")]
    assert [before.id if before else None for _, before in first_to_say(checks)] == [
        None,
        "c70",
        "c70",
        None,
        None,
    ]
    text = printed(run(exercise("fail", checks=tuple(checks))))
    assert "c45  (as above)" in text
    assert text.count("The kernel stores outside lse") == 2


def test_results_that_differ_in_their_numbers_are_each_told() -> None:
    checks = [check(f"c{n}", "fail", message=f"o is off by up to {n} where at most 1e-06 is rounding.") for n in (1, 2)]
    assert [before for _, before in first_to_say(checks)] == [None, None]


def test_what_was_left_out_of_a_kernel_that_passes_is_noted() -> None:
    remark = "Line 102: `print` is left out while grading, so that nothing of it is shown."
    text = printed(run(exercise("pass", 2.0, checks=(check("a"),), remarks=(remark,))))
    assert f"Note on flash_attention: {remark}" in " ".join(text.split())


def test_an_exercise_that_is_not_started_leads_to_its_handout(course: Course) -> None:
    made = exercise("not-started", 0.0, checks=())
    text = printed(run(made))
    assert "what to write: course/exercises/lesson7/flash_attention/handout.md" in text
    assert course.exercise(made.id).handout == course.root / "course/exercises/lesson7/flash_attention/handout.md"


@pytest.mark.parametrize(
    ("id", "outcome", "commands"),
    [
        ("flash_attention", "fail", ["grade trace flash_attention -x", "grade check flash_attention --smallest -x"]),
        ("flash_attention", "compile-error", ["grade check flash_attention --smallest -x"]),
        ("flash_attention", "timeout", []),
        ("flash_attention", "pass", []),
        ("score_mask", "fail", ["grade check score_mask --smallest -x"]),
    ],
)
def test_the_commands_that_look_closer_are_those_that_can(
    course: Course, id: str, outcome: str, commands: list[str]
) -> None:
    checks = (check("a"), check("b", outcome), replace(check("c", "fail"), hidden=True))
    assert list(closer(course.exercise(id), checks, " -x")) == commands
    assert f"grade check {id} --smallest -x" not in closer(course.exercise(id), checks, " -x", whole=False)
