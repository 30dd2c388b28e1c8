"""``LAUNCH = {...}``: how a kernel is to be launched, read from a hand-in as data and never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.lift import _parse
from autograder.lift._reasons import brief, shown
from autograder.lift._types import Problem, Refusal

LaunchSettings = Mapping[int, Mapping[str, int]]
"""For each value of one key of a case, a whole number or flag by name."""


def launch_settings(
    text: str, name: str, by: str, of: Sequence[int], allowed: Mapping[str, Sequence[Any]]
) -> LaunchSettings | Problem:
    """The literal called ``name``: ``{64: {"num_warps": 4, ...}, ...}`` with a table for each number in ``of``.

    Each table gives every name in ``allowed`` one of its values.  Anything else is a problem, ``refused`` with the line
    and what may stand there; a missing literal is ``not-started``.
    """
    found = None
    for statement in _parse.parse(text).statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _assigns(statement, name):
            found = statement
    if found is None or found.value is None:
        return Problem("not-started", None, f"There is no {name} in this file: it says how the kernel is launched.")
    try:
        return _settings(found.value, name, by, of, allowed)
    except Refusal as refusal:
        return Problem(refusal.outcome, refusal.line, refusal.message)


def _assigns(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _settings(
    node: ast.expr, name: str, by: str, of: Sequence[int], allowed: Mapping[str, Sequence[Any]]
) -> LaunchSettings:
    wanted = f"a table of settings for each {by}, that is for {_list(of)}"
    found: dict[int, Mapping[str, int]] = {}
    for key, value in _items(node, f"{name} must be written out as {wanted}."):
        number = _number(key)
        if number is None or number not in of:
            raise Refusal(key.lineno, f"{name} needs {wanted}, and here is {shown(brief(ast.unparse(key)))}.")
        found[number] = _table(value, f"{name}[{number}]", allowed)
    if missing := [number for number in of if number not in found]:
        raise Refusal(node.lineno, f"{name} needs {wanted}; {missing[0]} is missing.")
    return found


def _table(node: ast.expr, name: str, allowed: Mapping[str, Sequence[Any]]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for key, value in _items(node, f"{name} must be a table, as in {{{_example(allowed)}}}."):
        setting = key.value if isinstance(key, ast.Constant) else None
        if not isinstance(setting, str) or setting not in allowed:
            known = ", ".join(allowed)
            raise Refusal(key.lineno, f"{name} has no setting {shown(brief(ast.unparse(key)))}. There are: {known}.")
        number = _number(value)
        if not any(number == one and type(number) is type(one) for one in allowed[setting]) or number is None:
            raise Refusal(value.lineno, f"{setting} in {name} must be one of {_list(allowed[setting])}, as a number.")
        found[setting] = number
    if missing := [setting for setting in allowed if setting not in found]:
        values = _list(allowed[missing[0]])
        raise Refusal(node.lineno, f"{name} says nothing of {missing[0]}, which is one of {values}.")
    return found


def _items(node: ast.expr, otherwise: str) -> list[tuple[ast.expr, ast.expr]]:
    if not isinstance(node, ast.Dict) or any(key is None for key in node.keys):
        raise Refusal(node.lineno, otherwise)
    return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]


def _number(node: ast.expr) -> int | None:
    """The value of a whole number or a flag; None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _example(allowed: Mapping[str, Sequence[Any]]) -> str:
    name, values = next(iter(allowed.items()))
    return f'"{name}": {values[0]}, ...'


def _list(values: Sequence[Any]) -> str:
    words = [str(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
