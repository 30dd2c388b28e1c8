"""What cells show: a run as HTML and as the terminal's text, hints as Markdown, and plain lines."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console

from autograder.catalogue import Course
from autograder.reports.html.run_report import run_report
from autograder.reports.terminal import WIDTH, print_run
from autograder.result import RunResult


def run_bundle(result: RunResult) -> dict[str, str]:
    """A run by media type; its text is what `grade --plain` prints."""
    stream = io.StringIO()
    # As `make_console` makes it for --plain; in a kernel rich would else send each line to the notebook by itself.
    console = Console(
        file=stream,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        highlight=False,
        emoji=False,
        width=WIDTH,
    )
    print_run(console, result, plain=True, folder="assignments")
    return {"text/html": run_report(result), "text/plain": stream.getvalue().rstrip("\n")}


def hint_bundle(exercise_id: str, hints: Sequence[str], level: int) -> dict[str, str]:
    """One hint by media type, and how to get the next."""
    text = hints[level - 1]
    if level < len(hints):
        text += f"\n\nThe next hint: `%hint {exercise_id} {level + 1}`"
    return {"text/markdown": text, "text/plain": text}


def course_list(course: Course) -> str:
    """The course's exercises: lesson, id, points, title, file and what each builds on."""
    rows = [course.title]
    for lesson in course.lessons:
        rows.append(f"Lesson {lesson.number}: {lesson.title}")
        for exercise in lesson.exercises:
            unit = "point" if exercise.points == 1 else "points"
            optional = ", optional" if exercise.optional else ""
            rows.append(f"  %%exercise {exercise.id:<24}{exercise.title}, {exercise.points:g} {unit}{optional}")
            rows.append(f"  {'':<35}assignments/{exercise.stub}")
            if exercise.needs:
                rows.append(f"  {'':<35}builds on {', '.join(exercise.needs)}")
    return "\n".join(rows)
