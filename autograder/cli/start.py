"""The console scripts: Ctrl-C ends them quietly from their first moment on, also while all else is being imported."""

from __future__ import annotations

import importlib
import os
import signal
from typing import NoReturn


def grade() -> None:
    """The script ``grade``."""
    _start("grade")


def course() -> None:
    """The script ``course``."""
    _start("course")


def stop_quietly() -> None:
    """Until the command begins, Ctrl-C ends this process at once: there is nothing to clear away yet.

    Not an exception, since libraries that are being imported would make errors of their own of it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)


def begin() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _stop:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _start(name: str) -> None:
    stop_quietly()
    importlib.import_module(f"autograder.cli.{name}").main()


def _stop(number: int, _: object) -> NoReturn:
    os.write(2, b"Stopped.\n")
    os._exit(128 + number)
