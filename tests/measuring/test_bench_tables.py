"""[bench], [speed] and [settings] are read with every mistake in them named in one sentence."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from autograder.bench_table import read_bench, read_settings, read_speed
from autograder.errors import CourseError
from autograder.toml_table import Table

RIGHT: dict[str, Any] = {
    "bench": {
        "keys": ["n"],
        "values": [1, 2],
        "variants": [{}, {"causal": True}],
        "case": {"n": 1, "causal": False},
        "baselines": {"flash": "torch flash"},
    },
    "speed": {
        "against": "flash",
        "capability": [8, 0],
        "cases": [{"n": 8}],
        "steps": [{"id": "as_fast", "at_least": 1.0, "proves": "As fast."}],
    },
    "settings": {"by": "n", "of": [1], "allowed": {"num_warps": [1, 2], "flat": [False, True]}},
}


def read(changed: dict[str, Any]) -> Any:
    table = Table(changed, "exercise.toml")
    bench = read_bench(table, lambda entry: entry.mapping("case"))
    found = bench, read_speed(table, bench), read_settings(table)
    table.finish()
    return found


def test_what_is_right_is_read() -> None:
    bench, speed, settings = read(deepcopy(RIGHT))
    assert [dict(case) for case in bench.cases(bench.variants[1])] == [
        {"n": 1, "causal": True},
        {"n": 2, "causal": True},
    ]
    assert dict(speed.cases[0]) == {"n": 8, "causal": False}
    assert (speed.steps[0].at_least, speed.steps[0].weight) == (1.0, 1.0)
    assert settings.allowed["flat"] == (False, True)


def test_an_exercise_may_have_none_of_them() -> None:
    assert read({}) == (None, None, None)


@pytest.mark.parametrize(
    ("table", "key", "value", "words"),
    [
        ("bench", "keys", ["m"], "no 'm'"),
        ("bench", "values", [], "something in them"),
        ("bench", "variants", [{"masked": True}], "no 'masked'"),
        ("bench", "baselines", {"not a name": "x"}, "functions of bench.py"),
        ("bench", "surprise", 1, "unknown key 'surprise'"),
        ("speed", "against", "cudnn", "none of [bench]'s baselines"),
        ("speed", "capability", [8], "two numbers"),
        ("speed", "steps", [{"id": "x", "at_least": 1.0}], "'proves' is missing"),
        ("settings", "allowed", {"num_warps": []}, "'num_warps' may be"),
        ("settings", "allowed", {"num_warps": [1.5]}, "'num_warps' may be"),
        ("settings", "of", [], "something in them"),
    ],
)
def test_each_mistake_is_one_sentence(table: str, key: str, value: Any, words: str) -> None:
    changed = deepcopy(RIGHT)
    changed[table][key] = value
    with pytest.raises(CourseError) as raised:
        read(changed)
    assert words in str(raised.value)


def test_a_race_needs_something_to_race_against() -> None:
    changed = deepcopy(RIGHT)
    del changed["bench"]
    with pytest.raises(CourseError, match="none of"):
        read(changed)
