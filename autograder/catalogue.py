"""course.toml and exercise.toml as frozen dataclasses; the only place that knows their keys.

Standard library only.  Everything is checked while it is read, so that a typing error in a course is one sentence
with the file's name, and no later room has to doubt a value.
"""

from __future__ import annotations

import difflib
import hashlib
import keyword
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from autograder.axes import Axis, read_axes
from autograder.bench_table import Bench, Settings, Speed, read_bench, read_settings, read_speed
from autograder.errors import CourseError, UsageError
from autograder.probes import View, read_probes
from autograder.toml_table import Table

TIERS = ("tiny", "ragged", "stress", "speed")
# Not a tier of exercise.toml: the check on GPU targets, which is made for every exercise and never ends it.
TARGET_TIER = "target"
# When the course's pages print a lesson's kernels whole: never, once its deadline is over, or always (for self-study).
REVEALS = ("never", "deadline", "always")
COMPARE_KINDS = ("close", "exact", "twice")
DEVICES = ("cpu", "cuda")
# The compute capabilities of Nvidia's GPUs that Triton lowers for.
GPU_TARGETS = tuple(f"sm_{number}" for number in (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121))
# What a hand-in calls the literal that says how its kernel is launched, where an exercise has [settings].
LAUNCH = "LAUNCH"
_ID = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, slots=True)
class Function:
    """A ``@triton.jit`` function that an exercise asks for, with the signature it must keep."""

    name: str
    parameters: tuple[str, ...]
    constexpr: frozenset[str]


@dataclass(frozen=True, slots=True)
class Check:
    """One property of an exercise on one case.

    ``case`` holds plain numbers, booleans and strings: shapes, flags and the kind of data; ``oracle.py`` and
    ``launch.py`` give them meaning.  ``devices`` are those on which the check runs.  Inputs are made from a seed of its
    own, or of ``seed_of``.  On a GPU with less than ``gpu_memory`` GiB it is left out.  The bar is ``slack`` times the
    usual one.

    A check with ``at_least`` has no case: it passes where the kernel is that many times as fast as what [speed]
    compares it with.
    """

    id: str
    tier: str
    weight: float
    proves: str
    case: Mapping[str, Any]
    devices: tuple[str, ...] = DEVICES
    hidden: bool = False
    seed_of: str = ""
    gpu_memory: float = 0.0
    slack: float = 1.0
    at_least: float | None = None


@dataclass(frozen=True, slots=True)
class Exercise:
    """One graded task: its texts, its functions and its checks.

    ``allow_tl`` and ``forbid_tl`` are names of ``tl`` that kernels may use beyond the usual ones, and may not use.
    ``target_weight`` is that of the check on GPU targets, which with ``true_float32`` also wants float32 dots not to be
    rounded to TF32.  ``compare`` says for each observed output how it is compared, ``labels`` what messages call it.
    ``axes`` says what the dimensions of an output are, where messages and pictures should know.  ``probes`` are cases
    that count for nothing and are run after a failure: to tell mistakes apart, or to be shown as ``views``.
    ``traces`` are the cases that `grade trace` shows.  ``shrink`` says what in a case may be made smaller, and what it
    may be made at the least; a text names the setting that it stays a multiple of.  ``terms`` are words for what traces
    show: settings of a case, and columns of the table.  ``bench``, ``speed`` and ``settings`` say how it is measured.
    Without ``gpu_targets`` it is compiled for the GPU at hand alone.
    """

    id: str
    lesson: int
    title: str
    points: float
    file: str
    functions: tuple[Function, ...]
    needs: tuple[str, ...]
    optional: bool
    devices: tuple[str, ...]
    allow_atomics: bool
    allow_tl: frozenset[str]
    forbid_tl: frozenset[str]
    true_float32: bool
    target_weight: float
    compare: Mapping[str, str]
    labels: Mapping[str, str]
    checks: tuple[Check, ...]
    folder: Path
    probes: tuple[Check, ...] = ()
    axes: Mapping[str, tuple[Axis, ...]] = field(default_factory=dict)
    views: tuple[View, ...] = ()
    traces: tuple[Check, ...] = ()
    shrink: Mapping[str, int | float | bool | str] = field(default_factory=lambda: MappingProxyType({}))
    terms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    gpu_targets: bool = True
    bench: Bench | None = None
    speed: Speed | None = None
    settings: Settings | None = None

    @property
    def launch(self) -> Path:
        return self.folder / "launch.py"

    @property
    def oracle(self) -> Path:
        return self.folder / "oracle.py"

    @property
    def bench_file(self) -> Path:
        """What it is measured against; there where ``bench`` is."""
        return self.folder / "bench.py"

    @property
    def races(self) -> tuple[Check, ...]:
        """The checks on its speed, which are no part of ``checks`` and have no case of their own."""
        return tuple(
            Check(step.id, TIERS[-1], step.weight, step.proves, MappingProxyType({}), ("cuda",), at_least=step.at_least)
            for step in (self.speed.steps if self.speed is not None else ())
        )

    @property
    def handed(self) -> tuple[str, ...]:
        """The names in a lifted module that its launch file is given."""
        names = tuple(function.name for function in self.functions)
        return (*names, LAUNCH) if self.settings is not None else names

    @property
    def mistakes(self) -> Path:
        """Models of known mistakes; need not be there.  A student bundle has them packed, see `autograder.packed`."""
        packed = self.folder / "mistakes.packed"
        return packed if packed.is_file() else self.folder / "mistakes.py"

    @property
    def handout(self) -> Path:
        return self.folder / "handout.md"

    @property
    def hints(self) -> Path:
        return self.folder / "hints.md"

    @property
    def stub(self) -> str:
        """The stub's path inside ``assignments/`` and ``solutions/``, such as ``lesson7/flash_attention.py``."""
        return f"lesson{self.lesson}/{self.file}"

    def digest(self) -> str:
        """A hash of what decides its result: description, launch, oracle and mistakes; not of its texts.

        Raises:
            CourseError: a file of the exercise cannot be read.
        """
        found = hashlib.sha256()
        for path in (self.folder / "exercise.toml", self.launch, self.oracle, self.mistakes, self.bench_file):
            if path in (self.mistakes, self.bench_file) and not path.exists():
                continue
            try:
                found.update(path.read_bytes() + b"\0")
            except OSError as error:
                raise CourseError(f"{path} cannot be read ({error.strerror}).") from error
        return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Lesson:
    """One chapter; without a ``deadline`` nothing is late."""

    number: int
    title: str
    exercises: tuple[Exercise, ...]
    deadline: datetime | None = None


@dataclass(frozen=True, slots=True)
class LatePolicy:
    """What lateness costs: once ``grace`` is over, the share ``per_day`` of a lesson's score for each day begun.

    Never more than the share ``at_most``.
    """

    per_day: float = 0.0
    at_most: float = 1.0
    grace: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Course:
    """A whole course, in teaching order.

    ``reveal`` says when its pages print kernels with the lines that are homework; until then those are blanks.
    """

    root: Path
    title: str
    release_url: str
    gpu_targets: tuple[str, ...]
    lessons: tuple[Lesson, ...]
    late: LatePolicy = LatePolicy()
    reveal: str = REVEALS[0]

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        return tuple(exercise for lesson in self.lessons for exercise in lesson.exercises)

    def exercise(self, exercise_id: str) -> Exercise:
        """The exercise of that id.

        Raises:
            UsageError: there is none; the sentence lists the ids.
        """
        for exercise in self.exercises:
            if exercise.id == exercise_id:
                return exercise
        known = ", ".join(exercise.id for exercise in self.exercises)
        close = difflib.get_close_matches(exercise_id, [item.id for item in self.exercises], 1)
        meant = f"Did you mean {close[0]}? " if close else ""
        raise UsageError(f"There is no exercise called {exercise_id!r}. {meant}The exercises are: {known}.")

    def select(self, ids: Iterable[str] = (), lessons: Collection[int] = ()) -> tuple[Exercise, ...]:
        """The named exercises, or those of some lessons, or all; always in the course's order.

        Raises:
            UsageError: an id or lesson that does not exist, or none of the exercises is in the lessons.
        """
        chosen = {self.exercise(exercise_id).id for exercise_id in ids}
        for lesson in lessons:
            if lesson not in {item.number for item in self.lessons}:
                numbers = ", ".join(str(item.number) for item in self.lessons)
                raise UsageError(f"This course has no lesson {lesson}. Its lessons are: {numbers}.")
        found = tuple(
            exercise
            for exercise in self.exercises
            if (not chosen or exercise.id in chosen) and (not lessons or exercise.lesson in lessons)
        )
        if chosen and not found:
            numbers = " or ".join(map(str, lessons))
            raise UsageError(
                f"{' and '.join(sorted(chosen))} is in no lesson {numbers}. Leave out --lesson, or name another."
            )
        return found


def current_folder() -> Path:
    """The current folder.

    Raises:
        CourseError: it has been removed.
    """
    try:
        return Path.cwd()
    except OSError:
        raise CourseError(
            "The current folder is not there any more. Go to the course's folder, then try again."
        ) from None


def find_root(start: Path) -> Path:
    """The course root: the nearest folder at or above ``start`` that holds ``course/course.toml``.

    Raises:
        CourseError: there is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "course" / "course.toml").is_file():
            return folder
    raise CourseError(
        f"No course found at or above {start}: no folder there holds course/course.toml. "
        "Go into the course's folder, or name it with --root DIR."
    )


def load_course(root: Path) -> Course:
    """Read a course and all its exercises.

    Raises:
        CourseError: a file is missing, is no TOML, or has a missing, unknown or ill-typed key.
    """
    path = root / "course" / "course.toml"
    table = Table.read(path)
    lessons = []
    for entry in table.tables("lesson"):
        number, title, ids = entry.integer("number"), entry.text("title"), entry.texts("exercises")
        deadline = entry.time("deadline")
        entry.finish()
        if strange := [exercise_id for exercise_id in ids if not _ID.fullmatch(exercise_id)]:
            raise CourseError(f"{path}: the exercise {strange[0]!r} is not the name of a folder: write letters and _.")
        exercises = tuple(_load_exercise(root, number, exercise_id) for exercise_id in ids)
        lessons.append(Lesson(number, title, exercises, deadline))
    course = Course(
        root=root,
        title=table.text("title"),
        release_url=table.text("release_url", ""),
        gpu_targets=_gpu_targets(table, path),
        lessons=tuple(lessons),
        late=_late_policy(table.table("late", {})),
        reveal=table.choice("reveal", REVEALS) if "reveal" in table.names() else REVEALS[0],
    )
    table.finish()
    _check_course(course, path)
    return course


def _gpu_targets(table: Table, path: Path) -> tuple[str, ...]:
    targets = table.texts("gpu_targets", ())
    if unknown := [target for target in targets if target not in GPU_TARGETS]:
        allowed = ", ".join(GPU_TARGETS)
        raise CourseError(f"{path}: 'gpu_targets' names {unknown[0]!r}, and these are allowed: {allowed}.")
    return targets


def _read_traces(table: Table) -> tuple[Check, ...]:
    """The ``[[traces]]`` of an exercise: cases that count for nothing."""
    if "traces" not in table.names():
        return ()
    traces = []
    for entry in table.tables("traces"):
        traces.append(Check(entry.text("id"), TIERS[0], 0.0, "", _case(entry), ("cpu",)))
        entry.finish()
    return tuple(traces)


def _late_policy(table: Table) -> LatePolicy:
    policy = LatePolicy(
        per_day=table.number("per_day", 0.0),
        at_most=table.number("at_most", 1.0),
        grace=timedelta(minutes=table.number("grace_minutes", 0.0)),
    )
    table.finish()
    if not (0 <= policy.per_day <= 1 and 0 <= policy.at_most <= 1 and policy.grace >= timedelta(0)):
        raise CourseError("course.toml: [late] takes shares from 0 to 1, such as per_day = 0.1, and minutes of grace.")
    return policy


def read_checks(table: Table, hidden: bool = False) -> tuple[Check, ...]:
    """The ``[[checks]]`` of an exercise, or of one exercise's hidden cases."""
    checks = []
    for entry in table.tables("checks"):
        check = Check(
            id=entry.text("id"),
            tier=entry.choice("tier", TIERS),
            weight=entry.number("weight", 1.0),
            proves=entry.text("proves"),
            case=_case(entry),
            devices=entry.choices("devices", DEVICES),
            hidden=hidden,
            gpu_memory=entry.number("gpu_memory", 0.0),
            slack=entry.number("slack", 1.0),
        )
        if check.slack < 1.0:
            raise CourseError(f"{entry.where}: 'slack' widens the bar of {check.id}, so it must be at least 1.")
        entry.finish()
        checks.append(check)
    return tuple(checks)


def _case(entry: Table) -> Mapping[str, Any]:
    """A check's ``case``, in which every number is one."""
    case = entry.mapping("case")
    for key, value in case.items():
        if not _finite(value):
            raise CourseError(f"{entry.where}: 'case' says {key} = {value}, and its numbers must be finite.")
    return MappingProxyType(case)


def _finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def load_hidden(path: Path, course: Course) -> Mapping[str, tuple[Check, ...]]:
    """Hidden checks by exercise id, from ``solutions/hidden.toml``; empty when there is no such file.

    Raises:
        CourseError: the file is malformed, names an unknown exercise, or uses a check's id twice.
    """
    if not path.is_file():
        return {}
    table = Table.read(path)
    known = {exercise.id: exercise for exercise in course.exercises}
    hidden = {}
    for exercise_id in table.names():
        if exercise_id not in known:
            raise CourseError(f"{path}: the course has no exercise {exercise_id!r}.")
        entry = table.table(exercise_id)
        checks = read_checks(entry, hidden=True)
        entry.finish()
        _check_ids((*known[exercise_id].checks, *checks), f"{path}: [{exercise_id}]")
        hidden[exercise_id] = checks
    return hidden


def _load_exercise(root: Path, lesson: int, exercise_id: str) -> Exercise:
    folder = root / "course" / "exercises" / f"lesson{lesson}" / exercise_id
    table = Table.read(folder / "exercise.toml")
    compare = table.mapping("compare")
    probes = read_probes(table, compare, DEVICES, _case)
    bench = read_bench(table, _case)
    functions = []
    for entry in table.tables("functions"):
        functions.append(_function(entry))
        entry.finish()
    exercise = Exercise(
        id=exercise_id,
        lesson=lesson,
        title=table.text("title"),
        points=table.number("points"),
        file=_file(table),
        functions=tuple(functions),
        needs=table.texts("needs", ()),
        optional=table.flag("optional", False),
        devices=table.choices("devices", DEVICES),
        allow_atomics=table.flag("allow_atomics", False),
        allow_tl=frozenset(table.texts("allow_tl", ())),
        forbid_tl=frozenset(table.texts("forbid_tl", ())),
        true_float32=table.flag("true_float32", True),
        target_weight=table.number("target_weight", 1.0),
        compare=MappingProxyType(compare),
        labels=MappingProxyType(table.mapping("labels", {})),
        checks=read_checks(table),
        probes=tuple(Check(x.id, TIERS[0], 0.0, "", x.case, x.devices, seed_of=x.seed_of) for x in probes.cases),
        views=probes.views,
        axes=read_axes(table, compare),
        traces=_read_traces(table),
        shrink=MappingProxyType(table.mapping("shrink", {})),
        terms=MappingProxyType(table.mapping("terms", {})),
        gpu_targets=table.flag("gpu_targets", True),
        bench=bench,
        speed=read_speed(table, bench),
        settings=read_settings(table),
        folder=folder,
    )
    table.finish()
    _check_axes(exercise)
    for name, kind in exercise.compare.items():
        if kind not in COMPARE_KINDS:
            raise CourseError(f"{folder / 'exercise.toml'}: compare.{name} must be one of {', '.join(COMPARE_KINDS)}.")
    for name, target in exercise.shrink.items():
        _check_shrink(exercise, name, target)
    for name, text in exercise.terms.items():
        if not isinstance(text, str):
            raise CourseError(f"{folder / 'exercise.toml'}: [terms] {name} must be a text.")
    return exercise


def _check_shrink(exercise: Exercise, name: str, target: Any) -> None:
    """Whether a setting can be made what ``[shrink]`` says, in every check that has it.

    Raises:
        CourseError: it cannot.
    """
    where = f"{exercise.folder / 'exercise.toml'}: [shrink] {name}"
    cases = [check.case for check in (*exercise.checks, *exercise.traces) if name in check.case]
    if not cases:
        raise CourseError(f"{where} is a setting of no check.")
    for case in cases:
        least = case.get(target) if isinstance(target, str) else target
        if isinstance(target, str) and (type(least) is not int or least < 1):
            raise CourseError(f"{where} names {target!r}, which is no length in every check.")
        if type(least) is not type(case[name]) or not _finite(least):
            raise CourseError(f"{where} must be of the kind that the checks have there.")
        if type(least) is int and not 0 <= least <= case[name]:
            raise CourseError(f"{where} is at the least {least}, and a check has {case[name]}.")


def _check_axes(exercise: Exercise) -> None:
    """Raises CourseError where an axis is tiled by a key that a case does not have."""
    for name, axes in exercise.axes.items():
        for axis in axes:
            for check in exercise.checks:
                if axis.by and not axis.block(check.case):
                    raise CourseError(
                        f"{exercise.folder / 'exercise.toml'}: [axes] has {name} tiled by {axis.by!r}, and the case of "
                        f"{check.id} says no whole number above 0 for it."
                    )


def _function(entry: Table) -> Function:
    name, parameters, constexpr = entry.text("name"), entry.texts("parameters"), entry.texts("constexpr", ())
    for key, names in (("name", (name,)), ("parameters", parameters)):
        if wrong := [word for word in names if not word.isidentifier() or keyword.iskeyword(word)]:
            raise CourseError(f"{entry.where}: {key!r} says {wrong[0]!r}, which Python does not take as a name.")
    if strange := [word for word in constexpr if word not in parameters]:
        raise CourseError(f"{entry.where}: 'constexpr' names {strange[0]!r}, which is none of the parameters.")
    return Function(name, parameters, frozenset(constexpr))


def _file(table: Table) -> str:
    """The exercise's file, which lies in its lesson's folder and nowhere else."""
    file = table.text("file")
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or "\\" in file or path.suffix != ".py" or not file.isprintable():
        raise CourseError(f"{table.where}: 'file' is {file!r}, and must be a .py within the lesson's folder.")
    return file


def _check_course(course: Course, path: Path) -> None:
    seen: set[str] = set()
    for exercise in course.exercises:
        where = exercise.folder / "exercise.toml"
        if exercise.id in seen:
            raise CourseError(f"{path}: the exercise {exercise.id} is listed twice.")
        if unknown := [need for need in exercise.needs if need not in seen]:
            raise CourseError(f"{where}: needs {unknown[0]!r}, which is no earlier exercise of the course.")
        if not exercise.functions or not exercise.checks or exercise.points <= 0:
            raise CourseError(f"{where}: an exercise has at least one function, one check, and points above 0.")
        _check_ids((*exercise.checks, *exercise.races, *exercise.traces), str(where))
        if not exercise.compare:
            raise CourseError(f"{where}: [compare] must name every output and how it is compared.")
        seen.add(exercise.id)


def _check_ids(checks: tuple[Check, ...], where: str) -> None:
    ids = [check.id for check in checks]
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise CourseError(f"{where}: the check id {twice[0]!r} is used twice.")
