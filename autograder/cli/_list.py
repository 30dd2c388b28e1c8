"""``grade list``: the map of the course."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autograder.cli.common import assignments, current_course, shared_options
from autograder.errors import EXIT_OK
from autograder.reports.course_map import print_map, print_titles
from autograder.reports.terminal import make_console
from autograder.standing import standings


@click.command("list")
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="Your files; default assignments.")
@click.option("--titles", is_flag=True, help="What each exercise is about, and what it builds on.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def list_exercises(folder: Path | None, titles: bool, plain: bool) -> int:
    """Show the course as a map: where each exercise stands, what is open now, and the score so far.

    Nothing is graded: scores are those of your last attempts on this machine, which `grade` and `grade watch` remember
    in .grade/ under the course's folder. Remove that folder to forget them.

    \b
    Examples:
      grade list
      grade list --titles
    """
    course = current_course()
    handin = assignments(course) if folder is None else folder
    console = make_console(sys.stdout, plain)
    if titles:
        print_titles(console, course)
    else:
        print_map(console, course, standings(course, handin), plain)
    return EXIT_OK
