"""Steps on speed: what a ratio passes, what a wrong or stopped kernel gets, and where there is nothing to race on."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import devices, racing
from autograder.catalogue import Exercise, load_course
from autograder.devices import Gpu
from autograder.measured import Measured, Times, mean_ratio, measuring_job
from autograder.protocol import CheckReply, Job

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    """The one exercise of the course that is about speed."""
    return next(one for one in load_course(ROOT).exercises if one.speed is not None)


def found(ratio: float, right: bool = True) -> Measured:
    times = {"student": Times(1.0, 1.0, 1.0, 0.0), "flash": Times(ratio, ratio, ratio, 0.0)}
    return Measured(times, (), right, 0.0, 1.0, {}, {})


def test_a_ratio_passes_the_steps_up_to_it(exercise: Exercise) -> None:
    verdicts = racing.judged(exercise, [found(1.0), found(1.21)], None)  # the geometric mean is 1.1
    steps = {check.at_least: verdicts[check.id] for check in exercise.races}
    assert [step for step, verdict in steps.items() if verdict.outcome == "pass"] == [0.5, 0.8, 1.0]
    assert steps[1.2].measurements["ratio"] == pytest.approx(1.1)
    assert "1.10 times torch flash; this step asks for 1.2 times." in steps[1.2].message


def test_a_kernel_that_is_wrong_where_it_is_timed_passes_no_step(exercise: Exercise) -> None:
    reply = CheckReply("m1", "ran")
    verdicts = racing.judged(exercise, [found(9.0), found(9.0, right=False)], reply)
    assert {verdict.outcome for verdict in verdicts.values()} == {"fail"}


def test_a_kernel_that_is_stopped_says_why(exercise: Exercise) -> None:
    verdicts = racing.judged(exercise, [], CheckReply("m0", "out-of-memory", "Too much shared memory."))
    assert {(x.outcome, x.message) for x in verdicts.values()} == {("out-of-memory", "Too much shared memory.")}


def test_without_its_baseline_a_race_is_nobodys_loss(exercise: Exercise) -> None:
    lonely = Measured({"student": Times(1.0, 1.0, 1.0, 0.0)}, ("flash",), True, 0.0, 1.0, {}, {})
    verdicts = racing.judged(exercise, [lonely], None)
    assert {verdict.outcome for verdict in verdicts.values()} == {"grader-error"}


def test_an_older_gpu_is_told_what_is_needed(exercise: Exercise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "find_gpu", lambda: Gpu("Tesla T4", (7, 5)))
    assert racing.too_old(exercise) == "Needs a GPU of sm_80 or newer, and Tesla T4 is sm_75."
    monkeypatch.setattr(devices, "find_gpu", lambda: Gpu("NVIDIA H200", (9, 0)))
    assert racing.too_old(exercise) is None


def test_a_race_measures_its_own_cases_and_brings_no_outputs(exercise: Exercise) -> None:
    assert exercise.speed is not None
    job = measuring_job(Job("launch.py", "k.py", "", ("f",), ()), exercise, exercise.speed.cases)
    assert len(job.checks) == len(exercise.speed.cases)
    assert all(not check.inputs for check in job.checks)
    assert exercise.speed.against in job.baselines
    assert {case["nseq"] for case in exercise.speed.cases} >= {1024, 16384}


def test_a_mean_needs_every_case() -> None:
    assert mean_ratio([], "flash") is None
    assert mean_ratio([found(2.0), found(8.0)], "flash") == pytest.approx(4.0)
    assert mean_ratio([found(2.0), found(8.0)], "cudnn") is None


def test_races_take_no_part_in_what_has_a_case(exercise: Exercise) -> None:
    assert not {check.id for check in exercise.races} & {check.id for check in exercise.checks}
    assert exercise.optional
    assert exercise.devices == ("cuda",)
