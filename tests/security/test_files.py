"""Files that are hostile as files: their size, their bytes, their names, and what they link to."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import HandInError
from autograder.plan import Reference
from autograder.reports.terminal import make_console, print_run
from autograder.result import RunResult
from autograder.session import Grader, Request
from tests.lessons import of_lesson

from .making import FLASH, ONE_SHOT, RIGHT_PIN, assert_printable, function, grade, hostile, solution, write

PIN = function("pin_ghost_rows", RIGHT_PIN)
FLASH_PASSES = {"online_softmax_update": "pass", "flash_attention": "pass"}

# What stands in place of lesson7/one_shot_attention.py, and how its first exercise may end.
CONTENTS: dict[str, tuple[bytes, set[str]]] = {
    "50_megabytes": (b"#" * 50_000_000, {"refused"}),
    "a_million_nodes": (b"x = [" + b"1," * 450_000 + b"]\n", {"refused", "not-started"}),
    "deep_parentheses": (b"x = " + b"(" * 100_000, {"refused", "compile-error", "not-started"}),
    "deep_operators": (b"x = " + b"-" * 500_000 + b"1\n", {"refused"}),
    "deep_attributes": (b"x = a" + b".b" * 200_000 + b"\n", {"refused"}),
    "null_bytes": (b"\0" * 1000, {"refused"}),
    "a_null_byte": (solution(ONE_SHOT).encode().replace(b"tl.load", b"tl\0load", 1), {"refused"}),
    "not_utf8": (b"\xfd\xfc" * 100, {"refused"}),
    "latin1_with_a_coding_line": (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", {"refused"}),
    "utf7_with_a_coding_line": (b"# -*- coding: utf-7 -*-\n+AG8AcABlAG4-(1)\n", {"not-started"}),
    "surrogates_as_bytes": ("x = '\udc80\ud800'\n".encode("utf-8", "surrogatepass"), {"refused"}),
    "empty": (b"", {"not-started"}),
    "line_separators": (solution(ONE_SHOT).replace("\n", "\u2028").encode(), {"not-started"}),
    "form_feeds": (solution(ONE_SHOT).replace("\n", "\f\n").encode(), {"pass"}),
    "only_decorators": (b"@triton.jit\n" * 60_000, {"not-started", "compile-error"}),
    "a_zip_by_the_name_of_py": (b"PK\x03\x04" + bytes(1000), {"refused"}),
    "escape_codes_in_code": (
        solution(ONE_SHOT).replace("q_rows = ", "q\x1b[31m_rows = ").encode(),
        {"compile-error", "refused"},
    ),
    "text_that_runs_backwards": (
        solution(ONE_SHOT).replace("q_rows = ", "q\u202e_rows = ").encode(),
        {"compile-error", "refused"},
    ),
}


@pytest.mark.parametrize("name", list(CONTENTS))
def test_a_file_that_cannot_be_read_costs_its_own_exercises(
    name: str, grader: Grader, course: Course, tmp_path: Path
) -> None:
    content, outcomes = CONTENTS[name]
    folder = write(tmp_path / "handin", hostile(PIN))
    (folder / ONE_SHOT).write_bytes(content)
    found = {one.id: one.outcome for one in grade(grader, course, folder).exercises}
    assert found["kernel_loads"] in outcomes, found
    assert {name: found[name] for name in FLASH_PASSES} == FLASH_PASSES


ANSI = "\x1b]0;owned\x07\x1b[2J\x1b[31m"
NAMES = [f"{ANSI}.py", "a\nb.py", "a\rb.ipynb", "\u202egpj.py", "x\u2028y.zip", "\udcff\udcfe.py", "[red]bold.py"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_file_name_in_a_report_moves_no_cursor(
    name: str, grader: Grader, course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "handin", hostile(PIN))
    (folder / ONE_SHOT).unlink()
    path = os.fsencode(str(folder)) + b"/" + name.encode("utf-8", "surrogateescape")
    Path(os.fsdecode(path)).write_text(solution(ONE_SHOT), encoding="utf-8")
    result = grade(grader, course, folder)
    print_run(make_console(sys.stdout, plain=True), result, plain=True)
    shown = capsys.readouterr().out.replace("\n", "")
    assert shown.encode("utf-8")
    assert all(character.isprintable() for character in shown)


def test_fake_results_and_colours_in_the_text_are_only_text(attack: Callable[..., RunResult]) -> None:
    """Whatever a kernel would print, its prints are left out; a name is quoted in a message and nothing more."""
    fake = json.dumps({"schema": 1, "total": {"score": 10.0}})
    text = function("pin_ghost_rows", f"print('''{fake}\x1b[31m''')\nx = s.{'pass' * 500_000}\n{RIGHT_PIN}")
    found = {one.id: one for one in attack(text).exercises}["ghost_row_pin"]
    assert found.outcome in ("refused", "compile-error")
    assert len(found.message) < 400


LINKS = {
    "secret": "solutions/hidden.toml",
    "solution": f"solutions/{ONE_SHOT}",
    "device": "/dev/zero",
    "memory": "/proc/self/mem",
}


@pytest.mark.parametrize("name", list(LINKS))
def test_a_link_is_not_followed(name: str, grader: Grader, course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "handin", hostile(PIN))
    (folder / ONE_SHOT).unlink()
    (folder / ONE_SHOT).symlink_to(course.root / LINKS[name])
    result = grade(grader, course, folder)
    assert {one.outcome for one in result.exercises[:4]} == {"refused"}
    assert "links are not followed" in result.exercises[0].message


def test_a_folder_that_links_to_the_solutions_is_not_entered(grader: Grader, course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "handin"
    folder.mkdir()
    (folder / "lesson7").symlink_to(course.root / "solutions" / "lesson7")
    with pytest.raises(HandInError):
        grade(grader, course, folder)


def test_a_pipe_does_not_hold_up_the_grader(grader: Grader, course: Course, tmp_path: Path) -> None:
    folder = write(tmp_path / "handin", hostile(PIN))
    (folder / ONE_SHOT).unlink()
    os.mkfifo(folder / ONE_SHOT)
    assert {one.outcome for one in grade(grader, course, folder).exercises[:4]} == {"refused"}


@pytest.mark.parametrize("name", ["../../trap.py", "/trap.py", "C:\\trap.py", "lesson7/../../../trap.py"])
def test_a_zip_writes_nothing_anywhere(name: str, grader: Grader, course: Course, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hw.zip", "w") as archive:
        archive.writestr(name, solution(FLASH))
        archive.writestr(FLASH, hostile(PIN)[FLASH])
    before = sorted(tmp_path.parent.rglob("*"))
    found = {one.id: one.outcome for one in grade(grader, course, tmp_path / "hw.zip").exercises}
    assert {name: found[name] for name in FLASH_PASSES} == FLASH_PASSES
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_a_hand_in_full_of_slow_candidates_is_looked_at_only_so_far(course: Course, tmp_path: Path) -> None:
    """Whether a copy is started takes a lift of its text: not more than a few megabytes of them are lifted."""
    from autograder import plan

    seen: list[int] = []
    plain = plan._Stubs.started

    def counted(self: plan._Stubs, place: plan.Place, text: str) -> bool:
        seen.append(len(text))
        return True

    plan._Stubs.started = counted  # type: ignore[method-assign]
    try:
        body = "# " + "x" * 900_000 + "\n" + solution(ONE_SHOT)
        files = {f"one_shot_attention ({number}).py": f"{body}# {number}\n" for number in range(1, 20)}
        plan.plan_exercises(course, write(tmp_path, files), of_lesson(course, 7), None)
    finally:
        plan._Stubs.started = plain  # type: ignore[method-assign]
    assert len(seen) <= 4


def test_of_two_definitions_the_last_counts_and_a_right_one_before_it_wins_nothing(
    attack: Callable[..., RunResult],
) -> None:
    text = f"{PIN}\n\n{function('pin_ghost_rows', 'return open(s)')}"
    assert {one.id: one.outcome for one in attack(text).exercises}["ghost_row_pin"] == "refused"
    text = f"{PIN}\n\nif 1:\n    def pin_ghost_rows(s): return open(s)\n"
    assert {one.id: one.outcome for one in attack(text).exercises}["ghost_row_pin"] == "pass"


def test_a_notebook_of_surrogates_makes_a_document_that_can_be_written(
    grader: Grader, course: Course, tmp_path: Path
) -> None:
    source = solution(FLASH) + "\nx = '\ud800'\n" + function("flash_attention_kernel", "x = y\ud83d")
    document = {"nbformat": 4, "cells": [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []}]}
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(document))
    result = grader.grade(Request(path, of_lesson(course, 7), reference=Reference.load(course, None)))
    assert_printable(result)
    assert result.exercises[5].outcome in ("refused", "compile-error")
    assert result.exercises[4].outcome == "pass"
