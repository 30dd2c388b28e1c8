"""Sentences fit the terminal they are read on, and stay whole where a script reads them."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from autograder.cli._cases import shown_folder

ROOT = Path(__file__).parents[2]


def printed(arguments: list[str], columns: int | None) -> str:
    """What a command of `course` prints on stderr, a terminal of so many columns or none at all."""
    command = [sys.executable, "-m", "autograder.cli.course", *arguments]
    if columns is None:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    text = b""
    try:
        while chunk := os.read(ours, 4096):
            text += chunk
    except OSError:  # Linux says so where nobody holds the other end
        pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 60, 0])
def test_an_error_is_wrapped_to_the_terminal_and_a_path_stays_whole(columns: int) -> None:
    path = "a" * 90
    text = printed(["export", path, "--to", "csv"], columns)
    assert text.startswith("Error: There are no results in")
    long = [line for line in text.split("\n") if len(line) > (columns or 80)]
    assert len(long) == text.count(path) > 0
    assert all(path in line for line in long)
    assert text.count("\n") > 1
    whole = printed(["export", path, "--to", "csv"], None)
    assert whole.count("\n") == 1
    assert " ".join(text.split()) == " ".join(whole.split())


def test_where_the_files_are_is_said_as_it_was_typed(tmp_path: Path) -> None:
    assert shown_folder(None) == "assignments"
    assert shown_folder(tmp_path) == str(tmp_path)
    assert shown_folder(tmp_path / "one.py") == ""
