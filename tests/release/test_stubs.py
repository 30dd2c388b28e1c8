"""``assignments/`` is what the solutions make, and pristine stubs come from where they should."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from autograder.catalogue import Course, load_course
from autograder.errors import CourseError, MarkerError
from autograder.release.bundle import release, write_stubs
from autograder.release.markers import BEGIN, END, find_regions
from autograder.release.stubs import PRISTINE, generate_stubs, pristine_stubs, stub_files

from .making import ROOT, make_course


def test_making_assignments_anew_changes_nothing(course: Course) -> None:
    for stub, text in generate_stubs(course).items():
        assert (ROOT / "assignments" / stub).read_text(encoding="utf-8") == text, f"run `make stubs` for {stub}"


def test_assignments_hold_the_stubs_and_nothing_else(course: Course) -> None:
    files = {path.relative_to(ROOT / "assignments").as_posix() for path in (ROOT / "assignments").rglob("*.py")}
    assert files == set(stub_files(course))


def test_every_exercise_has_its_functions_in_its_stub(course: Course) -> None:
    stubs = generate_stubs(course)
    for exercise in course.exercises:
        nodes = {n.name: n for n in ast.parse(stubs[exercise.stub]).body if isinstance(n, ast.FunctionDef)}
        for function in exercise.functions:
            assert [argument.arg for argument in nodes[function.name].args.args] == list(function.parameters)


def test_stubs_hold_no_marker_and_no_hidden_line(course: Course) -> None:
    for stub, text in generate_stubs(course).items():
        assert BEGIN not in text
        assert END not in text
        solution = (ROOT / "solutions" / stub).read_text(encoding="utf-8")
        hidden = {line for region in find_regions(solution, stub) for line in region.hidden if line.strip()}
        assert not hidden & set(text.split("\n"))


def test_pristine_copies_are_taken_before_solutions(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    assert pristine_stubs(course) == generate_stubs(course)
    for stub in stub_files(course):
        path = tmp_path / PRISTINE / stub
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# copy\n")
    assert set(pristine_stubs(course).values()) == {"# copy\n"}
    path.unlink()
    with pytest.raises(CourseError, match="Unpack the course bundle again"):
        pristine_stubs(course)


def test_a_missing_solution_is_a_plain_sentence(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    (tmp_path / "solutions" / "lesson7" / "flash_attention.py").unlink()
    with pytest.raises(CourseError, match=r"flash_attention\.py cannot be read"):
        generate_stubs(course)


def test_a_solution_that_its_stub_would_give_away_is_neither_released_nor_graded_as_a_stub(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    path = tmp_path / "solutions" / "lesson7" / "one_shot_attention.py"
    text = path.read_text(encoding="utf-8")
    begin, end = text.index(f"    {BEGIN}"), text.index(f"    {END}")
    kept = [line for line in text[begin:end].split("\n")[1:] if not line.lstrip().startswith("#:")]
    path.write_text(text[:begin] + "\n".join(kept) + text[end:].partition("\n")[2], encoding="utf-8")
    for refused in (generate_stubs, pristine_stubs, write_stubs, lambda given: release(given, tmp_path / "out")):
        with pytest.raises(
            MarkerError, match=r"one_shot_attention\.py, line \d+: load_tiles has no solution region"
        ) as told:
            refused(course)
        assert told.value.exit_code == 3
    assert not (tmp_path / "assignments").exists()
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_writing_stubs_anew_keeps_what_was_worked_on(course: Course, tmp_path: Path) -> None:
    for folder in ("course", "solutions", "assignments"):
        shutil.copytree(course.root / folder, tmp_path / folder)
    mine = load_course(tmp_path)
    worked_on = "lesson7/one_shot_attention.py"
    path = tmp_path / "assignments" / worked_on
    path.write_text("# my work\n", encoding="utf-8")
    copies = write_stubs(mine)
    assert list(copies) == list(stub_files(mine))
    kept = copies[worked_on]
    assert kept is not None
    assert kept.read_text(encoding="utf-8") == "# my work\n"
    assert [stub for stub, copy in copies.items() if copy is not None] == [worked_on]
    assert path.read_text(encoding="utf-8") == generate_stubs(mine)[worked_on]
    assert all((tmp_path / "assignments" / stub).is_file() for stub in copies)
