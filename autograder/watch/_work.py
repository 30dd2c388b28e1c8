"""What takes longer than a key may wait: one thread with a warm grader, and one task at a time.

A grader whose worker has died is made anew, and its task done once more.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder.errors import WorkerError, WorkStopped
from autograder.session import Grader

ANEW = "anew"
_END_SECONDS = 0.5  # checks end at once when they are told; imports and a worker that begins do not


@dataclass(frozen=True, slots=True)
class Done:
    """A task's end: what it returned, or the error; with ``more`` not the end, but something that was told before it.

    ``ANEW`` is told when the worker had died and is started again.
    """

    name: str
    value: Any = None
    error: Exception | None = None
    more: bool = False


class _Task:
    def __init__(self, name: str, run: Callable[[Grader], Any]) -> None:
        self.name = name
        self.run = run
        self.cancelled = False


class Work:
    """Runs tasks on a grader; a context manager.  All methods are for one thread, tasks run in another."""

    def __init__(self, make_grader: Callable[[], Grader]) -> None:
        self._make = make_grader
        self._grader: Grader | None = None
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[tuple[_Task, Done]] = queue.SimpleQueue()
        self._current: _Task | None = None  # what somebody waits for
        self._running: _Task | None = None
        self._closing = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._thread = threading.Thread(target=self._serve, name="watch-work", daemon=True)

    def __enter__(self) -> Work:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End what is at work, and the worker with all its children."""
        self._closing = True
        self.cancel()
        self._tasks.put(None)
        end = time.monotonic() + _END_SECONDS
        while self._thread.is_alive() and time.monotonic() < end:
            self._stop_cancelled()
            self._thread.join(0.05)
        if self._grader is not None:
            self._grader.close()
            self._thread.join(0.05)
        if not self._thread.is_alive():
            os.close(self._wake_read)
            os.close(self._wake_write)

    @property
    def handle(self) -> int:
        """Can be read when a task has ended."""
        return self._wake_read

    @property
    def busy(self) -> bool:
        return self._current is not None

    def checks(self) -> tuple[str, ...]:
        """The ids of the checks that are being run."""
        grader = self._grader
        return grader.pool.at_work() if grader is not None else ()

    def start(self, name: str, run: Callable[[Grader], Any]) -> None:
        """Do this next; what is at work is cancelled."""
        self.cancel()
        self._current = _Task(name, run)
        self._tasks.put(self._current)

    def cancel(self) -> None:
        """Nobody waits any more for what is at work."""
        if self._current is not None:
            self._current.cancelled = True
            self._current = None
            self._stop_cancelled()

    def ended(self) -> Done | None:
        """The end of the task that was started last, or what it tells, when it is there."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, 1)  # one for each that is told
        self._stop_cancelled()
        with contextlib.suppress(queue.Empty):
            while True:
                task, done = self._ended.get_nowait()
                if task is self._current:
                    if not done.more:
                        self._current = None
                    return done
        return None

    def tell(self, name: str, value: Any) -> None:
        """Called within a task: something to be known before its end."""
        if self._running is not None:
            self._end(self._running, Done(name, value, more=True))

    def _end(self, task: _Task, done: Done) -> None:
        self._ended.put((task, done))
        os.write(self._wake_write, b".")

    def _stop_cancelled(self) -> None:
        """Tell the grader as often as it takes: it may not have begun yet when it is told first."""
        running, grader = self._running, self._grader
        if running is not None and running.cancelled and grader is not None:
            grader.stop()

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            if task.cancelled or self._closing:
                continue
            self._running = task
            done = self._do(task)
            self._running = None
            self._end(task, done)

    def _do(self, task: _Task) -> Done:
        for anew in (False, True):
            try:
                if self._grader is None:
                    self._grader = self._make()
                    if self._closing:  # who ends us may have looked before there was one
                        self._forget()
                        return Done(task.name, error=WorkStopped("Stopped."))
                return Done(task.name, task.run(self._grader))
            except WorkStopped as error:
                return Done(task.name, error=error)
            except WorkerError as error:
                self._forget()
                if anew or task.cancelled or self._closing:
                    return Done(task.name, error=error)
                self.tell(ANEW, None)
            except Exception as error:  # noqa: BLE001 - told in a sentence; the next save is another chance
                return Done(task.name, error=error)
        raise AssertionError("unreachable")

    def _forget(self) -> None:
        grader, self._grader = self._grader, None
        if grader is not None:
            with contextlib.suppress(Exception):
                grader.close()
