"""The page of one exercise, as MyST: its handout, the stub to download, and its hints, folded."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from autograder.catalogue import Course, Exercise
from autograder.errors import CourseError
from autograder.texts import read_hints

_HINT_TITLE = re.compile(r"^## [123]\s*(.*)$", re.MULTILINE)
_NAMES = ("A nudge", "A closer look", "Almost there")


def page_name(exercise: Exercise) -> str:
    """The page's name among the sources, without suffix."""
    return f"homework/lesson{exercise.lesson}/{exercise.id}"


def page(course: Course, exercise: Exercise) -> str:
    """The MyST text of an exercise's page.

    Raises:
        CourseError: the handout is missing or has no heading, or hints.md does not hold three hints.
    """
    try:
        handout = exercise.handout.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{exercise.handout} cannot be read ({error.strerror}).") from error
    heading, _, body = handout.partition("\n")
    if not heading.startswith("# "):
        raise CourseError(f"{exercise.handout} must begin with a heading: # and its title.")
    functions = ", ".join(f"`{function.name}`" for function in exercise.functions)
    facts = [f"Lesson {exercise.lesson}", points(exercise), f"{functions} in `{exercise.stub}`"]
    if exercise.optional:
        facts.append("optional")
    facts += builds_on(exercise)
    return "\n".join(
        [
            heading,
            "",
            "{.facts}",
            " · ".join(facts),
            "",
            _buttons(course, exercise),
            "",
            body.strip(),
            "",
            "## Hints",
            "",
            "Three of them, from a nudge to almost there. Open one at a time.",
            "",
            *hints(exercise),
        ]
    )


def points(exercise: Exercise) -> str:
    return f"{exercise.points:g} point" + ("" if exercise.points == 1 else "s")


def builds_on(exercise: Exercise) -> list[str]:
    """``builds on`` with links to those exercises, in a list; an empty one if there is none."""
    needs = ", ".join(f"{{homework}}`{need}`" for need in exercise.needs)
    return [f"builds on {needs}"] if needs else []


def hints(exercise: Exercise) -> list[str]:
    """The three hints, each folded away below a line that says how much it tells.

    Raises:
        CourseError: hints.md does not hold three hints.
    """
    texts = read_hints(exercise)
    titles = _HINT_TITLE.findall(exercise.hints.read_text(encoding="utf-8"))
    lines = []
    for name, title, text in zip(_NAMES, titles, texts, strict=True):
        told = f"{name}: {title[0].lower() + title[1:]}" if title else name
        lines += [f"::::{{dropdown}} {told}", ":class-container: hint", "", text, "", "::::", ""]
    return lines


def _buttons(course: Course, exercise: Exercise) -> str:
    up = "../" * page_name(exercise).count("/")
    buttons = [f'<a class="button" href="{up}stubs/{exercise.stub}" download>Download the stub</a>']
    if notebook(course, exercise.lesson).is_file():
        name = f"{up}notebooks/lesson{exercise.lesson}.ipynb"
        buttons.append(f'<a class="button quiet" href="{name}" download>The lesson\'s notebook</a>')
    if link := colab_link(course.release_url, exercise.lesson):
        buttons.append(f'<a class="button quiet" href="{link}">Open in Colab</a>')
    elif course.release_url:
        buttons.append(f'<a class="button quiet" href="{course.release_url}">The whole course, as a zip</a>')
    return '```{raw} html\n<p class="buttons">' + " ".join(buttons) + "</p>\n```"


def notebook(course: Course, lesson: int) -> Path:
    """Where a lesson's notebook is, if there is one."""
    return course.root / "course" / "notebooks" / f"lesson{lesson}.ipynb"


def colab_link(release_url: str, lesson: int) -> str:
    """Where Colab opens a lesson's notebook; nothing unless the course is on GitHub, from where Colab reads."""
    parts = urlsplit(release_url)
    path = parts.path.strip("/").split("/")
    if parts.hostname != "github.com" or len(path) < 2:
        return ""
    branch = path[3] if len(path) > 3 and path[2] == "tree" else "main"
    folder = f"https://colab.research.google.com/github/{path[0]}/{path[1]}/blob/{branch}/course/notebooks"
    return f"{folder}/lesson{lesson}.ipynb"
