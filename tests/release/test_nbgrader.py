"""`course release --nbgrader`: source notebooks that nbgrader itself releases, grades and gives feedback on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from autograder.bridges import _nbgrader_writer
from autograder.catalogue import Course, load_course
from autograder.cli.course import cli
from autograder.errors import LeakError
from autograder.plan import Reference, plan_exercises
from autograder.release import nbgrader
from autograder.release.lesson_notebooks import functions_of
from autograder.release.markers import BEGIN, END, make_stub, stub_lines_first
from autograder.session import Grader, Request
from tests.lessons import keep_lesson, of_lesson
from tests.release.making import ROOT, SECRET, make_course

NAME = "mini-flashattention"

# What `nbgrader generate_assignment`, `autograde` and `generate_feedback` do, in one process since each takes seconds
# to start; then the official scores are written into the same gradebook.
_NBGRADER = """
import json, sys
from pathlib import Path
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader
name, student, writer, document = sys.argv[1:]
config = Config(PyFileConfigLoader("nbgrader_config.py").load_config())
config.CourseDirectory.root = str(Path.cwd())
api = NbGraderAPI(CourseDirectory(config=config), config=config)

def done(answer):
    if not answer["success"]:
        sys.exit(answer["log"] + answer.get("error", ""))

done(api.generate_assignment(name))
released = Path("release", name, "lesson1.ipynb")
source = json.loads(Path("source", name, "lesson1.ipynb").read_text())
answers = json.loads(released.read_text())
for cell, solved in zip(answers["cells"], source["cells"], strict=True):
    text = "".join(solved["source"]).replace("column = offs %", "column = tl.arange(0, BLOCK) %")
    cell["source"] = "\\n".join(line for line in text.split("\\n") if "SOLUTION" not in line)
place = Path("submitted", student, name)
place.mkdir(parents=True)
(place / "lesson1.ipynb").write_text(json.dumps(answers))
done(api.autograde(name, student))
done(api.generate_feedback(name, student))

def scores():
    with Gradebook("sqlite:///gradebook.db") as book:
        (notebook,) = book.find_submission(name, student).notebooks
        return {grade.name: grade.auto_score for grade in notebook.grades}, {
            comment.name: comment.auto_comment for comment in notebook.comments
        }

public, _ = scores()
sys.path.insert(0, writer)
import _nbgrader_writer
_nbgrader_writer.write(json.loads(document))
print(json.dumps({"public": public, "official": scores()}))
"""


@pytest.fixture(scope="module")
def lesson1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course's first lesson alone."""
    folder = tmp_path_factory.mktemp("course")
    make_course(folder)
    keep_lesson(folder, 1)
    (folder / "solutions" / ".secret").write_text(SECRET.hex())
    return folder


def cells(text: str) -> dict[str, dict[str, Any]]:
    """A notebook's cells by nbgrader's names."""
    return {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in json.loads(text)["cells"]}


def test_each_exercise_has_a_read_only_handout_a_solution_cell_and_a_grade_cell(course: Course) -> None:
    notebooks = nbgrader.source_notebooks(course)
    assert list(notebooks) == [f"lesson{lesson.number}.ipynb" for lesson in course.lessons]
    for lesson in course.lessons:
        text = notebooks[f"lesson{lesson.number}.ipynb"]
        named = cells(text)
        assert len(named) == len(json.loads(text)["cells"])
        for exercise in lesson.exercises:
            kinds = {
                name: {key for key in ("grade", "locked", "solution") if named[name]["metadata"]["nbgrader"][key]}
                for name in (f"{exercise.id}-handout", f"{exercise.id}-answer", exercise.id)
                if name in named
            }
            if exercise.optional:  # a bonus counts for nothing in nbgrader
                assert list(kinds.values()) == [{"locked"}, {"solution"}]
            else:
                assert list(kinds.values()) == [{"locked"}, {"solution"}, {"grade", "locked"}]
                assert named[exercise.id]["metadata"]["nbgrader"]["points"] == exercise.points
                assert "public checks only" in "".join(named[exercise.id]["source"])
            answer = "".join(named[f"{exercise.id}-answer"]["source"])
            assert answer.startswith(f"%%exercise {exercise.id}\n")
            assert answer.count(BEGIN) == answer.count(END) > 0
            assert "#:" not in answer


def test_without_its_regions_a_solution_is_its_stub(course: Course) -> None:
    for stub in {exercise.stub for exercise in course.exercises}:
        solution = (ROOT / "solutions" / stub).read_text(encoding="utf-8")
        kept, inside = [], False
        for line in stub_lines_first(solution, stub).split("\n"):
            inside = (inside or line.strip() == BEGIN) and line.strip() != END
            if not inside and line.strip() != END:
                kept.append(line)
        assert "\n".join(kept) == make_stub(solution, stub)


def test_of_every_lesson_a_notebook_is_read_as_its_files_are(course: Course, tmp_path: Path) -> None:
    """So that a notebook's grade is that of the files: the same kernels are run, and a stub is not started."""
    reference = Reference.load(course, SECRET)
    for stub in {exercise.stub for exercise in course.exercises}:
        (tmp_path / "files" / stub).parent.mkdir(parents=True, exist_ok=True)
        text = stub_lines_first((ROOT / "solutions" / stub).read_text(encoding="utf-8"), stub)
        (tmp_path / "files" / stub).write_text(text, encoding="utf-8")
    files, _ = plan_exercises(course, tmp_path / "files", course.exercises, reference)
    kinds = {"solved": nbgrader.source_notebooks(course), "released": nbgrader._as_released(course)}
    for kind, notebooks in kinds.items():
        (tmp_path / kind).mkdir()
        for name, text in notebooks.items():
            (tmp_path / kind / name).write_text(text, encoding="utf-8")
    solved, notes = plan_exercises(course, tmp_path / "solved", course.exercises, reference)
    assert notes == ()
    assert [plan.mark for plan in solved] == [plan.mark for plan in files]
    assert None not in [plan.mark for plan in solved]
    released, _ = plan_exercises(course, tmp_path / "released", course.exercises, reference)
    assert {plan.outcome for plan in released} == {"not-started"}


@pytest.mark.exhaustive
def test_the_whole_course_gives_nothing_away(course: Course, tmp_path: Path) -> None:
    """Also where more than a function's body is to be written, as a bonus's settings."""
    written = nbgrader.write_assignment(course, tmp_path)
    assert len(written.notebooks) == len(course.lessons)
    for name, text in nbgrader._as_released(course).items():
        source = cells((tmp_path / "source" / written.name / name).read_text(encoding="utf-8"))
        for grade_id, cell in cells(text).items():
            kept = "".join(source[grade_id]["source"])
            while BEGIN in kept:  # as nbgrader does
                begin, end = kept.index(BEGIN), kept.index(END)
                kept = kept[: kept.rindex("\n", 0, begin) + 1] + kept[kept.find("\n", end) + 1 or len(kept) :]
            assert kept.split() == "".join(cell["source"]).split()


TEXT = f"""\
import triton

# How wide a tile is.
BLOCK = 32
{BEGIN}
#: # TODO: the settings.
#: WIDTH = 1
WIDTH = 4


def secret(x):
    return x + 1
{END}


def answer(x):
    {BEGIN}
    #: return x
    return secret(x)
    {END}
"""


def test_what_stands_in_a_region_brings_the_region_along(course: Course) -> None:
    answer = replace(course.exercises[0].functions[0], name="answer")
    exercise = replace(course.exercises[0], functions=(answer,))
    told = functions_of(exercise, [exercise], TEXT, first=True)
    head = "# How wide a tile is.\nBLOCK = 32"
    assert told.startswith(f"{head}\n{BEGIN}\n#: # TODO: the settings.")
    assert told.count("def secret") == told.count("def answer") == 1
    stub = f"{head}\n# TODO: the settings.\nWIDTH = 1\n\n\ndef answer(x):\n    return x"
    assert make_stub(told, "x").rstrip() == stub
    assert functions_of(exercise, [exercise], make_stub(TEXT, "x"), first=True).rstrip() == stub
    assert "WIDTH" not in functions_of(exercise, [exercise], TEXT, first=False)


def test_released_again_what_was_changed_is_kept_out_of_nbgraders_way(lesson1: Path, tmp_path: Path) -> None:
    command = ["release", "--root", str(lesson1), "--nbgrader", str(tmp_path)]
    first = CliRunner().invoke(cli, command)
    assert first.exit_code == 0, first.output
    assert f"nbgrader generate_assignment {NAME}" in first.output
    place = tmp_path / "source" / NAME
    notebook = place / "lesson1.ipynb"
    whole, files = notebook.read_bytes(), sorted(place.rglob("*"))
    notebook.write_bytes(b"{} edited")
    (tmp_path / nbgrader.CONFIG).write_text("c = get_config()\n")
    second = CliRunner().invoke(cli, command)
    assert second.exit_code == 0, second.output
    assert "code_stub" in second.stderr
    assert notebook.read_bytes() == whole
    assert sorted(place.rglob("*")) == files
    (kept,) = (tmp_path / "replaced" / NAME).iterdir()
    assert kept.read_bytes() == b"{} edited"
    assert (tmp_path / nbgrader.CONFIG).read_text() == "c = get_config()\n"


def test_a_handout_that_shows_a_solution_is_refused(lesson1: Path, tmp_path: Path) -> None:
    course = load_course(lesson1)
    handout = course.exercises[0].handout
    before = handout.read_text(encoding="utf-8")
    region = (lesson1 / "solutions" / course.exercises[0].stub).read_text().split(BEGIN)[1].split(END)[0]
    handout.write_text(f"{before}\n```python\n{region}```\n", encoding="utf-8")
    try:
        with pytest.raises(LeakError):
            nbgrader.write_assignment(course, tmp_path / "out")
    finally:
        handout.write_text(before, encoding="utf-8")
    assert not (tmp_path / "out").exists()


@pytest.mark.exhaustive
def test_nbgrader_releases_grades_and_gives_feedback(
    lesson1: Path, tmp_path: Path, nbgrader_python: Path, course: Course, cpu_grader: Grader
) -> None:
    small = load_course(lesson1)
    nbgrader.write_assignment(small, tmp_path)
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    started = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": started, "display_name": "Python 3", "language": "python", "env": {"PYTHONPATH": str(ROOT)}}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    home = {**os.environ, "HOME": str(tmp_path), "JUPYTER_PATH": str(tmp_path / "jupyter"), "PYTHONWARNINGS": "ignore"}
    home["PATH"] = os.pathsep.join((str(nbgrader_python.parent), home["PATH"]))
    home.pop("PYTHONPATH", None)
    command = [nbgrader_python, "-c", _NBGRADER, NAME, "ann", Path(_nbgrader_writer.__file__).parent, _official()]
    done = subprocess.run(command, cwd=tmp_path, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])

    # Public checks: the right kernel whole, the other in part, without anything to grade by hand.
    assert found["public"]["vector_add"] == 2
    assert 0 < found["public"]["fused_scale_shift"] < 2
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "feedback").rglob("*.html")]
    assert len(pages) == 1
    assert "Only public checks count in this cell." in pages[0]
    # The official scores of an export take their place; comments hang on the cells that students wrote in.
    scores, comments = found["official"]
    assert scores == {"vector_add": 1.5, "fused_scale_shift": 0.25}
    assert comments["vector_add-answer"] == "official"

    # What nbgrader hands out is not started; what comes back is read as text, and graded with hidden checks.
    exercises = of_lesson(course, 1)
    released, _ = plan_exercises(course, tmp_path / "release" / NAME / "lesson1.ipynb", exercises, None)
    assert {plan.outcome for plan in released} == {"not-started"}
    assert BEGIN not in (tmp_path / "release" / NAME / "lesson1.ipynb").read_text(encoding="utf-8")
    reference = Reference.load(course, SECRET)
    result = cpu_grader.grade(Request(tmp_path / "submitted" / "ann", exercises, reference=reference, targets=False))
    outcomes: Mapping[str, str] = {exercise.id: exercise.outcome for exercise in result.exercises}
    assert outcomes == {"vector_add": "pass", "fused_scale_shift": "partial"}


def _official() -> str:
    """What `course export --to nbgrader` would hand to its writer, with scores that public checks did not give."""
    ids = {"vector_add": 1.5, "fused_scale_shift": 0.25}
    student = {
        "id": "ann",
        "timestamp": None,
        **dict.fromkeys(("first_name", "last_name", "email", "lms_user_id"), ""),
        "notebooks": [
            {
                "name": "lesson1",
                "penalty": 0.0,
                "cells": [
                    {"id": id, "answer": f"{id}-answer", "auto": score, "manual": None, "comment": "official"}
                    for id, score in ids.items()
                ],
            }
        ],
    }
    made = [{"id": id, "max_score": 2.0, "answer": f"{id}-answer"} for id in ids]
    return json.dumps(
        {
            "assignment": {"name": NAME, "duedate": None},
            "notebooks": [{"name": "lesson1", "cells": made}],
            "students": [student],
        }
    )
