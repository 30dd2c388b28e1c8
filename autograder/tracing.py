"""`grade trace`: an exercise's small cases run with a recorder in the worker, and their states shown by the judge.

Teaching, never grading: nothing here has to do with a score.  The kernel travels as in `session`: it is lifted, run in
a child of the pool within the same limits, and what comes back is compared on this side.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from autograder.catalogue import Check, Course, Exercise
from autograder.errors import UsageError
from autograder.judge.compare import MOST_SPANS
from autograder.judge.expected import Expected, State
from autograder.judge.oracles import check_seed, load_oracle
from autograder.judge.sequences import programs_of
from autograder.judge.states import Comparison, Finding, compare_states, wrongly_given
from autograder.judge.tensors import from_raw
from autograder.judge.verdict import Case, Verdict
from autograder.lift import CompactModule
from autograder.one_case import case_job, named_case, planned
from autograder.plan import Plan
from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, ProtocolError
from autograder.recording import MAX_RECORDING, Call, Held, Recording, decode_recording
from autograder.student_lines import StudentLines
from autograder.trace_words import (
    astray,
    different,
    fixed,
    given,
    left_out,
    listed,
    only_output,
    other_scale,
    right_here,
    taken_before,
    unchanged,
    unread,
)
from autograder.traced import Difference, Step, Traced, TracedCase

_TOO_MUCH = "There was more to record than there is room for: what came last is missing."


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What to trace: an exercise's own cases, or the one called ``case`` with ``settings``; in one program or row."""

    handin: Path
    exercise: Exercise
    seed: int
    case: str | None = None
    settings: tuple[str, ...] = ()
    program: int | None = None
    row: int | None = None


def trace(course: Course, request: TraceRequest, pool: Pool | None = None) -> Traced:
    """The first case whose state differs, after those that do not; in a worker of its own unless one is at hand.

    Raises:
        UsageError: the exercise has no state to trace, or no such case, program or row.
        HandInError: there is nothing readable at the hand-in's place.
        CourseError: the exercise's oracle lacks what traces need.
        WorkerError: the worker cannot be started.
    """
    exercise = request.exercise
    checks = _cases(course, request)
    plan = planned(course, request.handin, exercise)
    if plan.outcome is not None:
        return Traced(exercise.id, plan.file, request.seed, plan.outcome, plan.message)
    module = plan.module(())
    oracle = load_oracle(exercise.oracle)
    cases = [Case(exercise, check, oracle, check_seed(exercise, check, request.seed, None)) for check in checks]
    jobs = tuple(case.job for case in cases)
    contracts = frozenset(function.name for item in course.exercises for function in item.functions)
    found: list[TracedCase] = []

    def take(reply: CheckReply, following: CheckJob | None) -> bool:
        case, check = cases[len(found)], checks[len(found)]
        expected = Expected(oracle, check, case.inputs)
        found.append(_traced(plan, module, check, expected, case, reply, request, contracts))
        return found[-1].outcome == "same"

    with contextlib.ExitStack() as ends:
        workers = pool if pool is not None else ends.enter_context(Pool("cpu", [exercise.folder]))
        workers.run(case_job(plan, module, jobs, "cpu", MAX_RECORDING), take)
    return Traced(exercise.id, plan.file, request.seed, found[-1].outcome, "", tuple(found), exercise.terms)


def _cases(course: Course, request: TraceRequest) -> Sequence[Check]:
    exercise = request.exercise
    if not exercise.traces:
        others = [item.id for item in course.exercises if item.traces]
        have = " and ".join(others) if len(others) < 3 else ", ".join(others)
        there = f"A state that runs along has {have}." if len(others) == 1 else f"Those that have one: {have}."
        raise UsageError(
            f"{exercise.id} keeps no state from chunk to chunk, so there is nothing to trace. "
            + (there if others else "No exercise of this course has one.")
        )
    if request.case is None:
        if request.settings:
            raise UsageError("--set changes a case: name it with --case.")
        return exercise.traces
    return (named_case(exercise, request.case, request.settings, "cpu", exercise.traces),)


def _traced(
    plan: Plan,
    module: CompactModule,
    check: Check,
    expected: Expected,
    case: Case,
    reply: CheckReply,
    request: TraceRequest,
    contracts: Collection[str],
) -> TracedCase:
    """One case: what was recorded beside what was expected; the verdict alone if the kernel did not run to its end.

    ``contracts`` are the functions of the course's exercises: what these are given is known.
    """
    verdict = case.judge(reply)
    nothing = TracedCase(check.id, dict(check.case), verdict.outcome)
    if not reply.recording:
        return replace(nothing, message=plan.locate(verdict.message, module.student_line(verdict.line)))
    try:
        recording = decode_recording(reply.recording)
    except ProtocolError:
        return replace(nothing, outcome="crashed", message="What was recorded of the kernel cannot be read.")
    program = _program(expected, recording, verdict, request)
    right = verdict.outcome == "pass"
    functions = [function.name for function in plan.exercise.functions]
    outputs = expected.own_by_row({name: from_raw(raw) for name, raw in reply.outputs.items()})
    compared = compare_states(expected, recording, functions, program, request.row, outputs)
    notes = [_TOO_MUCH] if recording.cut else []
    if compared is None:
        message = unread(list(expected.stub_names), [], (), verdict.message)
        return replace(nothing, outcome="unrecognised", message=message, program=program, notes=tuple(notes))
    lines = StudentLines(plan, module)
    outcome, message = _told(compared, expected, right, verdict.message, lines)
    if outcome == "after" and not compared.left_out:
        message = _elsewhere(expected, program, case, reply, request) or message
    row = _row_shown(compared, expected, verdict, request)
    difference = None
    if outcome == "differs" and compared.finding is not None:
        difference = _difference(compared, compared.finding, expected, recording, contracts, lines)
    if compared.reading or compared.rescaled:
        names = [
            name for name in expected.invariants(expected.final(program)[0]) if _is_shown(name, compared, expected)
        ]
        notes.insert(0, other_scale(compared.reading, names, right))
    if compared.before and compared.shown:
        notes.append(taken_before((min(compared.before), max(compared.before))))
    return TracedCase(
        check.id,
        dict(check.case),
        outcome,
        message,
        program,
        row,
        _place(compared, lines) if compared.shown else "",
        compared.reading,
        tuple(_steps(compared, expected, row)),
        difference,
        tuple(notes),
    )


def _told(compared: Comparison, expected: Expected, right: bool, verdict: str, lines: StudentLines) -> tuple[str, str]:
    """The outcome of a case, and a sentence where there is no difference to tell of."""
    unknown, shown = list(compared.unknown), compared.shown
    if right:
        if compared.outcome == "after" and not unknown and all(compared.same):
            return "same", ""
        return "unrecognised", unread(unknown or list(expected.stub_names), shown, (), "")
    if compared.outcome == "differs":
        return "differs", ""
    loops = [at for line in compared.sequence.lines if (at := lines.at(compared.sequence.function, line)) is not None]
    if compared.outcome == "short":
        return "after", left_out(loops, len(compared.same), compared.left_out, compared.whole)
    if compared.outcome == "unread":
        return "unrecognised", unread(unknown or list(expected.stub_names), shown, compared.near, verdict)
    return "after", only_output(loops[-1] if loops else None, verdict, shown, unknown)


def _is_shown(invariant: str, compared: Comparison, expected: Expected) -> bool:
    return not any(role in compared.unknown for role in expected.roles(invariant))


def _program(expected: Expected, recording: Recording, verdict: Verdict, request: TraceRequest) -> int:
    """The program to show: the one asked for, or the one that holds the first wrong row of the output; else the first.

    Raises:
        UsageError: no such program or row.
    """
    programs = programs_of(recording) or (0,)
    if request.program is not None and request.program not in programs:
        there = "is program 0 only" if programs == (0,) else f"are programs 0 to {programs[-1]}"
        raise UsageError(f"There is no program {request.program} on this case: there {there}.")
    if request.row is not None:
        program = expected.program_of(request.row, programs)
        if program is None or request.program not in (None, program):
            where = "on this case" if request.program is None else f"in program {request.program}"
            raise UsageError(f"There is no row {request.row} {where}.")
        return program
    if request.program is not None:
        return request.program
    program = expected.program_of(expected.row_of(verdict.where), programs) if verdict.where is not None else None
    return program if program is not None else programs[0]


def _elsewhere(expected: Expected, program: int, case: Case, reply: CheckReply, request: TraceRequest) -> str:
    """A sentence, if the rows that were asked for are right and others are not."""
    if expected.has_heads or (request.row is None and request.program is None):
        return ""
    first, rows, _ = expected.tile(program)
    looked = (first, first + rows - 1) if request.row is None else (request.row, request.row)
    wrong = case.wrong_rows(reply)
    spans = [span for found in wrong.values() for span in found]
    many = any(len(found) >= MOST_SPANS for found in wrong.values())
    if not spans or many or any(start <= looked[1] and end >= looked[0] for start, end in spans):
        return ""
    worst = case.judge(reply).where
    assert worst is not None
    asked = "--program" if request.row is None else "--row"
    return right_here(looked, asked, wrong, worst["index"][0])


def _row_shown(compared: Comparison, expected: Expected, verdict: Verdict, request: TraceRequest) -> int:
    if request.row is not None:
        return request.row
    if compared.finding is not None:
        return compared.finding.index[0]
    first, rows, _ = expected.tile(compared.program)
    wrong = expected.row_of_worst(verdict.where) if verdict.where is not None else first
    return wrong if first <= wrong < first + rows else first


def _steps(compared: Comparison, expected: Expected, row: int) -> list[Step]:
    place = row - compared.first_row
    return [
        Step(
            chunk=_chunk(keys, expected),
            keys=(min(keys), max(keys)) if keys else None,
            same=same,
            got=_values(got, place),
            expected=_values(right, place),
        )
        for keys, same, got, right in zip(compared.taken, compared.same, compared.got, compared.expected, strict=True)
    ]


def _chunk(keys: Collection[int], expected: Expected) -> int | None:
    """The number of the chunk in which all of these keys lie."""
    inside = [
        number
        for number, (first, last) in enumerate(expected.chunks)
        if keys and first <= min(keys) <= max(keys) <= last
    ]
    return inside[0] if inside else None


def _values(state: State, row: int) -> Mapping[str, float]:
    """Each part of the state in one row; the Euclidean length of what is more than a number."""
    return {
        role if x.ndim == 1 else f"|{role}|": float(x[row] if x.ndim == 1 else torch.linalg.vector_norm(x[row]))
        for role, x in state.items()
    }


def _difference(
    compared: Comparison,
    finding: Finding,
    expected: Expected,
    recording: Recording,
    contracts: Collection[str],
    lines: StudentLines,
) -> Difference:
    """The first difference in words; with the line that made it, if it is known which part is at fault."""
    step, keys = compared.sequence.steps[finding.step], compared.taken[finding.step]
    found = Difference(
        step=finding.step,
        name=finding.name,
        part=finding.role,
        index=finding.index,
        got=finding.got,
        expected=finding.expected,
        variable=None,
        at=None,
        helper=None,
    )
    number = _chunk(keys, expected)
    more = []
    if finding.astray is not None and not expected.has_heads:
        more.append(astray(finding.astray, compared.sequence.loads[finding.step][finding.astray], keys))
    if finding.role is not None:
        variable, held = compared.holders[finding.step][finding.role]
        by_place = compared.sequence.by_place
        call = None if by_place else _maker(recording, compared, held)
        moved = by_place or finding.role in compared.moving
        found = replace(
            found,
            variable=variable,
            at=lines.at(step.function, held.line) if moved else None,
            helper=None if call is None or not moved else lines.at(call[0].function, call[1]),
        )
        if not moved:
            more.append(fixed(variable or finding.role))
        if call is not None and call[0].function in contracts and number is not None:
            whole = len(keys) == expected.chunks[number][1] - expected.chunks[number][0] + 1
            if whole:
                more.append(_given(expected, recording, call[0], compared.program, number, finding.index[0]))
        if by_place and isinstance(step, Call):
            same = [name for name, tile in step.arguments.items() if tile == held.tile]
            more += [unchanged(finding.role, step.function, name) for name in same[:1]]
    span = (min(keys), max(keys)) if keys else None
    part = finding.role or finding.name
    return replace(found, sentences=tuple(different(found, number, span, part, list(filter(None, more)))))


def _maker(recording: Recording, compared: Comparison, held: Held) -> tuple[Call, int | None] | None:
    """The call that made a tile, and the line there."""
    for event in recording.events:
        if isinstance(event, Call) and event.program == compared.program and not event.outer:
            for returned in event.returned:
                if returned is not None and returned.tile == held.tile and held.tile not in event.arguments.values():
                    return event, returned.line
    return None


def _given(expected: Expected, recording: Recording, call: Call, program: int, chunk: int, row: int) -> str:
    """What the function that made the wrong value was given, if that was wrong already."""
    wrong = wrongly_given(expected, recording, call, program, chunk, row)
    if wrong is None:
        return ""
    name, place, got, right = wrong
    return given(call.function, name, place, expected.chunks[chunk][0] + place[1], got, right)


def _place(compared: Comparison, lines: StudentLines) -> str:
    """Where the steps were recorded, in words."""
    sequence = compared.sequence
    if sequence.by_place:
        return f"at each return of {sequence.function}"
    places = [at.place for line in sequence.lines if (at := lines.at(sequence.function, line)) is not None]
    if len(compared.got) < len(sequence.steps):
        return f"after the last pass of the loop in {places[-1]}"
    return f"at the end of each pass of the loop{'s' if len(places) > 1 else ''} in {listed(places)}"
