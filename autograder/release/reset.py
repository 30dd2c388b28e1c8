"""Put an exercise back to its stub, function by function, so that other work in the same file stays."""

from __future__ import annotations

import ast
from pathlib import Path

from autograder.catalogue import Course, Exercise
from autograder.errors import UsageError
from autograder.handin import split_lines
from autograder.release.files import copy_aside
from autograder.release.stubs import pristine_stubs


def reset_exercise(course: Course, exercise: Exercise, path: Path) -> Path | None:
    """Replace the exercise's functions in ``path`` by the stub's, or write the whole stub if the file is gone.

    Returns the copy that was made of the file, or None if there was nothing to change.

    Raises:
        UsageError: the file does not parse, so that its functions cannot be told apart.
    """
    pristine = pristine_stubs(course)[exercise.stub]
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pristine, encoding="utf-8")
        return None
    if not path.is_file():
        raise UsageError(f"{path} is no ordinary file. Move it away and reset again.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read as UTF-8 text. Save it as UTF-8, or delete it and reset again."
        ) from error
    names = [function.name for function in exercise.functions]
    updated = _replace(text, pristine, names, path)
    if updated == text:
        return None
    copy = copy_aside(path)
    path.write_text(updated, encoding="utf-8")
    return copy


def _replace(text: str, pristine: str, names: list[str], path: Path) -> str:
    lines, stub_lines = split_lines(text), split_lines(pristine)
    try:
        spans, stub_spans = _spans(text), _spans(pristine)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line})" if line else ""
        raise UsageError(
            f"{path} does not parse{where}, so its functions cannot be told apart. Mend that line first, or rename the "
            "file and reset again to get a whole fresh stub."
        ) from error
    edits: list[tuple[int, int, list[str]]] = []
    for name in names:
        first, last = stub_spans[name][-1]
        fresh = stub_lines[first - 1 : last]
        places = spans.get(name, [])
        if not places:
            edits.append((len(lines) + 1, len(lines), ["", "", *fresh]))
        for number, (start, end) in enumerate(places):  # of several definitions the last counts: keep only one
            edits.append((start, end, fresh if number == len(places) - 1 else []))
    for start, end, fresh in sorted(edits, reverse=True):
        lines[start - 1 : end] = fresh
    return "\n".join(lines) + "\n"


def _spans(text: str) -> dict[str, list[tuple[int, int]]]:
    """First and last line of every top-level function, by name; a stub's trailing comments belong to it."""
    lines = split_lines(text)
    spans: dict[str, list[tuple[int, int]]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            while last < len(lines) and lines[last].startswith((" ", "\t")) and lines[last].strip().startswith("#"):
                last += 1
            spans.setdefault(node.name, []).append((first, last))
    return spans
