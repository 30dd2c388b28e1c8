"""The reference of the exercise on speed is right, in the interpreter; and what its hand-in may be is checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from autograder.catalogue import Check, Course, Exercise, load_course
from autograder.judge.oracles import load_oracle
from autograder.judge.verdict import Case, Verdict
from autograder.one_case import case_job, planned
from autograder.plan import plan_exercises
from autograder.pool import Pool

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="module")
def exercise(course: Course) -> Exercise:
    return course.exercise("go_fast")


@pytest.fixture(scope="module")
def solution() -> str:
    return (ROOT / "solutions" / "lesson7" / "go_fast.py").read_text(encoding="utf-8")


def judged(course: Course, exercise: Exercise, path: Path, checks: list[Check]) -> list[Verdict]:
    plan = planned(course, path, exercise)
    assert plan.outcome is None, plan.message
    cases = [Case(exercise, check, load_oracle(exercise.oracle), 7) for check in checks]
    found: list[Verdict] = []
    with Pool("cpu") as pool:
        job = case_job(plan, plan.module(()), tuple(case.job for case in cases), "cpu")
        pool.run(job, lambda reply, following: found.append(cases[len(found)].judge(reply)) or True)
    return found


def test_the_solution_is_right_with_half_of_the_bar_to_spare(course: Course, exercise: Exercise) -> None:
    # float16: the interpreter computes bfloat16 wrongly.
    checks = [
        replace(check, case=MappingProxyType({**check.case, "dtype": "float16", "nseq": 256, "heads": 2}))
        for check in exercise.checks
    ]
    verdicts = judged(course, exercise, ROOT / "solutions", checks)
    assert [(verdict.outcome, verdict.message) for verdict in verdicts] == [("pass", "")] * len(checks)
    assert all(verdict.measurements["error"] <= verdict.measurements["bar"] / 2 for verdict in verdicts)


def test_a_mask_off_by_one_fails(course: Course, exercise: Exercise, solution: str, tmp_path: Path) -> None:
    wrong = solution.replace("offs_m[:, None] >= offs_n", "offs_m[:, None] + 1 >= offs_n")
    assert wrong != solution
    (tmp_path / "go_fast.py").write_text(wrong, encoding="utf-8")
    check = next(check for check in exercise.checks if check.case["causal"])
    small = replace(check, case=MappingProxyType({**check.case, "dtype": "float16", "nseq": 256}))
    assert [verdict.outcome for verdict in judged(course, exercise, tmp_path, [small])] == ["fail"]


@pytest.mark.parametrize(
    ("old", "new", "outcome", "words"),
    [
        ('"BLOCK_N": 128, "num_warps": 4', '"BLOCK_N": 128, "num_warps": 99', "refused", "num_warps in LAUNCH[64]"),
        ("\nLAUNCH = {", "\nLAUNCH = make(", "refused", "written out"),
        ("\nLAUNCH = {", "\nSETTINGS = {", "not-started", "no LAUNCH"),
        ("@triton.jit\ndef go_fast", "@triton.autotune([], key=[])\n@triton.jit\ndef go_fast", "refused", "autotune"),
        ("k_tile = k.load([", "k_tile = k.gather([", "refused", "gather"),
    ],
)
def test_what_a_hand_in_may_not_be(
    course: Course, exercise: Exercise, solution: str, tmp_path: Path, old: str, new: str, outcome: str, words: str
) -> None:
    text = solution.replace(old, new, 1)
    if "make(" in new:
        text = (
            text.replace("\n}  # one", "\n)  # one")
            .replace("\n    64: {", "\n    a={")
            .replace("\n    128: {", "\n    b={")
        )
    (tmp_path / "go_fast.py").write_text(text, encoding="utf-8")
    plan = plan_exercises(course, tmp_path, (exercise,), None)[0][0]
    assert plan.outcome == outcome
    assert words in plan.message


def test_methods_that_reach_memory_are_for_this_exercise_alone(course: Course, tmp_path: Path) -> None:
    other = course.exercise("score_mask")
    header = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    text = f"{header}def mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL: tl.constexpr):\n    return s.load([0, 0])\n"
    (tmp_path / "one_shot_attention.py").write_text(text, encoding="utf-8")
    plan = plan_exercises(course, tmp_path, (other,), None)[0][0]
    assert plan.outcome == "refused"


def test_the_worker_gets_settings_spelled_anew(course: Course, exercise: Exercise) -> None:
    plan = planned(course, ROOT / "solutions", exercise)
    last = plan.module(()).text.splitlines()[-1]
    assert last.startswith("LAUNCH = {64: {'BLOCK_M': ")
    assert exercise.handed == ("go_fast_kernel", "LAUNCH")
