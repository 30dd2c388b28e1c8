"""One run as HTML for a notebook's output: self-contained, without scripts, its own colours on its own ground."""

from __future__ import annotations

from autograder.bulk.grades import ExerciseGrade
from autograder.reports.html._environment import render
from autograder.reports.html.comments import Comments
from autograder.reports.html.feedback import exercise_view
from autograder.reports.public_view import public_run
from autograder.reports.terminal import first_story
from autograder.result import RunResult


def run_report(result: RunResult) -> str:
    """What `grade` prints of a run, as HTML; the first open exercise is told, the others are folded."""
    public = public_run(result)
    views = tuple(
        exercise_view(ExerciseGrade(item, item.score), seen, public.error, Comments())
        for item, seen in zip(result.exercises, public.exercises, strict=True)
    )
    story = first_story(result.exercises)
    environment = result.environment
    device = environment.gpu or "CPU (Triton’s interpreter)"
    return render(
        "run.html",
        course=result.course_title or "",
        machine=f"{device}, triton {environment.triton or '?'}, torch {environment.torch or '?'}",
        score=result.score,
        points=result.points,
        bonus=result.bonus,
        error=public.error,
        exercises=views,
        story=story.id if story is not None else "",
        notes=public.notes,
    )
