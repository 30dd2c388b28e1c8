"""The bar, and the words in which a wrong tensor is described."""

from __future__ import annotations

import struct

import pytest
import torch

from autograder.axes import Axis
from autograder.judge.compare import Comparison, compare
from autograder.judge.region import Layout
from autograder.protocol import POISON
from autograder.result import NAN_COMES_OF, NAN_COMES_OF_MASKS


def judge(got: torch.Tensor, exact: torch.Tensor, kind: str = "close", raw: bool = False) -> Comparison:
    plain = exact.float() if exact.is_floating_point() else exact
    return compare("o", kind, got, exact, plain, got if raw else None)


def test_the_bar_is_eight_eps_of_the_largest_value_where_torch_is_exact() -> None:
    exact = torch.tensor([0.5, -2.0], dtype=torch.float64)
    bar = 8 * torch.finfo(torch.float32).eps * 2.0
    assert judge(exact + bar * 0.99, exact).ok
    over = judge(exact + bar * 1.01, exact)
    assert not over.ok
    assert over.measurements["bar"] == pytest.approx(bar)


def test_the_bar_is_four_times_torchs_error_where_that_is_larger() -> None:
    exact = torch.tensor([1.0, 1.0], dtype=torch.float64)
    plain = torch.tensor([1.0, 1.001], dtype=torch.float32)
    assert compare("o", "close", exact + 0.0039, exact, plain, None).ok
    assert not compare("o", "close", exact + 0.0041, exact, plain, None).ok


def test_twice_is_twice_torchs_error_and_never_less_than_one_rounding() -> None:
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    rough = torch.tensor([1.0, 2.01], dtype=torch.float64).half()
    error = float((rough.double() - exact).abs().max())
    assert compare("o", "twice", exact + 1.99 * error, exact, rough, None).ok
    assert not compare("o", "twice", exact + 2.01 * error, exact, rough, None).ok
    rounding = 2 * torch.finfo(torch.float16).eps
    assert compare("o", "twice", exact + 0.99 * rounding, exact, exact.half(), None).ok
    assert not compare("o", "twice", exact + 1.01 * rounding, exact, exact.half(), None).ok


def test_slack_widens_the_bar_of_either_kind() -> None:
    exact = torch.tensor([0.5, -2.0], dtype=torch.float64)
    for kind, usual in (("close", 16 * torch.finfo(torch.float32).eps), ("twice", 2 * torch.finfo(torch.float32).eps)):
        for error, ok in ((2.9, True), (3.1, False)):
            got = exact + error * usual
            assert compare("o", kind, got, exact, exact.float(), None, slack=3.0).ok is ok


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_special_value_in_place_of_a_number_never_passes(value: float) -> None:
    exact = torch.ones(4, 3, dtype=torch.float64)
    got = exact.clone()
    got[2, 1] = value
    for kind in ("close", "exact"):
        result = judge(got, exact, kind)
        assert not result.ok
        assert "where 1 belongs, at row 2, column 1; 1 of 12 elements is like that, in row 2." in result.message


@pytest.mark.parametrize("kind", ["close", "exact"])
@pytest.mark.parametrize("value", [2.0, float("nan")])
def test_an_element_is_named_by_the_words_of_its_axes(kind: str, value: float) -> None:
    exact = torch.ones(5, 3, 4, dtype=torch.float64)
    got = exact.clone()
    got[4, 2, 1] = value
    layout = Layout.of([Axis("token"), Axis("head"), Axis("column")], {})
    assert "at token 4, head 2, column 1" in compare("y", kind, got, exact, exact, None, None, layout).message
    assert "at tile 4: row 2, column 1" in compare("y", kind, got, exact, exact, None).message


def test_a_number_in_place_of_minus_infinity_never_passes() -> None:
    exact = torch.tensor([1.0, float("-inf")], dtype=torch.float64)
    assert judge(exact.clone(), exact).ok
    assert "o is -1e+30 where -inf belongs" in judge(torch.tensor([1.0, -1e30]), exact).message
    assert "o is inf where -inf belongs" in judge(torch.tensor([1.0, float("inf")]), exact).message


def test_exact_allows_no_rounding_and_lets_minus_zero_be_zero() -> None:
    exact = torch.tensor([1.0, 0.0], dtype=torch.float64)
    assert judge(torch.tensor([1.0, -0.0]), exact, "exact").ok
    wrong = judge(torch.tensor([1.0 + 2**-23, 0.0]), exact, "exact")
    assert "must match exactly, and 1 of 2 elements differs, the first at row 0" in wrong.message


def test_rows_that_were_never_written_are_named() -> None:
    poison = struct.unpack("<f", POISON["float32"])[0]
    exact = torch.ones(8, 4, dtype=torch.float64)
    got = torch.ones(8, 4)
    got.view(torch.int32)[5:] = struct.unpack("<i", POISON["float32"])[0]
    assert torch.isnan(torch.tensor(poison))
    result = judge(got, exact, raw=True)
    assert result.message == "Rows 5-7 of o were never written; the rest is right."
    assert result.where is not None
    assert result.where["rows"] == [[5, 7]]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (0, "; the rest is right."),
        (5, "; the rest is wrong."),
        (1, "; of the 20 elements that were written, 4 are wrong."),
    ],
)
def test_what_was_written_is_spoken_of_where_rows_are_missing(wrong: int, said: str) -> None:
    exact = torch.ones(8, 4, dtype=torch.float64)
    got = torch.ones(8, 4)
    got[:wrong] = 3.0
    got.view(torch.int32)[5:] = struct.unpack("<i", POISON["float32"])[0]
    assert judge(got, exact, raw=True).message == f"Rows 5-7 of o were never written{said}"


def test_a_computed_nan_is_not_taken_for_unwritten() -> None:
    exact = torch.ones(2, 2, dtype=torch.float64)
    got = torch.ones(2, 2)
    got[1] = float("nan")
    assert "o is nan where 1 belongs" in judge(got, exact, raw=True).message


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_where_a_nan_may_come_from_is_said_wherever_there_is_one(right: float) -> None:
    exact = torch.full((4, 4), right, dtype=torch.float64)
    got = exact.clone()
    got[1] = float("nan")
    message = compare("o", "close", got, exact, exact.float(), None, of_nan=NAN_COMES_OF_MASKS).message
    assert message.endswith(f", in row 1. {NAN_COMES_OF_MASKS}")
    got[3, 3] = right + 1
    rest = compare("o", "close", got, exact, exact.float(), None).message
    assert rest.endswith(f" 1 other is wrong too. {NAN_COMES_OF}")
    got[1] = float("inf")
    assert "NaN" not in compare("o", "close", got, exact, exact.float(), None).message


def test_what_was_never_written_is_named_by_its_axis() -> None:
    exact = torch.ones(8, dtype=torch.float64)
    got = torch.ones(8)
    got.view(torch.int32)[1::2] = struct.unpack("<i", POISON["float32"])[0]
    layout = Layout.of((Axis("element"),), {})
    said = compare("c", "close", got, exact, exact.float(), got, None, layout).message
    assert said == "Elements 1, 3, 5, 7 of c were never written; the rest is right."
    got[3:] = 1.0
    assert compare("c", "close", got, exact, exact.float(), got, None, layout).message.startswith("Element 1 of c was")


def test_a_wrong_shape_is_said() -> None:
    assert "has shape (2,), expected (3,)" in judge(torch.ones(2), torch.ones(3, dtype=torch.float64)).message


def test_booleans_are_compared_exactly() -> None:
    exact = torch.tensor([True, True])
    assert judge(exact.clone(), exact, "exact").ok
    wrong = compare("ok", "exact", torch.tensor([True, False]), exact, exact, None, "m is finite")
    assert wrong.message == "It must hold that m is finite, and it does not for 1 of 2 elements, the first at row 1."
    assert "got True, expected False" in judge(exact, torch.tensor([True, False]), "exact").message


def test_an_empty_tensor_is_right() -> None:
    assert judge(torch.empty(0), torch.empty(0, dtype=torch.float64)).ok


def test_values_that_differ_late_are_shown_with_the_digits_that_differ() -> None:
    right = torch.tensor([-0.347744, 1.0], dtype=torch.float64)
    near = right + torch.tensor([3e-8, 0.0])
    message = judge(near, right, "exact").message
    assert "got -0.34774397, expected -0.347744." in message
