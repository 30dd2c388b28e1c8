"""Which names Triton's language has, read from its source: nothing of it is imported here."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path

from autograder.trees import parse

PAGE = "https://triton-lang.org/main/python-api/triton.language.html"


def has(name: str) -> bool | None:
    """Whether ``tl`` has a name; None where that cannot be told."""
    names = _names()
    return name in names if names else None


@cache
def _names() -> frozenset[str]:
    """The names that ``triton.language`` makes known; none if it is not installed, or is not as it was."""
    try:
        found = importlib.util.find_spec("triton")
        if found is None or found.origin is None:
            return frozenset()
        tree = parse((Path(found.origin).parent / "language" / "__init__.py").read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return frozenset()
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names) if "load" in names else frozenset()
