"""A recording survives its way over the wire; nothing that is none gets through."""

from __future__ import annotations

import json
import struct

import pytest

from autograder.protocol import (
    MAGIC,
    CheckReply,
    ProtocolError,
    RawTensor,
    decode_reply,
    encode_reply,
    frame,
    read_frame,
)
from autograder.recording import Call, Held, Pass, Recording, decode_recording, encode_recording

TILES = (
    RawTensor("float32", (2,), struct.pack("<2f", 1.0, 2.0)),
    RawTensor("float16", (1, 2), struct.pack("<2e", 0.5, -1.0)),
)
RECORDING = Recording(
    (
        Pass(3, "kernel", 12, -1, {"m_i": Held(0, None)}, {}),
        Call(3, "piece", False, {"m_i": 0}, (Held(1, 7), None), {"v": ((0, 7), (16, 23))}),
        Pass(3, "kernel", 12, 0, {"m_i": Held(0, 14)}, {"k": ((0, 31),)}),
    ),
    TILES,
    True,
)


def test_a_recording_comes_back_as_it_was() -> None:
    assert decode_recording(encode_recording(RECORDING)) == RECORDING


def test_it_travels_behind_the_outputs() -> None:
    data = encode_recording(RECORDING)
    outputs = {"o": RawTensor("float32", (1,), b"\0\0\0\0")}
    sent = encode_reply(CheckReply("a", "ran", outputs=outputs, recording=data))
    stream = iter([sent])
    buffer = bytearray(next(stream))

    def read(size: int) -> bytes:
        part = bytes(buffer[:size])
        del buffer[:size]
        return part

    received = read_frame(read, len(sent))
    assert received is not None
    reply = decode_reply(*received)
    assert bytes(reply.recording) == data
    assert bytes(reply.outputs["o"].data) == b"\0\0\0\0"


def document() -> dict[str, object]:
    data = encode_recording(RECORDING)
    _, header, _ = struct.unpack_from("<4sIQ", data)
    found: dict[str, object] = json.loads(data[16 : 16 + header])
    return found


def change(path: tuple[object, ...], value: object) -> bytes:
    changed = document()
    place: object = changed
    for key in path[:-1]:
        place = place[key]  # type: ignore[index]
    place[path[-1]] = value  # type: ignore[index]
    return frame(changed, [tile.data for tile in TILES])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "reply"),
        (("events",), None),
        (("events",), [None]),
        (("events",), [document()["events"][0]] * 5000),  # type: ignore[index]
        (("events", 0, "program"), -1),
        (("events", 0, "program"), True),
        (("events", 0, "function"), "a\x1b[31m"),
        (("events", 0, "loop"), 0),
        (("events", 0, "number"), 1e3),
        (("events", 0, "variables"), {"m_i": [2, None]}),
        (("events", 0, "variables"), {"m_i": [0]}),
        (("events", 0, "variables"), {"é\n": [0, 1]}),
        (("events", 0, "variables"), {"m_i": [0, 1e9]}),
        (("events", 2, "loads"), {"k": [0, 1]}),
        (("events", 2, "loads"), {"k": [[0, 1, 2]]}),
        (("events", 2, "loads"), {"k": [[-1, 2]]}),
        (("events", 2, "loads"), {"k": [[2, 1]]}),
        (("events", 2, "loads"), {"k": [[0, 4], [5, 6]]}),
        (("events", 2, "loads"), {"k": [[0, 2**40]]}),
        (("events", 2, "loads"), {"k": [[2 * run, 2 * run] for run in range(300)]}),
        (("events", 1, "loads"), None),
        (("events", 1, "arguments"), {"m_i": -1}),
        (("events", 1, "returned"), [["0", 1]]),
        (("tensors", 0, "shape"), [3]),
        (("tensors", 0, "dtype"), "object"),
        (("tensors",), []),
    ],
)
def test_what_is_malformed_is_refused(path: tuple[object, ...], value: object) -> None:
    with pytest.raises(ProtocolError):
        decode_recording(change(path, value))


@pytest.mark.parametrize(
    "data", [b"", b"x", MAGIC, encode_recording(RECORDING)[:-1], encode_recording(RECORDING) + b"x"]
)
def test_bytes_that_are_no_recording_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_recording(data)
