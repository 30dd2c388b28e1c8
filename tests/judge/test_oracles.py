"""Oracles are the plain mathematics, and inputs are the same on every machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from autograder.catalogue import Course
from autograder.judge.oracles import check_seed, load_oracle
from autograder.judge.tensors import to_raw


def cases(course: Course) -> list[tuple[str, str]]:
    return [(exercise.id, check.id) for exercise in course.exercises for check in exercise.checks]


def test_inputs_depend_on_the_seed_and_on_nothing_else(course: Course) -> None:
    for exercise in course.exercises:
        oracle = load_oracle(exercise.oracle)
        for check in exercise.checks:
            # As bytes: some inputs hold NaN, which equals nothing.
            one, again, other = (
                {name: bytes(to_raw(x).data) for name, x in oracle.inputs(check, seed).items()} for seed in (1, 1, 2)
            )
            assert one == again
            assert one != other


def test_oracles_work_in_the_precision_of_their_inputs(course: Course) -> None:
    for exercise in course.exercises:
        oracle = load_oracle(exercise.oracle)
        for check in exercise.checks:
            inputs = oracle.inputs(check, 1)
            exact, plain = oracle.exact(check, inputs), oracle.plain(check, inputs)
            assert set(exact) == set(exercise.compare)
            for name, value in exact.items():
                assert value.shape == plain[name].shape
                if value.is_floating_point():
                    assert value.dtype == torch.float64
                    # Of half-precision inputs it may be that of the output, which can be wider.
                    assert plain[name].dtype in {torch.float32, *(x.dtype for x in inputs.values())}


def test_the_flash_oracle_agrees_with_torchs_own_attention(course: Course) -> None:
    exercise = course.exercise("flash_attention")
    oracle = load_oracle(exercise.oracle)
    for check in exercise.checks:
        case = check.case
        if check.case["seqlen_q"] > 1000:
            continue
        inputs = oracle.inputs(check, 3)
        exact = oracle.exact(check, inputs)
        mask = torch.ones(case["seqlen_q"], case["seqlen_k"], dtype=torch.bool)
        if case["causal"]:
            mask = mask.tril(case["seqlen_k"] - case["seqlen_q"])
        live = mask.any(1)
        q, k, v = (inputs[name].double()[None] for name in ("q", "k", "v"))
        torchs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=case["scale"])[0]
        assert torch.allclose(exact["o"][live], torchs[live], atol=1e-10)
        assert (exact["o"][~live] == 0).all()
        assert torch.isneginf(exact["lse"][~live]).all()


def test_hidden_inputs_come_from_the_secret(course: Course) -> None:
    exercise = course.exercises[0]
    public = exercise.checks[0]
    hidden = replace(public, hidden=True)
    seeds = {
        check_seed(exercise, public, 7, None),
        check_seed(exercise, hidden, 7, b"a" * 16),
        check_seed(exercise, hidden, 7, b"b" * 16),
    }
    assert len(seeds) == 3
    assert check_seed(exercise, public, 7, b"a" * 16) == check_seed(exercise, public, 7, None)


@pytest.mark.parametrize("field", ["proves", "id"])
def test_texts_of_checks_are_there(course: Course, field: str) -> None:
    for exercise in course.exercises:
        assert all(getattr(check, field).strip() for check in exercise.checks)
