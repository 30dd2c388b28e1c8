"""Device memory for one launch: inputs between guard bands, outputs poisoned and fenced with canaries.

Every tensor lies in the middle of an allocation of its own; one that an exercise lays out with strides has gaps.
Those of an input hold what the bands hold, and those of an output what nothing else does, so that a NaN on its way from
the one to the other shows.  The bands on both sides hold a pattern of the dtype's,
for floats a NaN of their own: an out-of-bounds read brings NaN into the result, and an out-of-bounds write shows,
because the bands are compared afterwards.  On CPU every address is checked before it is used as well, see
`interpreter`; there the allocations lie so far apart that an address outside says which tensor it was meant for.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from autograder.protocol import FENCE, POISON, RawTensor
from autograder.worker.faults import Violation

# Elements in each band: enough for a tile of 256 x 256 beyond the end on a GPU, where nothing else catches it.
_BAND = {"cpu": 1024, "cuda": 65536}
# Bytes without a tensor before and behind each allocation on CPU: addresses alone, as what is never touched takes no
# memory.
APART = 8 << 20
# Elements of an allocation with gaps that are looked at in one go: it may be as large as half a GPU.
_PIECE = 1 << 26


@dataclass(frozen=True, slots=True)
class Buffer:
    """One tensor in its allocation.  ``before`` is the bytes it started from, or None for an output.

    ``memory`` is flat, from the tensor's first element to its last, with the gaps between them if there are any.
    """

    name: str
    whole: torch.Tensor
    memory: torch.Tensor
    tensor: torch.Tensor
    before: bytes | memoryview | None

    @property
    def writable(self) -> bool:
        return self.before is None

    @property
    def has_gaps(self) -> bool:
        """Whether there is memory between the tensor's elements."""
        return bool(self.memory.numel() > self.tensor.numel())

    def element(self, place: int) -> int | None:
        """The number of the element, as of a contiguous tensor, at a place in memory; None in a gap."""
        if self.tensor.is_contiguous():
            return place
        number = 0
        counts = _counts(self.tensor.shape)
        for stride, length, count in sorted(zip(self.tensor.stride(), self.tensor.shape, counts, strict=True))[::-1]:
            index = min(place // stride, length - 1)
            place -= index * stride
            number += index * count
        return number if place == 0 else None


def allocate_input(name: str, raw: RawTensor, device: str, strides: Sequence[int] | None = None) -> Buffer:
    """A buffer that holds ``raw``, laid out with ``strides`` (None: contiguous)."""
    dtype = getattr(torch, raw.dtype)
    whole, memory, tensor = _allocate(raw.shape, dtype, device, strides)
    if raw.numel:
        tensor.copy_(torch.frombuffer(bytearray(raw.data), dtype=dtype).reshape(raw.shape))
    return Buffer(name, whole, memory, tensor, raw.data)


def allocate_output(
    name: str, shape: tuple[int, ...], dtype: torch.dtype, device: str, strides: Sequence[int] | None = None
) -> Buffer:
    """A buffer of nothing but poison, laid out with ``strides`` (None: contiguous)."""
    whole, memory, tensor = _allocate(shape, dtype, device, strides)
    if strides is not None:
        _bits(memory).fill_(int(_bits(poison(dtype, 1))))
    return Buffer(name, whole, memory, tensor, None)


def read_outputs(buffers: Mapping[str, Buffer]) -> dict[str, RawTensor]:
    """The outputs' raw bytes."""
    return {
        buffer.name: RawTensor(_name(buffer.tensor.dtype), tuple(buffer.tensor.shape), _bytes(buffer.tensor))
        for buffer in buffers.values()
    }


def verify(buffers: list[Buffer]) -> None:
    """Raise `Violation` if an input, any band or any gap was written to."""
    for buffer in buffers:
        if buffer.before is not None and _bytes(buffer.tensor) != buffer.before:
            raise Violation(f"The kernel changed its input {buffer.name}. Inputs must stay as they are.")
        _verify_bands(buffer)
        if buffer.has_gaps:
            _verify_gaps(buffer)


def _verify_bands(buffer: Buffer) -> None:
    flat = buffer.whole
    size = buffer.memory.numel()
    band = (flat.numel() - size) // 2
    clean = _repeated(FENCE, flat.dtype, band)
    for start, place in ((0, "before the start"), (band + size, "past the end")):
        touched = (_bits(flat[start : start + band].cpu()) != _bits(clean)).nonzero().flatten()
        if len(touched) == 0:
            continue
        distance = band - int(touched[-1]) if start == 0 else int(touched[0]) + 1
        raise Violation(
            f"The kernel wrote {place} of {buffer.name}, which has shape {shape_text(buffer.tensor)}: "
            f"{distance} {'element' if distance == 1 else 'elements'} off. Check the mask of the store."
        )


def _verify_gaps(buffer: Buffer) -> None:
    values, bits = buffer.tensor.clone(), _bits(buffer.memory)
    gap = int(_bits(_repeated(POISON if buffer.writable else FENCE, buffer.memory.dtype, 1)))
    _bits(buffer.tensor).fill_(gap)
    untouched = all(bool((piece == gap).all()) for piece in _pieces(bits))
    buffer.tensor.copy_(values)
    if not untouched:
        raise Violation(
            f"The kernel wrote between the elements of {buffer.name}, which has shape {shape_text(buffer.tensor)} and "
            f"strides {_tuple_text(buffer.tensor.stride())}. Check the offsets and the mask of the store."
        )


def _pieces(flat: torch.Tensor) -> Iterator[torch.Tensor]:
    for start in range(0, flat.numel(), _PIECE):
        yield flat[start : start + _PIECE]


def shape_text(tensor: torch.Tensor) -> str:
    return _tuple_text(tensor.shape)


def _tuple_text(sizes: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"


def poison(dtype: torch.dtype, count: int) -> torch.Tensor:
    """``count`` elements of the dtype's poison pattern, on CPU."""
    return _repeated(POISON, dtype, count)


def _repeated(patterns: Mapping[str, bytes], dtype: torch.dtype, count: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(patterns[_name(dtype)] * max(count, 1)), dtype=dtype)[:count]


def _allocate(
    shape: tuple[int, ...], dtype: torch.dtype, device: str, strides: Sequence[int] | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The whole allocation, the tensor's part of it, and the tensor."""
    band = _BAND[device]
    if strides is None:
        size = math.prod(shape)
        fence = _repeated(FENCE, dtype, band)
        whole = _placed(torch.cat([fence, poison(dtype, size), fence]), device)
        memory = whole[band : band + size]
        return whole, memory, memory.reshape(shape)
    span = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    pattern = _bits(_repeated(FENCE, dtype, 1))
    whole = _placed(torch.full((span + 2 * band,), int(pattern), dtype=pattern.dtype, device=device), device).view(
        dtype
    )
    memory = whole[band : band + span]
    return whole, memory, memory.as_strided(shape, tuple(strides))


def _placed(flat: torch.Tensor, device: str) -> torch.Tensor:
    """The tensor on its device; on CPU its memory begins and ends `APART` bytes from any other's."""
    if device != "cpu":
        return flat.to(device)
    addresses = mmap.mmap(-1, flat.nbytes + 2 * APART, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(addresses, dtype=flat.dtype, count=flat.numel(), offset=APART).copy_(flat)


def _counts(shape: Sequence[int]) -> list[int]:
    """The strides of a contiguous tensor."""
    counts = [1]
    for length in reversed(shape[1:]):
        counts.insert(0, counts[0] * length)
    return counts


def _bytes(tensor: torch.Tensor) -> bytes:
    if tensor.numel() == 0:
        return b""
    data: bytes = tensor.detach().contiguous().cpu().flatten().view(torch.uint8).numpy().tobytes()
    return data


def _bits(flat: torch.Tensor) -> torch.Tensor:
    """The elements as integers of the same size: NaNs compare equal by their bits."""
    size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.element_size()]
    return flat.view(size)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
