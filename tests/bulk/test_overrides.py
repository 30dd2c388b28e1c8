"""Scores set by hand: none is lost, none is written that cannot be read, and none counts nowhere without a word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder.bulk.grades import class_grades
from autograder.bulk.overrides import Override, load_overrides, save_overrides
from autograder.catalogue import Course
from autograder.cli import course as commands
from autograder.errors import AutograderError, UsageError

from .making import exercise, run_of, write

ROOT = Path(__file__).parents[2]


def override(*arguments: str | Path) -> Result:
    words = ["--root", str(ROOT), "override", *map(str, arguments)]
    return CliRunner().invoke(commands.cli, words, standalone_mode=False)


@pytest.mark.parametrize("score", ["nan", "inf", "1e400", "1e12"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_score_that_is_no_number_of_points_is_refused_and_nothing_written(
    tmp_path: Path, score: str, is_first: bool
) -> None:
    store = write(tmp_path, run_of("ada", exercise("score_mask", 0.0, 1.0)))
    if not is_first:
        assert override(tmp_path, "ada", "score_mask", "0.5", "--reason", "x").return_value == 0
    before = store.overrides.read_bytes() if store.overrides.exists() else None
    done = override(tmp_path, "ada", "score_mask", score, "--reason", "x")
    assert isinstance(done.exception, AutograderError)
    assert done.exception.exit_code == 2
    assert "is no number of points" in str(done.exception)
    assert (store.overrides.read_bytes() if store.overrides.exists() else None) == before


def test_what_cannot_be_read_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no number of points"):
        save_overrides(tmp_path / "o.csv", {"ada": {"a": Override("ada", "a", float("nan"), "x")}})
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("score", [1.333333333, 0.1 + 0.2, 2.0, 0.0, 123456.789, 1e-7])
def test_a_score_comes_back_with_all_its_digits(tmp_path: Path, score: float) -> None:
    path = tmp_path / "o.csv"
    save_overrides(path, {"ada": {"a": Override("ada", "a", score, "x")}})
    assert load_overrides(path)["ada"]["a"].score == score
    assert ".0," not in path.read_text()


def test_an_id_with_spaces_around_it_is_written_and_read_alike(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada ", exercise("score_mask", 0.0, 1.0)))
    assert override(tmp_path, "ada ", "score_mask", "0.5", "--reason", "x").return_value == 0
    assert class_grades(course, tmp_path).students[0].score == 0.5
    store.overrides.write_text("student,exercise,score,reason\n ada,score_mask,0.25,x\n")  # as people type
    assert class_grades(course, tmp_path).students[0].score == 0.25
    assert override(tmp_path, "ada ", "score_mask", "--remove").return_value == 0
    assert load_overrides(store.overrides) == {}


def test_spaces_that_leave_open_who_is_meant_are_not_guessed_at(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, *(run_of(name, exercise("score_mask", 0.0, 1.0)) for name in ("ada", "ada ")))
    store.overrides.write_text("student,exercise,score,reason\nada,score_mask,1,x\n ada,score_mask,0.5,x\n")
    grades = class_grades(course, tmp_path)
    assert [one.score for one in grades.students] == [1.0, 0.0]
    assert grades.notes == ("overrides.csv sets scores of  ada, who has no result: they count nowhere.",)


def test_lines_for_nobody_and_for_no_exercise_are_named(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("score_mask", 0.0, 1.0)))
    lines = ("ada,score_mask,1,x", "ada,scoremask,1,x", "eve,score_mask,1,x")
    store.overrides.write_text("\n".join(("student,exercise,score,reason", *lines, "")))
    assert class_grades(course, tmp_path).notes == (
        "overrides.csv sets a score of ada for scoremask, which is no exercise: it counts nowhere.",
        "overrides.csv sets scores of eve, who has no result: they count nowhere.",
    )


def test_a_score_for_what_was_never_graded_counts(course: Course, tmp_path: Path) -> None:
    write(tmp_path, run_of("ada", exercise("score_mask", 1.0, 1.0)))
    other = next(one for one in course.exercises if one.id != "score_mask" and not one.optional)
    [before] = class_grades(course, tmp_path).students
    assert other.id in before.never_graded()
    assert override(tmp_path, "ada", other.id, "0.5", "--reason", "x").return_value == 0
    [ada] = class_grades(course, tmp_path).students
    assert (ada.score, ada.points) == (1.5, 1.0 + other.points)
    assert other.id not in ada.never_graded()
    for command in ("feedback", "report"):
        done = CliRunner().invoke(commands.cli, ["--root", str(ROOT), command, str(tmp_path)], standalone_mode=False)
        assert done.return_value == 0, done.output
    assert "set by hand" in (tmp_path / "feedback" / "ada.html").read_text()


def test_none_is_lost_when_several_are_set_at_once(tmp_path: Path) -> None:
    students = [f"s{number}" for number in range(6)]
    store = write(tmp_path, *(run_of(student, exercise("score_mask", 0.0, 1.0)) for student in students))
    program = (
        "import sys, time, autograder.cli._grade as g; write = g.save_overrides\n"
        "def slowly(*a):\n    time.sleep(0.1); write(*a)\n"
        "g.save_overrides = slowly\n"
        "from autograder.cli.common import run; run(g.override, 'course')"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    more = ["score_mask", "1", "--reason", "x", "--root", str(ROOT)]
    running = [subprocess.Popen([*command, student, *more], cwd=ROOT) for student in students]
    assert [one.wait(120) for one in running] == [0] * len(students)
    assert sorted(load_overrides(store.overrides)) == students
    assert store.grades.read_text().count(",score_mask,") >= len(students)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ada,a,abc,x", "line 2: 'abc' is no number of points."),
        ('ada,a,"0,5",x', "line 2: '0,5' is no number of points. Write it with a point: 0.5."),
        ("ada,a,1,", "line 2: there is no reason."),
        (",a,,x", "line 2: there is no student and no score."),
    ],
)
def test_of_a_bad_line_it_is_said_what_is_bad(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "overrides.csv"
    path.write_text(f"student,exercise,score,reason\n{line}\n")
    with pytest.raises(UsageError) as caught:
        load_overrides(path)
    assert words in str(caught.value)
