"""A process for each GPU of one machine: the grades of the local engine, also where a process dies.

Here the processes grade on the CPU, as nothing but the name of a GPU is another for them there.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from autograder.bulk.engines import per_gpu
from autograder.bulk.engines.model import Crew
from autograder.bulk.engines.per_gpu import PerGpuEngine, Processes, _left_out, grade
from autograder.bulk.grading import Progress
from autograder.bulk.hand_ins import HandInPath
from autograder.errors import CourseError, EnvironmentProblem, WorkerError
from tests.engines.conftest import Ran, Setting

ENGINE = PerGpuEngine(("", ""), 2, "cpu", False, False, 1)


@pytest.mark.exhaustive
def test_grades_are_those_of_the_local_engine_also_when_a_process_is_killed(
    setting: Setting, local: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Processes] = []
    plain = Processes.__init__

    def keep(self: Processes, *given: object) -> None:
        plain(self, *given)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(Processes, "__init__", keep)
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        if progress.done == 4:
            process = next(one.process for one in made[0]._processes if one.jobs)
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)

    ran = setting.run("per-gpu", ENGINE, kill_one)
    assert ran.results() == local.results()
    assert killed
    assert ran.summary.faults == local.summary.faults


@pytest.mark.exhaustive
def test_a_solution_that_does_not_pass_ends_the_run(setting: Setting, tmp_path: Path) -> None:
    own = Setting(tmp_path, setting.certificates)
    shutil.copytree(setting.root, own.root)
    shutil.copytree(setting.hand_ins, own.hand_ins)
    for path in (own.root / "solutions").rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("tl.where(", "tl.where(~"), encoding="utf-8")
    with pytest.raises(CourseError, match="Nothing was graded: the solution of score_mask itself is"):
        own.run("out", ENGINE)
    assert not list((own.folder / "out").glob("results/*.json"))


# The processes by themselves, with stations that need no GPU and no course.


class _Thread:
    """An executor that does a job at once."""

    def submit(self, function, *args, **kwargs):  # type: ignore[no-untyped-def]
        from concurrent.futures import Future

        future: Future[object] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as an executor does
            future.set_exception(error)
        return future


@contextmanager
def station(fails: str = "") -> Iterator[Crew]:
    if fails:
        raise EnvironmentProblem(fails)
    yield Crew(_Thread(), None, {}, lambda: 1, lambda: None, lambda: None)  # type: ignore[arg-type]


@contextmanager
def broken_station() -> Iterator[Crew]:
    raise OSError(errno.ENOSPC, "No space left on device")
    yield


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def die_unless(path: str) -> int:
    if not os.path.exists(path):
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    raise CourseError("The course is broken.")


def stumble() -> None:
    raise ValueError("three")


def test_jobs_are_spread_and_errors_are_the_kits_own() -> None:
    processes = Processes([station, station])
    try:
        slow, quick = processes.submit(pid_after, 0.5), processes.submit(pid_after, 0.0)
        assert len({slow.result(), quick.result(), os.getpid()}) == 3
        with pytest.raises(CourseError, match=r"^The course is broken\.$"):
            processes.submit(refuse).result()
        with pytest.raises(WorkerError, match=r"The grader failed \(ValueError: three\)\."):
            processes.submit(stumble).result()
    finally:
        processes.shutdown()
    with pytest.raises(WorkerError, match="stopped"):
        processes.submit(pid_after, 0.0)


def test_a_process_that_dies_is_started_again_and_given_up_in_the_end(tmp_path: Path) -> None:
    processes = Processes([station])
    try:
        assert processes.submit(die_unless, str(tmp_path / "once")).result() > 0
        with pytest.raises(WorkerError, match=r"ended 3 times \(exit code -9\)\. Is there enough memory\?"):
            processes.submit(die).result()
    finally:
        processes.shutdown()


def test_a_job_that_kills_its_process_takes_no_other_along() -> None:
    processes = Processes([station], lambda function, *arguments: "left out")
    try:
        futures = [processes.submit(*job) for job in ((pid_after, 0.0), (die,), (pid_after, 0.1), (pid_after, 0.0))]
        assert [type(future.result(60)) for future in futures] == [int, str, int, int]
        assert futures[1].result() == "left out"
    finally:
        processes.shutdown()


def test_a_process_that_dies_whatever_it_is_given_ends_the_run() -> None:
    processes = Processes([station], lambda function, *arguments: "left out")
    try:
        futures = [processes.submit(die) for _ in range(4)]
        assert futures[0].result(60) == "left out"
        with pytest.raises(WorkerError, match="Is there enough memory"):
            futures[3].result(60)
    finally:
        processes.shutdown()


def test_a_process_that_dies_now_and_then_does_all_the_same(tmp_path: Path) -> None:
    """Someone kills it: more often than a hand-in is tried, and never twice with the same."""
    processes = Processes([station])
    try:
        for number in range(5):
            assert processes.submit(die_unless, str(tmp_path / str(number))).result(60) > 0
    finally:
        processes.shutdown()


def test_a_hand_in_that_is_left_out_has_a_fault_and_no_result() -> None:
    graded = _left_out(grade, HandInPath("ann", Path("ann")))
    assert (graded.student, graded.fresh) == ("ann", False)
    assert graded.fault is not None
    assert graded.fault.startswith("the process that grades ended 3 times while it was at this hand-in")


def test_a_fault_of_another_kind_is_a_sentence_and_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    processes = Processes([broken_station])
    try:
        with pytest.raises(WorkerError, match=r"^The grader failed \(OSError: .*No space left on device\)\.$"):
            processes.submit(pid_after, 0.0).result(60)
    finally:
        processes.shutdown()
    assert "Traceback" not in capfd.readouterr().err


def test_a_process_that_died_with_nothing_to_do_is_started_for_its_next_job() -> None:
    processes = Processes([station])
    try:
        first = processes.submit(pid_after, 0.0).result()
        process = processes._processes[0].process
        os.kill(first, signal.SIGKILL)
        process.join()
        assert processes.submit(pid_after, 0.0).result(timeout=60) not in (first, os.getpid())
    finally:
        processes.shutdown()


def test_a_process_that_somebody_stopped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(per_gpu, "_LOOK", 0.2)
    processes = Processes([station])
    try:
        first = processes.submit(pid_after, 0.0).result()
        os.kill(first, signal.SIGSTOP)
        assert processes.submit(pid_after, 0.0).result(timeout=60) not in (first, os.getpid())
    finally:
        processes.shutdown()


def test_what_keeps_a_process_from_beginning_is_said() -> None:
    processes = Processes([partial(station, "Too little memory.")])
    try:
        with pytest.raises(EnvironmentProblem, match=r"^Too little memory\.$"):
            processes.submit(pid_after, 0.0).result()
    finally:
        processes.shutdown()


def test_stopping_ends_all_processes() -> None:
    processes = Processes([station])
    future = processes.submit(pid_after, 0.2)
    begun = [one.process for one in processes._processes]
    processes.shutdown(cancel_futures=True)
    assert future.result() > 0
    assert [process.exitcode for process in begun] == [0]
    assert all(one.process is None for one in processes._processes)
