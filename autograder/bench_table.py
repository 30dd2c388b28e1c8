"""The tables of exercise.toml that say how a kernel is measured: ``[bench]``, ``[speed]`` and ``[settings]``.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from autograder.errors import CourseError
from autograder.toml_table import Table

Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What `grade bench` runs: ``case`` with each of ``values`` for its ``keys``, once for each of ``variants``.

    ``baselines`` are functions of the exercise's bench.py, with what tables call them.
    """

    keys: tuple[str, ...]
    values: tuple[int, ...]
    variants: tuple[Case, ...]
    case: Case
    baselines: Mapping[str, str]

    def cases(self, variant: Case) -> tuple[Case, ...]:
        """The cases of one series, in the order of ``values``."""
        return tuple(
            MappingProxyType({**self.case, **variant, **dict.fromkeys(self.keys, value)}) for value in self.values
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A check that passes where a kernel is ``at_least`` so many times as fast as the baseline."""

    id: str
    at_least: float
    weight: float
    proves: str


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a kernel has to be: how often it does ``cases`` while the baseline ``against`` does them once.

    The ratio is the geometric mean over the cases.  ``capability`` is what a GPU has to have for the exercise.
    """

    against: str
    cases: tuple[Case, ...]
    capability: tuple[int, int]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a hand-in's ``LAUNCH`` holds: for each value of the case's key ``by``, an allowed value of each name."""

    by: str
    of: tuple[int, ...]
    allowed: Mapping[str, tuple[Any, ...]]


def read_bench(table: Table, case_of: Callable[[Table], Case]) -> Bench | None:
    """The ``[bench]`` of an exercise, if there is one.

    Raises:
        CourseError: a key is missing, unknown or of the wrong kind.
    """
    if "bench" not in table.names():
        return None
    entry = table.table("bench")
    case = case_of(entry)
    bench = Bench(
        keys=entry.texts("keys"),
        values=entry.integers("values"),
        variants=_cases(entry, "variants") if "variants" in entry.names() else (MappingProxyType({}),),
        case=case,
        baselines=MappingProxyType(entry.mapping("baselines")),
    )
    entry.finish()
    if not (bench.keys and bench.values and bench.baselines and bench.variants):
        raise CourseError(f"{entry.where}: keys, values, variants and baselines must have something in them.")
    if unknown := [key for key in (*bench.keys, *(key for x in bench.variants for key in x)) if key not in case]:
        raise CourseError(f"{entry.where}: the case has no {unknown[0]!r}.")
    if not all(name.isidentifier() and isinstance(label, str) for name, label in bench.baselines.items()):
        raise CourseError(f"{entry.where}: 'baselines' maps functions of bench.py to what tables call them.")
    return bench


def read_speed(table: Table, bench: Bench | None) -> Speed | None:
    """The ``[speed]`` of an exercise, if there is one.

    Raises:
        CourseError: it is malformed, or its baseline is none of those of ``[bench]``.
    """
    if "speed" not in table.names():
        return None
    entry = table.table("speed")
    against, cases, capability = entry.text("against"), _cases(entry, "cases"), entry.integers("capability")
    steps = []
    for each in entry.tables("steps"):
        steps.append(Step(each.text("id"), each.number("at_least"), each.number("weight", 1.0), each.text("proves")))
        each.finish()
    entry.finish()
    if bench is None or against not in bench.baselines:
        raise CourseError(f"{entry.where}: 'against' names {against!r}, which is none of [bench]'s baselines.")
    if not cases or not steps or len(capability) != 2:
        raise CourseError(f"{entry.where}: it needs cases, steps, and a 'capability' of two numbers, such as [8, 0].")
    whole = tuple(MappingProxyType({**bench.case, **case}) for case in cases)
    return Speed(against, whole, (capability[0], capability[1]), tuple(steps))


def read_settings(table: Table) -> Settings | None:
    """The ``[settings]`` of an exercise, if there are any.

    Raises:
        CourseError: they are malformed.
    """
    if "settings" not in table.names():
        return None
    entry = table.table("settings")
    by, of, allowed = entry.text("by"), entry.integers("of"), entry.mapping("allowed")
    entry.finish()
    for name, values in allowed.items():
        numbers = isinstance(values, list) and values and all(isinstance(value, int) for value in values)
        if not numbers or not name.isidentifier():
            raise CourseError(f"{entry.where}: 'allowed' lists the whole numbers, or flags, that {name!r} may be.")
    if not of or not allowed:
        raise CourseError(f"{entry.where}: 'of' and 'allowed' must have something in them.")
    return Settings(by, of, MappingProxyType({name: tuple(values) for name, values in allowed.items()}))


def _cases(entry: Table, key: str) -> tuple[Case, ...]:
    return tuple(MappingProxyType({name: one.value(name) for name in one.names()}) for one in entry.tables(key))
