"""The engine of a machine with several GPUs: a process for each, as judging is Python's work, and that is one core's.

In each process a local engine grades on its own GPU.  No line of a student's runs in any of them.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from autograder import __version__, errors
from autograder.bulk.desk import Graded, Work
from autograder.bulk.engines import remote
from autograder.bulk.engines.local import LocalEngine
from autograder.bulk.engines.model import Crew, Waits, unsaid
from autograder.bulk.hand_ins import HandInPath
from autograder.errors import AutograderError, WorkerError
from autograder.machine import choose_device, environment

_STARTS = 3  # of a process that dies before it has begun, or with the same hand-in
_GRACE = 15.0  # seconds for a process to end its workers
_LOOK = 10.0  # seconds without an answer after which it is looked at whether the process is stopped
_PATIENCE = 6  # such looks in a row, after which a process that somebody stopped (SIGSTOP) counts as dead

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PerGpuEngine:
    """Grades ``at_once`` hand-ins at once on each GPU.

    ``visible`` is what CUDA_VISIBLE_DEVICES calls the GPUs, ``device`` where kernels run, ``threads`` how many cores
    one hand-in may use; ``waits`` is told what takes long before the first result is written.
    """

    visible: Sequence[str]
    at_once: int
    device: str
    targets: bool
    allow_weak_sandbox: bool
    threads: int
    waits: Waits = unsaid

    @contextmanager
    def at_work(self, work: Work) -> Iterator[Crew]:
        """A crew of processes, which start with the first hand-ins; none writes before the solutions have passed there.

        Raises:
            EnvironmentProblem: kernels cannot run here.
        """
        found = environment(*choose_device(self.device))
        order = remote.Order(
            version=__version__,
            run="",
            root=work.course.root,
            out=work.store.out.resolve(),
            exercises=tuple(exercise.id for exercise in work.exercises),
            seed=work.seed,
            again=work.again,
            targets=self.targets,
            allow_weak_sandbox=self.allow_weak_sandbox,
            threads=self.threads,
            environment=asdict(found),
            marks=work.marks(found, self.targets),
        )
        processes = Processes([partial(_station, order, name, self.at_once) for name in self.visible], _left_out)
        try:
            slots = self.at_once * len(self.visible)
            stop = partial(processes.shutdown, cancel_futures=True)
            first = partial(
                self.waits, "Grading the solutions on each GPU first, so that nothing is graded where they do not pass"
            )
            yield Crew(processes, grade, order.marks, lambda: slots, lambda: None, stop, first)
        finally:
            processes.shutdown()


@contextmanager
def _station(order: remote.Order, visible: str, at_once: int) -> Iterator[Crew]:
    """In the process of one GPU: the crew that grades there."""
    work = remote.work_of(order)
    device, gpu = choose_device(str(order.environment["device"]))
    with LocalEngine([lambda: remote.make_grader(work, order, device, gpu, visible)], at_once).at_work(work) as crew:
        yield crew


_crew: Crew | None = None  # of this process


def grade(hand_in: HandInPath) -> Graded:
    """Grade one hand-in, in a process of a GPU.

    Raises:
        AutograderError: what the local engine raises.
    """
    assert _crew is not None
    return _crew.job(hand_in)


def _left_out(_: Callable[..., Graded], hand_in: HandInPath) -> Graded:
    """What becomes of a hand-in with which the process died each time; its result, if there is one, stays."""
    return Graded(
        hand_in.student,
        fresh=False,
        fault=f"the process that grades ended {_STARTS} times while it was at this hand-in, so it was left out; "
        "please report it",
    )


@dataclass(slots=True)
class _Job:
    """What is to be done; ``deaths`` counts those of its process while it was there, ``sent`` is whether it is now."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    future: Future[Any] = field(default_factory=Future)
    deaths: int = 0
    sent: bool = False


@dataclass(slots=True)
class _Process:
    """One process as it is seen from here; ``jobs`` are those that it has not answered.

    ``starts`` counts those in a row in which it did not begin, ``lost`` the jobs in a row that were given up.
    """

    station: Callable[[], contextlib.AbstractContextManager[Crew]]
    process: Any = None
    connection: Any = None
    listener: Any = None
    starts: int = 0
    lost: int = 0
    begun: bool = False
    jobs: dict[int, _Job] = field(default_factory=dict)


class Processes(Executor):
    """Runs functions that can be pickled in the process with the least to do, each in a thread of its crew.

    A process that dies, of hunger for memory or by somebody's hand, is started again, and does what it had to do: one
    job after another, until each of them is done, so that it shows which one it dies of.  What ``given_up`` returns,
    called with the function and its arguments, is that one's result; without it, it ends with a WorkerError.
    """

    def __init__(
        self,
        stations: Sequence[Callable[[], contextlib.AbstractContextManager[Crew]]],
        given_up: Callable[..., Any] | None = None,
    ) -> None:
        self._given_up = given_up
        self._processes = [_Process(station) for station in stations]
        self._lock = threading.RLock()
        self._number = 0
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have ``fn(*args, **kwargs)`` done; its errors come as they are if they are the kit's own."""
        job = _Job(fn, args, kwargs)
        with self._lock:
            if self._closed:
                raise WorkerError("The run was stopped.")
            one = min(self._processes, key=lambda process: len(process.jobs))
            if one.process is None:
                self._start(one)
            self._number += 1
            one.jobs[self._number] = job
            _send(one)
        return job.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes; with ``cancel_futures`` what is at work ends at once, with a WorkerError."""
        with self._lock:
            self._closed = True
            begun = [(one.process, one.listener) for one in self._processes if one.process is not None]
            for one in self._processes:
                if one.process is not None:
                    with contextlib.suppress(OSError):
                        one.connection.send("stop" if cancel_futures else "end")
        if wait:
            for process, listener in begun:
                listener.join(_GRACE)  # it alone waits for the process: of two, one may take the dead for alive
                if listener.is_alive():
                    process.kill()
                    listener.join(_GRACE)

    def _start(self, one: _Process) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        one.starts += 1
        one.begun = False
        one.connection = ours
        one.process = context.Process(target=_serve, args=(theirs, one.station), daemon=True)
        one.process.start()
        theirs.close()  # so that we notice when the process is gone
        one.listener = threading.Thread(target=self._listen, args=(one, ours), name="gpu-process", daemon=True)
        one.listener.start()

    def _listen(self, one: _Process, connection: Connection) -> None:
        """Hand out the answers of a process until it ends."""
        looks = 0
        while True:
            try:
                if not connection.poll(_LOOK):
                    looks = looks + 1 if _is_stopped(one.process.pid) else 0
                    if looks >= _PATIENCE:
                        one.process.kill()  # which ends the waiting, too
                    continue
                number, answer = connection.recv()
            except (EOFError, OSError):
                break
            if number is None and answer is None:
                one.begun, one.starts = True, 0
                continue
            if number is None:  # it could not begin
                self._give_up(one, _error_of(answer))
                continue
            with self._lock:
                future = one.jobs.pop(number).future
                one.lost = 0
                _send(one)
            if future.set_running_or_notify_cancel():
                if isinstance(answer, _Failed):
                    future.set_exception(_error_of(answer))
                else:
                    future.set_result(answer)
        one.process.join()
        with self._lock:
            code, one.process = one.process.exitcode, None  # the next job starts another
            if self._closed:
                self._give_up(one, WorkerError("The run was stopped."))
                return
            lost = self._blame(one)
            died = WorkerError(
                f"The process that judges for a GPU ended {_STARTS} times (exit code {code}). Is there enough memory? "
                "Run the same command again: what was graded is kept."
            )
            if one.starts >= _STARTS or one.lost > 1:  # whatever it is given
                self._give_up(one, died)
            elif one.jobs:
                self._start(one)
                _send(one)
        if lost is not None and lost.future.set_running_or_notify_cancel():
            if self._given_up is None:
                lost.future.set_exception(died)
            else:
                lost.future.set_result(self._given_up(lost.function, *lost.args, **lost.kwargs))

    def _blame(self, one: _Process) -> _Job | None:
        """Count a death against the jobs that were there; the one that it is the last for, taken out."""
        there = {number: job for number, job in one.jobs.items() if job.sent}
        for number, job in there.items():
            job.sent = False
            job.deaths += one.begun
            if job.deaths >= _STARTS and len(there) == 1:
                one.lost += 1
                return one.jobs.pop(number)
        return None

    def _give_up(self, one: _Process, error: AutograderError) -> None:
        with self._lock:
            left = [job.future for job in one.jobs.values()]
            one.jobs.clear()
        for future in left:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal, so that it neither works nor ends; False where nobody can tell."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


def _send(one: _Process) -> None:
    """Send what may be sent: all that there is, or one by one those with which a process died, before all others."""
    suspects = [number for number, job in one.jobs.items() if job.deaths]
    at_work = any(job.sent for job in one.jobs.values())
    for number in (() if at_work else suspects[:1]) if suspects else list(one.jobs):
        job = one.jobs[number]
        if not job.sent:
            job.sent = True
            with contextlib.suppress(OSError):  # it is gone, and who listens starts another that gets all of its jobs
                one.connection.send((number, (job.function, job.args, job.kwargs)))


# In a process of its own ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Failed:
    """An error of the kit's, by its kind, and its sentence."""

    kind: str
    sentence: str


def _error_of(failed: _Failed) -> AutograderError:
    kind = getattr(errors, failed.kind, WorkerError)
    error: AutograderError = kind(failed.sentence)
    return error


def _serve(connection: Connection, station: Callable[[], contextlib.AbstractContextManager[Crew]]) -> None:
    """Do jobs until told to end, or until who gives them is gone."""
    global _crew
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; who started us stops us
    lock = threading.Lock()

    def tell(number: int | None, answer: object) -> None:
        with lock, contextlib.suppress(OSError):
            connection.send((number, answer))

    def done(number: int, future: Future[Any]) -> None:
        error = future.exception()
        tell(number, future.result() if error is None else _failed(error))

    try:
        with station() as crew:
            _crew = crew
            tell(None, None)
            while True:
                try:
                    message = connection.recv()
                except (EOFError, OSError):
                    message = "stop"
                if message == "stop":
                    crew.stop()
                if message in ("stop", "end"):
                    return
                number, (function, args, kwargs) = message
                crew.executor.submit(function, *args, **kwargs).add_done_callback(partial(done, number))
    except Exception as error:  # noqa: BLE001 - said by who started this process, in a sentence
        tell(None, _failed(error))


def _failed(error: BaseException) -> _Failed:
    if isinstance(error, AutograderError):
        return _Failed(type(error).__name__, str(error))
    return _Failed(WorkerError.__name__, f"The grader failed ({type(error).__name__}: {str(error)[:200]}).")
