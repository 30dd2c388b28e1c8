"""What a reply is judged to be: what was compared, what a NaN may come of, and loads as they were counted."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest
import torch

from autograder.catalogue import Check, Course
from autograder.judge.oracles import load_oracle
from autograder.judge.tensors import to_raw
from autograder.judge.verdict import Case
from autograder.protocol import POISON, RAN, CheckReply
from autograder.result import NAN_COMES_OF, NAN_COMES_OF_MASKS


def case_of(course: Course, exercise_id: str, check_id: str) -> tuple[Case, Check]:
    exercise = course.exercise(exercise_id)
    check = next(item for item in (*exercise.checks, *exercise.probes) if item.id == check_id)
    return Case(exercise, check, load_oracle(exercise.oracle), 7), check


def reply(check: Check, outputs: Mapping[str, torch.Tensor], **measured: float) -> CheckReply:
    measurements = {name.replace("__", "."): number for name, number in measured.items()}
    return CheckReply(check.id, RAN, "", None, 0.1, {name: to_raw(x) for name, x in outputs.items()}, measurements)


def unwritten(*shape: int) -> torch.Tensor:
    bits = struct.unpack("<i", POISON["float32"])[0]
    return torch.full(shape, bits, dtype=torch.int32).view(torch.float32)


def right(case: Case) -> dict[str, torch.Tensor]:
    return {name: x.float() for name, x in case._right[0].items()}


def test_a_property_of_which_a_case_has_nothing_is_neither_right_nor_wrong(course: Course) -> None:
    case, check = case_of(course, "long_row_softmax", "chunks_1")
    broken = reply(check, {"y": torch.full((32, 32), float("nan"))})
    assert case.right_outputs(broken) == {"y": False}
    assert case.right_outputs(reply(check, right(case))) == {"y": True}


def test_elements_that_were_never_written_are_told_where_a_part_is_compared(course: Course) -> None:
    case, check = case_of(course, "strided_copy", "rows_apart")
    whole = unwritten(14, 25)
    exact = right(case)["y"]
    whole[:12, :19] = exact[:12]
    said = case.judge(reply(check, {"y": whole})).message
    assert said.startswith("Rows 12-13 of y were never written; the rest is right.")


def test_a_nan_that_comes_of_another_output_is_said_to(course: Course) -> None:
    case, check = case_of(course, "decode_gemv", "two_splits")
    outputs = right(case)
    outputs = {name: x for name, x in outputs.items() if x.numel()}
    outputs["partial"][1] = unwritten(32)
    outputs["y"] = torch.full((32,), float("nan"))
    said = case.judge(reply(check, outputs, total_load__partial=64)).message
    assert said.startswith("Split 1 of partial was never written; the rest is right. y is nan where")
    assert said.endswith("What was never written in partial reads as nan, and partial is read.")
    assert case.judge(reply(check, outputs)).message.endswith(NAN_COMES_OF_MASKS)  # not known to be read


def test_masks_are_spoken_of_where_a_kernel_loads(course: Course) -> None:
    case, check = case_of(course, "row_softmax", "full_tile")
    y = right(case)["y"]
    y[0, 0] = float("nan")
    assert case.judge(reply(check, {"y": y})).message.endswith(f"is like that. {NAN_COMES_OF_MASKS}")
    case, check = case_of(course, "ghost_row_pin", course.exercise("ghost_row_pin").checks[0].id)
    assert case._of_nan("m", {}, {}) == NAN_COMES_OF


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        (96_048, "96,048 elements of x are loaded in all, three for each element; 64,032 would do."),
        (80_040, "80,040 elements of x are loaded in all, about 2.5 for each element; 64,032 would do."),
        (640_320, "640,320 elements of x are loaded in all, 20 for each element; 64,032 would do."),
    ],
)
def test_what_is_loaded_too_often_is_counted(course: Course, loads: int, said: str) -> None:
    case, check = case_of(course, "long_row_softmax", "long_row")
    assert case.judge(reply(check, right(case), total_load__x=loads)).message == f"The result is right, but {said}"


def test_what_need_not_be_read_at_all_is_said_to(course: Course) -> None:
    case, check = case_of(course, "fused_scale_shift", "one_pass")
    size = right(case)["y"].numel()
    assert case.judge(reply(check, right(case), total_load__y=size)).message == (
        f"The result is right, but {size} elements of y are loaded in all, one for each element; none need be."
    )
