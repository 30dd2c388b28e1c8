"""`grade trace`: an exercise's small cases run with a recorder in the worker, and their states shown by the judge.

Teaching, never grading: nothing here has to do with a score.  The kernel travels as in `session`: it is lifted, run in
a child of the pool within the same limits, and what comes back is compared on this side.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from autograder import trees
from autograder.catalogue import Check, Course, Exercise
from autograder.errors import CourseError, UsageError
from autograder.handin import split_lines
from autograder.judge.compare import MOST_SPANS
from autograder.judge.oracles import check_seed, load_oracle
from autograder.judge.sequences import programs_of
from autograder.judge.states import Comparison, Expected, State, compare_states, wrongly_given
from autograder.judge.tensors import from_raw
from autograder.judge.verdict import Case, Verdict
from autograder.lift import CompactModule
from autograder.one_case import case_job, named_case, planned
from autograder.plan import Plan
from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, ProtocolError
from autograder.recording import MAX_RECORDING, Call, Held, Recording, decode_recording
from autograder.trace_words import different, given, left_out, only_output, other_scale, right_here, unchanged
from autograder.traced import Difference, Line, Step, Traced, TracedCase

_UNREAD = "No variables were found that hold {names} at the end of each pass, so nothing can be set against them."
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
    found: list[TracedCase] = []

    def take(reply: CheckReply, following: CheckJob | None) -> bool:
        case, check = cases[len(found)], checks[len(found)]
        expected = Expected(oracle, check, case.inputs)
        found.append(_traced(plan, module, check, expected, case, reply, request))
        return found[-1].outcome == "same"

    with contextlib.ExitStack() as ends:
        workers = pool if pool is not None else ends.enter_context(Pool("cpu"))
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
) -> TracedCase:
    """One case: what was recorded beside what was expected; the verdict alone if the kernel did not run to its end."""
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
    outputs = {name: from_raw(raw) for name, raw in reply.outputs.items()}
    compared = compare_states(expected, recording, functions, program, request.row, outputs)
    notes = [_TOO_MUCH] if recording.cut else []
    names = ", ".join(expected.stub_names)
    if compared is None or (right and compared.finding is not None):
        message = _UNREAD.format(names=names)
        if compared is not None:
            message = f"This kernel keeps its state in a way of its own, which is not {names}."
        message += " The output is right." if right else f" {verdict.message}"
        return replace(nothing, outcome="unrecognised", message=message, program=program, notes=tuple(notes))
    lines = _Lines(plan, module)
    row = _row_shown(compared, expected, verdict, request)
    difference = _difference(compared, expected, recording, lines)
    if compared.reading or compared.rescaled:
        notes.insert(0, other_scale(compared.reading, list(expected.invariants(compared.last)), right))
    outcome = "same" if right else "after"
    message = ""
    if difference is not None:
        outcome = "differs"
    elif not right:
        loop = None if compared.sequence.by_place else lines.at(compared.sequence.function, compared.sequence.line)
        spans = [expected.chunks[number] for number in compared.left_out]
        message = left_out(loop, len(compared.same), spans) if spans else ""
        message = message or _elsewhere(expected, program, case, reply, request) or only_output(loop, verdict.message)
    return TracedCase(
        check.id,
        dict(check.case),
        outcome,
        message,
        program,
        row,
        _place(compared, lines),
        compared.reading,
        tuple(_steps(compared, expected, row)),
        difference,
        tuple(notes),
    )


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
    rows = verdict.where["rows"] if verdict.where is not None else []
    program = expected.program_of(rows[0][0], programs) if rows else None
    return program if program is not None else programs[0]


def _elsewhere(expected: Expected, program: int, case: Case, reply: CheckReply, request: TraceRequest) -> str:
    """A sentence, if the rows that were asked for are right and others are not."""
    if request.row is None and request.program is None:
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
    wrong = verdict.where["index"][0] if verdict.where is not None else first
    return wrong if first <= wrong < first + rows else first


def _steps(compared: Comparison, expected: Expected, row: int) -> list[Step]:
    place = row - compared.first_row
    return [
        Step(
            chunk=number,
            keys=None if number is None else expected.chunks[number],
            same=same,
            got=_values(got, place),
            expected=_values(right, place),
        )
        for number, same, got, right in zip(compared.order, compared.same, compared.got, compared.expected, strict=True)
    ]


def _values(state: State, row: int) -> Mapping[str, float]:
    """Each part of the state in one row; the Euclidean length of what is more than a number."""
    return {
        role if x.ndim == 1 else f"|{role}|": float(x[row] if x.ndim == 1 else torch.linalg.vector_norm(x[row]))
        for role, x in state.items()
    }


def _difference(compared: Comparison, expected: Expected, recording: Recording, lines: _Lines) -> Difference | None:
    finding = compared.finding
    if finding is None:
        return None
    blamed = finding.roles[-1]
    variable, held = compared.holders[finding.step][blamed]
    by_place = compared.sequence.by_place
    at = lines.at(compared.sequence.function, held.line)
    call = None if by_place else _maker(recording, compared, held)
    found = Difference(
        step=finding.step,
        name=finding.name,
        part=blamed,
        index=finding.index,
        got=finding.got,
        expected=finding.expected,
        variable=variable,
        at=at,
        helper=None if call is None else lines.at(call[0].function, call[1]),
    )
    number = compared.order[finding.step]
    span = None if number is None else expected.chunks[number]
    more = [_astray(compared, expected)]
    if call is not None and number is not None:
        more.append(_given(expected, recording, call[0], compared.program, number, finding.index[0]))
    step = compared.sequence.steps[finding.step]
    if by_place and isinstance(step, Call):
        same = [name for name, tile in step.arguments.items() if tile == held.tile]
        more += [unchanged(blamed, step.function, name) for name in same[:1]]
    return replace(found, sentences=tuple(different(found, number, span, blamed, list(filter(None, more)))))


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


def _astray(compared: Comparison, expected: Expected) -> str:
    """What was loaded in the step of the first difference, if it is not the chunk that belongs there."""
    assert compared.finding is not None
    step = compared.sequence.steps[compared.finding.step]
    number = compared.order[compared.finding.step]
    if isinstance(step, Call) or number is None:
        return ""
    first, last = expected.chunks[number]
    for name in expected.streamed:
        if name not in step.loads:
            continue
        start, end = expected.rows_of(name, step.loads[name])
        if (start, end) != (first, last):
            return f"In this pass rows {start} to {end} of {name} were loaded, and rows {first} to {last} belong there."
    return ""


def _place(compared: Comparison, lines: _Lines) -> str:
    """Where the steps were recorded, in words."""
    sequence = compared.sequence
    if sequence.by_place:
        return f"at each return of {sequence.function}"
    at = lines.at(sequence.function, sequence.line)
    assert at is not None
    return f"at the end of each pass of the loop in {at.place}"


class _Lines:
    """The student's own lines: whole statements, found by the lines of the lifted module."""

    def __init__(self, plan: Plan, module: CompactModule) -> None:
        if plan.source is None or plan.source.text is None:
            raise CourseError(f"{plan.exercise.id} has no source to trace.")
        self._source = plan.source
        self._rows = split_lines(plan.source.text)
        self._module = module
        self._statements = [
            (node.lineno, node.body[0].lineno - 1 if isinstance(node, ast.For | ast.While) else node.end_lineno)
            for node in ast.walk(trees.parse(module.text))
            if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.If)
        ]

    def at(self, function: str, line: int | None) -> Line | None:
        """The statement that a line of the module belongs to, in one row."""
        if line is None:
            return None
        spans = [
            (first, last or first) for first, last in self._statements if first <= line <= max(first, last or first)
        ]
        first, last = max(spans, default=(line, line))
        numbers = [self._module.student_line(number) for number in (first, max(first, last))]
        start, end = numbers[0] or first, numbers[1] or last
        text = " ".join(row.partition("  #")[0].strip() for row in self._rows[start - 1 : end])
        return Line(function, start, self._source.locate(start), text)
