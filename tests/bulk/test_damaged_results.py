"""A result that is not what it should be costs nobody else anything: it is named, and counts as not there."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autograder.bulk.grades import class_grades
from autograder.catalogue import Course
from autograder.cli import course as commands
from autograder.errors import UsageError

from .making import exercise, handed_in, run_of, with_rules, write

ROOT = Path(__file__).parents[2]
Change = Callable[[dict[str, Any]], object]
CHANGES: dict[str, Change] = {
    "a score as text": lambda it: it["exercises"][0].update(score="2"),
    "no score": lambda it: it["exercises"][0].update(score=None),
    "a score without end": lambda it: it["exercises"][0].update(score=float("inf")),
    "a huge score": lambda it: it["exercises"][0].update(score=10**400),
    "a score below zero": lambda it: it["exercises"][0].update(score=-1),
    "a score that is a flag": lambda it: it["exercises"][0].update(score=True),
    "points that are none": lambda it: it["exercises"][0].update(points=float("nan")),
    "points as text": lambda it: it["exercises"][0].update(points="nan"),
    "an outcome that is a list": lambda it: it["exercises"][0].update(outcome=[]),
    "a lesson as text": lambda it: it["exercises"][0].update(lesson="7"),
    "a title of half a character": lambda it: it["exercises"][0].update(title="\ud800"),
    "remarks that are a text": lambda it: it["exercises"][0].update(remarks="abc"),
    "notes with numbers": lambda it: it.update(notes=[1]),
    "fingerprints that are a list": lambda it: it.update(fingerprints=[]),
    "an exercise twice": lambda it: it["exercises"].append(it["exercises"][0]),
    "a title of the course that is a number": lambda it: it["course"].update(title=3),
    "a version that is none": lambda it: it.update(kit_version=None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_values_of_a_wrong_kind_are_a_damaged_result(course: Course, tmp_path: Path, change: Change) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 1.0)), run_of("ben", exercise("a", 2.0)))
    document = json.loads(store.path("ada").read_text())
    change(document)
    store.path("ada").write_text(json.dumps(document))
    grades = class_grades(course, tmp_path)
    assert [(one.student, one.score) for one in grades.students] == [("ben", 2.0)]
    assert grades.notes == ("ada: the result is damaged; run `course grade` again.",)


def test_every_command_goes_on_without_a_damaged_result(tmp_path: Path) -> None:
    store = write(tmp_path, *(run_of(name, exercise("score_mask", 1.0, 1.0)) for name in ("ada", "ben", "cy", "dee")))
    store.path("ada").write_text("[" * 100_000)
    store.path("cy").write_text(store.path("cy").read_text().replace('"score": 1.0', '"score": 1e999'))
    for words in (["export", "--to", "csv"], ["feedback"], ["report"], ["override", "ben", "score_mask", "1"]):
        arguments = [words[0], str(tmp_path), *words[1:], *(["--reason", "x"] if words[0] == "override" else [])]
        done = CliRunner().invoke(commands.cli, ["--root", str(ROOT), *arguments], standalone_mode=False)
        assert done.exception is None, (words, done.exception)
        if words[0] != "override":
            assert "ada: the result is damaged" in done.stderr
            assert "cy: the result is damaged" in done.stderr
    rows = store.grades.read_text().splitlines()[1:]
    assert [row.partition(",")[0] for row in rows] == ["ben", "dee"]


def test_where_all_are_damaged_that_is_said(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 1.0)))
    store.path("ada").write_text("{")
    with pytest.raises(UsageError, match=r"There are no results.*ada: the result is damaged"):
        class_grades(course, tmp_path)


def test_whose_result_is_damaged_has_handed_in(course: Course, tmp_path: Path) -> None:
    store = write(tmp_path, run_of("ada", exercise("a", 1.0)), run_of("ben", exercise("a", 1.0)))
    store.path("ada").write_text("{")
    roster = tmp_path / "r.csv"
    roster.write_text("student_id,name\nada,Ada\nben,Ben\n")
    store.keep_roster(roster)
    assert class_grades(course, tmp_path).notes == ("ada: the result is damaged; run `course grade` again.",)


def test_a_time_without_a_zone_is_named_and_not_used(course: Course, tmp_path: Path) -> None:
    ruled = with_rules(course, datetime.fromisoformat("2026-12-06T23:59:00+01:00"), per_day=0.5)
    store = write(tmp_path, run_of("ada", exercise("a", 2.0)), run_of("ben", exercise("a", 2.0)))
    store.keep_submissions(
        {"ada": handed_in("ada", "2026-12-07T12:00:00"), "ben": handed_in("ben", "2026-12-07T12:00:00+01:00")}
    )
    grades = class_grades(ruled, tmp_path)
    assert [one.score for one in grades.students] == [2.0, 1.0]
    assert grades.notes[0] == "ada: the time of handing in has no time zone in collected.json and is not used."
