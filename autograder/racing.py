"""Checks on speed: a kernel whose other checks pass is measured beside a baseline, once for all of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from autograder import devices
from autograder.catalogue import Exercise
from autograder.measured import Measured, mean_ratio, measured, measuring_job
from autograder.plan import Plan
from autograder.pool import Crew
from autograder.protocol import RAN, CheckJob, CheckReply, Job

if TYPE_CHECKING:
    from autograder.judge.verdict import Verdict


def too_old(exercise: Exercise) -> str | None:
    """Why this machine's GPU is none for the exercise, in a sentence; None if it is, or if there is no such need."""
    gpu = devices.find_gpu() if exercise.speed is not None else None
    if exercise.speed is None or gpu is None or gpu.capability >= exercise.speed.capability:
        return None
    major, minor = exercise.speed.capability
    return f"Needs a GPU of sm_{major}{minor} or newer, and {gpu.name} is sm_{gpu.capability[0]}{gpu.capability[1]}."


def without_races(plan: Plan) -> Plan:
    """A plan without its checks on speed."""
    return replace(plan, checks=tuple(check for check in plan.checks if check.at_least is None))


def all_pass(verdicts: Mapping[str, Verdict]) -> bool:
    """Whether a kernel is right, so that it makes sense to ask how fast it is."""
    return all(verdict.outcome == "pass" for verdict in verdicts.values())


def race(exercise: Exercise, job: Job, crew: Crew) -> Mapping[str, Verdict]:
    """The verdict on each of the exercise's races, by id; ``job`` is that of its other checks.

    Raises:
        WorkerError: the worker is gone.
    """
    assert exercise.speed is not None
    found: list[Measured] = []
    wrong: list[CheckReply] = []

    def take(reply: CheckReply, following: CheckJob | None) -> bool:
        one = measured(reply) if reply.outcome == RAN else None
        if one is not None:
            found.append(one)
        if one is None or not one.right:
            wrong.append(reply)
        return not wrong

    crew.run_alone(measuring_job(job, exercise, exercise.speed.cases), take)
    return judged(exercise, found, wrong[0] if wrong else None)


def judged(exercise: Exercise, found: list[Measured], wrong: CheckReply | None) -> Mapping[str, Verdict]:
    """What measurements of all cases, or else the reply that ended them, make of each race."""
    from autograder.judge.verdict import Verdict

    assert exercise.speed is not None
    assert exercise.bench is not None
    against = exercise.bench.baselines[exercise.speed.against]
    ratio = mean_ratio(found, exercise.speed.against)
    verdicts = {}
    for check in exercise.races:
        assert check.at_least is not None
        if wrong is not None and wrong.outcome == RAN:
            message = "At the sizes at which it is timed, what the kernel writes is wrong."
            verdicts[check.id] = Verdict("fail", message)
        elif wrong is not None:
            outcome = {"violation": "fail"}.get(wrong.outcome, wrong.outcome)
            verdicts[check.id] = Verdict(outcome, wrong.message, wrong.line)
        elif ratio is None:
            verdicts[check.id] = Verdict("grader-error", f"{against} does not run on this GPU, so there is no ratio.")
        else:
            fast = ratio >= check.at_least
            message = "" if fast else f"{ratio:.2f} times {against}; this step asks for {check.at_least:g} times."
            verdicts[check.id] = Verdict("pass" if fast else "fail", message, None, {"ratio": round(ratio, 3)})
    return verdicts
