"""Keys and heads of syntax trees: what is told apart in a glance never has one key."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from autograder.release._syntax import expressions, head, key

ROOT = Path(__file__).parents[2]


def trees_of(path: Path) -> list[ast.AST]:
    parts = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    return [part for part in parts if isinstance(part, (ast.stmt, ast.expr))]


def test_trees_with_one_key_have_one_head() -> None:
    heads = defaultdict(set)
    for path in [*(ROOT / "solutions").rglob("*.py"), *(ROOT / "course").rglob("launch.py")]:
        for part in trees_of(path):
            heads[key([part])].add(head(part))
    assert len(heads) > 500
    assert [item for item, found in heads.items() if len(found) > 1] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x += y", "a = a + b"),
        ("x: int = tl.load(p)", "x = tl.load(p)"),
        ("for i in range(3):\n    'words'\n    x = 1", "for j in range(3):\n    y = 1"),
        ("return p.to(tl.float32)", "return q.to(tl.float32)"),
    ],
)
def test_what_has_one_key_in_other_words_has_one_head(one: str, other: str) -> None:
    first, second = ast.parse(one).body[0], ast.parse(other).body[0]
    assert key([first]) == key([second])
    assert head(first) == head(second)


def test_expressions_leave_out_those_of_statements_within() -> None:
    loop = ast.parse("for i in range(n):\n    x = i + 1").body[0]
    assert {ast.unparse(part) for part in expressions(loop)} == {"i", "range(n)", "range", "n"}
