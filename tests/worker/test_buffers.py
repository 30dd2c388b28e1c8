"""What lies around a tensor is told from what was never written."""

from __future__ import annotations

import itertools

import pytest
import torch

from autograder.judge.compare import unwritten
from autograder.protocol import FENCE, POISON, RawTensor
from autograder.worker.buffers import APART, Buffer, allocate_input, allocate_output, read_outputs, verify
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


def laid_out(strides: tuple[int, ...]) -> Buffer:
    return allocate_output("y", (2, 3), torch.float32, "cpu", strides)


@pytest.mark.parametrize("strides", [(7, 2), (1, 4), (3, 1)])
def test_a_tensor_with_strides_holds_its_values_and_nothing_else(strides: tuple[int, ...]) -> None:
    values = torch.arange(6.0).reshape(2, 3)
    given = allocate_input("x", RawTensor("float32", (2, 3), values.numpy().tobytes()), "cpu", strides)
    assert given.tensor.stride() == strides
    assert torch.equal(given.tensor, values)
    assert torch.isnan(given.memory).sum() == given.memory.numel() - 6
    made = laid_out(strides)
    assert unwritten(made.tensor).all()
    made.tensor.copy_(values)
    verify([given, made])
    assert torch.equal(made.tensor, values)
    assert read_outputs({"y": made})["y"].data == values.numpy().tobytes()


def test_a_store_between_the_elements_is_noticed() -> None:
    made = laid_out((7, 2))
    made.memory[1] = 0.0
    with pytest.raises(Violation, match=r"wrote between the elements of y, which has shape \(2, 3\) and strides"):
        verify([made])


def test_a_nan_from_the_gap_of_an_input_shows_in_that_of_an_output() -> None:
    given = allocate_input("x", RawTensor("float32", (2, 3), bytes(24)), "cpu", (7, 2))
    made = laid_out((7, 2))
    made.memory[1:2].copy_(given.memory[1:2])
    with pytest.raises(Violation, match="wrote between the elements of y"):
        verify([given, made])


def test_the_fences_lie_around_the_gaps_too() -> None:
    made = laid_out((7, 2))
    made.whole[-1024] = 0.0
    with pytest.raises(Violation, match="wrote past the end of y"):
        verify([made])


def test_a_place_in_memory_is_an_element_or_lies_in_a_gap() -> None:
    made = laid_out((1, 4))
    assert [made.element(place) for place in range(10)] == [0, 3, None, None, 1, 4, None, None, 2, 5]


def test_an_address_outside_is_nearest_to_the_tensor_that_it_was_counted_from() -> None:
    """Also where another tensor was allocated right before or behind: a stray pointer of k's is not told as lse's."""
    raw = RawTensor("float32", (4096,), bytes(4 * 4096))
    buffers = [allocate_input(f"x{number}", raw, "cpu") for number in range(6)]
    places = sorted((buffer.memory.data_ptr(), buffer.memory.nbytes) for buffer in buffers)
    for (start, size), (following, _) in itertools.pairwise(places):
        assert following - (start + size) > 2 * APART
    assert len({buffer.memory.data_ptr() for buffer in buffers}) == len(buffers)
