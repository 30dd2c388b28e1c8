"""`course grade` and `course override` as an instructor types them: what goes wrong is a sentence and an exit code."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from autograder.bulk.grading import ClassRun, Progress, Summary
from autograder.bulk.hand_ins import HandInPath
from autograder.bulk.store import Store
from autograder.catalogue import Course
from autograder.cli import course as commands
from autograder.errors import AutograderError
from autograder.result import Sandbox
from autograder.session import Grader

from .making import exercise, handed_in, run_of, write


def course(root: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(commands.cli, ["--root", str(root), *map(str, arguments)], standalone_mode=False)


def refused(result: Result, words: str, code: int = 2) -> None:
    assert isinstance(result.exception, AutograderError), result.output
    assert result.exception.exit_code == code
    assert words in str(result.exception)


def test_a_student_and_an_exercise_are_replayed_and_nothing_is_kept(
    own_course: Course, hand_ins: Path, tmp_path: Path
) -> None:
    (hand_ins / "cleo" / "one_shot_attention.py").unlink()
    shutil.copy(own_course.root / "solutions" / "lesson7" / "flash_attention.py", hand_ins / "cleo")
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "online_softmax_update")
    graded = course(own_course.root, "grade", hand_ins, *options, "--plain")
    assert graded.return_value == 0, graded.output
    assert "graded 3, unchanged 0" in graded.output
    before = (tmp_path / "out" / "results" / "ben.json").read_bytes()
    again = course(own_course.root, "grade", hand_ins, *options, "--student", "ben", "--replay", "--plain")
    assert again.return_value == 1
    assert "online_softmax_update: as in the kept result: not-started, 0 points" in again.output
    right = course(own_course.root, "grade", hand_ins, *options, "--student", "cleo", "--replay", "--plain")
    assert right.return_value == 0
    assert "hidden 1 of 1" in right.output
    assert (tmp_path / "out" / "results" / "ben.json").read_bytes() == before
    refused(course(own_course.root, "grade", hand_ins, *options, "--replay"), "A replay is of one student")


def test_below_the_minimum_of_the_sandbox_nothing_is_graded_unasked(
    own_course: Course, hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weak = Sandbox(("lifted source", "separate process", "scrubbed environment"), ("rlimits: not here.",))
    monkeypatch.setattr(Grader, "sandbox", property(lambda self: weak))
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--student", "ben", "--plain")
    refused(course(own_course.root, "grade", hand_ins, *options), "machine: rlimits.")
    assert Store(tmp_path / "out").students() == ()
    allowed = course(own_course.root, "grade", hand_ins, *options, "--allow-weak-sandbox")
    assert allowed.return_value == 0, allowed.output
    result = Store(tmp_path / "out").read("ben")
    assert result is not None
    assert result.sandbox == weak


def test_the_layers_of_the_sandbox_are_in_every_result(own_course: Course, hand_ins: Path, tmp_path: Path) -> None:
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--plain")
    assert course(own_course.root, "grade", hand_ins, *options, "--exercise", "score_mask").return_value == 0
    every = {"lifted source", "separate process", "process group", "rlimits", "scrubbed environment"}
    every |= {"output to files", "spare uid", "landlock", "seccomp"}
    for student in ("anna", "ben", "cleo"):
        result = Store(tmp_path / "out").read(student)
        assert result is not None
        assert result.sandbox.weak == ()
        missing = {sentence.partition(":")[0] for sentence in result.sandbox.missing}
        assert (set(result.sandbox.layers) - {"bubblewrap"}) | missing == every
        assert not set(result.sandbox.layers) & missing


def test_what_cannot_be_graded_is_a_sentence(own_course: Course, hand_ins: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out", "--device", "cpu")
    root = own_course.root
    refused(course(root, "grade", tmp_path / "nowhere", *out), "cannot be read (no such file or directory)")
    refused(course(root, "grade", hand_ins, *out, "--student", "zoe"), "There is no hand-in of 'zoe'")
    refused(course(root, "grade", hand_ins, *out, "--exercise", "x"), "There is no exercise called 'x'")
    refused(course(root, "grade", hand_ins, *out, "--roster", tmp_path / "none.csv"), "cannot be read")
    for inside in (hand_ins, hand_ins / "results"):
        refused(course(root, "grade", hand_ins, "--out", inside), "lies in the folder of the hand-ins")
    (tmp_path / "empty").mkdir()
    refused(course(root, "grade", tmp_path / "empty", *out), "There are no hand-ins in")
    (hand_ins / "anna.zip").write_bytes(b"")
    refused(course(root, "grade", hand_ins, *out), "two hand-ins for anna: anna and anna.zip")
    shutil.rmtree(root / "solutions")
    refused(course(root, "grade", hand_ins, *out, "--student", "ben"), "two hand-ins")
    (hand_ins / "anna.zip").unlink()
    refused(course(root, "grade", hand_ins, *out), "Only the instructor's copy can grade a class")


def test_what_is_no_hand_in_is_named_and_passed_over(own_course: Course, hand_ins: Path, tmp_path: Path) -> None:
    (hand_ins / "notes.txt").write_text("mine")
    (hand_ins / ".DS_Store").write_text("")
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "score_mask", "--plain")
    graded = course(own_course.root, "grade", hand_ins, *options)
    assert "notes.txt is no hand-in" in graded.output
    assert ".DS_Store" not in graded.output
    assert Store(tmp_path / "out").students() == ("anna", "ben", "cleo")


def test_a_score_is_set_by_hand_and_taken_back(own_course: Course, tmp_path: Path) -> None:
    root = own_course.root
    store = write(tmp_path, run_of("ada", exercise("score_mask", 0.0, 1.0)))
    words = ("override", tmp_path, "ada", "score_mask")
    refused(course(root, *words, "1"), "needs a score and a reason")
    refused(course(root, *words, "--reason", "why"), "needs a score and a reason")
    refused(course(root, *words, "--remove"), "There is no override")
    refused(course(root, "override", tmp_path, "eve", "score_mask", "1", "--reason", "x"), "There is no result of eve")
    done = course(root, *words, "2", "--reason", "Very,\n nice")
    assert "counts 2 points from now on. That is more than its 1." in done.output
    assert store.overrides.read_text() == 'student,exercise,score,reason\nada,score_mask,2,"Very, nice"\n'
    assert store.grades.read_text().splitlines()[1].startswith("ada,ada,2,,1,0,,score_mask,")
    assert course(root, *words, "--remove").return_value == 0
    assert store.grades.read_text().splitlines()[1].startswith("ada,ada,0,,1,0,,,")


def test_after_grading_some_the_rest_is_said_to_wait(own_course: Course, hand_ins: Path, tmp_path: Path) -> None:
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name\nanna,Anna\nben,Ben\ndora,Dora\n")
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "score_mask", "--plain")
    graded = course(own_course.root, "grade", hand_ins, *options, "--student", "ben", "--roster", roster)
    assert graded.return_value == 0, graded.output
    assert "Note: 2 hand-ins are not graded yet: anna, cleo. Run `course grade` again." in graded.output
    assert "Note: In the roster, and without a hand-in: Dora." in graded.output
    reported = course(own_course.root, "report", tmp_path / "out")
    assert "Note: 2 hand-ins are not graded yet: anna, cleo." in reported.stderr
    assert "2 hand-ins are not graded yet" in (tmp_path / "out" / "report.html").read_text()


def test_grading_says_who_is_not_in_the_roster(own_course: Course, hand_ins: Path, tmp_path: Path) -> None:
    roster = tmp_path / "r.csv"
    roster.write_text("name\nSomebody Else\n")
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "score_mask", "--plain")
    graded = course(own_course.root, "grade", hand_ins, *options, "--roster", roster)
    for student in ("anna", "ben", "cleo"):
        assert f"Note: {student}: not found in the roster." in graded.output


def test_whoever_stops_it_is_told_how_far_it_came(
    own_course: Course, hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: ClassRun, found: Sequence[HandInPath], step: Callable[[Progress], None]) -> Summary:
        step(Progress("anna", False, 1, len(found)))
        raise KeyboardInterrupt

    monkeypatch.setattr(ClassRun, "run", run)
    stopped = course(own_course.root, "grade", hand_ins, "--out", tmp_path / "out", "--device", "cpu", "--plain")
    assert isinstance(stopped.exception, (KeyboardInterrupt, click.Abort))
    assert "1 of 3 hand-ins are done. Run the same command again for the rest." in stopped.stderr


@pytest.mark.parametrize("words", [("report",), ("feedback",), ("export", "--to", "csv")])
def test_the_table_of_grades_follows_a_changed_deadline(
    own_course: Course, tmp_path: Path, words: tuple[str, ...]
) -> None:
    store = write(tmp_path / "out", run_of("ada", *(exercise(one.id, 1.0, 1.0) for one in own_course.exercises)))
    store.keep_submissions({"ada": handed_in("ada", "2026-12-09T10:00:00+01:00")})
    command = (words[0], tmp_path / "out", *words[1:])
    assert course(own_course.root, *command).exception is None
    points = len(own_course.exercises)
    assert f",{points},{points},0,,," in store.grades.read_text()
    toml = own_course.root / "course" / "course.toml"
    deadline = "number = 7\ndeadline = 2026-12-06T23:59:00+01:00\n"
    text = re.sub(r"per_day = .*", "per_day = 0.5", toml.read_text().replace("number = 7\n", deadline))
    toml.write_text(re.sub(r"at_most = .*", "at_most = 0.5", text))
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,extension\nada,9\n")  # for this once: the table is that of the class's own roster
    assert course(own_course.root, *command, "--roster", roster).exception is None
    assert f",{points / 2:g},{points},0,lesson7:3d,," in store.grades.read_text()


@pytest.mark.parametrize(
    ("score", "words"),
    [
        ("-1", "'-1' is no number of points. A score is from 0 to"),
        ("-0,5", "'-0,5' is no number of points. A score is from 0 to"),
        ("0,5", "'0,5' is no number of points. Write it with a point: 0.5."),
        ("half", "'half' is no number of points."),
        ("nan", "'nan' is no number of points."),
    ],
)
def test_a_score_that_is_none_says_what_one_is(own_course: Course, tmp_path: Path, score: str, words: str) -> None:
    store = write(tmp_path, run_of("ada", exercise("score_mask", 0.0, 1.0)))
    refused(course(own_course.root, "override", tmp_path, "ada", "score_mask", score, "--reason", "x"), words)
    assert not store.overrides.exists()


def test_a_second_override_says_what_it_replaces_and_a_wrong_folder_is_named(
    own_course: Course, tmp_path: Path
) -> None:
    write(tmp_path / "out", run_of("ada", exercise("score_mask", 0.0, 1.0)))
    words = ("ada", "score_mask")
    first = course(own_course.root, "override", tmp_path / "out", *words, "1", "--reason", "-1 would be mean")
    assert first.output == "ada: score_mask counts 1 points from now on.\n"
    second = course(own_course.root, "override", tmp_path / "out", *words, "0.5", "--reason", "-1")
    assert second.output == "ada: score_mask counts 0.5 points from now on. Before it was 1 (-1 would be mean).\n"
    wrong = course(own_course.root, "override", tmp_path / "put", *words, "1", "--reason", "x")
    refused(wrong, f"There are no results in {tmp_path / 'put'}.")


def test_whose_hand_in_holds_nothing_usable_is_said_by_every_run(
    own_course: Course, hand_ins: Path, tmp_path: Path
) -> None:
    for student in ("zoe", "abe"):
        (hand_ins / student).mkdir()
        (hand_ins / student / "essay.pdf").write_bytes(b"%PDF")
    answer = (own_course.root / "solutions" / "lesson7" / "one_shot_attention.py").read_text()
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in [answer, *["x"] * 5_000]]
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (hand_ins / "max").mkdir()
    (hand_ins / "max" / "lesson7.ipynb").write_text(json.dumps(notebook))
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "score_mask", "--plain")
    for _ in range(2):
        graded = course(own_course.root, "grade", hand_ins, *options)
        assert "nothing usable from: abe, zoe\n" in graded.output
        assert "nothing else usable, from max: lesson7.ipynb was not read: it has more than" in graded.output
        assert "Note: 6 have no total in grades.csv, since some exercises were never graded." in graded.output
    assert "graded 0, unchanged 6" in graded.output
    course(own_course.root, "report", tmp_path / "out")
    assert "lesson7.ipynb was not read: it has more than" in (tmp_path / "out" / "report.html").read_text()


def test_a_score_above_an_exercises_points_is_said_wherever_grades_are_shown(
    own_course: Course, tmp_path: Path
) -> None:
    write(tmp_path, run_of("ada", *(exercise(one.id, 1.0, 1.0) for one in own_course.exercises)))
    course(own_course.root, "override", tmp_path, "ada", "score_mask", "7.5", "--reason", "x")
    said = "ada: score_mask was set to 7.5 by hand, which is more than its 1."
    for words in ("report",), ("feedback",), ("export", "--to", "csv"):
        assert said in course(own_course.root, words[0], tmp_path, *words[1:]).stderr
    course(own_course.root, "override", tmp_path, "ada", "score_mask", "1", "--reason", "x")
    assert "by hand" not in course(own_course.root, "export", tmp_path, "--to", "csv").stderr


def test_a_layer_of_the_sandbox_that_is_missing_is_said(
    own_course: Course, hand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Grader.sandbox.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Grader, "sandbox", property(lambda self: replace(real(self), missing=("landlock: too old.",))))
    options = ("--out", tmp_path / "out", "--device", "cpu", "--no-targets", "--exercise", "score_mask", "--plain")
    graded = course(own_course.root, "grade", hand_ins, *options, "--student", "ben")
    assert "Note: a layer of the sandbox is missing here: landlock: too old." in graded.output
