"""Device memory for one launch: inputs between guard bands, outputs poisoned and fenced with canaries.

Every tensor lies in the middle of an allocation of its own.  The bands on both sides hold a pattern of the dtype's,
for floats a NaN of their own: an out-of-bounds read brings NaN into the result, and an out-of-bounds write shows,
because the bands are compared afterwards.  On CPU every address is checked before it is used as well, see
`interpreter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from autograder.protocol import FENCE, POISON, RawTensor
from autograder.worker.faults import Violation

# Elements in each band: enough for a tile of 256 x 256 beyond the end on a GPU, where nothing else catches it.
_BAND = {"cpu": 1024, "cuda": 65536}


@dataclass(frozen=True, slots=True)
class Buffer:
    """One tensor in its allocation.  ``before`` is the bytes it started from, or None for an output."""

    name: str
    whole: torch.Tensor
    tensor: torch.Tensor
    before: bytes | memoryview | None

    @property
    def writable(self) -> bool:
        return self.before is None


def allocate_input(name: str, raw: RawTensor, device: str) -> Buffer:
    """A buffer that holds ``raw``."""
    dtype = getattr(torch, raw.dtype)
    whole, tensor = _allocate(raw.shape, dtype, device)
    if raw.numel:
        tensor.copy_(torch.frombuffer(bytearray(raw.data), dtype=dtype).reshape(raw.shape))
    return Buffer(name, whole, tensor, raw.data)


def allocate_output(name: str, shape: tuple[int, ...], dtype: torch.dtype, device: str) -> Buffer:
    """A buffer of nothing but poison."""
    whole, tensor = _allocate(shape, dtype, device)
    return Buffer(name, whole, tensor, None)


def read_outputs(buffers: Mapping[str, Buffer]) -> dict[str, RawTensor]:
    """The outputs' raw bytes."""
    return {
        buffer.name: RawTensor(_name(buffer.tensor.dtype), tuple(buffer.tensor.shape), _bytes(buffer.tensor))
        for buffer in buffers.values()
    }


def verify(buffers: list[Buffer]) -> None:
    """Raise `Violation` if an input or any band was written to."""
    for buffer in buffers:
        if buffer.before is not None and _bytes(buffer.tensor) != buffer.before:
            raise Violation(f"The kernel changed its input {buffer.name}. Inputs must stay as they are.")
        _verify_bands(buffer)


def _verify_bands(buffer: Buffer) -> None:
    flat = buffer.whole
    band = (flat.numel() - buffer.tensor.numel()) // 2
    clean = _repeated(FENCE, flat.dtype, band)
    size = buffer.tensor.numel()
    for start, place in ((0, "before the start"), (band + size, "past the end")):
        touched = (_bits(flat[start : start + band].cpu()) != _bits(clean)).nonzero().flatten()
        if len(touched) == 0:
            continue
        distance = band - int(touched[-1]) if start == 0 else int(touched[0]) + 1
        raise Violation(
            f"The kernel wrote {place} of {buffer.name}, which has shape {shape_text(buffer.tensor)}: "
            f"{distance} {'element' if distance == 1 else 'elements'} off. Check the mask of the store."
        )


def shape_text(tensor: torch.Tensor) -> str:
    return "(" + ", ".join(map(str, tensor.shape)) + ("," if tensor.ndim == 1 else "") + ")"


def poison(dtype: torch.dtype, count: int) -> torch.Tensor:
    """``count`` elements of the dtype's poison pattern, on CPU."""
    return _repeated(POISON, dtype, count)


def _repeated(patterns: Mapping[str, bytes], dtype: torch.dtype, count: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(patterns[_name(dtype)] * max(count, 1)), dtype=dtype)[:count]


def _allocate(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    size = 1
    for length in shape:
        size *= length
    band = _BAND[device]
    fence = _repeated(FENCE, dtype, band)
    whole = torch.cat([fence, poison(dtype, size), fence]).to(device)
    return whole, whole[band : band + size].reshape(shape)


def _bytes(tensor: torch.Tensor) -> bytes:
    if tensor.numel() == 0:
        return b""
    data: bytes = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return data


def _bits(flat: torch.Tensor) -> torch.Tensor:
    """The elements as integers of the same size: NaNs compare equal by their bits."""
    size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    return flat.view(size)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
