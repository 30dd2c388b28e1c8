"""The ``[[probes]]`` of an exercise.toml: cases that count for nothing, run after a failure to see what is behind it.

Most tell known mistakes apart.  Those with a ``view`` are shown instead, and take no part in naming: ``mass`` shows
which keys an attention's output is made of, ``series`` from which step on the result is wrong.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from autograder.errors import CourseError
from autograder.toml_table import Table

_VIEWS = ("mass", "series")
_MOST_STEPS = 8

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProbeCase:
    """One launch: probes of one ``seed_of`` have their inputs made from the same seed."""

    id: str
    case: Case
    devices: tuple[str, ...]
    seed_of: str


@dataclass(frozen=True, slots=True)
class MassView:
    """One probe whose values are one-hot by chunk of keys, so that ``output`` has one column of weights a chunk.

    ``rows`` and ``keys`` are the case's keys for the queries of a tile and the keys of a chunk, ``length`` that for the
    number of keys.  ``condition`` says in words what is special, ``hidden`` what keys without any weight are, ``of``
    what some keys together are called.
    """

    probe: str
    output: str
    rows: str
    keys: str
    length: str
    condition: str = ""
    hidden: str = ""
    of: str = "chunk"

    @property
    def probes(self) -> tuple[str, ...]:
        return (self.probe,)


@dataclass(frozen=True, slots=True)
class SeriesView:
    """Probes of which each takes one step more than the one before, on inputs that are otherwise the same.

    ``steps`` holds how many each takes, ``of`` what a step is called.  ``condition`` says in words what is special,
    ``scope`` what is the same in all series and need not hold elsewhere.  ``only`` has words for an output that is
    wrong while all others are right.
    """

    probes: tuple[str, ...]
    steps: tuple[int, ...]
    of: str
    condition: str = ""
    scope: str = ""
    only: Mapping[str, str] = field(default_factory=dict)


View = MassView | SeriesView


@dataclass(frozen=True, slots=True)
class Probes:
    """All cases in their order, and what some of them are shown as."""

    cases: tuple[ProbeCase, ...] = ()
    views: tuple[View, ...] = ()


def read_probes(
    table: Table, outputs: Mapping[str, str], devices: tuple[str, ...], read_case: Callable[[Table], Case]
) -> Probes:
    """The ``[[probes]]`` of an exercise.

    Raises:
        CourseError: a key is missing, left over or of the wrong type, or an id is used twice.
    """
    if "probes" not in table.names():
        return Probes()
    cases: list[ProbeCase] = []
    views: list[View] = []
    for entry in table.tables("probes"):
        probe = ProbeCase(entry.text("id"), read_case(entry), entry.choices("devices", devices), entry.text("id"))
        made = [probe]
        if "view" in entry.names():
            kind = entry.choice("view", _VIEWS)
            if kind == "mass":
                views.append(_mass(entry, probe, outputs))
            else:
                made, series = _series(entry, probe, outputs)
                views.append(series)
        entry.finish()
        cases += made
    ids = [case.id for case in cases]
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise CourseError(f"{table.where}: the probe id {twice[0]!r} is used twice.")
    return Probes(tuple(cases), tuple(views))


def _mass(entry: Table, probe: ProbeCase, outputs: Mapping[str, str]) -> MassView:
    view = MassView(
        probe=probe.id,
        output=entry.text("output"),
        rows=entry.text("rows"),
        keys=entry.text("keys"),
        length=entry.text("length"),
        condition=entry.text("condition", ""),
        hidden=entry.text("hidden", ""),
        of=entry.text("of", "chunk"),
    )
    if view.output not in outputs:
        raise CourseError(f"{entry.where}: 'output' is {view.output!r}, which is none of those in [compare].")
    for key, name in (("rows", view.rows), ("keys", view.keys), ("length", view.length)):
        if not _counts(probe.case.get(name)):
            raise CourseError(f"{entry.where}: {key!r} names {name!r}, for which the case has no whole number above 0.")
    return view


def _series(entry: Table, probe: ProbeCase, outputs: Mapping[str, str]) -> tuple[list[ProbeCase], SeriesView]:
    key, values, of = entry.text("key"), entry.integers("values"), entry.text("of")
    if key not in probe.case:
        raise CourseError(f"{entry.where}: 'key' is {key!r}, and the case has no such key.")
    steps = tuple(value // values[0] for value in values) if values and values[0] > 0 else ()
    if not 2 <= len(values) <= _MOST_STEPS or tuple(step * values[0] for step in steps) != values:
        raise CourseError(f"{entry.where}: 'values' must be 2 to {_MOST_STEPS} multiples of the first of them.")
    if steps != tuple(range(1, len(values) + 1)):
        raise CourseError(f"{entry.where}: 'values' must grow by one step at a time, as in [32, 64, 96].")
    only = entry.mapping("only", {})
    for name, text in only.items():
        if name not in outputs or not isinstance(text, str):
            raise CourseError(
                f"{entry.where}: 'only' takes a text for an output of [compare], and {name!r} is not one."
            )
    made = [
        ProbeCase(f"{probe.id}_{step}", MappingProxyType({**probe.case, key: value}), probe.devices, probe.id)
        for step, value in zip(steps, values, strict=True)
    ]
    ids = tuple(case.id for case in made)
    condition, scope = entry.text("condition", ""), entry.text("scope", "")
    return made, SeriesView(ids, steps, of, condition, scope, MappingProxyType(only))


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
