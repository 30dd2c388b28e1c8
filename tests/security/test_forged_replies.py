"""What a worker sends is hostile: every field that is not what it must be ends as `crashed`, before anyone uses it.

The modules here are what no lift would ever let through.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.pool import Pool
from autograder.protocol import (
    MAGIC,
    CheckJob,
    CheckReply,
    Job,
    Limits,
    ProtocolError,
    RawTensor,
    decode_promise,
    decode_reply,
    encode_promise,
    keeps_promise,
    printable,
    read_frame,
)

LAUNCH = """
def outputs(case):
    return {"y": ((4,), "float32")}

def launch(run, student, case, inputs, outputs):
    student.attack(outputs["y"])
"""

# `send(header, payload)` speaks on the job's own socket; `honest` is what the child would have sent.
PRELUDE = """
import json, os, stat, struct, time
def sockets():
    for fd in range(3, 200):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                yield fd
        except OSError:
            pass
def raw(data):
    for fd in sockets():
        os.write(fd, data)
def send(payload=bytes(16), text=None, **changes):
    header = {
        "kind": "check", "id": "c", "outcome": "ran", "message": "", "line": None, "seconds": 0.1, "measurements": {},
        "tensors": [{"name": "y", "dtype": "float32", "shape": [4]}],
    }
    header.update(changes)
    data = (text or json.dumps(header)).encode("utf-8", "surrogatepass")
    raw(struct.pack("<4sIQ", b"MFA1", len(data), len(payload)) + data + payload)
def attack(y):
    ATTACK
    time.sleep(60)
"""

FORGED = {
    "seconds_nan": "send(seconds=float('nan'))",
    "seconds_negative": "send(seconds=-1.0)",
    "seconds_infinite": "send(seconds=float('inf'))",
    "seconds_text": "send(seconds='nan')",
    "seconds_true": "send(seconds=True)",
    "seconds_huge": "send(seconds=10**400)",
    "measurement_nan": "send(measurements={'largest_load.k': float('nan')})",
    "measurement_negative": "send(measurements={'total_load.k': -5})",
    "measurement_text": "send(measurements={'largest_load.k': '0'})",
    "measurement_list": "send(measurements=[1])",
    "measurement_name": "send(measurements={'\\x1b[31m': 1})",
    "measurements_many": "send(measurements={f'a{i}': 1 for i in range(2000)})",
    "line_zero": "send(line=0)",
    "line_negative": "send(line=-3)",
    "line_huge": "send(line=10**300)",
    "line_float": "send(line=1.5)",
    "line_text": "send(line='7')",
    "line_true": "send(line=True)",
    "message_number": "send(message=3)",
    "message_null": "send(message=None)",
    "outcome_list": "send(outcome=['ran'])",
    "outcome_unknown": "send(outcome='pass')",
    "outcome_timeout": "send(outcome='timeout', tensors=[], payload=b'')",
    "outcome_our_fault": "send(outcome='grader-error', tensors=[], payload=b'')",
    "outputs_with_a_failure": "send(outcome='violation')",
    "another_check": "send(id='d')",
    "no_tensors": "send(tensors=[], payload=b'')",
    "tensors_null": "send(tensors=None)",
    "tensors_text": "send(tensors='abc')",
    "tensor_missing_field": "send(tensors=[{'name': 'y'}])",
    "tensor_of_another_name": "send(tensors=[{'name': 'z', 'dtype': 'float32', 'shape': [4]}])",
    "tensor_too_many": (
        "send(tensors=[{'name': n, 'dtype': 'float32', 'shape': [4]} for n in 'yz'], payload=bytes(32))"
    ),
    "tensor_twice": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [s]} for s in (0, 4)])",
    "tensor_name_with_codes": "send(tensors=[{'name': '\\x1b[2J', 'dtype': 'float32', 'shape': [4]}])",
    "dtype_other": "send(tensors=[{'name': 'y', 'dtype': 'int32', 'shape': [4]}])",
    "dtype_wider": "send(tensors=[{'name': 'y', 'dtype': 'float64', 'shape': [2]}])",
    "dtype_unknown": "send(tensors=[{'name': 'y', 'dtype': 'complex64', 'shape': [2]}])",
    "dtype_list": "send(tensors=[{'name': 'y', 'dtype': ['float32'], 'shape': [4]}])",
    "shape_other": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [2, 2]}])",
    "shape_that_broadcasts": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [4, 1]}])",
    "shape_scalar": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': []}], payload=bytes(4))",
    "shape_empty": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [0]}], payload=b'')",
    "shape_negative": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [-2, -2]}])",
    "shape_float": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [4.0]}])",
    "shape_text": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': '4'}])",
    "shape_true": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [4, True]}])",
    "shape_deep": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [1] * 9 + [4]}])",
    "shape_empty_and_huge": "send(tensors=[{'name': 'y', 'dtype': 'float32', 'shape': [0, 2**62]}], payload=b'')",
    "payload_short": "send(payload=bytes(12))",
    "payload_long": "send(payload=bytes(20))",
    "payload_giant": "raw(struct.pack('<4sIQ', b'MFA1', 2, 1 << 60) + b'{}')",
    "payload_truncated": "raw(struct.pack('<4sIQ', b'MFA1', 2, 16) + b'{}' + bytes(3)); os._exit(0)",
    "header_giant": "raw(struct.pack('<4sIQ', b'MFA1', (1 << 32) - 1, 0))",
    "header_over_the_limit": "send(message='x' * 300000)",
    "header_deep": "send(text='[' * 100000)",
    "header_list": "send(text='[]')",
    "header_no_json": "send(text='{')",
    "header_digits": "send(text='{\"seconds\": ' + '9' * 5000 + '}')",
    "header_null_key": 'send(text=\'{"kind": "check"}\')',
    "a_second_promise": "send(kind='promise', outputs={'l': {'c': {'y': ['float32', [9]]}}}, payload=b'')",
    "magic": "raw(b'GET / HTTP/1.1\\r\\n\\r\\n')",
    "nothing": "[os.close(fd) for fd in sockets()]",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


@pytest.fixture
def reply_to(pool: Pool, tmp_path: Path) -> Callable[[str], CheckReply]:
    """Runs an attack in the place of a kernel; what the pool makes of it."""
    (tmp_path / "launch.py").write_text(LAUNCH)

    def reply_to(attack: str) -> CheckReply:
        job = Job(
            launch=str(tmp_path / "launch.py"),
            file_name="k.py",
            module=PRELUDE.replace("ATTACK", attack),
            functions=("attack",),
            checks=(CheckJob("c", {}, {"x": RawTensor("float32", (1,), bytes(4))}),),
            limits=Limits(cpu_seconds=5, wall_seconds=30),
        )
        replies: list[CheckReply] = []
        pool.run(job, lambda reply, following: replies.append(reply) is None)
        assert len(replies) == 1
        return replies[0]

    return reply_to


@pytest.mark.parametrize("name", list(FORGED))
def test_a_reply_with_a_wrong_field_is_a_crash(name: str, reply_to: Callable[[str], CheckReply]) -> None:
    reply = reply_to(FORGED[name])
    assert (reply.outcome, reply.outputs, reply.line) == ("crashed", {}, None)
    assert reply.message


def test_a_reply_that_keeps_to_the_form_is_taken_once(reply_to: Callable[[str], CheckReply]) -> None:
    """The form is all that the pool can check: what the numbers are worth is the judge's to say."""
    assert reply_to("send()").outcome == "ran"
    assert reply_to("send(); send(payload=b'\\xff' * 16); send(id='d')").outputs["y"].data == bytes(16)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mPASS\x1b[0m",
        "a\rb",
        "\x07",
        "\u202egnp",
        "a\u2028b",
        "\ud800",
        "\x9b31m",
        "\U000e0041",
        "\u200b",
        "\0",
        "\t",
    ],
)
def test_a_message_moves_no_cursor_and_can_be_written(text: str, reply_to: Callable[[str], CheckReply]) -> None:
    attack = (
        f"send(outcome='crashed', message=json.loads({json.dumps(json.dumps(text + 'ü ok'))}), tensors=[], payload=b'')"
    )
    message = reply_to(attack).message
    assert message.endswith("ü ok")
    assert message.isprintable()
    assert message.encode("utf-8")


def test_line_ends_of_a_message_are_kept() -> None:
    assert printable("one\ntwo") == "one\ntwo"


@pytest.mark.parametrize("number", [1, 40, 64, 11, 31])
def test_an_end_by_any_signal_is_a_crash(number: int, reply_to: Callable[[str], CheckReply]) -> None:
    """Most real-time signals have no name."""
    reply = reply_to(f"os.kill(os.getpid(), {number})")
    assert reply.outcome == "crashed"
    assert reply.message.startswith("The kernel's process was ended by")


def test_a_fault_of_the_course_is_said_before_the_students_code_runs(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text("def outputs(case): raise KeyError('n')\ndef launch(*_): pass\n")
    check = CheckJob("c", {}, {"x": RawTensor("float32", (1,), bytes(4))})
    job = Job(str(tmp_path / "launch.py"), "k.py", "raise SystemExit", (), (check,))
    replies: list[CheckReply] = []
    pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert replies[0].outcome == "grader-error"
    assert "launch.py" in replies[0].message


def frame(header: Any, payload: bytes = b"") -> bytes:
    raw = json.dumps(header).encode()
    return struct.pack("<4sIQ", MAGIC, len(raw), len(payload)) + raw + payload


def read(data: bytes) -> tuple[Any, memoryview]:
    place = 0

    def take(size: int) -> bytes:
        nonlocal place
        part, place = data[place : place + size], place + size
        return part

    found = read_frame(take, 1 << 20)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "outputs",
    [
        None,
        [],
        {"l": 3},
        {"l": {"c": []}},
        {"l": {"c": {"y": 3}}},
        {"l": {"c": {"y": ["float32"]}}},
        {"l": {"c": {"y": ["float33", [1]]}}},
        {"l": {"c": {"y": ["int8", [-1]]}}},
    ],
)
def test_a_malformed_promise_is_none(outputs: Any) -> None:
    with pytest.raises(ProtocolError):
        decode_promise(*read(frame({"kind": "promise", "outputs": outputs})))


def test_a_promise_comes_back_as_it_was_and_is_kept_to_the_letter() -> None:
    outputs = {"y": ("float32", (4,)), "z": ("bool", ())}
    promise = {"launch.py": {"c": outputs, "d": {}}}
    assert decode_promise(*read(encode_promise(promise))) == promise
    y, z = RawTensor("float32", (4,), bytes(16)), RawTensor("bool", (), bytes(1))
    reply = CheckReply("c", "ran", outputs={"z": z, "y": y})
    assert keeps_promise(reply, outputs)
    for wrong in ({"y": y}, {"y": y, "z": y}, {"y": y, "z": z, "x": z}, {}):
        assert not keeps_promise(replace(reply, outputs=wrong), outputs)
    assert keeps_promise(CheckReply("d", "ran"), {})


def test_a_reply_before_any_promise_is_not_believed() -> None:
    header = {"kind": "promise", "outputs": {}}
    with pytest.raises(ProtocolError):
        decode_reply(*read(frame(header)))
