"""What lies around a tensor is told from what was never written."""

from __future__ import annotations

import pytest
import torch

from autograder.judge.compare import unwritten
from autograder.protocol import FENCE, POISON, RawTensor
from autograder.worker.buffers import allocate_input, allocate_output, verify
from autograder.worker.faults import Violation


def test_an_output_is_unwritten_until_it_is_and_what_is_behind_an_input_is_no_such_thing() -> None:
    given = allocate_input("x", RawTensor("float32", (4,), bytes(16)), "cpu")
    made = allocate_output("y", (4,), torch.float32, "cpu")
    assert unwritten(made.tensor).all()
    behind = given.whole[:4]
    assert torch.isnan(behind).all()
    made.tensor.copy_(behind)
    assert not unwritten(made.tensor).any()
    verify([given, made])


def test_a_fence_that_was_overwritten_with_poison_is_noticed() -> None:
    made = allocate_output("y", (4,), torch.float32, "cpu")
    made.whole[:1].copy_(made.tensor[:1])
    with pytest.raises(Violation, match="wrote before the start of y"):
        verify([made])


def test_each_dtype_has_a_fence_of_its_own() -> None:
    assert FENCE.keys() == POISON.keys()
    assert [dtype for dtype in FENCE if FENCE[dtype] == POISON[dtype]] == ["bool"]  # it has two values
    assert {dtype for dtype in FENCE if len(FENCE[dtype]) != len(POISON[dtype])} == set()
