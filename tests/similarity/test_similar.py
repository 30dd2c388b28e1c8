"""Which hand-ins are worth reading side by side, and which are not."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from autograder.bulk.hand_ins import list_hand_ins
from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.similarity import Similar, similar_hand_ins

pytest.importorskip("copydetect", reason="copydetect is not installed")

ROOT = Path(__file__).parents[2]
STUB = "lesson7/one_shot_attention.py"
UNUSUAL = ROOT / "tests" / "mistakes" / "one_shot_attention" / "unusual"
# Right answers that go about it in ways of their own.
ONE, OTHER, THIRD = (
    (UNUSUAL / f"{name}.py").read_text() for name in ("scaled_query", "scores_transposed", "written_out_whole")
)


def disguised(text: str) -> str:
    """Every variable renamed, functions in another order, neighbours that do not mind swapped; no comments."""
    tree = ast.parse(text)
    given = {"tl", "triton", "float", "range"} | {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.copy_location(ast.Name(node.id if node.id in given else f"my_{node.id}", node.ctx), node)

        def visit_arg(self, node: ast.arg) -> ast.arg:
            node.arg = f"my_{node.arg}"
            return node

    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        Rename().visit(function)
        body = function.body
        for at in range(len(body) - 1):
            if all(isinstance(node, ast.Assign) for node in body[at : at + 2]) and _independent(*body[at : at + 2]):
                body[at : at + 2] = body[at + 1], body[at]
    rest = [node for node in tree.body if node not in functions]
    return ast.unparse(ast.Module([*rest, *reversed(functions)], []))


def _independent(one: ast.stmt, other: ast.stmt) -> bool:
    def names(node: ast.stmt, kind: type) -> set[str]:
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}

    written, read = names(one, ast.Store), names(one, ast.Load)
    return written.isdisjoint(names(other, ast.Load) | names(other, ast.Store)) and read.isdisjoint(
        names(other, ast.Store)
    )


def compare(course: Course, folder: Path, **texts: str) -> Similar:
    for student, text in texts.items():
        path = folder / student / STUB
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return similar_hand_ins(course, list_hand_ins(folder)[0])


def test_a_copy_with_other_names_in_another_order_is_listed_with_the_lines(course: Course, tmp_path: Path) -> None:
    copy = disguised(ONE)
    assert copy != ast.unparse(ast.parse(ONE))
    found = compare(course, tmp_path, ann=ONE, bob=copy, cleo=OTHER)
    (pair,) = found.pairs
    assert {pair.one.student, pair.other.student} == {"ann", "bob"}
    assert pair.stub == STUB
    assert pair.share > 0.6
    for side, text in ((pair.one, ONE), (pair.other, copy)):
        lines = text.splitlines()
        shown = [(int(place.removeprefix("line ")), line) for place, line in side.passages if place]
        assert len(shown) > 5
        assert all(lines[number - 1] == line for number, line in shown)


def test_independent_right_answers_are_not_listed(course: Course, tmp_path: Path) -> None:
    found = compare(course, tmp_path, ann=ONE, bob=OTHER, cleo=THIRD)
    assert found.compared == 3
    assert found.pairs == ()


def test_stubs_and_answers_like_the_reference_have_nothing_of_their_own(course: Course, tmp_path: Path) -> None:
    stub = (ROOT / "assignments" / STUB).read_text(encoding="utf-8")
    solution = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
    begun = stub.replace("# TODO", "x = 1  # TODO", 1)
    found = compare(course, tmp_path, ann=stub, bob=stub, cleo=solution, dora=disguised(solution), eve=begun)
    assert found.pairs == ()
    assert (found.compared, found.small, found.bare) == (0, 2, 3)


def test_what_many_have_is_nobodys_own(course: Course, tmp_path: Path) -> None:
    """As where a teaching assistant wrote half a kernel on the blackboard."""
    found = compare(course, tmp_path, **{f"student{number}": ONE for number in range(8)}, zoe=OTHER)
    assert found.pairs == ()
    assert found.compared == 1


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None} for cell in cells
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made})


def test_of_notebooks_only_the_cells_that_answer_are_compared(course: Course, tmp_path: Path) -> None:
    """Setting up, the reference's answer to another stub, and a right answer of one's own: nothing in common."""
    same = (ROOT / "solutions" / "lesson7" / "flash_attention.py").read_text(encoding="utf-8")
    setup = "\n".join(f"print('setting up, step', {number}, number_of({number}) + {number})" for number in range(60))
    texts = {"ann": ONE, "bob": OTHER, "cleo": disguised(ONE)}
    for student, text in texts.items():
        (tmp_path / student).mkdir()
        (tmp_path / student / "lesson7.ipynb").write_text(notebook(setup, text, same), encoding="utf-8")
    found = similar_hand_ins(course, list_hand_ins(tmp_path)[0])
    (pair,) = found.pairs
    assert (pair.stub, pair.one.student, pair.other.student) == (STUB, "ann", "cleo")
    assert {place.partition(",")[0] for place, _ in pair.one.passages if place} == {"cell 2"}
    assert (found.compared, found.small, found.bare) == (3, 0, 3)


def test_a_hand_in_without_a_file_and_one_that_is_far_too_long_are_named(course: Course, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = compare(course, tmp_path, ann=ONE + "#" * 100_000)
    assert set(found.unread) == {f"ann: {STUB}", "empty"}


def test_a_file_that_is_not_read_is_named(course: Course, tmp_path: Path) -> None:
    """Else a copy in another encoding would be in none of the numbers."""
    (tmp_path / "bob" / "lesson7").mkdir(parents=True)
    (tmp_path / "bob" / STUB).write_bytes(b"# caf\xe9\n" + ONE.encode())
    found = compare(course, tmp_path, ann=ONE)
    assert (found.compared, found.small, found.unread) == (1, 0, (f"bob: {STUB}",))


def test_without_the_library_it_says_what_to_install(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copydetect", None)
    with pytest.raises(UsageError, match="copydetect has to be installed: pip install"):
        similar_hand_ins(course, ())
