"""What students read follows the style page, as far as a list of words can tell."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# docs/messages.md names them; nothing that is hard for a reader is called easy, and nobody is blamed.
_WORDS = re.compile(r"\b(?:simply|obviously|of course|trivial(?:ly)?|you forgot|your mistake|just)\b", re.IGNORECASE)
_FOLDERS = ("judge", "worker", "lift", "reports", "handin", "watch", "attempts")
SOURCES = [path for name in _FOLDERS for path in (ROOT / "autograder" / name).rglob("*.py")]
SOURCES += [*(ROOT / "autograder").glob("*.py"), *(ROOT / "course" / "exercises").rglob("*.py")]
TEXTS = [path for pattern in ("handout.md", "hints.md") for path in (ROOT / "course" / "exercises").rglob(pattern)]
TEXTS += [*(ROOT / "course" / "lessons").glob("*.md"), *(ROOT / "course" / "site" / "pages").glob("*.md")]


def texts_of(path: Path) -> list[str]:
    """The strings of a source that may reach a student, and all of a text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [text]
    tree = ast.parse(text)
    own = path.name != "mistakes.py"  # there docstrings are the students' words
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docs = {node.body[0] for node in ast.walk(tree) if own and isinstance(node, documented) and ast.get_docstring(node)}
    hidden = {child for doc in docs for child in ast.walk(doc)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in hidden)
    return [node.value for node in strings if isinstance(node.value, str)]


@pytest.mark.parametrize("path", [*SOURCES, *TEXTS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_word_makes_light_of_it_or_blames(path: Path) -> None:
    assert [text for text in texts_of(path) if _WORDS.search(text)] == []
