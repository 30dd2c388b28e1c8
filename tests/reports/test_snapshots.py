"""Reports of typical failures are what they were, in colour and plain; and a real run still says the same.

After a change that is meant, `python -m tests.reports.snapshots` writes them anew.
"""

from __future__ import annotations

import re

import pytest

from autograder import session
from autograder.catalogue import Course
from autograder.session import Grader
from tests.reports.snapshots import FAILURES, FOLDER, graded, rendered, stored

_CODE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("name", FAILURES)
def test_a_report_is_what_it_was(name: str) -> None:
    result = stored(name)
    assert rendered(result, plain=True) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert rendered(result, plain=False) == (FOLDER / f"{name}.ansi").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FAILURES)
def test_a_report_fits_its_width_and_colour_only_repeats_what_it_says(name: str) -> None:
    plain, colour = (FOLDER / f"{name}.txt").read_text("utf-8"), (FOLDER / f"{name}.ansi").read_text("utf-8")
    assert plain.isascii()
    assert "\x1b" not in plain
    assert "\x1b[" in colour
    for line in [*plain.splitlines(), *_CODE.sub("", colour).splitlines()]:
        assert len(line) <= 80 or line.startswith("  again: ")
        assert not line.endswith(" ") or line.strip() == ""
    if "in percent" not in plain:  # a table, which is worded otherwise to be read aloud
        assert _said(plain) == _said(_CODE.sub("", colour))


def _said(report: str) -> str:
    """A report without the borders of its picture."""
    lines = [line for line in report.splitlines() if not set(line.strip()) <= set("+-")]
    return "".join("".join(lines).replace("|", "").split())


@pytest.mark.parametrize("name", FAILURES)
def test_there_are_three_remarks_at_most(name: str) -> None:
    exercise = stored(name).exercises[0]
    assert len(exercise.clues) + len(exercise.diagnosis) <= 2


def test_nothing_is_stored_that_is_no_longer_made() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FAILURES)


@pytest.mark.parametrize(
    "name", ["rows_of_some_tiles", "rows_never_written", "tiles_of_keys", "a_tile_of_several", "one_axis"]
)
def test_a_real_run_says_the_same(
    course: Course, cpu_grader: Grader, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._PATIENCE, "cpu", None)
    now, then = (result.exercises[0] for result in (graded(course, cpu_grader, FAILURES[name]), stored(name)))
    assert [clue.message for clue in now.clues] == [clue.message for clue in then.clues]
    for check, before in zip(now.checks, then.checks, strict=True):
        assert (check.id, check.outcome) == (before.id, before.outcome)
        assert (check.where or {}).get("picture") == (before.where or {}).get("picture")
    assert any((check.where or {}).get("picture") for check in now.checks)
