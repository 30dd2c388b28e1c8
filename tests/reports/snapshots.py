"""Whole terminal reports of typical failures, made from result documents that are stored beside them.

    python -m tests.reports.snapshots                write the reports anew from the stored documents
    python -m tests.reports.snapshots --documents    grade the wrong kernels anew as well (a minute)
    python -m tests.reports.snapshots --documents NAME...    only these

A document is made once, so that reports do not change with the machine; look at the difference before it is kept.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from autograder.catalogue import Course, load_course
from autograder.reports.terminal import make_console, print_run
from autograder.result import Environment, RunResult, Sandbox, from_document, to_json
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "snapshots"


@dataclass(frozen=True, slots=True)
class Failure:
    """A hand-in of one exercise: a known mistake, or text that is put behind the solution, or a change of it."""

    exercise: str
    mistake: str = ""
    text: str = ""
    change: tuple[str, str] = ("", "")
    stub: bool = False


_MASK = "@triton.jit\ndef mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):\n"
FAILURES: Mapping[str, Failure] = {
    "rows_of_some_tiles": Failure("flash_attention", "tail_chunk_dropped"),
    "acc_alone_is_wrong": Failure("flash_attention", "acc_not_rescaled"),
    "the_future_is_seen": Failure("flash_attention", "causal_forgotten"),
    "rows_never_written": Failure("flash_attention", "only_the_first_tile"),
    "stores_outside": Failure("flash_attention", "store_without_mask"),
    "gpu_refuses": Failure("flash_attention", "loop_carried_type"),
    "lse_alone_is_wrong": Failure("flash_attention", "lse_base_two"),
    "no_name_for_it": Failure(
        "flash_attention", change=("acc / l_safe[:, None]", "acc / (l_safe[:, None] + m_i[:, None])")
    ),
    "weights_do_not_add_up": Failure("one_shot_attention", "normalised_down_columns"),
    "tiles_of_keys": Failure("score_mask", "tile_local_causal"),
    "along_the_diagonal": Failure("score_mask", "causal_strict"),
    "does_not_compile": Failure("score_mask", "python_and"),
    "refused": Failure("score_mask", text=f"{_MASK}    return tl.inline_asm_elementwise(s)\n"),
    "endless": Failure("score_mask", text=f"{_MASK}    i = 1\n    while i > 0:\n        i = i + 1\n    return s\n"),
    "not_started": Failure("score_mask", stub=True),
    "a_tile_of_several": Failure("kernel_loads", "no_other"),
    "one_axis": Failure("online_softmax_update", "guard_by_chunk"),
}


def graded(course: Course, grader: Grader, failure: Failure) -> RunResult:
    """What grading a hand-in with this failure gives."""
    exercise = course.exercise(failure.exercise)
    folder = "assignments" if failure.stub else "solutions"
    text = (ROOT / folder / exercise.stub).read_text(encoding="utf-8")
    old, new = failure.change
    assert old in text
    text = text.replace(old, new) if old else text
    if failure.mistake:
        text += "\n\n" + (ROOT / "tests" / "mistakes" / exercise.id / f"{failure.mistake}.py").read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / exercise.stub
        path.parent.mkdir()
        path.write_text(f"{text}\n\n{failure.text}" if failure.text else text, encoding="utf-8")
        return grader.grade(Request(Path(name), (exercise,)))


def stored(name: str) -> RunResult:
    return from_document(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def rendered(result: RunResult, plain: bool) -> str:
    """The whole report, 80 columns wide: plain, or in colour whatever the surroundings say."""
    stream = io.StringIO()
    if plain:
        console = make_console(stream, plain=True)
    else:
        console = Console(
            file=stream,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            emoji=False,
            width=80,
            _environ={},
        )
    print_run(console, result, plain)
    return stream.getvalue()


def main() -> None:
    if "--documents" in sys.argv:
        course = load_course(ROOT)
        with Grader(course, "cpu") as grader:
            for name in [name for name in sys.argv[1:] if name in FAILURES] or FAILURES:
                result = graded(course, grader, FAILURES[name])
                (FOLDER / f"{name}.json").write_text(to_json(_of_no_machine(result)), encoding="utf-8")
                print(name, result.exercises[0].outcome)
    for name in FAILURES:
        result = stored(name)
        (FOLDER / f"{name}.txt").write_text(rendered(result, plain=True), encoding="utf-8")
        (FOLDER / f"{name}.ansi").write_text(rendered(result, plain=False), encoding="utf-8")


def _of_no_machine(result: RunResult) -> RunResult:
    """A result without what is another on each machine and at each time."""
    exercises = []
    for exercise in result.exercises:
        checks = []
        for check in exercise.checks:
            kept = {name: value for name, value in check.measurements.items() if name in ("error", "bar", "rms")}
            checks.append(replace(check, measurements=kept))
        exercises.append(replace(exercise, seconds=0.0, checks=tuple(checks)))
    environment = Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11.7")
    return replace(result, environment=environment, sandbox=Sandbox(), exercises=tuple(exercises))


if __name__ == "__main__":
    main()
