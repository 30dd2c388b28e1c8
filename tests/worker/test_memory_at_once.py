"""Checks that take much of a GPU's memory: no more at once than fit, and one that got none is tried alone."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import cast

import pytest

from autograder.pool import Crew
from autograder.pool._conversation import Conversation, Exit
from autograder.pool._crew import Child
from autograder.pool._gate import Gate, Shares
from autograder.protocol import CheckJob, CheckReply, Job


def test_as_many_are_held_at_once_as_fit() -> None:
    shares = Shares(0.8)
    third = threading.Event()

    def hold() -> None:
        with shares.held(0.4):
            third.set()

    with shares.held(0.4):
        with shares.held(0.4), shares.held(0.0):
            waiting = threading.Thread(target=hold)
            waiting.start()
            assert not third.wait(0.05)
        assert third.wait(10)
    waiting.join()


def test_one_that_is_larger_than_all_there_is_is_held_by_itself() -> None:
    shares = Shares(0.8)
    with shares.held(1.5):
        pass
    with shares.held(0.1):
        pass


class Talk:
    """Answers checks with the outcomes that are left, in their order."""

    def __init__(self, outcomes: list[str]) -> None:
        self.outcomes = outcomes
        self.waits = False

    def replies(self, job: Job) -> Iterator[CheckReply]:
        for check in job.checks:
            yield CheckReply(check.id, self.outcomes.pop(0), "The launch ran out of GPU memory.")


class Server:
    """Starts children that give ``outcomes``, and notes how many checks each was given while it ran alone."""

    def __init__(self, outcomes: list[str]) -> None:
        self.gate = Gate()
        self.gpu_memory = Shares(0.8)
        self.outcomes = outcomes
        self.children = 0
        self.alone: list[int] = []

    def start_child(self, launches: Collection[str]) -> Child:
        self.children += 1
        if self.gate._closed:
            self.alone.append(self.children)
        child = Child.__new__(Child)
        child.conversation = cast(Conversation, Talk(self.outcomes))
        return child

    def end_child(self, child: Child) -> Exit:
        return Exit(0, 0)

    def kill_child(self, child: Child) -> None:
        raise AssertionError("nothing is stopped here")


@pytest.mark.parametrize(
    ("device", "given", "expected", "children", "alone"),
    [
        ("cuda", ["ran", "out-of-memory", "ran", "ran"], ["ran", "ran", "ran"], 3, [2]),
        ("cuda", ["ran", "out-of-memory", "out-of-memory", "ran"], ["ran", "out-of-memory", "ran"], 3, [2]),
        ("cpu", ["ran", "out-of-memory", "ran"], ["ran", "out-of-memory", "ran"], 1, []),
    ],
)
def test_a_check_without_memory_on_a_gpu_is_run_once_more_with_nothing_beside_it(
    device: str, given: list[str], expected: list[str], children: int, alone: list[int]
) -> None:
    server = Server(list(given))
    checks = tuple(CheckJob(name, {}, {}) for name in "abc")
    job = Job(str(Path("launch.py")), "k.py", "", (), checks, device=device, gpu_share=0.1)
    replies: list[CheckReply] = []

    def carry_on(reply: CheckReply, following: CheckJob | None) -> bool:
        replies.append(reply)
        return True

    Crew(server, {}, reuse=False).run(job, carry_on)
    assert [reply.outcome for reply in replies] == expected
    assert [reply.id for reply in replies] == ["a", "b", "c"]
    assert (server.children, server.alone) == (children, alone)
