"""The options that choose a part of the course, alike in every command that takes them."""

from __future__ import annotations

import click

from autograder.cli._completion import complete_exercises, complete_lessons
from autograder.cli.common import WholeNumber

lesson_option = click.option(
    "--lesson",
    "lessons",
    type=WholeNumber(),
    multiple=True,
    shell_complete=complete_lessons,
    help="Only the exercises of this lesson; may be repeated.",
)
exercise_option = click.option(
    "--exercise",
    "exercises",
    multiple=True,
    metavar="EXERCISE",
    shell_complete=complete_exercises,
    help="Only this exercise; may be repeated.",
)
