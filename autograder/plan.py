"""What will be run for each exercise: which source, which functions, which pieces of others it builds on.

The hand-in is read and lifted here; nothing of it is executed.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from autograder.catalogue import LAUNCH, TIERS, Check, Course, Exercise, load_hidden
from autograder.errors import CourseError
from autograder.handin import HandIn, Place, Source, defined_again, defined_names, definitions, read_handin
from autograder.lift import CompactModule, LaunchSettings, LiftedFile, Problem, Wanted, launch_settings, lift
from autograder.release.stubs import pristine_stubs, stub_files

_SHOWN = 4  # places of a function that is defined again and again
_COMPARED = 500  # names of functions; more are in no honest file


@dataclass(frozen=True, slots=True)
class Reference:
    """What makes grading official: the solutions, the hidden checks and the secret behind their inputs."""

    folder: Path
    hidden: Mapping[str, tuple[Check, ...]]
    secret: bytes | None

    @classmethod
    def load(cls, course: Course, secret: bytes | None) -> Reference:
        """The reference in the course's ``solutions/`` folder.

        Raises:
            CourseError: hidden.toml is malformed.
        """
        folder = course.root / "solutions"
        return cls(folder, load_hidden(folder / "hidden.toml", course), secret)

    def function(self, exercise: Exercise, name: str) -> str:
        """The lifted source of one function of the solution."""
        path = self.folder / exercise.stub
        lifted = lift_for((exercise,), path.read_text(encoding="utf-8"))
        if problem := lifted.problem_of([name]):
            raise CourseError(f"{path}: {problem.message}")
        return lifted.module([name])


@dataclass(frozen=True, slots=True)
class Plan:
    """One exercise of one hand-in.

    ``outcome`` is set when there is nothing to run.  ``unbegun`` are the functions, of several, that are as they were
    handed out while others are not.  ``pieces`` maps each function that the kernel calls and that
    another exercise owns to that exercise.
    """

    exercise: Exercise
    checks: tuple[Check, ...]
    source: Source | None
    lifted: LiftedFile | None
    pieces: Mapping[str, Exercise]
    outcome: str | None = None
    message: str = ""
    line: int | None = None
    remarks: tuple[str, ...] = ()
    unbegun: tuple[str, ...] = ()
    settings: LaunchSettings = field(default_factory=dict)

    @property
    def file(self) -> str | None:
        return self.source.path if self.source else None

    @property
    def place(self) -> tuple[int | None, int | None]:
        """The cell, in a notebook, and the line in which the function starts."""
        if self.line is None or self.source is None:
            return None, self.line
        return self.source.place_of(self.line)

    @property
    def mark(self) -> str | None:
        """A hash of what is graded: the functions as they run, or all of a text that is not run; None without one."""
        if self.source is None or self.source.text is None or self.outcome == "not-started":
            return None
        text = self.source.text
        if self.outcome is None:
            with contextlib.suppress(ValueError):  # something that it calls cannot be run
                text = self.module(()).text
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def races(self) -> tuple[Check, ...]:
        """The checks on speed."""
        return tuple(check for check in self.checks if check.at_least is not None)

    @property
    def builds_on(self) -> tuple[str, ...]:
        """Ids of the exercises whose functions this one calls; none where nothing will be run."""
        if self.outcome is not None:
            return ()
        return tuple(dict.fromkeys(exercise.id for exercise in self.pieces.values()))

    def module(self, failed: Collection[str]) -> CompactModule:
        """The clean module, without the pieces of the ``failed`` exercises."""
        assert self.lifted is not None
        names = [function.name for function in self.exercise.functions]
        without = {name for name, owner in self.pieces.items() if owner.id in failed}
        module = self.lifted.compact(names, without)
        return replace(module, text=module.text + f"{LAUNCH} = {self.settings!r}\n") if self.settings else module

    def substitutes(self, failed: Collection[str], reference: Reference | None) -> Mapping[str, str]:
        """The reference's source for each piece of a failed exercise."""
        if reference is None:
            return {}
        return {name: reference.function(owner, name) for name, owner in self.pieces.items() if owner.id in failed}

    def locate(self, message: str, line: int | None) -> str:
        """A message with its place as the student knows it: a line, or a cell and a line in it."""
        if line is None or self.source is None:
            return message
        place = self.source.locate(line)
        return f"{place[0].upper()}{place[1:]}: {message}"


def plan_exercises(
    course: Course, path: Path, exercises: Sequence[Exercise], reference: Reference | None
) -> tuple[tuple[Plan, ...], tuple[str, ...]]:
    """Plans for ``exercises`` and all that they build on, in the course's order; and notes on the hand-in.

    Raises:
        HandInError: there is nothing readable at ``path``.
        CourseError: a stub or a solution is broken.
    """
    stubs = _Stubs(course)
    handin = _read(course, path, stubs)
    plans: dict[str, Plan] = {}
    todo = [exercise.id for exercise in exercises]
    while todo:
        exercise = course.exercise(todo.pop())
        if exercise.id in plans:
            continue
        plan = _plan(course, exercise, handin, stubs, reference)
        plans[exercise.id] = plan
        todo.extend(plan.builds_on)
    ordered = tuple(plans[exercise.id] for exercise in course.exercises if exercise.id in plans)
    return ordered, (*handin.notes, *_defined_again(ordered))


def started_in(course: Course) -> Callable[[Place, str], bool]:
    """Tells whether the text for a place differs from its pristine stub.

    Raises:
        CourseError: a stub is broken.
    """
    return _Stubs(course).started


def begun_in(course: Course) -> Callable[[Exercise, str], bool]:
    """Tells whether a text has an exercise's functions in it, and not as they were handed out.

    Raises:
        CourseError: a stub is broken.
    """
    stubs = _Stubs(course)
    return lambda exercise, text: not stubs.untouched(exercise, lift_for(_owners(course, exercise.stub), text))


class _Stubs:
    """The pristine stubs, and their fingerprints: an exercise is started when one of its functions differs."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._texts = pristine_stubs(course)
        self._lifted = {stub: lift_for(_owners(course, stub), text) for stub, text in self._texts.items()}

    def untouched(self, exercise: Exercise, lifted: LiftedFile) -> bool:
        """Whether every function of the exercise is missing or as it was handed out."""
        return all(
            _missing(lifted, function.name) or self.as_handed_out(exercise, lifted, function.name)
            for function in exercise.functions
        )

    def as_handed_out(self, exercise: Exercise, lifted: LiftedFile, name: str) -> bool:
        """Whether a function of the exercise is there, and is the stub's."""
        now = fingerprint(lifted, name)
        return now is not None and now == fingerprint(self._lifted[exercise.stub], name)

    def started(self, place: Place, text: str) -> bool:
        """Whether a text differs from the pristine stub in any exercise of its file."""
        stub = str(place)
        owners = _owners(self._course, stub)
        lifted = lift_for(owners, text)
        return not all(self.untouched(exercise, lifted) for exercise in owners)


def fingerprint(lifted: LiftedFile, name: str) -> str | None:
    """A function's fingerprint, also where it is refused; None if it is missing or does not parse."""
    if name in lifted.functions:
        return lifted.functions[name].fingerprint
    problem = lifted.problems.get(name)
    return problem.fingerprint if problem else None


def _missing(lifted: LiftedFile, name: str) -> bool:
    problem = lifted.problems.get(name)
    return problem is not None and problem.outcome == "not-started"


def _read(course: Course, path: Path, stubs: _Stubs) -> HandIn:
    places, names = [], {}
    for stub in stub_files(course):
        owners = _owners(course, stub)
        place = Place(owners[0].lesson, owners[0].file)
        places.append(place)
        names[place] = frozenset(function.name for owner in owners for function in owner.functions)
    return read_handin(path, places, names, stubs.started)


def _plan(
    course: Course,
    exercise: Exercise,
    handin: HandIn,
    stubs: _Stubs,
    reference: Reference | None,
) -> Plan:
    hidden = reference.hidden.get(exercise.id, ()) if reference else ()
    checks = _in_tier_order((*exercise.checks, *hidden, *exercise.races))
    source = handin.sources.get(Place(exercise.lesson, exercise.file))
    if source is None:
        return Plan(exercise, checks, None, None, {}, "not-started", f"There is no {exercise.file} in the hand-in.")
    if source.text is None:
        return Plan(exercise, checks, source, None, {}, "refused", source.problem or "")
    owners = _owners(course, exercise.stub)
    lifted = lift_for(owners, source.text)
    names = [function.name for function in exercise.functions]
    line = _first_line(lifted, source.text, names)
    if stubs.untouched(exercise, lifted):
        missing = [name for name in names if _missing(lifted, name)]
        message = _nothing_there(missing[0], source, owners) if missing else ""
        return Plan(exercise, checks, source, lifted, {}, "not-started", message, line)
    others = {function.name: owner for owner in owners if owner.id != exercise.id for function in owner.functions}
    pieces = {name: others[name] for name in _calls(lifted, names, others) if name in others}
    remarks = _remarks(lifted, source, lifted.reachable(names, pieces))
    settings: LaunchSettings = {}
    problem = lifted.problem_of(names, pieces)
    if problem is None and (wanted := exercise.settings) is not None:
        read = launch_settings(source.text, LAUNCH, wanted.by, wanted.of, wanted.allowed)
        problem, settings = (read, {}) if isinstance(read, Problem) else (None, read)
    if problem is not None:
        draft = Plan(exercise, checks, source, lifted, pieces)
        message = draft.locate(problem.message, problem.line)
        return Plan(exercise, checks, source, lifted, pieces, problem.outcome, message, line, remarks)
    unbegun = tuple(name for name in names if stubs.as_handed_out(exercise, lifted, name))
    return Plan(exercise, checks, source, lifted, pieces, None, "", line, remarks, unbegun, settings)


def _first_line(lifted: LiftedFile, text: str, names: Sequence[str]) -> int | None:
    """The line of the ``def`` of the first of ``names`` that has one, also where it is refused."""
    if found := next((lifted.functions[name] for name in names if name in lifted.functions), None):
        return found.line
    scanned = definitions(text)
    return next((scanned[name][-1] for name in names if name in scanned), None)


def _defined_again(plans: Sequence[Plan]) -> Iterator[str]:
    """A sentence for each function that is defined more than once: the last counts, whatever is in it.

    In a notebook that is the last of the `%%exercise` cells, if there is one.
    """
    for plan in plans:
        if (source := plan.source) is None or source.text is None:
            continue
        again = defined_again(source.text, [function.name for function in plan.exercise.functions])
        for name, lines in again.items():
            shown = [source.locate(line) for line in (*lines[: _SHOWN - 1], *lines[_SHOWN - 1 :][-1:])]
            left = f"{len(lines) - _SHOWN} more places" if len(lines) > _SHOWN else ""
            cells = [source.place_of(line)[0] for line in lines]
            outside = cells[-1] in source.answers and not source.answers.issuperset(cells)
            which = "the one in the %%exercise cell" if outside else "the last one"
            *before, last = shown
            if source.cells or left:
                where = "; ".join([*before, left] if left else before)
            else:
                where = "lines " + ", ".join(place.removeprefix("line ") for place in before)
                last = last.removeprefix("line ")
            yield f"{name} is defined in {where} and {last}; {which} counts."


def _nothing_there(name: str, source: Source, owners: Sequence[Exercise]) -> str:
    """Why a function is not found: no text, nothing defined, or perhaps a slip of the pen in its name."""
    text = source.text or ""
    if not text.strip():
        return f"{source.path} is empty."
    if any(ord(character) < 32 and not character.isspace() for character in text):
        return f"{source.path} is no Python text: it holds bytes that no text has. Save your kernels in it."
    defined = defined_names(text) - {function.name for owner in owners for function in owner.functions}
    close = difflib.get_close_matches(name, sorted(defined)[:_COMPARED], 1, 0.7)
    if close:
        return f"There is no function {name} in {source.path}, but there is {close[0]}. Is it {name}? Then rename it."
    return f"There is no function {name} in {source.path}."


def _calls(lifted: LiftedFile, names: Iterable[str], others: Collection[str]) -> tuple[str, ...]:
    """Functions called by ``names`` or their helpers; not what other exercises' functions call in turn."""
    own = lifted.reachable(names, others)
    return tuple(
        dict.fromkeys(called for name in own if name in lifted.functions for called in lifted.functions[name].calls)
    )


def _remarks(lifted: LiftedFile, source: Source, names: Iterable[str]) -> tuple[str, ...]:
    """The lift's remarks that lie within the named functions."""
    spans = [lifted.functions[name] for name in names if name in lifted.functions]
    return tuple(
        f"{source.locate(remark.line).capitalize()}: {remark.message}"
        for remark in lifted.remarks
        if any(span.line <= remark.line <= span.end_line for span in spans)
    )


def _owners(course: Course, stub: str) -> tuple[Exercise, ...]:
    """The exercises whose functions live in a stub file."""
    return tuple(exercise for exercise in course.exercises if exercise.stub == stub)


def lift_for(exercises: Sequence[Exercise], text: str) -> LiftedFile:
    """A file's text, lifted for the exercises whose functions live in it; the same text is lifted once."""
    wanted = tuple(
        Wanted(function.name, function.parameters, function.constexpr)
        for exercise in exercises
        for function in exercise.functions
    )
    allowed = frozenset().union(*(exercise.allow_tl for exercise in exercises))
    forbidden = frozenset().union(*(exercise.forbid_tl for exercise in exercises))
    return _lift(text, wanted, allowed, forbidden)


@lru_cache(maxsize=128)
def _lift(text: str, wanted: tuple[Wanted, ...], extra_tl: frozenset[str], forbidden_tl: frozenset[str]) -> LiftedFile:
    return lift(text, wanted, extra_tl=extra_tl, forbidden_tl=forbidden_tl)


def _in_tier_order(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    return tuple(sorted(checks, key=lambda check: TIERS.index(check.tier)))
