"""The JSON document has exactly the keys of its contract, and any JSON parser can read it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from autograder.result import (
    SCHEMA,
    CheckResult,
    Clue,
    Diagnosis,
    Environment,
    ExerciseResult,
    RunResult,
    Sandbox,
    TargetResult,
    from_document,
    to_document,
    to_json,
)

# What readers outside this project rely on.
CONTRACT = {
    "document": {
        "schema",
        "kit_version",
        "student",
        "course",
        "seed",
        "hidden",
        "environment",
        "sandbox",
        "total",
        "exercises",
        "error",
    },
    "course": {"title"},
    "environment": {"device", "triton", "torch", "numpy", "python"},
    "sandbox": {"layers", "missing"},
    "total": {"score", "points", "bonus"},
    "exercise": {
        "id",
        "lesson",
        "title",
        "points",
        "score",
        "optional",
        "outcome",
        "seconds",
        "file",
        "line",
        "checks",
        "diagnosis",
        "gpu_targets",
    },
    "check": {
        "id",
        "tier",
        "weight",
        "hidden",
        "outcome",
        "proves",
        "message",
        "measurements",
        "where",
        "repro",
    },
    "diagnosis": {"mistake", "message", "distance", "runner_up"},
    "target": {"target", "outcome", "shared", "message"},
}
# Added within schema 1; readers pass over what they do not know.  A new key is written down here.
EXTRA = {
    "document": {"notes", "fingerprints"},
    "environment": {"gpu"},
    "exercise": {"cell", "closer", "clues", "counts", "message", "remarks"},
    "check": {"seed"},
    "target": {"original", "registers", "spills"},
}

ENVIRONMENT = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11.7")


def a_run() -> RunResult:
    check = CheckResult(
        "ragged",
        "ragged",
        1.0,
        False,
        "fail",
        "It holds.",
        "It does not.",
        {"error": math.inf, "bar": 1e-6, "rms": math.nan, "list": [-math.inf, 1.0]},
        {"output": "o", "index": (3, 4)},
        "grade check a",
    )
    exercise = ExerciseResult(
        "a",
        7,
        "A",
        3.0,
        1.0000000001,
        False,
        "partial",
        0.5,
        "x.py",
        12,
        checks=(check,),
        diagnosis=(Diagnosis("m", "You did m.", math.inf, None),),
        gpu_targets=(TargetResult("sm_75", "pass", 1024, ""),),
        clues=(Clue("mass", "Keys 0-3 count for nothing.", True, {"got": [[0.0, math.nan]]}), Clue("series", "It is.")),
        closer=("grade trace flash_attention",),
    )
    bonus = ExerciseResult("b", 7, "B", 2.0, 2.0, True, "pass", 0.0, None, None, counts=False)
    return RunResult("0.1.0", "Course", 7, False, ENVIRONMENT, Sandbox(("rlimits",), ("landlock",)), (exercise, bonus))


def parts(document: dict[str, Any]) -> dict[str, set[str]]:
    exercise = document["exercises"][0]
    return {
        "document": set(document),
        **{name: set(document[name]) for name in ("course", "environment", "sandbox", "total")},
        "exercise": set(exercise),
        "check": set(exercise["checks"][0]),
        "diagnosis": set(exercise["diagnosis"][0]),
        "target": set(exercise["gpu_targets"][0]),
    }


def test_the_keys_are_those_of_the_contract_and_listed_extras() -> None:
    expected = {name: keys | EXTRA.get(name, set()) for name, keys in CONTRACT.items()}
    assert parts(to_document(a_run())) == expected
    assert SCHEMA == to_document(a_run())["schema"] == 1


def test_numbers_that_are_not_finite_are_strings() -> None:
    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    exercise = json.loads(to_json(a_run()), parse_constant=refuse)["exercises"][0]
    measurements = exercise["checks"][0]["measurements"]
    assert measurements == {"error": "inf", "bar": 1e-6, "rms": "nan", "list": ["-inf", 1.0]}
    assert exercise["diagnosis"][0]["distance"] == "inf"


def test_the_total_leaves_out_optional_exercises_and_counts_them_as_bonus() -> None:
    assert to_document(a_run())["total"] == {"score": 1.0, "points": 3.0, "bonus": 2.0}


def test_a_run_that_graded_nothing_is_a_document_with_the_same_keys() -> None:
    failed = RunResult("0.1.0", None, None, False, ENVIRONMENT, Sandbox(), (), error="No course.")
    document = to_document(failed)
    assert set(document) == CONTRACT["document"] | EXTRA["document"]
    assert document["exercises"] == []
    assert document["error"] == "No course."
    assert document["course"] == {"title": None}
    assert not failed.all_passed


def test_the_text_ends_with_a_line_end_and_keeps_names_readable() -> None:
    run = RunResult("0.1.0", "Kurs für Kernel", 7, False, ENVIRONMENT, Sandbox(), ())
    assert to_json(run).endswith("}\n")
    assert "Kurs für Kernel" in to_json(run)


def test_a_run_comes_back_from_its_document() -> None:
    document = json.loads(to_json(a_run()))
    again = from_document(document)
    assert json.loads(to_json(again)) == document
    assert (again.score, again.points, again.bonus) == (1.0000000001, 3.0, 2.0)


@pytest.mark.parametrize("document", [{}, {"schema": 2}, {"schema": 1}, {"schema": 1, "exercises": 3}, [], "x"])
def test_what_is_no_document_is_a_value_error(document: Any) -> None:
    with pytest.raises(ValueError, match=r"schema|no result document"):
        from_document(document)
