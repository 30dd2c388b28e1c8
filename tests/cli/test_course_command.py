"""``course release`` and the shell around the instructor's commands keep their contract."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import __version__
from autograder.cli.course import cli

ROOT = Path(__file__).parents[2]
WHEEL = f"mini_flash_attention_kit-{__version__}-py3-none-any.whl"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def instructor(tmp_path: Path) -> Path:
    root = tmp_path / "instructor"
    for name in ("course", "solutions"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        archive.writestr("autograder/__init__.py", "")
        archive.writestr(f"mini_flash_attention_kit-{__version__}.dist-info/METADATA", f"Version: {__version__}\n")
    return tmp_path / WHEEL


def test_release_writes_stubs_and_one_zip(course_command: Run, instructor: Path, wheel: Path, tmp_path: Path) -> None:
    printed = course_command("release", "--out", "dist", "--wheel", wheel, "--root", instructor)
    assert printed.returncode == 0, printed.stderr
    bundle = tmp_path / "dist" / f"mini-flash-attention-{__version__}.zip"
    assert list((tmp_path / "dist").iterdir()) == [bundle]
    assert "no leak found" in printed.stdout
    for stub in ("lesson7/one_shot_attention.py", "lesson7/flash_attention.py"):
        assert (instructor / "assignments" / stub).read_text() == (ROOT / "assignments" / stub).read_text()
    with zipfile.ZipFile(bundle) as archive:
        assert archive.testzip() is None
        assert "course/course.toml" in archive.namelist()


@pytest.mark.exhaustive
def test_a_leak_ends_with_3_and_names_the_place(course_command: Run, instructor: Path, wheel: Path) -> None:
    handout = instructor / "course" / "exercises" / "lesson7" / "ghost_row_pin" / "handout.md"
    handout.write_text(handout.read_text() + "\n    m = tl.max(s, 1); m = tl.where(offs_m < NSEQ, m, 0.0)\n")
    printed = course_command("--root", instructor, "release", "--out", "dist", "--wheel", wheel)
    assert printed.returncode == 3
    assert re.search(r"ghost_row_pin/handout\.md, line \d+", printed.stderr)
    assert "Traceback" not in printed.stderr
    assert not (instructor / "assignments").exists()


def test_a_stub_that_would_give_its_solution_away_ends_with_3(
    course_command: Run, instructor: Path, wheel: Path
) -> None:
    path = instructor / "solutions" / "lesson7" / "one_shot_attention.py"
    text = path.read_text(encoding="utf-8")
    for marker in ("    ### BEGIN SOLUTION\n", "    ### END SOLUTION\n"):
        text = text.replace(marker, "", 1)
    path.write_text(text, encoding="utf-8")
    for options in (("--out", instructor / "dist", "--wheel", wheel), ("--stubs-only",)):
        printed = course_command("release", *options, "--root", instructor)
        assert printed.returncode == 3
        assert re.fullmatch(
            r"Error: \S*one_shot_attention\.py, line \d+: a '#:' line stands outside .*\n", printed.stderr
        )
        assert not (instructor / "dist").exists()
        assert not (instructor / "assignments").exists()
    proof = course_command(
        "selfcheck", "--only", "stubs", "--device", "cpu", "--json", instructor / "found.json", "--root", instructor
    )
    assert proof.returncode == 1
    assert "DOES NOT HOLD: stubs" in proof.stdout
    assert "a '#:' line stands outside the solution regions" in (instructor / "found.json").read_text()


def test_what_does_not_hold_is_said_at_the_end_too(course_command: Run, instructor: Path) -> None:
    printed = course_command(
        *("selfcheck", "--exercise", "score_mask", "--only", "stubs", "--only", "streaming"),
        *("--device", "cpu", "--root", instructor),
    )
    assert printed.returncode == 1
    lines = printed.stdout.split("\n")
    last = len(lines) - lines[::-1].index("DOES NOT HOLD: stubs") - 1
    assert last > next(number for number, line in enumerate(lines) if line.startswith("holds: streaming"))
    assert re.match(r"    assignments/lesson1/\w+\.py: is not what its solution makes", lines[last + 1])
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines[last:])


def test_stubs_only_writes_stubs_and_nothing_else(course_command: Run, instructor: Path, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    assert course_command("release", "--stubs-only", "--root", instructor).returncode == 0
    new = {path.relative_to(instructor).parts[0] for path in set(tmp_path.rglob("*")) - before}
    assert new == {"assignments"}


def test_wrong_input_ends_with_2_and_one_sentence(course_command: Run, instructor: Path, tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_text("no wheel")
    for arguments, words in (
        (("release",), "--out DIR"),
        (("release", "--stubs-only", "--out", "dist"), "--stubs-only makes no bundle"),
        (("release", "--out", "dist"), "Name one with --wheel"),  # this copy has no sources to build from
        (("release", "--out", "dist", "--wheel", "x.whl"), "no wheel of this kit"),
        (("release", "--out", "x.whl/dist", "--wheel", "missing.whl"), "cannot be read"),
    ):
        printed = course_command(*arguments, "--root", instructor)
        assert printed.returncode == 2, arguments
        assert words in printed.stderr
        assert printed.stderr.count("\n") == 1
    assert course_command("release", "--out", "dist").returncode == 2


def test_a_students_copy_cannot_be_released_or_proved(course_command: Run, instructor: Path) -> None:
    shutil.rmtree(instructor / "solutions")
    for arguments in (("release", "--stubs-only"), ("selfcheck",)):
        printed = course_command(*arguments, "--root", instructor)
        assert printed.returncode == 2
        assert "no solutions folder" in printed.stderr


def test_help_shows_an_example_of_every_command(course_command: Run) -> None:
    assert "Examples:\n" in course_command("--help").stdout
    for command in sorted(cli.commands):
        assert re.search(rf"Examples?:\n +course {command}", course_command(command, "--help").stdout)


def test_the_version_is_that_of_the_kit(course_command: Run) -> None:
    assert course_command("--version").stdout == f"course, version {__version__}\n"


def test_what_the_pages_have_one_make_in_the_kits_folder_is_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    page = (ROOT / "docs" / "grading-a-class.md").read_text(encoding="utf-8")
    for folder in ("hand-ins", "results"):
        assert f"--out {folder}" in page
        assert f"/{folder}/" in ignored


def test_make_help_lists_every_target_with_a_word_about_it() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+):.*## ", makefile, re.MULTILINE)
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    printed = subprocess.run(["make", "help"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True).stdout
    assert [line.split()[1] for line in printed.strip().split("\n")] == targets
    assert "test-colab" in targets


def test_the_makefile_says_what_takes_long_and_what_comes_next() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n")
    install = next(number for number, line in enumerate(lines) if "-c constraints.txt" in line)
    assert "echo" in lines[install - 1]
    selfcheck = next(number for number, line in enumerate(lines) if "--show" in line)
    assert "source $(BIN)/activate; grade" in "".join(lines[selfcheck + 1 : selfcheck + 3])
