"""The thread that grades: one task at a time, cancelled if nobody waits, with a grader that is replaced if it dies."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from autograder.errors import HandInError, WorkerError, WorkStopped
from autograder.watch._work import ANEW, Done, Work


class FakeGrader:
    """Counts what is asked of it; `busy` ends when it is told to stop."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.told = threading.Event()
        self.closed = False

    def busy(self) -> None:
        self.begun.set()
        if not self.told.wait(30):
            raise AssertionError("nobody told it to stop")
        raise WorkStopped("Stopped.")

    def stop(self) -> None:
        self.told.set()

    def close(self) -> None:
        self.closed = True
        self.told.set()


class Makes:
    def __init__(self) -> None:
        self.made: list[FakeGrader] = []

    def __call__(self) -> Any:
        self.made.append(FakeGrader())
        return self.made[-1]


@pytest.fixture
def makes() -> Makes:
    return Makes()


@pytest.fixture
def work(makes: Makes) -> Iterator[Work]:
    with Work(makes) as work:
        yield work
    assert all(grader.closed for grader in makes.made)


def end_of(work: Work) -> Done:
    while True:
        assert select.select([work.handle], [], [], 30)[0], "no task ended"
        if (done := work.ended()) is not None:
            return done


def test_a_task_is_done_with_a_grader_that_stays(work: Work, makes: Makes) -> None:
    for number in (1, 2):
        work.start("count", lambda grader, number=number: number)
        assert work.busy
        assert end_of(work) == Done("count", number)
        assert not work.busy
    assert len(makes.made) == 1


def test_a_task_tells_something_before_its_end(work: Work) -> None:
    def run(grader: Any) -> int:
        work.tell("early", 1)
        return 2

    work.start("verdict", run)
    assert end_of(work) == Done("early", 1, more=True)
    assert work.busy
    assert end_of(work) == Done("verdict", 2)


def test_the_next_task_cancels_the_one_at_work(work: Work, makes: Makes) -> None:
    work.start("old", lambda grader: grader.busy())
    while not makes.made:
        pass
    assert makes.made[0].begun.wait(30)
    work.start("new", lambda grader: "new")
    assert end_of(work) == Done("new", "new")
    assert makes.made[0].told.is_set()
    assert len(makes.made) == 1  # it is told to stop, not thrown away


def test_a_worker_that_died_is_started_again_once(work: Work, makes: Makes) -> None:
    def dies_first(grader: Any) -> str:
        if len(makes.made) == 1:
            raise WorkerError("The worker stopped.")
        return "well"

    work.start("verdict", dies_first)
    assert end_of(work) == Done(ANEW, more=True)
    assert end_of(work) == Done("verdict", "well")
    assert makes.made[0].closed
    error = WorkerError("The worker stopped.")

    def dies(grader: Any) -> None:
        raise error

    work.start("verdict", dies)
    assert end_of(work) == Done(ANEW, more=True)
    assert end_of(work) == Done("verdict", error=error)
    work.start("verdict", lambda grader: "again")
    assert end_of(work) == Done("verdict", "again")


@pytest.mark.parametrize("error", [HandInError("There is nothing."), ZeroDivisionError("oops")])
def test_errors_are_handed_on_and_the_grader_stays(work: Work, makes: Makes, error: Exception) -> None:
    def fails(grader: Any) -> None:
        raise error

    work.start("verdict", fails)
    assert end_of(work) == Done("verdict", error=error)
    work.start("verdict", lambda grader: 1)
    assert end_of(work).value == 1
    assert len(makes.made) == 1


def test_leaving_ends_what_is_at_work(makes: Makes) -> None:
    with Work(makes) as work:
        work.start("endless", lambda grader: grader.busy())
        while not makes.made:
            pass
        assert makes.made[0].begun.wait(30)
    assert makes.made[0].closed
    assert not work._thread.is_alive()
