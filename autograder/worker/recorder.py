"""CPU: records what a student's functions hold in their tiles, at the end of each pass of a loop and at each return.

The interpreter runs a kernel as Python, so Python's own trace function sees its lines.  Only frames of the student's
file are looked at.
"""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.protocol import ITEM_SIZES, RawTensor
from autograder.recording import MAX_BYTES, MAX_EVENTS, MAX_ROW, MAX_SPANS, Call, Held, Pass, Recording, Spans
from autograder.worker.buffers import Buffer
from autograder.worker.interpreter import active_lanes

_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop's lines: of its header, and of its body; ``line`` counts as both if all stand on one line."""

    line: int
    body: int
    end: int

    def begins(self, line: int) -> bool:
        return self.line <= line < max(self.body, self.line + 1)

    def holds(self, line: int) -> bool:
        return self.body <= line <= self.end


@dataclass(slots=True)
class _Frame:
    """What is known of a frame at work: the value that each variable had at the last line, and who assigned it."""

    outer: bool
    loops: Sequence[_Loop]
    arguments: Mapping[str, int]
    line: int = 0  # the last one run
    passes: dict[int, int] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    assigned: dict[str, int] = field(default_factory=dict)


class Recorder:
    """Records the launches made within `running`; ``source`` is the text of the student's module at ``path``."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = str(path)
        self._loops = _loops_by_function(source)
        self._frames: dict[FrameType, _Frame] = {}
        self._events: list[Pass | Call] = []
        self._tiles: list[RawTensor] = []
        # Tiles are kept alive, so that no other gets the number of one that is gone.
        self._known: dict[int, tuple[Any, int]] = {}
        self._bytes = 0
        self._cut = False
        self._loads: dict[str, list[Any]] = {}  # arrays of the numbers of rows

    @property
    def recording(self) -> Recording:
        return Recording(tuple(self._events), tuple(self._tiles), self._cut)

    @contextlib.contextmanager
    def running(self, inputs: Sequence[Buffer]) -> Iterator[None]:
        """Within `interpreter.guarded`: record what runs."""
        guard = triton_interpreter._interpreter
        load = guard.load

        def observed_load(ptrs: Any, mask: Any, other: Any, dtype: Any) -> Any:
            if not self._cut:
                self._note_load(active_lanes(ptrs, mask)[0], inputs)
            return load(ptrs, mask, other, dtype)

        guard.load = observed_load
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            del guard.load
            self._frames.clear()

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if self._cut or event != "call" or code.co_filename != self._path or code.co_name not in self._loops:
            return None
        outer = not self._called_by_student(frame)
        arguments = {
            name: number
            for name in code.co_varnames[: code.co_argcount]
            if (number := self._number(name, frame.f_locals.get(name))) is not None
        }
        self._frames[frame] = _Frame(outer, self._loops[code.co_name], arguments)
        self._look(frame, self._frames[frame])
        return self._step

    def _step(self, frame: FrameType, event: str, value: Any) -> Any:
        state = self._frames.get(frame)
        if state is None or self._cut:
            return None  # nothing can be added: the kernel goes on at its own pace
        if event == "line":
            self._look(frame, state)
            for loop in state.loops:
                if not loop.begins(frame.f_lineno):
                    continue
                if loop.holds(state.line) and loop.line in state.passes:
                    self._end_pass(frame, state, loop)
                elif not loop.holds(state.line) and not loop.begins(state.line):
                    state.passes[loop.line] = -1
                    self._end_pass(frame, state, loop)
            state.line = frame.f_lineno
        elif event == "return":
            self._look(frame, state)
            self._leave(frame.f_code, state, value)
            del self._frames[frame]
        return self._step

    def _look(self, frame: FrameType, state: _Frame) -> None:
        """Note which variables the line before has assigned."""
        now = dict(frame.f_locals)
        for name, value in now.items():
            if state.line and state.values.get(name) is not value:
                state.assigned[name] = state.line
        state.values = now

    def _end_pass(self, frame: FrameType, state: _Frame, loop: _Loop) -> None:
        number = state.passes[loop.line]
        state.passes[loop.line] += 1
        variables = {
            name: Held(tile, state.assigned.get(name))
            for name, value in state.values.items()
            if (tile := self._number(name, value)) is not None
        }
        self._add(Pass(_program(), frame.f_code.co_name, loop.line, number, variables, self._taken_loads()))

    def _leave(self, code: CodeType, state: _Frame, value: Any) -> None:
        """A function's return; after an error, which returns None, there is nothing to tell."""
        returned = []
        for item in value if isinstance(value, (tuple, list, tl.tuple)) else (value,):
            tile = self._number("returned", item)
            names = [name for name, local in state.values.items() if local is item]
            lines = [state.assigned[name] for name in names if name in state.assigned]
            # What has a name and was never assigned is an argument, returned as it came.
            line = max(lines) if lines else None if names else state.line or None
            returned.append(None if tile is None else Held(tile, line))
        self._add(Call(_program(), code.co_name, state.outer, state.arguments, tuple(returned), self._taken_loads()))

    def _add(self, event: Pass | Call) -> None:
        if len(self._events) < MAX_EVENTS:
            self._events.append(event)
        else:
            self._cut = True

    def _number(self, name: str, value: Any) -> int | None:
        """The number of a tile; None for what is no tile of numbers, or where there is no room left."""
        if not isinstance(value, tl.tensor) or not name.isascii() or len(name) > _LONGEST_NAME:
            return None
        if id(value) in self._known:
            return self._known[id(value)][1]
        data, dtype = np.asarray(value.handle.data), _dtype(value)
        if not data.shape or dtype is None or data.itemsize != ITEM_SIZES[dtype]:
            return None
        if self._bytes + data.nbytes > MAX_BYTES:
            self._cut = True
            return None
        self._bytes += data.nbytes
        self._tiles.append(RawTensor(dtype, tuple(map(int, data.shape)), data.tobytes()))
        self._known[id(value)] = value, len(self._tiles) - 1
        return len(self._tiles) - 1

    def _called_by_student(self, frame: FrameType) -> bool:
        caller = frame.f_back
        while caller is not None:
            if caller in self._frames:
                return True
            caller = caller.f_back
        return False

    def _note_load(self, addresses: Any, inputs: Sequence[Buffer]) -> None:
        for buffer in inputs:
            start, size = buffer.memory.data_ptr(), buffer.memory.element_size()
            inside = addresses[(addresses >= start) & (addresses < start + buffer.memory.numel() * size)]
            if inside.size:
                width = max(1, buffer.tensor.shape[-1]) if buffer.tensor.ndim > 1 else 1
                self._loads.setdefault(buffer.name, []).append(np.unique((inside - start) // size // width))

    def _taken_loads(self) -> Mapping[str, Spans]:
        loads, self._loads = self._loads, {}
        return {name: _runs(np.unique(np.concatenate(rows))) for name, rows in loads.items()}


def _runs(rows: Any) -> Spans:
    """The first and last of each run of sorted numbers; of too many runs, or of rows far away, one from end to end."""
    rows = np.minimum(rows, MAX_ROW)
    ends = np.flatnonzero(np.diff(rows) > 1)
    if len(ends) >= MAX_SPANS:
        return ((int(rows[0]), int(rows[-1])),)
    firsts, lasts = rows[[0, *(ends + 1)]], rows[[*ends, len(rows) - 1]]
    return tuple((int(first), int(last)) for first, last in zip(firsts, lasts, strict=True))


def _program() -> int:
    """The number of the program at work, in the order in which the interpreter runs them."""
    builder = triton_interpreter.interpreter_builder
    (x, y, z), (_, height, depth) = builder.grid_idx, builder.grid_dim
    return int((x * height + y) * depth + z)


def _dtype(value: Any) -> str | None:
    """The protocol's name of a tile's dtype; None for pointers and what else is no number."""
    scalar = value.type.scalar
    if scalar.is_ptr():
        return None
    name = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int1": "bool"}.get(
        scalar.name
    )
    return name or (scalar.name if scalar.name in ITEM_SIZES else None)


def _loops_by_function(source: str) -> Mapping[str, Sequence[_Loop]]:
    """The loops of each function of a module; innermost ones too."""
    return {
        node.name: [
            _Loop(loop.lineno, loop.body[0].lineno, loop.body[-1].end_lineno or loop.body[-1].lineno)
            for loop in ast.walk(node)
            if isinstance(loop, ast.For | ast.While)
        ]
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
