"""What a worker records of a student's functions at work, and the bytes in which it comes back.

A recording is a frame of the protocol's: JSON with the events, and the tiles one after another as raw bytes.  A tile
that several variables hold, or one variable over several passes, is there once, and events name it by its number.
What comes from a worker is treated as hostile here too: its size is bounded, and every field is checked.

Standard library only: both sides import this module.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.protocol import MAX_HEADER_BYTES, MAX_LINE, ProtocolError, RawTensor, cut, frame, read_frame

MAX_BYTES = 24 * 1024 * 1024  # the tiles of a recording
MAX_EVENTS = 4000
MAX_ROW = 2**20  # of a tensor
MAX_SPANS = 256  # of the rows of one tensor that one event names
# What a job asks for: the tiles, and the events that name them.
MAX_RECORDING = MAX_BYTES + MAX_HEADER_BYTES + 64

_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)


Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Held:
    """A variable's tile, by its number, and the line that assigned it last; None if that is not known."""

    tile: int
    line: int | None


@dataclass(frozen=True, slots=True)
class Pass:
    """The end of one pass of a loop; ``number`` -1 is the moment before the first pass.

    ``loop`` is the loop's line in ``function``, ``program`` the number of the program in its grid.  ``variables`` are
    the local variables that hold a tile, ``loads`` the rows loaded from each tensor since the event before, by name:
    the first and last of each run of rows.  Rows lie along the last axis, and are counted through all others.
    """

    program: int
    function: str
    loop: int
    number: int
    variables: Mapping[str, Held]
    loads: Mapping[str, Spans]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the student's that has returned; ``outer`` if no other function of the student's called it.

    ``returned`` holds the tiles that it returned, in order, each with the line that made it; None stands for what is no
    tile.  ``loads`` are as those of a pass.
    """

    program: int
    function: str
    outer: bool
    arguments: Mapping[str, int]
    returned: tuple[Held | None, ...]
    loads: Mapping[str, Spans]


@dataclass(frozen=True, slots=True)
class Recording:
    """Events in the order in which they came about, and the tiles that they name; ``cut`` if there was no room left."""

    events: tuple[Pass | Call, ...]
    tiles: tuple[RawTensor, ...]
    cut: bool


def encode_recording(recording: Recording) -> bytes:
    """The bytes of a recording."""
    header = {
        "kind": "recording",
        "cut": recording.cut,
        "events": [_event(event) for event in recording.events],
        "tensors": [{"dtype": tile.dtype, "shape": list(tile.shape)} for tile in recording.tiles],
    }
    return frame(header, [tile.data for tile in recording.tiles])


def decode_recording(data: bytes | memoryview) -> Recording:
    """The recording that a worker sent.

    Raises:
        ProtocolError: it is none.
    """
    try:
        stream = io.BytesIO(data)
        read = read_frame(stream.read, MAX_BYTES)
        if read is None or read[0]["kind"] != "recording" or stream.read(1):
            raise ProtocolError("a recording expected")
        header, payload = read
        tiles = tuple(cut(header["tensors"], payload))
        if len(header["events"]) > MAX_EVENTS:
            raise ProtocolError("too many events")
        events = tuple(_read_event(event, len(tiles)) for event in header["events"])
        return Recording(events, tiles, header["cut"] is True)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ProtocolError(f"malformed recording: {type(error).__name__}") from error


def _event(event: Pass | Call) -> Mapping[str, Any]:
    if isinstance(event, Pass):
        return {
            "program": event.program,
            "function": event.function,
            "loop": event.loop,
            "number": event.number,
            "variables": {name: [held.tile, held.line] for name, held in event.variables.items()},
            "loads": _written(event.loads),
        }
    return {
        "program": event.program,
        "function": event.function,
        "outer": event.outer,
        "arguments": dict(event.arguments),
        "returned": [None if held is None else [held.tile, held.line] for held in event.returned],
        "loads": _written(event.loads),
    }


def _written(loads: Mapping[str, Spans]) -> Mapping[str, Any]:
    return {name: [list(span) for span in spans] for name, spans in loads.items()}


def _read_event(event: Any, tiles: int) -> Pass | Call:
    program, function = _whole(event["program"], 0, 2**60), _name(event["function"])
    loads = {_name(name): _spans(spans) for name, spans in event["loads"].items()}
    if "loop" not in event:
        arguments = {_name(name): _whole(tile, 0, tiles - 1) for name, tile in event["arguments"].items()}
        returned = tuple(None if held is None else _held(held, tiles) for held in event["returned"])
        return Call(program, function, event["outer"] is True, arguments, returned, loads)
    variables = {_name(name): _held(held, tiles) for name, held in event["variables"].items()}
    number = _whole(event["number"], -1, MAX_EVENTS)
    return Pass(program, function, _whole(event["loop"], 1, MAX_LINE), number, variables, loads)


def _held(value: Sequence[Any], tiles: int) -> Held:
    tile, line = value
    return Held(_whole(tile, 0, tiles - 1), None if line is None else _whole(line, 1, MAX_LINE))


def _spans(values: Sequence[Any]) -> Spans:
    """Runs of rows, in order and apart."""
    if len(values) > MAX_SPANS:
        raise ProtocolError("too many spans")
    spans: list[tuple[int, int]] = []
    for first, last in values:
        least = spans[-1][1] + 2 if spans else 0
        spans.append((_whole(first, least, MAX_ROW), _whole(last, first, MAX_ROW)))
    return tuple(spans)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ProtocolError("a name expected")
    return value


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ProtocolError("a whole number expected")
    return value
