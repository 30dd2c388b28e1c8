"""Saving loses nothing: earlier versions, other exercises of the file, and work in Drive are kept and come back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.catalogue import Course, load_course
from autograder.errors import UsageError
from autograder.notebook import _work
from autograder.notebook._work import Work, find_drive
from autograder.plan import plan_exercises
from autograder.release.submit import gather

ROOT = Path(__file__).parents[2]
FLASH = "lesson7/flash_attention.py"
UPDATE = "@triton.jit\ndef online_softmax_update(m_i, l_i, acc, s, v):\n    return m_i, l_i, {}\n"
KERNEL = "@triton.jit\ndef flash_attention_kernel(q_ptr):\n    {}\n"


def machine(folder: Path) -> Course:
    """A student's folder on a new machine."""
    junk = shutil.ignore_patterns("__pycache__", "notebooks")
    shutil.copytree(ROOT / "course", folder / "course", ignore=junk)
    shutil.copytree(ROOT / "assignments", folder / "course" / "pristine")
    shutil.copytree(ROOT / "assignments", folder / "assignments")
    return load_course(folder)


@pytest.fixture
def here(tmp_path: Path) -> Course:
    return machine(tmp_path / "here")


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    (tmp_path / "MyDrive").mkdir()
    return tmp_path / "MyDrive"


def save(work: Work, text: str, exercise: str = "online_softmax_update") -> tuple[str, ...]:
    return work.save(work.course.exercise(exercise), f"%%exercise {exercise}\n{text}").notes


def saved(work: Work) -> str:
    return (work.folder / FLASH).read_text(encoding="utf-8")


def in_drive(drive: Path) -> Path:
    return drive / "mini-flash-attention" / "assignments" / FLASH


def test_each_version_comes_back_one_after_the_other(here: Course) -> None:
    work = Work(here)
    update = here.exercise("online_softmax_update")
    stub = saved(work)
    for value in ("1", "2", "2", "3"):
        save(work, UPDATE.format(value))
    assert "l_i, 3" in saved(work)
    for value in ("2", "1"):
        assert work.undo(update) == work.folder / FLASH
        assert f"l_i, {value}" in saved(work)
    work.undo(update)
    assert saved(work) == stub
    assert work.undo(update) is None


def test_what_another_program_wrote_in_between_comes_back_too(here: Course) -> None:
    work = Work(here)
    save(work, UPDATE.format("1"))
    (work.folder / FLASH).write_text("# edited elsewhere\n" + saved(work))
    save(work, UPDATE.format("2"))
    work.undo(here.exercise("online_softmax_update"))
    assert saved(work).startswith("# edited elsewhere\n")


def test_earlier_versions_are_no_part_of_a_hand_in(here: Course) -> None:
    work = Work(here)
    for value in ("1", "2"):
        save(work, UPDATE.format(value))
    plans, notes = plan_exercises(here, work.folder, here.exercises, None)
    assert notes == ()
    assert all(plan.file == plan.exercise.stub for plan in plans)
    packed, notes = gather(work.folder)
    assert notes == ()
    assert not any("undo" in name for name in packed)


def test_old_versions_go(here: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_work, "_VERSIONS", 3)
    work = Work(here)
    for number in range(6):
        save(work, UPDATE.format(number))
    kept = sorted(path.name for path in (work.folder / ".undo" / FLASH).iterdir())
    assert kept == ["000004.py", "000005.py", "000006.py"]


def test_a_file_that_is_not_there_is_made_of_the_stub(here: Course) -> None:
    work = Work(here)
    shutil.rmtree(work.folder)
    save(work, UPDATE.format("1"))
    assert "l_i, 1" in saved(work)
    assert "def flash_attention_kernel" in saved(work)


def test_a_cell_that_is_the_stub_replaces_no_answer(here: Course, drive: Path) -> None:
    """A new copy of the notebook, run from top to bottom."""
    work = Work(here, drive)
    stub = saved(work)
    save(work, UPDATE.format("1"))
    before = saved(work)
    notes = save(work, stub)
    assert "your answer in" in notes[0]
    assert "%course show online_softmax_update" in notes[0]
    assert saved(work) == before == in_drive(drive).read_text()
    assert work.answer(here.exercise("online_softmax_update")) == UPDATE.format("1").rstrip()
    save(work, KERNEL.format("pass"), "flash_attention")
    assert save(work, stub, "flash_attention") != ()
    assert "pass" in saved(work)


def test_each_save_is_copied_to_drive(here: Course, drive: Path) -> None:
    work = Work(here, drive)
    assert save(work, UPDATE.format("1")) == ()
    assert in_drive(drive).read_text() == saved(work)
    assert save(work, UPDATE.format("2")) == ()
    assert in_drive(drive).read_text() == saved(work)
    work.undo(here.exercise("online_softmax_update"))
    assert in_drive(drive).read_text() == saved(work)
    assert [path.name for path in in_drive(drive).parent.iterdir()] == ["flash_attention.py"]


def test_on_a_new_machine_the_first_save_loses_no_other_exercise(here: Course, drive: Path, tmp_path: Path) -> None:
    first = Work(here, drive)
    save(first, UPDATE.format("1"))
    save(first, KERNEL.format("pass  # mine"), "flash_attention")
    second = Work(machine(tmp_path / "there"), drive)
    assert second.waiting_in_drive() == (FLASH,)
    notes = save(second, UPDATE.format("2"))
    assert "brought back from your Drive" in notes[0]
    assert "l_i, 2" in saved(second)
    assert "pass  # mine" in saved(second)
    assert in_drive(drive).read_text() == saved(second)
    assert second.waiting_in_drive() == ()


def test_on_a_new_machine_a_notebook_of_stubs_brings_back_and_changes_nothing(
    here: Course, drive: Path, tmp_path: Path
) -> None:
    first = Work(here, drive)
    stub = saved(first)
    save(first, UPDATE.format("1"))
    second = Work(machine(tmp_path / "there"), drive)
    notes = save(second, stub)
    assert len(notes) == 2
    assert saved(second) == saved(first) == in_drive(drive).read_text()


def test_restore_brings_back_all_files_and_can_be_undone(here: Course, drive: Path, tmp_path: Path) -> None:
    save(Work(here, drive), UPDATE.format("1"))
    there = Work(machine(tmp_path / "there"))  # Drive is not mounted yet
    save(there, UPDATE.format("2"))
    there = Work(there.course, drive)
    assert there.restore() == (FLASH,)
    assert "l_i, 1" in saved(there)
    assert there.restore() == ()
    there.undo(there.course.exercise("online_softmax_update"))
    assert "l_i, 2" in saved(there)


def test_what_another_machine_wrote_to_drive_is_kept_beside(here: Course, drive: Path) -> None:
    work = Work(here, drive)
    save(work, UPDATE.format("1"))
    in_drive(drive).write_text("# of another machine\n")
    (note,) = save(work, UPDATE.format("2"))
    copies = list(in_drive(drive).parent.glob("flash_attention.py.bak-*"))
    assert [copy.read_text() for copy in copies] == ["# of another machine\n"]
    assert copies[0].name in note
    assert in_drive(drive).read_text() == saved(work)


def test_a_drive_that_cannot_be_written_costs_only_the_copy(here: Course, drive: Path) -> None:
    (drive / "mini-flash-attention").write_text("a file where a folder should be")
    work = Work(here, drive)
    (note,) = save(work, UPDATE.format("1"))
    assert note.startswith("Saved here, but not in your Drive: ")
    assert "l_i, 1" in saved(work)


def test_nothing_to_restore_is_a_sentence(here: Course, drive: Path) -> None:
    with pytest.raises(UsageError, match="not mounted"):
        Work(here).restore()
    with pytest.raises(UsageError, match="no work of this course"):
        Work(here, drive).restore()


def test_drive_is_the_named_folder_if_it_is_there(drive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRADER_DRIVE", str(drive))
    assert find_drive() == drive
    monkeypatch.setenv("AUTOGRADER_DRIVE", str(drive / "none"))
    assert find_drive() is None
