"""A child does one job after another of a hand-in, as it does on a GPU, and gains nothing by it.

The modules here are what no lift would ever let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.pool import Crew, Pool
from autograder.protocol import CheckJob, CheckReply, Job, Limits, Programme, RawTensor

LAUNCH = """
def outputs(case):
    return {"y": ((case["n"],), "float32")}

def launch(run, student, case, inputs, outputs):
    student.kernel(inputs["x"], outputs["y"], case["n"])
"""

# Gives the process's number; ATTACK runs first.
MODULE = """
import os, threading, time
def kernel(x, y, n):
    ATTACK
    y.fill_(os.getpid() % 10**6)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


class Exercises:
    """Jobs by launch file, each with checks of ``sizes``; the programme is made of the first two."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.launches = [folder / f"launch{n}.py" for n in range(3)]
        for launch in self.launches:
            launch.write_text(LAUNCH)

    def job(self, number: int, attack: str = "pass", sizes: tuple[int, ...] = (4, 5)) -> Job:
        return Job(
            launch=str(self.launches[number]),
            file_name="k.py",
            module=MODULE.replace("ATTACK", attack),
            functions=("kernel",),
            checks=tuple(CheckJob(f"n{n}", {"n": n}, {"x": RawTensor("float32", (n,), bytes(4 * n))}) for n in sizes),
            limits=Limits(cpu_seconds=8, wall_seconds=8, memory_bytes=1 << 30, file_bytes=1 << 20),
        )

    @property
    def programme(self) -> Programme:
        return {str(launch): {f"n{n}": {"n": n} for n in (4, 5)} for launch in self.launches[:2]}


@pytest.fixture
def exercises(tmp_path: Path) -> Exercises:
    return Exercises(tmp_path)


@pytest.fixture
def crew(pool: Pool, exercises: Exercises) -> Iterator[Crew]:
    crew = Crew(pool, exercises.programme, reuse=True)
    yield crew
    crew.close()


def everything(reply: CheckReply, following: CheckJob | None) -> bool:
    return True


def run(crew: Crew, job: Job, carry_on: Callable[[CheckReply, CheckJob | None], bool] = everything) -> list[CheckReply]:
    replies: list[CheckReply] = []

    def settle(reply: CheckReply, following: CheckJob | None) -> bool:
        replies.append(reply)
        return carry_on(reply, following)

    crew.run(job, settle)
    return replies


def process(replies: list[CheckReply]) -> bytes:
    """What tells which child has answered."""
    assert {reply.outcome for reply in replies} == {"ran"}
    (number,) = {bytes(reply.outputs["y"].data[:4]) for reply in replies}
    return number


def test_one_child_does_all_jobs_of_a_hand_in(crew: Crew, exercises: Exercises) -> None:
    assert process(run(crew, exercises.job(0))) == process(run(crew, exercises.job(1)))


def test_where_children_are_cheap_each_job_has_its_own(pool: Pool, exercises: Exercises) -> None:
    with pool.crew(exercises.programme) as crew:
        assert process(run(crew, exercises.job(0))) != process(run(crew, exercises.job(1)))


def test_what_was_not_promised_before_is_done_by_a_fresh_child(crew: Crew, exercises: Exercises) -> None:
    first = process(run(crew, exercises.job(0)))
    second = process(run(crew, exercises.job(2)))
    other_case = exercises.job(1)
    other_case = replace(other_case, checks=(replace(other_case.checks[0], case={"n": 4, "m": 1}),))
    third = process(run(crew, other_case))
    assert len({first, second, third}) == 3
    assert process(run(crew, exercises.job(1))) in {first, second}


def test_what_is_done_on_demand_alone_is_left_out_and_the_child_goes_on(crew: Crew, exercises: Exercises) -> None:
    """It has waited for a word: stopped in the middle of a check, it would be good for nothing more."""
    job = replace(exercises.job(0, f"open('{exercises.folder}/did%d' % n, 'w') if n == 6 else 0", (4, 5, 6)), unasked=2)
    crew._programme = {str(exercises.launches[0]): {f"n{n}": {"n": n} for n in (4, 5, 6)}, **crew._programme}
    first = run(crew, job, lambda reply, following: following is not None and following.id != "n6")
    assert [reply.id for reply in first] == ["n4", "n5"]
    assert process(run(crew, exercises.job(1))) == process(first)
    asked = run(crew, replace(exercises.job(0, sizes=(4, 5, 6)), unasked=2))
    assert [reply.id for reply in asked] == ["n4", "n5", "n6"]
    assert process(asked)


def test_all_can_be_on_demand(crew: Crew, exercises: Exercises) -> None:
    assert process(run(crew, replace(exercises.job(0), unasked=0)))


def test_a_job_that_is_stopped_early_ends_its_child(crew: Crew, exercises: Exercises) -> None:
    first = run(crew, exercises.job(0, "time.sleep(0.3)"), lambda reply, following: False)
    assert [reply.id for reply in first] == ["n4"]
    assert process(run(crew, exercises.job(1))) != process(first)


@pytest.mark.parametrize(
    ("attack", "outcomes"),
    [
        ("os._exit(0) if n == 5 else 0", ["ran", "crashed"]),
        ("x.fill_(1) if n == 5 else 0", ["ran", "violation"]),
        ("os.closerange(3, 200) if n == 5 else 0", ["ran", "crashed"]),
    ],
)
def test_after_a_failure_the_next_job_has_a_fresh_child(
    crew: Crew, exercises: Exercises, attack: str, outcomes: list[str]
) -> None:
    broken = run(crew, exercises.job(0, attack))
    assert [reply.outcome for reply in broken] == outcomes
    assert process(run(crew, exercises.job(1))) != process(broken[:1])


def test_a_child_that_dies_while_it_waits_costs_nothing(crew: Crew, exercises: Exercises) -> None:
    first = process(run(crew, exercises.job(0, "threading.Timer(0.5, os._exit, (0,)).start() if n == 5 else 0")))
    (idle,) = crew._idle
    while idle.conversation._connection.recv(1):
        pass
    assert process(run(crew, exercises.job(1))) != first


def test_a_later_job_keeps_what_was_promised_before_the_first(crew: Crew, exercises: Exercises) -> None:
    """A child that has been taken over cannot choose what the judge will see of the next exercise."""
    forge = (
        "import autograder.protocol as P, autograder.worker.child as C; "
        "C._Runner.run = lambda self, check: P.CheckReply(check.id, 'ran', outputs="
        "{'y': P.RawTensor('float32', (1,), bytes(4))})"
    )
    assert process(run(crew, exercises.job(0, f"exec({forge!r}, {{}}) if n == 5 else 0")))
    (later, *_) = run(crew, exercises.job(1))
    assert later.outcome == "crashed"
    assert "no result" in later.message


def test_children_end_with_their_crew(pool: Pool, exercises: Exercises) -> None:
    with pool.crew() as crew:
        crew._reuse = True
        run(crew, exercises.job(0))
        (idle,) = crew._idle
        assert idle.folder.is_dir()
    assert not idle.folder.exists()
    assert pool._exits == {}
