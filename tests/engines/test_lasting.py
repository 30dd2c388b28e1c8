"""An executor on a cluster that breaks in every way, with a stand-in for Dask's client: each job ends, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from autograder.bulk.engines import lasting
from autograder.bulk.engines.lasting import LastingExecutor, Patience
from autograder.errors import CourseError, EnvironmentProblem, WorkerError


class KilledWorker(Exception):
    """By the name of Dask's own."""


class _Sent:
    """Dask's future: what came of one sending, and what `result` gives or raises."""

    def __init__(self, status: str, outcome: Any) -> None:
        self.status, self._outcome = status, outcome

    def result(self, timeout: float) -> Any:
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    def add_done_callback(self, called: Callable[[_Sent], None]) -> None:
        threading.Thread(target=called, args=(self,)).start()

    def cancel(self) -> None:
        self.status = "cancelled"


class _Client:
    """Dask's client; what it is sent comes to ``ends``, one after another."""

    def __init__(self, *ends: _Sent, workers: Mapping[str, Any] | None = None) -> None:
        self.status = "running"
        self.ends = list(ends)
        self.sent = 0
        self.resources: list[Any] = []
        self.workers = {"one": {"nthreads": 2, "resources": {"GPU": 1}}} if workers is None else workers

    def scheduler_info(self, n_workers: int) -> Mapping[str, Any]:
        return {"workers": self.workers}

    def submit(self, function: Callable[..., Any], *arguments: Any, resources: Any, **_: Any) -> _Sent:
        self.sent += 1
        self.resources.append(resources)
        return self.ends.pop(0) if self.ends else _Sent("finished", function(*arguments))


class _Idle(_Client):
    """Has nobody who works: what it is sent never ends."""

    def submit(self, function: Callable[..., Any], *arguments: Any, **_: Any) -> _Sent:
        self.sent += 1
        waiting = _Sent("pending", None)
        waiting.add_done_callback = lambda called: None  # type: ignore[method-assign]
        return waiting


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(lasting, "_LOOK_SECONDS", 0.01)


@contextmanager
def executor_of(client: _Client, resource: str | None = None, **more: Any) -> Iterator[LastingExecutor]:
    executor = LastingExecutor(client, lambda: client, resource, Patience(0.1, 0.1), **more)
    yield executor
    executor.shutdown(cancel_futures=True)


def test_what_is_lost_is_sent_again() -> None:
    gone = (_Sent("finished", OSError("on its way")), _Sent("cancelled", TimeoutError()), _Sent("lost", OSError()))
    client = _Client(*gone, *(_Sent("error", KilledWorker("a")) for _ in range(4)))
    with executor_of(client) as executor:
        assert executor.submit(divmod, 7, 2).result(10) == (3, 1)
        assert client.sent == 8
        assert executor.slots() == 2
    with pytest.raises(RuntimeError):
        executor.submit(divmod, 7, 2)


def test_workers_that_die_whatever_they_grade_end_the_run() -> None:
    client = _Client(*(_Sent("error", KilledWorker("a")) for _ in range(9)))
    with executor_of(client) as executor:
        future = executor.submit(divmod, 7, 2)
        with pytest.raises(WorkerError, match="die one after another, whatever they grade"):
            future.result(10)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (CourseError("The oracle is broken."), CourseError),
        (ModuleNotFoundError("No module named 'autograder'"), EnvironmentProblem),
        (ZeroDivisionError("1 / 0"), ZeroDivisionError),
    ],
)
def test_an_error_of_the_job_is_its_own(error: Exception, told: type[Exception]) -> None:
    client = _Client(_Sent("error", error))
    with executor_of(client) as executor, pytest.raises(told):
        executor.submit(divmod, 7, 2).result(10)
    assert client.sent == 1


def test_a_job_takes_one_gpu_of_a_worker() -> None:
    client = _Client()
    with executor_of(client, "GPU") as executor:
        executor.submit(divmod, 7, 2).result(10)
        assert executor.slots() == 1
    assert client.resources == [{"GPU": 1}]


def test_a_scheduler_that_stays_away_ends_all_jobs_with_a_sentence() -> None:
    said: list[str] = []
    client = _Client()
    with executor_of(client, say=said.append) as executor:
        client.status = "connecting"
        futures = [executor.submit(divmod, 7, 2) for _ in range(3)]
        for future in futures:
            with pytest.raises(WorkerError, match="is gone and did not come back; what is done is kept"):
                future.result(10)
        with pytest.raises(WorkerError, match="did not come back"):
            executor.submit(divmod, 7, 2).result(10)
    assert said == ["The connection to Dask's scheduler is lost; waiting for it to come back."]


@pytest.mark.parametrize(
    ("workers", "resource", "words"),
    [
        ({}, None, "No worker of Dask is there; what is done is kept."),
        ({"one": {"nthreads": 1, "resources": {}}}, "GPU", "Start workers with --resources GPU=1."),
    ],
)
def test_no_worker_is_a_sentence(workers: Mapping[str, Any], resource: str | None, words: str) -> None:
    client = _Idle(workers=workers)
    with executor_of(client, resource) as executor:
        future = executor.submit(divmod, 7, 2)
        with pytest.raises(WorkerError) as caught:
            future.result(10)
    assert words in str(caught.value)


def test_a_cancelled_job_is_not_sent_again() -> None:
    client = _Client()
    client.status = "connecting"  # so that it waits
    with executor_of(client) as executor:
        future = executor.submit(divmod, 7, 2)
        assert future.cancel()
        client.status = "running"
        assert executor.submit(divmod, 9, 2).result(10) == (4, 1)
    assert client.sent == 1


class _Hung(_Idle):
    """A client whose scheduler stops to answer, and keeps its connection, until ``answers`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()
        self.answers.set()

    def scheduler_info(self, n_workers: int) -> Mapping[str, Any]:
        self.answers.wait()
        return super().scheduler_info(n_workers)


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Hung]:
    monkeypatch.setattr(lasting, "_ANSWER_SECONDS", 0.02)
    client = _Hung()
    yield client
    client.answers.set()


def test_a_scheduler_that_hangs_ends_the_run_in_time(hung: _Hung) -> None:
    said: list[str] = []
    with executor_of(hung, say=said.append) as executor:
        future = executor.submit(divmod, 7, 2)
        hung.answers.clear()
        with pytest.raises(WorkerError, match=r"scheduler is gone and did not come back; what is done is kept"):
            future.result(10)
    assert said == ["Dask's scheduler does not answer; waiting for it."]


def test_a_scheduler_that_hangs_does_not_hold_up_who_stops_the_run(hung: _Hung) -> None:
    executor = LastingExecutor(hung, lambda: hung, None, Patience(600.0, 600.0))
    future = executor.submit(divmod, 7, 2)
    hung.answers.clear()
    stopped = threading.Thread(target=executor.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    stopped.start()
    stopped.join(10)
    assert not stopped.is_alive()
    assert future.cancelled()


def test_a_question_that_takes_long_is_waited_for_and_said(hung: _Hung) -> None:
    said: list[str] = []
    hung.answers.clear()
    threading.Timer(0.2, hung.answers.set).start()
    info = lasting.asked(lambda: hung.scheduler_info(-1), 10.0, lambda: said.append("slow"))
    assert (info["workers"], said) == (hung.workers, ["slow"])


def test_a_worker_that_hangs_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_SILENT_SECONDS", 0.2)
    workers = {name: {"nthreads": 1, "resources": {}, "last_seen": 0.0} for name in ("tcp://well", "tcp://hung")}
    said: list[str] = []
    with executor_of(_Idle(workers=workers), say=said.append):
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            workers["tcp://well"]["last_seen"] = time.monotonic()
            time.sleep(0.01)
    assert [sentence.split(" gives no")[0] for sentence in said] == ["The worker at tcp://hung"]
