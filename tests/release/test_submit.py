"""The hand-in zip holds the student's files as they are, says what is in it, and refuses nothing that is honest."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

from autograder import __version__
from autograder.catalogue import Course
from autograder.errors import HandInError, UsageError
from autograder.plan import plan_exercises, started_in
from autograder.release.stubs import generate_stubs
from autograder.release.submit import MANIFEST, default_out, gather, submit
from autograder.result import Environment
from autograder.session import Grader, Request

from .making import ROOT, make_notebook

ENVIRONMENT = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11.7")
NOW = datetime.datetime(2026, 11, 29, 12, 0, tzinfo=datetime.UTC)
ONE_SHOT, FLASH = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"


@pytest.fixture
def work(course: Course, tmp_path: Path) -> Path:
    """Part A solved, Part B untouched."""
    folder = tmp_path / "work"
    (folder / "lesson7").mkdir(parents=True)
    (folder / ONE_SHOT).write_text((ROOT / "solutions" / ONE_SHOT).read_text())
    (folder / FLASH).write_text(generate_stubs(course)[FLASH])
    return folder


def test_files_are_packed_as_they_are_with_a_manifest(course: Course, work: Path, tmp_path: Path) -> None:
    (work / "lesson7" / "mine.ipynb").write_bytes(make_notebook())
    (work / "lesson7" / "broken.py").write_bytes(b"def f(:\n\xff\xfe")
    files, notes = gather(work)
    packed = submit(course, files, tmp_path / "hw.zip", ENVIRONMENT, None, NOW, started_in(course))
    with zipfile.ZipFile(packed.path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(held.pop(MANIFEST))
    assert held == {p.relative_to(work).as_posix(): p.read_bytes() for p in work.rglob("*") if p.is_file()}
    assert set(packed.files) == set(held)
    assert packed.read_as[ONE_SHOT] == ONE_SHOT
    assert notes == ()
    assert manifest["course"] == {"title": course.title}
    assert manifest["kit_version"] == __version__
    assert manifest["made"] == "2026-11-29T12:00:00+00:00"
    assert manifest["environment"]["triton"] == "3.9.0"
    assert {f["path"]: f["sha256"] for f in manifest["files"]} == {
        name: hashlib.sha256(data).hexdigest() for name, data in held.items()
    }
    assert manifest["public_score"] is None


def test_the_zip_is_graded_like_the_folder(course: Course, cpu_grader: Grader, work: Path, tmp_path: Path) -> None:
    files, _ = gather(work)
    score = cpu_grader.grade(Request(work, course.exercises))
    packed = submit(course, files, tmp_path / "hw.zip", ENVIRONMENT, score, NOW, started_in(course))
    again = cpu_grader.grade(Request(packed.path, course.exercises))
    assert {e.id: (e.outcome, e.score) for e in again.exercises} == {
        e.id: (e.outcome, e.score) for e in score.exercises
    }
    assert score.score > 0
    with zipfile.ZipFile(packed.path) as archive:
        noted = json.loads(archive.read(MANIFEST))["public_score"]
    assert noted["total"]["score"] == score.score
    assert [item["id"] for item in noted["exercises"]] == [exercise.id for exercise in course.exercises]


def test_junk_links_and_old_zips_are_left_out_with_a_word(work: Path) -> None:
    for name in (
        "__pycache__/x.pyc",
        ".ipynb_checkpoints/a.ipynb",
        "lesson7/x.py.bak-1",
        "notes.txt",
        ".handed-out.json",
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("x")
    (work / "old.zip").write_bytes(b"PK")
    (work / "link.py").symlink_to(work / ONE_SHOT)
    files, notes = gather(work)
    assert set(files) == {ONE_SHOT, FLASH}
    assert any("old.zip was not packed" in note for note in notes)
    assert any("link.py was not packed: it is a link" in note for note in notes)
    assert any("Ignored as backups" in note for note in notes)


def test_a_lesson_folder_and_a_single_file_keep_their_names(course: Course, work: Path, tmp_path: Path) -> None:
    assert set(gather(work / "lesson7")[0]) == {ONE_SHOT, FLASH}
    files, _ = gather(work / FLASH)
    packed = submit(course, files, tmp_path / "hw.zip", ENVIRONMENT, None, NOW, started_in(course))
    assert packed.read_as == {FLASH: "flash_attention.py"}


def test_the_file_that_is_said_to_be_read_is_the_one_that_is_graded(course: Course, work: Path, tmp_path: Path) -> None:
    """Work under another name counts before a stub that is as it was handed out."""
    (work / "lesson7" / "my_flash.py").write_text((ROOT / "solutions" / FLASH).read_text())
    files, _ = gather(work)
    packed = submit(course, files, tmp_path / "hw.zip", ENVIRONMENT, None, NOW, started_in(course))
    lesson_7 = tuple(exercise for exercise in course.exercises if exercise.lesson == 7)
    plans = plan_exercises(course, packed.path, lesson_7, None)[0]
    graded = {plan.exercise.stub: plan.file for plan in plans if plan.file is not None}
    assert {place: f"hw.zip!{source}" for place, source in packed.read_as.items()} == graded
    assert packed.read_as[FLASH] == "lesson7/my_flash.py"
    assert any("my_flash.py is read (by the functions it defines), not" in note for note in packed.notes)


def test_names_that_a_zip_cannot_hold_are_replaced_and_said(course: Course, work: Path, tmp_path: Path) -> None:
    """Bytes that are no UTF-8, line ends, backslashes: all files are packed, each on a line of its own."""
    names = (b"\xff\xfe.py", b"\xfe\xff.py", b"two\nlines.py", b"back\\slash.py", b"dir\xff/x.py")
    for name in names:
        path = Path(os.fsdecode(os.fsencode(work) + b"/" + name))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"name = %r\n" % name)
    files, notes = gather(work)
    packed = submit(course, files, tmp_path / "hw.zip", ENVIRONMENT, None, NOW, started_in(course))
    with zipfile.ZipFile(packed.path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
        noted = json.loads(held.pop(MANIFEST))["files"]
    assert {entry["path"] for entry in noted} == set(held) == set(packed.files)
    assert set(held.values()) >= {b"name = %r\n" % name for name in names}
    assert all(name.isprintable() and "\\" not in name for name in held)
    assert len([note for note in notes if "not every system could unpack its name" in note]) == len(names)
    assert all(note.isprintable() for note in notes)
    assert packed.read_as[ONE_SHOT] == ONE_SHOT


def test_a_single_file_with_such_a_name_is_packed_too(work: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(work) + b"/\xff\n.py"))
    path.write_bytes(b"x = 1\n")
    files, notes = gather(path)
    assert files == {"\ufffd\ufffd.py": b"x = 1\n"}
    assert notes == ("\\udcff\\n.py is packed as \ufffd\ufffd.py: not every system could unpack its name.",)


def test_there_has_to_be_something_to_hand_in(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.zip").write_bytes(b"PK")
    for name, sentence in (("empty", "no .py or notebook"), ("missing", "no file or folder"), ("x.zip", "as it is")):
        with pytest.raises(HandInError, match=sentence):
            gather(tmp_path / name)


def test_a_file_of_the_student_is_never_overwritten_by_the_zip(course: Course, work: Path, tmp_path: Path) -> None:
    files, _ = gather(work)
    target = tmp_path / "hw.zip"
    target.write_text("my notes")
    with pytest.raises(UsageError, match="is there already and is no zip"):
        submit(course, files, target, ENVIRONMENT, None, NOW, started_in(course))
    assert target.read_text() == "my notes"
    target.unlink()
    for _ in range(2):  # an earlier hand-in is replaced
        submit(course, files, target, ENVIRONMENT, None, NOW, started_in(course))


def test_the_zip_goes_where_the_next_run_does_not_find_it(course: Course, work: Path, tmp_path: Path) -> None:
    name = "mini-flash-attention-hand-in.zip"
    assert default_out(course, work, tmp_path) == tmp_path / name
    assert default_out(course, work, work / "lesson7") == course.root / name
    assert default_out(course, course.root, course.root) == course.root.parent / name
