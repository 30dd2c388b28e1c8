"""The map of a course in the terminal: lessons, exercises, where each stands, what is open and what a pass has opened.

Each state is a symbol and a word; with ``plain`` the symbols are ASCII.  The lines make sense when read aloud.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from autograder.catalogue import Course
from autograder.reports.lines import listed, say
from autograder.reports.terminal import points_text
from autograder.standing import CHANGED, FAILING, NOT_STARTED, PARTIAL, PASSED, UNGRADED, Standing, by_id

_SYMBOLS = {PASSED: "✓", PARTIAL: "◐", FAILING: "✗", CHANGED: "≠", UNGRADED: "○", NOT_STARTED: "·"}
_PLAIN = {PASSED: "+", PARTIAL: "~", FAILING: "x", CHANGED: "=", UNGRADED: "o", NOT_STARTED: "."}
_STYLES = {
    PASSED: "green",
    PARTIAL: "yellow",
    FAILING: "red",
    CHANGED: "yellow",
    UNGRADED: "yellow",
    NOT_STARTED: "dim",
}
_MOST_OPEN = 3


def print_map(console: Console, course: Course, found: Sequence[Standing], plain: bool = False) -> None:
    """The whole map, and at its end what to do next."""
    standing = by_id(found)
    wide = max((len(item.exercise.id) for item in found), default=0)
    console.print(Text(course.title, style="bold"))
    for lesson in course.lessons:
        done = sum(standing[exercise.id].state == PASSED for exercise in lesson.exercises)
        console.print()
        heading = f"Lesson {lesson.number}: {lesson.title}, {done} of {len(lesson.exercises)} passed"
        say(console, heading, style="bold", hanging=2)
        stub = ""
        for exercise in lesson.exercises:
            if exercise.stub != stub:
                stub = exercise.stub
                say(console, f"in assignments/{stub}", 2, "dim")
            _print_exercise(console, standing[exercise.id], min(wide, 30), plain)
    console.print()
    _print_total(console, found)
    _print_open(console, found)


def print_titles(console: Console, course: Course) -> None:
    """Every exercise with its title, its points, its file and what it builds on."""
    for number, lesson in enumerate(course.lessons):
        if number:
            console.print()
        say(console, f"Lesson {lesson.number}: {lesson.title}", style="bold", hanging=2)
        for exercise in lesson.exercises:
            optional = ", optional" if exercise.optional else ""
            unit = "point" if exercise.points == 1 else "points"
            say(console, f"{exercise.id}: {exercise.title}, {points_text(exercise.points)} {unit}{optional}", 2, "", 2)
            say(console, f"assignments/{exercise.stub}", 6, "dim")
            if exercise.needs:
                say(console, f"builds on {listed(exercise.needs)}", 6, "dim")


def _print_exercise(console: Console, item: Standing, wide: int, plain: bool) -> None:
    exercise = item.exercise
    symbol = (_PLAIN if plain else _SYMBOLS)[item.state]
    state = Text(f"{symbol} {item.state:<11}", _STYLES[item.state])
    score = "?" if item.score is None and item.state == UNGRADED else points_text(item.score or 0.0)
    line = f"  {exercise.id:<{wide}}  {score + ' / ' + points_text(exercise.points):>11}"
    more = ["optional"] if exercise.optional else []
    if item.attempts:
        more.append(f"{item.attempts} attempt{'' if item.attempts == 1 else 's'}")
    fits = len(state) + 2 + len(line) + len(", ".join(["", *more])) <= console.width
    console.print(Text.assemble("  ", state, ", ".join([line, *more]) if fits else line), soft_wrap=True)
    if not fits:
        say(console, ", ".join(more), 17, "dim")
    if item.state == PASSED and item.unlocks:
        say(console, f"opened {listed(item.unlocks)}", 17, "dim")
    elif item.state != PASSED and item.waits_for:
        say(console, f"waits for {listed(item.waits_for)}", 17, "dim")


def _print_total(console: Console, found: Sequence[Standing]) -> None:
    counting = [item for item in found if not item.exercise.optional]
    score = sum(item.score or 0.0 for item in counting)
    bonus = sum(item.score or 0.0 for item in found if item.exercise.optional)
    text = f"score so far {points_text(score)} / {points_text(sum(item.exercise.points for item in counting))}"
    if bonus:
        text += f", bonus {points_text(bonus)}"
    say(console, f"{text}   (public checks, as last graded here)", style="bold")
    if changed := [item.exercise.id for item in found if item.state == CHANGED]:
        say(console, f"changed since they were graded: {', '.join(changed)}", hanging=2)


def _print_open(console: Console, found: Sequence[Standing]) -> None:
    ready = [item.exercise.id for item in found if item.is_open]
    if not ready:
        if all(item.state == PASSED for item in found):
            say(console, "Every exercise passes. `grade submit` packs your work.")
        return
    more = f" and {len(ready) - _MOST_OPEN} more" if len(ready) > _MOST_OPEN else ""
    say(console, f"open now: {', '.join(ready[:_MOST_OPEN])}{more}", hanging=2)
    console.print(Text(f"next: grade watch {ready[0]}"), soft_wrap=True)
