"""Single keys from a terminal, which gets back the mode that it had, whatever happens."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Sequence
from types import FrameType
from typing import Any


class Keys:
    """Keys typed at stdin, one at a time and without an echo; a context manager.

    Where stdin is no terminal there are none, and `wait` only waits.  Ctrl-C stays what it is.
    """

    def __init__(self) -> None:
        self._fd = _terminal()
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._taken = False
        self.gone = False  # the terminal was closed

    @property
    def there(self) -> bool:
        """Whether anybody can press a key."""
        return self._fd is not None

    def __enter__(self) -> Keys:
        if self._fd is not None:
            try:
                self._before = termios.tcgetattr(self._fd)
                self._take()
            except (termios.error, OSError):
                self._fd = None
                return self
            for number, handler in ((signal.SIGTSTP, self._suspend), (signal.SIGCONT, self._resume)):
                self._handlers[number] = signal.signal(number, handler)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._restore()

    def wait(self, seconds: float, others: Sequence[int]) -> str:
        """The keys that are typed within ``seconds``; returns early with "" when one of ``others`` can be read."""
        listening = self._in_front()
        if listening and not self._taken:  # brought back by the shell, which set its own mode meanwhile
            with contextlib.suppress(termios.error, OSError):
                self._take()
        self._taken = self._taken and listening
        fds = [*others, self._fd] if listening and self._fd is not None else list(others)
        ready, _, _ = select.select(fds, [], [], seconds)
        if not listening or self._fd not in ready or self._fd is None:
            return ""
        try:
            data = os.read(self._fd, 256)
        except OSError:
            data = b""
        if not data:
            self.gone, self._fd = True, None
        # Arrows and their like come as a sequence that begins with Escape: none of it is a key of ours.
        return "" if data.startswith(b"\x1b") else data.decode(errors="ignore")

    def _take(self) -> None:
        if self._fd is not None and self._in_front():
            tty.setcbreak(self._fd, termios.TCSADRAIN)
            self._taken = True

    def _restore(self) -> None:
        if self._fd is not None and self._before is not None and self._in_front():
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _in_front(self) -> bool:
        """Whether the terminal is ours to read and set: a job in the background would be stopped for trying."""
        try:
            return self._fd is not None and os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-Z: the shell gets its terminal as it was."""
        self._restore()
        self._taken = False
        os.kill(os.getpid(), signal.SIGSTOP)

    def _resume(self, number: int, frame: FrameType | None) -> None:
        self._taken = False  # `wait` takes it as soon as it is ours


def _terminal() -> int | None:
    try:
        return sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    except (OSError, ValueError):
        return None
