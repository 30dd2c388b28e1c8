"""What is run after the verdict, to tell why, is given up where a kernel is slow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autograder.catalogue import Course
from autograder.judge.inquiry import Inquiry
from autograder.judge.verdict import Verdict
from autograder.protocol import RAN, CheckJob, CheckReply


def asked(course: Course, seconds: float, patience: float | None) -> int:
    """How many replies are taken after a failure in the first tier, each of which took ``seconds``."""
    exercise = course.exercise("flash_attention")
    ids = [check.id for check in exercise.checks if "cpu" in check.devices] + [probe.id for probe in exercise.probes]
    case: Any = SimpleNamespace(judge=lambda reply: Verdict("fail", "o is off."))
    inquiry = Inquiry(exercise, exercise.checks, dict.fromkeys(ids, case), False, True, patience)
    taken = 0
    for id, following in zip(ids, [*ids[1:], None], strict=True):
        job = CheckJob(following, {}, {}) if following is not None else None
        if not inquiry.carry_on(CheckReply(id, RAN, "", None, seconds), job):
            break
        taken += 1
    return taken


@pytest.mark.parametrize(("seconds", "patience"), [(0.01, 1.5), (100.0, None)])
def test_everything_is_asked_of_an_ordinary_kernel_and_where_there_is_no_limit(
    course: Course, seconds: float, patience: float | None
) -> None:
    assert asked(course, seconds, patience) >= 10


def test_a_slow_kernel_is_not_asked_for_ever(course: Course) -> None:
    assert asked(course, 4.0, 1.5) == 2
