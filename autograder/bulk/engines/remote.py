"""What runs in a worker process of Dask: the judge's side, which starts the sandboxed worker as it does anywhere.

No line of a student's runs in this process.  It keeps a grader warm for each run that it takes part in.  The secret is
read from the course's folder, and never sent.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder import __version__, doctor
from autograder.bulk.desk import Desk, Graded, Work
from autograder.bulk.engines.attempts import MOST, Attempts
from autograder.bulk.engines.graders import Graders
from autograder.bulk.engines.suspect import TRIES, Apart
from autograder.bulk.hand_ins import HandInPath
from autograder.bulk.secret import load_secret
from autograder.bulk.store import Store
from autograder.catalogue import load_course
from autograder.errors import AutograderError, EnvironmentProblem, UsageError
from autograder.gpu_targets import default_cache
from autograder.machine import choose_device, cores, environment
from autograder.plan import Reference
from autograder.pool import Gate
from autograder.session import Grader

_IDLE_SECONDS = 900.0  # after which the graders of a run are closed: whoever started it may be gone
_LOOK_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Order:
    """What a process has to know to grade hand-ins of one run; small, since it goes with every job.

    ``version`` is the kit's where the run was started, ``threads`` how many cores one hand-in may use.  ``environment``
    and ``marks`` are what its results depend on.
    """

    version: str
    run: str
    root: Path
    out: Path
    exercises: tuple[str, ...]
    seed: int
    again: bool
    targets: bool
    allow_weak_sandbox: bool
    threads: int
    environment: Mapping[str, str | None]
    marks: Mapping[str, str]


def look_around(root: str, folder: str, running: str, run: str, device: str) -> dict[str, Any]:
    """What this process is and sees, in plain values, since who asks may have another version of the kit."""
    unseen = [path for path in (f"{root}/course/course.toml", folder) if not os.access(path, os.R_OK)]
    if not Attempts(Path(running), run).here:
        unseen.append(str(Path(running).parent))
    problem, found = None, None
    try:
        chosen, gpu = choose_device(device)
        found = asdict(environment(chosen, gpu))
        problem = doctor.blocking(chosen)
    except AutograderError as error:
        problem = str(error)
    return {
        "version": __version__,
        "host": socket.gethostname(),
        "cores": cores(),
        "unseen": unseen,
        "environment": found,
        "problem": problem,
    }


def grade(order: Order, hand_in: HandInPath) -> Graded:
    """Grade one hand-in in this process.

    Raises:
        CourseError: an exercise, a stub or a solution is broken.
        EnvironmentProblem: this process would give results of another kind than the run's.
        WorkerError: the run was stopped.
    """
    return _station(order).grade(hand_in)


def grade_apart(order: Order, hand_in: HandInPath) -> Graded:
    """Grade one hand-in in a process that was started for it; the solutions have passed on this machine.

    Raises:
        AutograderError: what `grade` raises.
    """
    station = _Station(order, apart=True)
    try:
        return station.desk.grade(hand_in)
    finally:
        station.close()


def end_run(run: str) -> None:
    """Close what this process keeps for a run; what is at work for it ends at once.  Returns before that is done."""
    with _lock:
        station = _stations.pop(run, None)
    if station is not None:
        threading.Thread(target=station.close, name="end-run").start()


class _Station:
    """The warm graders of one run; the solutions have passed here, in this process."""

    def __init__(self, order: Order, apart: bool = False) -> None:
        self._order = order
        self._apart = Apart()
        self._host = socket.gethostname()
        if order.version != __version__:  # it came when the others were at work already
            raise EnvironmentProblem(
                f"The worker on {self._host} has version {__version__} of the kit, and the run is of {order.version}. "
                "Stop it or install the same there, and run the same command again."
            )
        self._attempts = Attempts(Store(order.out).running, order.run)
        self._attempts.require_here()
        work = work_of(order)
        device, gpu = choose_device(str(order.environment["device"]))
        found = environment(device, gpu)
        _require_same(self._host, order.environment, asdict(found))
        if work.marks(found, order.targets) != order.marks:
            raise EnvironmentProblem(
                f"The worker on {self._host} sees another course or another secret in {order.root} than was found "
                "where the run was started. Let all machines see the same folder."
            )

        self._gate = Gate()
        self._graders = Graders([lambda: make_grader(work, order, device, gpu)])
        self.desk = Desk(work, order.marks, self._graders, self._attempts.require_here)
        self._jobs = 0
        self._used = time.monotonic()
        try:
            # A broken machine among many is found out before it costs somebody a point.
            if not apart:
                self.desk.require_passing_solutions(remembered=False, where=self._host)
        except BaseException:
            self.close()
            raise

    def grade(self, hand_in: HandInPath) -> Graded:
        """Grade a hand-in; one during which a process died before has a process of its own, and this one to itself."""
        self._jobs += 1
        try:
            earlier = self._attempts.earlier(hand_in.student)
            with self._gate.alone() if earlier else self._gate.shared():
                if not self._attempts.begin(hand_in.student):
                    graded = self._give_up(hand_in, f"{MOST} times", earlier)
                elif not earlier:
                    graded = self.desk.grade(hand_in)
                else:
                    # Workers are killed from outside as well: that one was is held against nobody.
                    told = self._apart.grade(self._order, hand_in)
                    graded = told or self._give_up(hand_in, f"{len(earlier) + TRIES} times", (*earlier, self._host))
                self._attempts.end(hand_in.student)
                return graded
        except AutograderError:
            self._attempts.end(hand_in.student)  # this process is well
            raise
        finally:
            self._jobs -= 1
            self._used = time.monotonic()

    def _give_up(self, hand_in: HandInPath, times: str, places: Sequence[str]) -> Graded:
        where = ", ".join(dict.fromkeys(places))
        return self.desk.give_up(
            hand_in,
            f"The process that grades ended {times} while it was at this hand-in (on {where}), so it was left out. "
            "Nobody else lost anything by it; please report it.",
        )

    @property
    def idle(self) -> bool:
        return not self._jobs and time.monotonic() - self._used > _IDLE_SECONDS

    @property
    def over(self) -> bool:
        """Whether its run has ended, or another has taken its place in the folder."""
        return not self._attempts.here

    def close(self) -> None:
        self._apart.close()
        self._graders.close()


_lock = threading.Lock()
_making = threading.Lock()
_stations: dict[str, _Station] = {}
_watched = False


def _station(order: Order) -> _Station:
    """The station of a run in this process, which is made at its first job."""
    global _watched
    with _making:  # seconds; who comes meanwhile waits
        with _lock:
            if order.run in _stations:
                return _stations[order.run]
            over = [run for run, station in _stations.items() if station.over]
        for run in over:  # whoever started it was killed, and another was started
            end_run(run)
        station = _Station(order)
        with _lock:
            _stations[order.run] = station
            if not _watched:
                _watched = True
                threading.Thread(target=_watch, name="idle-graders", daemon=True).start()
        return station


def _watch() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        with _lock:
            idle = [run for run, station in _stations.items() if station.idle or station.over]
        for run in idle:
            end_run(run)


def make_grader(work: Work, order: Order, device: str, gpu: str | None, visible_gpu: str | None = None) -> Grader:
    """A grader for hand-ins of a run on this machine, on the GPU of that name in CUDA_VISIBLE_DEVICES or the first.

    Raises:
        EnvironmentProblem: the sandbox has gaps, and the run is not to be done with such.
        WorkerError: it cannot be started.
    """
    grader = Grader(
        work.course,
        device,
        gpu,
        jobs=order.threads,
        targets="always" if order.targets else "off",
        target_cache=default_cache(),
        kept=work.store.kept,
        visible_gpu=visible_gpu,
    )
    try:
        _require_sandbox(grader, socket.gethostname(), order.allow_weak_sandbox)
    except BaseException:
        grader.close()
        raise
    return grader


def work_of(order: Order) -> Work:
    """What a run grades, read from the course's folder.

    Raises:
        CourseError: the course is broken.
        UsageError: its secret cannot be read.
    """
    course = load_course(order.root)
    secret = course.root / "solutions" / ".secret"
    if not secret.is_file():  # it would be made here, and be another
        raise UsageError(f"{secret} cannot be read on {socket.gethostname()}. Let all machines see the same folder.")
    reference = Reference.load(course, load_secret(secret))
    exercises = course.select(order.exercises)
    return Work(course, Store(order.out), reference, exercises, order.seed, order.again)


def _require_same(host: str, asked: Mapping[str, str | None], found: Mapping[str, str | None]) -> None:
    """One score must not depend on where a hand-in happened to be graded."""
    if differences := different(asked, found):
        raise EnvironmentProblem(
            f"The worker on {host} is another machine than the others: {differences}. Grade on machines that are alike."
        )


def different(asked: Mapping[str, str | None], found: Mapping[str, str | None]) -> str:
    """What differs between two environments, such as "triton 3.6.0 instead of 3.9.0"; empty if nothing does."""
    pairs: Sequence[tuple[str, str | None, str | None]] = [(key, found.get(key), asked[key]) for key in asked]
    return ", ".join(
        f"{key} {there or 'none'} instead of {here or 'none'}" for key, there, here in pairs if there != here
    )


def _require_sandbox(grader: Grader, host: str, allow_weak: bool) -> None:
    weak = grader.sandbox.weak
    if weak and not allow_weak:
        raise EnvironmentProblem(
            f"Too little stands between a hand-in and the machine {host}: {'; '.join(weak)}. "
            "Grade elsewhere, or add --allow-weak-sandbox if you trust every hand-in."
        )
