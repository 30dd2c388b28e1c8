"""Gradescope's results.json."""

from __future__ import annotations

import json
from datetime import timedelta

from tests.bridges.classroom import DEADLINE, FULL, SECRET, Classroom, canvas, exercise
from tests.bridges.conftest import Export


def test_one_document_a_student_in_gradescopes_format(classroom: Classroom, export: Export) -> None:
    late = canvas("bob", "Bob", "12", DEADLINE + timedelta(minutes=90))
    partial = exercise("flash", 2.5)
    failing = exercise("softmax", 1.0, public_fails=True)
    classroom.add("bob", {"softmax": failing, "loads": 2.0, "flash": partial, "extra": 0.5}, late)
    classroom.add("ann", FULL)
    folder = classroom.root / "to" / "upload"
    printed = export("--to", "gradescope", "--out", folder)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout == ""
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.json")) == [
        "ann/results.json",
        "bob/results.json",
    ]
    text = (folder / "bob" / "results.json").read_text(encoding="utf-8")
    assert SECRET not in text
    document = json.loads(text)
    assert document["score"] == 0.9 + 1.8 + 2.5
    assert "Lesson 7: handed in 1 h 30 min after the deadline" in document["output"]
    tests = {test["name"]: test for test in document["tests"]}
    assert [(test["score"], test["max_score"]) for test in document["tests"]] == [
        (0.9, 3),
        (1.8, 2),
        (2.5, 5),
        (0.5, 0),
    ]
    assert "The extra kernel (optional)" in tests
    # Both public checks pass and points are missing: the hidden check is counted, and nothing is said of it.
    flash = tests["The flash kernel"]["output"].splitlines()
    assert flash == [
        "partial: public 2 of 2. 1 hidden check: 0 passed, 0 of 1.67 points.",
        "pass  tiny: It works.",
        "pass  ragged: Ragged.",
    ]
    assert "fail  ragged: Ragged.\n    row 3 is off by 2" in tests["The softmax kernel"]["output"]
    assert {test["visibility"] for test in document["tests"]} == {"visible"}
    perfect = json.loads((folder / "ann" / "results.json").read_text(encoding="utf-8"))
    assert perfect["score"] == 10
    assert [test.get("status") for test in perfect["tests"]] == ["passed", "passed", "passed", None]
    assert tests["The flash kernel"]["status"] == "failed"


def test_no_folder_of_the_instructor_is_told(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", {}, error="No readable file in /home/prof/hand-ins/ann. Hand in a .py file.")
    document = json.loads(export("--to", "gradescope", "--student", "ann").stdout)
    assert document["output"].splitlines() == [
        "0 of 10 points.",
        "No readable file in your hand-in. Hand in a .py file.",
    ]


def test_one_student_goes_to_stdout_or_to_one_file(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL | {"extra": 1.0})
    classroom.add("bob", FULL | {"loads": exercise("loads", 0.0, "grader-error")})
    printed = export("--to", "gradescope", "--student", "ann", "--with-bonus")
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["score"] == 11
    target = classroom.root / "results.json"
    assert export("--to", "gradescope", "--student", "ann", "--out", target).returncode == 0
    assert json.loads(target.read_text(encoding="utf-8"))["score"] == 10
    broken = export("--to", "gradescope", "--student", "bob")
    assert broken.returncode == 1
    assert broken.stdout == ""
    unknown = export("--to", "gradescope", "--student", "cy")
    assert unknown.returncode == 2
    assert "no result of 'cy'" in unknown.stderr
