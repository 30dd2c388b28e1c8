"""Each known wrong kernel of the exercise on speed is wrong, and named, in the interpreter and in float16.

`course selfcheck` grades them on a GPU only, as the exercise itself.  Here they run at sizes for the interpreter.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from autograder.catalogue import Check, Exercise, load_course
from autograder.judge.diagnosis import Probe, load_mistakes, nearest
from autograder.judge.oracles import load_oracle
from autograder.judge.verdict import Case
from autograder.one_case import case_job, planned
from autograder.pool import Pool

ROOT = Path(__file__).parents[2]
KERNELS = sorted((ROOT / "tests" / "mistakes" / "go_fast").glob("*.py"))
UNNAMED = {"acc_not_rescaled"}  # what it writes depends on LAUNCH, of which models know nothing


def small(check: Check, **case: object) -> Check:
    return replace(check, devices=("cpu",), case=MappingProxyType({**check.case, "dtype": "float16", **case}))


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return load_course(ROOT).exercise("go_fast")


@pytest.fixture(scope="module")
def pool():  # type: ignore[no-untyped-def]
    with Pool("cpu") as pool:
        yield pool


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_wrong_kernel_fails_and_is_named(exercise: Exercise, pool: Pool, path: Path, tmp_path: Path) -> None:
    solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    (tmp_path / exercise.file).write_text(f"{solution}\n\n{path.read_text(encoding='utf-8')}\n", encoding="utf-8")
    template = exercise.checks[0]
    checks = [
        small(template, heads=2, nseq=256, head=64, scale=0.05, spread=1.0, causal=causal) for causal in (False, True)
    ]
    checks = [replace(check, id=f"{check.id}_{number}") for number, check in enumerate(checks)]
    plan = planned(load_course(ROOT), tmp_path, exercise)
    assert plan.outcome is None, plan.message
    cases = [Case(exercise, check, load_oracle(exercise.oracle), 7) for check in checks]
    replies = []
    job = case_job(plan, plan.module(()), tuple(case.job for case in cases), "cpu")
    pool.run(job, lambda reply, following: replies.append(reply) or True)
    verdicts = [case.judge(reply) for case, reply in zip(cases, replies, strict=True)]
    assert "fail" in {verdict.outcome for verdict in verdicts}, [verdict.message for verdict in verdicts]
    assert {verdict.outcome for verdict in verdicts} <= {"pass", "fail"}
    probes = [case.probe(reply) for case, reply in zip(cases, replies, strict=True)]
    found = nearest(load_mistakes(exercise.mistakes), [probe for probe in probes if isinstance(probe, Probe)])
    name = path.stem.removesuffix("__again")
    assert (found.mistake if found else None) == (None if name in UNNAMED else name)


def test_each_mistake_comes_in_two_forms_that_only_a_gpu_grades(exercise: Exercise) -> None:
    names = {path.stem.removesuffix("__again") for path in KERNELS}
    assert len(KERNELS) == 2 * len(names)
    assert load_mistakes(exercise.mistakes).names | UNNAMED == names
    assert all("\n# seen on: cuda\n" in path.read_text(encoding="utf-8") for path in KERNELS)
