"""Gradescope's results.json with a test for each check: what students see at once, and what only later."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from autograder.bridges import checks_document
from autograder.catalogue import TARGET_TIER
from autograder.reports.public_view import WORTH_NOTHING_YET
from autograder.result import AFTER_A_FAILURE, CheckResult, Environment, ExerciseResult, RunResult, Sandbox
from tests.bridges.classroom import SECRET, exercise

LATER = "after_published"


def document(*exercises: ExerciseResult, error: str | None = None) -> dict[str, Any]:
    environment = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11")
    sandbox = Sandbox()
    made = RunResult("0.1.0", "Flash", 7, True, environment, sandbox, exercises, student="submission", error=error)
    return checks_document(made, LATER)


def seen(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [test for test in made["tests"] if test["visibility"] == "visible"]


def test_a_test_for_each_public_check_and_one_for_all_hidden_ones() -> None:
    made = document(exercise("softmax", 1.0, public_fails=True), exercise("loads", 2.0))
    assert [test["number"] for test in made["tests"]] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    assert [test["visibility"] for test in made["tests"]] == ["visible", "visible", LATER] * 2
    assert [(test["score"], test["max_score"]) for test in made["tests"][:3]] == [(1, 1), (0, 1), (0, 1)]
    assert made["tests"][1]["output"] == "fail: Ragged.\nrow 3 is off by 2"
    assert made["score"] == pytest.approx(sum(test["score"] for test in made["tests"])) == 3


def test_maxima_add_up_to_the_exercises_points() -> None:
    exact = exercise("loads", 2.0)  # three checks of equal weight: 0.666667 each
    tests = document(exact)["tests"]
    assert sum(test["max_score"] for test in tests) == 2
    assert all(test["score"] == test["max_score"] and test["status"] == "passed" for test in tests)


def test_a_kernel_that_compiles_and_gets_nothing_right_is_told_why_it_earns_nothing() -> None:
    compiles = CheckResult("gpu_targets", TARGET_TIER, 1, False, "pass", "It compiles.", "fine")
    stuck = CheckResult("tiny", "tiny", 3, False, "timeout", "It works.", "It did not end.")
    made = document(replace(exercise("softmax", 0.0), outcome="timeout", checks=(stuck, compiles)))
    assert made["tests"][1]["output"] == f"pass: It compiles.\n{WORTH_NOTHING_YET}"
    assert (made["tests"][1]["score"], made["tests"][1]["status"]) == (0, "failed")
    broken = document(replace(exercise("softmax", 0.0), outcome="grader-error", checks=(compiles,)))
    assert WORTH_NOTHING_YET not in json.dumps(broken)


def test_nothing_of_a_hidden_check_is_in_it_but_numbers() -> None:
    made = document(exercise("softmax", 2.0), exercise("flash", 2.5))
    assert SECRET not in json.dumps(made)
    # Its score tells how the hidden checks went: it is in no text that is seen at once.
    assert made["output"].startswith("Public checks: 5.33 points. The whole assignment is worth 8.\n")
    assert "hidden" not in "".join(test["output"] for test in seen(made))
    assert made["stdout_visibility"] == "hidden"


def test_the_whole_is_the_same_for_everyone_whatever_they_began() -> None:
    begun = document(exercise("softmax", 3.0), exercise("loads", 2.0))
    idle = document(exercise("softmax", 0.0, "not-started"), exercise("loads", 0.0, "not-started"))
    assert begun["output"].startswith("Public checks: 3.33 points. The whole assignment is worth 5.")
    assert idle["output"].startswith("Public checks: 0 points. The whole assignment is worth 5.")


def test_what_shows_that_a_hidden_check_failed_waits_too() -> None:
    failed = exercise("softmax", 1.0)
    late = CheckResult("long", "stress", 1, False, "skipped", "Long rows.", AFTER_A_FAILURE)
    silent = document(replace(failed, checks=(*failed.checks, late)))
    assert [test["name"] for test in seen(silent)] == ["The softmax kernel: tiny", "The softmax kernel: ragged"]
    # Behind a public failure it says nothing that the student does not know.
    loud = exercise("softmax", 0.75, public_fails=True)
    told = document(replace(loud, checks=(*loud.checks, late)))
    assert "The softmax kernel: long" in [test["name"] for test in seen(told)]
    follows = "Graded with the reference in place of loads, which did not pass."
    made = document(replace(exercise("softmax", 3.0), message=follows))
    assert follows not in json.dumps(seen(made))
    assert made["tests"][-1] | {"number": ""} == {
        "number": "",
        "name": "The softmax kernel",
        "output": follows,
        "output_format": "text",
        "visibility": LATER,
    }


def test_not_started_is_one_test_with_the_reason() -> None:
    told = "There is no function softmax in kernels.py."
    made = document(replace(exercise("softmax", 0.0, "not-started"), message=told), error="No readable file.")
    (only,) = made["tests"]
    assert (only["score"], only["max_score"], only["output"]) == (0, 3, told)
    assert "No readable file." in made["output"]


def test_optional_exercises_add_nothing_to_the_score() -> None:
    made = document(exercise("loads", 2.0), exercise("extra", 1.0))
    assert made["score"] == 2
    extra = made["tests"][-1]
    assert "score" not in extra
    assert extra["output"] == "optional, not part of the score. Public checks: 2 of 2."
