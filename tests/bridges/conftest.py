"""The class, and ``course export`` as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bridges.classroom import Classroom, make_course

ROOT = Path(__file__).parents[2]
_PROGRAM = "from autograder.cli._export import export; from autograder.cli.common import run; run(export, 'course')"

Export = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def classroom(tmp_path: Path) -> Classroom:
    root = tmp_path / "course root"
    make_course(root)
    return Classroom(root, tmp_path / "graded")


@pytest.fixture
def export(classroom: Classroom) -> Export:
    """Runs the command in another process, from the course's folder."""

    def run(*arguments: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path or os.environ["PATH"]}
        command = [sys.executable, "-c", _PROGRAM, str(classroom.out), *map(str, arguments)]
        return subprocess.run(command, cwd=classroom.root, capture_output=True, encoding="utf-8", env=environment)

    return run
