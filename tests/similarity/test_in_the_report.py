"""Similar hand-ins in the instructor's report: how they are shown, and that nobody else is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.bulk.due import Due
from autograder.bulk.grades import class_grades
from autograder.bulk.hand_ins import list_hand_ins
from autograder.bulk.store import Store
from autograder.catalogue import Course
from autograder.cli.course import cli
from autograder.reports.html.class_report import class_report
from autograder.result import Environment, RunResult, Sandbox
from autograder.similarity import Pair, Side, Similar
from tests.bridges.classroom import exercise
from tests.similarity.test_similar import ONE, ROOT, STUB, disguised

TITLE = "Hand-ins to read side by side"


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """A class of two who handed in the same, and its results."""
    hand_ins, store = tmp_path / "hand-ins", Store(tmp_path / "out")
    for student, text in {"ann": ONE, "bob": disguised(ONE)}.items():
        path = hand_ins / student / STUB
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        done = (replace(exercise("softmax", 3.0), id="one_shot_attention"),)
        environment = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11")
        store.write(student, RunResult("0.1.0", "Flash", 7, True, environment, Sandbox(), done, student=student))
    store.keep_due(Due().found(list_hand_ins(hand_ins)[0], hand_ins))
    return store.out


def test_it_is_asked_for_and_words_it_as_something_to_look_at(graded: Path) -> None:
    pytest.importorskip("copydetect", reason="copydetect is not installed")
    command = ["report", str(graded), "--root", str(ROOT)]
    plain = CliRunner().invoke(cli, command)
    assert plain.exit_code == 0, plain.output
    assert TITLE not in (graded / "report.html").read_text(encoding="utf-8")
    done = CliRunner().invoke(cli, [*command, "--similar"])
    assert done.exit_code == 0, done.output
    assert "1 pair of files to read side by side, of 2 compared." in done.output
    page = (graded / "report.html").read_text(encoding="utf-8")
    section = page[page.index(TITLE) : page.index("<h2>Everyone</h2>")]
    assert "<bdi>ann</bdi> and <bdi>bob</bdi>" in section
    assert "It says nothing about who wrote what, and counts in no grade" in section
    assert not any(word in section.lower() for word in ("plagiar", "cheat", "copied", "suspicious"))


def test_students_are_told_nothing(graded: Path) -> None:
    CliRunner().invoke(cli, ["feedback", str(graded), "--root", str(ROOT)])
    pages = list((graded / "feedback").glob("*.html"))
    assert len(pages) == 2
    for page in pages:
        other = "bob" if page.stem == "ann" else "ann"
        text = page.read_text(encoding="utf-8")
        assert TITLE not in text
        assert f">{other}<" not in text


def test_hand_ins_that_are_gone_are_a_sentence(graded: Path) -> None:
    (graded.parent / "hand-ins").rename(graded.parent / "moved")
    command = ["report", str(graded), "--root", str(ROOT), "--similar"]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert "where grading found them" in str(done.exception)


def test_what_students_wrote_is_escaped(graded: Path, course: Course) -> None:
    lines = (("line 1", "<script>alert(1)</script>"), ("", "..."))
    found = Similar((Pair(STUB, 0.75, Side("ann", STUB, lines), Side("gone", STUB, lines)),), 2, 1, 3, ("cleo",))
    page = class_report("Flash", class_grades(course, graded), found)
    assert "<script>" not in page
    assert "75% of the shorter one’s own text" in page
    assert "<bdi>gone</bdi>" in page
    assert "2 files compared; 1 with too little text of their own to say anything; 3 with none, as an " in page
    assert "not read: cleo." in page
    nothing = class_report("Flash", class_grades(course, graded), Similar((), 2, 0, 0, ()))
    assert "No two files share long passages" in nothing
