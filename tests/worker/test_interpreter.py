"""CPU: every memory access of Triton's interpreter is behind the guard, and says what went wrong where."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, Job, RawTensor
from autograder.worker.interpreter import _element

LAUNCH = """
def outputs(case):
    return {"o": ((4, 8), "float32"), "w": ((3,), "int32")}

def launch(run, student, case, inputs, outputs):
    run(student.kernel, (1,), inputs["a"], inputs["b"], outputs["o"], outputs["w"])
"""

FINE = "tl.store(o_ptr + offs, tl.load(a_ptr + offs)); tl.store(w_ptr + tl.arange(0, 4), 1, mask=tl.arange(0, 4) < 3)"
BAD = {
    "load_past_the_end": (
        "tl.store(o_ptr + offs, tl.load(a_ptr + offs + 1))",
        "The kernel loads outside a, which has shape (4, 8): row 4, column 0.",
    ),
    "load_before_the_start": ("tl.store(o_ptr + offs, tl.load(a_ptr + offs - 1))", "loads outside a"),
    "load_far_away": ("tl.store(o_ptr + offs, tl.load(a_ptr + offs * 100000000))", "loads far outside its tensors"),
    "store_past_the_end": ("tl.store(o_ptr + offs + 8, tl.load(a_ptr + offs))", "stores outside o"),
    "store_unmasked_tail": (
        "tl.store(w_ptr + tl.arange(0, 4), 1)",
        "stores outside w, which has shape (3,): element 3",
    ),
    "store_to_an_input": ("tl.store(b_ptr + offs, tl.load(a_ptr + offs))", "The kernel stores to its input b."),
    "misaligned": (
        "tl.store(o_ptr + offs, tl.load((a_ptr.to(tl.int64) + 2).to(tl.pointer_type(tl.float32)) + tl.arange(0, 1)))",
        "not aligned",
    ),
    "atomic_add": ("tl.atomic_add(o_ptr + offs, 1.0)", "atomic operation"),
    "atomic_cas": ("tl.atomic_cas(w_ptr + tl.arange(0, 1), 0, 1)", "atomic operation"),
    "tensor_descriptor": (
        "d = tl.make_tensor_descriptor(a_ptr, [8, 8], [8, 1], [4, 8]); "
        "tl.store(o_ptr + offs, d.load([4, 0]).reshape(32))",
        "loads outside a",
    ),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


def launch(pool: Pool, folder: Path, body: str, grid: int = 1, times: int = 1) -> CheckReply:
    text = LAUNCH.replace("(1,)", f"({grid},)").rstrip()
    (folder / "launch.py").write_text(text + ("\n" + text.splitlines()[-1]) * (times - 1) + "\n")
    module = "@triton.jit\ndef kernel(a_ptr, b_ptr, o_ptr, w_ptr):\n    offs = tl.arange(0, 32)\n    " + body.replace(
        "; ", "\n    "
    )
    tensor = RawTensor("float32", (4, 8), bytes(128))
    job = Job(
        str(folder / "launch.py"), "k.py", module + "\n", ("kernel",), (CheckJob("c", {}, {"a": tensor, "b": tensor}),)
    )
    replies: list[CheckReply] = []
    pool.run(job, lambda reply, following: replies.append(reply) is None)
    return replies[0]


@pytest.mark.parametrize(
    ("shape", "offset", "said"),
    [
        ((7, 3, 32), 672, "index (7, 0, 0)"),
        ((7, 3, 32), 672 + 96 + 33, "index (8, 1, 1)"),
        ((7, 3, 32), -1, "one element before its start"),
        ((4, 8), -8, "8 elements before its start"),
        ((4, 8), 33, "row 4, column 1"),
        ((3,), 3, "element 3"),
    ],
)
def test_a_place_outside_is_named_by_its_axes(shape: tuple[int, ...], offset: int, said: str) -> None:
    assert _element(offset, torch.empty(shape)) == said


def test_a_kernel_that_stays_inside_runs(pool: Pool, tmp_path: Path) -> None:
    reply = launch(pool, tmp_path, FINE)
    assert (reply.outcome, reply.message) == ("ran", "")
    assert reply.measurements["total_load.a"] == 32


@pytest.mark.parametrize("name", list(BAD))
def test_an_access_outside_is_refused_before_memory_is_touched(pool: Pool, tmp_path: Path, name: str) -> None:
    body, message = BAD[name]
    reply = launch(pool, tmp_path, body)
    assert reply.outcome == "violation", reply
    assert message in reply.message
    assert reply.line in (4, 5)


DISPUTES = {
    "two_stores": (
        "tl.store(o_ptr + offs, x + tl.program_id(0), mask=offs == 5 + tl.program_id(0) * 0)",
        {"stores_of_another.o": 5.0},
    ),
    "two_stores_of_the_same": ("tl.store(o_ptr + offs, x)", {}),
    "two_stores_of_nan": ('tl.store(o_ptr + offs, x + float("nan"))', {}),
    "stored_twice_in_another_arrangement": (
        "tl.store(o_ptr + offs, x + 1); tl.store(o_ptr + (31 - offs), x, mask=offs > 3)",
        {"stores_of_other_lanes.o": 27.0, "stores_of_another.o": 0.0},
    ),
    "stored_twice_about_a_barrier": (
        "o_ptr += 16 * tl.program_id(0); offs = tl.arange(0, 16); x = tl.load(a_ptr + offs); "
        "tl.store(o_ptr + offs, x + 1); tl.debug_barrier(); tl.store(o_ptr + (15 - offs), x)",
        {},
    ),
    "stored_twice_in_the_same_arrangement": (
        "offs += 0 * tl.program_id(0); x += tl.program_id(0) * 0; tl.store(o_ptr + offs, x)",
        {},
    ),
    "cleared_by_all": (
        "tl.store(o_ptr + offs, x); tl.store(o_ptr + tl.program_id(0) + offs * 0, x + 1)",
        {"stores_of_another.o": 0.0, "stores_of_other_lanes.o": 0.0},
    ),
    "each_its_own": ("tl.store(o_ptr + offs, x, mask=offs == tl.program_id(0))", {}),
    "one_twice": ("tl.store(o_ptr + offs, x, mask=tl.program_id(0) < offs * 0 + 1); " * 2 + "offs = offs", {}),
    "read_back": (
        "tl.store(o_ptr + offs, x, mask=offs == tl.program_id(0)); y = tl.load(o_ptr + 0)",
        {"loads_of_another.o": 0.0, "loads_of_other_lanes.o": 0.0},
    ),
    "read_its_own": ("tl.store(o_ptr + tl.program_id(0), 1.0); y = tl.load(o_ptr + tl.program_id(0))", {}),
    "read_its_own_tile": ("tl.store(o_ptr + offs, x); y = tl.load(o_ptr + offs)", {}),
    "read_its_own_turned": (
        "tl.store(o_ptr + offs, x); y = tl.load(o_ptr + (31 - offs), mask=offs > 3)",
        {"loads_of_other_lanes.o": 27.0},
    ),
    "read_its_own_in_another_shape": (
        "tl.store(o_ptr + offs, x); y = tl.load(o_ptr + offs[:, None])",
        {"loads_of_other_lanes.o": 0.0},
    ),
    "read_after_a_barrier": ("tl.store(o_ptr + offs, x); tl.debug_barrier(); y = tl.load(o_ptr + (31 - offs))", {}),
    "lanes_collide": (
        "tl.store(o_ptr + offs // 2, offs.to(tl.float32))",
        {"stores_twice.o": 0.0, "stores_of_another.o": 0.0},
    ),
    "lanes_collide_on_one_value": ("tl.store(o_ptr + offs // 2, (offs // 2).to(tl.float32))", {}),
    "masked_off": ("tl.store(o_ptr + offs, x, mask=offs == 5 - 2 * tl.program_id(0))", {}),
}


@pytest.mark.parametrize("name", list(DISPUTES))
def test_what_would_depend_on_the_order_is_measured(pool: Pool, tmp_path: Path, name: str) -> None:
    body, expected = DISPUTES[name]
    reply = launch(pool, tmp_path, "x = tl.load(a_ptr + offs); " + body, grid=2)
    assert reply.outcome == "ran", reply
    usual = ("total_load", "largest_load", "largest_share", "largest_dimension")
    assert {key: value for key, value in reply.measurements.items() if not key.startswith(usual)} == expected


SHARES = {
    "each_its_part": ("tl.store(o_ptr + 16 * tl.program_id(0) + part, tl.load(a_ptr + part))", 16),
    "both_do_all": ("tl.store(o_ptr + offs, tl.load(a_ptr + offs))", 32),
    "the_last_does_all": ("tl.store(o_ptr + offs, tl.load(a_ptr + offs), mask=offs < 32 * tl.program_id(0))", 32),
    "twice_the_same_part": ("tl.store(o_ptr + part, 1.0 + part); tl.store(o_ptr + part, 1.0 + part)", 16),
    "lanes_collide": ("tl.store(o_ptr + part // 2, 1.0 + part // 2)", 8),
}


@pytest.mark.parametrize("name", list(SHARES))
def test_how_much_one_program_stores_is_measured(pool: Pool, tmp_path: Path, name: str) -> None:
    body, expected = SHARES[name]
    reply = launch(pool, tmp_path, "part = tl.arange(0, 16); " + body, grid=2)
    assert reply.measurements["largest_share.o"] == expected, reply


def test_a_launch_may_read_what_an_earlier_one_has_stored(pool: Pool, tmp_path: Path) -> None:
    reply = launch(pool, tmp_path, "tl.store(o_ptr + offs, tl.load(a_ptr + offs))", times=2)
    assert "stores_of_another.o" not in reply.measurements


def test_arithmetic_of_the_native_module_is_allowed(pool: Pool, tmp_path: Path) -> None:
    reply = launch(pool, tmp_path, FINE.replace("tl.load(a_ptr + offs)", "tl.fma(tl.load(a_ptr + offs), 2.0, 1.0)"))
    assert (reply.outcome, reply.message) == ("ran", "")


def test_lanes_without_other_read_as_nan(pool: Pool, tmp_path: Path) -> None:
    reply = launch(
        pool, tmp_path, f"x = tl.load(a_ptr + offs, mask=offs < 31); tl.store(o_ptr + offs, x); {FINE.split('; ')[1]}"
    )
    assert bytes(reply.outputs["o"].data)[-4:] not in (bytes(4), b"")
    assert bytes(reply.outputs["o"].data)[:-4] == bytes(124)


def test_every_native_memory_function_is_known() -> None:
    """A Triton release that adds another way to touch memory fails here."""
    from triton.runtime import interpreter

    from autograder.worker.interpreter import NATIVE_MATH, NATIVE_MEMORY

    native = interpreter._interpreter
    functions = {
        name
        for name in dir(native)
        if not name.startswith("_") and callable(getattr(native, name)) and not inspect.isclass(getattr(native, name))
    }
    assert NATIVE_MEMORY <= functions <= NATIVE_MEMORY | NATIVE_MATH
    used = set(re.findall(r"_interpreter\.(\w+)\(", inspect.getsource(interpreter)))
    assert used <= NATIVE_MEMORY | NATIVE_MATH


def test_the_worker_loads_nothing_that_knows_answers() -> None:
    code = (
        "import sys, autograder.worker.server, autograder.worker.child, autograder.worker.interpreter, "
        "autograder.worker.compiled, autograder.worker.warmup\n"
        "print([name for name in sys.modules if name.startswith('autograder')])"
    )
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout
    rooms = {name.split(".")[1] for name in re.findall(r"autograder\.\w+", loaded)}
    assert rooms <= {"worker", "protocol", "recording"}
