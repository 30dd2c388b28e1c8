"""A hand-in during which a process died, graded in a process of its own: whether it was to blame shows by who dies.

A worker that is killed from outside takes this process along, and nobody learns anything about the hand-in.  If this
process dies and the worker lives, it was the hand-in.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autograder import errors
from autograder.errors import AutograderError, WorkerError

if TYPE_CHECKING:
    from autograder.bulk.desk import Graded
    from autograder.bulk.engines.remote import Order
    from autograder.bulk.hand_ins import HandInPath

TRIES = 2  # processes that die before a hand-in is left out

# What is started.  Tests put one in its place that dies.
_PROGRAM = ("-m", "autograder.bulk.engines.suspect")


class Apart:
    """Starts such processes, and ends them with the run; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def grade(self, order: Order, hand_in: HandInPath) -> Graded | None:
        """Grade a hand-in apart; None if every process that tried died.

        Raises:
            AutograderError: what grading in this process would have raised.
        """
        for _ in range(TRIES):
            answer = self._ask(pickle.dumps((order, hand_in)))
            if answer is not None:
                return _told(answer)
        return None

    def close(self) -> None:
        """End what is at work; whoever waits for it gets a WorkerError."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            process.kill()

    def _ask(self, question: bytes) -> bytes | None:
        """What one process answers; None if it died without an answer."""
        with self._lock:
            self._require_open()
            pipe = subprocess.PIPE
            process = subprocess.Popen([sys.executable, "-P", *_PROGRAM], stdin=pipe, stdout=pipe, env=_environment())
            self._running.add(process)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            try:
                process.stdin.write(len(question).to_bytes(8) + question)
                process.stdin.flush()  # and left open: it ends with us
                answer = process.stdout.read()
            except BrokenPipeError:
                answer = b""
            process.kill()
            process.wait()
        finally:
            process.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            with self._lock:
                self._running.discard(process)
        self._require_open()
        return answer if answer.endswith(b"\n") else None

    def _require_open(self) -> None:
        if self._closed:
            raise WorkerError("The run was stopped.")


def _environment() -> dict[str, str]:
    """Ours, with this kit first: a process that is started with -P does not look into the current folder."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(errors.__file__)))
    places = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def _told(answer: bytes) -> Graded:
    from autograder.bulk.desk import Graded

    said = json.loads(answer)
    if "error" in said:
        kind = getattr(errors, said["kind"], WorkerError)
        raise kind(said["error"])
    return Graded(said["student"], said["fresh"], said["fault"], tuple(said["missing"]))


def main(grade: Callable[[Order, HandInPath], Graded] | None = None) -> None:
    """Grade the one hand-in that standard input names, and say on standard output what became of it."""
    from autograder.bulk.engines import remote

    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    order, hand_in = pickle.loads(stdin.read(int.from_bytes(stdin.read(8))))
    threading.Thread(target=_end_with, args=(stdin,), daemon=True).start()
    answer: dict[str, Any]
    try:
        graded = (grade or remote.grade_apart)(order, hand_in)
        answer = {name: getattr(graded, name) for name in ("student", "fresh", "fault", "missing")}
    except AutograderError as error:
        answer = {"error": str(error), "kind": type(error).__name__}
    stdout.write(json.dumps(answer).encode() + b"\n")
    stdout.flush()


def _end_with(stdin: Any) -> None:
    """End when the process that started this one does."""
    stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
