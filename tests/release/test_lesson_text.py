"""A lesson's page as cells: what becomes of pictures, kernels, experiments, numbers and links."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.errors import CourseError
from autograder.release.lesson_text import LessonText, lesson_text

SCRIPT = '''"""A script."""

@triton.jit
def twice(x_ptr):
    """Doubles."""
    x = tl.load(x_ptr)
    tl.store(x_ptr, 2 * x)
'''


def _read(course: Course, folder: Path, body: str) -> LessonText:
    lessons = folder / "course" / "lessons"
    (lessons / "experiments").mkdir(parents=True)
    (lessons / "experiments" / "one.py").write_text(SCRIPT, encoding="utf-8")
    (lessons / "experiments" / "one.txt").write_text("1 2\n", encoding="utf-8")
    (lessons / "lesson70.md").write_text(f"# Lesson 70: Later\n{body}", encoding="utf-8")
    lesson = dataclasses.replace(course.lessons[0], number=70)
    return lesson_text(dataclasses.replace(course, root=folder), lesson)


def test_numbers_links_and_homework_are_plain_words(course: Course, tmp_path: Path) -> None:
    exercise = course.exercises[0]
    body = f"\n{{n}}`64 MiB <scores>` in [the map](map.md), {{homework}}`{exercise.id}`, [Triton](https://triton-lang.org)\n"
    (cell,) = _read(course, tmp_path, body).before
    assert cell.markdown
    assert cell.text == f"64 MiB in the map, **{exercise.title}**, [Triton](https://triton-lang.org)"


def test_an_experiment_is_a_cell_that_holds_what_it_prints(course: Course, tmp_path: Path) -> None:
    command = "python course/lessons/experiments/one.py"
    body = f"before\n\n```bash\n{command}\n```\n\n```{{literalinclude}} experiments/one.txt\n```\n\nafter\n"
    cells = _read(course, tmp_path, body).before
    assert [cell[:3] for cell in cells] == [
        (True, "before", ""),
        (False, "!{sys.executable} course/lessons/experiments/one.py", "1 2\n"),
        (True, "after", ""),
    ]


def test_an_experiment_whose_output_is_not_shown_is_a_cell_all_the_same(course: Course, tmp_path: Path) -> None:
    body = "```bash\npython course/lessons/experiments/one.py\n```\n\nafter\n"
    first, second = _read(course, tmp_path, body).before
    assert (first.markdown, first.printed) == (False, "")
    assert second.text == "after"


def test_notes_on_a_worked_kernel_are_comments_above_their_lines(course: Course, tmp_path: Path) -> None:
    body = "```{worked} experiments/one.py twice\ntl.load( | Bring it.\n```\n"
    (cell,) = _read(course, tmp_path, body).before
    assert "    # Bring it.\n    x = tl.load(x_ptr)" in cell.text
    assert cell.text.startswith("```python\n@triton.jit\ndef twice")


def test_a_picture_says_in_words_what_it_shows(course: Course, tmp_path: Path) -> None:
    body = "```{picture} tile\n:alt: Two tiles.\n\nFive tokens\nin a tile.\n```\n"
    (cell,) = _read(course, tmp_path, body).before
    assert cell.text == "> *A picture on the lesson's page:* Two tiles.\n>\n> Five tokens\n> in a tile."


def test_exercises_go_where_the_page_lists_them(course: Course, tmp_path: Path) -> None:
    kernel, exercise = course.exercises[0].functions[0].name, course.exercises[0]
    body = (
        f"```{{kernel}} {exercise.stub} {kernel}\nblank 1 | 2 3 | Load.\n```\n\n```{{homework-list}} 70\n```\n\nend\n"
    )
    text = _read(course, tmp_path, body)
    assert f"%%exercise {exercise.id}" in text.before[0].text
    assert "* your part 1, from lesson 2, 3: Load." in text.before[0].text
    assert [cell.text for cell in text.after] == ["end"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("```{figure} x\n```\n", "cannot show: figure"),
        ("```{worked} experiments/one.py thrice\n```\n", "no function thrice"),
        ("```{worked} experiments/two.py twice\n```\n", "cannot be read"),
        ("```{kernel} a.py nobodys_kernel\n```\n", "nobodys_kernel"),
    ],
)
def test_what_cannot_be_shown_is_named(course: Course, tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(CourseError, match=words):
        _read(course, tmp_path, body)


def test_a_lesson_without_a_page_has_no_text(course: Course, tmp_path: Path) -> None:
    lesson = dataclasses.replace(course.lessons[0], number=71)
    assert lesson_text(dataclasses.replace(course, root=tmp_path), lesson) == LessonText((), ())
