"""Saves are noticed however an editor writes, and only once the files keep still."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autograder.watch._saves import DOUBT, STILL, Save, Saves

CODE = "def f(x):\n    return x\n"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A folder with one file, watched by a clock that goes when it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "lesson7" / "x.py"
        self.file.parent.mkdir()
        self.file.write_text(CODE)
        self.clock = Clock()
        self.saves = Saves(folder, self.clock)

    def after(self, seconds: float) -> Save | None:
        self.clock.now += seconds
        return self.saves.look()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_save_counts_once_the_file_keeps_still(bench: Bench) -> None:
    assert bench.after(1) is None
    bench.file.write_text(CODE + "y = 1\n")
    assert bench.after(0.1) is None
    assert bench.saves.pending
    bench.file.write_text(CODE + "y = 12\n")
    assert bench.after(STILL) is None  # written again
    assert bench.after(STILL) == Save(changed=True)
    assert not bench.saves.pending
    assert bench.after(5) is None


def test_a_save_that_changes_nothing_is_told_apart(bench: Bench) -> None:
    os.utime(bench.file, (1, 1))
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=False)


@pytest.mark.parametrize("half", ["", "def f(x:\n", "def f(x):\n    return (x"])
def test_half_a_file_gets_more_time(bench: Bench, half: str) -> None:
    bench.file.write_text(half)
    assert bench.after(0.1) is None
    assert bench.after(STILL) is None
    bench.file.write_text(CODE + "whole = True\n")
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=True)
    bench.file.write_text(half)
    assert bench.after(0.1) is None
    assert bench.after(DOUBT) == Save(changed=True)  # no more came: this is what there is to grade


@pytest.mark.parametrize(("name", "half"), [("x.ipynb", b'{"cells": ['), ("x.zip", b"PK\x03\x04 and no end")])
def test_half_a_notebook_or_zip_gets_more_time(bench: Bench, name: str, half: bytes) -> None:
    (bench.folder / name).write_bytes(half)
    assert bench.after(0.1) is None
    assert bench.after(STILL) is None
    assert bench.after(DOUBT) == Save(changed=True)


def test_an_editor_that_moves_a_new_file_into_place(bench: Bench) -> None:
    new = bench.file.with_name("x.py.tmp")
    new.write_text(CODE + "y = 2\n")
    new.replace(bench.file)
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=True)


def test_a_file_that_is_gone_for_a_moment_makes_one_save(bench: Bench) -> None:
    """Editors that delete and write, and those that put the old file aside first."""
    bench.file.rename(bench.file.with_name("x.py~"))
    assert bench.after(0.1) is None
    assert bench.after(STILL) is None
    bench.file.write_text(CODE + "y = 3\n")
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=True)


def test_deleting_a_file_counts_when_it_stays_away(bench: Bench) -> None:
    bench.file.unlink()
    assert bench.after(0.1) is None
    assert bench.after(DOUBT) == Save(changed=True)
    bench.file.parent.rmdir()
    assert bench.after(5) is None
    bench.file.parent.mkdir()
    bench.file.write_text(CODE)
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=True)


def test_a_new_file_and_a_renamed_one_count(bench: Bench) -> None:
    (bench.folder / "x.ipynb").write_text("{}")
    assert bench.after(0.1) is None
    assert bench.after(STILL) == Save(changed=True)
    bench.file.rename(bench.file.with_name("z.py"))
    assert bench.after(0.1) is None
    assert bench.after(DOUBT) == Save(changed=True)


def test_another_content_with_the_same_time_and_size_is_noticed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Network drives keep times by the second or two, and a digit for a digit leaves the size as it was."""
    from autograder.watch import _saves

    frozen = _saves._stamps(bench.folder)
    monkeypatch.setattr(_saves, "_stamps", lambda handin: frozen)
    bench.file.write_text(CODE.replace("x", "z"))
    assert bench.after(1.1) is None
    assert bench.after(STILL) == Save(changed=True)


def test_what_is_no_work_of_the_students_is_passed_over(bench: Bench) -> None:
    for name in (".hidden.py", "notes.txt", "x.py~"):
        (bench.folder / name).write_text("1")
    for folder in (".git", "__pycache__", "node_modules"):
        (bench.folder / folder).mkdir()
        (bench.folder / folder / "a.py").write_text("1")
    os.mkfifo(bench.folder / "pipe.py")  # opening it would wait for somebody to write
    (bench.folder / "link.py").symlink_to("/etc/hostname")
    assert bench.after(0.1) is None
    assert not bench.saves.pending


def test_a_single_file_is_watched_by_its_name(tmp_path: Path) -> None:
    file, clock = tmp_path / "my work.py", Clock()
    file.write_text(CODE)
    saves = Saves(file, clock)
    (tmp_path / "other.py").write_text("1")
    clock.now += 1
    assert saves.look() is None
    new = tmp_path / "new"
    new.write_text(CODE + "y = 1\n")
    new.replace(file)
    clock.now += 0.1
    assert saves.look() is None
    clock.now += STILL
    assert saves.look() == Save(changed=True)
