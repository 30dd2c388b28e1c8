"""A check that needs a larger GPU than there is counts in neither the points nor the total, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder import scoring
from autograder.catalogue import Course
from autograder.plan import Plan
from autograder.session import _that_fit


@pytest.mark.parametrize(("memory", "runs"), [(15.0, False), (139.8, True)])
def test_a_check_runs_where_the_gpu_has_the_memory(course: Course, memory: float, runs: bool) -> None:
    exercise = course.exercise("flash_attention")
    large = replace(exercise.checks[0], gpu_memory=24.0)
    plan = _that_fit(Plan(exercise, (large, *exercise.checks[1:]), None, None, {}), memory)
    assert [("cuda" in check.devices) for check in plan.checks[:2]] == [runs, True]
    assert plan.checks[1:] == exercise.checks[1:]
    if not runs:
        result = scoring.check_result(plan, plan.checks[0], None, "cuda", "")
        assert (result.outcome, result.message) == ("skipped", "Runs only on a GPU with at least 24 GiB of memory.")
