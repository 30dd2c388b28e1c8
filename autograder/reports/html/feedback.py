"""A student's feedback page: what was earned, and for each exercise what was checked, what went wrong and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from autograder.bulk.grades import ExerciseGrade, StudentGrade
from autograder.bulk.submissions import AN_EARLIER_ONE
from autograder.reports.html._checks import CheckView, TargetView, check_views, target_views
from autograder.reports.html._environment import inline_svg, render
from autograder.reports.html._words import Outcome, counted, outcome
from autograder.reports.html.comments import Comments
from autograder.reports.mass_tables import MassTable, read_mass
from autograder.reports.public_view import PublicExercise, points_word, public_run
from autograder.result import ExerciseResult

_FINE = ("pass", "skipped")


@dataclass(frozen=True, slots=True)
class ExerciseView:
    """One exercise as the page shows it; ``rules`` say what changed the score after grading.

    ``again`` repeats its checks, ``closer`` are commands that look closer at a failure, and ``folded`` sums up the
    tables of an exercise that is passed, which are folded away.
    """

    id: str
    title: str
    lesson: int
    score: float
    points: float
    outcome: Outcome
    place: str
    begins: str | None
    rules: tuple[str, ...]
    messages: tuple[str, ...]
    checks: tuple[CheckView, ...]
    left_out: tuple[CheckView, ...]
    hidden: str
    targets: tuple[TargetView, ...]
    remarks: tuple[str, ...]
    comments: tuple[str, ...]
    picture: Markup | None
    hint: bool
    clues: tuple[ClueView, ...]
    again: str
    closer: tuple[str, ...]
    folded: str


@dataclass(frozen=True, slots=True)
class ClueView:
    """What further runs showed, and the table behind it."""

    message: str
    table: MassTable | None


def feedback_page(
    course_title: str,
    grade: StudentGrade,
    comments: Comments | None = None,
    pictures: Mapping[str, str] | None = None,
) -> str:
    """The page of one student, as HTML: self-contained, without scripts, and without anything hidden.

    ``pictures`` holds an SVG by exercise id, which is put into the page as it is.

    Raises:
        ValueError: a picture is no SVG, or has a script in it.
    """
    comments = comments if comments is not None else Comments()
    public = public_run(grade.result)
    views = tuple(
        _exercise(item, seen, public.error, comments, (pictures or {}).get(item.result.id))
        for item, seen in zip(grade.exercises, public.exercises, strict=True)
    )
    return render(
        "feedback.html",
        course=course_title,
        name=grade.name,
        student=grade.student,
        score=grade.score,
        points=grade.points,
        bonus=grade.bonus,
        official=grade.result.hidden,
        rules=(*(late.sentence for late in grade.late), *_attempts(grade)),
        error=public.error,
        notes=tuple(dict.fromkeys((*public.notes, *(grade.submission.notes if grade.submission else ())))),
        comments=comments.general,
        exercises=views,
    )


def _attempts(grade: StudentGrade) -> tuple[str, ...]:
    if grade.submission is None or grade.submission.attempts < 2 or AN_EARLIER_ONE in grade.submission.notes:
        return ()  # who has that note reads it on the page
    return (f"You handed in {grade.submission.attempts} times; the latest was graded.",)


def _exercise(
    grade: ExerciseGrade, seen: PublicExercise, error: str | None, comments: Comments, picture: str | None
) -> ExerciseView:
    result = seen.result
    views = check_views(seen)
    # Where nothing could be graded the page says so once, at its top.
    messages = tuple(text for text in (result.message, *seen.diagnosis) if text and text != error)
    if result.outcome == "not-started" and not result.message:
        messages = ("The stub is as it was handed out.",)
    return ExerciseView(
        id=result.id,
        title=result.title,
        lesson=result.lesson,
        score=grade.score,
        points=result.points,
        outcome=outcome(result.outcome),
        place=result.file or "",
        begins=result.begins,
        rules=_rules(grade),
        messages=messages,
        checks=tuple(view for view in views if view.ran),
        left_out=tuple(view for view in views if not view.ran),
        hidden=seen.hidden.sentence if seen.hidden else "",
        targets=target_views(result.gpu_targets),
        remarks=result.remarks,
        comments=comments.exercises.get(result.id, ()),
        picture=inline_svg(picture) if picture else None,
        hint=not result.passed and result.outcome not in ("skipped", "grader-error"),
        clues=tuple(ClueView(clue.message, read_mass(clue)) for clue in seen.clues),
        again=next((check.repro for check in result.checks if check.repro and check.outcome not in _FINE), ""),
        closer=result.closer,
        folded=_folded(result) if result.passed else "",
    )


def _folded(result: ExerciseResult) -> str:
    """What is folded away of an exercise that is passed: ``6 checks passed``."""
    return f"{counted(sum(check.outcome == 'pass' for check in result.checks), 'public check')} passed"


def _rules(grade: ExerciseGrade) -> tuple[str, ...]:
    """What changed the score after grading, and what the exercise counts for, in sentences."""
    result, rules = grade.result, []
    graded = f"as graded, {points_word(result.score)}"
    if grade.override is not None:
        rules.append(f"Set by your instructor to {points_word(grade.score)} ({graded}): {grade.override.reason}")
    elif grade.lateness is not None:
        kept = f"{100 * grade.lateness.factor:.3g}%"
        rules.append(f"Handed in late: {kept} of the score is left ({graded}).")
    if result.optional:
        rules.append("Optional: what is earned here is a bonus.")
    elif not result.counts:
        rules.append("Left out of the total: no check of it runs on the machine that graded.")
    return tuple(rules)
