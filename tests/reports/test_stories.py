"""The terminal's story of an exercise: said once, with the next commands, and notes on what passed."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from autograder.catalogue import TARGET_TIER, Course
from autograder.reports.repeats import first_to_say
from autograder.reports.terminal import make_console, print_run, print_table, public_count
from autograder.result import NAN_COMES_OF_MASKS, RunResult
from autograder.scoring import closer
from tests.reports.made import check, exercise, run

OUTSIDE = "Line 92: The kernel stores outside lse, which has shape ({n},): element {n}."


def printed(result: RunResult) -> str:
    stream = io.StringIO()
    print_run(Console(file=stream, width=80, highlight=False, emoji=False), result, plain=True)
    return stream.getvalue()


def test_failures_of_one_line_that_say_the_same_are_told_once() -> None:
    checks = [check(f"c{n}", "fail", message=OUTSIDE.format(n=n)) for n in (70, 45)]
    checks += [check("gpu", "fail", message=f"Line 92: Does not compile for sm_75 (T4): {OUTSIDE[9:].format(n=7)}")]
    checks += [check("other", "fail", message=OUTSIDE.replace("92", "93").format(n=1)), check("fine")]
    assert [before.id if before else None for _, before in first_to_say(checks)] == [
        None,
        "c70",
        "c70",
        None,
        None,
    ]
    text = printed(run(exercise("fail", checks=tuple(checks))))
    assert "c45  (as above)" in text
    assert text.count("The kernel stores outside lse") == 2


def test_results_that_differ_in_their_numbers_are_each_told() -> None:
    checks = [check(f"c{n}", "fail", message=f"o is off by up to {n} where at most 1e-06 is rounding.") for n in (1, 2)]
    assert [before for _, before in first_to_say(checks)] == [None, None]


def test_what_was_left_out_of_a_kernel_that_passes_is_noted() -> None:
    remark = "Line 102: `print` is left out while grading, so that nothing of it is shown."
    text = printed(run(exercise("pass", 2.0, checks=(check("a"),), remarks=(remark,))))
    assert f"Note on flash_attention: {remark}" in " ".join(text.split())


def test_an_exercise_that_is_not_started_leads_to_its_handout(course: Course) -> None:
    made = exercise("not-started", 0.0, checks=())
    text = printed(run(made))
    assert "what to write: course/exercises/lesson7/flash_attention/handout.md" in text
    assert course.exercise(made.id).handout == course.root / "course/exercises/lesson7/flash_attention/handout.md"


@pytest.mark.parametrize(
    ("id", "outcome", "commands"),
    [
        ("flash_attention", "fail", ["grade trace flash_attention -x", "grade check flash_attention --smallest -x"]),
        ("flash_attention", "compile-error", ["grade check flash_attention --smallest -x"]),
        ("flash_attention", "timeout", []),
        ("flash_attention", "pass", []),
        ("score_mask", "fail", ["grade check score_mask --smallest -x"]),
    ],
)
def test_the_commands_that_look_closer_are_those_that_can(
    course: Course, id: str, outcome: str, commands: list[str]
) -> None:
    checks = (check("a"), check("b", outcome), replace(check("c", "fail"), hidden=True))
    assert list(closer(course.exercise(id), checks, " -x")) == commands
    assert f"grade check {id} --smallest -x" not in closer(course.exercise(id), checks, " -x", whole=False)


def test_where_a_nan_comes_from_is_explained_once() -> None:
    nan = f"y is nan where 1 belongs. {NAN_COMES_OF_MASKS}"
    twice = f"y is nan where 2 belongs. {NAN_COMES_OF_MASKS} z is nan where 2 belongs. {NAN_COMES_OF_MASKS} It is so."
    checks = (check("a", "fail", message=nan), check("b", "fail", message=twice), check("c"))
    told = [item.message for item, _ in first_to_say(checks)]
    assert told[0] == nan
    assert told[1] == "y is nan where 2 belongs. z is nan where 2 belongs. It is so."
    assert next(item.message for item, _ in first_to_say(checks[1:])) == (
        f"y is nan where 2 belongs. {NAN_COMES_OF_MASKS} z is nan where 2 belongs. It is so."
    )


def test_compiling_for_gpus_is_no_part_of_the_count() -> None:
    done = exercise("pass", 2.0, checks=(check("a"), check("b", "fail")))
    assert public_count(done) == "public 1 of 2"
    target = replace(check("gpu_targets"), tier=TARGET_TIER)
    assert public_count(replace(done, checks=(*done.checks, target))) == "public 1 of 2"
    refused = replace(target, outcome="fail")
    assert public_count(replace(done, checks=(*done.checks, refused))) == "public 1 of 2, GPU targets fail"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_count_is_cut(width: int) -> None:
    stream = io.StringIO()
    many = tuple(
        exercise(outcome, 1.0, checks=(check("a"), check("b", "fail"))) for outcome in ("compile-error", "pass")
    )
    print_table(Console(file=stream, width=width, highlight=False, emoji=False), many, plain=True)
    text = stream.getvalue()
    assert text.count("public 1 of 2") == text.count("1 / 2") == 2
    assert max(map(len, text.splitlines())) <= width


def test_the_picture_is_that_of_the_first_failure() -> None:
    side = {"of": "row", "tile": "", "spans": [[0, 3], [4, 7]], "borders": []}
    picture = {
        "kind": "share",
        "label": "o",
        "of": "",
        "rows": side,
        "columns": side,
        "wrong": [[0.0, 1.0], [0.0, 0.0]],
    }
    with_one = replace(check("b", "fail", message="o is off."), where={"picture": picture})
    first = check("a", "fail", message="All of o is off.")
    assert "rows down" not in printed(run(exercise("fail", checks=(first, with_one))))
    assert "rows down" in printed(run(exercise("fail", checks=(with_one, first))))


def test_the_file_is_named_as_an_editor_opens_it() -> None:
    stream = io.StringIO()
    made = exercise("fail", checks=(check("a", "fail", message="o is off."),))
    print_run(Console(file=stream, width=80, highlight=False, emoji=False), run(made), plain=True, folder="assignments")
    assert f"  in assignments/{made.file}" in stream.getvalue()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "plain", "wide"), [(40, True, 40), (40, False, 40), (120, True, 80), (120, False, 100)]
)
def test_reports_keep_to_the_terminals_width(
    monkeypatch: pytest.MonkeyPatch, columns: int, plain: bool, wide: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert make_console(_Terminal(), plain).width == wide
    assert make_console(io.StringIO(), plain).width == 80
