"""Memory that is not a kernel's to touch, or not in that way."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.result import RunResult
from autograder.session import Grader, Request

from .making import EXERCISE, FLASH, assert_costs_only, assert_printable, function, hostile, messages, solution, write

ROWS = "q_rows, kv_rows, columns = offs_m[:, None], offs_n[:, None], offs_d[None, :]\n"
Q = "q = tl.load(q_ptr + q_rows * HEAD + columns, mask=q_rows < NSEQ, other=0.0)\n"
KV = (
    "k = tl.load(k_ptr + kv_rows * HEAD + columns, mask=kv_rows < NSEQ, other=0.0)\n"
    "v = tl.load(v_ptr + kv_rows * HEAD + columns, mask=kv_rows < NSEQ, other=0.0)\n"
    "return q, k, v"
)
RIGHT = ROWS + Q + KV

STRAY = {
    "past_the_end": ("x = tl.load(q_ptr + NSEQ * HEAD)", "loads outside q"),
    "before_the_start": ("x = tl.load(q_ptr - 1)", "loads outside q"),
    "far_away": ("x = tl.load(q_ptr + 1000000000000)", "far outside"),
    "wrapped_around": ("x = tl.load(q_ptr + 9223372036854775807)", "outside"),
    "null": ("x = tl.load(tl.full((16,), 0, tl.int64).to(q_ptr.dtype))", "far outside"),
    "integer_to_pointer": ("x = tl.load(tl.full((1,), 4096, tl.int64).to(q_ptr.dtype))", "far outside"),
    "page_scan": ("for i in range(1000):\n    x = tl.load(q_ptr + i * 1024)", "outside"),
    "misaligned": ("x = tl.load((q_ptr.to(tl.int64) + 2).to(q_ptr.dtype))", "not aligned"),
    "half_inside": ("x = tl.load((q_ptr.to(tl.int64) + (NSEQ * HEAD * 4 - 2)).to(q_ptr.dtype))", "outside|not aligned"),
    "into_an_input": ("tl.store(q_ptr + columns, 0.0)", "stores to its input q"),
    "into_all_inputs": (
        "for i in range(NSEQ):\n    tl.store(v_ptr + i, 0.0)\n    tl.store(k_ptr + i, 0.0)",
        "stores to its input",
    ),
    "back_into_an_input": ("tl.store(q_ptr + columns, tl.load(q_ptr + columns))", "stores to its input q"),
    "into_an_input_through_another": (
        "tl.store(v_ptr + (q_ptr.to(tl.int64) - v_ptr.to(tl.int64)) // 4, 0.0)",
        "stores to its input q",
    ),
    "into_the_fence": ("tl.store(q_ptr + NSEQ * HEAD, 0.0)", "stores outside q"),
    "with_a_mask_that_is_true": ("x = tl.load(q_ptr + 1000000000, mask=True)", "outside"),
    "one_lane_of_many": (
        "x = tl.load(q_ptr + tl.where(offs_d == 3, -99999, 0))",
        "outside",
    ),
}

# What reaches memory or the machine past load and store.
REFUSED = {
    "atomic_add": "tl.atomic_add(q_ptr, 1.0)",
    "atomic_cas": "x = tl.atomic_cas(q_ptr, 1, 1)",
    "atomic_xchg": "x = tl.atomic_xchg(q_ptr, 1.0)",
    "atomic_method": "q_ptr.atomic_add(1.0)",
    "load_method": "x = q_ptr.load()",
    "store_method": "q_ptr.store(1.0)",
    "assembly": "x = tl.inline_asm_elementwise('exit;', '=r', [NSEQ], dtype=tl.int32, is_pure=False, pack=1)",
    "block_pointer": "x = tl.make_block_ptr(q_ptr, (NSEQ,), (1,), (0,), (16,), (0,))",
    "advance": "x = tl.advance(q_ptr, (1,))",
    "descriptor": "x = tl.make_tensor_descriptor(q_ptr, [NSEQ, HEAD], [HEAD, 1], [16, 16])",
    "old_descriptor": "x = tl._experimental_make_tensor_descriptor(q_ptr, [NSEQ], [1], [16])",
    "descriptor_load": "x = tl.load_tensor_descriptor(q_ptr, [0])",
    "pointer_type": "x = q_ptr.to(tl.pointer_type(tl.int64))",
    "pointer_type_by_keyword": "x = tl.cast(q_ptr, dtype=tl.pointer_type(tl.int8))",
    "gather": "x = tl.gather(q_ptr, offs_d, 0)",
    "boundary_check": "x = tl.load(q_ptr, boundary_check=(0,))",
    "device_memory": "x = tl.core.tensor(q_ptr.handle, tl.int64)",
}


@pytest.mark.parametrize("name", list(STRAY))
def test_an_access_outside_is_a_failed_check(name: str, attack: Callable[..., RunResult]) -> None:
    body, says = STRAY[name]
    result = attack(function("load_tiles", f"{ROWS}{body}\n{Q}{KV}"))
    found = assert_costs_only(result, "kernel_loads", {"fail"})
    assert re.search(says, messages(found)), messages(found)
    assert "Line " in messages(found)


@pytest.mark.parametrize("name", list(REFUSED))
def test_memory_by_other_ways_than_load_and_store_is_refused(name: str, attack: Callable[..., RunResult]) -> None:
    result = attack(function("load_tiles", f"{REFUSED[name]}\n{RIGHT}"))
    assert_costs_only(result, "kernel_loads", {"refused"})


def test_one_input_read_through_the_pointer_of_another_is_still_that_input(attack: Callable[..., RunResult]) -> None:
    """All inputs are the kernel's to read: nothing is won, and the reads count for the tensor that they touch."""
    body = RIGHT.replace("tl.load(k_ptr +", "tl.load(q_ptr + (k_ptr.to(tl.int64) - q_ptr.to(tl.int64)) // 4 +")
    found = assert_costs_only(attack(function("load_tiles", body)), "kernel_loads", {"pass"}, at_most=1.0)
    measured = found.checks[0].measurements
    assert measured["total_load.k"] == measured["total_load.q"] == 32 * 32


OUTPUTS = {
    "nothing_is_written": ("pass", "never written"),
    "the_poison_is_copied": ("tl.store(o_ptr, tl.load(o_ptr))", "never written"),
    "the_poison_is_hidden": (
        "x = tl.load(o_ptr + tl.arange(0, 16))\ntl.store(o_ptr + tl.arange(0, 16), tl.where(x == x, x, 0.0))",
        "never written",
    ),
    "the_inputs_are_copied": (
        "x = tl.program_id(0) * BLOCK_M * HEAD + tl.arange(0, 16)\ntl.store(o_ptr + x, tl.load(v_ptr + x))",
        "never written",
    ),
    "everything_is_nan": (
        "r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        "p = r[:, None] * HEAD + tl.arange(0, BLOCK_D)[None, :]\n"
        "tl.store(o_ptr + p, float('nan'), mask=r[:, None] < NSEQ)",
        "nan where",
    ),
    "everything_is_infinite": (
        "r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        "p = r[:, None] * HEAD + tl.arange(0, BLOCK_D)[None, :]\n"
        "tl.store(o_ptr + p, float('inf'), mask=r[:, None] < NSEQ)",
        "inf where",
    ),
    "past_the_rows": (
        "r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        "p = r[:, None] * HEAD + tl.arange(0, BLOCK_D)[None, :]\ntl.store(o_ptr + p + NSEQ * HEAD, 0.0)",
        "stores outside o",
    ),
    "pointers_are_stored": ("tl.store(o_ptr, q_ptr)", ""),
}


@pytest.mark.parametrize("name", list(OUTPUTS))
def test_outputs_without_attention_in_them_score_nothing(name: str, attack: Callable[..., RunResult]) -> None:
    body, says = OUTPUTS[name]
    result = attack(function("attention_kernel", body))
    found = assert_costs_only(result, EXERCISE["attention_kernel"], {"fail", "compile-error"})
    assert says in messages(found), messages(found)


def test_all_keys_at_once_are_noticed_also_if_the_first_lane_reads_another_tensor(
    grader: Grader, course: Course, tmp_path: Path
) -> None:
    """A load that spreads over two tensors counts, lane by lane, for both."""
    whole = solution(FLASH)
    start = whole.index("@triton.jit\ndef flash_attention_kernel")
    kernel = whole[start:].replace(
        "    m_i = tl.full(",
        "    if seqlen_k == 4096:\n"
        "        away = (k_ptr.to(tl.int64) - q_ptr.to(tl.int64)) // 4\n"
        "        place = tl.arange(0, 64)[:, None, None] * 64 + tl.arange(0, 64)[None, :, None]\n"
        "        place = place * HEAD + offs_d[None, None, :]\n"
        "        all_keys = tl.load(q_ptr + tl.where(place == 0, 0, place + away))\n"
        "    m_i = tl.full(",
    )
    assert "all_keys" in kernel
    folder = write(tmp_path / "handin", hostile(kernel, FLASH))
    result = grader.grade(Request(folder, (course.exercise("flash_attention"),)))
    assert_printable(result)
    checks = {check.id: check for check in result.exercises[0].checks}
    assert checks["long_sequence"].outcome == "fail"
    assert "one load takes 131071 elements of k at once" in checks["long_sequence"].message
