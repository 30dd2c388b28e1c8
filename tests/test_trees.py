"""All that reads Python text on the judge's side does so by `autograder.trees`, which does it one at a time."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from autograder import trees

PACKAGE = Path(trees.__file__).parent
# A worker's child has one thread.
ELSEWHERE = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.name != "trees.py" and "worker" not in path.relative_to(PACKAGE).parts
)


@pytest.mark.parametrize("path", ELSEWHERE, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nothing_else_builds_trees_of_text(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    assert not [call.lineno for call in calls if ast.unparse(call) == "ast.parse"]
