"""A result of an earlier hand-in, or of other checks, is nobody's grade: it waits, and is not lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click
import pytest

from autograder.bulk.desk import Desk, Work
from autograder.bulk.due import HAND_IN, Due
from autograder.bulk.grades import class_grades
from autograder.bulk.hand_ins import fingerprint, list_hand_ins
from autograder.bulk.overrides import Override, save_overrides
from autograder.bulk.store import Store
from autograder.bulk.submissions import COLLECTED, save
from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.result import RunResult

from .making import exercise, handed_in, run_of, write
from .test_commands import course as run_course
from .test_commands import refused

OLD = "Graded before the hand-in changed, so that the old result is kept and counts nowhere: ada."
SOME = ("--device", "cpu", "--no-targets", "--plain", "--exercise", "score_mask")


def of(student: str, fingerprints: Mapping[str, str]) -> RunResult:
    return replace(run_of(student, exercise("score_mask", 1.0, 1.0)), fingerprints=fingerprints)


def ids(course: Course, out: Path) -> list[str]:
    return [one.student for one in class_grades(course, out).students]


def test_whose_hand_in_changed_after_grading_counts_as_not_graded(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, of("ada", {HAND_IN: "old"}), of("ben", {HAND_IN: "same"}), of("cem", {}))
    store.keep_due(Due({"ada": {HAND_IN: "new"}, "ben": {HAND_IN: "same"}, "cem": {HAND_IN: "new"}, "dot": {}}))
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name\nada,Ada\nben,Ben\ncem,Cem\ndot,Dot\n")
    store.keep_roster(roster)
    grades = class_grades(course, tmp_path)
    assert [one.student for one in grades.students] == ["ben", "cem"]
    assert grades.waiting == ("ada", "dot")
    assert grades.notes == ("2 hand-ins are not graded yet: ada, dot. Run `course grade` again.", OLD)
    assert store.read("ada") is not None


def test_an_override_of_whose_hand_in_changed_is_kept_and_no_stray(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, of("ada", {HAND_IN: "old"}), of("ben", {HAND_IN: "same"}))
    save_overrides(store.overrides, {"ada": {"score_mask": Override("ada", "score_mask", 1.0, "Seen.")}})
    store.keep_due(Due({"ada": {HAND_IN: "new"}}))
    assert not [note for note in class_grades(course, tmp_path).notes if "overrides.csv" in note]
    said = run_course(course.root, "override", tmp_path, "ada", "score_mask", "0.5", "--reason", "Seen again.")
    assert said.output.endswith("The hand-in is not graded yet: the score counts when it is.\n")
    write(tmp_path, of("ada", {HAND_IN: "new"}))
    [ada, _] = class_grades(course, tmp_path).students
    assert ada.score == 0.5


def test_the_folder_of_the_hand_ins_knows_better_as_long_as_it_is_there(course: Course, tmp_path: Path) -> None:
    folder, out = tmp_path / "hand-ins", tmp_path / "out"
    for student in ("ada", "ben"):
        (folder / student).mkdir(parents=True)
        (folder / student / "x.py").write_text("a = 1\n")
    found = list_hand_ins(folder)[0]
    store = write(out, *(of(one.student, {HAND_IN: fingerprint(one.path)}) for one in found))
    store.keep_due(Due().found(found, folder))
    assert ids(course, out) == ["ada", "ben"]
    (folder / "ada" / "x.py").write_text("a = 2\n")
    (folder / "cem.py").write_text("")
    grades = class_grades(course, out)
    assert [one.student for one in grades.students] == ["ben"]
    assert grades.waiting == ("ada", "cem")
    assert OLD in grades.notes
    folder.rename(tmp_path / "elsewhere")  # then what grading found is all that is known
    assert ids(course, out) == ["ada", "ben"]
    folder.mkdir()
    assert ids(course, out) == ["ada", "ben"]


def test_an_exercise_with_other_checks_than_a_run_was_asked_for_waits_too(course: Course, tmp_path: Path) -> None:
    both = {HAND_IN: "same", "score_mask": "old", "no_more": "old"}
    store = write(tmp_path, of("ada", both), of("ben", both))
    store.keep_due(Due({"ada": {HAND_IN: "same"}, "ben": {HAND_IN: "same"}}))
    assert ids(course, tmp_path) == ["ada", "ben"]
    store.keep_due(store.due().asked_for(["ada"], {"score_mask": "new", "no_more": "new"}))
    grades = class_grades(course, tmp_path)
    assert grades.waiting == ("ada",)
    assert "Graded before score_mask changed, so that" in grades.notes[1]
    write(tmp_path, of("ada", both | {"score_mask": "new"}))  # the other is in the course no more
    assert ids(course, tmp_path) == ["ada", "ben"]


def test_what_an_earlier_version_noted_is_read(course: Course, tmp_path: Path) -> None:
    write(tmp_path, of("ada", {HAND_IN: "old"}))
    (tmp_path / "hand-ins.json").write_text('{"schema": 1, "students": ["ada", "ben"]}')
    assert class_grades(course, tmp_path).waiting == ("ben",)


def test_if_all_have_changed_that_is_the_sentence(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, of("ada", {HAND_IN: "old"}))
    store.keep_due(Due({"ada": {HAND_IN: "new"}}))
    with pytest.raises(UsageError, match=r"of what was handed in last\. 1 hand-in is not graded yet: ada\."):
        class_grades(course, tmp_path)


@pytest.mark.exhaustive
def test_a_run_that_is_stopped_passes_no_old_result_on(
    own_course: Course, hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = own_course.root, tmp_path / "out"
    grade = ("grade", hand_ins, "--out", out, *SOME)
    everyone = ("anna", "ben", "cleo")
    save(hand_ins / COLLECTED, {one: handed_in(one, "2026-12-01T10:00+01:00", lms="canvas") for one in everyone})
    assert run_course(root, *grade).return_value == 0
    assert run_course(root, "feedback", out).return_value == 0
    (hand_ins / "ben").rename(tmp_path / "first")
    shutil.copytree(hand_ins / "anna", hand_ins / "ben")
    save(hand_ins / COLLECTED, {one: handed_in(one, "2026-12-09T10:00+01:00", lms="canvas") for one in everyone})

    with monkeypatch.context() as patch:
        for place in (Store, "keep_submissions"), (Work, "marks"), (Desk, "grade"):
            patch.setattr(*place, _stop)
            stopped = run_course(root, *grade)
            assert isinstance(stopped.exception, (KeyboardInterrupt, click.Abort))
            hand_ins.rename(tmp_path / "away")
            _nothing_old_is_passed_on(root, out)
            (tmp_path / "away").rename(hand_ins)
            patch.undo()
    assert run_course(root, *grade).return_value == 0
    table = run_course(root, "export", out, "--to", "csv").stdout
    assert "\nben,ben,1," in table


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def _nothing_old_is_passed_on(root: Path, out: Path) -> None:
    before = Store(out).read("ben")
    exported = run_course(root, "export", out, "--to", "csv")
    assert exported.return_value == 1
    assert "1 hand-in is not graded yet: ben. Run `course grade` again." in exported.stderr
    assert OLD.replace("ada", "ben") in exported.stderr
    assert "\nanna," in exported.stdout
    assert "\nben," not in exported.stdout
    refused(run_course(root, "feedback", out, "--student", "ben"), "The hand-in of ben is not graded yet.")
    refused(
        run_course(root, "export", out, "--to", "gradescope", "--student", "ben"),
        "The hand-in of ben is not graded yet.",
    )
    feedback = run_course(root, "feedback", out)
    assert "Wrote 2 feedback pages" in feedback.stdout
    assert "of an earlier hand-in are left in" in feedback.stderr
    run_course(root, "report", out)
    assert OLD.replace("ada", "ben") in (out / "report.html").read_text()
    assert Store(out).read("ben") == before  # not lost


@pytest.mark.exhaustive
def test_a_changed_hidden_case_is_due_as_soon_as_grading_begins(
    own_course: Course, hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = own_course.root, tmp_path / "out"
    grade = ("grade", hand_ins, "--out", out, *SOME)
    assert run_course(root, *grade).return_value == 0
    hidden = root / "solutions" / "hidden.toml"
    text = hidden.read_text()
    hidden.write_text(text.replace("nseq = ", "nseq = 1", 1) if "nseq = " in text else text)
    run_course(root, *grade, "--student", "anna")
    assert ids(own_course, out) == ["anna", "ben", "cleo"]  # nobody asked for the others
    with monkeypatch.context() as patch:
        patch.setattr(Desk, "grade", _stop)
        run_course(root, *grade)
    assert class_grades(own_course, out).waiting == ("ben", "cleo")
    hidden.write_text(text)
    assert run_course(root, *grade).return_value == 0
    assert ids(own_course, out) == ["anna", "ben", "cleo"]
    kept = json.loads((out / "hand-ins.json").read_text())
    assert sorted(kept["students"]["ben"]) == [HAND_IN, "score_mask"]
