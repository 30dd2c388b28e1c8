"""What cannot be written is said in a sentence, and is nobody's fault: stdout or stderr closed, or its disk full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = {
    "list": "autograder.cli.grade list",
    "check": "autograder.cli.grade check score_mask --no-targets --device cpu",
    "json": "autograder.cli.grade check score_mask --no-targets --device cpu --plain --json -",
    "course": "autograder.cli.course --help",
}


def run(command: str, where: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'exec "$0" -m {COMMANDS[command]} {where}', sys.executable],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", list(COMMANDS))
@pytest.mark.parametrize(
    ("where", "reason"), [(">&-", "standard output is closed"), (">/dev/full", "no space left on device")]
)
def test_an_output_that_cannot_be_written_is_one_sentence(command: str, where: str, reason: str) -> None:
    done = run(command, where)
    assert done.stderr == f"Error: The output cannot be written: {reason}.\n"
    assert done.returncode == 2


@pytest.mark.parametrize("environment", [{"PYTHONUNBUFFERED": "1"}, {"PYTHONIOENCODING": "ascii"}])
def test_however_python_writes(environment: dict[str, str]) -> None:
    done = run("list", ">/dev/full", **environment)
    assert done.stderr == "Error: The output cannot be written: no space left on device.\n"


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(("command", "code"), [("list", 0), ("check", 1)])
def test_without_stderr_the_answer_is_the_same(command: str, code: int, where: str) -> None:
    done = run(command, where)
    assert done.returncode == code
    assert "score_mask" in done.stdout


def test_with_nothing_to_write_to_at_all_the_code_says_it() -> None:
    assert run("list", ">&- 2>&-").returncode == 2
