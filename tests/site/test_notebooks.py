"""Each lesson's notebook from top to bottom in a kernel: as it is handed out, and then with the solutions pasted in."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from autograder.catalogue import Course, load_course
from autograder.release.bundle import slug
from autograder.release.lesson_notebooks import functions_of, lesson_notebooks
from autograder.release.stubs import generate_stubs

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
NotebookClient = pytest.importorskip("nbclient", reason="nbclient is not installed").NotebookClient
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

pytestmark = pytest.mark.site
ROOT = Path(__file__).parents[2]
LESSONS = [lesson.number for lesson in load_course(ROOT).lessons]
EXPERIMENTS = ROOT / "course" / "lessons" / "experiments"


def _student_folder(folder: Path) -> Path:
    spec = importlib.util.spec_from_file_location("capture_notebook", ROOT / "docs" / "capture_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    made: Path = module.student_folder(folder)
    return made


def _on_cpu(source: str) -> str:
    """Kernels run on CPU wherever this is tested."""
    head, _, body = source.partition("\n")
    return f"{head} --device cpu\n{body}" if head.startswith(("%%exercise", "%grade")) else source


def _answer(course: Course, source: str) -> str:
    """The exercise's cell with the solution in place of the stub."""
    exercise = course.exercise(source.split()[1])
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    owned = [other for other in course.exercises if other.stub == exercise.stub]
    body = functions_of(exercise, owned, text, first=len(owned) == 1)  # with its settings where it has the file alone
    return f"%%exercise {exercise.id} --device cpu\n{body}"


def _with_solutions(course: Course, notebook: Any) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    """The notebook and below it its graded cells once more, answered; its own cells, and the added ones."""
    own = list(notebook.cells)
    for cell in own:
        cell.source = _on_cpu(cell.source)
    added = []
    for cell in own:
        if cell.source.startswith("%%exercise"):
            added.append(nbformat.v4.new_code_cell(_answer(course, cell.source)))
        elif cell.source.startswith("%grade"):
            added.append(nbformat.v4.new_code_cell(cell.source))
        elif "course/companions/" in cell.source and cell.cell_type == "code":
            added.append(nbformat.v4.new_code_cell(f"{cell.source}\nprint('ended with', _exit_code)"))
    notebook.cells = [*own, *added]
    return notebook, own, added


def _printed(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def _reports(cells: Sequence[Any]) -> list[str]:
    """What graded cells showed."""
    return [
        output.data["text/plain"]
        for cell in cells
        if cell.cell_type == "code" and cell.source.startswith(("%%exercise", "%grade"))
        for output in cell.outputs
        if output.output_type == "display_data"
    ]


@pytest.mark.parametrize("number", LESSONS)
def test_a_notebook_runs_as_it_is_and_with_solutions_gets_full_marks(
    number: int, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught = next(lesson for lesson in course.lessons if lesson.number == number)
    root = _student_folder(tmp_path / "course")
    folder = root / "course" / "notebooks"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("AUTOGRADER_DRIVE", "/nonexistent")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])))
    monkeypatch.setenv("IPYTHONDIR", str(root / ".ipython"))
    text = lesson_notebooks(course, generate_stubs(course), slug(course.title))[
        f"course/notebooks/lesson{number}.ipynb"
    ]
    notebook, own, added = _with_solutions(course, nbformat.reads(text, as_version=4))
    shown = {
        cell.source: "".join(cell.outputs[0].text) for cell in own if cell.cell_type == "code" and cell.get("outputs")
    }
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute()

    for cell in own:
        if cell.source in shown:  # experiments print what the page shows, but for rounding errors
            assert _words(_printed(cell)) == _words(shown[cell.source]), cell.source
        elif cell.source.endswith("doctor --plain"):
            assert "No problem." in _printed(cell)
    assert shown or not (ROOT / "course" / "lessons" / f"lesson{number}.md").is_file()
    *each, everything = _reports(own)
    assert len(each) == len(taught.exercises)
    assert all("not-started " in report for report in each)
    assert everything.count("not-started ") == len(course.exercises)
    *each, everything = _reports(added)
    for exercise, report in zip(taught.exercises, each, strict=True):
        outcome = "pass" if "cpu" in exercise.devices else "skipped"
        assert re.search(rf"^{outcome} +{exercise.id} ", report, re.MULTILINE), report
        assert re.search(rf"^{outcome} +{exercise.id} ", everything, re.MULTILINE), everything
    for cell in added:
        if "course/companions/" in cell.source:
            assert _printed(cell).rstrip().endswith("ended with 0"), _printed(cell)
    assert not any(output.output_type == "error" for cell in notebook.cells for output in cell.get("outputs", ()))


def _words(text: str) -> list[str]:
    return re.sub(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", "#", text).split()


def test_no_directive_is_left_in_a_notebook(course: Course) -> None:
    for name, text in lesson_notebooks(course, generate_stubs(course), "x").items():
        for cell in json.loads(text)["cells"]:
            source = "".join(cell["source"])
            assert not re.search(r"^`{3,}\{|\{n\}`|\{homework\}`|\]\(#|\.md\)", source, re.MULTILINE), (name, source)


def test_every_experiment_of_a_lesson_is_run_by_its_notebook(course: Course) -> None:
    made = lesson_notebooks(course, generate_stubs(course), "x")
    for lesson in course.lessons:
        page = (ROOT / "course" / "lessons" / f"lesson{lesson.number}.md").read_text(encoding="utf-8")
        named = re.findall(r"^python (course/lessons/experiments/\w+\.py)$", page, re.MULTILINE)
        cells = json.loads(made[f"course/notebooks/lesson{lesson.number}.ipynb"])["cells"]
        run = {"".join(cell["source"]): cell["outputs"] for cell in cells if cell["cell_type"] == "code"}
        assert named
        for path in named:
            (output,) = run[f"!{{sys.executable}} {path}"]
            assert "".join(output["text"]) == (ROOT / path).with_suffix(".txt").read_text(encoding="utf-8")
