"""What one hand-in costs Dask's scheduler, the driver and the shared folder, each measured on this machine.

Used by `scale_simulation.py`.  The scheduler and two workers are real processes over TLS; the jobs they pass on carry
what real ones carry and do nothing.  The shared folder is counted while a worker's own code grades a class.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from autograder.bulk.desk import Graded, Work  # noqa: E402
from autograder.bulk.due import HAND_IN, Due  # noqa: E402
from autograder.bulk.engines import remote  # noqa: E402
from autograder.bulk.engines.attempts import Attempts  # noqa: E402
from autograder.bulk.engines.certificates import Certificates  # noqa: E402
from autograder.bulk.engines.lasting import LastingExecutor, workers_of  # noqa: E402
from autograder.bulk.engines.reach import Reach  # noqa: E402
from autograder.bulk.hand_ins import HandInPath, list_hand_ins  # noqa: E402
from autograder.bulk.secret import load_secret  # noqa: E402
from autograder.bulk.store import Store  # noqa: E402
from autograder.catalogue import load_course  # noqa: E402
from autograder.machine import choose_device, cores, environment  # noqa: E402
from autograder.plan import Reference  # noqa: E402
from autograder.pool import Pool  # noqa: E402
from autograder.result import Environment  # noqa: E402
from tests.lessons import keep_lesson  # noqa: E402
from tests.synthetic_class import invent, write_folders  # noqa: E402


@dataclass(frozen=True)
class Costs:
    """For each hand-in, unless the name says otherwise; seconds are of this machine's processor."""

    scheduler_seconds: float
    driver_seconds: float
    wire_writes: float
    wire_reads: float
    wire_bytes: float
    beat_writes: float  # of the scheduler for each sign of life of a worker
    beat_seconds: float
    opened: float
    looked_at: float
    created: float
    renamed: float
    removed: float
    synced: float
    bytes_read: float
    bytes_written: float
    files_left: float
    kept_files_left: float
    look_seconds: float  # whether it is done, from its files
    due_seconds: float  # once, for the whole class
    due_bytes: float


def measure(students: int, jobs: int) -> Costs:
    """All costs; ``students`` is how many the class of the simulation has."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work, order, attempts = _setting(folder)
        attempts.open()
        wire = _wire(folder, order, jobs)
        store = _shared_folder(folder, work, order)
        begin = time.perf_counter()
        marks = dict(order.marks)
        due = Due({f"student_{number:06d}": {HAND_IN: "0" * 64, **marks} for number in range(students)}, folder)
        work.store.keep_due(due)
        due_seconds = time.perf_counter() - begin
        due_bytes = (work.store.out / "hand-ins.json").stat().st_size
        return Costs(**wire, **store, due_seconds=due_seconds, due_bytes=due_bytes)


def _setting(folder: Path) -> tuple[Work, remote.Order, Attempts]:
    """Lesson 7, a class of all kinds, and an order as a cluster's workers get it."""
    for part in ("course", "solutions"):
        shutil.copytree(ROOT / part, folder / "own" / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(folder / "own", 7)
    course = load_course(folder / "own")
    write_folders(folder / "hand-ins", invent(24))
    reference = Reference.load(course, load_secret(course.root / "solutions" / ".secret"))
    work = Work(course, Store(folder / "out"), reference, course.exercises, 7)
    device, gpu = choose_device("auto")
    found = environment(device, gpu)
    marks = work.marks(found, False)
    values: dict[str, Any] = {name: getattr(found, name) for name in Environment.__dataclass_fields__}
    exercises = tuple(exercise.id for exercise in course.exercises)
    order = remote.Order(
        "0" * 16, course.root, folder / "out", exercises, 7, False, False, True, max(1, cores() // 2), values, marks
    )
    return work, order, Attempts(work.store.running, order.run)


# On the wire ----------------------------------------

_seen: Counter[str] = Counter()


def count_wire() -> None:
    """Have the scheduler, in whose process this runs, count what it sends and gets."""
    from distributed.comm.tcp import TCP

    write, read = TCP.write, TCP.read

    async def counted_write(self: Any, *arguments: Any, **keywords: Any) -> Any:
        size = await write(self, *arguments, **keywords)
        _seen["writes"] += 1
        _seen["bytes"] += size
        return size

    async def counted_read(self: Any, *arguments: Any, **keywords: Any) -> Any:
        message = await read(self, *arguments, **keywords)
        _seen["reads"] += 1
        return message

    TCP.write, TCP.read = counted_write, counted_read


def seen_on_wire() -> dict[str, int]:
    return dict(_seen)


def nothing(order: remote.Order, hand_in: HandInPath) -> Graded:
    """What a job carries there and back, without what it does in between."""
    return Graded(hand_in.student, True, None, ("spare uid: " + "x" * 200,))


def _wire(folder: Path, order: remote.Order, jobs: int) -> dict[str, float]:
    certificates = Certificates(folder / "tls")
    certificates.make(days=1)
    file = folder / "cluster.json"
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": path, "DASK_CONFIG": str(certificates.config)}
    with contextlib.ExitStack() as ends:

        def start(*words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", *words, "--scheduler-file", str(file)]
            command += ["--dashboard-address", "127.0.0.1:0"]
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, env=settings, stdout=quiet, stderr=quiet)
            ends.callback(process.wait)
            ends.callback(process.send_signal, signal.SIGTERM)
            return process

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
        start("worker", "--nworkers", "2", "--nthreads", "4")
        while not file.exists() and scheduler.poll() is None:
            time.sleep(0.1)
        connect = ends.enter_context(Reach(certificates, scheduler_file=file).opened(print))
        client = connect()
        client.wait_for_workers(2, timeout=120)
        client.run_on_scheduler(count_wire)
        time.sleep(2)

        def seen() -> tuple[dict[str, int], float, float]:
            return client.run_on_scheduler(seen_on_wire), _processor_seconds(scheduler.pid), time.process_time()

        before, busy, own = seen()
        begin = time.monotonic()
        time.sleep(10)
        after, busy_later, _ = seen()
        seconds, workers = time.monotonic() - begin, len(workers_of(client))
        beats = beats_a_second(workers) * seconds
        beat_writes = (after.get("writes", 0) - before.get("writes", 0)) / beats
        beat_seconds = (busy_later - busy) / beats

        executor = LastingExecutor(client, connect, None)
        before, busy, own = seen()
        running = set()
        for number in range(jobs):
            if len(running) >= 2 * executor.slots():
                running = wait(running, return_when="FIRST_COMPLETED").not_done
            hand_in = HandInPath(f"student_{number:06d}", folder / "hand-ins" / f"student_{number:06d}")
            running.add(executor.submit(partial(nothing, order), hand_in))
        wait(running)
        after, busy_later, own_later = seen()
        executor.shutdown()
        client.close()
    return {
        "scheduler_seconds": (busy_later - busy) / jobs,
        "driver_seconds": (own_later - own) / jobs,
        "wire_writes": (after["writes"] - before["writes"]) / jobs,
        "wire_reads": (after["reads"] - before["reads"]) / jobs,
        "wire_bytes": (after["bytes"] - before["bytes"]) / jobs,
        "beat_writes": beat_writes,
        "beat_seconds": beat_seconds,
    }


def beats_a_second(workers: int) -> float:
    """How often workers show that they live, all together: the more there are, the rarer each."""
    from distributed.scheduler import heartbeat_interval

    return workers / float(heartbeat_interval(workers))


def _processor_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


# In the shared folder ----------------------------------------


class _Watch:
    """Counts what this process does to files below a folder, all but the temporary ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self.counts: Counter[str] = Counter()
        self.on = False
        sys.addaudithook(self._event)

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or not arguments or not isinstance(arguments[0], (str, os.PathLike)):
            return
        path = os.fspath(arguments[0])
        if not isinstance(path, str) or not path.startswith(self._folder):
            return
        if event == "open":
            flags = arguments[2]
            if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                self.counts["created"] += 1
            else:
                self.counts["opened"] += 1
                with contextlib.suppress(OSError):
                    self.counts["bytes_read"] += _stat(path).st_size
        elif event in ("os.rename", "os.remove"):
            self.counts[{"os.rename": "renamed", "os.remove": "removed"}[event]] += 1
            if event == "os.rename":
                with contextlib.suppress(OSError):
                    self.counts["bytes_written"] += _stat(path).st_size
        elif event in ("os.listdir", "os.scandir"):
            self.counts["looked_at"] += 1

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        real = os.stat, os.lstat, os.access, os.fsync, Pool.start_child

        def looking(function: Any) -> Any:
            def looked(path: Any, *rest: Any, **more: Any) -> Any:
                if isinstance(path, (str, os.PathLike)) and str(path).startswith(self._folder):
                    self.counts["looked_at"] += 1
                return function(path, *rest, **more)

            return looked

        def synced(handle: int) -> None:
            self.counts["synced"] += 1
            real[3](handle)

        def start_child(pool: Pool, launches: Any) -> Any:
            self.counts["opened"] += len(launches)  # which the child reads
            self.counts["bytes_read"] += sum(_stat(launch).st_size for launch in launches)
            return real[4](pool, launches)

        os.stat, os.lstat, os.access = (looking(function) for function in real[:3])  # type: ignore[assignment]
        os.fsync, Pool.start_child = synced, start_child  # type: ignore[assignment, method-assign]
        self.on = True
        try:
            yield
        finally:
            self.on = False
            os.stat, os.lstat, os.access, os.fsync = real[:4]  # type: ignore[assignment]
            Pool.start_child = real[4]  # type: ignore[method-assign]


_stat = os.stat


def _shared_folder(folder: Path, work: Work, order: remote.Order) -> dict[str, float]:
    """Grade a class by what a cluster's worker runs, and count."""
    first, *others = list_hand_ins(folder / "hand-ins")[0]
    watch = _Watch(folder)
    remote.grade(order, first)  # what is read once a process is not of each hand-in
    kept = len(list(work.store.kept.iterdir()))
    with watch.watching():
        for hand_in in others:
            remote.grade(order, hand_in)
    more = len(list(work.store.kept.iterdir())) - kept
    begin = time.perf_counter()
    for hand_in in others:
        assert work.is_done(hand_in, order.marks)
    look_seconds = (time.perf_counter() - begin) / len(others)
    remote.end_run(order.run)
    names = ("opened", "looked_at", "created", "renamed", "removed", "synced", "bytes_read", "bytes_written")
    found = {name: watch.counts[name] / len(others) for name in names}
    kept_left = more / len(others)
    return {**found, "files_left": 1 + kept_left, "kept_files_left": kept_left, "look_seconds": look_seconds}
