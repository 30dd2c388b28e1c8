"""What the probes that are there to be shown tell of a failed exercise, the most telling first."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.catalogue import Exercise
from autograder.judge.mass import mass_clue
from autograder.judge.series import Course, series_clue
from autograder.judge.verdict import Case
from autograder.probes import MassView, SeriesView
from autograder.protocol import CheckReply
from autograder.result import Clue

# Clues of this rank and above are for want of a better one.
_WEAK = 4


def clues(exercise: Exercise, cases: Mapping[str, Case], replies: Mapping[str, CheckReply]) -> tuple[Clue, ...]:
    """One clue of each kind at most; nothing is said of a kernel that did not come to its end on a probe."""
    found = [*_mass(exercise, cases, replies), *_series(exercise, cases, replies)]
    return tuple(clue for _, clue in sorted(found, key=lambda item: item[0]))


def _mass(exercise: Exercise, cases: Mapping[str, Case], replies: Mapping[str, CheckReply]) -> list[tuple[int, Clue]]:
    """The map on which something is certain to be seen; of several, the first that tells most."""
    found = []
    for view in exercise.views:
        if not isinstance(view, MassView) or view.probe not in replies:
            continue
        probe = cases[view.probe].probe(replies[view.probe])
        if probe is None or not probe.ran:
            continue
        told = mass_clue(view, probe)
        if told is not None:
            rank, text, table = told
            rows, keys = len(probe.right[view.output]), probe.check.case[view.length]
            where = ", ".join(filter(None, (f"With {rows} queries and {keys} keys", view.condition)))
            text = f"{where}: {text[:1].lower()}{text[1:]}"
            found.append((rank, Clue("mass", text, rank < _WEAK, {**table, "condition": view.condition})))
    return sorted(found, key=lambda item: item[0])[:1]


def _series(exercise: Exercise, cases: Mapping[str, Case], replies: Mapping[str, CheckReply]) -> list[tuple[int, Clue]]:
    courses = []
    for view in exercise.views:
        if not isinstance(view, SeriesView):
            continue
        steps = [cases[id].right_outputs(replies[id]) for id in view.probes if id in replies]
        ended = [step for step in steps if step is not None]
        if len(ended) < len(view.probes):
            continue
        known = [name for name in exercise.compare if all(name in step for step in ended)]
        if known:
            courses.append(Course(view, {name: tuple(step[name] for step in ended) for name in known}))
    told = series_clue(courses, exercise.labels)
    if told is None:
        return []
    rank, text = told
    return [(rank, Clue("series", text, rank < _WEAK))]
