"""An IPython shell in this process, in a student's folder, for tests that need no kernel."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What a cell printed, what it displayed by media type, and the error it ended with."""

    stdout: str
    stderr: str
    shown: list[dict[str, str]]
    error: BaseException | None


@dataclass(frozen=True)
class Shell:
    ip: Any

    def run(self, source: str) -> Ran:
        from IPython.utils.capture import capture_output

        with capture_output() as captured:
            result = self.ip.run_cell(source)
        shown = [output.data for output in captured.outputs]
        return Ran(captured.stdout, captured.stderr, shown, result.error_in_exec or result.error_before_exec)


@contextmanager
def shell_without_history(folder: Path) -> Iterator[Shell]:
    """One that writes to ``folder`` and nowhere else."""
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder))
        patch.setattr(HistoryManager, "enabled", False)
        shell = InteractiveShell.instance()
        try:
            yield Shell(shell)
        finally:
            InteractiveShell.clear_instance()


def student(folder: Path) -> Path:
    """The course as a student has it, stubs in place."""
    junk = shutil.ignore_patterns("__pycache__", "notebooks")
    shutil.copytree(ROOT / "course", folder / "course", ignore=junk)
    shutil.copytree(ROOT / "assignments", folder / "course" / "pristine")
    shutil.copytree(ROOT / "assignments", folder / "assignments")
    return folder
