"""From the first moment on: Ctrl-C while all is being imported, a folder that is gone, a shell that says nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WAYS = {
    "script": ["-c", "from autograder.cli.start import grade; grade()"],
    "module": ["-m", "autograder.cli.grade"],
    "course": ["-c", "from autograder.cli.start import course; course()"],
}


def environment(*folders: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*folders, ROOT))), **more}


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_while_importing_is_quiet(way: str, tmp_path: Path) -> None:
    """A library that turns every exception into one of its own would hide a KeyboardInterrupt."""
    slow = "import time\nprint('importing', flush=True)\ntry:\n    time.sleep(600)\nexcept BaseException as e:\n"
    (tmp_path / "click.py").write_text(f"{slow}    raise ImportError('broken') from e\n")
    with subprocess.Popen(
        [sys.executable, *WAYS[way]],
        cwd=ROOT,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=100)
    assert (process.returncode, stderr) == (130, "Stopped.\n")


def test_the_console_scripts_are_those_that_are_quiet() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {name: f"autograder.cli.start:{name}" for name in ("grade", "course")}


def ended(cwd: Path, *words: str, **more: str) -> tuple[int, str]:
    """The exit code and stderr of `grade`."""
    done = subprocess.run(
        [sys.executable, *WAYS["script"], *words],
        cwd=cwd,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "given",
    [{}, {"COMP_WORDS": "grade "}, {"COMP_CWORD": "1"}, {"COMP_WORDS": "grade ", "COMP_CWORD": "one"}],
    ids=str,
)
def test_a_shell_that_does_not_say_what_to_complete_is_told_so(given: dict[str, str]) -> None:
    code, said = ended(ROOT, _GRADE_COMPLETE="bash_complete", **given)
    assert code == 2
    assert said.startswith("Error: There is no line to complete: a shell sets COMP_WORDS and COMP_CWORD.")
    assert said.count("\n") == 1


def test_a_folder_that_was_removed_is_a_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os; os.rmdir(os.getcwd()); from autograder.cli.start import grade; grade()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, "list"],
        cwd=gone,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr == "Error: The current folder is not there any more. Go to the course's folder, then try again.\n"
    )
