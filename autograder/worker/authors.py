"""CPU: who stored each element of an output, and whether a GPU would have it the same.

The interpreter runs one program after another, from the first on, and a tile's lanes one after another too.  On a GPU
programs run at once and in any order, and so do the threads of one program: what they share through memory without a
barrier may come late, and of several values for one element any may be the last.  Values that differ by their rounding
alone count as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.buffers import Buffer

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_NOBODY = -1
_ROUNDING = 64  # steps of float32
_EVERYBODY = -2  # may load it: there was a barrier
_LANES_OF_A_TILE = 1 << 32


class Authors:
    """The authors of every element that one launch has stored; ``disputed`` is filled on the way.

    It holds the first element of each output for which the order would count, by ``kind.output``:

    * ``stores_of_another``: two programs store different values;
    * ``stores_twice``: one store has different values for it;
    * ``stores_of_other_lanes``: a program stores different values with tiles of two arrangements;
    * ``loads_of_another``: a program loads what another has stored;
    * ``loads_of_other_lanes``: a program loads what it has stored itself, with a tile of another arrangement.

    ``shares`` holds how many elements of each output the busiest program has stored.
    """

    def __init__(self) -> None:
        self.disputed: dict[str, int] = {}
        self.shares: dict[str, int] = {}
        self._stored: dict[tuple[str, int], int] = {}
        self._programs: dict[str, Any] = {}
        self._lanes: dict[str, Any] = {}
        self._shapes: dict[tuple[int, ...], int] = {}

    def begin_launch(self) -> None:
        """Forget who has stored what: a launch sees all that an earlier one has stored."""
        self._programs.clear()
        self._lanes.clear()
        self._stored.clear()

    def barrier(self) -> None:
        """From here on each thread of the program sees what the others have stored."""
        program = _program()
        for name, programs in self._programs.items():
            self._lanes[name][programs == program] = _EVERYBODY

    def knows(self, buffer: Buffer) -> bool:
        """Whether anything was stored to a buffer in this launch."""
        return buffer.name in self._programs and buffer.writable

    def load(self, buffer: Buffer, addresses: Any, active: Any) -> None:
        """Note a load of the ``active`` lanes of a tile of pointers; ``addresses`` are those lanes' own."""
        elements, lanes = self._touched(buffer, addresses, active)
        programs = self._programs[buffer.name][elements]
        self._dispute("loads_of_another", buffer, elements, (programs != _NOBODY) & (programs != _program()))
        authors = self._lanes[buffer.name][elements]
        others = (programs == _program()) & (authors != lanes) & (authors != _EVERYBODY)
        self._dispute("loads_of_other_lanes", buffer, elements, others)

    def store(self, buffer: Buffer, addresses: Any, active: Any, values: Any) -> None:
        """Note a store that is about to be made; ``values`` are those of the active lanes."""
        elements, lanes = self._touched(buffer, addresses, active)
        size = buffer.memory.numel()
        programs = self._programs.setdefault(buffer.name, np.full(size, _NOBODY, dtype=np.int64))
        authors = self._lanes.setdefault(buffer.name, np.full(size, _NOBODY, dtype=np.int64))
        again = programs[elements] != _NOBODY
        if again.any():
            different = again & _differing(buffer, elements, values, addresses)
            own = programs[elements] == _program()
            self._dispute("stores_of_another", buffer, elements, different & ~own)
            others = (authors[elements] != lanes) & (authors[elements] != _EVERYBODY)
            self._dispute("stores_of_other_lanes", buffer, elements, different & own & others)
        # Programs run one after another: what a program has once stored stays its own until it ends.
        fresh = len(np.unique(elements[programs[elements] != _program()]))
        share = self._stored[buffer.name, _program()] = self._stored.get((buffer.name, _program()), 0) + fresh
        self.shares[buffer.name] = max(share, self.shares.get(buffer.name, 0))
        programs[elements] = _program()
        authors[elements] = lanes

    def stored(self, buffer: Buffer, addresses: Any, active: Any, values: Any) -> None:
        """Look at what a store has left: each lane's value, if no other lane had a different one."""
        elements, _ = self._touched(buffer, addresses, active)
        different = _differing(buffer, elements, values, addresses)
        self._dispute("stores_twice", buffer, elements, different)

    def measurements(self) -> Mapping[str, float]:
        shares = {f"largest_share.{name}": float(count) for name, count in self.shares.items()}
        return shares | {name: float(element) for name, element in self.disputed.items()}

    def _touched(self, buffer: Buffer, addresses: Any, active: Any) -> tuple[Any, Any]:
        """The buffer's elements behind the addresses that lie in it, and which lane of which shape has each."""
        number = self._shapes.setdefault(active.shape, len(self._shapes))
        lanes = np.flatnonzero(active) + number * _LANES_OF_A_TILE
        inside = _inside(buffer, addresses)
        offsets = (addresses[inside] - np.uint64(buffer.memory.data_ptr())).astype(np.int64)
        return offsets // buffer.memory.element_size(), lanes[inside]

    def _dispute(self, kind: str, buffer: Buffer, elements: Any, which: Any) -> None:
        if which.any():
            element = buffer.element(int(elements[np.argmax(which)]))
            if element is not None:  # what is stored to a gap is noticed as such
                self.disputed.setdefault(f"{kind}.{buffer.name}", element)


def _program() -> int:
    x, y, z = triton_interpreter.interpreter_builder.grid_idx
    return int(x + (y << 20) + (z << 40))


def _inside(buffer: Buffer, addresses: Any) -> Any:
    start = buffer.memory.data_ptr()
    end = start + buffer.memory.numel() * buffer.memory.element_size()
    return (addresses >= start) & (addresses < end)


def _differing(buffer: Buffer, elements: Any, values: Any, addresses: Any) -> Any:
    """Where a buffer holds another value than the one that is stored, by more than rounding.

    The same row computed twice, at different places of a tile, need not come out the same to the last bit: that depends
    on the processor and its BLAS.  Whichever store is the last, the result is as good.
    """
    bits = _bits_of(buffer, values, addresses)
    different = _memory(buffer)[elements] != bits
    dtype = buffer.memory.dtype
    if dtype.is_floating_point and different.any():
        held, stored = buffer.memory[torch.from_numpy(elements)].double(), torch.from_numpy(bits).view(dtype).double()
        largest = torch.nan_to_num(torch.maximum(held.abs(), stored.abs()), nan=0.0, posinf=0.0).max()
        # NaN and infinities are different from all else, and an element that was never written is far from any.
        different &= ~((held - stored).abs() <= _rounding(dtype) * largest).numpy()
    return different


def _rounding(dtype: torch.dtype) -> float:
    """How far apart sums in float32 of the same numbers may be, and what they are rounded to."""
    return float(max(_ROUNDING * torch.finfo(torch.float32).eps, 2 * torch.finfo(dtype).eps))


def _memory(buffer: Buffer) -> Any:
    """The buffer's elements as integers of the same bits."""
    return buffer.memory.view(_BITS[buffer.memory.element_size()]).numpy()


def _bits_of(buffer: Buffer, values: Any, addresses: Any) -> Any:
    """The bits of those of the values that go to a buffer."""
    return np.ascontiguousarray(values[_inside(buffer, addresses)]).view(f"i{values.dtype.itemsize}")
