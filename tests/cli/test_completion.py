"""A shell completes commands, options, exercises, lessons and checks, in both programs; and helps have examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from autograder.catalogue import Course
from autograder.cli import course as course_program
from autograder.cli import grade as grade_program

ROOT = Path(__file__).parents[2]
PROGRAMS: dict[str, click.Group] = {"grade": grade_program.cli, "course": course_program.cli}


def completed(words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a shell offers for the last word of a line."""
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    program = words.split(" ")[0]
    answer = BashComplete(PROGRAMS[program], {}, program, f"_{program.upper()}_COMPLETE").complete()
    return [line.partition(",")[2] for line in answer.split("\n") if line]


def test_the_first_word_is_a_command_or_an_exercise(monkeypatch: pytest.MonkeyPatch, course: Course) -> None:
    monkeypatch.chdir(ROOT / "docs")
    offered = completed("grade ", monkeypatch)
    assert offered == [*sorted(grade_program.cli.commands), *(exercise.id for exercise in course.exercises)]
    assert completed("grade sc", monkeypatch) == ["score_mask"]
    assert completed("grade wa", monkeypatch) == ["watch"]
    assert "--device" in completed("grade --", monkeypatch)


@pytest.mark.parametrize("command", ["check", "hint", "trace", "watch", "reset"])
def test_exercises_complete(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(ROOT)
    assert completed(f"grade {command} one", monkeypatch) == ["one_shot_attention"]
    assert completed(f"grade --root {ROOT}/nowhere {command} one", monkeypatch) == []


def test_exercises_that_are_on_the_line_are_not_offered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert completed("grade score_mask sc", monkeypatch) == []
    assert completed("grade check kernel_loads kern", monkeypatch) == []


def test_lessons_cases_and_choices_complete(monkeypatch: pytest.MonkeyPatch, course: Course) -> None:
    monkeypatch.chdir(ROOT)
    lessons = [str(lesson.number) for lesson in course.lessons]
    assert completed("grade --lesson ", monkeypatch) == lessons
    exercise = course.exercise("flash_attention")
    checks = [check.id for check in exercise.checks]
    assert completed("grade check flash_attention --case ", monkeypatch) == checks
    assert completed("grade trace flash_attention --case ", monkeypatch)[0] == exercise.traces[0].id
    assert completed("grade --device c", monkeypatch) == ["cpu", "cuda"]
    assert completed("course grade x --exercise flash_at", monkeypatch) == ["flash_attention"]
    assert completed("course grade x --lesson ", monkeypatch) == lessons


def test_outside_a_course_nothing_is_offered_and_nothing_goes_wrong(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert completed("grade hint ", monkeypatch) == []
    assert completed(f"grade --root {ROOT} hint gh", monkeypatch) == ["ghost_row_pin"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one(program: str, shell: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(PROGRAMS[program], ["completion", shell], standalone_mode=False)
    assert done.exception is None
    assert f"_{program.upper()}_COMPLETE={shell}_complete" in done.output
    if (found := shutil.which(shell)) is not None:
        script = tmp_path / "script"
        script.write_text(done.output)
        assert subprocess.run([found, "-n", str(script)], capture_output=True, text=True, check=False).stderr == ""


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    """The whole way: bash asks the program, which is started anew."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "grade"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m autograder.cli.grade "$@"\n')
    program.chmod(0o755)
    script = CliRunner().invoke(grade_program.cli, ["completion", "bash"], standalone_mode=False).output
    line = "COMP_WORDS=(grade hint flash_at); COMP_CWORD=2; _grade_completion grade; echo ${COMPREPLY[@]}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [bash, "-c", f"{script}\n{line}"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "flash_attention\n", done.stderr


# Help -----------------------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, click.Command]]:
    """Both programs and all their commands, by what is typed."""
    for program, group in PROGRAMS.items():
        yield program, group
        for name, command in group.commands.items():
            yield f"{program} {name}", command


@pytest.mark.parametrize(("typed", "command"), list(commands()), ids=lambda item: item if isinstance(item, str) else "")
def test_every_help_has_an_example_that_can_be_typed(typed: str, command: click.Command) -> None:
    program, *rest = typed.split(" ")
    done = CliRunner().invoke(PROGRAMS[program], [*rest, "--help"], prog_name=program)
    assert done.exit_code == 0
    assert f"Usage: {typed} [OPTIONS]" in done.output
    examples = re.search(r"^  Examples?:\n((?:    .+\n)+)", done.output, re.MULTILINE)
    assert examples is not None
    assert any(re.search(rf"(?:^|[ (]){typed}\b", line) for line in examples[1].split("\n"))
    assert max(map(len, done.output.split("\n"))) <= 80


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_say_their_version(program: str) -> None:
    from autograder import __version__

    done = CliRunner().invoke(PROGRAMS[program], ["--version"], prog_name=program)
    assert done.output == f"{program}, version {__version__}\n"
