"""The folder that Sphinx reads: lessons as they are written, and pages made from what the course holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autograder.catalogue import Course, Lesson
from autograder.release.stubs import pristine_stubs
from making import homework

ROOT = Path(__file__).resolve().parents[3]
_SUFFIXES = (".md", ".txt", ".py", ".png", ".svg")


def write_sources(course: Course, target: Path) -> None:
    """Make the folder ``target`` hold the sources and nothing else; a file that is right already keeps its time.

    Raises:
        CourseError: a text of the course is missing or malformed.
    """
    texts = make_sources(course)
    for path in sorted(target.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(target).as_posix() not in texts:
            path.unlink()
    for name, data in texts.items():
        path = target / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def make_sources(course: Course) -> Mapping[str, bytes]:
    """All sources by path."""
    files: dict[str, bytes] = {}
    pages = course.root / "course" / "site" / "pages"
    for path in sorted(pages.rglob("*.md")):
        files[path.relative_to(pages).as_posix()] = path.read_bytes()
    written = course.root / "course" / "lessons"
    taught = {f"lesson{lesson.number}.md" for lesson in course.lessons}
    for path in sorted(written.rglob("*")):
        if path.match("lesson*.md") and path.name not in taught:
            continue
        if path.is_file() and path.suffix in _SUFFIXES:
            files[f"lessons/{path.relative_to(written).as_posix()}"] = path.read_bytes()
    for lesson in course.lessons:
        name = f"lessons/lesson{lesson.number}.md"
        text = files[name].decode() if name in files else _bare_lesson(lesson)
        files[name] = (text.rstrip() + "\n\n" + _homework_tree(lesson)).encode()
        for exercise in lesson.exercises:
            files[f"{homework.page_name(exercise)}.md"] = homework.page(course, exercise).encode()
    files["index.md"] = files["index.md"].rstrip() + b"\n\n" + _lesson_tree(course).encode()
    return files


def downloads(course: Course) -> Mapping[str, bytes]:
    """The stubs and notebooks to download, by their path in the pages' folder."""
    files = {f"stubs/{stub}": text.encode() for stub, text in pristine_stubs(course).items()}
    for lesson in course.lessons:
        path = homework.notebook(course, lesson.number)
        if path.is_file():
            files[f"notebooks/{path.name}"] = path.read_bytes()
    return files


def _bare_lesson(lesson: Lesson) -> str:
    """The page of a lesson that has no text of its own: its homework, which says what is asked and why."""
    return f"# Lesson {lesson.number}: {lesson.title}\n\n```{{homework-list}} {lesson.number}\n```\n"


def _homework_tree(lesson: Lesson) -> str:
    names = "\n".join(f"/{homework.page_name(exercise)}" for exercise in lesson.exercises)
    return f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def _lesson_tree(course: Course) -> str:
    names = "\n".join(f"/lessons/lesson{lesson.number}" for lesson in course.lessons)
    return (
        f"```{{toctree}}\n:hidden:\n:caption: Lessons\n\n{names}\n```\n\n"
        "```{toctree}\n:hidden:\n:caption: To explore\n\n/playground\n/surgery-map\n/roof\n```\n"
    )
