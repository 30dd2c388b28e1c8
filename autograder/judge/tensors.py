"""Torch tensors to and from the protocol's raw bytes, on the judge's side."""

from __future__ import annotations

import torch

from autograder.protocol import POISON, RawTensor


def to_raw(tensor: torch.Tensor) -> RawTensor:
    """Any tensor as contiguous bytes."""
    flat = tensor.detach().contiguous().flatten()
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return RawTensor(dtype_name(tensor.dtype), tuple(tensor.shape), data)


def from_raw(raw: RawTensor) -> torch.Tensor:
    """A tensor of its own memory."""
    dtype = getattr(torch, raw.dtype)
    if raw.numel == 0:
        return torch.empty(raw.shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw.data), dtype=dtype).reshape(raw.shape)


def unwritten(tensor: torch.Tensor) -> torch.Tensor:
    """A boolean mask of the tensor's shape: elements that still hold the poison they were given."""
    name = dtype_name(tensor.dtype)
    if name == "bool" or tensor.numel() == 0:
        return torch.zeros(tensor.shape, dtype=torch.bool)
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    pattern = torch.frombuffer(bytearray(POISON[name]), dtype=integer)
    return tensor.contiguous().view(integer) == pattern


def dtype_name(dtype: torch.dtype) -> str:
    """``torch.float32`` as ``float32``."""
    return str(dtype).removeprefix("torch.")
