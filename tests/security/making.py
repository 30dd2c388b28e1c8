"""Hostile hand-ins: the solutions of the course with one function replaced, and what must hold after grading one."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection
from pathlib import Path

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.result import ExerciseResult, RunResult, to_json
from autograder.session import Grader, Request
from tests.lessons import of_lesson

ROOT = Path(__file__).parents[2]
ONE_SHOT, FLASH = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"

PARAMETERS = {
    "load_tiles": "q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr",
    "mask_scores": "s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr",
    "pin_ghost_rows": "s, offs_m, NSEQ",
    "attention_kernel": (
        "q_ptr, k_ptr, v_ptr, o_ptr, NSEQ, HEAD: tl.constexpr, scale, "
        "BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr"
    ),
    "flash_attention_kernel": (
        "q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, seqlen_q, seqlen_k, HEAD: tl.constexpr, scale, "
        "BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr"
    ),
}
EXERCISE = {
    "load_tiles": "kernel_loads",
    "mask_scores": "score_mask",
    "pin_ghost_rows": "ghost_row_pin",
    "attention_kernel": "one_shot_attention",
    "flash_attention_kernel": "flash_attention",
}

RIGHT_PIN = "m = tl.max(s, 1)\nreturn tl.where(offs_m < NSEQ, m, 0.0)"

# The other exercises' clean modules stay the same, blank lines at the end included: they are run once for all tests.
_LINES = 400


def solution(stub: str) -> str:
    return (ROOT / "solutions" / stub).read_text(encoding="utf-8")


def function(name: str, body: str) -> str:
    """A jit function with the signature that the course asks for."""
    rows = "".join(f"    {row}\n" if row else "\n" for row in body.split("\n"))
    return f"@triton.jit\ndef {name}({PARAMETERS[name]}):\n{rows}"


def hostile(text: str, stub: str = ONE_SHOT) -> dict[str, str]:
    """A hand-in of solutions, with ``text`` at the end of one file: there the last definition of a name counts."""
    files = {name: solution(name) for name in (ONE_SHOT, FLASH)}
    files[stub] += f"\n\n{text}"
    return {name: content + "\n" * (_LINES - content.count("\n")) for name, content in files.items()}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return folder


def grade(grader: Grader, course: Course, folder: Path) -> RunResult:
    """Grade a folder as the course does, and check what holds of every result."""
    result = grader.grade(Request(folder, of_lesson(course, 7), reference=Reference.load(course, None)))
    assert_printable(result)
    return result


def assert_printable(result: RunResult) -> None:
    """The document is JSON that can be written, and nothing in it is a traceback or moves a cursor."""
    text = to_json(result)
    json.loads(text.encode("utf-8"))
    assert "Traceback" not in text
    assert 'File "' not in text.replace('\\"', '"')
    for character in set(text.replace("\n", "")):
        assert unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}, repr(character)


def assert_costs_only(
    result: RunResult, victim: str, outcomes: Collection[str], *, at_most: float = 0.0
) -> ExerciseResult:
    """The exercise ``victim`` ended in one of ``outcomes`` and gained nothing; every other one has its full score."""
    found = {exercise.id: exercise for exercise in result.exercises}
    attacked = found.pop(victim)
    assert attacked.outcome in outcomes, (attacked.outcome, attacked.message, attacked.checks)
    assert attacked.score <= at_most
    assert {one.id: one.score for one in found.values()} == {one.id: one.points for one in found.values()}
    return attacked


def messages(exercise: ExerciseResult) -> str:
    return " ".join([exercise.message, *(check.message for check in exercise.checks)])
