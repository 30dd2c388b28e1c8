"""Two stores of one value that differ by their rounding alone are no race; all else is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from autograder.worker.authors import _differing
from autograder.worker.buffers import allocate_output

NAN, INF = float("nan"), float("inf")


def differing(held: list[float], stored: list[float], dtype: torch.dtype = torch.float32) -> list[bool]:
    buffer = allocate_output("y", (len(held),), dtype, "cpu")
    buffer.tensor.copy_(torch.tensor(held, dtype=dtype))
    values = torch.tensor(stored, dtype=dtype)
    raw = values.view(torch.int16).numpy() if dtype == torch.bfloat16 else values.numpy()
    start, size = buffer.memory.data_ptr(), buffer.memory.element_size()
    addresses = np.arange(start, start + len(held) * size, size, dtype=np.uint64)
    found: list[bool] = _differing(buffer, np.arange(len(held)), raw, addresses).tolist()
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_last_bits_are_no_difference(dtype: torch.dtype) -> None:
    step = torch.finfo(dtype).eps
    assert differing([1.0, 2.0, 0.5], [1.0 + step, 2.0 - 2 * step, 0.5], dtype) == [False] * 3
    assert differing([1.0, 2.0, 0.5], [1.0 + 200 * step, 2.0, 0.5], dtype) == [True, False, False]


def test_what_nearly_cancels_is_measured_by_the_largest() -> None:
    assert differing([100.0, 1e-7], [100.0, -3e-7]) == [False, False]
    assert differing([1.0, 1e-3], [1.0, 2e-3]) == [False, True]


def test_another_kind_of_number_is_another_value() -> None:
    assert differing([1.0, INF, -INF, NAN, 1.0], [NAN, 1.0, INF, 0.0, INF]) == [True] * 5
    assert differing([INF, -INF], [INF, -INF]) == [False, False]


def test_integers_are_compared_exactly() -> None:
    buffer = allocate_output("y", (2,), torch.int32, "cpu")
    buffer.tensor.copy_(torch.tensor([1 << 30, 7], dtype=torch.int32))
    start = buffer.memory.data_ptr()
    addresses = np.array([start, start + 4], dtype=np.uint64)
    stored = np.array([(1 << 30) + 1, 7], dtype=np.int32)
    assert _differing(buffer, np.arange(2), stored, addresses).tolist() == [True, False]
