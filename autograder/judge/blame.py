"""The part of a wrong state that is at fault: named only where the others show that it is that one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from autograder.judge.expected import Expected, State, wrong


@dataclass(frozen=True, slots=True)
class Fault:
    """``name`` is a part or an invariant, ``role`` the part at fault; None if it cannot be told.

    ``index`` is the row, counted from the first that was looked at, and the column where there is one.
    """

    name: str
    role: str | None
    index: tuple[int, ...]
    got: float
    expected: float


def differing(got: State, exact: State, plain: State, rows: slice) -> list[str]:
    """The names of what is not as expected in some of the rows."""
    return [name for name in exact if wrong(got[name], exact[name], plain[name])[rows].any()]


def find_fault(
    expected: Expected,
    got: State,
    exact: State,
    plain: State,
    rows: slice,
    judged: Sequence[str],
    assigned: Collection[str],
    contract: bool,
    maximal: bool,
) -> Fault | None:
    """What is wrong with a state in what is ``judged``, two invariants or one; None if nothing is.

    ``assigned`` are the parts that some variable holds.  ``contract`` if the parts are what the exercise asks for; else
    they may be kept in another scale, and ``maximal`` says whether m is shown to be the largest of the kernel's own
    scores.
    """
    values, rights, plains = (expected.invariants(state) for state in (got, exact, plain))
    failing = [name for name in differing(values, rights, plains, rows) if name in judged]
    if not failing:
        return None
    parts = differing(got, exact, plain, rows)
    name = failing[0]
    if contract:
        harmless = {role for item in rights if item not in failing for role in expected.roles(item) if role in parts}
        guilty = [role for role in parts if role not in harmless and any(role in expected.roles(x) for x in failing)]
        if guilty and not harmless:
            return _worst(guilty[0], guilty[0], got, exact, plain, rows)
        return _worst(name, (guilty or expected.roles(name))[-1], values, rights, plains, rows)
    known = [role for role in parts if role in assigned]
    sums = [role for role in known if role in expected.sums]
    others = [role for role in known if role not in expected.sums]
    if not others or not any(role in expected.roles(item) for item in judged for role in others):
        # The scale is right, or has no part in what is judged.
        guilty = [role for role in sums if any(role in expected.roles(item) for item in failing)]
        if len(guilty) == 1 or (guilty and len(failing) > 1 and not others):
            return _worst(guilty[0], guilty[0], got, exact, plain, rows)
        return _worst(name, None, values, rights, plains, rows)
    if not sums:
        return _worst(others[0], others[0], got, exact, plain, rows)
    scaled = expected.rescaled(got, exact)
    if scaled is not None:
        wanting = differing(scaled, exact, plain, rows)
        left = [role for role in expected.sums if role in assigned and role in wanting]
        if len(left) == 1 and any(role in assigned and role not in left for role in expected.sums):
            # Against the kernel's own scale the other is right.
            at = next(item for item in failing if left[0] in expected.roles(item))
            return _worst(at, left[0], values, rights, plains, rows)
    if len(failing) > 1 and maximal:
        return _worst(others[0], others[0], got, exact, plain, rows)
    return _worst(name, None, values, rights, plains, rows)


def _worst(name: str, role: str | None, got: State, exact: State, plain: State, rows: slice) -> Fault:
    index, value, right = worst(got[name], exact[name], plain[name], rows)
    return Fault(name, role, index, value, right)


def worst(
    got: torch.Tensor, exact: torch.Tensor, plain: torch.Tensor, rows: slice
) -> tuple[tuple[int, ...], float, float]:
    """Where two tensors differ by the most, and both values there."""
    bad = wrong(got, exact, plain)[rows]
    gap = torch.nan_to_num((got - exact)[rows].abs(), nan=torch.inf)
    flat = torch.where(bad, gap, -1.0).argmax()
    index = tuple(int(i) for i in torch.unravel_index(flat, bad.shape))
    return index, float(got[rows][index]), float(exact[rows][index])
