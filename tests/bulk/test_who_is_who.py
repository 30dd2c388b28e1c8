"""Whose hand-in it is: an id counts among ids of its kind, and a name that contradicts it stops it."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.bulk.grades import class_grades
from autograder.bulk.names import contradict, same_name
from autograder.bulk.roster import Roster, load_roster
from autograder.catalogue import Course

from .making import exercise, handed_in, run_of, write

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section
"Good, Alice",1001,77,alice,S1
"Bad, Mallory",3003,55,mal,S1
"Smith, Bob",55,1001,bob,S1
"""


def roster_of(tmp_path: Path, text: str) -> Roster:
    path = tmp_path / "r.csv"
    path.write_text(text, encoding="utf-8")
    return load_roster(path)


@pytest.mark.parametrize(
    ("student", "name", "lms_id", "lms", "found"),
    [
        ("goodalice_1001", "goodalice", "1001", "canvas", "Good, Alice"),
        ("ali_1001", "Alice G.", "1001", "canvas", "Good, Alice"),
        ("x_1001", "", "1001", "canvas", "Good, Alice"),
        ("badmallory_1001", "badmallory", "1001", "canvas", None),  # the name contradicts
        ("anon_1001", "", "1001", "canvas", None),  # anonymous ids are no user ids
        ("Mallory Bad_55", "Mallory Bad", "1001", "gradescope", "Bad, Mallory"),  # by number, never the submission's
        ("Mallory Bad_1001", "Mallory Bad", "1001", "gradescope", "Bad, Mallory"),  # by name: 1001 is the submission
        ("Mallory Bad_1001", "Mallory Bad", "9", "gradescope", None),  # number 1001 is Bob's
        ("Jo Bad_1001", "Jo Bad", "1001", "gradescope", None),
        ("Mallory Bad_12", "Mallory Bad", "9", "gradescope", None),  # a namesake: the numbers differ
        ("Alice Good_1001", "Alice Good", "1001", "moodle", "Good, Alice"),  # the name; participants are not in Canvas
        ("Bob Smith_3003", "Bob Smith", "3003", "moodle", "Smith, Bob"),
        ("mallory_1001", "", None, "folder", None),
        ("mallory_1001", "", None, "", None),
        ("Alice Good_1001", "", None, "folder", "Good, Alice"),
        ("goodalice_77", "", None, "", "Good, Alice"),
        ("1001", "", None, "folder", None),  # the number of one and Canvas's id of another
        ("3003", "", None, "folder", None),  # a number of an unknown kind
        ("77", "", None, "folder", "Good, Alice"),
        ("mal", "", None, "folder", "Bad, Mallory"),
        ("Mallory Bad_9", "Mallory Bad", "1001", "", None),  # an id of an unknown kind
        ("Alice Good_9", "Alice Good", "1001", "", "Good, Alice"),
    ],
)
def test_an_id_is_compared_with_its_own_kind_and_with_the_name(
    tmp_path: Path, student: str, name: str, lms_id: str | None, lms: str, found: str | None
) -> None:
    row = roster_of(tmp_path, CANVAS).find(student, name, lms_id, lms)
    assert (row.name if row is not None else None) == found


def test_a_participants_number_that_is_anothers_student_number_does_not_win_over_the_name(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "name,sis_user_id,email,lms_id,extension\nBob Poe,123,b@x,,5\nJane Doe,9,j@x,,\n")
    row = roster.find("Jane Doe_123", "Jane Doe", "123", "moodle")
    assert row is not None
    assert row.email == "j@x"


def test_an_address_with_an_underscore_is_known_again(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "name,email\nJane Doe,jane_doe@x.org\n")
    assert roster.find("J. Doe_Jane_Doe@x.org", "J. Doe", "7", "gradescope") is not None


def test_a_contradiction_is_said_and_no_id_of_that_student_is_trusted(course: Course, tmp_path: Path) -> None:
    students = ("badmallory_1001", "mallory_1001")
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in students))
    store.keep_submissions(
        {"badmallory_1001": handed_in("badmallory_1001", name="badmallory", lms="canvas", lms_id="1001")}
    )
    roster = tmp_path / "r.csv"
    roster.write_text(CANVAS)
    grades = class_grades(course, tmp_path, roster)
    assert [one.roster for one in grades.students] == [None, None]
    assert [bool(one.doubt) for one in grades.students] == [True, False]
    first, second = grades.notes[:2]
    assert first == (
        "badmallory_1001: not found in the roster: its Canvas id 1001 is that of Good, Alice in the roster, and it was "
        "handed in by badmallory."
    )
    assert second.startswith("mallory_1001: not found in the roster: the number 1001 is that of Good, Alice")


def test_an_id_that_is_twice_in_the_roster_is_nobodys_and_said(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)))
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name,extension\nada,Ada,2\nada,Ada,3\n")
    store.keep_roster(roster)
    grades = class_grades(course, tmp_path)
    assert grades.students[0].doubt
    assert grades.notes == ("ada: not found in the roster: ada is in the roster twice. Remove one of its lines.",)


def test_two_hand_ins_of_one_row_are_said(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)), run_of("lovelace", exercise("a", 1.0)))
    roster = tmp_path / "r.csv"
    roster.write_text("login,email,name\nada,lovelace@x,Ada Lovelace\n")
    store.keep_roster(roster)
    assert class_grades(course, tmp_path).notes == ("ada and lovelace: all fit Ada Lovelace in the roster.",)


NAMESAKES = "student_id,name,submitted\n{},Jane Doe,2026-12-09T10:00:00+01:00\n"


@pytest.mark.parametrize("owner", ["doejane_1010", "doejane_1020"])
@pytest.mark.parametrize("known", [True, False])
def test_a_line_with_a_students_id_is_never_a_namesakes(
    course: Course, tmp_path: Path, owner: str, known: bool
) -> None:
    """Whether or not its owner handed in, and whatever else of the line fits."""
    students = ("doejane_1000", "doejane_1010", "poeann_7")
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in students))
    if known:
        names = {one: handed_in(one, name="Jane Doe", lms="canvas", lms_id=one[-4:]) for one in students}
        store.keep_submissions(names)
    roster = tmp_path / "r.csv"
    table = NAMESAKES.format(owner).replace("student_id", "student_id,lms_id").replace(",Jane", ",1000,Jane")
    roster.write_text(f"{table}poeann_7,,Ann Poe,\n")
    grades = class_grades(course, tmp_path, roster)
    rows = {one.student: one.roster for one in grades.students}
    assert rows["doejane_1000"] is None
    assert (rows["doejane_1010"] is not None) == (owner == "doejane_1010")
    assert any(f"student_id {owner}" in note for note in grades.notes)


def test_a_line_that_fits_two_by_name_is_neithers_and_said(course: Course, tmp_path: Path) -> None:
    students = ("doejane_1000", "doejane_1010")
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in students))
    store.keep_submissions({one: handed_in(one, name="Jane Doe", lms="canvas", lms_id=one[-4:]) for one in students})
    roster = tmp_path / "r.csv"
    roster.write_text("name,submitted\nJane Doe,2026-12-09T10:00:00+01:00\n")
    grades = class_grades(course, tmp_path, roster)
    assert [one.roster for one in grades.students] == [None, None]
    assert grades.notes[0] == (
        "doejane_1000: not found in the roster: Jane Doe in the roster fits doejane_1010 too. "
        "A column student_id says who is meant."
    )
    roster.write_text("name,student_id\nJane Doe,doejane_1000\n")
    assert [one.roster is None for one in class_grades(course, tmp_path, roster).students] == [False, True]


@pytest.mark.parametrize("title", ["Student ID", "student_id"])
def test_a_column_with_the_id_of_no_hand_in_is_not_the_kits_and_said(
    course: Course, tmp_path: Path, title: str
) -> None:
    """A university's own numbers; the id in the LMS, then the name, say who is who."""
    students = ("doejane_1000", "poebob_2000")
    store = write(tmp_path, *(run_of(student, exercise("a", 2.0)) for student in students))
    names = {one: handed_in(one, name=f"{one[3:-5]} {one[:3]}", lms="canvas", lms_id=one[-4:]) for one in students}
    store.keep_submissions(names)
    roster = tmp_path / "r.csv"
    text = f'{title},lms_id,name\n71,1000,"Doe, Jane"\n72,,"Poe, Bob"\n73,,"Roe, Eve"\n'
    roster.write_text(text)
    grades = class_grades(course, tmp_path, roster)
    assert [one.name for one in grades.students] == ["Doe, Jane", "Poe, Bob"]
    assert grades.notes[0] == (
        f"The roster's column {title} holds the id of no hand-in and was passed over: "
        "everybody was looked for by the other columns."
    )
    assert grades.notes[1:] == ("In the roster, and without a hand-in: Roe, Eve.",)
    roster.write_text(text.replace("73", "poebob_2000"))  # now one fits: each line is its owner's alone
    assert [one.name for one in class_grades(course, tmp_path, roster).students] == ["jane doe", "Roe, Eve"]


def test_a_foreign_column_is_passed_over_only_if_nobody_is_in_it(tmp_path: Path) -> None:
    roster = roster_of(tmp_path, "student_id,name\n1000,Jane Doe\n,Bob Poe\n")
    assert not roster.foreign_ids(["x", "doejane_1000"])  # the id alone may stand there
    assert not roster.foreign_ids([])
    assert roster.foreign_ids(["x", "poebob_1001"])
    assert not roster_of(tmp_path, "student_id,name\n,Jane Doe\n").foreign_ids(["x"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("doejane", "Doe, Jane"),
        ("garciamarquezjose", "García Márquez, José"),
        ("garcamrquezjos", "García Márquez, José"),
        ("Jane Doe", "doe, JANE"),
    ],
)
def test_a_name_is_known_again_in_other_spellings(one: str, other: str) -> None:
    assert same_name(one, other)
    assert not contradict(one, other)


@pytest.mark.parametrize(
    ("one", "other", "against"),
    [
        ("Mallory Bad", "Good, Alice", True),
        ("Bob", "O'Neil, Bob", False),
        ("Ann Astrom", "Åström, Ann", False),
        ("Cy", "Li, Cy", False),
        ("", "Good, Alice", False),
        ("王小明", "小红 李", True),
        ("123", "", False),
    ],
)
def test_names_that_share_nothing_contradict(one: str, other: str, against: bool) -> None:
    assert contradict(one, other) == against
    assert contradict(other, one) == against
