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
        stepped = work.undo(update)
        assert stepped is not None
        assert (stepped.path, stepped.others, stepped.kept) == (work.folder / FLASH, (), True)
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
    kept = sorted(path.name.partition(".")[0] for path in (work.folder / ".undo" / FLASH).iterdir())
    assert kept == ["000004", "000005", "000006"]


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


# What is on disk is kept, whoever wrote it ---------------------------------------------------------------------------

SOFTMAX = "lesson3/softmax.py"
ROW = "@triton.jit\ndef row_softmax_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    {}\n"
LSE = (
    "@triton.jit\ndef log_sum_exp_kernel(x_ptr, lse_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    {}\n"
)


def stub_of(here: Course, name: str) -> str:
    return (here.root / "course" / "pristine" / name).read_text(encoding="utf-8")


def test_undo_keeps_what_an_editor_wrote_and_redo_brings_it_back(here: Course) -> None:
    work = Work(here)
    update = here.exercise("online_softmax_update")
    stub = saved(work)
    save(work, UPDATE.format("1"))
    edited = saved(work).replace("l_i, 1", "l_i, 1 + 1  # an hour of work").encode() + b"# caf\xe9\n"
    (work.folder / FLASH).write_bytes(edited)
    stepped = work.undo(update)
    assert stepped is not None
    assert stepped.kept
    assert "hour of work" not in saved(work)
    assert work.answer(update) in stub
    assert work.redo(update) is not None
    assert (work.folder / FLASH).read_bytes() == edited
    assert work.redo(update) is None


def test_undo_and_redo_go_through_all_versions_without_losing_one(here: Course) -> None:
    work = Work(here)
    update = here.exercise("online_softmax_update")
    seen = [saved(work)]
    for value in ("1", "2", "3"):
        save(work, UPDATE.format(value))
        seen.append(saved(work))
    for _ in range(2):
        for step, states in ((work.undo, seen[-2::-1]), (work.redo, seen[1:])):
            for state in states:
                assert step(update) is not None
                assert saved(work) == state
            assert step(update) is None


@pytest.mark.parametrize("head", [b"# caf\xe9: my notes\r\n", b"\xef\xbb\xbf# with a mark\n"])
def test_bytes_that_are_no_utf_8_come_back_as_they_were(here: Course, head: bytes) -> None:
    work = Work(here)
    path = work.folder / FLASH
    raw = head + UPDATE.format("1").replace("\n", "\r\n").encode()
    path.write_bytes(raw)
    notes = save(work, UPDATE.format("2"))
    assert any("was not UTF-8" in note for note in notes) == (b"\xe9" in head)
    assert work.undo(here.exercise("online_softmax_update")) is not None
    assert path.read_bytes() == raw


def test_a_file_that_is_no_text_is_said_and_comes_back(here: Course) -> None:
    work = Work(here)
    path = work.folder / FLASH
    path.write_bytes(b"\xff\xfe\x00bad\x00\x00")
    (note,) = save(work, UPDATE.format("2"))
    assert "held no text" in note
    work.undo(here.exercise("online_softmax_update"))
    assert path.read_bytes() == b"\xff\xfe\x00bad\x00\x00"


def test_undo_of_one_exercise_leaves_the_others_of_the_file(here: Course) -> None:
    work = Work(here)
    save(work, ROW.format("row = 1"), "row_softmax")
    save(work, "TOP = tl.constexpr(3)\n" + ROW.format("row = TOP"), "row_softmax")
    save(work, LSE.format("lse = 1"), "log_sum_exp")
    row, other = here.exercise("row_softmax"), here.exercise("log_sum_exp")
    stepped = work.undo(row)
    assert stepped is not None
    assert stepped.others == ()
    assert "row = 1" in work.answer(row)
    assert "lse = 1" in work.answer(other)
    assert work.undo(row) is not None
    assert work.answer(row) in stub_of(here, SOFTMAX)
    assert "lse = 1" in work.answer(other)
    assert work.undo(row) is None
    assert work.redo(row) is not None
    assert "row = 1" in work.answer(row)
    assert work.undo(other) is not None
    assert work.answer(other) in stub_of(here, SOFTMAX)
    assert "row = 1" in work.answer(row)


def test_what_an_earlier_answer_used_comes_back_with_it(here: Course) -> None:
    work = Work(here)
    helper = "@triton.jit\ndef top(x):\n    return x\n\n"
    save(work, f"import math\n{helper}{ROW.format('top(math.pi)')}", "row_softmax")
    save(work, ROW.format("row = 2"), "row_softmax")
    save(work, LSE.format("lse = 1"), "log_sum_exp")
    path = work.folder / SOFTMAX
    path.write_text(path.read_text().replace(helper, "").replace("import math\n", ""))
    work.undo(here.exercise("row_softmax"))
    text = path.read_text()
    assert text.count("def top(x)") == text.count("import math\n") == 1
    assert "lse = 1" in text


def test_a_version_of_the_whole_file_names_whom_it_changes(here: Course, drive: Path, tmp_path: Path) -> None:
    first = Work(here, drive)
    save(first, ROW.format("row = 1"), "row_softmax")
    save(first, LSE.format("lse = 1"), "log_sum_exp")
    second = Work(machine(tmp_path / "there"), drive)
    assert second.restore() == (SOFTMAX,)
    stepped = second.undo(here.exercise("row_softmax"))
    assert stepped is not None
    assert stepped.others == ("log_sum_exp",)
    assert second.undo(here.exercise("log_sum_exp")) is None
    assert second.redo(here.exercise("log_sum_exp")) is not None
    assert (second.folder / SOFTMAX).read_bytes() == (first.folder / SOFTMAX).read_bytes()


def test_versions_of_earlier_kits_still_come_back(here: Course) -> None:
    work = Work(here)
    old = work.folder / ".undo" / SOFTMAX / "000007.py"
    old.parent.mkdir(parents=True)
    old.write_text(stub_of(here, SOFTMAX) + "\n\n" + ROW.format("row = 7"))
    save(work, LSE.format("lse = 1"), "log_sum_exp")
    assert work.undo(here.exercise("row_softmax")) is not None
    assert "row = 7" in work.answer(here.exercise("row_softmax"))
    assert "lse = 1" in work.answer(here.exercise("log_sum_exp"))
    assert work.undo(here.exercise("row_softmax")) is None


def test_what_cannot_be_kept_is_not_undone(here: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(here)
    save(work, UPDATE.format("1"))
    (work.folder / ".undo" / FLASH / "undone").write_text("a file where a folder should be")
    with pytest.raises(UsageError, match="nothing was changed"):
        work.undo(here.exercise("online_softmax_update"))
    assert "l_i, 1" in saved(work)


# Other exercises of the file -----------------------------------------------------------------------------------------


def test_a_whole_file_in_a_cell_replaces_no_other_answer_by_its_stub(here: Course) -> None:
    work = Work(here)
    save(work, LSE.format("lse = 1"), "log_sum_exp")
    pasted = stub_of(here, SOFTMAX) + "\n\n" + ROW.format("row = 1")
    assert save(work, pasted, "row_softmax") == ()
    assert "lse = 1" in work.answer(here.exercise("log_sum_exp"))
    assert "row = 1" in work.answer(here.exercise("row_softmax"))


def test_an_answer_to_another_exercise_that_is_replaced_is_named(here: Course) -> None:
    work = Work(here)
    save(work, LSE.format("lse = 1"), "log_sum_exp")
    (note,) = save(work, ROW.format("row = 1") + LSE.format("lse = 2"), "row_softmax")
    assert "log_sum_exp_kernel" in note
    assert "%course undo row_softmax" in note
    work.undo(here.exercise("row_softmax"))
    assert "lse = 1" in work.answer(here.exercise("log_sum_exp"))


def test_a_function_of_the_same_exercise_that_is_still_a_stub_replaces_no_answer(here: Course) -> None:
    """A cell of an exercise with two functions, of which one is as it was handed out."""
    work = Work(here)
    two = next(item for item in here.exercises if len(item.functions) > 1)
    first, second = (function.name for function in two.functions[:2])
    spans = {}
    for name in (first, second):
        signature = next(row for row in stub_of(here, two.stub).split("\n") if row.startswith(f"def {name}("))
        rest = stub_of(here, two.stub).split(signature)[1].split("):")[0]
        spans[name] = f"@triton.jit\n{signature}{'' if signature.endswith(':') else rest + '):'}\n    mine = 1\n"
    save(work, spans[first] + spans[second], two.id)
    whole = stub_of(here, two.stub) + "\n\n" + spans[first].replace("mine = 1", "mine = 2")
    (note,) = save(work, whole, two.id)
    assert note.startswith(f"{second} in this cell is as it was handed out")
    answer = work.answer(two)
    assert "mine = 2" in answer
    assert "mine = 1" in answer


def test_a_helper_that_another_answer_uses_is_named(here: Course) -> None:
    work = Work(here)
    helper = "@triton.jit\ndef top(x):\n    return {}\n"
    by_way = "@triton.jit\ndef higher(x):\n    return top(x)\n"
    save(work, helper.format("1") + by_way + ROW.format("higher(1)"), "row_softmax")
    same = helper.format("1").replace("return", "# a comment\n    return")
    assert save(work, same + LSE.format("top(1)"), "log_sum_exp") == ()
    (note,) = save(work, helper.format("2") + LSE.format("top(1)"), "log_sum_exp")
    assert note.startswith("`top` is used by row_softmax too")
    assert "%course undo log_sum_exp" in note
    work.undo(here.exercise("log_sum_exp"))
    assert "return 2" not in (work.folder / SOFTMAX).read_text()
    assert save(work, helper.format("2").replace("top", "mine") + LSE.format("mine(1)"), "log_sum_exp") == ()


def test_a_variable_of_the_same_name_is_no_use_of_a_helper(here: Course) -> None:
    work = Work(here)
    helper = "@triton.jit\ndef top(x):\n    return {}\n"
    save(work, ROW.format("top = 1; top += 1"), "row_softmax")
    save(work, helper.format("1") + LSE.format("top(1)"), "log_sum_exp")
    assert save(work, helper.format("2") + LSE.format("top(1)"), "log_sum_exp") == ()
