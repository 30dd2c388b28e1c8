"""LAUNCH is read as data: a literal within bounds, or a refusal with its line."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.lift import Problem, launch_settings

ALLOWED = {"BLOCK_M": (32, 64), "num_warps": (1, 4), "descriptors": (False, True)}
RIGHT = '{64: {"BLOCK_M": 32, "num_warps": 4, "descriptors": True}}'


def read(text: str) -> Any:
    return launch_settings(text, "LAUNCH", "head", (64,), ALLOWED)


def test_a_literal_within_bounds_is_read() -> None:
    assert read(f"LAUNCH = {RIGHT}\n") == {64: {"BLOCK_M": 32, "num_warps": 4, "descriptors": True}}


def test_the_last_one_counts_and_functions_that_do_not_parse_are_no_obstacle() -> None:
    text = f"LAUNCH = {{}}\ndef broken(:\n    pass\n\nLAUNCH: dict = {RIGHT}\n"
    assert read(text)[64]["num_warps"] == 4


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("dict(a=1)", "must be written out"),
        ("make()", "must be written out"),
        ("{**other}", "must be written out"),
        ("[x for x in y]", "must be written out"),
        ("{32: {}}", "here is `32`"),
        ("{64.0: {}}", "here is `64.0`"),
        ("{}", "64 is missing"),
        ("{64: 5}", "must be a table"),
        ('{64: {"num_ctas": 2}}', "no setting"),
        ("{64: {BLOCK_M: 32}}", "no setting"),
        ('{64: {"BLOCK_M": 48}}', "one of 32 or 64"),
        ('{64: {"BLOCK_M": 32 * 2}}', "one of 32 or 64"),
        ('{64: {"BLOCK_M": __import__("os").getpid()}}', "one of 32 or 64"),
        ('{64: {"num_warps": True}}', "one of 1 or 4"),
        ('{64: {"descriptors": 1}}', "one of False or True"),
        ('{64: {"BLOCK_M": 32}}', "says nothing of num_warps"),
    ],
)
def test_anything_else_is_refused_with_its_line(value: str, words: str) -> None:
    problem = read(f"# a line above\nLAUNCH = {value}\n")
    assert isinstance(problem, Problem)
    assert (problem.outcome, problem.line) == ("refused", 2)
    assert words in problem.message


def test_without_one_the_exercise_is_not_started() -> None:
    problem = read("launch = {}\n")
    assert isinstance(problem, Problem)
    assert problem.outcome == "not-started"
    assert "LAUNCH" in problem.message
