"""What the pages are made from: printed kernels, homework pages, numbers in sentences, what experiments print."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from autograder.catalogue import Course, load_course
from autograder.errors import CourseError
from autograder.release import bundle
from making import facts, homework, surgery
from making.listing import Note, annotated, kernel_parts, revealed, whole_kernel
from making.sources import make_sources

ROOT = Path(__file__).parents[2]
SOLUTION = '''
import triton

@triton.jit
def row_sum(
    x,
    BLOCK_M: tl.constexpr,
):
    """Sums
    rows."""
    y = x + 1
    ### BEGIN SOLUTION
    #: # TODO: which axis has to go?
    total = tl.sum(y, 1)
    ### END SOLUTION
    return total


def other():
    pass
'''


def test_homework_is_a_blank_until_it_is_revealed() -> None:
    given, blank, end = kernel_parts(SOLUTION, "row_sum", "row_sum.py", reveal=False)
    assert given.lines == ("@triton.jit", "def row_sum(", "    x, BLOCK_M: tl.constexpr,", "):", "    y = x + 1")
    assert (blank.lines, blank.asked) == ((), ("which axis has to go?",))
    assert end.lines == ("    return total",)
    whole = kernel_parts(SOLUTION, "row_sum", "row_sum.py", reveal=True)
    assert whole[1].lines == ("    total = tl.sum(y, 1)",)


def test_a_note_stands_at_its_line_and_one_without_a_line_is_an_error() -> None:
    parts = kernel_parts(SOLUTION, "row_sum", "row_sum.py", reveal=False)
    rows = annotated(parts, [Note("y = x", (2,), "a"), Note("blank 1", (3,), "b")])
    assert [(row.note.words if row.note else None, len(row.part.lines)) for row in rows] == [
        (None, 4),
        ("a", 1),
        ("b", 0),
        (None, 1),
    ]
    with pytest.raises(ValueError, match=r"tl\.dot"):
        annotated(parts, [Note("tl.dot", (4,), "c")])


def test_a_worked_kernel_is_printed_whole_with_its_parameters_wrapped() -> None:
    long = "    x_ptr, y_ptr, length_of_rows, length_of_columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr"
    text = f"import triton\n\n\n@triton.jit\ndef f({long.strip()}):\n    x = 1\n    y = x\n\n\ndef g():\n    pass\n"
    part = whole_kernel(text, "f", "f.py")
    assert part.lines[:2] == ("@triton.jit", "def f(")
    assert all(len(line) <= 84 for line in part.lines)
    assert part.lines[-3:] == ("):", "    x = 1", "    y = x")
    assert whole_kernel(text, "g", "f.py").lines == ("def g():", "    pass")
    with pytest.raises(ValueError, match=r"f\.py has no function h"):
        whole_kernel(text, "h", "f.py")


def test_a_lesson_takes_ten_to_twenty_minutes_and_has_all_its_parts(course: Course) -> None:
    """At 150 words a minute, code and tables included; each has a picture, a kernel, an experiment and a companion."""
    for lesson in course.lessons:
        text = (ROOT / "course" / "lessons" / f"lesson{lesson.number}.md").read_text(encoding="utf-8")
        minutes = len(text.split()) / 150
        assert 10 <= minutes <= 20, f"lesson {lesson.number}: {minutes:.0f} minutes"
        for part in (
            "```{picture}",
            "```{kernel}",
            "```{literalinclude} experiments/",
            "python course/companions/lesson",
        ):
            assert part in text, f"lesson {lesson.number} has no {part}"
        assert f"```{{homework-list}} {lesson.number}" in text
        assert lesson.number == 7 or "```{worked}" in text


def test_every_experiment_and_drawing_is_used(course: Course) -> None:
    from making.figures import DRAWINGS

    pages = [*(ROOT / "course" / "lessons").glob("*.md"), *(ROOT / "course" / "site" / "pages").glob("*.md")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for script in _experiments().experiments():
        assert f"python course/lessons/experiments/{script.name}" in texts, script.name
        assert f"experiments/{script.stem}.txt" in texts, script.name
    for name in DRAWINGS:
        assert f"{{picture}} {name}\n" in texts, name


def test_students_get_every_file_that_experiments_import(course: Course) -> None:
    released = {name.rpartition("/")[2] for name, _ in bundle._public_files(course) if "/experiments/" in name}
    for script in _CAPTURE.experiments():
        text = script.read_text(encoding="utf-8")
        used = {f"{name}.py" for name in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)}
        own = {name for name in used if (script.parent / name).is_file()}
        assert own | {script.name, f"{script.stem}.txt"} <= released, script.name


def test_a_lesson_is_revealed_always_or_once_its_deadline_is_over(course: Course) -> None:
    now = datetime.now(UTC)
    lesson = dataclasses.replace(course.lessons[-1], deadline=now)
    later, earlier = now + timedelta(hours=1), now - timedelta(hours=1)
    for reveal, expected in (("never", (False, False)), ("deadline", (False, True)), ("always", (True, True))):
        chosen = dataclasses.replace(course, reveal=reveal)
        assert (revealed(chosen, lesson, earlier), revealed(chosen, lesson, later)) == expected
    without = dataclasses.replace(lesson, deadline=None)
    assert not revealed(dataclasses.replace(course, reveal="deadline"), without, later)


def test_course_toml_says_what_reveal_may_be(tmp_path: Path) -> None:
    text = (ROOT / "course" / "course.toml").read_text(encoding="utf-8")
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "exercises").symlink_to(ROOT / "course" / "exercises")
    path = tmp_path / "course" / "course.toml"
    path.write_text(text.replace('reveal = "never"', 'reveal = "always"'), encoding="utf-8")
    assert load_course(tmp_path).reveal == "always"
    path.write_text(text.replace('reveal = "never"', 'reveal = "soon"'), encoding="utf-8")
    with pytest.raises(CourseError, match="never, deadline, always"):
        load_course(tmp_path)


def test_this_course_reveals_nothing_by_itself(course: Course) -> None:
    assert course.reveal == "never"


def test_a_homework_page_holds_the_handout_and_three_folded_hints(course: Course) -> None:
    for exercise in course.exercises:
        page = homework.page(course, exercise)
        body = exercise.handout.read_text(encoding="utf-8").partition("\n")[2].strip()
        assert body in page
        assert page.count("{dropdown}") == 3
        assert f"stubs/{exercise.stub}" in page


def test_open_in_colab_is_there_when_the_course_is_released_on_github(course: Course) -> None:
    exercise = course.exercises[0]
    assert "Colab" not in homework.page(dataclasses.replace(course, release_url=""), exercise)
    released = dataclasses.replace(course, release_url="https://github.com/school/kernels/releases/latest")
    link = f"https://colab.research.google.com/github/school/kernels/blob/main/course/notebooks/lesson{exercise.lesson}.ipynb"
    assert link in homework.page(released, exercise)
    elsewhere = dataclasses.replace(course, release_url="https://example.org/kernels.zip")
    page = homework.page(elsewhere, exercise)
    assert "Colab" not in page
    assert "https://example.org/kernels.zip" in page


def test_a_lessons_notebook_is_offered_if_there_is_one(course: Course, tmp_path: Path) -> None:
    exercise = course.exercises[0]
    elsewhere = dataclasses.replace(course, root=tmp_path)
    assert "ipynb" not in homework.page(elsewhere, exercise)
    path = homework.notebook(elsewhere, exercise.lesson)
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert f"../../notebooks/{path.name}" in homework.page(elsewhere, exercise)


def test_a_lesson_without_a_text_gets_a_page_of_its_homework(course: Course) -> None:
    lesson = dataclasses.replace(course.lessons[-1], number=70, title="Later")
    sources = make_sources(dataclasses.replace(course, lessons=(lesson,)))
    assert b"{homework-list} 70" in sources["lessons/lesson70.md"]
    assert b"/lessons/lesson70" in sources["index.md"]


def test_numbers_in_sentences_are_those_that_are_computed() -> None:
    marked = 0
    for folder in ("lessons", "site/pages"):
        for path in (ROOT / "course" / folder).glob("*.md"):
            for shown, name in re.findall(r"\{n\}`([^`<]*) <(\w+)>`", path.read_text(encoding="utf-8")):
                assert facts.FACTS[name] == shown, f"{path.name}: {name}"
                marked += 1
    assert marked > 20


def test_the_model_of_the_surgery_map_is_as_large_as_it_is_said_to_be() -> None:
    model, parts = surgery.load()
    assert model.parameters == 1_100_048_384  # the published count of this shape
    read = sum(part.bytes for part in parts if part.id in ("qkv", "output", "swiglu", "lm_head"))
    weights = (model.parameters - model.vocabulary * model.width - (2 * model.layers + 1) * model.width) * model.bytes
    assert weights <= read <= 1.01 * weights  # the matrices once, and a little for the vectors
    attention = next(part for part in parts if part.id == "attention")
    cache = model.layers * 2 * model.kv_heads * model.head * model.cached * model.bytes
    assert cache <= attention.bytes <= 1.01 * cache


def _experiments() -> ModuleType:
    path = ROOT / "course" / "lessons" / "experiments" / "capture.py"
    spec = importlib.util.spec_from_file_location("capture_experiments", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_CAPTURE = _experiments()


@pytest.fixture(scope="module")
def kernels_printed() -> dict[Path, str]:
    """What the experiments with kernels print; one process runs them all."""
    return dict(_CAPTURE.all_printed([path for path in _CAPTURE.experiments() if _CAPTURE.needs_triton(path)]))


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


@pytest.mark.parametrize("script", _CAPTURE.experiments(), ids=lambda path: path.stem)
def test_an_experiment_prints_what_the_lesson_shows(script: Path, kernels_printed: dict[Path, str]) -> None:
    """Word for word, but for rounding errors, which differ a little from machine to machine."""
    shown = script.with_suffix(".txt").read_text(encoding="utf-8")
    printed = kernels_printed.get(script) or _CAPTURE.printed(script)
    words = [_NUMBER.sub("#", text).split() for text in (shown, printed)]
    assert words[0] == words[1]
    for one, other in zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True):
        if abs(float(one)) < 1e-5 and "e" in one:
            assert float(other) < 3e-6
        else:
            assert float(other) == pytest.approx(float(one), rel=0.2)
