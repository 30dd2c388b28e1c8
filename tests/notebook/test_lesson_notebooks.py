"""A lesson's notebook is made from the course alone, and handed in it scores as the files do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.bulk.secret import load_secret
from autograder.catalogue import Course
from autograder.errors import CourseError
from autograder.handin import split_lines
from autograder.plan import Reference, plan_exercises
from autograder.release.bundle import slug
from autograder.release.lesson_notebooks import lesson_notebooks
from autograder.release.spans import function_spans
from autograder.release.stubs import generate_stubs
from autograder.session import Grader, Request
from tests.lessons import of_lesson

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def notebooks(course: Course) -> dict[str, str]:
    return dict(lesson_notebooks(course, generate_stubs(course), slug(course.title)))


def test_generating_them_again_changes_nothing(notebooks: dict[str, str]) -> None:
    for name, text in notebooks.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, "run make notebooks"


def test_they_are_notebooks_as_nbformat_writes_them(notebooks: dict[str, str]) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    for text in notebooks.values():
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        assert nbformat.writes(notebook) + "\n" == text


def test_each_exercise_has_its_handout_and_then_its_stub(course: Course, notebooks: dict[str, str]) -> None:
    for lesson in course.lessons:
        cells = json.loads(notebooks[f"course/notebooks/lesson{lesson.number}.ipynb"])["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        for exercise in lesson.exercises:
            (at,) = [n for n, source in enumerate(sources) if source.startswith(f"%%exercise {exercise.id}\n")]
            assert sources[at - 1] == exercise.handout.read_text(encoding="utf-8").strip()
            assert all(f"def {function.name}(" in sources[at] for function in exercise.functions)


def test_handed_in_as_it_is_nothing_of_it_is_started(course: Course, notebooks: dict[str, str], tmp_path: Path) -> None:
    for lesson in course.lessons:
        path = tmp_path / f"lesson{lesson.number}.ipynb"
        path.write_text(notebooks[f"course/notebooks/{path.name}"], encoding="utf-8")
        plans, notes = plan_exercises(course, path, lesson.exercises, None)
        assert {plan.outcome for plan in plans} == {"not-started"}
        assert notes == ()


def test_helpers_and_constants_of_a_stub_come_with_its_first_exercise(course: Course) -> None:
    stubs = dict(generate_stubs(course))
    first = course.exercises[0]
    given = "TILE = tl.constexpr(4)\n\n\n@triton.jit\ndef given(x):\n    return x\n\n\n@triton.jit"
    stubs[first.stub] = stubs[first.stub].replace("@triton.jit", given, 1)
    text = lesson_notebooks(course, stubs, "x")[f"course/notebooks/lesson{first.lesson}.ipynb"]
    sources = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
    with_it = [source.split("\n")[0] for source in sources if "def given(x)" in source and "TILE = " in source]
    assert with_it == [f"%%exercise {first.id}"]


def test_a_stub_without_its_function_is_named(course: Course) -> None:
    stubs = dict.fromkeys(generate_stubs(course), "import triton\n")
    with pytest.raises(CourseError, match=r"has no function \w+\."):
        lesson_notebooks(course, stubs, "x")


def answered(course: Course, lesson: int, notebook: str, files: Path) -> str:
    """A lesson's notebook whose cells hold the answers of files, below cells that try other things."""
    document = json.loads(notebook)
    tried = []
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if source.startswith("%%exercise"):
            exercise = course.exercise(source.split()[1])
            lines = split_lines((files / exercise.stub).read_text(encoding="utf-8"))
            spans = [function_spans(lines)[function.name][-1] for function in exercise.functions]
            body = "\n\n".join("\n".join(lines[first - 1 : last]) for first, last in spans)
            cell["source"] = f"%%exercise {exercise.id} --device cpu\n{body}"
            names = [function.name for function in exercise.functions]
            tried += [f"def {name}(x):\n    return x" for name in names]
    document["cells"] += [{**document["cells"][2], "id": f"tried-{n}", "source": text} for n, text in enumerate(tried)]
    return json.dumps(document)


def test_a_notebook_scores_as_its_files_do_with_hidden_checks(
    course: Course, notebooks: dict[str, str], tmp_path: Path
) -> None:
    """One answer is wrong, so that there is more to compare than full marks."""
    exercises = of_lesson(course, 7)
    files = tmp_path / "files"
    for stub in dict.fromkeys(exercise.stub for exercise in course.exercises if exercise.lesson == 7):
        text = (ROOT / "solutions" / stub).read_text(encoding="utf-8")
        (files / stub).parent.mkdir(parents=True, exist_ok=True)
        (files / stub).write_text(text.replace("acc * alpha[:, None]", "acc"), encoding="utf-8")
    path = tmp_path / "lesson7.ipynb"
    path.write_text(answered(course, 7, notebooks["course/notebooks/lesson7.ipynb"], files), encoding="utf-8")
    reference = Reference.load(course, load_secret(tmp_path / ".secret"))
    with Grader(course, "cpu", targets="off") as grader:
        by_files, by_notebook = (
            grader.grade(Request(place, exercises, reference=reference, diagnose=False, thorough=False))
            for place in (files, path)
        )
    scores = [(item.id, item.outcome, item.score) for item in by_files.exercises]
    assert [(item.id, item.outcome, item.score) for item in by_notebook.exercises] == scores
    assert len({outcome for _, outcome, _ in scores}) > 1
    assert any(check.hidden and check.outcome == "pass" for item in by_notebook.exercises for check in item.checks)
    assert len(by_notebook.notes) == len(exercises)
    assert all(note.endswith("; the one in the %%exercise cell counts.") for note in by_notebook.notes)
    assert all(item.cell is not None for item in by_notebook.exercises)
