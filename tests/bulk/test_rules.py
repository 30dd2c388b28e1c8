"""The rules of a course: deadlines, extensions, overrides; rosters as LMSs and people write them."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autograder.bulk.due import Due
from autograder.bulk.grades import class_grades
from autograder.bulk.overrides import Override, load_overrides, save_overrides
from autograder.bulk.roster import Roster, load_roster
from autograder.bulk.submissions import COLLECTED, load, save
from autograder.bulk.table import class_csv
from autograder.catalogue import Course, load_course
from autograder.errors import CourseError, UsageError

from .making import asking_for_nothing, exercise, handed_in, run_of, with_rules, write

DEADLINE = datetime.fromisoformat("2026-12-06T23:59:00+01:00")


def score(course: Course, out: Path, student: str = "ada") -> float:
    return next(one.score for one in class_grades(course, out).students if one.student == student)


@pytest.mark.parametrize(
    ("submitted", "left"),
    [
        ("2026-12-06T23:59:00+01:00", 4.0),
        ("2026-12-07T00:14:00+01:00", 4.0),  # within the grace
        ("2026-12-07T00:15:00+01:00", 3.6),
        ("2026-12-08T00:14:00+01:00", 3.6),  # the grace moves the deadline: a day after it is one day
        ("2026-12-08T00:14:01+01:00", 3.2),
        ("2026-12-31T00:00:00+00:00", 2.0),  # never more than at_most
        (None, 4.0),
    ],
)
def test_each_day_begun_after_the_deadline_costs_its_share(
    course: Course, tmp_path: Path, submitted: str | None, left: float
) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.1, at_most=0.5, grace=timedelta(minutes=15))
    store = write(tmp_path, run_of("ada", exercise("a", 2.0), exercise("b", 2.0)))
    store.keep_submissions({"ada": handed_in("ada", submitted)})
    assert score(ruled, tmp_path) == left
    assert score(with_rules(course, None, per_day=0.1), tmp_path) == 4.0
    assert store.read("ada").score == 4.0  # type: ignore[union-attr] # the result itself knows no rules


def test_a_flag_without_a_time_is_one_day_unless_there_is_an_extension(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.25)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.keep_submissions({"ada": handed_in("ada", late=True)})
    assert score(ruled, tmp_path) == 1.5
    [late] = class_grades(ruled, tmp_path).students[0].late
    assert late.sentence == (
        "Lesson 7: marked late by the LMS, which does not say by how much: counted as one day. "
        "That costs 25% of its score."
    )
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,extension\nada,2\n")
    store.keep_roster(roster)
    assert score(ruled, tmp_path) == 2.0


@pytest.mark.parametrize(
    ("extension", "left"),
    [("", 1.0), ("2", 1.5), ("3 days", 2.0), ("2026-12-10T00:00:00+01:00", 2.0), ("2026-01-01T00:00:00+01:00", 1.0)],
)
def test_an_extension_moves_the_deadline_and_never_back(
    course: Course, tmp_path: Path, extension: str, left: float
) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.25, at_most=0.5)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.keep_submissions({"ada": handed_in("ada", "2026-12-09T12:00:00+01:00")})
    roster = tmp_path / "r.csv"
    roster.write_text(f"student_id,extension\nada,{extension}\n")
    store.keep_roster(roster)
    assert score(ruled, tmp_path) == left


def test_an_override_is_the_last_word(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(asking_for_nothing(course), DEADLINE, per_day=0.5)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0), exercise("b", 0.0)))
    store.keep_submissions({"ada": handed_in("ada", "2026-12-07T12:00:00+01:00")})
    save_overrides(store.overrides, {"ada": {"b": Override("ada", "b", 1.5, "Right, but =SUM(renamed).")}})
    [ada] = class_grades(ruled, tmp_path).students
    assert [item.score for item in ada.exercises] == [1.0, 1.5]
    write(tmp_path, run_of("ada", exercise("a", 2.0), exercise("b", 0.5)))  # graded again
    assert score(ruled, tmp_path) == 2.5
    row = class_csv(class_grades(ruled, tmp_path).students).splitlines()[1]
    assert row == "ada,ada,1,1.5,2.5,4,0,lesson7:1d,b,pass,partial,"


def test_a_fault_of_ours_is_no_zero(course: Course, tmp_path: Path) -> None:
    course = asking_for_nothing(course)
    faulty = exercise("b", 0.0, outcome="grader-error")
    store = write(tmp_path, run_of("ada", exercise("a", 2.0), faulty))
    grades = class_grades(course, tmp_path)
    assert grades.students[0].faults == ("b",)
    assert class_csv(grades.students).splitlines()[1] == "ada,ada,2,,,4,0,,,pass,grader-error,"
    save_overrides(store.overrides, {"ada": {"b": Override("ada", "b", 1.0, "Read by hand.")}})
    assert (
        class_csv(class_grades(course, tmp_path).students).splitlines()[1] == "ada,ada,2,1,3,4,0,,b,pass,grader-error,"
    )


@pytest.mark.parametrize(
    "line",
    ["ada,a,x,why", "ada,a,-1,why", "ada,a,1,", ",a,1,why", "ada,,1,why", "ada,a,nan,why", "ada,a,inf,why", "ada"],
)
def test_a_line_of_overrides_that_means_nothing_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "overrides.csv"
    path.write_text(f"student,exercise,score,reason\nben,a,1,fine\n{line}\n")
    with pytest.raises(UsageError, match="line 3"):
        load_overrides(path)


CANVAS = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Mini FlashAttention (4711)
    Points Possible,,,,,10
"Doe, Jane",1001,S1,jdoe,GPU 101,
"García Márquez, José",1002,S2,jose,GPU 101,
"Student, Test",1,,,GPU 101,
"""
MOODLE = """Identifier,Full name,Email address,Status,Grade,Last modified (grade)
Participant 1001,Jane Doe,jdoe@example.org,Submitted,,
Participant 1002,José García Márquez,jose@example.org,Submitted,,
"""


@pytest.mark.parametrize("text", [CANVAS, MOODLE, MOODLE.replace(",", ";")])
def test_a_roster_of_an_lms_is_read_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8")
    roster = load_roster(path)
    assert [student.lms_id for student in roster.students] == ["1001", "1002"]
    assert roster.lms in ("canvas", "moodle")
    for student, name, lms_id, lms in (
        ("doejane_1001", "", None, ""),
        ("anything", "", "1001", roster.lms),
        ("jdoe", "", None, ""),
        ("Jane Doe", "", None, ""),
        ("x", "jane  DOE", None, ""),
    ):
        found = roster.find(student, name, lms_id, lms)
        assert found is not None, student
        assert found.lms_id == "1001"
    assert roster.find("nobody_77") is None


def test_of_two_students_of_one_name_neither_is_guessed(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("name,email\nJane Doe,a@x.org\nJane Doe,b@x.org\n")
    roster = load_roster(path)
    assert roster.find("Jane Doe") is None
    found = roster.find("b@x.org")
    assert found is not None
    assert found.email == "b@x.org"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column that names students"),
        ("", "no column that names students"),
        ("name,extension\nAda,tomorrow\n", "line 2: 'tomorrow' in column extension is no time"),
        ("name,extension\nAda,2026-12-01T00:00\n", "no time with a zone"),
        ("name,submitted\nAda,3\n", "in column submitted"),
    ],
)
def test_a_roster_that_cannot_be_used_says_why(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        load_roster(path)


def test_a_roster_that_is_not_there_or_no_text_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_roster(tmp_path / "none.csv")
    (tmp_path / "r.csv").write_bytes("name\nMüller\n".encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8"):
        load_roster(tmp_path / "r.csv")


def test_who_is_missing_on_either_side_is_said(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)), run_of("eve", exercise("a", 2.0)))
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name\nada,Ada Lovelace\nben,Ben Ten\n")
    store.keep_roster(roster)
    grades = class_grades(course, tmp_path)
    assert [student.name for student in grades.students] == ["Ada Lovelace", "eve"]
    assert grades.notes == ("eve: not found in the roster.", "In the roster, and without a hand-in: Ben Ten.")


def test_who_handed_in_and_is_not_graded_yet_is_said_and_is_not_missing(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.keep_due(Due({name: {} for name in ["ada", "ben", "cem", "dot", "eve"]}))
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name\nada,Ada Lovelace\nben,Ben Ten\nfay,Fay Off\n")
    store.keep_roster(roster)
    grades = class_grades(course, tmp_path)
    assert grades.waiting == ("ben", "cem", "dot", "eve")
    assert grades.notes == (
        "4 hand-ins are not graded yet: ben, cem, dot and 1 more. Run `course grade` again.",
        "In the roster, and without a hand-in: Fay Off.",
    )
    store.keep_due(Due({name: {} for name in ["ada", "ben"]}))
    assert class_grades(course, tmp_path).notes[0].startswith("1 hand-in is not graded yet: ben.")


@pytest.mark.parametrize("text", ["{", "[]", '{"students": 3}'])
def test_a_damaged_list_of_hand_ins_is_named(course: Course, tmp_path: Path, text: str) -> None:
    write(tmp_path, run_of("ada", exercise("a", 2.0)))
    (tmp_path / "hand-ins.json").write_text(text)
    with pytest.raises(UsageError, match=r"hand-ins\.json is damaged"):
        class_grades(course, tmp_path)


def test_no_results_and_damaged_results_are_said(course: Course, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There are no results"):
        class_grades(course, tmp_path)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.path("ben").write_text('{"schema": 1}')
    assert class_grades(course, tmp_path).notes == ("ben: the result is damaged; run `course grade` again.",)


def test_submissions_come_back_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / COLLECTED
    assert load(path) == {}
    there = {"ada": handed_in("ada", "2026-12-06T23:59:00+01:00", name="Ada, L.", lms="canvas", lms_id="1", late=True)}
    save(path, there)
    assert load(path) == there
    path.write_text('{"students": {"ada": {}}}')
    with pytest.raises(UsageError, match="damaged"):
        load(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("deadline = 2026-12-06T23:59:00", "needs a time zone"),
        ('deadline = "tomorrow"', r"'deadline' must be a time of a day, as in deadline = 2026-12-06T23:59:00\+01:00"),
        ("deadline = 2026-12-06", r"'deadline' must be a time of a day, as in deadline = 2026-12-06T23:59:00\+01:00"),
        ("deadlines = 2026-12-06T23:59:00+01:00", "unknown key"),
    ],
)
def test_a_deadline_is_a_time_with_its_zone(own_course: Course, line: str, words: str) -> None:
    toml = own_course.root / "course" / "course.toml"
    text = toml.read_text()
    toml.write_text(text.replace("number = 7\n", "number = 7\ndeadline = 2026-12-06T23:59:00+01:00\n"))
    assert load_course(own_course.root).lessons[-1].deadline == DEADLINE
    toml.write_text(text.replace("number = 7\n", f"number = 7\n{line}\n"))
    with pytest.raises(CourseError, match=words):
        load_course(own_course.root)


@pytest.mark.parametrize("line", ["per_day = 2.0", "at_most = -0.1", "grace_minutes = -5"])
def test_a_late_policy_that_makes_no_sense_is_refused(own_course: Course, line: str) -> None:
    toml = own_course.root / "course" / "course.toml"
    key = line.partition(" ")[0]
    toml.write_text("\n".join(line if row.startswith(key) else row for row in toml.read_text().split("\n")))
    with pytest.raises(CourseError, match="shares from 0 to 1"):
        load_course(own_course.root)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e300", "1" + "0" * 400])
def test_a_number_of_the_course_that_cannot_be_used_is_named(own_course: Course, number: str) -> None:
    toml = own_course.root / "course" / "course.toml"
    rows = toml.read_text().split("\n")
    toml.write_text("\n".join(f"grace_minutes = {number}" if row.startswith("grace") else row for row in rows))
    with pytest.raises(CourseError, match="'grace_minutes' is not a number that can be used"):
        load_course(own_course.root)


def test_a_file_of_the_course_that_is_nested_too_deeply_is_named(own_course: Course) -> None:
    (own_course.root / "course" / "course.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(CourseError, match=r"course\.toml is not valid TOML"):
        load_course(own_course.root)


def test_a_deadline_at_the_end_of_time_can_be_extended(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, datetime.fromisoformat("9999-12-31T23:59:00+00:00"), per_day=0.5)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.keep_submissions({"ada": handed_in("ada", "2026-12-07T12:00:00+01:00")})
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,extension\nada,3660\n")
    store.keep_roster(roster)
    assert score(ruled, tmp_path) == 2.0


def test_the_sentence_on_lateness_tells_of_the_grace(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.1, grace=timedelta(minutes=15))
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    store.keep_submissions({"ada": handed_in("ada", "2026-12-08T00:05:00+01:00")})
    [late] = class_grades(ruled, tmp_path).students[0].late
    assert late.days == 1
    assert "handed in 1 d after the deadline" in late.sentence
    assert late.sentence.endswith(", with 15 min of grace. That costs 10% of its score.")


def test_an_empty_roster_finds_nobody() -> None:
    assert Roster().find("ada", "Ada", "1") is None


def test_a_deadline_that_nobody_can_be_held_to_is_said(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.25)
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in ("ada", "ben", "cem", "dot")))
    store.keep_submissions(
        {
            "ada": handed_in("ada", lms="moodle"),
            "ben": handed_in("ben", lms="canvas"),
            "cem": handed_in("cem", "2026-12-01T10:00+01:00", lms="moodle"),
        }
    )
    said = " ".join(class_grades(ruled, tmp_path).notes)
    assert "for 2 of 4 hand-ins no time is known: they count as on time" in said
    assert "no time is known" not in " ".join(class_grades(with_rules(course, None), tmp_path).notes)
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,submitted\nada,2026-12-01T10:00+01:00\ndot,2026-12-01T10:00+01:00\n")
    assert "no time is known" not in " ".join(class_grades(ruled, tmp_path, roster).notes)


def test_what_is_late_for_the_lms_alone_is_said(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in ("ada", "ben", "cem")))
    store.keep_submissions({name: handed_in(name, lms="canvas", late=name != "cem") for name in ("ada", "ben", "cem")})
    assert class_grades(with_rules(course, None), tmp_path).notes == (
        "2 hand-ins are late for the LMS (ada, ben), and no lesson has a deadline: nothing is taken off. "
        "Write the deadline into course/course.toml if it is to count.",
    )
    assert class_grades(with_rules(course, DEADLINE, per_day=0.1), tmp_path).notes == ()


def test_whom_moodle_calls_late_in_words_is_said_where_no_time_is_known(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, DEADLINE, per_day=0.25)
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in ("ada", "ben")))
    store.keep_submissions({one: handed_in(one, lms="moodle") for one in ("ada", "ben")})
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,Status\nada,Submitted for grading - 2 days late\nben,Submitted for grading\n")
    said = " ".join(class_grades(ruled, tmp_path, roster).notes)
    assert "they count as on time, though the roster's Status calls one of them late (ada). Give the times" in said
