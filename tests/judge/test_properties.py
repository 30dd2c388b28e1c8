"""The properties among the checks of lessons 5 and 6 hold for the right values, and do not for a known mistake."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from autograder.catalogue import Course
from autograder.judge.diagnosis import load_mistakes
from autograder.judge.oracles import Tensors, load_oracle

Change = Callable[[Tensors], Tensors]


def _same(outputs: Tensors) -> Tensors:
    return outputs


def _in_another_order(outputs: Tensors) -> Tensors:
    """With the caches that another order of the tokens leaves: the same, but for one element."""
    again = {f"{name}_again": outputs[name].clone() for name in ("k_cache", "v_cache")}
    again["v_cache_again"][3, 5] += 1
    return {**outputs, **again}


def _in_the_same_order(outputs: Tensors) -> Tensors:
    return {**outputs, **{f"{name}_again": outputs[name] for name in ("k_cache", "v_cache")}}


def _with_other_splits(outputs: Tensors) -> Tensors:
    return {**outputs, "y_other": outputs["y"]}


def _with_a_split_less(outputs: Tensors) -> Tensors:
    return {**outputs, "y_other": outputs["partial"][:-1].sum(0)}


# The exercise, the check, its property, what else a run gives, a mistake or "", and what is then changed.
PROPERTIES = [
    ("rms_norm", "property_scale_invariance", "alike", _same, "root_forgotten", _same),
    ("swiglu", "property_linear_in_up", "doubled", _same, "halves_swapped", _same),
    ("rope", "property_lengths", "lengths", _same, "both_signs_minus", _same),
    ("rope", "property_distances", "distances", _same, "both_signs_plus", _same),
    ("kv_cache_append", "one_tile", "untouched", _same, "place_for_slot", _same),
    ("kv_cache_append", "property_permutation", "same", _in_the_same_order, "", _in_another_order),
    ("decode_gemv", "property_split_counts_agree", "agree", _with_other_splits, "", _with_a_split_less),
    ("decode_gemv", "property_linearity", "linear", _same, "weights_transposed", _same),
]


@pytest.mark.parametrize(
    ("id", "check_id", "property", "right", "mistake", "wrong"),
    PROPERTIES,
    ids=[f"{row[0]}/{row[2]}" for row in PROPERTIES],
)
def test_a_property_holds_for_right_values_and_not_for_a_mistake(
    course: Course, id: str, check_id: str, property: str, right: Change, mistake: str, wrong: Change
) -> None:
    exercise = course.exercise(id)
    oracle = load_oracle(exercise.oracle)
    check = next(check for check in exercise.checks if check.id == check_id)
    inputs = oracle.inputs(check, 5)
    exact = oracle.exact(check, inputs)
    held = oracle.observed(check, inputs, right(exact))[property]
    assert held.shape == exact[property].shape
    assert held.numel() > 0
    assert held.all()
    outputs: Tensors = exact
    if mistake:
        doubled = {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}
        found = load_mistakes(exercise.mistakes).models[mistake]({**check.case, "device": "cpu"}, doubled)
        assert not isinstance(found, str)
        outputs = {**exact, **found}
    assert not oracle.observed(check, inputs, wrong(outputs))[property].all()


def test_the_norms_oracle_agrees_with_torchs_own(course: Course) -> None:
    exercise = course.exercise("rms_norm")
    oracle = load_oracle(exercise.oracle)
    for check in exercise.checks:
        inputs = {name: x.double() for name, x in oracle.inputs(check, 3).items()}
        h = inputs["x"] + inputs["residual"]
        torchs = torch.nn.functional.rms_norm(h, h.shape[1:], inputs["weight"], check.case["eps"])
        assert torch.allclose(oracle.exact(check, inputs)["y"], torchs, atol=1e-12)


def test_the_gates_oracle_agrees_with_torchs_own(course: Course) -> None:
    exercise = course.exercise("swiglu")
    oracle = load_oracle(exercise.oracle)
    for check in exercise.checks:
        gate, up = oracle.inputs(check, 3)["gate_up"].double().chunk(2, 1)
        exact = oracle.exact(check, oracle.inputs(check, 3))["y"]
        assert torch.allclose(exact, torch.nn.functional.silu(gate) * up, atol=1e-12)


@pytest.mark.parametrize("id", ["rms_norm", "swiglu", "rope", "kv_cache_append", "decode_gemv"])
def test_truth_is_float64_and_torchs_own_is_float32(course: Course, id: str) -> None:
    exercise = course.exercise(id)
    oracle = load_oracle(exercise.oracle)
    for check in exercise.checks:
        inputs = oracle.inputs(check, 1)
        exact, plain = oracle.exact(check, inputs), oracle.plain(check, inputs)
        assert set(exact) == set(exercise.compare)
        for name, value in exact.items():
            assert value.shape == plain[name].shape
            if value.is_floating_point():
                assert (value.dtype, plain[name].dtype) == (torch.float64, torch.float32)
