"""What every command that shows grades does beside: it brings grades.csv up to date."""

from __future__ import annotations

from autograder.bulk.store import Store
from autograder.bulk.table import write_grades
from autograder.catalogue import Course
from autograder.cli._say import say
from autograder.errors import UsageError


def refresh_grades(course: Course, store: Store) -> None:
    """Write grades.csv by today's rules; that it cannot be written stops nothing."""
    try:
        write_grades(course, store)
    except UsageError as error:
        say(f"Note: {error}", err=True)
