"""What is waited for before the first result: who grades a class is told, whichever engine is at work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograder.bulk.desk import Graded
from autograder.bulk.engines import dask_engine, local, per_gpu
from autograder.bulk.engines.dask_engine import DaskEngine
from autograder.bulk.engines.local import LocalEngine
from autograder.bulk.engines.model import Crew
from autograder.bulk.engines.per_gpu import PerGpuEngine
from autograder.bulk.engines.reach import Reach
from autograder.bulk.grading import ClassRun
from autograder.bulk.hand_ins import HandInPath
from autograder.bulk.store import Store


class Told:
    """Keeps what it is told, and from when on that is worth saying."""

    def __init__(self) -> None:
        self.waits: list[str | None] = []
        self.after: list[float] = []

    def __call__(self, sentence: str | None, after: float = 0.0) -> None:
        self.waits.append(sentence)
        self.after.append(after)


def test_the_local_engine_says_that_it_grades_the_solutions_until_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    class Desk:
        def __init__(self, *_: object) -> None: ...

        def grade(self, hand_in: HandInPath) -> Graded:
            raise AssertionError

        def require_passing_solutions(self) -> None:
            assert go.wait(30)

    monkeypatch.setattr(local, "Desk", Desk)
    told = Told()
    grader = SimpleNamespace(environment=None, with_targets=False, close=lambda: None)
    engine = LocalEngine([lambda: grader], 1, told)  # type: ignore[list-item,return-value]
    with engine.at_work(SimpleNamespace(marks=lambda *_: {})):  # type: ignore[arg-type]
        assert told.waits == [
            "Starting the process that runs kernels",
            "Grading the solutions first, so that nothing is graded where they do not pass",
        ]
        assert all(seconds > 0 for seconds in told.after)  # nothing is said where they are known to pass
        go.set()
    assert told.waits[2:] == [None]


class Cluster:
    """A cluster that has no worker at the first looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def workers(self, _: object) -> dict[str, Any]:
        self.looks -= 1
        return {} if self.looks >= 0 else {"tcp://one": {"nthreads": 1}}


@pytest.mark.parametrize("looks", [0, 3])
def test_dask_says_each_thing_that_it_waits_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looks: int) -> None:
    client = SimpleNamespace(close=lambda: None, status="closed")

    @contextlib.contextmanager
    def opened(self: Reach, say: Callable[[str], None]) -> Iterator[Callable[[], Any]]:
        yield lambda: client

    order = SimpleNamespace(environment={"device": "cpu"}, marks={})
    monkeypatch.setattr(Reach, "opened", opened)
    monkeypatch.setattr(dask_engine, "workers_of", Cluster(looks).workers)
    monkeypatch.setattr(dask_engine, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(DaskEngine, "_look_around", lambda *_: {})
    monkeypatch.setattr(DaskEngine, "_order", lambda *_: order)
    executor = SimpleNamespace(client=client, shutdown=lambda **_: None)
    monkeypatch.setattr(dask_engine, "LastingExecutor", lambda *_: executor)
    told = Told()
    engine = DaskEngine(Reach(None, "login1:8786"), tmp_path, "cpu", False, False, waits=told)
    asks = "Asking the workers of the cluster what they are and see"
    workers = ["Waiting up to 300 s for workers of the cluster (start some with `dask worker`)"] if looks else []
    with engine.at_work(SimpleNamespace(store=Store(tmp_path / "out"))) as crew:  # type: ignore[arg-type]
        assert told.waits == ["Connecting to login1:8786", *workers, asks, None]
        crew.first()
    assert told.waits[-1] == (
        "Grading the solutions on the workers first, so that nothing is graded where they do not pass"
    )
    assert set(told.after) == {0.0}


def test_slurm_is_named() -> None:
    assert Reach(None, slurm=True).approach == "Asking Slurm for workers"
    assert Reach(None, scheduler_file=Path("a.json")).approach == "Connecting to a.json"


def test_the_engine_of_several_gpus_says_that_each_grades_the_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_gpu.remote, "Order", lambda **values: SimpleNamespace(**values))
    told = Told()
    course = SimpleNamespace(root=Path())
    store = SimpleNamespace(out=Path())
    work = SimpleNamespace(course=course, store=store, exercises=(), seed=1, again=False, marks=lambda *_: {})
    with PerGpuEngine(("", ""), 1, "cpu", False, False, 1, told).at_work(work) as crew:  # type: ignore[arg-type]
        assert told.waits == []
        crew.first()
    assert told.waits == ["Grading the solutions on each GPU first, so that nothing is graded where they do not pass"]


@pytest.mark.parametrize(("kept", "calls"), [(0, 1), (2, 1), (3, 0)])
def test_solutions_are_said_to_be_graded_once_and_only_for_what_is_graded(
    tmp_path: Path, kept: int, calls: int
) -> None:
    first: list[str] = []
    graded: list[str] = []

    def job(hand_in: HandInPath) -> Graded:
        assert first
        graded.append(hand_in.student)
        return Graded(hand_in.student, fresh=True)

    @contextlib.contextmanager
    def at_work(_: object) -> Iterator[Crew]:
        with ThreadPoolExecutor(1) as executor:
            yield Crew(executor, job, {}, lambda: 1, lambda: None, lambda: None, lambda: first.append("the solutions"))

    done = {f"student{number}" for number in range(kept)}
    work = SimpleNamespace(store=Store(tmp_path), is_done=lambda hand_in, _: hand_in.student in done)
    class_of = [HandInPath(f"student{number}", tmp_path) for number in range(3)]
    ClassRun(work, SimpleNamespace(at_work=at_work)).run(class_of, lambda _: None)  # type: ignore[arg-type]
    assert len(graded) == 3 - kept
    assert len(first) == calls
