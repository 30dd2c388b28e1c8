"""What a student sees of a result holds nothing of a hidden check but numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.reports.public_view import OUR_FAULT, public_exercise, public_run
from autograder.result import AFTER_A_FAILURE, Clue, Diagnosis, ExerciseResult
from tests.reports.made import HIDDEN, HIDDEN_WORDS, check, exercise, run

MISTAKE = Diagnosis("acc_not_rescaled", "acc is not rescaled.", 0.4142, 17.5)


def test_nothing_of_a_hidden_check_is_in_it() -> None:
    result = run(exercise(diagnosis=(MISTAKE,)))
    assert all(word in repr(result) for word in HIDDEN_WORDS if word != "0.414")
    seen = repr(public_run(result))
    assert [word for word in HIDDEN_WORDS if word in seen] == []
    assert "31.25" not in seen  # seconds, of which hidden checks took a part


@pytest.mark.parametrize(
    ("outcomes", "score", "sentence"),
    [
        (("pass", "fail"), 1.0, "2 hidden checks: 1 passed, 0.5 of 1 point."),
        (("pass", "pass"), 1.5, "2 hidden checks: 2 passed, 1 of 1 point."),
        (("pass",), 1.0, "1 hidden check: 1 passed, 0.67 of 0.67 points."),
        (("fail",), 0.0, "1 hidden check: 0 passed, 0 of 0.67 points."),
        (("skipped",), 0.5, "1 hidden check: 0 passed, 0 of 0.67 points; not run, since an earlier check failed."),
        (
            ("fail", "skipped"),
            0.5,
            "2 hidden checks: 0 passed, 0 of 1 point; 1 not run, since an earlier check failed.",
        ),
    ],
)
def test_hidden_checks_are_a_count_and_their_points(outcomes: tuple[str, ...], score: float, sentence: str) -> None:
    hidden = tuple(
        replace(HIDDEN, outcome=outcome, message=AFTER_A_FAILURE if outcome == "skipped" else "x")
        for outcome in outcomes
    )
    seen = public_exercise(exercise(score=score, checks=(check("a"), check("b", "fail"), *hidden)))
    assert seen.hidden is not None
    assert seen.hidden.sentence == sentence


def test_hidden_checks_that_were_never_run_cost_no_points_of_their_own() -> None:
    left = tuple(replace(item, outcome="skipped", message="Not run.") for item in (check("a"), HIDDEN, HIDDEN))
    seen = public_exercise(exercise("not-started", 0.0, checks=left))
    assert seen.hidden is not None
    assert seen.hidden.sentence == "2 hidden checks: not run."
    assert seen.shares == {}


def test_shares_add_up_to_the_score() -> None:
    gpu_only = check("speed", "skipped", 5.0, "Runs only on a CUDA GPU.", "speed")
    whole = exercise(score=1.0, checks=(check("a", weight=2.0), check("b", "fail"), HIDDEN, gpu_only))
    seen = public_exercise(whole)
    assert seen.hidden is not None
    assert seen.hidden.share is not None
    assert sum(share.earned for share in seen.shares.values()) + seen.hidden.share.earned == pytest.approx(1.0)
    assert sum(share.points for share in seen.shares.values()) + seen.hidden.share.points == pytest.approx(2.0)
    assert "speed" not in seen.shares  # it cannot run here, and counts in nothing


def test_compiling_alone_earns_nothing() -> None:
    targets = replace(check("gpu_targets"), tier="target")
    seen = public_exercise(exercise("fail", 0.0, checks=(check("a", "fail"), targets)))
    assert seen.shares["gpu_targets"].earned == 0


@pytest.mark.parametrize(("public", "shown"), [("fail", ("Likely cause: acc is not rescaled.",)), ("pass", ())])
def test_a_diagnosis_is_shown_only_where_a_public_check_failed(public: str, shown: tuple[str, ...]) -> None:
    seen = public_exercise(exercise(checks=(check("a", public), HIDDEN), diagnosis=(MISTAKE,)))
    assert seen.diagnosis == shown
    assert seen.result.diagnosis == ()


@pytest.mark.parametrize("public", ["fail", "pass"])
def test_clues_are_shown_only_where_a_public_check_failed(public: str) -> None:
    clue = Clue("mass", "Keys in the secret are seen.", True, {"got": [[0.4142]]})
    seen = public_exercise(exercise(checks=(check("a", public), HIDDEN), clues=(clue,)))
    assert seen.clues == ((clue,) if public == "fail" else ())
    assert seen.result.clues == ()
    if public == "pass":
        assert [word for word in HIDDEN_WORDS if word in repr(seen)] == []


def test_what_the_compiler_said_of_the_reference_is_not_shown() -> None:
    own = public_exercise(exercise())
    assert own.result.gpu_targets[0].original
    message = "Graded with the reference in place of score_mask, which did not pass."
    seen = public_exercise(exercise(message=message))
    assert seen.result.message == message
    assert [target.original for target in seen.result.gpu_targets] == ["", ""]


def test_a_fault_of_ours_is_called_ours_and_shows_no_inner_workings() -> None:
    broken = replace(check("a", "grader-error"), message="KeyError in /srv/kit/oracle.py")
    whole = run(exercise("grader-error", 0.0, message="KeyError", checks=(broken,)), error="the worker died")
    seen = public_run(whole)
    assert seen.error == OUR_FAULT
    assert seen.exercises[0].result.message == OUR_FAULT
    assert seen.exercises[0].result.checks[0].message == OUR_FAULT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("No .py in /srv/the class/doe_jane_101. Look.", "No .py in your hand-in. Look."),
        ("No .py in collected/doe_jane_101.zip. Look.", "No .py in your hand-in. Look."),
        ("/home/prof/doe_jane_101 is an archive but not a zip.", "your hand-in is an archive but not a zip."),
        ("lesson7/flash.py was read; 3/4 is not.", "lesson7/flash.py was read; 3/4 is not."),
    ],
)
def test_the_instructors_folders_are_not_named(text: str, shown: str) -> None:
    untouched: ExerciseResult = exercise("not-started", 0.0, message=text, checks=())
    seen = public_run(run(untouched, error=text, notes=(text,)))
    assert (seen.error, seen.notes, seen.exercises[0].result.message) == (shown, (shown,), shown)


def test_the_command_to_repeat_a_check_is_for_the_students_own_folder() -> None:
    seen = public_exercise(exercise())
    repros = [item.repro for item in seen.result.checks if item.repro]
    assert repros == ["grade check flash_attention --seed 7 --device cpu"]
