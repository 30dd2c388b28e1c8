"""stdout and stderr as both commands use them: any character can be written, and a full disk is one sentence."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from autograder.errors import OutputError, ended


def prepare_streams(plain: bool) -> None:
    """Set up ``sys.stdout`` and ``sys.stderr``.

    A character that the terminal does not know, or that is no ASCII with ``plain``, is escaped, never an error.  A
    stderr that is closed or full takes everything and keeps nothing: there is nowhere left to say so.

    Raises:
        OutputError: stdout is closed.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    for name, kind in (("stderr", _Aside), ("stdout", _Answer)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, _set_up(stream, kind, plain))
    if sys.stdout is None:
        raise OutputError("The output cannot be written: standard output is closed.")


def give_up_stdout() -> None:
    """Let what stdout still holds go nowhere, or Python would try to write it once more at its end, and complain."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _set_up(stream: io.TextIOWrapper, kind: type[io.FileIO], plain: bool) -> io.TextIOWrapper:
    wrapper = _Ascii if plain else io.TextIOWrapper
    encoding = "utf-8" if plain else stream.encoding
    lines = stream.line_buffering
    try:
        number = stream.fileno()
    except OSError:  # no file but a stand-in for one
        if plain:
            return _Ascii(stream.detach(), encoding, line_buffering=lines)
        stream.reconfigure(errors="backslashreplace")
        return stream
    stream.flush()
    raw = io.BufferedWriter(kind(number, "wb", closefd=False))
    return wrapper(raw, encoding, "backslashreplace", line_buffering=lines, write_through=stream.write_through)


class _Ascii(io.TextIOWrapper):
    """Escapes what is no ASCII.  An encoding does not do: click takes a stream in ASCII for a mistake and mends it."""

    def write(self, text: str, /) -> int:
        return super().write(text.encode("ascii", "backslashreplace").decode("ascii"))


class _Answer(io.FileIO):
    """stdout: that it cannot be written is no fault of the grader.  Who closes a pipe has read enough."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OutputError(f"The output cannot be written: {ended(reason)}") from error


class _Aside(io.FileIO):
    """stderr: what cannot be said on it is not said."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes
