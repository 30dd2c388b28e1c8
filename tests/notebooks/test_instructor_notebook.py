"""The instructor's notebook, executed from top to bottom on a synthetic class."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.errors import CourseError
from autograder.release.notebooks import notebook_text
from tests.lessons import keep_lesson
from tests.synthetic_class import write_all

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
NotebookClient = pytest.importorskip("nbclient", reason="nbclient is not installed").NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "course" / "notebooks"
SOURCES = sorted(NOTEBOOKS.glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_generating_a_notebook_again_changes_nothing(source: Path) -> None:
    text = notebook_text(source.read_text(encoding="utf-8"), source.name)
    assert source.with_suffix(".ipynb").read_text(encoding="utf-8") == text


def test_text_code_and_shell_lines_become_cells() -> None:
    source = "# %% [markdown]\n# # Title\n#\n# more\n\n# %%\nx = 1\n# !ls {x}\n# a comment\n\n\n# %%\n# %pip list\n"
    cells = nbformat.reads(notebook_text(source, "n.py"), as_version=4).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [
        ("markdown", "# Title\n\nmore"),
        ("code", "x = 1\n!ls {x}\n# a comment"),
        ("code", "%pip list"),
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [("x = 1\n# %%\n", "line 1: a notebook begins"), ("# %% [markdown]\ntext\n", "line 2: a line of a text cell")],
)
def test_what_belongs_to_no_cell_is_named(source: str, words: str) -> None:
    with pytest.raises(CourseError, match=words):
        notebook_text(source, "n.py")


@pytest.mark.exhaustive
def test_the_instructor_notebook_grades_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = tmp_path / "instructor's course"
    for part in ("course", "solutions", "assignments"):
        shutil.copytree(ROOT / part, course / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(course, 7)
    write_all(tmp_path / "class", 7)
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in ("grade", "course"):  # the commands as pip would install them, of the code under test
        script = commands / name
        script.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m autograder.cli.{name} \"$@\"\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COURSE", str(course))
    monkeypatch.setenv("DOWNLOAD", str(tmp_path / "class" / "canvas.zip"))
    monkeypatch.setenv("ROSTER", str(tmp_path / "class" / "canvas_gradebook.csv"))
    monkeypatch.setenv("WORK", str(tmp_path / "work"))
    nbgrader = ROOT / ".venv-nbgrader"
    monkeypatch.setenv("NBGRADER", str(nbgrader))
    notebook = nbformat.read(NOTEBOOKS / "instructor_grade.ipynb", as_version=4)
    if not nbgrader.is_dir():  # everything else is executed all the same
        notebook.cells = [cell for cell in notebook.cells if "--to nbgrader" not in cell.source]
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    )
    assert "graded 6, unchanged 0" in printed
    with zipfile.ZipFile(tmp_path / "work" / "graded.zip") as archive:
        names = archive.namelist()
    assert {"canvas.csv", "grades.csv", "results/report.html", "results/grades.csv"} <= set(names)
    assert (
        sum(name.startswith("results/feedback/") and name.endswith(".html") for name in names) == 6
    )  # Canvas does not name who handed in nothing
    assert not any("secret" in name or "/.kept" in name for name in names)
    if nbgrader.is_dir():
        assert "gradebook.db" in names
