"""An executor on a Dask cluster whose jobs outlive workers and the scheduler: what is lost is sent again.

Jobs have to be such that they may be done twice.  Dask sends a dead worker's jobs elsewhere by itself, but gives up on
one after a few deaths, whether it was at work or only waiting in line there.  Here it is sent once more: which job is
to blame is for the job itself to find out.  Dask's own executor would do but for one thing: where the scheduler goes
while a result is on its way, its future never ends.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from autograder.errors import AutograderError, EnvironmentProblem, UsageError, WorkerError

SCHEDULER_SECONDS = 120.0
WORKER_SECONDS = 300.0
_POLL_SECONDS = 0.5
_LOOK_SECONDS = 2.0
_FETCH_SECONDS = 30.0  # for a result of a few bytes
_SILENT_SECONDS = 30.0  # of a worker, of which a sign of life comes every few seconds
_ANSWER_SECONDS = 10.0  # for what the scheduler says at once
_MOST_GIVEN_UP = 5  # times that Dask gave up on one job, of several deaths each


_GONE = (
    "Dask's scheduler is gone and did not come back; what is done is kept. "
    "Start it and its workers, and run the same command again for the rest."
)

T = TypeVar("T")


class SilentSchedulerError(EnvironmentProblem):
    """The scheduler is there, and says nothing."""


@dataclass(slots=True, eq=False)
class _Task:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    future: Future[Any] = field(default_factory=Future)
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait, before a run ends, for a scheduler that is gone and for a first or another worker."""

    scheduler: float = field(default_factory=lambda: SCHEDULER_SECONDS)
    workers: float = field(default_factory=lambda: WORKER_SECONDS)


class LastingExecutor(Executor):
    """Runs jobs on the cluster of ``client``; ``connect`` makes another client when the connection is lost for good.

    ``resource`` is what each job takes one of, such as ``GPU``; without it a job takes a thread of a worker.
    """

    def __init__(
        self,
        client: Any,
        connect: Callable[[], Any],
        resource: str | None,
        patience: Patience | None = None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._client = client
        self._connect = connect
        self._resource = resource
        self._patience = patience or Patience()
        self._say = say
        self._lock = threading.Lock()
        self._open: set[_Task] = set()
        self._outbox: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._failure: AutograderError | None = None
        self._closing = False
        self._slots = 0
        self._seen = time.monotonic()  # a worker
        self._looked = 0.0
        self._answered = time.monotonic()  # the scheduler
        self._waiting_said = False
        self._signs: dict[str, tuple[Any, float]] = {}  # a worker's latest sign of life, and when it was new here
        self._silent: set[str] = set()
        self._look()
        self._keeper = threading.Thread(target=self._keep, name="dask-jobs", daemon=True)
        self._keeper.start()

    @property
    def client(self) -> Any:
        """The client of the moment."""
        return self._client

    def slots(self) -> int:
        """How many jobs are done at once by the workers that there are now."""
        return self._slots

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a job on the cluster; its future ends with an AutograderError if the cluster is lost."""
        task = _Task(function, args, kwargs)
        with self._lock:
            if self._closing:
                raise RuntimeError("The executor is closed.")
            failure = self._failure
            if failure is None:
                self._open.add(task)
        if failure is not None:
            task.future.set_exception(failure)
        else:
            self._outbox.put(task)
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; ``wait`` for those that there are, unless they are cancelled."""
        with self._lock:
            tasks = list(self._open)
            if cancel_futures or self._failure is not None:
                self._closing = True
        if cancel_futures:
            for task in tasks:
                task.future.cancel()
        elif wait:
            for task in tasks:
                if not task.future.cancelled():
                    task.future.exception()
        with self._lock:
            self._closing = True
        self._outbox.put(None)
        if wait:
            self._keeper.join()

    def _keep(self) -> None:
        """Send what is to be sent, and look after the connection: the keeper's thread."""
        while True:
            try:
                task = self._outbox.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                task = None
                if self._closing:
                    return
            else:
                if task is None:
                    return
            try:
                if self._failure is None:
                    self._look_now_and_then()
                    if task is not None and not task.future.cancelled():
                        self._send(task)
            except AutograderError as error:
                self._fail(error)
            except Exception as error:  # noqa: BLE001 - what Dask raises as a connection goes is of many kinds
                if task is not None:
                    self._outbox.put(task)
                time.sleep(_POLL_SECONDS)
                self._say_waiting(f"The connection to Dask's scheduler broke ({type(error).__name__}); trying again.")

    def _send(self, task: _Task) -> None:
        client = self._connected()
        resources = {self._resource: 1} if self._resource else None
        sent = client.submit(
            task.function, *task.arguments, pure=False, retries=0, resources=resources, **task.keywords
        )
        task.future.add_done_callback(lambda future: sent.cancel() if future.cancelled() else None)
        sent.add_done_callback(partial(self._ended, task))

    def _ended(self, task: _Task, sent: Any) -> None:
        """What became of a job; in a thread of Dask's for it."""
        try:
            result = sent.result(timeout=_FETCH_SECONDS)
        except BaseException as error:  # noqa: BLE001 - the job's own, of any kind, or Dask's
            if sent.status == "error":
                self._failed(task, error)
            elif task.future.cancelled() or self._closing:
                self._settle(task, lambda: None)
            else:  # the scheduler that knew of it is gone, perhaps while the result was on its way
                self._outbox.put(task)
        else:
            self._settle(task, partial(task.future.set_result, result))

    def _failed(self, task: _Task, error: BaseException) -> None:
        """A job raised an error, or Dask gave up on it."""
        if type(error).__name__ != "KilledWorker":
            self._settle(task, partial(task.future.set_exception, _told(error)))
            return
        task.given_up += 1
        if task.given_up < _MOST_GIVEN_UP:
            self._outbox.put(task)
            return
        died = WorkerError(
            "Dask's workers die one after another, whatever they grade; what is done is kept. "
            "Their logs say why (memory is the usual reason). Then run the same command again."
        )
        self._settle(task, partial(task.future.set_exception, died))

    def _settle(self, task: _Task, settle: Callable[[], None]) -> None:
        """End a job, unless that was done."""
        with self._lock:
            if task not in self._open:
                return
            self._open.remove(task)
        if task.future.set_running_or_notify_cancel():
            settle()

    def _fail(self, error: AutograderError) -> None:
        """End all jobs with an error, and those that are still submitted."""
        with self._lock:
            self._failure = error
            tasks = list(self._open)
        for task in tasks:
            self._settle(task, partial(task.future.set_exception, error))

    def _connected(self) -> Any:
        """The client, once it is connected again.

        Raises:
            WorkerError: it is not, for too long.
        """
        end = time.monotonic() + self._patience.scheduler
        while self._client.status != "running":
            if self._closing:
                raise WorkerError("The run was stopped.")
            if time.monotonic() > end:
                raise WorkerError(_GONE)
            self._say_waiting("The connection to Dask's scheduler is lost; waiting for it to come back.")
            if self._client.status == "closed":
                with contextlib.suppress(OSError, AutograderError):  # until patience ends
                    self._client = self._connect()
            time.sleep(_POLL_SECONDS)
        return self._client

    def _look_now_and_then(self) -> None:
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            self._connected()
            self._look()
            self._looked = time.monotonic()

    def _look(self) -> None:
        """Count the jobs that the workers of now do at once.

        Raises:
            WorkerError: there is no worker, or the scheduler hangs, for too long.
        """
        try:
            workers = workers_of(self._client)
        except SilentSchedulerError:
            if time.monotonic() - self._answered > self._patience.scheduler:
                raise WorkerError(_GONE) from None
            self._say_waiting("Dask's scheduler does not answer; waiting for it.")
            return
        self._slots = sum(_slots_of(worker, self._resource) for worker in workers.values())
        self._name_silent(workers)
        now = self._answered = time.monotonic()
        if self._slots:
            self._seen, self._waiting_said = now, False
        elif now - self._seen > self._patience.workers:
            raise WorkerError(self._no_worker())
        elif now - self._seen > _LOOK_SECONDS:
            self._say_waiting("No worker of Dask is there now; waiting for one.")

    def _name_silent(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        """Say which workers hang: what they were given waits until the scheduler takes them for lost."""
        now = time.monotonic()
        self._silent.intersection_update(workers)
        self._signs = {
            name: self._signs[name] if name in self._signs and self._signs[name][0] == sign else (sign, now)
            for name, sign in ((name, worker.get("last_seen")) for name, worker in workers.items())
            if sign is not None
        }
        for name, (_, since) in self._signs.items():
            if now - since <= _SILENT_SECONDS:
                self._silent.discard(name)
            elif name not in self._silent:
                self._silent.add(name)
                self._say(
                    f"The worker at {name} gives no sign of life. What it was given is graded elsewhere once Dask's "
                    "scheduler takes it for lost, which takes some minutes; end it, and that is at once."
                )

    def _no_worker(self) -> str:
        if self._resource and workers_of(self._client):
            return (
                f"No worker of Dask offers the resource {self._resource}, of which each hand-in takes one. "
                f"Start workers with --resources {self._resource}=1."
            )
        return (
            "No worker of Dask is there; what is done is kept. "
            "Start workers (`dask worker`, see docs/clusters.md), and run the same command again."
        )

    def _say_waiting(self, sentence: str) -> None:
        if not self._waiting_said:
            self._waiting_said = True
            self._say(sentence)


def workers_of(client: Any) -> Mapping[str, Mapping[str, Any]]:
    """The workers that the scheduler knows now, by address.

    Raises:
        SilentSchedulerError: it does not answer.
    """
    try:
        found: Mapping[str, Mapping[str, Any]] = asked(
            lambda: client.scheduler_info(n_workers=-1)["workers"], _ANSWER_SECONDS
        )
    except TimeoutError:
        raise SilentSchedulerError(
            "Dask's scheduler does not answer. Start it and its workers again, and run the same command again."
        ) from None
    return found


def asked(question: Callable[[], T], seconds: float, slow: Callable[[], None] = lambda: None) -> T:
    """What ``question`` returns: one to a process that hangs never ends, since the connection to it stays.

    ``slow`` is called once where there is no answer at once.

    Raises:
        TimeoutError: it does not return in time, and goes on in a thread that nobody waits for.
    """
    answer: Future[T] = Future()

    def ask() -> None:
        try:
            answer.set_result(question())
        except BaseException as error:  # noqa: BLE001 - raised where it was asked
            answer.set_exception(error)

    threading.Thread(target=ask, name="dask-question", daemon=True).start()
    if not wait([answer], min(seconds, _ANSWER_SECONDS)).done:
        slow()
    return answer.result(timeout=max(0.0, seconds - _ANSWER_SECONDS))


def _slots_of(worker: Mapping[str, Any], resource: str | None) -> int:
    threads = int(worker["nthreads"])
    return threads if resource is None else min(threads, int(worker["resources"].get(resource, 0)))


def _told(error: BaseException) -> BaseException:
    """An error of a job, as a person reads it."""
    if isinstance(error, (AutograderError, KeyboardInterrupt)):
        return error
    if isinstance(error, (ImportError, AttributeError)):  # the job itself cannot be read there
        return EnvironmentProblem(
            f"A worker of Dask has no kit of this version ({error}). Install the same there, and run the command again."
        )
    if isinstance(error, OSError):
        what = ": ".join(str(part) for part in (error.filename, (error.strerror or str(error)).lower()) if part)
        return UsageError(
            f"A worker of Dask could not go on ({what}). What is done is kept: make room or mend it, and run the same "
            "command again."
        )
    return error
